"""The hold chain against the slot-by-slot Monte Carlo, and against ns-3."""

from __future__ import annotations

from collections.abc import Iterable

from airqueue.models.edca_compare import Comparison, Point, aifs_points, compare, window_points
from airqueue.models.edca_hold import hold_chain
from validation import claim
from validation.claim import Claim, against_estimate, against_simulator


def claims(transmissions: int) -> list[Claim]:
    """Return the claims about AIFS and contention windows."""
    return [
        _aifs(transmissions),
        _other_windows(transmissions),
        _windows(transmissions),
        _frozen(transmissions),
        _ns3(),
    ]


def _aifs(transmissions: int) -> Claim:
    done = compare(aifs_points(range(21)), transmissions=transmissions)
    return Claim(
        name="edca-aifs",
        title="AIFS differences",
        statement="`edca-hold`, two saturated stations, the second with an AIFS longer by D slots, "
        "CWmin 31. The chain is claimed up to D = 8, a quarter of the window: beyond, a run of idle "
        "slots is bounded by the uniform backoff of the first station, and the chain gives the "
        "second too large a share.",
        quantity="successes, first station to second",
        reference="Monte Carlo, EDCA countdown",
        tolerance=0.05,
        axis="AIFS difference D, slots",
        points=_points(done, (c.point.aifs_slots[1] for c in done), most=8),
    )


def _other_windows(transmissions: int) -> Claim:
    points = [
        Point(stations=stations, aifs_slots=(0, d), cw_min=(window - 1, window - 1))
        for window in (16, 64, 128)
        for stations in ((1, 1), (1, 10), (5, 5), (10, 10))
        for d in (window // 16, window // 8, window // 4)
    ]
    done = compare(points, transmissions=transmissions)
    return Claim(
        name="edca-aifs-windows",
        title="AIFS differences among more stations",
        statement="As above, with other windows and up to twenty stations. The more stations, the "
        "shorter the runs of idle slots, and the smaller the chain's range: it is "
        "claimed up to a sixteenth of the window, D = (CWmin + 1)/16.",
        quantity="successes, first class to second",
        reference="Monte Carlo, EDCA countdown",
        tolerance=0.05,
        axis="CWmin, stations of each class, D",
        figure=False,
        points=[
            _point(
                f"{c.point.cw_min[0]}, {c.point.stations[0]} and {c.point.stations[1]}, "
                f"{c.point.aifs_slots[1]}",
                x,
                c,
                inside=16 * c.point.aifs_slots[1] <= c.point.cw_min[0] + 1,
            )
            for x, c in enumerate(done)
        ],
    )


def _windows(transmissions: int) -> Claim:
    # With small windows the other station rarely succeeds: the ratio needs a longer run.
    done = compare(window_points(_windows_of(2, 4)), transmissions=5 * transmissions)
    done += compare(window_points(_windows_of(8, 1024)), transmissions=transmissions)
    return Claim(
        name="edca-windows",
        title="Contention windows",
        statement="`edca-hold`, two saturated stations, one with CWmin 31, the other with another "
        "CWmin.",
        quantity="successes, this station to the one with 31",
        reference="Monte Carlo, EDCA countdown",
        tolerance=0.03,
        axis="CWmin",
        logarithmic=True,
        points=_points(done, (c.point.cw_min[0] for c in done), most=1023),
    )


def _frozen(transmissions: int) -> Claim:
    done = compare(window_points(_windows_of(4, 256)), rule="freeze", transmissions=transmissions)
    return Claim(
        name="dcf-windows",
        title="Contention windows of legacy stations",
        statement="As above, for stations that freeze their counters in busy slots. The chain does "
        "not include that rule and is claimed for a CWmin of 15 and more, to a tenth; with a smaller "
        "CWmin the neighbour rarely counts down.",
        quantity="successes, this station to the one with 31",
        reference="Monte Carlo, DCF freeze",
        tolerance=0.1,
        axis="CWmin",
        logarithmic=True,
        points=_points(done, (c.point.cw_min[0] for c in done), least=15),
    )


def _ns3() -> Claim:
    settings = [
        (f"AIFSN 2 and {2 + d}", f"edca-aifsn-2-{2 + d}", (0, d), (31, 31)) for d in (0, 2, 4, 8)
    ]
    settings += [(f"CWmin 31 and {cw}", f"edca-cw-31-{cw}", (0, 0), (31, cw)) for cw in (7, 127)]
    points = []
    for x, (setting, name, aifs_slots, cw_min) in enumerate(settings):
        model = 1.0 / float(hold_chain((1, 1), aifs_slots, cw_min).ratio(0, 1))
        points.append(against_simulator(setting, x, model, name))
    return Claim(
        name="edca-ns3",
        title="EDCA of two stations in a simulator",
        statement="`edca-hold` against whole frames with preambles, acknowledgements and timeouts.",
        quantity="throughput, second station to first",
        reference="ns-3 3.44",
        tolerance=0.05,
        axis="setting",
        points=points,
        figure=False,
    )


def _windows_of(low: int, high: int) -> Iterable[int]:
    """Return CWmin of windows of ``low`` values and its doublings up to ``high``."""
    return ((1 << k) - 1 for k in range(low.bit_length() - 1, high.bit_length()))


def _points(
    done: list[Comparison], xs: Iterable[int], *, least: int = 0, most: int = 1 << 30
) -> list[claim.Point]:
    return [
        _point(f"{x}", x, compared, inside=least <= x <= most)
        for x, compared in zip(xs, done, strict=True)
    ]


def _point(setting: str, x: float, compared: Comparison, *, inside: bool) -> claim.Point:
    if compared.real_ratio is None:
        raise RuntimeError(f"{setting}: one class had no success; leave the setting out")
    return against_estimate(setting, x, compared.model_ratio, compared.real_ratio, inside=inside)
