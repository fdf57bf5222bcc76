"""Reference values of saturated cells of 802.11n, ac and ax from ns-3: references_ampdu.csv."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .install import ROOT
from .references import FAILED, SIMULATORS, THROUGHPUT, MacPoint, Quantity, Table, run_counting
from .scenario import RESPONSE_MBPS, Cell, Radio, Result

PEER = "ns3-wheel"
TOLERANCE = 0.02
OLD_SHARE = "old stations' share of the throughput"
COLUMNS = (
    *("simulator", "standard", "stations", "old_stations", "old_mbps", "ip_bytes", "mcs"),
    *("width_mhz", "streams", "guard_us", "ampdu_bytes", "window", "explicit_bar", "mpdu_loss"),
    *("rts", "layout"),
)

HT20 = Cell(
    "n", radio=Radio(7), data_mbps=54.0, control_mbps=RESPONSE_MBPS, seconds=8.0, warm_up_s=1.0
)
HT40 = replace(HT20, radio=Radio(15, 40, 2), seconds=6.0)
VHT80 = replace(HT20, standard="ac", radio=Radio(9, 80, 2), seconds=4.0)
HE80 = replace(HT20, standard="ax", radio=Radio(11, 80, window=256), seconds=4.0)
HE80_LONG = replace(HE80, radio=Radio(11, 80, guard_us=3.2, window=256))
HE20 = replace(HE80, radio=Radio(5, window=256), seconds=8.0)
# As long as the standard lets them be.
VHT80_MOST = replace(VHT80, radio=Radio(9, 80, 2, ampdu_bytes=1048575))
HE80_MOST = replace(HE80, radio=Radio(11, 80, ampdu_bytes=6500631, window=256))
BASIC = (HT20, HE80_LONG, HE80, HT40, VHT80, HE20, HE80_MOST, VHT80_MOST)


def old_share(result: Result, old: int) -> float:
    """Throughput of the old stations, which come first."""
    return sum(result.station_ip_bps[:old])


def point(cell: Cell, cpu_limit_s: float = 100.0) -> MacPoint:
    quantities = [THROUGHPUT, FAILED]
    if old := cell.old_stations:
        quantities.append(
            Quantity[Result](
                OLD_SHARE,
                "1",
                lambda r: old_share(r, old),
                lambda r: r.ip_throughput_bps,
            )
        )
    return MacPoint(PEER, cell, tuple(quantities), TOLERANCE, cpu_limit_s)


def key(point: MacPoint) -> tuple[str, ...]:
    """What stands in `COLUMNS`."""
    cell, radio = point.cell, point.cell.radio
    assert radio is not None
    return (
        *(SIMULATORS[point.peer], cell.standard, str(cell.stations), str(cell.old_stations)),
        *(f"{cell.data_mbps:g}" if cell.old_stations else "", str(cell.ip_bytes), str(radio.mcs)),
        *(str(radio.width_mhz), str(radio.streams), f"{radio.guard_us:g}", str(radio.ampdu_bytes)),
        *(str(radio.window), "on" if radio.explicit_bar else "off", f"{cell.mpdu_loss:g}"),
        *("on" if cell.rts else "off", cell.layout),
    )


def lone(cell: Cell) -> Cell:
    """Nothing of a single station is left to chance but its backoff."""
    return replace(cell, stations=1, seconds=1.0)


def variants(cell: Cell) -> Iterator[Cell]:
    """What else decides about a cell of ten."""
    assert cell.radio is not None
    ten = replace(cell, stations=10)
    yield replace(ten, radio=replace(cell.radio, explicit_bar=False))
    yield replace(ten, rts=True)
    yield replace(ten, layout="point")
    yield replace(ten, ip_bytes=500)
    yield replace(ten, mpdu_loss=0.1)


def points() -> Iterator[MacPoint]:
    """The more important first."""
    for cell in BASIC:
        yield point(lone(cell), 20.0)
        yield point(replace(cell, stations=10))
    mixed = replace(HT20, stations=10, old_stations=5)
    for cell in (*variants(HT20), mixed, replace(mixed, stations=2, old_stations=1)):
        yield point(cell, 60.0)
    for cell in variants(HE80_LONG):
        yield point(replace(cell, seconds=2.5), 60.0)
    for cell in (HT20, HE80_LONG):
        for lossy in (lone(cell), lone(replace(cell, ip_bytes=500))):
            yield point(replace(lossy, mpdu_loss=0.1, seconds=2.0), 20.0)
        yield point(lone(replace(cell, ip_bytes=500)), 20.0)
    for n in (2, 5, 20):
        for cell in (HT20, HE20, HE80_LONG, HT40):
            yield point(replace(cell, stations=n, seconds=min(cell.seconds, 60.0 / n)), 60.0)


TABLE = Table(ROOT / "validation" / "references_ampdu.csv", COLUMNS, key, points, run_counting)
