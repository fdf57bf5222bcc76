"""Made-up items of a reproduction, with every verdict and every form of claim and figure."""

from __future__ import annotations

from dataclasses import replace

from airqueue.runs import Work
from airqueue_papers.claim import Claim
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Calculation, Item, Simulation
from airqueue_papers.picture import Panel, PaperFigure, Series
from airqueue_papers.reproduction import Chosen, Reproduced
from airqueue_papers.site import Origin
from airqueue_papers.tried import AS_JUDGED, Tried
from airqueue_papers.verdict import Challenge, Verdict, judge

ORIGIN = Origin(Budget.QUICK, "1.2.3", "22 November 2026", "Linux, two cores", "0123abc", 61.0)
HOSTILE = "<b>\"bold\"</b> & 'sharp' $x$"
"""What a page must show as it stands."""

SCENARIO = {
    "duration": "2 s",
    "phy": {"standard": "802.11b"},
    "stations": [{"name": "ap"}, {"name": "laptop"}],
    "flows": [{"from": "ap", "to": "laptop", "source": "tcp"}],
}


def claim(name: str, **changed: object) -> Claim:
    """Return a claim about a ratio, with what is changed of it."""
    stated = {
        "id": f"mesh.{name}",
        "kind": "table",
        "place": "Table 3",
        "quantity": "goodput with sized buffers over goodput with 50 packets",
        "printed": 0.94,
        "item": "table3",
        "conditions": "4-hop chain, 11 Mb/s",
        "sort": "ratio",
        "tolerance": 0.25,
        "because": "a quarter: of one experiment",
    }
    return Claim(**{**stated, **changed})  # type: ignore[arg-type]


NOTICED = Challenge(Verdict.NOT_REPRODUCED)
CHALLENGES = {
    "mesh.stands": Challenge(Verdict.REPRODUCED),
    "mesh.value": Challenge(Verdict.REPRODUCED, null=True, ours=(0.9,)),
    "mesh.alone": None,
}
"""What became of claims without their mechanism; of all others the verdict falls."""


TRIED = (
    Tried("mesh.table3", AS_JUDGED, (1, 2, 3, 0)),
    Tried("mesh.table3", f"with windows of 32 segments {HOSTILE}", (4, 2, 0, 0)),
)
"""What settings that the paper does not print explain."""


def _value(mean: float, half: float) -> Value:
    return Value(mean, mean - half, mean + half)


def records():
    """Return one record for each verdict, and for what stands beside a verdict."""
    found = [
        (claim("ratio"), [_value(0.97, 0.02)], None, None),
        (
            claim(
                "delay", sort="absolute", printed=316, unit="ms", ci95=21.0, quantity="round trip"
            ),
            [_value(489.2, 12.5)],
            True,
            494.0,
        ),
        (
            claim("each", sort="absolute", printed=[465, 382, 121.5, 87], unit="kb/s"),
            [_value(457, 9), _value(381, 8), _value(20.3, 4), Value(80.0)],
            None,
            None,
        ),
        (claim("range", printed=[2, 6], comparator="range", unit="packets"), [Value(4.2)], None, 5),
        (claim("below", printed=700, comparator="<", unit="kb/s"), [_value(812, 30)], True, None),
        (
            claim("statement", printed="qualitative", sort="statement", quantity="queues fill"),
            [],
            True,
            None,
        ),
        (claim("never", printed=1.5e-5, unit="s"), [], None, None),
        (claim("given", by_construction="the printed capacity is a setting"), [Value(0.94)], 1, 0),
        (claim("unread", unread="as remembered"), [Value(0.94)], None, None),
        (claim("stands"), [Value(0.94)], None, None),
        (claim("value"), [Value(0.94)], None, None),
        (claim("alone"), [Value(0.94)], None, None),
        (claim("open"), [_value(0.94, 0.5)], None, None),
        (claim("hostile", quantity=HOSTILE, conditions=HOSTILE, unit="<i>"), [Value(1)], 0, None),
    ]
    reason = "with 20 packets a queue we measured what stands here, and it took a while to find why"
    judged = [
        replace(
            judge(of, Finding(of.id, reason, tuple(ours), holds and bool(holds), ns2)),
            challenge=CHALLENGES.get(of.id, NOTICED),
        )
        for of, ours, holds, ns2 in found
    ]
    return [
        *judged,
        judge(
            claim(
                "hardware",
                printed=[8192, 17520, 65535, 17520, 123456],
                unit="bytes",
                not_testable="a matter of the Atheros card's firmware",
            ),
            None,
        ),
    ]


def pictures():
    """Return figures with every style, words and numbers, gaps, and both logarithmic axes."""
    x = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
    y = (0.3, 0.9, 1.4, None, 2.4, 2.5, 2.5)
    low = tuple(None if v is None else 0.9 * v for v in y)
    high = tuple(None if v is None else 1.1 * v for v in y)
    one = Series("NewReno", x, y, low, high)
    lines = (one, Series("CUBIC", x, tuple(v and 0.8 * v for v in y), low, high, "band"))
    printed = Series("NewReno", x[1:4], (1.0, 1.5, 2.0), style="points", printed=True)
    words = ("one TCP flow", "many", "web", "call")
    below, above = (7.0, 4.8, 2.9, None), (9.0, 5.2, 3.1, None)
    bars = (
        Series("50 packets", words, (8.0, 5.0, 3.0, 1.0), below, above, "bars"),
        Series("sized", words, (7.0, 4.0, 2.5, 1.0), style="bars"),
        Series("50 packets", words, (8.5, 4.0, 3.0, 1.1), style="bars", printed=True),
    )  # fmt: skip
    dense = tuple(0.1 * n for n in range(1, 101))
    steps = Series("distribution", dense, tuple(min(1.0, d / 6) for d in dense), style="steps")
    return (
        PaperFigure(
            "goodput-and-delay",
            f"Goodput and delay against the buffer, after Fig. 8 {HOSTILE}",
            (
                Panel("Goodput", "buffer (packets)", "goodput (Mb/s)", (*lines, printed), True),
                Panel("Delay", "buffer (packets)", "delay (s)", (one,), True, True),
                Panel("Distribution", "delay (ms)", "share of packets", (steps,)),
            ),
        ),
        PaperFigure("by-load", "Goodput by load", (Panel("", "load", "Mb/s", bars),)),
    )


def reproduced():
    """Return two items of one paper, and one of another whose runs are none."""
    notes = ("Where the paper is silent: long preambles.", HOSTILE)
    item = Item("table3", "Chains of hops", lambda _: [], notes=notes)
    runs = {
        "sized buffers": Simulation(SCENARIO, 3),
        HOSTILE: Simulation(SCENARIO, 1, seed=7),
        "model": Calculation(Work("model", {"name": "collective", "hops": 4})),
    }
    alone = judge(
        claim("given2", by_construction="a setting", item="alloc"), Finding("", "so", (Value(1),))
    )
    other = judge(
        claim("http", id="http.table2.w1", item="table2", place="Table 2"),
        Finding("", "the model gives it", (Value(0.95),)),
    )
    other = replace(other, challenge=NOTICED)
    return [
        Reproduced(Chosen("mesh", item), runs, records(), pictures(), tried=TRIED),
        Reproduced(
            Chosen("mesh", Item("alloc", "Rules", lambda _: [], exact=True)), {}, [alone], ()
        ),
        Reproduced(
            Chosen("http", Item("table2", "Windows", lambda _: [])), {}, [other], pictures()[1:]
        ),
    ]
