"""Beyond the papers: the same questions with FQ-CoDel, airtime fairness and A-MPDU.

The papers print no numbers for these items. Each item asks a paper's question of the queues of
today's access points, beside those of the paper's time, and names the best by the rule in the item's
sentence.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from airqueue.description import Description, FlowTable, QueueTable, StationTable
from airqueue.description_words import DisciplineName
from airqueue.figures import Figures
from airqueue.simulate import Results, Scenario
from airqueue.simulate.reported import known
from airqueue.stats import jain_index
from airqueue_papers import rdqm
from airqueue_papers.finding import Value
from airqueue_papers.item import Budget, Item, Outcomes, Paper, Run, Simulation
from airqueue_papers.kernel import aggregates, calls, chains, delays, fairness, rates
from airqueue_papers.picture import Panel, PaperFigure, Series

Figure = Callable[[Figures], float | None]
"""A number from the figures of one replication."""

QUEUES: Final[Mapping[str, QueueTable]] = {
    "drop-tail, 1000": {"limit": "1000 packets"},
    "drop-tail, 50": {"limit": "50 packets"},
    "FQ-CoDel": {"discipline": "fq_codel"},
    "mac80211": {"discipline": "mac80211"},
}
"""mac80211: FQ-CoDel for each station with airtime fairness between them, as Linux has since 2017."""
_ENOUGH: Final = 0.9
"""Share of the greatest goodput that a queue must carry to be called best in another respect."""


def _goodput_mbps(run: Figures) -> float:
    return sum(known(each["goodput_bps"]) for each in run["connections"].values()) / 1e6


def _value(results: Results, figure: Figure) -> Value | None:
    return Value.of(figure(run) for run in results.runs.values())


def _mean(results: Results, figure: Figure) -> float:
    value = _value(results, figure)
    return 0.0 if value is None else value.mean


def _bars(outcomes: Outcomes, label: str, figure: Figure) -> Panel:
    """Return a figure of each outcome, in their order."""
    values = [_value(results, figure) for results in outcomes.values()]
    series = Series(
        "",
        tuple(outcomes),
        tuple(value.mean if value else None for value in values),
        tuple(value.low if value else None for value in values),
        tuple(value.high if value else None for value in values),
        "bars",
    )
    return Panel("", "", label, (series,))


def _best(outcomes: Outcomes, worth: Figure, *, least: bool) -> str:
    """Return the outcome with the least or greatest worth among those with enough goodput."""
    goodputs = {name: _mean(results, _goodput_mbps) for name, results in outcomes.items()}
    enough = [name for name, mbps in goodputs.items() if mbps >= _ENOUGH * max(goodputs.values())]
    return (min if least else max)(enough, key=lambda name: _mean(outcomes[name], worth))


def _access_point(budget: Budget) -> Mapping[str, Run]:
    """Two fast downloads and a slow one, a web user, a call and a game behind each queue."""
    flow: FlowTable = {"from": "server", "source": "tcp"}
    described: Description = {
        "duration": f"{budget.pick(20, 120)} s",
        "warm_up": "5 s",
        "phy": {"standard": "802.11ax", "width": "20 MHz", "streams": 2},
        "tcp": {"stack": "linux"},
        "hosts": [{"name": "server", "link": "ap", "rate": "1 Gb/s", "delay": "20 ms"}],
        "flows": [
            {"name": "fast", "to": "fast", **flow},
            {"name": "slow", "to": "slow", **flow},
            {
                "name": "page",
                "from": "server",
                "to": "reader",
                "source": "web",
                "web": {"file_size": "200 kB", "distribution": "exponential", "think_time": "1 s"},
            },
            {"name": "call", "from": "server", "to": "phone", "source": "voice"},
            {
                "name": "game",
                "from": "server",
                "to": "player",
                "source": "cbr",
                "packet_rate": "20 packets/s",
                "size": "160 B",
            },
        ],
    }
    stations: list[StationTable] = [
        {"name": "fast", "count": 2, "rate": "HE-MCS9"},
        {"name": "slow", "rate": "HE-MCS0"},
    ]
    for name in ("reader", "phone", "player"):
        stations.append({"name": name, "rate": "HE-MCS5"})
    return {
        name: _simulation(
            {**described, "stations": [{"name": "ap", "queue": queue}, *stations]},
            budget.pick(3, 5),
            weight=budget.pick(1.0, 5.0),
        )
        for name, queue in QUEUES.items()
    }


def _simulation(described: Description, replications: int, weight: float) -> Simulation:
    return Simulation(Scenario(described).description, replications, weight=weight)


def _mos(run: Figures) -> float | None:
    return run["calls"]["call"]["mos"]


def _page_s(run: Figures) -> float | None:
    return run["connections"]["page"]["session_mean_s"]


def _game_s(run: Figures) -> float | None:
    return run["flows"]["game"]["delay_p95_s"]


def _draw_access_point(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = (
        _bars(outcomes, "goodput of all (Mb/s)", _goodput_mbps),
        _bars(outcomes, "mean time of a page (s)", _page_s),
        _bars(outcomes, "score of the call (MOS)", _mos),
        _bars(outcomes, "95th percentile of the game's delay (s)", _game_s),
    )
    title = "Three downloads, a reader, a call and a game behind one access point of 802.11ax"
    yield PaperFigure("beyond-queue", title, panels)


def _conclude_access_point(outcomes: Outcomes) -> Iterable[str]:
    best = _best(outcomes, _mos, least=False)
    worst = "drop-tail, 1000"
    yield (
        f"Of the queues that carry at least {100 * _ENOUGH:.0f} % of the most, one would configure "
        f"{best} today: {_mean(outcomes[best], _goodput_mbps):.0f} Mb/s in all, a page in "
        f"{_mean(outcomes[best], _page_s):.2f} s, a call of MOS {_mean(outcomes[best], _mos):.2f}. "
        f"A drop-tail queue of 1000 packets gives {_mean(outcomes[worst], _goodput_mbps):.0f} Mb/s, "
        f"{_mean(outcomes[worst], _page_s):.2f} s and {_mean(outcomes[worst], _mos):.2f}."
    )


_RDQM_QUEUES: Final[Mapping[str, DisciplineName]] = {
    "drop-tail": "droptail",
    "RDQM": "rdqm",
    "FQ-CoDel": "fq_codel",
    "mac80211": "mac80211",
}
_FRAMES: Final = 200


def _rates(budget: Budget) -> Mapping[str, Run]:
    """The mixed network of RDQM's Fig. 3, behind each queue."""
    runs = {}
    for name, discipline in _RDQM_QUEUES.items():
        described = rdqm.scenario(rdqm.MIXES["mixed"], "rdqm", _FRAMES, budget.pick(60, 600))
        queue: QueueTable = {"discipline": discipline}
        if discipline != "mac80211":
            queue["limit"] = f"{_FRAMES} packets"
        described["stations"][0]["queue"] = queue
        runs[name] = Simulation(described, budget.pick(3, 5), weight=budget.pick(0.2, 1.2))
    return runs


def _flows_kbps(outcomes: Outcomes) -> Panel:
    flows = rdqm.MIXES["mixed"]
    names = tuple(f"{rate:g} Mb/s, {delay} ms" for delay, rate in flows)
    series = []
    for name, results in outcomes.items():
        means = tuple(
            _mean(results, functools.partial(_flow_kbps, flow=f"flow{i}"))
            for i in range(1, len(flows) + 1)
        )
        series.append(Series(name, names, means, style="bars"))
    return Panel("", "rate and one-way delay", "goodput (kb/s)", tuple(series))


def _flow_kbps(run: Figures, flow: str) -> float:
    return known(run["connections"][flow]["goodput_bps"]) / 1e3


def _draw_rates(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = (_flows_kbps(outcomes), _bars(outcomes, "goodput of all (Mb/s)", _goodput_mbps))
    title = "Six downloads at three rates and six distances (as RDQM Fig. 3)"
    yield PaperFigure("beyond-rates", title, panels)


def _conclude_rates(outcomes: Outcomes) -> Iterable[str]:
    totals = {name: _mean(results, _goodput_mbps) for name, results in outcomes.items()}
    words = ", ".join(f"{name} {mbps:.2f}" for name, mbps in totals.items())
    yield (
        f"All six together get, in Mb/s: {words}. RDQM needs stations that report their delay and "
        "rate; mac80211 needs only what the access point knows itself."
    )


_N: Final[Description] = {"phy": {"standard": "802.11n", "streams": 2}}
_ACCESS: Final[Mapping[str, Description]] = {
    "802.11b": {"phy": {"standard": "802.11b"}},
    "802.11n, no A-MPDU": {**_N, "mac": {"aggregation": {"enabled": False}}},
    "802.11n": _N,
}
_OFTEN: Final[StationTable] = {"mac": {"edca": {"be": {"cw_min": 3}}}}
"""An access point that wins the medium about as often as ten stations with a CWmin of 15 do."""
_FAIR: Final = 0.9
"""Jain's index from which twelve flows are called fair here."""


def _uploads(budget: Budget) -> Mapping[str, Run]:
    """EDCA's six uploads and six downloads, with default settings, old and new."""
    described = {
        f"{name}, {queue}": _twelve(budget, QUEUES[queue], {}, access)
        for name, access in _ACCESS.items()
        for queue in ("drop-tail, 50", "mac80211")
    }
    described["802.11n, mac80211, CWmin 3 at the access point"] = _twelve(
        budget, QUEUES["mac80211"], _OFTEN, _N
    )
    return {
        name: _simulation(each, budget.pick(3, 5), weight=budget.pick(0.7, 4.0))
        for name, each in described.items()
    }


def _twelve(
    budget: Budget,
    queue: QueueTable,
    access_point: StationTable,
    access: Description,
) -> Description:
    return {
        "duration": f"{budget.pick(20, 120)} s",
        "warm_up": "10 s",
        **access,
        "queue": queue,
        "tcp": {"stack": "linux"},
        "stations": [
            {"name": "ap", **access_point},
            {"name": "up", "count": 6},
            {"name": "down", "count": 6},
        ],
        "hosts": [{"name": "server", "link": "ap", "rate": "1 Gb/s", "delay": "10 ms"}],
        "flows": [
            {"name": "upload", "from": "up", "to": "server", "source": "tcp"},
            {"name": "download", "from": "server", "to": "down", "source": "tcp"},
        ],
    }


def _share_down(run: Figures) -> float:
    goodput = {name: known(each["goodput_bps"]) for name, each in run["connections"].items()}
    down = sum(bps for name, bps in goodput.items() if name.startswith("download"))
    return 100 * down / sum(goodput.values())


def _jain(run: Figures) -> float:
    goodput = [known(each["goodput_bps"]) for each in run["connections"].values()]
    return jain_index(goodput)


def _draw_uploads(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = (
        _bars(outcomes, "goodput of all (Mb/s)", _goodput_mbps),
        _bars(outcomes, "share of the downloads (%)", _share_down),
        _bars(outcomes, "fairness of all twelve (Jain)", _jain),
    )
    yield PaperFigure("beyond-uploads", "Six uploads and six downloads (as EDCA Fig. 7)", panels)


def _conclude_uploads(outcomes: Outcomes) -> Iterable[str]:
    indices = {name: _mean(results, _jain) for name, results in outcomes.items()}
    worst = min(indices, key=lambda name: indices[name])
    yield (
        f"The index of fairness is {indices[worst]:.2f} at worst: {worst}, where the downloads have "
        f"{_mean(outcomes[worst], _share_down):.0f} % of the goodput."
    )
    fair = [name for name, index in indices.items() if index >= _FAIR]
    if not fair:
        yield f"None reaches an index of {_FAIR}."
        return
    best = max(fair, key=lambda name: _mean(outcomes[name], _goodput_mbps))
    yield (
        f"Of those with an index of {_FAIR} and more {best} carries most, "
        f"{_mean(outcomes[best], _goodput_mbps):.0f} Mb/s of which the downloads have "
        f"{_mean(outcomes[best], _share_down):.0f} %: one would configure that today."
    )


PAPER: Final = Paper(
    "beyond",
    (
        Item(
            "queue",
            "Which queue for an access point? (APQ, HTTP)",
            lambda _: (),
            _access_point,
            _draw_access_point,
            says=_conclude_access_point,
        ),
        Item(
            "rates",
            "Delays and rates that differ (RDQM)",
            lambda _: (),
            _rates,
            _draw_rates,
            says=_conclude_rates,
        ),
        Item(
            "uploads",
            "Uploads beside downloads (EDCA)",
            lambda _: (),
            _uploads,
            _draw_uploads,
            says=_conclude_uploads,
        ),
        *(each.ITEM for each in (delays, rates, fairness, calls, chains, aggregates)),
    ),
)
