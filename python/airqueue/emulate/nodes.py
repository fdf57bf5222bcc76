"""The namespaces of real nodes: their devices, and programs that run inside."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from airqueue.emulate.errors import EmulationError
from airqueue.emulate.plan import DEVICE, Node, Plan
from airqueue.linux import mounts
from airqueue.linux.netns import Namespace

TOOLS: Final = ("ip",)
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
# Services of the machine that the C library asks before it reads /etc/resolv.conf.
_NAME_SERVICES: Final = ("/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve")

_START: Final = """\
command -v "$1" >/dev/null || case $1 in */*) [ -e "$1" ];; *) false;; esac ||
  { printf 'airqueue: there is no program %%s at %%s.\\n' "$1" %s >&2; exit 127; }
exec "$@"
"""
"""Starts a program at a node, whose name is to be filled in."""
_LOOK_S: Final = 0.01
"""How often it is looked whether killed processes are gone."""


def program_words(argv: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return a program and its arguments as texts; raise EmulationError for other values."""
    if isinstance(argv, str | bytes) or not isinstance(argv, Sequence):
        raise EmulationError(
            f"the program is {argv!r}; give a list of words, as in ['ping', 'peer'], or "
            "['sh', '-c', TEXT] for a text of the shell"
        )
    if not argv:
        raise EmulationError("the list of the program's words is empty")
    for word in argv:
        if not isinstance(word, str | os.PathLike):
            raise EmulationError(f"the program's word {word!r} is no text; write {str(word)!r}")
    return tuple(os.fspath(word) for word in argv)


def _not_kept() -> int:
    """Return how many packets of this thread's namespace were dropped by `back_pressure`'s queue."""
    path = Path("/proc/thread-self/net/netfilter/nfnetlink_queue")
    try:
        lines = path.read_text("ascii").splitlines()
    except FileNotFoundError:
        return 0
    # Number, port, packets, copy mode and range, then drops of the queue and of the socket.
    return sum(int(count) for line in lines for count in line.split()[5:7])


def _not_sent() -> int:
    """Return how many packets the device of this thread's namespace dropped."""
    for line in Path("/proc/thread-self/net/dev").read_text("ascii").splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == DEVICE:
            # Eight numbers of packets that came; then bytes, packets, errors and drops of those sent.
            return int(counts.split()[11])
    return 0


def ip(namespace: Namespace, *commands: str, pass_fds: Sequence[int] = ()) -> None:
    """Have one program carry out commands of ip(8). Raises EmulationError with one sentence."""
    done = namespace.run(("ip", "-batch", "-"), stdin="\n".join(commands), pass_fds=pass_fds)
    if done.returncode != 0:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        asked = "; ".join(commands)
        raise EmulationError(f"'ip' could not do '{asked}' at {namespace.name} ({reason})")


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

    def configure(self) -> None:
        """Give the device its addresses, and take it up, with the loopback."""
        length = f"mtu {self.node.mtu_bytes} txqueuelen {RING_PACKETS}"
        addresses = (
            f"address add {each} dev {DEVICE}{' nodad' if ':' in each else ''}"
            for each in self.node.interfaces
        )
        up = ("link set dev lo up", f"link set dev {DEVICE} {length} up")
        ip(self.namespace, *up, *addresses)

    def try_program(self) -> None:
        """Raise EmulationError with one sentence if no program can be started inside."""
        self.namespace.call(self._show_own_files)

    def popen(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program at the node; ``options`` are those of `subprocess.Popen`.

        The program's exit code is 127 where there is no such program. What still runs at the node
        when the emulation ends is killed. Raises EmulationError where there can be no mounts, and
        for ``argv`` that is no list of words.
        """
        argv = program_words(argv)
        env = {**(options.pop("env", None) or os.environ), **self.environment}
        # The shell has exit codes for what cannot be started, and runs scripts that name no program.
        command = ("sh", "-c", _START % shlex.quote(self.name), "airqueue", *argv)

        def start() -> subprocess.Popen[Any]:
            self._show_own_files()
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

    def congestion_control(self) -> str:
        """Return the congestion control of TCP sockets whose programs choose none."""
        path = Path("/proc/sys/net/ipv4/tcp_congestion_control")
        return self.namespace.call(lambda: path.read_text("ascii").strip())

    def dropped_packets(self) -> int:
        """Return how many packets the kernel dropped before the emulator could read them."""
        return self.namespace.call(lambda: _not_sent() + _not_kept())

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

    def _show_own_files(self) -> None:
        """Show the calling thread, and programs that it starts, the node's own files.

        The texts of ``/etc/hosts``, and of ``/etc/resolv.conf`` where programs reach networks
        outside, live in a file system of the thread's own, so that nothing is left behind.
        ``/proc`` and ``/sys`` have the program's own processes and devices where the kernel lets a
        user mount them.
        """
        try:
            mounts.keep_to_this_thread()
            mounts.mount("tmpfs", "/tmp", "mode=755")
            _show(self._hosts, "/etc/hosts")
            if self.resolver:
                _show(self.resolver, "/etc/resolv.conf")
                for service in filter(os.path.exists, _NAME_SERVICES):
                    mounts.bind("/dev/null", service)
            mounts.unmount("/tmp")
        except OSError as error:
            raise EmulationError(
                f"programs cannot have an /etc/hosts of their own here ({error.strerror}): "
                "run as root, or where mount namespaces are allowed"
            ) from error
        for kind, where in (("proc", "/proc"), ("sysfs", "/sys")):
            with suppress(OSError):
                mounts.mount(kind, where)


def _show(text: str, where: str) -> None:
    """Show a text in the place of a file, from the file system at ``/tmp``."""
    file = Path("/tmp", Path(where).name)
    file.write_text(text, "utf-8")
    mounts.bind(str(file), where)
