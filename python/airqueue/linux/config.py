"""The configuration of a Host AP: its queue, its rate, and its disturbances."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from airqueue import _native
from airqueue.linux import discipline
from airqueue.linux.discipline import Discipline, DisciplineError
from airqueue.linux.disturbance import Disturbance
from airqueue.text import percent as percent_text
from airqueue.text import rate as rate_text
from airqueue.text import seconds as seconds_text

ETHERNET_BYTES = 14
"""Bytes that Linux adds to the IP length of a packet in queues and shapers."""
MTU_BYTES = 1500
"""Largest IP packet in the test bed."""
FRAME_BYTES = MTU_BYTES + ETHERNET_BYTES
"""Largest packet as shapers and byte queues count it."""
MIN_BURST_BYTES = 1540
"""Smallest burst: a tbf drops what does not fit its bucket, so a full frame must, with room for
the rounding of the rate tables."""
MIN_RATE_BPS = 8_000
MAX_RATE_BPS = 1_000_000_000
"""Above this rate the shaper is not the bottleneck on small machines."""

QueueKind = Literal["pfifo", "bfifo", "pfifo_head_drop"]
Shaper = Literal["tbf", "htb", "own"]
Policer = Literal["none", "nft", "nft-packets"]
Direction = Literal["down", "up"]

_KINDS: tuple[QueueKind, ...] = ("pfifo", "bfifo", "pfifo_head_drop")
_LATE_TIMER_S = 1e-3
_POLICED = 10 * FRAME_BYTES
_LONGEST_DELAY_S = 10.0


class ConfigError(ValueError):
    """A test bed that cannot be built; the message names the setting and what it should be."""


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A kernel FIFO and its limit: packets, or bytes for bfifo (with the Ethernet header)."""

    kind: QueueKind
    limit: int

    @classmethod
    def parse(cls, text: str) -> QueueSpec:
        """Return the queue that ``pfifo:100``, ``bfifo:150000`` or ``bfifo:150kB`` describes."""
        try:
            name, limit, _ = _native.parse_queue(text)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        for kind in _KINDS:
            if kind == name:
                if limit is None:
                    raise ConfigError(f"the queue {text!r} has no limit; write {kind}:LIMIT")
                return cls(kind, limit)
        raise ConfigError(
            f"the test bed has no queue {name}; write pfifo:PACKETS, bfifo:BYTES, "
            "pfifo_head_drop:PACKETS, or a discipline in tc's words as 'codel limit 1000': "
            f"{', '.join(discipline.NAMES)}"
        )

    def __post_init__(self) -> None:
        smallest = FRAME_BYTES if self.kind == "bfifo" else 1
        if not smallest <= self.limit < 2**31:
            least = "1 packet" if smallest == 1 else f"{smallest} bytes"
            raise ConfigError(
                f"the limit of {self.kind}:{self.limit} must be at least {least} and less than 2^31"
            )

    @property
    def counted_in(self) -> Literal["packets", "bytes"]:
        """The unit in which the queue counts."""
        return "bytes" if self.kind == "bfifo" else "packets"

    @property
    def words(self) -> tuple[str, ...]:
        """What tc is given."""
        return (self.kind, "limit", str(self.limit))

    def __str__(self) -> str:
        return f"{self.kind}:{self.limit}"


def parse_queue(text: str) -> QueueSpec | Discipline:
    """Return a FIFO as `QueueSpec.parse` reads it, or the discipline that words of tc describe.

    >>> parse_queue("pfifo:100").words
    ('pfifo', 'limit', '100')
    >>> parse_queue("fq_codel target 10ms").words
    ('fq_codel', 'target', '10ms')
    """
    words = text.split()
    if not words or (len(words) == 1 and words[0] not in discipline.NAMES):
        return QueueSpec.parse(text)
    try:
        return Discipline.parse(text)
    except DisciplineError as error:
        raise ConfigError(str(error)) from error


def default_burst_bytes(rate_bps: float) -> int:
    """Return a bucket of one frame and a millisecond of the rate on top.

    A timer of the kernel fires some tens of microseconds late, a busy machine's far later, and a
    tbf loses for good what its bucket cannot hold meanwhile: with 1540 bytes it serves nine tenths
    of 50 Mb/s and six tenths of 300 Mb/s. While packets wait, a larger bucket changes nothing else.
    """
    return MIN_BURST_BYTES + round(rate_bps / 8 * _LATE_TIMER_S)


@dataclass(frozen=True, slots=True)
class HostApConfig:
    """A Host AP. Rates in bits per second, counted with the Ethernet header, as Linux does."""

    queue: QueueSpec | Discipline = QueueSpec("pfifo", 100)
    rate_bps: int = 7_000_000
    shaper: Shaper = "tbf"
    """``own``: cake's own bandwidth, without a token bucket."""
    burst_bytes: int | None = None
    """Bucket of the shaper or the policer; None: as `bucket_bytes` says."""
    mpu_bytes: int = 0
    """Least size a packet is shaped at: with it small packets meet a packets-per-second ceiling."""
    policer: Policer = "none"
    """Packets above the rate are dropped at once, and no packet waits. ``nft`` counts the bytes of
    IP packets in a bucket of a whole second and the burst, as nftables makes it: a second's worth
    passes freely after a rest. ``nft-packets`` counts packets (the rate is in full-size ones), in a
    bucket of the burst alone."""
    isolate: bool = False
    """Flows in FIFOs of their own (htb leaves by the low two bits of the client's UDP port)."""
    ipv6: bool = False
    direction: Direction = "down"
    """``up``: the wireless machine sends, i.e. the client is in the sender's namespace."""
    disturbances: tuple[Disturbance, ...] = ()
    delay_s: float = 0.0
    """One-way delay of the wires in each direction, by netem where the access point receives."""
    loss: float = 0.0
    """Share of packets lost there, in each direction."""

    def __post_init__(self) -> None:
        if not MIN_RATE_BPS <= self.rate_bps <= MAX_RATE_BPS:
            raise ConfigError(f"the rate of {self.rate_bps:g} b/s is outside 8 kb/s to 1 Gb/s")
        if not MIN_BURST_BYTES <= self.bucket_bytes <= 2**24:
            raise ConfigError(
                f"the burst of {self.bucket_bytes} bytes must be from {MIN_BURST_BYTES} "
                f"(one full frame) to {2**24}"
            )
        if not 0 <= self.mpu_bytes <= MIN_BURST_BYTES:
            raise ConfigError(
                f"the mpu of {self.mpu_bytes} bytes must be from 0 to {MIN_BURST_BYTES}"
            )
        # netem delays a packet by no less than a microsecond, and counts losses in 2^-32.
        if not (self.delay_s == 0 or 1e-6 <= self.delay_s <= _LONGEST_DELAY_S):
            raise ConfigError(f"the delay of {self.delay_s:g} s is outside 1 us to 10 s")
        if not 0 <= self.loss <= 0.5:
            raise ConfigError(f"the loss of {self.loss:.4g} is outside 0 to 0.5 (50 %)")
        self._check_combinations()
        if isinstance(self.queue, Discipline):
            self._check_discipline(self.queue)
        elif self.shaper == "own":
            raise ConfigError(f"{self.queue} cannot shape: only cake has a rate of its own")

    def _check_discipline(self, queue: Discipline) -> None:
        kinds = {disturbance.kind for disturbance in self.disturbances}
        if self.policer != "none":
            raise ConfigError(f"a policer queues nothing, so that {queue.kind} is without effect")
        if "limit" in kinds:
            raise ConfigError(f"the limit of {queue.kind} cannot swing: only that of a FIFO can")
        if queue.kind == "drr" and self.isolate:
            raise ConfigError("drr keeps flows apart itself: leave out isolate")
        if self.shaper != "own":
            return
        if queue.kind != "cake":
            raise ConfigError(f"{queue.kind} cannot shape: only cake has a rate of its own")
        if {"bandwidth", "unlimited", "autorate-ingress"} & {*queue.parameters}:
            raise ConfigError("the rate of cake is that of the test bed: leave it out of cake's")
        if self.mpu_bytes or self.burst_bytes is not None or "stall" in kinds:
            raise ConfigError(
                "cake's own shaper has no bucket and cannot be stalled: choose the shaper tbf"
            )

    def _check_combinations(self) -> None:
        if self.isolate and self.shaper != "htb":
            raise ConfigError("isolated flows need classes: choose the shaper htb with isolate")
        if self.isolate and any(d.kind == "stall" for d in self.disturbances):
            raise ConfigError("isolated flows cannot be stalled: leave out the stalls or isolate")
        if self.policer != "none" and (self.isolate or self.mpu_bytes or self.disturbances):
            raise ConfigError(
                "a policer shapes nothing: it goes with neither isolate, mpu nor disturbances"
            )

    @property
    def bucket_bytes(self) -> int:
        """The burst as configured, or what late timers (shaper) or late senders (policer) need."""
        if self.burst_bytes is not None:
            return self.burst_bytes
        return default_burst_bytes(self.rate_bps) + (0 if self.policer == "none" else _POLICED)

    def describe(self) -> str:
        """Return a short description, for titles."""
        if self.policer != "none":
            return f"{self.policer} policer at {rate_text(self.rate_bps)}"
        alone = " for each flow" if self.isolate else ""
        shaper = "its own shaper" if self.shaper == "own" else self.shaper
        return f"{self.queue}{alone} behind {shaper} at {rate_text(self.rate_bps)}{self._wires()}"

    def _wires(self) -> str:
        delay = f", {seconds_text(self.delay_s)} of wire each way" if self.delay_s else ""
        return delay + (f", {percent_text(self.loss)} lost there" if self.loss else "")


def to_json(config: HostApConfig) -> dict[str, Any]:
    """Return a configuration as JSON values, which `from_json` reads."""
    return {**dataclasses.asdict(config), "queue": str(config.queue)}


def from_json(values: Mapping[str, Any]) -> HostApConfig:
    """Return the configuration that `to_json` wrote."""
    disturbances = tuple(Disturbance(**each) for each in values["disturbances"])
    queue = parse_queue(values["queue"])
    return HostApConfig(**{**values, "queue": queue, "disturbances": disturbances})
