"""The way out of an emulated network: a relay behind the node that is the gateway.

The relay is pasta (https://passt.top), a process in the machine's own network. The relay takes the
packets that leave the gateway, and opens sockets in their place, as any program of this user could:
addresses, routes, rules and settings of the machine stay as they are, and nobody outside can begin a
connection inwards. Translation of addresses by the machine's kernel would need rules and forwarding
there, which outlive a killed command.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from airqueue.emulate import resolver
from airqueue.emulate.devices import why_no_tun
from airqueue.emulate.errors import EmulationError
from airqueue.emulate.nodes import Host, ip
from airqueue.emulate.plan import DEVICE, MTU_BYTES
from airqueue.linux.privileges import missing_tools

ABOUT: Final = "a relay at which TCP ends, and which passes on UDP and echo requests"
_LINK: Final = "outside"
"""The gateway's device towards the relay."""
_GATEWAY: Final = {4: "10.214.0.2", 6: "fd61:6972:7176::2"}
"""The gateway's addresses there, by version of IP."""
_RELAY: Final = {4: "10.214.0.1", 6: "fd61:6972:7176::1"}
_OPTIONS: Final = (
    *("--foreground", "--quiet", "--stderr", "--config-net", "--netns-only"),
    # No port of one side is open to the other, and no address stands for the machine's loopback.
    *("-t", "none", "-u", "none", "-T", "none", "-U", "none", "--no-map-gw"),
    *("--no-dhcp", "--no-dhcpv6", "--no-ra", "-I", _LINK, "-m", str(MTU_BYTES)),
    # Otherwise pasta, started by root, becomes a user who cannot enter the namespace. Of root's
    # capabilities pasta keeps two, behind a filter of system calls: CAP_SYS_ADMIN for namespaces, and
    # CAP_NET_BIND_SERVICE.
    *("--runas", "0"),
)
# $0 is the gateway's namespace. The relay opens a namespace by a path, and not every version keeps
# descriptors: the path is in a file system of its own, and nothing is left behind.
_START: Final = """
mount -t tmpfs -o mode=755 airqueue /tmp && : > /tmp/gateway &&
mount --no-canonicalize --bind "$0" /tmp/gateway && exec pasta --netns /tmp/gateway "$@"
"""
# The relay knows one host, the gateway. What nodes send passes, and the answers. A router would
# report to the network that it listens to all routers. The pasta of 2023 now and then sends a window
# without any flag, a segment which a receiver drops (RFC 9293, 3.10.7.4) and which belongs to no
# connection for the kernel's translation: the gateway takes the segment for its own, and resets.
_RULES: Final = f"""
table inet airqueue {{
  chain forward {{
    type filter hook forward priority filter; policy drop;
    iifname "{DEVICE}" oifname "{_LINK}" accept
    iifname "{_LINK}" oifname "{DEVICE}" ct state established,related accept
  }}
  chain input {{
    type filter hook input priority filter;
    iifname "{_LINK}" ct state invalid drop
  }}
  chain output {{
    type filter hook output priority filter;
    oifname "{DEVICE}" icmpv6 type {{ mld-listener-report, mld2-listener-report }} drop
  }}
  chain translate {{
    type nat hook postrouting priority srcnat;
    oifname "{_LINK}" masquerade
  }}
}}
"""
_READY_S: Final = 20.0
"""How long the relay has to begin."""
_PATIENCE_S: Final = 3.0
_LOOK_S: Final = 0.02


def check() -> None:
    """Raise EmulationError with one sentence if there cannot be a way out."""
    problem = missing_tools(("pasta", "nft")) or missing_tools(("unshare", "mount")) or why_no_tun()
    if not problem and not _versions():
        problem = "this machine has no default route"
    if problem:
        raise EmulationError(f"there is no way outside: {problem}")


def _versions() -> list[int]:
    """Return the versions of IP with which the calling thread's network has a default route."""
    found = []
    with suppress(OSError):
        rows = [line.split() for line in _table("route")]
        if any(row[1] == row[7] == "00000000" for row in rows):
            found.append(4)
    with suppress(OSError):
        rows = [line.split() for line in _table("ipv6_route")]
        if any(int(row[0], 16) == int(row[1], 16) == 0 and row[9] != "lo" for row in rows):
            found.append(6)
    return found


def _table(name: str) -> list[str]:
    return Path("/proc/thread-self/net", name).read_text("ascii").splitlines()


class Outside:
    """The relay of a gateway, as long as it runs."""

    def __init__(self, gateway: Host, others: list[Host]) -> None:
        """Start the relay, and give all nodes their routes and their resolver.

        Raises EmulationError or NamespaceError with one sentence.
        """
        self.node = gateway.name
        self._versions = _versions()
        if gateway.node.address6 is None:
            self._versions = [version for version in self._versions if version != 6]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the relay
        self._relay: subprocess.Popen[bytes] | None = None
        try:
            self._build(gateway, others)
        except BaseException:
            self.close()
            raise

    def _build(self, gateway: Host, others: list[Host]) -> None:
        found = resolver.find([_RELAY[version] for version in self._versions])
        ruled = gateway.namespace.run(("nft", "-f", "-"), stdin=_RULES)
        if ruled.returncode != 0:
            reason = " ".join(ruled.stderr.split())
            raise EmulationError(f"there is no way outside: nft cannot set rules ({reason})")
        gateway.namespace.set_sysctl("net.ipv4.ip_forward", "1")
        if 6 in self._versions:
            gateway.namespace.set_sysctl("net.ipv6.conf.all.forwarding", "1")
        self._start(gateway, found)
        for host in others:
            if 4 in self._versions:
                self._route(host, gateway.node.address)
            if 6 in self._versions and gateway.node.address6 is not None:
                self._route(host, gateway.node.address6)
        for host in (gateway, *others):
            host.resolver = found.text

    def _start(self, gateway: Host, found: resolver.Resolver) -> None:
        options = [*_OPTIONS]
        for version in (4, 6):
            if version in self._versions:
                options += ["-a", _GATEWAY[version], "-g", _RELAY[version]]
        options += ["-n", "30"] if 4 in self._versions else []
        options += [f"-{self._versions[0]}"] if len(self._versions) == 1 else []
        if found.local is not None:
            version = 6 if ":" in found.local else 4
            options += ["--dns-forward", _RELAY[version]]
        self._relay = subprocess.Popen(
            (
                *("unshare", "--mount", "--propagation", "private"),
                *("sh", "-c", _START, gateway.namespace.path, *options),
            ),
            pass_fds=(gateway.namespace.fd,),
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            # Ctrl-C is for the programs.
            start_new_session=True,
        )
        deadline = time.monotonic() + _READY_S
        while gateway.namespace.call(_versions) != self._versions:
            if self._relay.poll() is not None or time.monotonic() > deadline:
                raise EmulationError(f"there is no way outside: {self._why_not()}")
            time.sleep(_LOOK_S)

    def _why_not(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").splitlines()
        # What pasta says where there is no system log.
        said = [line for line in lines if line and not line.startswith("Failed to send")]
        return f"pasta does not begin ({' '.join(said) or 'and does not say why'})"

    @staticmethod
    def _route(host: Host, gateway: str) -> None:
        ip(host.namespace, f"route add default via {gateway} dev {DEVICE}")

    @property
    def runs(self) -> bool:
        """Whether the relay runs."""
        return self._relay is not None and self._relay.poll() is None

    def document(self) -> dict[str, object]:
        """Return what the results say of the way out."""
        return {"node": self.node, "by": "pasta", "about": ABOUT, "whole_run": self.runs}

    def close(self) -> None:
        """End the relay."""
        if self._relay is not None and self._relay.poll() is None:
            self._relay.terminate()
            try:
                self._relay.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._relay.kill()
                self._relay.wait()
        self._said.close()
