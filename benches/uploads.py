"""Does `airqueue measure --with --uploads` tell rightly whether stations obey their settings?

Every case is a simulated access point with two to four stations, drawn from a seed: physical layer,
rates, losses, and the parameters of EDCA. What is true of it is known:

``obeyed``  the stations have the stated parameters, which predict a difference between categories;
``ignored``  the stations put all packets into best effort;
``other``  the stations have other parameters, which predict another ratio, 1.65 times apart or more.

TXOP limits are judged apart: the stations have the stated one, or one that admits twice as many
packets or half as many. "undecided" is neither right nor wrong. Finished cases are kept in a file, a
line each, and are not repeated: the same command goes on.

    .venv/bin/python benches/uploads.py                              # 60 access points
    .venv/bin/python benches/uploads.py --cases 300 --keep uploads.jsonl
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import finished
from airqueue.measure.prober import ProbeError
from airqueue.measure.simulated import SimulatedProber
from airqueue.uploads.method import measure
from airqueue.uploads.settings import Access, Category
from airqueue.uploads.settings import expected as log_ratio
from verdicts import bound

SEED: Final = 2787038468
"""Published: equal seeds give equal cases and equal answers."""
KINDS: Final = ("obeyed", "ignored", "other")
APART: Final = 0.5
"""Of the logarithms that stated and true parameters predict, in the kind "other"."""
LEAST: Final = 0.35
"""Of the logarithm that stated parameters predict."""
RATES: Final[Mapping[str, Sequence[str]]] = {
    "802.11b": [f"{rate} Mb/s" for rate in ("2", "5.5", "11")],
    "802.11g": [f"{rate} Mb/s" for rate in (6, 9, 12, 18, 24, 36, 48, 54)],
    "802.11a": [f"{rate} Mb/s" for rate in (6, 9, 12, 18, 24, 36, 48, 54)],
    "802.11n": [f"HT-MCS{index}" for index in range(8)],
}
NAMES: Final = ("here", "second", "third", "fourth")
Draw = np.random.Generator


@dataclass(frozen=True)
class Case:
    """What is stated and what is true of an access point with so many stations."""

    kind: str
    phy: str
    rates: list[str]
    loss: float
    category: Category
    stated: dict[str, Access]
    true: dict[str, Access]


@dataclass(frozen=True)
class Answer:
    """What the method said of a case."""

    kind: str
    about: str
    said: str
    fairness: str
    jain: float
    limits: list[str]
    limit_truth: str
    ratio: float | None
    predicted: float | None
    seconds: float


def access(draw: Draw) -> Access:
    low = int(draw.integers(1, 7))
    high = int(draw.integers(low, 11))
    return Access(int(draw.integers(2, 11)), 2**low - 1, 2**high - 1, 0.0)


def drawn(seed: int, index: int) -> Case:
    """Return the case of this number."""
    draw = np.random.default_rng([seed, index])
    kind = KINDS[index % len(KINDS)]
    phy = str(draw.choice(list(RATES)))
    stations = int(draw.choice([2, 2, 3, 4]))
    rates = [str(rate) for rate in draw.choice(list(RATES[phy]), stations)]
    category: Category = str(draw.choice(["bk", "vi", "vo"]))  # type: ignore[assignment]
    loss = float(draw.choice([0.0, 0.0, 0.02, 0.1]))
    while True:
        stated = {"be": access(draw), category: access(draw)}
        says = log_ratio(stated, category, stations)
        if says is None or not LEAST <= abs(says.log) <= 3.0:
            continue
        true = dict(stated)
        if kind == "other":
            true = {"be": access(draw), category: access(draw)}
            other = log_ratio(true, category, stations)
            if other is None or abs(other.log) > 3.0 or abs(other.log - says.log) < APART:
                continue
        break
    if phy != "802.11n" and draw.random() < 0.5:
        limit = float(draw.choice([2.0e-3, 3.0e-3, 6.0e-3]))
        factor = float(draw.choice([0.5, 1.0, 2.0]))
        txops = {"stated": limit, "true": limit * factor}
        stated[category] = _with(stated[category], txops["stated"])
        true[category] = _with(true[category], txops["true"])
    return Case(kind, phy, rates, loss, category, stated, true)


def _with(one: Access, txop_s: float) -> Access:
    return Access(one.aifsn, one.cw_min, one.cw_max, txop_s)


def _table(one: Access) -> dict[str, Any]:
    txop = f"{one.txop_s * 1e6:.0f} us"
    return {"aifsn": one.aifsn, "cw_min": one.cw_min, "cw_max": one.cw_max, "txop": txop}


def path(case: Case) -> dict[str, Any]:
    """Return the path of the stations, as `SimulatedProber` has it."""
    names = NAMES[: len(case.rates)]
    tables = {
        name: _table(case.true["be" if case.kind == "ignored" else name]) for name in case.true
    }
    stations: list[dict[str, Any]] = [{"name": "ap"}]
    stations += [
        {"name": n, "rate": r, "queue": {"limit": "200 packets"}}
        for n, r in zip(names, case.rates, strict=True)
    ]
    flows: list[dict[str, Any]] = []
    for name in names:
        flows.append({"name": f"to {name}", "from": "ap", "to": name, "source": "external"})
        flows.append({"name": f"from {name}", "from": name, "to": "ap", "source": "external"})
    scenario: dict[str, Any] = {
        "phy": {"standard": case.phy},
        "mac": {"access": "edca", "experimental": True, "edca": tables},
        "stations": stations,
        "flows": flows,
    }
    if case.loss:
        scenario["medium"] = {"errors": {"frame": case.loss}}
    first, *others = ({"down": f"to {name}", "up": f"from {name}"} for name in names)
    flows_of_ends = 1 + len(names)
    return {"flows": flows_of_ends, "cell": {"scenario": scenario, **first, "others": others}}


def answered(index: int, seed: int) -> Answer:
    """Measure a case and take down the answer."""
    started = time.monotonic()
    case = drawn(seed, index)
    settings: dict[Category, Access] = {
        "bk": Access(7, 15, 1023, 0.0),
        "vi": Access(2, 7, 15, 3.008e-3),
        "vo": Access(2, 3, 7, 1.504e-3),
        **case.stated,  # type: ignore[dict-item]
    }
    prober = SimulatedProber(path(case), seed=index, direction="up")
    names = list(NAMES[: len(case.rates)])
    found = measure(prober, names, settings, [case.category])
    about = f"{case.phy} at {', '.join(case.rates)}, loss {case.loss:g}, {case.category}: "
    about += f"stated {case.stated}, true {case.true}"
    of = found["categories"][0] if found["categories"] else None
    stated, true = (t[case.category].txop_s for t in (case.stated, case.true))
    truth = "none" if stated == 0 or case.kind == "ignored" else _limit_truth(stated, true)
    equal = found["equal"]
    return Answer(
        case.kind,
        about,
        of["obedience"] if of else "undecided",
        equal["fairness"] if equal else "undecided",
        equal["jain"] if equal else float("nan"),
        [b["limit"] for b in of["bursts"]] if of else [],
        truth,
        of["pairs"][0]["ratio"] if of else None,
        of["pairs"][0]["predicted"] if of else None,
        round(time.monotonic() - started, 1),
    )


def _limit_truth(stated: float, true: float) -> str:
    return "longer" if true > stated else "shorter" if true < stated else "kept"


def mark(answer: Answer) -> str:
    """Whether what was said of AIFS and windows is right, wrong or unsure."""
    if answer.said == "undecided":
        return "unsure"
    return "right" if (answer.said == "obeyed") == (answer.kind == "obeyed") else "wrong"


def matrix(answers: Sequence[Answer]) -> str:
    """Return what was said of each kind, and how often that was wrong."""
    lines = [f"{'truth':>10}{'obeyed':>12}{'not_obeyed':>12}{'undecided':>12}  wrong, at most"]
    for kind in (*KINDS, "all"):
        of = [a for a in answers if kind in (a.kind, "all")]
        said = Counter(a.said for a in of)
        wrong = sum(mark(a) == "wrong" for a in of)
        counts = "".join(f"{said[word]:>12}" for word in ("obeyed", "not_obeyed", "undecided"))
        lines.append(f"{kind:>10}{counts}  {wrong}, {bound(wrong, len(of)):.1%}")
    fair = Counter(a.fairness for a in answers)
    lines += ["", f"one category: {dict(fair)}", ""]
    words = ("obeyed", "within", "exceeded", "undecided")
    lines.append(f"{'TXOP':>10}" + "".join(f"{word:>12}" for word in words))
    for truth in ("kept", "longer", "shorter"):
        limits = Counter(limit for a in answers if a.limit_truth == truth for limit in a.limits)
        lines.append(f"{truth:>10}" + "".join(f"{limits[word]:>12}" for word in words))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--from", type=int, default=0, dest="first", help="number of the first")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--keep", type=Path, help="file for the answers, read when it exists")
    options = parser.parse_args()
    before = {
        row["case"]: row["answer"]
        for row in finished.rows(options.keep)
        if row["seed"] == options.seed
    }
    answers: list[Answer] = []
    for index in range(options.first, options.first + options.cases):
        if index in before:
            answers.append(Answer(**before[index]))
            continue
        try:
            answer = answered(index, options.seed)
        except ProbeError as error:
            print(f"{index:4} {error}", file=sys.stderr)
            continue
        finished.keep(options.keep, {"seed": options.seed, "case": index, "answer": asdict(answer)})
        answers.append(answer)
        ratio, expected = answer.ratio or float("nan"), answer.predicted or float("nan")
        print(
            f"{index:4} {mark(answer):7} {answer.kind}: {answer.said} {ratio:.3g} for "
            f"{expected:.3g}; {answer.fairness}; TXOP {answer.limit_truth}: "
            f"{', '.join(answer.limits)}; {answer.about}  ({answer.seconds:.0f} s)",
            flush=True,
        )
    print(matrix(answers))
    return 1 if any(mark(a) == "wrong" for a in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
