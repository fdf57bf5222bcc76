"""One saturated cell: what every peer, and our engine, is given."""

from __future__ import annotations

from dataclasses import dataclass, fields

RATES_MBPS = {
    "b": (1.0, 2.0, 5.5, 11.0),
    "a": (6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0),
    "g": (6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0),
}
SCHEMES = {"n": ("HT", 31), "ac": ("VHT", 9), "ax": ("HE", 11)}
"""Of 802.11n and later: what the names of their schemes begin with, and the last of them."""
WIDTHS_MHZ = {"n": (20, 40), "ac": (20, 40, 80, 160), "ax": (20, 40, 80, 160)}
GUARDS_US = {"n": (0.4, 0.8), "ac": (0.4, 0.8), "ax": (0.8, 1.6, 3.2)}
RESPONSE_MBPS = 24.0
"""What basic rates of 6, 12 and 24 Mb/s have schemes from MCS 3 on answered at."""
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
class Radio:
    """How stations of 802.11n and later send at 5 GHz: a scheme, and A-MPDUs under block ack."""

    mcs: int = 7
    """Of 802.11n it says how many streams there are, too."""
    width_mhz: int = 20
    streams: int = 1
    guard_us: float = 0.8
    ampdu_bytes: int = 65535
    window: int = 64
    """MPDUs that a block ack can be about; its bitmap has 64 or 256 bits."""
    explicit_bar: bool = True
    """A BlockAckReq follows a BlockAck that did not come; without, the MPDUs are sent again."""

    def check(self, standard: str) -> None:
        """Raises ValueError for what 802.11's ``standard`` has not."""
        family, last = SCHEMES[standard]
        if not 3 <= self.mcs <= last:
            raise ValueError(f"{family}-MCS{self.mcs}: MCS 3 to {last} are answered at 24 Mb/s")
        if standard == "n" and (self.streams != 1 + self.mcs // 8 or self.mcs % 8 < 3):
            raise ValueError(f"HT-MCS{self.mcs} is none of MCS 3 to 7 of {self.streams} streams")
        if self.width_mhz not in WIDTHS_MHZ[standard] or self.guard_us not in GUARDS_US[standard]:
            raise ValueError(f"802.11{standard} has no {self.width_mhz} MHz, {self.guard_us:g} us")
        if not (1 <= self.streams <= 8 and self.ampdu_bytes > 0):
            raise ValueError(f"{self}: 1 to 8 streams and an A-MPDU of some bytes are needed")
        if not 1 <= self.window <= (256 if standard == "ax" else 64):
            raise ValueError(f"a block ack of 802.11{standard} is not about {self.window} MPDUs")


@dataclass(frozen=True)
class Cell:
    """``stations`` always have packets for one receiver, which all of them hear."""

    standard: str = "b"
    """b, a, g without b stations (short slot), or, with a ``radio``, n, ac or ax at 5 GHz."""
    stations: int = 1
    ip_bytes: int = 1500
    data_mbps: float = 11.0
    """With a ``radio`` of the old stations."""
    control_mbps: float = 1.0
    preamble: str = "long"
    rts: bool = False
    edca: tuple[Edca, ...] = ()
    """One for each station; without any they use DCF."""
    layout: str = "circle"
    """circle around the receiver (10 m in ns-2, 1 m in ns-3), or, in ns-3, one point 1 m from it."""
    radius_m: float | None = None
    """Of the circle in ns-2, in place of 10 m. Ours then has propagation delays, as ns-2 has."""
    radio: Radio | None = None
    """Of 802.11n and later, whose stations contend with EDCA's best effort and no TXOP."""
    old_stations: int = 0
    """Beside a ``radio`` of 20 MHz, so many of the stations know 802.11a alone."""
    mpdu_loss: float = 0.0
    """Probability that an MPDU is lost wherever it arrives, alone or in an A-MPDU."""
    seconds: float = 30.0
    warm_up_s: float = 2.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.radio:
            self.check_radio(self.radio)
        else:
            self.check_rates()
        if self.preamble not in ("long", "short"):
            raise ValueError(f"preamble {self.preamble!r}: long or short is needed")
        if self.preamble == "short" and self.standard != "b":
            raise ValueError("only 802.11b has a short preamble")
        if self.layout not in ("circle", "point"):
            raise ValueError(f"layout {self.layout!r}: circle or point is needed")
        if self.radius_m is not None and not 0 < self.radius_m <= 250:
            raise ValueError(f"radius_m {self.radius_m:g}: ns-2 decodes frames up to 250 m")
        if self.stations < 1 or not IP_UDP_HEADER_BYTES < self.ip_bytes <= 2304:
            raise ValueError("one station or more, and 29 to 2304 bytes are needed")
        if self.edca and len(self.edca) != self.stations:
            raise ValueError(f"{len(self.edca)} EDCA settings for {self.stations} stations")
        if self.seconds <= 0 or self.warm_up_s < 1 or self.seed < 1:
            raise ValueError("seconds > 0, warm_up_s >= 1 and seed >= 1 are needed")
        if not 0 <= self.mpdu_loss < 1:
            raise ValueError(f"mpdu_loss {self.mpdu_loss}: a probability below 1 is needed")

    def check_rates(self) -> None:
        if self.standard not in RATES_MBPS:
            raise ValueError(f"standard {self.standard!r}: b, a, g, or a radio of n, ac, ax")
        for rate in (self.data_mbps, self.control_mbps):
            if rate not in RATES_MBPS[self.standard]:
                raise ValueError(f"802.11{self.standard} has no rate of {rate:g} Mb/s")
        if self.control_mbps > self.data_mbps:
            raise ValueError("control frames are not sent faster than data")
        if self.old_stations:
            raise ValueError("old stations are those beside newer ones: a radio is needed")

    def check_radio(self, radio: Radio) -> None:
        if self.standard not in SCHEMES:
            raise ValueError(f"standard {self.standard!r}: n, ac or ax has a radio")
        radio.check(self.standard)
        if self.control_mbps != RESPONSE_MBPS or self.edca:
            raise ValueError("cells of 802.11n and later have 24 Mb/s, and best effort")
        if self.old_stations and (radio.width_mhz != 20 or self.old_stations >= self.stations):
            raise ValueError("old stations are beside newer ones of 20 MHz")
        if self.old_stations and not RESPONSE_MBPS <= self.data_mbps in RATES_MBPS["a"]:
            raise ValueError(f"{self.data_mbps:g} Mb/s of 802.11a are not answered at 24 Mb/s")

    def __str__(self) -> str:
        words = [f"802.11{self.standard} n={self.stations}", f"{self.ip_bytes} B"]
        words += [f"old={self.old_stations}"] * (self.old_stations > 0)
        if self.radio:
            r = self.radio
            words += [f"{self.scheme} {r.width_mhz} MHz {r.streams} SS {r.guard_us:g} us"]
            words += [f"A-MPDU {r.ampdu_bytes} B, {r.window}"] + ["no BAR"] * (not r.explicit_bar)
            words += [f"loss {self.mpdu_loss:g}"] * (self.mpdu_loss > 0)
        else:
            words.append(f"{self.data_mbps:g}/{self.control_mbps:g} Mb/s")
        if self.standard == "b":
            words.append(self.preamble)
        words += ["RTS"] * self.rts + ["at one point"] * (self.layout == "point")
        words += [] if self.radius_m is None else [f"circle of {self.radius_m:g} m"]
        words += [f"{e.aifsn}:{e.cw_min}:{e.cw_max}:{e.txop_us}" for e in self.edca]
        return " ".join(words)

    @property
    def scheme(self) -> str:
        """Of a cell with a ``radio``, as scenarios name it: HT-MCS7."""
        assert self.radio is not None
        return f"{SCHEMES[self.standard][0]}-MCS{self.radio.mcs}"


@dataclass(frozen=True)
class Result:
    """What a simulator made of a cell, over its measured time."""

    simulator: str
    ip_throughput_bps: float
    udp_payload_bps: float
    station_ip_bps: tuple[float, ...]
    attempts: int | None
    """First frames of exchanges: data frames or A-MPDUs and BlockAckReqs, with RTS on RTS frames;
    ``None`` where they were not counted."""
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
