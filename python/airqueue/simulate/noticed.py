"""What a reader of a simulation should notice: sentences that its figures bear out.

Every sentence has a condition on means over the replications; a figure whose condition is not met is
not spoken of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

from airqueue import text, units
from airqueue.simulate.cautions import BACK, LEAST_ACKS, LOST_ACKS
from airqueue.simulate.reported import is_of, station_of
from airqueue.simulate.results import Results
from airqueue.simulate.scenario import Scenario

if TYPE_CHECKING:
    from airqueue.figures import Summary

Of = TypeVar("Of")

FULL_AIR: Final = 0.9
"""Share of busy time from which the medium limits what stations send (the MESH paper, III-B)."""
WAITING_PACKETS: Final = 1.0
"""Fewer packets in the mean are what contention alone makes wait."""
HELD_UP: Final = 0.2
"""Share of time from which a reader should know that the receiver's window limits a flow, too."""
_MOST_OF: Final = 0.5
"""Share of a wired link's rate from which packets wait there."""
_VARIES_S: Final = 0.005
"""Below that a delay that varies is what the air alone does."""
WIDE: Final = 0.2
"""Half an interval beyond this share of its mean needs more replications."""
SATISFIED: Final = ((80.0, "satisfies most people"), (70.0, "leaves some people dissatisfied"))
"""Least R and what ITU-T G.109 says of it; below, many are dissatisfied."""


def sentences(results: Results, scenario: Scenario) -> list[str]:
    """Return what is to be noticed of a scenario's results, the most important first."""
    if not results.runs:
        return []
    return [
        *_waiting(results, scenario),
        *_air(results),
        *_drops(results),
        *_calls(results),
        *_acknowledgements(results),
        *_windows(results),
        *_spread(results),
        *_intervals(results),
    ]


def _mean(of: Summary) -> float:
    return of["mean"] or 0.0


def _waiting(results: Results, scenario: Scenario) -> Iterator[str]:
    queues = results.summary["queues"]
    held = {name: _mean(of["length_mean_packets"]) for name, of in queues.items()}
    total = math.fsum(held.values())
    if not held:
        return
    elsewhere = list(_waiting_elsewhere(results, scenario))
    name = max(held, key=lambda each: held[each])
    if held[name] < WAITING_PACKETS:
        if elsewhere:
            yield from elsewhere
            return
        stays = {n: of["sojourn_mean_s"]["mean"] or 0.0 for n, of in queues.items()}
        name = max(stays, key=lambda each: stays[each])
        longest = f"packets stay longest in {name}, {text.seconds(stays[name])} in the mean"
        yield f"No queue holds more than one packet in the mean; {longest}."
        return
    sojourn_s = queues[name]["sojourn_mean_s"]["mean"]
    stay = "" if sojourn_s is None else f", and a packet stays {text.seconds(sojourn_s)}"
    share = text.percent(held[name] / total)
    others = "" if len(held) == 1 else f", {share} of all that wait"
    yield f"Packets wait in {name}: {text.number(held[name])} in the mean{others}{stay}."
    node, flows = _through(name, scenario)
    if len(flows) > 1:
        more = len(flows) - _MOST_NAMED
        named = [*flows[:_MOST_NAMED], f"{more:,} more"] if more > 0 else flows
        yield f"{node} sends the flows {text.listed(named)}."
    yield from elsewhere


def _waiting_elsewhere(results: Results, scenario: Scenario) -> Iterator[str]:
    """Yield where packets wait that is none of the queues, for longer than in any of them."""
    summary = results.summary
    longest_s = max(of["sojourn_mean_s"]["mean"] or 0.0 for of in summary["queues"].values())
    kept = {
        f"for {name}, which sleeps or is away,": of["kept_mean_s"]["mean"] or 0.0
        for kind in ("sleep", "absences")
        for name, of in summary[kind].items()
    } | {
        f"of {name} for all stations, until a DTIM,": of["group_kept_mean_s"]["mean"] or 0.0
        for name, of in summary["beacons"].items()
    }
    whose = max(kept, key=lambda each: kept[each], default="")
    if whose and kept[whose] > longest_s:
        seconds = text.seconds(kept[whose])
        yield f"Packets wait longest where those {whose} are kept: {seconds} in the mean."
    yield from _unlisted(results, scenario)


def _unlisted(results: Results, scenario: Scenario) -> Iterator[str]:
    """Yield what waits before wired links and processors, which have no figures of their own."""
    summary = results.summary
    stations = scenario.description.get("stations", ())
    slow = [of["name"] for of in stations if "processing_rate" in of]
    if slow:
        yield (
            f"What waits for the processor of {text.listed(slow[:_MOST_NAMED])} is in no queue of "
            "the tables: the delays of flows have it."
        )
    listed_s = max(
        (of["sojourn_p95_s"]["mean"] or 0.0) + (of["access_delay_p95_s"]["mean"] or 0.0)
        for of in summary["queues"].values()
    )
    for flow, route in scenario.routes.items():
        figures = summary["flows"][flow]
        p50_s, p95_s = (figures["delay_p50_s"]["mean"], figures["delay_p95_s"]["mean"])
        varies_s = 0.0 if p50_s is None or p95_s is None else p95_s - p50_s
        wire = next(_filled(results, scenario, route), None)
        if wire is not None and varies_s > max(2 * listed_s, _VARIES_S):
            yield (
                f"The queues of the tables do not explain the delay of {flow}, "
                f"{text.seconds(p95_s or 0.0)} for one packet in twenty: packets wait before the "
                f"wired link {wire}, too, whose queue has no limit and no figures; give its host a "
                "queue."
            )
            return


def _filled(results: Results, scenario: Scenario, route: Sequence[str]) -> Iterator[str]:
    """Yield the wired links of a route that are used for the most part, and have no figures."""
    for wire in (f"{a}->{b}" for a, b in pairwise(route)):
        rate_bps = _rate_of(wire, scenario)
        if rate_bps is None or wire in results.summary["queues"]:
            continue
        _, flows = _through(wire, scenario)
        carried_bps = math.fsum(
            _mean(results.summary["flows"][flow]["throughput_bps"]) for flow in flows
        )
        if carried_bps >= _MOST_OF * rate_bps:
            yield wire


def _rate_of(wire: str, scenario: Scenario) -> float | None:
    """Return the rate of a wired link; None where there is none, or the link is on the air."""
    for of in scenario.description.get("hosts", ()):
        for place, end in enumerate(wire.split("->")):
            is_end = is_of(end, of["name"]) if "count" in of else end == of["name"]
            if "rate" in of and is_end:
                to_host = of.get("rate_to_host") if place else None
                return units.parse_rate(of["rate"] if to_host is None else to_host)
    return None


def _through(queue: str, scenario: Scenario) -> tuple[str, list[str]]:
    """Return the station or wired link that has a queue, and the flows that send through there."""
    stations = frozenset(scenario.stations)
    hops = {flow: list(pairwise(route)) for flow, route in scenario.routes.items()}
    node = station_of(queue, stations)
    if node is not None:
        over_air = {(node, other) for other in stations}
        return node, [flow for flow, of in hops.items() if over_air.intersection(of)]
    return queue, [flow for flow, of in hops.items() if queue in {f"{a}->{b}" for a, b in of}]


def _air(results: Results) -> Iterator[str]:
    stations = results.summary["stations"]
    busy = {name: _mean(of["busy_ratio"]) for name, of in stations.items()}
    if not busy:
        return
    name = max(busy, key=lambda each: busy[each])
    # Below that nothing is said of room: gaps and backoff take time of whoever always sends.
    full = "The air is full: " if busy[name] >= FULL_AIR else ""
    summary = results.summary
    medium = summary["medium"]
    collided = medium["collided_ratio"]["mean"]
    lost = "" if collided is None else f"; {text.percent(collided)} of attempts collide"
    senses = (
        "senses frames or interference, or sends,"
        if summary["interference"]
        else ("senses or sends frames")
    )
    yield f"{full}{name} {senses} {text.percent(busy[name])} of the time{lost}."


def _drops(results: Results) -> Iterator[str]:
    summary = results.summary
    dropped = {name: _mean(of["dropped_packets"]) for name, of in summary["queues"].items()}
    in_queues = math.fsum(dropped.values())
    # Both ways: of answers and acknowledgements, too.
    by_macs = math.fsum(_mean(of["given_up_packets"]) for of in summary["drops"].values())
    in_wires = math.fsum(_mean(of["wire_packets"]) for of in summary["drops"].values())
    given_up = by_macs + in_wires
    if in_queues < 1 and given_up < 1:
        none = in_queues == 0 and given_up == 0
        yield "No packet was lost." if none else "Less than one packet a replication was lost."
        return
    if in_queues >= 1:
        name = max(dropped, key=lambda each: dropped[each])
        of = summary["queues"][name]
        why = {
            "because the queue was full": _mean(of["dropped_full_packets"]),
            "to slow senders down": _mean(of["dropped_early_packets"]),
            "as redundant acknowledgements": _mean(of["dropped_filtered_packets"]),
            "because the processor had no room": _mean(of["dropped_unprocessed_packets"]),
        }
        reason = max(why, key=lambda each: why[each])
        all_of = "" if why[reason] >= dropped[name] - 0.5 else "mostly "
        ratio = text.percent(dropped[name] / (_mean(of["offered_packets"]) or 1.0))
        yield (
            f"{name} drops {dropped[name]:,.0f} packets, {ratio} of those offered, {all_of}{reason}."
        )
    if given_up >= 1:
        lost = text.plural(round(given_up), "packet")
        what = "is" if round(given_up) == 1 else "are"
        ways = ["given up by a MAC"] if by_macs else []
        if by_macs and (summary["sleep"] or summary["absences"] or summary["associations"]):
            ways.append("dropped from what is kept for a station that sleeps or is away")
        if in_wires:
            ways.append("lost in a wired link")
        yield f"{lost} {what} lost on the way: {text.listed(ways, 'or')}."


def _calls(results: Results) -> Iterator[str]:
    calls = _worst(results.summary["calls"], lambda of: -(of["r_factor"]["mean"] or -1.0))
    for name, of in calls.items():
        factor = of["r_factor"]["mean"]
        if factor is None:
            yield f"Of the call {name} nothing is heard."
            continue
        verdict = next((words for least, words in SATISFIED if factor >= least), None)
        verdict = verdict or "leaves many people dissatisfied"
        late = text.seconds(of["mouth_to_ear_s"]["mean"])
        yield f"The call {name} {verdict}: R {factor:.0f}, {late} from mouth to ear."


def _acknowledgements(results: Results) -> Iterator[str]:
    filtered: dict[str, float] = {}
    for place, drops in results.summary["drops"].items():
        flow = place.rpartition(BACK)[0]
        filtered[flow] = filtered.get(flow, 0.0) + _mean(drops["filtered_packets"])
    connections = results.summary["connections"]
    # What CAKE's ACK filter drops is not missed.
    missed = {
        name: _mean(of["lost_ack_packets"]) - filtered.get(name, 0.0)
        for name, of in connections.items()
    }
    shares = {
        name: missed[name] / sent
        for name, of in connections.items()
        if (sent := _mean(of["ack_packets"])) >= LEAST_ACKS
    }
    for name, share in _worst(shares, lambda share: share).items():
        if share >= LOST_ACKS:
            yield (
                f"{text.percent(share)} of the acknowledgements of {name} are lost on the way "
                "back: each that arrives lets the sender send a larger burst."
            )


def _windows(results: Results) -> Iterator[str]:
    connections = _worst(
        results.summary["connections"], lambda of: of["window_limited_ratio"]["mean"] or 0.0
    )
    for name, of in connections.items():
        share = of["window_limited_ratio"]["mean"]
        if share is not None and share >= HELD_UP:
            yield (
                f"The receiver's window holds {name} up {text.percent(share)} of the time, in which "
                "the congestion window admits more data: see tcp.receive_buffer and tcp.window."
            )


def _spread(results: Results) -> Iterator[str]:
    flows = results.summary["flows"]
    rates = {name: _mean(of["throughput_bps"]) for name, of in flows.items()}
    if len(rates) < 2:
        return
    least, most = (choose(rates, key=lambda each: rates[each]) for choose in (min, max))
    if rates[most] > 2 * rates[least]:
        yield (
            f"{most} gets most, {text.rate(rates[most])}; {least} least, {text.rate(rates[least])}."
        )


def _intervals(results: Results) -> Iterator[str]:
    count = len(results.runs)
    if count == 1:
        yield "One replication has no interval; with --replications 10 chance is told from effect."
        return
    widths = {}
    for name, of in results.summary["flows"].items():
        mean, ci95 = of["throughput_bps"]["mean"], of["throughput_bps"]["ci95"]
        if mean and ci95 is not None:
            widths[name] = (ci95[1] - ci95[0]) / 2 / mean
    name = max(widths, key=lambda each: widths[each], default="")
    if widths and widths[name] > WIDE:
        yield (
            f"The mean throughput of {name} is known to ±{text.percent(widths[name])} only, from "
            f"{text.plural(count, 'replication')}: more of them, or longer ones, narrow that."
        )


_MOST_NAMED: Final = 8
"""Flows whose names are listed."""
_MOST_SAID: Final = 3
"""Calls and connections that have a sentence of their own, the worst."""


def _worst(named: Mapping[str, Of], how_bad: Callable[[Of], float]) -> dict[str, Of]:
    worst = sorted(named.items(), key=lambda each: how_bad(each[1]), reverse=True)
    return dict(worst[:_MOST_SAID])
