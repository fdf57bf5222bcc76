"""What people read of an emulation, on a terminal and in a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from airqueue import text
from airqueue.emulate.results import EmulationResults
from airqueue.emulate.twins import Comparison

if TYPE_CHECKING:
    from airqueue.records import RefusedDict

_REFUSED: Final = {
    "malformed": "no whole IP packet",
    "oversize": "larger than the MTU",
    "foreign_source": "from an address of another node",
    "no_such_node": "to no real node",
    "hop_limit": "at the end of their hop limit",
    "full": "beyond the emulator's memory",
}
"""Why packets were not carried: what completes "12 packets ..."."""

_COMPARED: Final = {
    "throughput_bps": ("rate", text.rate),
    "delay_p50_s": ("delay p50", text.seconds),
    "delay_p95_s": ("delay p95", text.seconds),
    "lost_ratio": ("dropped or lost", text.percent),
}
"""Words for the figures of `airqueue.emulate.twins`, and how a value is said."""


def known(say: Callable[[float | None], str], value: float | None) -> str:
    """Return what ``say`` makes of a value, and a dash where there is none."""
    return "–" if value is None else say(value)


def arrow(pair: str) -> str:
    """Return a pair as people read it."""
    return pair.replace("->", " → ")


def not_carried(reason: str, count: RefusedDict) -> str:
    """Return the sentence on packets that were not carried to their destination."""
    what = _REFUSED.get(reason, reason)
    return f"Not carried: {text.plural(count['packets'], 'packet')} {what}."


def not_held_back(node: str, reason: str) -> str:
    """Return the sentence on a station whose programs do not feel a full queue."""
    return (
        f"Programs at {node} did not feel a full queue, since the kernel did not keep packets "
        f"({reason})."
    )


def comparison(each: Comparison) -> tuple[str, str, str, str]:
    """Return the figure's name, the run's value with its mark, the twin's, and the scatter."""
    heading, say = _COMPARED[each.figure]
    scatter = "–" if each.low is None else f"{say(each.low)} to {say(each.high)}"
    mark = "" if each.within is not False else " ×"
    return heading, say(each.run) + mark, say(each.twin), scatter


def scatter(comparisons: Sequence[Comparison]) -> str:
    """Return the sentence that says how many figures are outside the scatter of the twins."""
    outside = [each for each in comparisons if each.within is False]
    judged = sum(each.within is not None for each in comparisons)
    unjudged = len(comparisons) - judged
    if judged == 0:
        return (
            "No figure of this run can be judged: each is the same in all twins, or missing in one. "
            "Compare the columns."
        )
    what = "are" if len(outside) != 1 else "is"
    said = (
        f"{len(outside)} of {text.plural(judged, 'figure')} of this run {what} outside the scatter "
        "of the twins, in which one more twin would be with a probability of 95 %."
    )
    if unjudged == 0:
        return said
    return f"{said} {text.plural(unjudged, 'figure')} without scatter cannot be judged."


def effort(results: EmulationResults, wall_s: float | None = None) -> str:
    """Return how late packets were, and what the emulation took."""
    emulated = results.emulated
    late = "no packet was written"
    if emulated["late_p50_s"] is not None:
        median, p99 = text.seconds(emulated["late_p50_s"]), text.seconds(emulated["late_p99_s"])
        late = f"packets were written {median} late in the median, {p99} at the 99th percentile"
    if emulated["read_late_p99_s"] is not None and not results.exact:
        read = text.seconds(emulated["read_late_p99_s"])
        late += f", and waited at most {read} to be read (99th percentile)"
    if results.exact:
        took = "" if wall_s is None else f"; the run took {text.seconds(wall_s)} of real time"
        return f"In {text.seconds(emulated['duration_s'])} of virtual time {late}{took}."
    priority = "a real-time priority" if emulated["priority"] else "no real-time priority"
    return (
        f"In {text.seconds(emulated['duration_s'])} {late}; the emulator had {priority} "
        f"and used {text.percent(emulated['cpu_ratio'])} of a processor."
    )
