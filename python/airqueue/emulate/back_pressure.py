"""What programs at a station feel of the station's queue.

On a machine with a radio a packet belongs to its socket until the driver is done with the packet. A
full station therefore stops its own senders: a UDP socket blocks when its send buffer is full, and
TCP keeps no more than a few milliseconds below itself (TCP small queues). A packet that a TUN device
has taken belongs to nobody. So the kernel keeps the packets of a station with netfilter's NFQUEUE,
and the emulator gets copies. When the station is done with a packet, the kernel sends the packet to
the device, where captures and counters see the packet, and the emulator ignores it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from airqueue import _native
from airqueue.emulate.plan import DEVICE
from airqueue.linux.errors import NamespaceError
from airqueue.linux.netns import Namespace

_RULE: Final = ("-t", "mangle", "-A", "POSTROUTING", "-o", DEVICE, "-j", "NFQUEUE", "--queue-num")
_VARIANTS: Final = ("", "-legacy")
"""Of iptables: the default one, and the one for kernels without nf_tables."""
_LEGACY_NAMES: Final = {
    "iptables": Path("/proc/thread-self/net/ip_tables_names"),
    "ip6tables": Path("/proc/thread-self/net/ip6_tables_names"),
}
"""Files that exist where the kernel has loaded its part of the second variant."""

# mac80211 lets TCP keep 8 ms below itself (sk_pacing_shift 7), and other devices 1 ms. Programs
# cannot set this shift; they can make TCP reckon with a higher pacing rate, from which the limit
# follows (tcp_output.c, tcp_small_queue_check). The kernel's values are 120 and 200 %, and 1000 % is
# the highest that the kernel takes.
_PACING: Final = {
    "net.ipv4.tcp_pacing_ca_ratio": "960",
    "net.ipv4.tcp_pacing_ss_ratio": "1000",
}


def begin(namespace: Namespace, packets: int, *, ipv6: bool) -> tuple[int | None, str]:
    """Have the kernel keep up to ``packets`` packets that the namespace sends through the device.

    Returns a descriptor for `_native.Emulation.attach_queue`, or None and why this kernel does not.
    """
    try:
        queue, number = _native.open_packet_queue(namespace.path, packets)
    except _native.NativeError as error:
        return None, str(error)
    for program in ("iptables", "ip6tables") if ipv6 else ("iptables",):
        failure = _add_rule(namespace, program, number)
        if failure:
            os.close(queue)
            return None, failure
    for key, value in _PACING.items():
        namespace.set_sysctl(key, value)
    return queue, ""


def _add_rule(namespace: Namespace, program: str, number: int) -> str:
    """Send packets to the queue; return why this failed, or nothing."""
    failures = []
    legacy = namespace.call(_LEGACY_NAMES[program].exists)
    for variant in _VARIANTS[::-1] if legacy else _VARIANTS:
        argv = (program + variant, *_RULE, str(number))
        try:
            done = namespace.run(argv)
        except NamespaceError as error:
            failures.append(str(error))
            continue
        if done.returncode == 0:
            return ""
        said = done.stderr.strip().splitlines()
        failures.append(f"{argv[0]}: {said[0] if said else f'exit code {done.returncode}'}")
    return "; ".join(failures)
