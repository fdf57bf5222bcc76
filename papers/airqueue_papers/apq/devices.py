"""Section IV: seven access points, each a cell whose queue has the printed capacity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from airqueue.description import PhyTable
from airqueue_papers import claim
from airqueue_papers.apq.path import (
    PHY_B,
    PHY_G,
    access_point,
    line,
    mean_within,
    measured,
    one_session,
    seen,
)
from airqueue_papers.apq.validation import estimate
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run, calculated
from airqueue_papers.picture import Panel, PaperFigure, Series

DEVICES: Final = {
    "cisco": "Cisco",
    "dlink_com": "D-Link (commercial)",
    "netgear_com": "Netgear (commercial)",
    "netgear_res": "Netgear (home)",
    "dlink_res": "D-Link (home)",
    "linksys_old": "old Linksys",
    "linksys": "Linksys",
}
SIZES: Final = (1500, 750)
_TWO: Final = ("cisco", "netgear_com")
"""Devices of Figs 6 and 7."""
_FLOOD_PPS: Final = 900.0
_FLOOD_S: Final = (30.0, 90.0)
_HOLD_S: Final = (40.0, 80.0)


def capacity(device: str) -> int:
    """Return the printed capacity with 1500-byte packets, to the packet."""
    printed = claim.load("apq").claims[f"apq.table2.{device}.1500"].numbers
    assert printed is not None  # a table of numbers
    return round(printed[0])


def phy(device: str) -> PhyTable:
    """Return the physical layer of a device: text of Fig. 6."""
    return PHY_G if device == "cisco" else PHY_B


def _measurements(budget: Budget) -> Mapping[str, Run]:
    return {
        f"{device}-{size}": measured(
            access_point(capacity(device), phy(device)), budget, size, seed=number
        )
        for number, device in enumerate(DEVICES, 1)
        for size in SIZES
    }


def _compare_measurements(outcomes: Outcomes) -> Iterable[Finding]:
    found = {
        (device, size): estimate(outcomes, f"{device}-{size}", size)
        for device in DEVICES
        for size in SIZES
    }
    for (device, size), value in found.items():
        given = capacity(device)
        yield Finding(
            f"apq.table2.{device}.{size}",
            f"A queue of {given} packets is found to hold {value.mean:.1f}.",
            (value,),
            holds=abs(value.mean - given) < 0.05 * given,
        )
    large = [found[device, 1500].mean for device in DEVICES]
    ends = (Value(min(large)), Value(max(large)))
    for name in ("abstract_range", "range"):
        reason = f"The estimates are between {min(large):.0f} and {max(large):.0f} packets."
        yield Finding(f"apq.text.{name}", reason, ends)
    twice = found["linksys", 1500].mean / found["linksys_old", 1500].mean
    yield Finding(
        "apq.text.newlinksys", f"The estimates have the ratio {twice:.2f}.", (Value(twice),)
    )
    ratios = [found[device, 750].mean / found[device, 1500].mean for device in DEVICES]
    yield Finding(
        "apq.text.packet_based",
        f"Half the packet size changes the estimates by factors of {min(ratios):.2f} to "
        f"{max(ratios):.2f}; a queue counted in bytes would hold twice the packets.",
        holds=all(abs(ratio - 1) < 0.2 for ratio in ratios),
    )


def _draw_capacities(outcomes: Outcomes) -> Iterable[PaperFigure]:
    claims = claim.load("apq").claims
    names = tuple(DEVICES.values())
    series = []
    for size in SIZES:
        printed = [claims[f"apq.table2.{device}.{size}"] for device in DEVICES]
        numbers = [each.numbers or [] for each in printed]
        half = [each.ci95 or 0.0 for each in printed]
        values = [estimate(outcomes, f"{device}-{size}", size) for device in DEVICES]
        series += [
            Series(
                f"printed, {size} bytes",
                names,
                tuple(float(each[0]) for each in numbers),
                tuple(each[0] - by for each, by in zip(numbers, half, strict=True)),
                tuple(each[0] + by for each, by in zip(numbers, half, strict=True)),
                "bars",
                printed=True,
            ),
            Series(
                f"estimated, {size} bytes",
                names,
                tuple(value.mean for value in values),
                tuple(value.low for value in values),
                tuple(value.high for value in values),
                "bars",
            ),
        ]
    panel = Panel("", "", "capacity (packets)", tuple(series))
    yield PaperFigure("apq-fig11", "Capacities of seven access points (Fig. 11)", (panel,))


def _sessions(_: Budget) -> Mapping[str, Run]:
    return {
        device: one_session(access_point(capacity(device), phy(device)), _FLOOD_PPS)
        for device in _TWO
    }


def _compare_throughput(outcomes: Outcomes) -> Iterable[Finding]:
    ours = {device: mean_within(seen(outcomes, device)["throughput"], _FLOOD_S) for device in _TWO}
    for device, name in zip(_TWO, ("cisco", "netgear"), strict=True):
        yield Finding(
            f"apq.fig6.{name}",
            f"{ours[device]:.2f} Mb/s with {phy(device)['standard']} at 11 Mb/s and the short "
            "preamble.",
            (Value(ours[device]),),
            holds=ours["cisco"] > ours["netgear_com"],
        )


def _compare_delay(outcomes: Outcomes) -> Iterable[Finding]:
    ours = {device: mean_within(seen(outcomes, device)["delay"], _HOLD_S) for device in _TWO}
    for device, name in zip(_TWO, ("cisco", "netgear"), strict=True):
        yield Finding(
            f"apq.fig7.{name}",
            f"{1e3 * ours[device]:.0f} ms behind a full queue of {capacity(device)} packets.",
            (Value(ours[device]),),
            holds=ours["netgear_com"] > 4 * ours["cisco"],
        )


def _over_time(outcomes: Outcomes, kind: Literal["throughput", "delay"], label: str) -> Panel:
    series = tuple(line(DEVICES[device], seen(outcomes, device)[kind]) for device in _TWO)
    return Panel("", "time (s)", label, series)


def _draw_throughput(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panel = _over_time(outcomes, "throughput", "throughput (Mb/s)")
    yield PaperFigure("apq-fig6", "Throughput during a session (Fig. 6)", (panel,))


def _draw_delay(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panel = _over_time(outcomes, "delay", "delay of the flood (s)")
    yield PaperFigure("apq-fig7", "Delay during a session (Fig. 7)", (panel,))


def _draw_distribution(outcomes: Outcomes) -> Iterable[PaperFigure]:
    found = seen(outcomes, "netgear_com")
    series = (
        line("without the flood", found["quiet"], "steps"),
        line("queue full", found["full"], "steps"),
    )
    panel = Panel("", "delay above the quiet path (s)", "fraction of packets", series)
    yield PaperFigure("apq-fig8", "Delays with the queue empty and full (Fig. 8)", (panel,))


_LOADED: Final = ("cisco", "netgear_com", "dlink_res", "linksys_old", "linksys")
"""The five devices that remain stable in Fig. 10."""


def _searches(budget: Budget) -> Mapping[str, Run]:
    runs = _measurements(budget)
    return {device: runs[f"{device}-1500"] for device in _LOADED}


def _draw_searches(outcomes: Outcomes) -> Iterable[PaperFigure]:
    labels = {
        "received_pps": ("throughput (Mb/s)", 12e-3),
        "loss": ("loss (%)", 100.0),
        "delay_s": ("delay (s)", 1.0),
    }
    panels = []
    for key, (label, scale) in labels.items():
        series = []
        for device in _LOADED:
            points = sorted(
                calculated(outcomes, device)["search"], key=lambda point: point["offered_pps"]
            )
            offered = tuple(12e-3 * point["offered_pps"] for point in points)
            y = tuple(None if point[key] is None else scale * point[key] for point in points)
            series.append(Series(DEVICES[device], offered, y))
        panels.append(Panel("", "offered load (Mb/s)", label, tuple(series)))
    title = "Throughput, loss and delay during the search for the saturation rate (Fig. 10)"
    yield PaperFigure("apq-fig10", title, tuple(panels))


_MODELLED: Final = (
    "Each device is a cell of 802.11b at 11 Mb/s, the Cisco of 802.11g, whose queue has the printed "
    "capacity for 1500-byte packets; short preamble, no other station in the cell.",
)

ITEMS: Final = (
    Item("table1", "The devices", lambda _: ()),
    Item(
        "table2",
        "Capacities (Fig. 11)",
        _compare_measurements,
        _measurements,
        _draw_capacities,
        notes=_MODELLED,
    ),
    Item("fig6", "Throughput", _compare_throughput, _sessions, _draw_throughput, notes=_MODELLED),
    Item("fig7", "Delay", _compare_delay, _sessions, _draw_delay, notes=_MODELLED),
    Item("fig8", "Distribution of delay", lambda _: (), _sessions, _draw_distribution),
    Item("fig9", "An inconsistent session", lambda _: ()),
    Item("fig10", "Finding the saturation rate", lambda _: (), _searches, _draw_searches),
)
