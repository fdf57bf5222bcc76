"""The validation repeated in real time: queues of the kernel behind a shaper, real sockets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from airqueue import provenance
from airqueue.linux.config import HostApConfig, QueueSpec
from airqueue.linux.probing import host_ap_prober
from airqueue.measure.api import measure
from airqueue.runs import Work, kinds
from airqueue_papers.apq.validation import SETTINGS
from airqueue_papers.item import Budget, Calculation, Item, Outcomes, Run, calculated
from airqueue_papers.picture import Panel, PaperFigure, Series

_RATE_BPS: Final = 7_000_000
_SIZE_BYTES: Final = 1500
_SECONDS: Final = 40.0
"""Approximate time of one quick measurement, with the draining of a queue of 2000 packets."""


def host_ap(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out work of the kind ``host-ap``: measure a kernel queue of so many ``packets``.

    The result names time and machine: unlike a simulation, another machine cannot repeat the result.
    """
    config = HostApConfig(QueueSpec("pfifo", inputs["packets"]), inputs["rate_bps"])
    with host_ap_prober(config) as prober:
        found = measure(prober, sizes=[inputs["size_bytes"]], header={"target": config.describe()})
    return {**found.to_json(), "real": provenance.session()}


kinds.register("host-ap", host_ap, ("airqueue.linux", *kinds.MEASURING))


def _settings(budget: Budget) -> Mapping[str, Run]:
    chosen = budget.pick((30, 250, 1000), SETTINGS)
    return {
        str(packets): Calculation(
            Work(
                "host-ap",
                {"packets": packets, "rate_bps": _RATE_BPS, "size_bytes": _SIZE_BYTES},
                weight=_SECONDS,
                name=f"the measurement of a kernel queue of {packets} packets",
            )
        )
        for packets in chosen
    }


def _draw(outcomes: Outcomes) -> Iterable[PaperFigure]:
    settings = tuple(sorted(float(name) for name in outcomes))
    by_size = [
        {
            name: (calculated(outcomes, f"{setting:.0f}")["estimators"][name] or {}).get(
                "by_size", {}
            )
            for name in ("published", "counting")
        }
        for setting in settings
    ]
    series = [
        Series(
            f"{name} estimator",
            settings,
            tuple(each[name].get(str(_SIZE_BYTES), {}).get("packets") for each in by_size),
            style="points",
        )
        for name in ("published", "counting")
    ]
    series.append(Series("setting", settings, settings))
    first = calculated(outcomes, f"{settings[0]:.0f}")["real"]
    panel = Panel(
        f"{first['platform']}, {first['date']}",
        "setting (packets)",
        "capacity (packets)",
        tuple(series),
        log_x=True,
        log_y=True,
        zero=False,
    )
    yield PaperFigure("apq-host-ap", "Queues of the kernel, in real time (as Fig. 4)", (panel,))


ITEMS: Final = (
    Item(
        "host-ap",
        "Known settings of a real kernel",
        lambda _: (),
        _settings,
        _draw,
        notes=(
            "pfifo queues behind a shaper at 7 Mb/s in network namespaces, measured through real "
            "sockets by the quick profile. The date and the machine are those of the measurement.",
        ),
        real=True,
    ),
)
