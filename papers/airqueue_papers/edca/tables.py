"""EDCA paper, Tables 1 and 2: the settings of the test bed, and statements on the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from airqueue.description import Description
from airqueue.simulate.reported import known
from airqueue_papers.edca import figures
from airqueue_papers.edca.scenarios import (
    AP,
    DIFS_AIFSN,
    MSS,
    QUEUES,
    TABLE2,
    TCP_BUFFERS,
    Transfers,
)
from airqueue_papers.edca.transfers import (
    ASSUMED,
    FAIR_MIXED,
    FAIR_UPLOADS,
    STARVED,
    UNFAIR,
    UPLOADS,
    simulations,
)
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import interval, percent, series
from airqueue_papers.picture import Panel, PaperFigure

_OTHER_QUEUES: Final = (
    replace(UPLOADS, queues=QUEUES["default"]),
    replace(UPLOADS, queues=(50, 0)),
)
_BUFFERS: Final = {
    name: Transfers(1, queues=QUEUES["default"], buffer=size) for name, size in TCP_BUFFERS.items()
}
_THOUSANDTH: Final = 1e-3


def _runs_table1(budget: Budget) -> Mapping[str, Run]:
    return simulations((UPLOADS, *_OTHER_QUEUES, *_BUFFERS.values()), budget)


def _compare_table1(outcomes: Outcomes) -> Iterable[Finding]:
    described = outcomes[UPLOADS.name].scenario
    yield from _settings(described)
    yield _small_buffers(outcomes)
    found = {
        case.queues: (
            figures.fairness(outcomes, case.name),
            figures.smallest(outcomes, case.name).mean,
            _timeouts(outcomes, case),
        )
        for case in (UPLOADS, *_OTHER_QUEUES)
    }
    said = "; ".join(
        f"with {interface} and {driver} packets {interval(index)}, {percent(least)} and {count:.1f}"
        for (interface, driver), (index, least, count) in found.items()
    )
    yield Finding(
        "edca.table1.range",
        "Jain's index of twelve uploads, the smallest's share of the mean and a flow's timeouts in a "
        f"minute by queues of interface and driver: {said}{_why(list(found.values()))}.",
        holds=all(_gross(index, least) for index, least, _ in found.values()),
    )


def _gross(index: Value, least: float) -> bool:
    """Return whether uploads are grossly unfair, in our reading of Fig. 6."""
    return index.mean < UNFAIR and least < STARVED


def _why(found: Sequence[tuple[Value, float, float]]) -> str:
    """Return the common property of the fairer queues, as a clause."""
    unfair = [count for index, least, count in found if _gross(index, least)]
    fairer = [count for index, least, count in found if not _gross(index, least)]
    if unfair and fairer and max(fairer) < min(unfair):
        return "; timeouts starve a flow, and the fairer queues have fewer"
    return ""


def _timeouts(outcomes: Outcomes, case: Transfers) -> float:
    """Return the timeouts of a flow in a minute."""
    tests = figures.runs(outcomes[case.name])
    return 60 * figures.mean(
        [each["timeouts"] / t["duration_s"] for t in tests for each in t["connections"].values()]
    )


def _settings(described: Description) -> Iterable[Finding]:
    """Yield the findings on the settings of Fig. 6's scenario."""
    queue = described["queue"]
    window = int(described["tcp"]["window"].split()[0])
    buffer = TCP_BUFFERS["used"]
    yield Finding(
        "edca.table1.tcp",
        f"Windows of {window} segments of {MSS} bytes are {window * MSS / 1024:.0f} of "
        f"{buffer / 1024:.0f} KB.",
        holds=window == buffer // MSS,
    )
    assert not isinstance(queue, str)  # it is a table
    set_to = {"limit": queue["limit"], "ring": queue["ring"]}
    for name, (key, value), packets in zip(
        ("iface_tx", "driver_tx"), set_to.items(), QUEUES["used"], strict=True
    ):
        yield Finding(
            f"edca.table1.{name}",
            f"The stations' {key} is {value}.",
            holds=value == f"{packets} packets",
        )


def _small_buffers(outcomes: Outcomes) -> Finding:
    resent, waiting = {}, {}
    for name, case in _BUFFERS.items():
        tests = figures.runs(outcomes[case.name])
        resent[name] = sum(
            each["retransmitted_segments"] for t in tests for each in t["connections"].values()
        )
        waiting[name] = figures.mean(
            [
                known(queue["length_mean_packets"])
                for t in tests
                for station, queue in t["queues"].items()
                if station.startswith("up")
            ]
        )
    window = TCP_BUFFERS["default"] // MSS
    return Finding(
        "edca.table1.aimd",
        f"With 64 KB an upload resends {resent['default']} segments and has "
        f"{waiting['default']:.1f} of its {window} packets waiting at the station; with 1 MB it "
        f"resends {resent['used']} and has {waiting['used']:.0f} waiting of a queue of "
        f"{sum(QUEUES['default'])}.",
        holds=resent["default"] == 0 and resent["used"] > 0,
    )


def _compare_table2(outcomes: Outcomes) -> Iterable[Finding]:
    described = outcomes[FAIR_MIXED.name].scenario
    ap = described["stations"][0]["mac"]["edca"]
    stations = described["mac"]["edca"]
    for row, (who, category, access) in TABLE2.items():
        keys = (ap if who == AP else stations)[category]
        values = {"aifs": keys["aifsn"] - DIFS_AIFSN, "cwmin": keys["cw_min"] + 1}
        for column, value in values.items():
            yield Finding(
                f"edca.table2.{row}.{column}",
                f"The scenario of Fig. 9 has aifsn = {keys['aifsn']} and cw_min = {keys['cw_min']}.",
                (Value(float(value)),),
            )
        yield Finding(
            f"edca.table2.{row}.txop",
            f"The scenario of Fig. 9 has txop = {keys['txop']!r}.",
            holds=keys["txop"] == access.txop,
        )
    yield _acknowledgements(outcomes)


def _acknowledgements(outcomes: Outcomes) -> Finding:
    tests = figures.runs(outcomes[FAIR_UPLOADS.name])
    connections = [each for test in tests for each in test["connections"].values()]
    lost = sum(each["lost_ack_packets"] for each in connections)
    share = lost / sum(each["ack_packets"] for each in connections)
    waiting = figures.mean(
        [known(test["queues"][f"{AP}.vo"]["length_mean_packets"]) for test in tests]
    )
    data = [
        queue
        for test in tests
        for name, queue in test["queues"].items()
        if name.startswith("up") and name.endswith(".be")
    ]
    dropped = sum(each["dropped_packets"] for each in data)
    return Finding(
        "edca.table2.acks",
        f"Of twelve uploads' acknowledgements {percent(share, 3)} are lost and {waiting:.3f} wait at "
        f"the access point on average; stations hold "
        f"{figures.mean([known(each['length_mean_packets']) for each in data]):.1f} packets and drop "
        f"{percent(dropped / sum(each['offered_packets'] for each in data))} of them.",
        holds=share <= _THOUSANDTH and waiting <= 1 and dropped > 0,
    )


def _pictures_table1(outcomes: Outcomes) -> Iterable[PaperFigure]:
    by_queue = {
        f"{case.queues[0]} + {case.queues[1]}": figures.fairness(outcomes, case.name)
        for case in (UPLOADS, *_OTHER_QUEUES)
    }
    line = series("simulation", by_queue, style="bars")
    panel = Panel("", "packets of interface + driver", "Jain's index, 12 uploads", (line,))
    yield PaperFigure("edca-table1", "Fairness by the size of queues", (panel,))


TABLE1: Final = Item(
    "table1",
    "Settings of the test bed (Table 1)",
    _compare_table1,
    _runs_table1,
    _pictures_table1,
    (
        ASSUMED,
        "Settings do not count, since ours are equal. The paper's statements on them are measured.",
    ),
)
TABLE2_ITEM: Final = Item(
    "table2",
    "Access parameters that restore fairness (Table 2)",
    _compare_table2,
    lambda budget: simulations((FAIR_MIXED, FAIR_UPLOADS), budget),
    notes=(
        ASSUMED,
        "An AIFS of 0 slots is DIFS, AIFSN 2; CWmin 32 is a largest first backoff of 31. Figs 8 and "
        "9 show the effect of Table 2.",
    ),
)
