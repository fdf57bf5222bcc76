"""The physical layers of 802.11 once more, slowly: what the engine's answers are checked against.

Written from IEEE 802.11-2016 (clauses 16, 17, 18, 19, 21; 9.7, 10.7.6.5.2, 10.13) and 802.11ax-2021
(27.4.3), with whole numbers and fractions, one frame at a time. Nothing of airqueue is used here.
Times are in microseconds, rates in Mb/s.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

MANDATORY = {Fraction(mbps) for mbps in (1, 2, Fraction(11, 2), 11, 6, 12, 24)}

# Coded bits of a carrier and stream, code (tables 19-27, 21-30; 802.11ax-2021, 27.5), and the non-HT
# rate of the same (table 10-8).
SCHEMES = (
    (1, Fraction(1, 2), 6),
    (2, Fraction(1, 2), 12),
    (2, Fraction(3, 4), 18),
    (4, Fraction(1, 2), 24),
    (4, Fraction(3, 4), 36),
    (6, Fraction(2, 3), 48),
    (6, Fraction(3, 4), 54),
    (6, Fraction(5, 6), 54),
    (8, Fraction(3, 4), 54),
    (8, Fraction(5, 6), 54),
    (10, Fraction(3, 4), 54),
    (10, Fraction(5, 6), 54),
)
CARRIERS = {20: 52, 40: 108, 80: 234, 160: 468}
HE_CARRIERS = {20: 234, 40: 468, 80: 980, 160: 1960}
TRAINING_FIELDS = {1: 1, 2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 7: 8, 8: 8}
# (MHz, streams, MCS) that 802.11ac has not, besides those that no number of encoders fits.
LEFT_OUT = {(80, 3, 6), (80, 7, 6), (80, 6, 9), (160, 3, 9)}


@dataclass(frozen=True)
class SlowMode:
    """One rate."""

    mbps: Fraction
    reference_mbps: Fraction
    """Of the modulation and coding in the formats before HT."""
    dsss: bool
    around_us: Fraction
    """Preamble, headers, signal extension, packet extension."""
    extra_bits: int
    bits: Fraction
    """Of a symbol, or for DSSS of a microsecond."""
    symbol_us: Fraction = Fraction(1)
    boundary_us: Fraction | None = None
    """Where a frame must end on a multiple that is not its symbol."""

    def frame_us(self, size: int | Fraction) -> Fraction:
        """Fill symbols with the bits of a PSDU, the last one as far as it goes."""
        symbols = ceil((self.extra_bits + ceil(8 * Fraction(size))) / self.bits)
        on_air = symbols * self.symbol_us
        if self.boundary_us is not None:
            on_air = ceil(on_air / self.boundary_us) * self.boundary_us
        return self.around_us + on_air


@dataclass(frozen=True)
class SlowLayer:
    """A layer with one number of streams, one width and one guard interval."""

    slot_us: int
    sifs_us: int
    cw_min: int
    modes: tuple[SlowMode, ...]
    """Of data frames, by rising rate."""
    control: tuple[SlowMode, ...]
    basic_mbps: tuple[Fraction, ...]
    max_mpdus: int = 1
    max_bytes: int = 4_095
    cw_max: int = 1_024

    @property
    def difs_us(self) -> int:
        return self.sifs_us + 2 * self.slot_us

    def response(self, mode: SlowMode, basic_mbps: Sequence[Fraction] | None = None) -> SlowMode:
        """10.7.6.5.2: the highest basic rate, or else mandatory one, of the frame's class that is no
        higher than the frame's."""
        basic = self.basic_mbps if basic_mbps is None else basic_mbps
        for allowed in (set(basic), MANDATORY):
            fitting = [
                control
                for control in self.control
                if control.dsss == mode.dsss
                and control.mbps <= mode.reference_mbps
                and control.mbps in allowed
            ]
            if fitting:
                return max(fitting, key=lambda control: control.mbps)
        raise AssertionError("the lowest rate of each class is mandatory")

    def eifs_us(self) -> Fraction:
        lowest = next(mode for mode in self.control if mode.mbps == min(self.basic_mbps))
        return self.sifs_us + lowest.frame_us(14) + self.difs_us

    def most_mpdus(
        self, mode: SlowMode, size: int, most: int, most_bytes: int, most_us: Fraction
    ) -> int:
        """Add MPDUs as long as there is room."""
        count, psdu = 0, 0
        while count < min(most, self.max_mpdus):
            psdu = subframe_end(psdu, size)
            if psdu > min(most_bytes, self.max_bytes) or mode.frame_us(psdu) > most_us:
                break
            count += 1
        return count


def subframe_end(before: int, size: int) -> int:
    """Return where an MPDU ends behind so many bytes, with padding and delimiter (9.7.1)."""
    while before % 4:
        before += 1
    return before + 4 + size


def dsss_modes(preamble: str, step_us: Fraction = Fraction(1)) -> tuple[SlowMode, ...]:
    """802.11b, frames rounded up to steps of a microsecond or less."""
    return tuple(
        SlowMode(
            mbps,
            mbps,
            dsss=True,
            around_us=Fraction(192 if preamble == "long" or mbps == 1 else 96),
            extra_bits=0,
            bits=mbps * step_us,
            symbol_us=step_us,
        )
        for mbps in (Fraction(1), Fraction(2), Fraction(11, 2), Fraction(11))
    )


def ofdm_modes(extension_us: int = 0) -> tuple[SlowMode, ...]:
    """48 carriers, symbols of 4 µs; 16 bits of SERVICE in front and 6 of tail behind."""
    return tuple(
        SlowMode(
            Fraction(mbps),
            Fraction(mbps),
            dsss=False,
            around_us=Fraction(20 + extension_us),
            extra_bits=22,
            bits=Fraction(4 * mbps),
            symbol_us=Fraction(4),
        )
        for mbps in (6, 9, 12, 18, 24, 36, 48, 54)
    )


def b(preamble: str = "long", step_us: Fraction = Fraction(1)) -> SlowLayer:
    modes = dsss_modes(preamble, step_us)
    return SlowLayer(20, 10, 32, modes, modes, (Fraction(1), Fraction(2)))


def a() -> SlowLayer:
    return SlowLayer(9, 16, 16, ofdm_modes(), ofdm_modes(), _BASIC)


def g(slot_us: int = 9, preamble: str = "short") -> SlowLayer:
    modes = tuple(sorted((*dsss_modes(preamble), *ofdm_modes(6)), key=lambda mode: mode.mbps))
    return SlowLayer(slot_us, 10, 16, modes, modes, _BASIC)


_BASIC = (Fraction(6), Fraction(12), Fraction(24))


@dataclass(frozen=True)
class Shape:
    """What the modes of a layer of 802.11n or later ("n", "ac", "ax") have in common."""

    standard: str
    streams: int = 1
    mhz: int = 20
    guard_us: Fraction = Fraction(8, 10)
    band: str = "5"
    ltf_us: Fraction | None = None
    extension_us: int = 0

    def mode(self, mcs: int) -> SlowMode | None:
        """None for a scheme that 802.11ac leaves out."""
        coded, code, reference = SCHEMES[mcs]
        is_he = self.standard == "ax"
        carriers = (HE_CARRIERS if is_he else CARRIERS)[self.mhz]
        bits = carriers * coded * self.streams * code
        head_us, encoders = self._head(bits, code)
        if not encoders or (self.standard == "ac" and (self.mhz, self.streams, mcs) in LEFT_OUT):
            return None
        symbol_us = self.guard_us + Fraction("12.8" if is_he else "3.2")
        return SlowMode(
            mbps=bits / symbol_us,
            reference_mbps=Fraction(reference),
            dsss=False,
            around_us=head_us + self.extension_us + (0 if self.band == "5" else 6),
            extra_bits=16 + 6 * encoders,
            bits=Fraction(floor(bits)),
            symbol_us=symbol_us,
            boundary_us=None if is_he else Fraction(4),
        )

    def _head(self, bits: Fraction, code: Fraction) -> tuple[Fraction, int]:
        """Preamble with headers, and encoders."""
        fields = TRAINING_FIELDS[self.streams]
        if self.standard == "n":
            # Tables 19-27 to 19-41: 324 Mb/s at the long guard interval need a second encoder.
            return Fraction(32 + 4 * fields), 2 if bits / 4 >= 324 else 1
        if self.standard == "ac":
            return Fraction(36 + 4 * fields), vht_encoders(bits, code)
        mandatory_us = Fraction("12.8" if self.guard_us == Fraction("3.2") else "6.4")
        ltf_us = mandatory_us if self.ltf_us is None else self.ltf_us
        return 36 + fields * (ltf_us + self.guard_us), 1


def later(shape: Shape) -> SlowLayer:
    """Return the layer with what old stations of the band have."""
    old = a() if shape.band == "5" else g()
    schemes, mpdus, most = {
        "n": (8, 64, 65_535),
        "ac": (10, 64, 1_048_575),
        "ax": (12, 256, 6_500_631 if shape.band == "5" else 524_287),
    }[shape.standard]
    found = (shape.mode(mcs) for mcs in range(schemes))
    return replace(
        old,
        modes=tuple(mode for mode in found if mode is not None),
        max_mpdus=mpdus,
        max_bytes=most,
    )


def vht_encoders(bits: Fraction, code: Fraction) -> int:
    """Return N_ES (21.5), 0 if there is none.

    One for each 540 Mb/s at the long guard interval, or as many more, up to 12, as it takes to give
    each a whole number of punctured blocks in a symbol.
    """
    coded = bits / code
    for count in range(ceil(bits / 4 / 540), 13):
        if coded % (count * code.denominator) == 0:
            return count
    return 0
