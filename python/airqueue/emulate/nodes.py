"""The namespaces of real nodes: their devices, and programs that run inside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from airqueue.emulate.errors import EmulationError
from airqueue.emulate.plan import DEVICE, Node, Plan
from airqueue.linux.netns import Namespace

TOOLS: Final = ("ip", "unshare", "mount")
"""Programs that an emulation needs."""
RING_PACKETS: Final = 20_000
"""Packets that the kernel holds for the emulator while the emulator is not running."""

# IPv6 addresses are set by hand: no link-local address, and no packet that nobody asked for.
_SETTINGS6: Final = {
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.default.addr_gen_mode": "1",
    "net.ipv6.conf.default.autoconf": "0",
    "net.ipv6.conf.default.router_solicitations": "0",
}
# $1 is the text of /etc/hosts; $2 that of /etc/resolv.conf where programs reach networks outside, and
# then no service of the machine answers for names. The files live in a file system of the program's
# own mount namespace, so that nothing is left behind; /proc and /sys show the program's own processes
# and devices where the kernel lets a user mount them.
_ENTER: Final = """
mount -t tmpfs -o mode=755 airqueue /tmp && printf %s "$1" > /tmp/hosts &&
mount --bind /tmp/hosts /etc/hosts &&
if [ -n "$2" ]; then
    printf %s "$2" > /tmp/resolv.conf && mount --bind /tmp/resolv.conf /etc/resolv.conf &&
    for each in /run/nscd/socket /run/systemd/resolve/io.systemd.Resolve; do
        [ ! -S "$each" ] || mount --bind /dev/null "$each" || exit 125
    done
fi &&
umount /tmp || exit 125
shift 2
mount -t proc proc /proc 2>/dev/null
mount -t sysfs sysfs /sys 2>/dev/null
exec "$@"
"""

_LOOK_S: Final = 0.01
"""How often it is looked whether killed processes are gone."""


def _not_kept() -> int:
    """Return how many packets of this thread's namespace were dropped by `back_pressure`'s queue."""
    path = Path("/proc/thread-self/net/netfilter/nfnetlink_queue")
    try:
        lines = path.read_text("ascii").splitlines()
    except FileNotFoundError:
        return 0
    # Number, port, packets, copy mode and range, then drops of the queue and of the socket.
    return sum(int(count) for line in lines for count in line.split()[5:7])


class Host:
    """A real node, and programs that run there; `EmulatedNetwork.host` returns it."""

    def __init__(self, node: Node, plan: Plan) -> None:
        """Make the node's namespace, without its device. Raises NamespaceError."""
        self.node = node
        self.peer = plan.peer(node)
        """The other end, ``peer`` in the node's ``/etc/hosts``."""
        self.environment: Mapping[str, str] = plan.environment(node)
        """Variables that programs get in addition to the caller's."""
        self.resolver = ""
        """Text of the node's ``/etc/resolv.conf``; empty: that of the machine."""
        self.namespace = Namespace(node.name)
        self._hosts = plan.hosts(node)
        self._started: list[subprocess.Popen[Any]] = []

    @property
    def name(self) -> str:
        """Name of the node in the scenario."""
        return self.node.name

    def prepare(self) -> None:
        """Set up the namespace before the device is there."""
        if self.node.address6 is not None:
            for key, value in _SETTINGS6.items():
                self.namespace.set_sysctl(key, value)
        self._ip("link", "set", "dev", "lo", "up")

    def configure(self) -> None:
        """Give the device its addresses, and take it up."""
        self._ip(
            *("link", "set", "dev", DEVICE, "mtu", str(self.node.mtu_bytes)),
            *("txqueuelen", str(RING_PACKETS), "up"),
        )
        for interface in self.node.interfaces:
            extra = ("nodad",) if ":" in interface else ()
            self._ip("address", "add", interface, "dev", DEVICE, *extra)

    def try_program(self) -> None:
        """Raise EmulationError with one sentence if no program can be started inside."""
        done = self.run(["true"], capture_output=True, text=True)
        if done.returncode != 0:
            reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise EmulationError(
                f"programs cannot have an /etc/hosts of their own here ({reason}): "
                "run as root, or where mount namespaces are allowed"
            )

    def popen(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program at the node; ``options`` are those of `subprocess.Popen`.

        The program's exit code is 127 where there is no such program. What still runs at the node
        when the emulation ends is killed.
        """
        env = {**(options.pop("env", None) or os.environ), **self.environment}
        command = (
            *("unshare", "--mount", "--propagation", "private"),
            *("sh", "-c", _ENTER, "airqueue", self._hosts, self.resolver, *argv),
        )

        def start() -> subprocess.Popen[Any]:
            return subprocess.Popen(command, env=env, **options)

        process = self.namespace.call(start)
        self._started = [each for each in self._started if each.poll() is None]
        self._started.append(process)
        return process

    def run(
        self,
        argv: Sequence[str],
        *,
        input: Any = None,
        capture_output: bool = False,
        timeout: float | None = None,
        check: bool = False,
        **options: Any,
    ) -> subprocess.CompletedProcess[Any]:
        """Run a program at the node and wait for it, as `subprocess.run` does."""
        if input is not None:
            options["stdin"] = subprocess.PIPE
        if capture_output:
            options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with self.popen(argv, **options) as process:
            try:
                stdout, stderr = process.communicate(input, timeout)
            except BaseException:
                process.kill()
                raise
        done = subprocess.CompletedProcess(list(argv), process.returncode, stdout, stderr)
        if check:
            done.check_returncode()
        return done

    def listening(self) -> int:
        """Return how many sockets of the node wait for connections or datagrams."""

        def count() -> int:
            found = 0
            for protocol, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
                with suppress(FileNotFoundError):
                    lines = (
                        Path(f"/proc/thread-self/net/{protocol}").read_text("ascii").splitlines()
                    )
                    found += sum(line.split()[3] == state for line in lines[1:])
            return found

        return self.namespace.call(count)

    def dropped_packets(self) -> int:
        """Return how many packets the kernel dropped before the emulator could read them."""
        shown = self._ip("-s", "-j", "link", "show", "dev", DEVICE)
        return int(json.loads(shown)[0]["stats64"]["tx"]["dropped"]) + self.namespace.call(
            _not_kept
        )

    def kill_programs(self) -> None:
        """Kill what `popen` started and has not ended, and what these programs have started."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait()
        self._started.clear()
        while left := self._processes():
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_LOOK_S)

    def _processes(self) -> list[int]:
        """Return all processes in the namespace.

        None where /proc is that of another PID namespace, as in `airqueue emulate`: its numbers mean
        nothing here, and the PID namespace ends its processes itself.
        """
        if Path("/proc/self").readlink() != Path(str(os.getpid())):
            return []
        own, found = os.fstat(self.namespace.fd), []
        for path in Path("/proc").glob("[0-9]*/ns/net"):
            with suppress(OSError):
                if os.path.samestat(path.stat(), own):
                    found.append(int(path.parts[2]))
        return found

    def close(self) -> None:
        """Give up the namespace."""
        self.namespace.close()

    def _ip(self, *arguments: str) -> str:
        done = self.namespace.run(("ip", *arguments))
        if done.returncode != 0:
            reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise EmulationError(f"'ip {' '.join(arguments)}' failed at {self.name} ({reason})")
        return done.stdout
