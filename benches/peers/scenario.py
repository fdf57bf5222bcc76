"""One saturated cell: what every peer, and our engine, is given."""

from __future__ import annotations

from dataclasses import dataclass, fields

RATES_MBPS = {
    "b": (1.0, 2.0, 5.5, 11.0),
    "a": (6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0),
    "g": (6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0),
}
IP_UDP_HEADER_BYTES = 28


class NotModelledError(ValueError):
    """A cell that a simulator cannot be given, and why."""


@dataclass(frozen=True)
class Edca:
    """What one station contends with; the default is what DCF uses in 802.11b."""

    aifsn: int = 2
    cw_min: int = 31
    cw_max: int = 1023
    txop_us: int = 0
    """A multiple of 32 us; 0 is one packet."""

    def __post_init__(self) -> None:
        if not (2 <= self.aifsn <= 255 and 1 <= self.cw_min <= self.cw_max <= 32767):
            raise ValueError(f"{self}: 2 <= aifsn <= 255 and 1 <= cw_min <= cw_max are needed")
        if self.txop_us < 0 or self.txop_us % 32:
            raise ValueError(f"{self}: a TXOP limit is a multiple of 32 us")


@dataclass(frozen=True)
class Cell:
    """``stations`` always have packets for one receiver, which all of them hear."""

    standard: str = "b"
    """b, a, or g without b stations (short slot)."""
    stations: int = 1
    ip_bytes: int = 1500
    data_mbps: float = 11.0
    control_mbps: float = 1.0
    preamble: str = "long"
    rts: bool = False
    edca: tuple[Edca, ...] = ()
    """One for each station; without any they use DCF."""
    layout: str = "circle"
    """circle around the receiver (10 m in ns-2, 1 m in ns-3), or, in ns-3, one point 1 m from it."""
    seconds: float = 30.0
    warm_up_s: float = 2.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.standard not in RATES_MBPS:
            raise ValueError(f"standard {self.standard!r}: one of b, a, g is needed")
        for rate in (self.data_mbps, self.control_mbps):
            if rate not in RATES_MBPS[self.standard]:
                raise ValueError(f"802.11{self.standard} has no rate of {rate:g} Mb/s")
        if self.control_mbps > self.data_mbps:
            raise ValueError("control frames are not sent faster than data")
        if self.preamble not in ("long", "short"):
            raise ValueError(f"preamble {self.preamble!r}: long or short is needed")
        if self.preamble == "short" and self.standard != "b":
            raise ValueError("only 802.11b has a short preamble")
        if self.layout not in ("circle", "point"):
            raise ValueError(f"layout {self.layout!r}: circle or point is needed")
        if self.stations < 1 or not IP_UDP_HEADER_BYTES < self.ip_bytes <= 2304:
            raise ValueError("one station or more, and 29 to 2304 bytes are needed")
        if self.edca and len(self.edca) != self.stations:
            raise ValueError(f"{len(self.edca)} EDCA settings for {self.stations} stations")
        if self.seconds <= 0 or self.warm_up_s < 1 or self.seed < 1:
            raise ValueError("seconds > 0, warm_up_s >= 1 and seed >= 1 are needed")

    def __str__(self) -> str:
        words = [
            f"802.11{self.standard} n={self.stations}",
            f"{self.ip_bytes} B",
            f"{self.data_mbps:g}/{self.control_mbps:g} Mb/s",
        ]
        if self.standard == "b":
            words.append(self.preamble)
        words += ["RTS"] * self.rts + ["at one point"] * (self.layout == "point")
        words += [f"{e.aifsn}:{e.cw_min}:{e.cw_max}:{e.txop_us}" for e in self.edca]
        return " ".join(words)


@dataclass(frozen=True)
class Result:
    """What a simulator made of a cell, over its measured time."""

    simulator: str
    ip_throughput_bps: float
    udp_payload_bps: float
    station_ip_bps: tuple[float, ...]
    attempts: int | None
    """Data frames sent, with RTS on RTS frames; ``None`` where they were not counted."""
    failed_attempts: int | None
    """Those of them that were not answered."""
    failed_fraction: float | None
    cpu_s: float
    """User and system time of the run alone, without start-up; warm-up included."""
    simulated_s: float
    """Warm-up and measured time."""

    @property
    def cpu_s_per_sim_s(self) -> float:
        return self.cpu_s / self.simulated_s

    @classmethod
    def from_json(cls, parsed: dict[str, object]) -> Result:
        """From the line that a program of this directory prints."""
        values = {field.name: parsed[field.name] for field in fields(cls)}
        values["station_ip_bps"] = tuple(parsed["station_ip_bps"])  # type: ignore[arg-type]
        return cls(**values)  # type: ignore[arg-type]
