"""Warnings on results: what would mislead whoever reads the figures, where, and what to do.

A warning is a sentence. `Results.warnings` has those of a simulation, `SweepResults.warnings`
those of a sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from airqueue import text
from airqueue.simulate.reported import is_of, station_of

if TYPE_CHECKING:
    from airqueue.figures import Summaries, Summary
    from airqueue.monitored import QueueInForce
    from airqueue.simulate.results import Results

LOST_ACKS: Final = 0.05
"""Share of dropped acknowledgements worth a warning; TCP bears fewer unharmed."""
LEAST_ACKS: Final = 20
"""Fewer acknowledgements say nothing of a share."""
BACK: Final = " back at "
"""Between flow and place in the names of what was lost on the way back."""
_MOST_NAMED: Final = 3
_SINGLE_FRAMES: Final = ("802.11b", "802.11a", "802.11g", None)
"""Standards without A-MPDUs."""
_MEBIBYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class DroppedAcks:
    """A queue that drops acknowledgements of TCP in number, in the mean over replications."""

    place: str
    dropped: float
    sent: float
    """By the receivers of data, whether dropped or not."""

    @property
    def ratio(self) -> float:
        """Their share."""
        return self.dropped / self.sent

    def sentence(self, where: str = "") -> str:
        """Return the warning; ``where`` are words on the variant of a network."""
        return (
            f"The queue of {self.place} drops {text.percent(self.ratio)} of the TCP acknowledgements "
            f"that it should send ({self.dropped:,.0f} of {self.sent:,.0f}){where}: give it a larger "
            'limit, or a station with it a device, as in like = "linux-station"'
        )


def of_results(results: Results) -> list[str]:
    """Return the warnings on the results of a scenario."""
    if not results.runs:
        return []
    worst = dropped_acks(results.summary)
    alone = _alone_in_queues(results)
    silent = silent_flows(results.summary)
    said = [_silence(silent)] if silent else []
    found = [*said, *alone, *(each.sentence() for each in worst[:_MOST_NAMED])]
    if len(worst) > _MOST_NAMED:
        found.append(
            f"{len(worst) - _MOST_NAMED:,} more queues drop at least {text.percent(LOST_ACKS)} of "
            "the TCP acknowledgements that they should send: give them larger limits"
        )
    return found


def _alone_in_queues(results: Results) -> list[str]:
    """Return a warning if several saturated flows share a queue that acts on a backlog.

    Of each saturated flow one packet waits at a time. mac80211 asks for the packets of one station
    after the other, and a FIFO before single frames takes turns as it would with a backlog.
    """
    description = results.scenario
    together: dict[str, set[str]] = {}
    for of in description.get("flows", ()):
        if of.get("source", "saturated") != "saturated" or of["to"] == "*":
            continue
        for flow, route in results.routes.items():
            if is_of(route[0], of["from"]) and is_of(route[-1], of["to"]):
                together.setdefault(route[0], set()).add(flow)
    aggregates = description["phy"].get("standard") not in _SINGLE_FRAMES
    for queue in results.queues_in_force:
        flows = together.get(station_of(queue["name"], together) or "", set())
        plain = queue["discipline"] == "droptail" and not aggregates
        if len(flows) > 1 and not plain and queue["discipline"] != "mac80211":
            return [
                f"{len(flows):,} saturated flows share the queue of {queue['name']} "
                f"({queue['discipline']}), in which one packet of each waits at a time: there is no "
                "backlog to choose from, and shares and delays are not those of a full queue; fill "
                "the queue with tcp, or with cbr above the capacity"
            ]
    return []


def silent_flows(summary: Summaries) -> list[str]:
    """Return the flows that send nothing."""
    return [name for name, of in summary["flows"].items() if not _mean(of["offered_packets"])]


def _silence(silent: Sequence[str], where: str = "") -> str:
    others = len(silent) - _MOST_NAMED
    named = text.listed(
        [*silent[:_MOST_NAMED], *([f"{others:,} more"] if others > 0 else [])], "or"
    )
    return (
        f"No packet of {named} is sent in the time that is counted{where}: the flow starts too late, "
        "stops or has sent all in the warm-up, or pauses for longer than the run"
    )


def of_points(dropped: Mapping[str, DroppedAcks], silent: Mapping[str, Sequence[str]]) -> list[str]:
    """Return warnings on points of a sweep with silent flows, or queues that drop acknowledgements.

    ``dropped``: the worst queue of each such point, by words for the point. ``silent``: the flows.
    """
    found = []
    if silent:
        point, flows = next(iter(silent.items()))
        found.append(_silence(flows, _at(point, len(silent) - 1)))
    if dropped:
        point = max(dropped, key=lambda each: dropped[each].ratio)
        found.append(dropped[point].sentence(_at(point, len(dropped) - 1)))
    return found


def _at(point: str, others: int) -> str:
    more = f", and likewise at {text.plural(others, 'more point')}" if others else ""
    return f" at {point}{more}"


def dropped_acks(summary: Summaries) -> list[DroppedAcks]:
    """Return the queues that drop acknowledgements of TCP in number, the worst first."""
    dropped: dict[str, float] = {}
    sent: dict[str, float] = {}
    for name, figures in summary["drops"].items():
        flow, back, place = name.rpartition(BACK)
        if not back or flow not in summary["connections"]:
            continue
        # What CAKE's ACK filter drops is not missed.
        lost = _mean(figures["full_packets"]) + _mean(figures["early_packets"])
        dropped[place] = dropped.get(place, 0.0) + lost
        acks = _mean(summary["connections"][flow]["ack_packets"])
        sent[place] = sent.get(place, 0.0) + acks
    enough = (DroppedAcks(at, dropped[at], sent[at]) for at in dropped if sent[at] >= LEAST_ACKS)
    found = [each for each in enough if each.ratio >= LOST_ACKS]
    return sorted(found, key=lambda each: each.ratio, reverse=True)


def of_compared(compared: Iterable[Iterable[QueueInForce]]) -> list[str]:
    """Return a warning if different disciplines of a queue hold unequal numbers of packets.

    ``compared``: the settings of all queues, once for each variant of a network.
    """
    by_queue: dict[str, dict[str, QueueInForce]] = {}
    for queues in compared:
        for queue in queues:
            by_queue.setdefault(queue["name"], {}).setdefault(queue["discipline"], queue)
    unequal = {name: pair for name, of in by_queue.items() if (pair := _unequal(of)) is not None}
    if not unequal:
        return []
    name, pair = next(iter(unequal.items()))
    held = " and ".join(f"{each['discipline']} holds {limit_words(each)}" for each in pair)
    more = f", and likewise at {len(unequal) - 1:,} more queues" if len(unequal) > 1 else ""
    return [
        f"Queue disciplines are compared with unequal limits: at {name} {held}{more}; give the "
        "scenario one limit for all, as in queue.limit"
    ]


def _unequal(of: Mapping[str, QueueInForce]) -> tuple[QueueInForce, QueueInForce] | None:
    """Return the first two disciplines whose limits differ; of two kinds of limits they do, too."""
    for one, other in combinations(of.values(), 2):
        packets = one["limit_packets"], other["limit_packets"]
        bytes_of = one["limit_bytes"], other["limit_bytes"]
        limits = packets if None not in packets else bytes_of
        if limits[0] != limits[1]:
            return one, other
    return None


def limit_words(queue: QueueInForce) -> str:
    """Return what a queue holds at most: ``50 packets``, ``10,240 packets or 32 MiB``."""
    limits = []
    if queue["limit_packets"] is not None:
        limits.append(text.plural(queue["limit_packets"], "packet"))
    if queue["limit_bytes"] is not None:
        limits.append(_size(queue["limit_bytes"]))
    words = " or ".join(limits) or "any number"
    if queue["limit_per"] != "queue":
        words += f" for each {queue['limit_per']}"
    if queue["ring_packets"]:
        words += f", and {queue['ring_packets']:,} in a ring"
    return words


def _size(size_bytes: int) -> str:
    if size_bytes >= _MEBIBYTE and size_bytes % _MEBIBYTE == 0:
        return f"{size_bytes // _MEBIBYTE:,} MiB"
    return f"{size_bytes:,} B"


def _mean(of: Summary) -> float:
    return of["mean"] or 0.0
