"""The Host AP: sender, access point and receiver in namespaces, with a real kernel queue between.

    sender --- veth --- access point [queue, shaper] --- veth --- receiver

The bottleneck is on the access point's interface towards the receiver. The sender must not be in
the namespace of that interface: its own socket buffer would then stop it before the queue is full.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from airqueue.linux import truth
from airqueue.linux.config import ConfigError, HostApConfig
from airqueue.linux.discipline import Discipline
from airqueue.linux.errors import HostApError
from airqueue.linux.netns import Namespace
from airqueue.linux.shaper import (
    DEVICE,
    FLOW_PORTS,
    LEAF,
    Argv,
    Bucket,
    build_commands,
    change_commands,
    initial_bucket,
    stalled_bucket,
)
from airqueue.linux.topology import (
    AP,
    NAMES,
    RECEIVER,
    RECEIVER_SIDE,
    SENDER,
    SENDER_SIDE,
    Step,
    topology_steps,
    wire_steps,
)

_CHECK = "'airqueue testbed check' says what is missing"
_UNREADABLE = "tc -s -j printed counters that airqueue cannot read: use iproute2 5.0 or newer"
_STALL_MARGIN_S = 0.2
"""How much later than the end of a stall a tbf wakes by itself; see `HostAp.stall`. It is what the
command that ends the stall may take on a busy machine."""


@dataclass(frozen=True, slots=True)
class FifoStats:
    """Counters of one FIFO as ``tc -s`` shows them. Bytes with the Ethernet header."""

    kind: str
    handle: str
    limit: int
    backlog_packets: int
    backlog_bytes: int
    sent_packets: int
    sent_bytes: int
    dropped_packets: int


@dataclass(frozen=True, slots=True)
class QueueStats:
    """The bottleneck's FIFOs: one, or one for each isolated flow."""

    fifos: tuple[FifoStats, ...]

    @property
    def backlog_packets(self) -> int:
        """Packets that wait now, in all FIFOs."""
        return sum(fifo.backlog_packets for fifo in self.fifos)

    @property
    def backlog_bytes(self) -> int:
        """Bytes that wait now, in all FIFOs."""
        return sum(fifo.backlog_bytes for fifo in self.fifos)

    @property
    def sent_packets(self) -> int:
        """Packets that have left so far."""
        return sum(fifo.sent_packets for fifo in self.fifos)

    @property
    def sent_bytes(self) -> int:
        """Bytes that have left so far."""
        return sum(fifo.sent_bytes for fifo in self.fifos)

    @property
    def dropped_packets(self) -> int:
        """Packets that were dropped so far."""
        return sum(fifo.dropped_packets for fifo in self.fifos)


def planned_steps(config: HostApConfig) -> list[Step]:
    """Return all steps that turn three empty namespaces into a Host AP, in order."""
    bottleneck = [Step(AP, argv) for argv in build_commands(config)]
    wires = wire_steps(config.delay_s, config.loss, config.ipv6)
    return topology_steps(config.ipv6) + bottleneck + wires


def script(config: HostApConfig) -> list[str]:
    """Return shell commands that build the same access point by hand, in named namespaces."""
    return [f"ip netns add {name}" for name in NAMES] + [str(s) for s in planned_steps(config)]


def _advice(config: HostApConfig) -> str:
    """Return what to do after a failed step; kernels that serve as hosts often lack disciplines."""
    if isinstance(config.queue, Discipline):
        return f"{_CHECK}, and --kernel uml measures the disciplines of another kernel"
    return _CHECK


class HostAp:
    """A Host AP, built on entry and removed on exit, or when the process ends for any reason.

    Needs CAP_SYS_ADMIN and CAP_NET_ADMIN over its user namespace (`airqueue.linux.privileges`).
    Methods may be called from any thread.
    """

    def __init__(self, config: HostApConfig, *, advice: str | None = None) -> None:
        """Take the configuration; nothing is built yet. ``advice`` ends what failed steps say."""
        self.config = config
        self._advice = _advice(config) if advice is None else advice
        self.commands: list[str] = []
        """Every command run so far, as one would type it with named namespaces."""
        self._namespaces: dict[str, Namespace] = {}
        self._bucket = initial_bucket(config)
        self._wanted = self._bucket
        self._stack = ExitStack()
        # Guards the bucket; _stalling keeps two stalls apart without blocking rate changes.
        self._lock = threading.RLock()
        self._stalling = threading.Lock()
        self._stalled = False

    def __enter__(self) -> HostAp:
        self._bucket = self._wanted = initial_bucket(self.config)
        with ExitStack() as stack:
            for name in NAMES:
                self._namespaces[name] = stack.enter_context(Namespace(name))
            for step in planned_steps(self.config):
                self._do(step)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
        self._namespaces.clear()

    def namespace(self, name: str) -> Namespace:
        """Return the namespace ``sender``, ``ap`` or ``receiver``."""
        try:
            return self._namespaces[name]
        except KeyError:
            raise HostApError("the test bed is not built: use it in a with statement") from None

    @property
    def sender_ns(self) -> str:
        """Path of the sender's namespace for setns, valid in this process."""
        return self.namespace(SENDER).path

    @property
    def ap_ns(self) -> str:
        """Path of the access point's namespace for setns, valid in this process."""
        return self.namespace(AP).path

    @property
    def receiver_ns(self) -> str:
        """Path of the receiver's namespace for setns, valid in this process."""
        return self.namespace(RECEIVER).path

    @property
    def sender_address(self) -> str:
        """Address of the sender, of the configured IP version."""
        return SENDER_SIDE.address(self.config.ipv6)

    @property
    def receiver_address(self) -> str:
        """Address of the receiver, of the configured IP version."""
        return RECEIVER_SIDE.address(self.config.ipv6)

    @property
    def server_ns(self) -> str:
        """Namespace of the wired machine, the sender in the downlink."""
        return self.sender_ns if self.config.direction == "down" else self.receiver_ns

    @property
    def client_ns(self) -> str:
        """Namespace of the wireless machine, the receiver in the downlink."""
        return self.receiver_ns if self.config.direction == "down" else self.sender_ns

    @property
    def server_address(self) -> str:
        """Address of the wired machine."""
        return self.sender_address if self.config.direction == "down" else self.receiver_address

    @property
    def flow_ports(self) -> tuple[int, ...]:
        """UDP ports the client should use, by flow; isolation tells flows apart by them."""
        return FLOW_PORTS

    def truth(self) -> dict[str, Any]:
        """Return what a measurement should find, see `airqueue.linux.truth`."""
        return truth.of(self.config)

    def shown(self) -> dict[str, Any]:
        """Return what ``tc -s -j`` shows of the queue now: its settings and counters."""
        for queue in self._shown():
            if queue.get("handle") == LEAF:
                return queue
        raise HostApError("tc shows no queue: the test bed has been changed by another program")

    def queue_stats(self) -> QueueStats:
        """Return the counters of the bottleneck now."""
        try:
            return QueueStats(tuple(_fifo_stats(q) for q in self._shown() if "fifo" in q["kind"]))
        except (ValueError, KeyError, TypeError) as error:
            raise HostApError(_UNREADABLE) from error

    def _shown(self) -> list[dict[str, Any]]:
        shown = self._tc(("tc", "-s", "-j", "qdisc", "show", "dev", DEVICE))
        try:
            queues = json.loads(shown)
        except ValueError as error:
            raise HostApError(_UNREADABLE) from error
        return [queue for queue in queues if isinstance(queue, dict)]

    def change_rate(self, factor: float) -> None:
        """Set the rate to ``factor`` times the configured one; the queue stays as it is."""
        self._refuse_for_policer("rate")
        if not 0 < factor <= 1000:
            raise ConfigError(f"the factor {factor:g} of the rate is outside 0 to 1000")
        rate_bps = max(8, round(self.config.rate_bps * factor))
        with self._lock:
            self._want(replace(self._wanted, rate_bps=rate_bps))

    def change_limit(self, limit: int | None) -> None:
        """Set the FIFO's limit in its own unit; None: the configured one.

        What already waits beyond a smaller limit stays until it is served.
        """
        self._refuse_for_policer("limit")
        if isinstance(self.config.queue, Discipline):
            if limit is not None:
                raise ConfigError(f"the limit of {self.config.queue.kind} cannot be changed")
            return
        new = self.config.queue.limit if limit is None else limit
        if not 1 <= new < 2**31:
            raise ConfigError(f"the limit {new} must be at least 1 and less than 2^31")
        with self._lock:
            self._want(replace(self._wanted, limit=new))

    def stall(self, seconds: float, stop: threading.Event | None = None) -> None:
        """Serve nothing for ``seconds`` (but one packet at the start); return when it is over.

        Changes of rate and limit made meanwhile apply afterwards. When ``stop`` is set this returns
        at once; an htb then still sleeps until the planned end of the stall.
        """
        self._refuse_for_policer("stall")
        if self.config.isolate:
            raise ConfigError("isolated flows cannot be stalled: leave out the stalls or isolate")
        if self.config.shaper == "own":
            raise ConfigError("cake's own shaper cannot be stalled: choose the shaper tbf")
        if not 0.05 <= seconds <= 30:
            raise ConfigError(f"a stall of {seconds:g} s is outside 0.05 s to 30 s")
        stop = stop or threading.Event()
        # A tbf resumes with the first packet that comes after the change back, and its own timer
        # is for the case that none comes. An htb sleeps on its timer whatever else happens, so it
        # gets back its rate early, and the timer alone ends the stall.
        is_tbf = self.config.shaper == "tbf"
        timer_s = seconds + _STALL_MARGIN_S if is_tbf else seconds
        with self._stalling:
            with self._lock:
                self._set(stalled_bucket(self._wanted, timer_s))
                self._stalled = True
            # Not before the command: it takes its time too, on a busy machine a tenth of a second.
            began = time.monotonic()
            try:
                _wait_until(began + (seconds if is_tbf else seconds / 2), stop)
            finally:
                with self._lock:
                    self._stalled = False
                    self._set(self._wanted)
            _wait_until(began + seconds, stop)

    def _want(self, bucket: Bucket) -> None:
        self._wanted = bucket
        if not self._stalled:
            self._set(bucket)

    def _set(self, bucket: Bucket) -> None:
        for argv in change_commands(self.config, self._bucket, bucket):
            self._tc(argv)
        self._bucket = bucket

    def _refuse_for_policer(self, what: str) -> None:
        if self.config.policer != "none":
            raise ConfigError(f"a policer has no shaper: its {what} cannot be changed")

    def _tc(self, argv: Argv) -> str:
        return self._do(Step(AP, argv), record="show" not in argv)

    def _do(self, step: Step, record: bool = True) -> str:
        """Execute one step and return its output."""
        namespace = self.namespace(step.namespace)
        if record:
            self.commands.append(str(step))
        if step.argv[0] == "sysctl":
            key, _, value = step.argv[-1].partition("=")
            namespace.set_sysctl(key, value)
            return ""
        argv, pass_fds = self._with_paths(step.argv)
        done = namespace.run(argv, pass_fds=pass_fds)
        if done.returncode != 0:
            reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise HostApError(
                "; ".join(filter(None, (f"'{step}' failed ({reason})", self._advice)))
            )
        return done.stdout

    def _with_paths(self, argv: Argv) -> tuple[Argv, tuple[int, ...]]:
        """Replace the name after ``netns`` by the path of its descriptor, which is passed on."""
        if "netns" not in argv:
            return argv, ()
        at = argv.index("netns") + 1
        namespace = self.namespace(argv[at])
        return (*argv[:at], namespace.path, *argv[at + 1 :]), (namespace.fd,)


def _wait_until(deadline: float, stop: threading.Event) -> None:
    stop.wait(max(0.0, deadline - time.monotonic()))


def _fifo_stats(qdisc: dict[str, Any]) -> FifoStats:
    return FifoStats(
        kind=str(qdisc["kind"]),
        handle=str(qdisc["handle"]),
        limit=int(qdisc["options"]["limit"]),
        backlog_packets=int(qdisc["qlen"]),
        backlog_bytes=int(qdisc["backlog"]),
        sent_packets=int(qdisc["packets"]),
        sent_bytes=int(qdisc["bytes"]),
        dropped_packets=int(qdisc["drops"]),
    )
