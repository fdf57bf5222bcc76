"""Section III with a real kernel: queues of Linux behind a shaper, real sockets, a virtual clock."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from airqueue.linux import uml_bed, uml_measure
from airqueue.linux.config import HostApConfig, QueueSpec
from airqueue.linux.probing import prober_through
from airqueue.linux.virtual import machine
from airqueue.runs import Work, kinds
from airqueue_papers.apq.validation import SETTINGS, estimates, main_result, over_settings
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Calculation, Item, Outcomes, Run, calculated
from airqueue_papers.picture import PaperFigure

if TYPE_CHECKING:
    from airqueue.linux.uml_guest import Inside

NAME: Final = "host-ap"
"""Of the item."""
KIND: Final = "host-ap"
_RATE_BPS: Final = 7_000_000
_SIZE_BYTES: Final = 1500
_SECONDS: Final = 15.0
"""Approximate time of one quick measurement in user-mode Linux."""
_INSIDE: Final = f"{__name__}:sessions_inside"


def host_ap(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out work of the kind `KIND`: measure a kernel queue of so many ``packets``.

    Returns ``kernel``, the release, and ``estimates``: by estimator the mean of the sessions, and the
    ends of its 95 % interval. With ``rate_pps`` there is no measurement, but sessions with a flow of
    this rate, which the published estimator alone reads. Raises as `uml_measure.measure` and
    `uml_bed.run`.
    """
    config = HostApConfig(QueueSpec("pfifo", inputs["packets"]), inputs["rate_bps"])
    sizes, seed = [inputs["size_bytes"]], inputs["seed"]
    found: Mapping[str, Any]
    if "rate_pps" in inputs:
        arguments = {"sizes": sizes, "rate_pps": inputs["rate_pps"]}
        found = uml_bed.run(config, _INSIDE, arguments, seed=seed).result
    else:
        found = dict(uml_measure.measure(config, sizes=sizes, seed=seed).document)
    by_estimator = {
        name: _estimate(found["estimators"][name]["by_size"][str(inputs["size_bytes"])])
        for name in ("published", "counting")
        if found["estimators"].get(name)
    }
    return {"kernel": machine.check()[1].name, "estimates": by_estimator}


def _estimate(found: Mapping[str, Any]) -> dict[str, float | None]:
    low, high = found["ci95_packets"] or (None, None)
    return {"packets": found["packets"], "low": low, "high": high}


def sessions_inside(at: Inside, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what sessions with a flow of ``rate_pps`` find, from inside the machine."""
    # Loaded there only, as what measures is.
    path: Any = importlib.import_module("airqueue_papers.apq.path")
    with prober_through(at.bed) as prober:
        found: dict[str, Any] = path.published_of(prober, arguments["sizes"], arguments["rate_pps"])
        return found


kinds.register(KIND, host_ap, ("airqueue.linux", *kinds.MEASURING))


def _settings(_: Budget) -> Mapping[str, Run]:
    inputs = {"rate_bps": _RATE_BPS, "size_bytes": _SIZE_BYTES, "seed": 1}
    return {
        str(packets): Calculation(
            Work(
                KIND,
                {"packets": packets, **inputs},
                weight=_SECONDS,
                name=f"the measurement of a kernel queue of {packets} packets",
            )
        )
        for packets in SETTINGS
    }


def unsaturated(measurement: Calculation, rate_pps: float) -> Calculation:
    """Return sessions of Algorithm 2 with a flow of this rate, in place of a measurement."""
    return Calculation(Work(KIND, {**measurement.work.inputs, "rate_pps": rate_pps}, _SECONDS))


def _estimates(outcomes: Outcomes, estimator: str) -> dict[int, Value]:
    every = {each: calculated(outcomes, str(each))["estimates"] for each in SETTINGS}
    found = {setting: of.get(estimator) for setting, of in every.items()}
    return {
        setting: Value(each["packets"], each["low"], each["high"])
        for setting, each in found.items()
        if each is not None
    }


def _compare(outcomes: Outcomes) -> Iterable[Finding]:
    yield from main_result(_estimates(outcomes, "published"), "apq.val.kernel", driver=0)


def _says(outcomes: Outcomes) -> Iterable[str]:
    counted = _estimates(outcomes, "counting")
    exact = sum(round(found.mean) == setting for setting, found in counted.items())
    yield (
        f"The estimator by counting, which the paper does not have, finds {exact} of "
        f"{len(SETTINGS)} settings to the packet."
    )
    yield f"The kernel is Linux {calculated(outcomes, str(SETTINGS[0]))['kernel']}."


def _draw(outcomes: Outcomes) -> Iterable[PaperFigure]:
    series = [
        estimates(f"{name} estimator", tuple(_estimates(outcomes, name).values()))
        for name in ("published", "counting")
    ]
    title = "Queues of a real kernel (as Fig. 4)"
    yield PaperFigure("apq-host-ap", title, (over_settings(*series),))


ITEMS: Final = (
    Item(
        NAME,
        "Known settings of a real kernel",
        _compare,
        _settings,
        _draw,
        notes=(
            "pfifo queues of Linux behind a shaper (tbf) at 7 Mb/s, measured through real sockets by "
            "the quick profile, in user-mode Linux on a virtual clock. There is no radio, whose "
            "service times scatter, and no driver queue: the setting is all that the device holds, "
            "and intervals are narrower than over the air.",
        ),
        says=_says,
        exact=True,
    ),
)
