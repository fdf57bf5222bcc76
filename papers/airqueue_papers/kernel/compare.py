"""A scheme on and off, under the kernel's TCP and ours: runs, effects with intervals, sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from airqueue import text
from airqueue.description import Description, TcpTable
from airqueue.description_words import CongestionName
from airqueue.figures import Figures
from airqueue_papers.emulation import Emulation
from airqueue_papers.finding import Value
from airqueue_papers.item import Budget, Outcomes, Run, Simulation
from airqueue_papers.picture import Panel, PaperFigure, Series

SEEDS: Final = 4
WARM_UP_S: Final = 10.0
COUNTED_S: Final = 30.0
"""Stated before the first run, as are the seeds: what half an hour on two processors has room for."""

KERNEL: Final = "kernel"
OURS: Final = "ours"
WHOSE: Final = {KERNEL: "the kernel's TCP", OURS: "our TCP"}


@dataclass(frozen=True, slots=True)
class Congestion:
    """A congestion control that both have."""

    label: str
    kernel: str
    """The kernel's word."""
    ours: CongestionName
    """The word of scenarios."""


CONGESTION: Final = (
    Congestion("CUBIC", "cubic", "cubic"),
    Congestion("NewReno", "reno", "newreno"),
    Congestion("BBR", "bbr", "bbr"),
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a run that the scheme is to change."""

    words: str
    """As in a sentence: ``the goodput of all six``."""
    axis: str
    of: Callable[[Figures], float]
    unit: str = ""
    digits: int = 2
    relative: bool = True
    """Whether differences are in percent; otherwise in the unit."""

    def value(self, figures: Sequence[Figures]) -> Value:
        """Return the mean over runs with its interval."""
        return _value([self.of(each) for each in figures])

    def difference(self, these: Sequence[Figures], others: Sequence[Figures]) -> Value:
        """Return how much larger the measure is in these runs than in the others, run by run.

        A relative difference is in percent, that of geometric means: its interval is that of the
        mean of logarithms, and never ends below -100 %. Raises ValueError for a measure of zero.
        """
        pairs = [(self.of(one), self.of(two)) for one, two in zip(these, others, strict=True)]
        if not self.relative:
            return _value([one - two for one, two in pairs])
        if min(min(pair) for pair in pairs) <= 0.0:
            raise ValueError(f"{self.words} is zero in a run: there is no relative difference")
        ratio = _value([math.log(one / two) for one, two in pairs])
        ends = (None if end is None else _percent(end) for end in (ratio.low, ratio.high))
        return Value(_percent(ratio.mean), *ends)

    def from_to(self, before: Value, after: Value) -> str:
        """Return ``from 2.10 to 3.20 Mb/s``."""
        return f"from {before.mean:.{self.digits}f} to {after.mean:.{self.digits}f}{self.unit}"

    def difference_text(self, value: Value) -> str:
        """Return a difference with its sign, unit and interval."""
        unit, digits = (" %", 1) if self.relative else (self.unit, self.digits)
        text = f"{value.mean:+.{digits}f}{unit}"
        if value.low is not None and value.high is not None:
            text += f" [{value.low:+.{digits}f}, {value.high:+.{digits}f}]"
        return text.replace("-", "−")


def _percent(logarithm: float) -> float:
    return 100 * math.expm1(logarithm)


def _value(samples: Sequence[float]) -> Value:
    value = Value.of(samples)
    assert value is not None  # there is a run for each seed
    return value


@dataclass(frozen=True, slots=True)
class Case:
    """A network with a scheme, and with others or none."""

    name: str
    schemes: Mapping[str, Description]
    """Name of the scheme -> the simulated scenario with flows of TCP. The last has the scheme."""
    weight: float = 30.0
    """Approximate cost of an exact run in CPU seconds."""

    def runs(self, _: Budget) -> Mapping[str, Run]:
        """Return exact runs and simulations of each scheme with each congestion control."""
        found: dict[str, Run] = {}
        for scheme, described in self.schemes.items():
            for each in CONGESTION:
                found[self.run(KERNEL, each, scheme)] = Emulation(
                    described,
                    each.kernel,
                    SEEDS,
                    WARM_UP_S,
                    COUNTED_S,
                    self.weight,
                )
                found[self.run(OURS, each, scheme)] = Simulation(
                    {**described, "tcp": {**described["tcp"], "congestion": each.ours}},
                    SEEDS,
                    weight=0.3,
                )
        return found

    def run(self, whose: str, congestion: Congestion, scheme: str) -> str:
        """Return the name of a run."""
        return f"{self.name}-{whose}-{congestion.kernel}-{scheme}"

    def figures(
        self, outcomes: Outcomes, whose: str, congestion: Congestion, scheme: str
    ) -> list[Figures]:
        """Return the figures of each seed, in order."""
        runs = outcomes[self.run(whose, congestion, scheme)].runs
        return [runs[at] for at in sorted(runs)]


@dataclass(frozen=True, slots=True)
class Words:
    """How sentences call the networks of a case."""

    change: str
    """As the beginning of a sentence: ``Under RDQM instead of drop-tail``."""
    off: str
    """Without the scheme: ``under drop-tail``."""
    on: str


def sentences(
    outcomes: Outcomes, case: Case, measure: Measure, words: Words, without: str | None = None
) -> Iterable[str]:
    """Yield what the scheme does with each congestion control, and how the two TCPs differ.

    ``without``: the case's scheme to compare with, by default the first.
    """
    *others, scheme = case.schemes
    without = without or others[0]
    found = {
        (whose, each, name): case.figures(outcomes, whose, each, name)
        for whose in WHOSE
        for each in CONGESTION
        for name in (without, scheme)
    }

    def change(whose: str, each: Congestion) -> str:
        effect = measure.difference(found[whose, each, scheme], found[whose, each, without])
        return f"{measure.difference_text(effect)}{_verdict(effect)}"

    def apart(name: str) -> str:
        pairs = [(found[KERNEL, each, name], found[OURS, each, name]) for each in CONGESTION]
        return text.listed([measure.difference_text(measure.difference(*pair)) for pair in pairs])

    changes = []
    for each in CONGESTION:
        levels = (measure.value(found[KERNEL, each, name]) for name in (without, scheme))
        kernels = f"with the kernel's {each.label}"
        changes.append(f"{measure.from_to(*levels)} ({change(KERNEL, each)}) {kernels}")
    ours = text.listed([change(OURS, each) for each in CONGESTION])
    yield (
        f"{words.change} {measure.words} goes {text.listed(changes)}; with ours the change is "
        f"{ours}."
    )
    yield (
        f"The kernel's TCP differs from ours, in the same order, by {apart(scheme)} {words.on}, "
        f"and by {apart(without)} {words.off}."
    )


def _verdict(effect: Value) -> str:
    """Return words for an effect that the runs do not show."""
    if effect.low is None or effect.high is None or effect.low > 0 or effect.high < 0:
        return ""
    return ", not told from none"


def origin(outcomes: Outcomes, case: Case) -> str:
    """Return the sentence about the kernel and the runs."""
    kernels = {
        cast("Mapping[str, Any]", run)["kernel"]
        for each in CONGESTION
        for scheme in case.schemes
        for run in case.figures(outcomes, KERNEL, each, scheme)
    }
    return (
        f"The kernel is Linux {text.listed(sorted(kernels))} as Debian packages user-mode Linux, on "
        f"a virtual clock; {SEEDS} seeds for each mean, {COUNTED_S:.0f} s after "
        f"{WARM_UP_S:.0f} s. Intervals are of 95 %; differences are taken seed by seed, though runs "
        "of equal seeds are independent."
    )


def picture(
    outcomes: Outcomes,
    cases: Mapping[str, Case],
    measures: Sequence[Measure],
    name: str,
    title: str,
) -> PaperFigure:
    """Return bars of each measure, a panel for each measure and case (title of the panel -> case)."""
    panels = [
        Panel(heading, "", measure.axis, tuple(_bars(outcomes, case, measure)))
        for heading, case in cases.items()
        for measure in measures
    ]
    return PaperFigure(name, title, tuple(panels))


def _bars(outcomes: Outcomes, case: Case, measure: Measure) -> Iterable[Series]:
    labels = tuple(each.label for each in CONGESTION)
    for scheme in case.schemes:
        for whose, words in WHOSE.items():
            values = [
                measure.value(case.figures(outcomes, whose, each, scheme)) for each in CONGESTION
            ]
            yield Series(
                f"{scheme}, {words}",
                labels,
                tuple(value.mean for value in values),
                tuple(value.low for value in values),
                tuple(value.high for value in values),
                "bars",
            )


def linux(described: Description) -> Description:
    """Return a simulated scenario with Linux's TCP, without small queues, for exact runs' times."""
    # As in the exact runs, which have no back-pressure.
    tcp: TcpTable = {"stack": "linux", "mss": "1448 B", "small_queue": False}
    times: Description = {"duration": f"{COUNTED_S:g} s", "warm_up": f"{WARM_UP_S:g} s"}
    return {**described, **times, "tcp": tcp}


def goodputs_bps(figures: Figures) -> dict[str, float]:
    """Return the goodput of each connection, by name."""
    return {name: of["goodput_bps"] or 0.0 for name, of in figures["connections"].items()}


NOTE: Final = (
    "The kernel's TCP as it comes: segments of 1448 bytes with timestamps, SACK, RACK, delayed "
    "acknowledgements and HyStart; bursts of segments that the kernel sends as one (GSO), which our "
    "TCP does not have. Packets in the network do not count in a sender's socket: TCP fills the "
    "queue of its station, as our TCP and as kernels of the papers' time, before TCP small queues; "
    "what this queue drops looks like a loss in the network. A receiver gets each packet by itself, "
    "without GRO. Not to be had from this kernel: ns-2's agents with one acknowledgement for every "
    "segment, and segments of 1460 bytes beside timestamps."
)
"""What the kernel's TCP is and is not, for the notes of each item."""
