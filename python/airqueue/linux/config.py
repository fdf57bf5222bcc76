"""The configuration of a Host AP: its queue, its rate, and its disturbances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from airqueue import _native
from airqueue.linux.disturbance import Disturbance
from airqueue.text import rate as rate_text

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
Shaper = Literal["tbf", "htb"]
Policer = Literal["none", "nft", "nft-packets"]
Direction = Literal["down", "up"]

_KINDS: tuple[QueueKind, ...] = ("pfifo", "bfifo", "pfifo_head_drop")
_LATE_TIMER_S = 1e-3
_POLICED = 10 * FRAME_BYTES


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
            f"the test bed has no queue {name}; write pfifo:PACKETS, bfifo:BYTES or "
            "pfifo_head_drop:PACKETS"
        )

    def __post_init__(self) -> None:
        smallest = FRAME_BYTES if self.kind == "bfifo" else 1
        if not smallest <= self.limit < 2**31:
            raise ConfigError(
                f"the limit of {self.kind}:{self.limit} must be at least {smallest} "
                f"{self.counted_in} and less than 2^31"
            )

    @property
    def counted_in(self) -> Literal["packets", "bytes"]:
        """The unit in which the queue counts."""
        return "bytes" if self.kind == "bfifo" else "packets"

    def __str__(self) -> str:
        return f"{self.kind}:{self.limit}"


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

    queue: QueueSpec = QueueSpec("pfifo", 100)
    rate_bps: int = 7_000_000
    shaper: Shaper = "tbf"
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

    def __post_init__(self) -> None:
        if not MIN_RATE_BPS <= self.rate_bps <= MAX_RATE_BPS:
            raise ConfigError(f"the rate of {self.rate_bps} bit/s is outside 8 kbit/s to 1 gbit/s")
        if not MIN_BURST_BYTES <= self.bucket_bytes <= 2**24:
            raise ConfigError(
                f"the burst of {self.bucket_bytes} bytes must be from {MIN_BURST_BYTES} "
                f"(one full frame) to {2**24}"
            )
        if not 0 <= self.mpu_bytes <= MIN_BURST_BYTES:
            raise ConfigError(
                f"the mpu of {self.mpu_bytes} bytes must be from 0 to {MIN_BURST_BYTES}"
            )
        self._check_combinations()

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
        return f"{self.queue}{alone} behind {self.shaper} at {rate_text(self.rate_bps)}"
