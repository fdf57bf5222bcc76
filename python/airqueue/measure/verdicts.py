"""From accepted sessions to a verdict, with the evidence for it and an honest "undecided".

Order matters: a host that was itself the limit, or a path that was never saturated, says nothing
about the queue; a policer has no queue; isolated flows or a queue that is not flat have no single
capacity. Only what passes all of these is one FIFO.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from airqueue.measure.document import SearchStep
from airqueue.measure.evidence import SessionEvidence, added
from airqueue.measure.gates import Judged
from airqueue.measure.result import CountedIn, Evidence, Verdict
from airqueue.measure.session import OVERLOAD_LOSS, SEVERAL, Session, in_flight
from airqueue.measure.standing import (
    Standing,
    chance,
    chance_after_control,
    dying_away,
    observe_filling,
    observe_standing,
    total,
)
from airqueue.stats import Interval, fisher_exact, t_interval

POLICER_PACKETS = 2.5
"""A device that holds no more than two packets when it refuses one drops without delaying."""
WAITED = 10.0
"""Multiple of that which has waited before, in a device that is none."""
PASSED = 3.0
"""Packets of the flood that a sparse flow with a queue of its own passes, at least."""
REORDERED = 1.0
"""Packets that a path may let others pass; a FIFO lets none."""
FLAT_SHARE = 0.02
"""Spread of the counts that still is one capacity, as a share of it (or two packets)."""
TENTHS = 2.56
"""Standard deviations from the 10th to the 90th percentile of a normal distribution."""
EARLY_CHANCE = 0.001
"""Significance level: below it, losses in the filling queue are attributed to the queue."""
DOUBT_CHANCE = 0.01
"""Losses with room in a standing queue that are less likely than this leave the kind undecided."""
LOSSY = 0.003
"""A larger share lost without load says that the air loses packets, or a queue that still drops."""
LOSSY_CHANCE = 1e-6
"""Significance level on such paths, where the load itself may change what the air loses."""
LOSSY_RATIO = 1.5
"""And the least ratio of the losses in a standing queue to those of the empty one."""
DOUBT_RATIO = 2.0
"""The ratio that leaves the kind undecided there, at the usual significance."""
MIN_SESSIONS = 2
"""Fewer accepted sessions than this give no verdict, except for a single long session."""
LONG_SESSION_DROPS = 500
"""A session with this many refused packets shows the queue as often as several short ones."""
PACKETS_BAND = 1.15
"""Ratio of counts, small over large packets, up to which the device counts packets."""


@dataclass
class Finding:
    """Verdict, the evidence for it, and where the drops happen if that is known."""

    verdict: Verdict
    evidence: list[Evidence] = field(default_factory=list)
    drop_from: str | None = None
    burst: float = 1.0
    allowed: float = 2.0
    """Packets by which counts in one FIFO may differ here, see `tolerance`."""
    stood: Standing | None = None
    """What a standing queue lost, if one was kept."""


def explained(held: float, seen: SessionEvidence, lost: float) -> float:
    """Packets by which counts in one FIFO without packets of others scatter: burst, pacing, loss."""
    return in_flight(seen.burst) + seen.pacing + lost_inside(held, lost)


def lost_inside(held: float, lost: float) -> float:
    """Packets by which counts scatter because the air loses some of those that are counted.

    Of ``held`` packets the air loses a binomial number, ``lost`` being the share on the idle path:
    its standard deviation lies `TENTHS` times between the 10th and the 90th percentile.
    """
    return TENTHS * float(np.sqrt(held * lost * (1 - lost)))


def tolerance(held: float, seen: SessionEvidence, lost: float) -> float:
    """Packets by which counts in one FIFO may differ: rounding, jitter, one burst, loss."""
    return max(2.0, FLAT_SHARE * held, 2 * seen.noise) + explained(held, seen, lost)


def idle_loss(seen: Sequence[SessionEvidence]) -> float:
    """Share of the packets lost on the path before the floods, all sessions together."""
    lost, sent = added([e.quiet for e in seen])
    return lost / sent if sent else 0.0


def find(
    sessions: Sequence[Judged],
    search: Sequence[SearchStep] = (),
    search_ended: bool = True,
    standing: Sequence[Session] = (),
    explored: Sequence[Session] = (),
) -> Finding:
    """Judge what kind of queue the sessions saw.

    ``search``: points of the rate search (`airqueue.measure.analysis.load_point`); they speak where
    no session was possible, if the search went up to the highest rate (``search_ended``).
    ``standing``: runs with a standing queue, `airqueue.measure.standing`. ``explored``: floods before
    all sessions, which filled the queue first.
    """
    accepted = [s for s in sessions if s.refused is None]
    if len(accepted) < MIN_SESSIONS and not _one_long(accepted, sessions):
        return _without_sessions(sessions, search, search_ended)
    seen = [s.seen for s in accepted]
    held = [s.counted for s in accepted]
    burst = float(np.median([e.burst for e in seen]))
    lost = idle_loss(seen)
    allowed = float(np.median([tolerance(h, e, lost) for h, e in zip(held, seen, strict=True)]))
    policer = _policer(accepted, seen, held, lost)
    if policer is not None:
        waited = _waited_before(explored)
        if waited is not None:
            return Finding("not_flat", [policer, waited], burst=burst)
        return Finding("policer", [policer], burst=burst)
    isolated = _isolated(seen, held)
    if isolated is not None and isolated.value is not None:
        return Finding("isolated", [isolated], burst=burst)
    head = _head_drop(accepted, held)
    if head is not None:
        return Finding("fifo", [head], "head", burst, allowed)
    busy = _other_traffic(sessions)
    if busy is not None:
        return Finding("undecided", [busy], None, burst, allowed)
    uneven = _not_flat(accepted, seen, held)
    if uneven is not None:
        return Finding("not_flat", uneven, burst=burst)
    evidence = _fifo_evidence(accepted, seen, held)
    if isolated is not None:
        evidence.append(isolated)
        return Finding("undecided", evidence, None, burst, allowed)
    stood = standing_total(accepted, standing)
    verdict, said = with_room(stood, blurred=burst > SEVERAL, lossy=lost > LOSSY)
    if verdict == "not_flat":
        return Finding("not_flat", [said], burst=burst)
    return Finding(verdict, [*evidence, said], "tail", burst, allowed, stood)


def _other_traffic(sessions: Sequence[Judged]) -> Evidence | None:
    """Packets of others waited in the path without our load: counts of ours alone are no capacity."""
    busy = sum(s.refused == "other_traffic" for s in sessions)
    if not busy:
        return None
    says = (
        f"In {busy} of {len(sessions)} sessions other traffic waited in the path without our load."
    )
    return Evidence("other_traffic_sessions", says, busy)


def standing_total(sessions: Sequence[Judged], standing: Sequence[Session]) -> Standing | None:
    """What all standing runs lost with room in the queue; None if none of them is usable."""
    found = []
    sizes = set()
    accepted = [s for s in sessions if s.refused is None]
    for run in standing:
        same = [s for s in accepted if s.session.size_bytes == run.size_bytes]
        if not same or Judged(run).refused not in (None, "not_saturated"):
            continue
        seen = [s.seen for s in same]
        held = [s.counted for s in same]
        lost = idle_loss(seen)
        allowed = [tolerance(h, e, lost) for h, e in zip(held, seen, strict=True)]
        observed = observe_standing(run, float(np.median(held)), float(np.median(allowed)))
        if observed is not None:
            found.append(observed)
            sizes.add(run.size_bytes)
    if not found:
        return None
    before = [s for s in accepted if s.session.size_bytes in sizes]
    filling = added([observe_filling(s.session, s.counted) for s in before])
    return replace(total(found), filling=filling)


def with_room(
    stood: Standing | None, *, blurred: bool, lossy: bool = False
) -> tuple[Verdict, Evidence]:
    """What the standing queue says of a queue that is a FIFO by everything else.

    ``blurred``: the device sends bursts, which may hide whether the queue had room. ``lossy``:
    packets are lost without load. Uneven service makes a standing queue touch its limit now and
    then, so that in doubt such a path is a FIFO; slow RED drops about twice as much and more.
    """
    if stood is not None and not stood.early[1] and blurred:
        says = (
            "The device sends bursts nearly as long as its queue: whether it drops packets while it "
            "has room, as managed queues do, cannot be seen."
        )
        return "undecided", Evidence("lost_with_room", says)
    if stood is None or not stood.early[1]:
        says = (
            "No queue was seen to stand with room for seconds: slow queue management and steady "
            "traffic of others cannot be excluded."
        )
        return "fifo", Evidence("lost_with_room", says)
    (early, standing), (idle, emptier) = stood.early, stood.emptier
    p = chance(stood)
    says = (
        f"While the queue stood for seconds with room for more, {early} of {standing} packets were "
        f"lost; while the queue was at most half full, {idle} of {emptier}."
    )
    found = Evidence("lost_with_room", says, early / standing)
    if dying_away(stood) <= LOSSY_CHANCE and chance_after_control(stood) <= EARLY_CHANCE:
        (begun, of_first), (ended, of_last) = stood.begun, stood.ended
        return "not_flat", Evidence(
            "lost_with_room",
            f"{says} The losses of the empty queue died away, from {begun} of {of_first} packets to "
            f"{ended} of {of_last}, as those of RED do with a slow average, which earlier floods had "
            "raised.",
            early / standing,
        )
    if lossy:
        ratio = early * emptier / (idle * standing) if idle else np.inf
        if ratio > LOSSY_RATIO and p <= LOSSY_CHANCE:
            return "not_flat", found
        return ("undecided" if ratio > DOUBT_RATIO and p <= EARLY_CHANCE else "fifo"), found
    if p <= EARLY_CHANCE:
        return "not_flat", found
    return ("undecided" if p <= DOUBT_CHANCE else "fifo"), found


def _one_long(accepted: Sequence[Judged], sessions: Sequence[Judged]) -> bool:
    """Whether a single stored session, such as a log of another tool, is enough by itself."""
    return (
        len(sessions) == len(accepted) == 1 and len(accepted[0].session.drops) >= LONG_SESSION_DROPS
    )


def _without_sessions(
    sessions: Sequence[Judged], search: Sequence[SearchStep], search_ended: bool
) -> Finding:
    reasons = [s.refused for s in sessions if s.refused is not None]
    for verdict in ("sender_limited", "receiver_limited"):
        if reasons and reasons.count(verdict) * 2 > len(reasons):
            says = {
                "sender_limited": "The sending host could not send faster than the path carried.",
                "receiver_limited": "The receiving host lost packets in its own socket buffer.",
            }[verdict]
            return Finding(verdict, [Evidence("host", says)])
    if search and not sessions:
        return _without_limit(search, search_ended)
    says = f"Only {len(sessions) - len(reasons)} of {len(sessions)} sessions passed the gates."
    busy = _other_traffic(sessions)
    return Finding("undecided", [Evidence("sessions", says), *([] if busy is None else [busy])])


def _without_limit(search: Sequence[SearchStep], search_ended: bool) -> Finding:
    """The search found no limit of the path: the sender was the limit, or there was none."""
    offered = max(point["offered_pps"] or 0.0 for point in search)
    short = [p for p in search if (p["offered_pps"] or 0.0) < 0.9 * (p.get("planned_pps") or 0.0)]
    if short:
        says = f"The sending host fell behind the planned rate at {offered:.0f} packets/s."
        return Finding("sender_limited", [Evidence("offered_pps", says, offered)])
    if not search_ended:
        says = (
            f"The search for the path's rate was not finished; it came to {offered:.0f} packets/s."
        )
        return Finding("undecided", [Evidence("offered_pps", says, offered)])
    says = f"Up to {offered:.0f} packets/s met neither loss nor growing delay."
    return Finding("not_saturable", [Evidence("offered_pps", says, offered)])


def _policer(
    accepted: Sequence[Judged],
    seen: Sequence[SessionEvidence],
    held: Sequence[float],
    idle: float,
) -> Evidence | None:
    """Loss without delay, beyond what the path loses without load."""
    rises = [e.delay_rise for e in seen if e.delay_rise is not None]
    if float(np.median(held)) > POLICER_PACKETS or not rises:
        return None
    rise = float(np.median(rises))
    if rise > POLICER_PACKETS + 2 * float(np.median([e.noise for e in seen])):
        return None
    loss = float(np.median([s.session.loss("hold") for s in accepted]))
    if loss < 1 - (1 - OVERLOAD_LOSS) * (1 - idle):
        return None
    return Evidence(
        "loss_without_delay",
        f"{loss:.0%} of the packets were lost while the delay rose by {rise:.1f} packet times.",
        rise,
    )


def _waited_before(explored: Sequence[Session]) -> Evidence | None:
    """Packets waited in the first floods: what drops without delay later has learned to."""
    waited = max((float(np.max(s.waiting_at_drop, initial=0.0)) for s in explored), default=0.0)
    if not waited > WAITED * POLICER_PACKETS:
        return None
    says = f"In the floods before the sessions up to {waited:.0f} packets waited."
    return Evidence("waited_before_packets", says, waited)


def _isolated(seen: Sequence[SessionEvidence], held: Sequence[float]) -> Evidence | None:
    """Probes that overtake the flood. Without a value: what they pass is neither nothing nor much."""
    known = [(e.overtaken, h) for e, h in zip(seen, held, strict=True) if e.overtaken is not None]
    passed = [overtaken > max(PASSED, 0.25 * h) for overtaken, h in known]
    middle = float(np.median([overtaken for overtaken, _ in known])) if known else 0.0
    if sum(passed) * 2 > len(passed):
        says = f"A sparse flow passed {middle:.0f} packets of the flood that were sent before it."
        return Evidence("overtaken_packets", says, middle)
    if any(passed):
        says = "In some sessions a sparse flow passed the flood, in others it did not."
        return Evidence("overtaken_packets", says, None)
    if middle > REORDERED:
        says = (
            f"A sparse flow passed {middle:.0f} packets of the flood, and waited behind the others: "
            "a FIFO lets none pass. Perhaps a driver's FIFO holds most of what waits."
        )
        return Evidence("overtaken_packets", says, None)
    return None


def _head_drop(accepted: Sequence[Judged], held: Sequence[float]) -> Evidence | None:
    """A clean tail as long as the queue: losses are pushed out at the head."""
    drained = [s.session.waiting_after_flood or 0.0 for s in accepted]
    tails = [s.session.clean_tail for s in accepted]
    middle, tail = float(np.median(drained)), float(np.median(tails))
    if tail < max(10.0, 0.7 * middle) or np.ptp(drained) > max(2.0, 2 * FLAT_SHARE * middle):
        return None
    if not float(np.median(held)) < middle:
        return None
    # A packet in a queue that drops at its head advances with every arrival: of the full queue only
    # the delivered share comes out, which is the path's rate over the offered one.
    shares = [
        s.session.rate_pps("hold") / s.session.offered_pps(p) for s in accepted for p in _loads(s)
    ]
    low, high = middle * min(shares), middle * max(shares)
    if not 0.85 * low - 2 <= float(np.median(held)) <= 1.15 * high + 2:
        return None
    return Evidence(
        "clean_tail_packets",
        f"The last {tail:.0f} packets of the flood all arrived: the oldest packet is pushed out.",
        tail,
    )


def _loads(judged: Judged) -> list[str]:
    """Phases of steady overload in which the session offered anything."""
    return [p for p in ("hold", "press") if judged.session.offered_pps(p) > 0]


def _not_flat(
    accepted: Sequence[Judged], seen: Sequence[SessionEvidence], held: Sequence[float]
) -> list[Evidence] | None:
    """Counts at refused packets that scatter, move with the overload, or differ from the drain."""
    found: dict[str, list[float]] = {}
    lost = idle_loss(seen)
    for judged, e, h in zip(accepted, seen, held, strict=True):
        allowed = tolerance(h, e, lost)
        if e.spread is not None and e.spread > allowed:
            found.setdefault("spread_packets", []).append(e.spread)
        if e.press_ratio is not None and abs(e.press_ratio - 1) * h > allowed:
            found.setdefault("press_ratio", []).append(e.press_ratio)
        drained = judged.estimates["fill_drain"]
        if drained is not None and abs(drained - h) > allowed + 1:
            found.setdefault("drained_packets", []).append(drained)
    says = {
        "spread_packets": "Packets were refused at fillings that differ by {:.1f} packets.",
        "press_ratio": "Under a stronger overload the filling changed by a factor {:.2f}.",
        "drained_packets": "After the flood {:.1f} packets drained, not what was counted before.",
    }
    evidence = [
        Evidence(name, says[name].format(float(np.median(values))), float(np.median(values)))
        for name, values in found.items()
        if len(values) * 2 > len(accepted)
    ]
    early = _early_losses(seen)
    if early is not None:
        evidence.append(early)
    between = _between_sessions(accepted, seen, held)
    if between is not None:
        evidence.append(between)
    return evidence or None


def _early_losses(seen: Sequence[SessionEvidence]) -> Evidence | None:
    """Whether the filling queue loses more than the idle path: what a drop-tail queue never does.

    Fisher's exact test over all sessions together; a share that the counts may scatter by is granted.
    """
    early, filling = (sum(e.early[k] for e in seen) for k in (0, 1))
    idle, baseline = (sum(e.idle[k] for e in seen) for k in (0, 1))
    if not filling or not baseline or early / filling - idle / baseline <= FLAT_SHARE:
        return None
    if fisher_exact((early, filling), (idle, baseline)) > EARLY_CHANCE:
        return None
    share = early / filling
    says = f"{share:.1%} of the packets were lost while the queue was less than half full."
    return Evidence("early_loss", says, share)


def _between_sessions(
    accepted: Sequence[Judged], seen: Sequence[SessionEvidence], held: Sequence[float]
) -> Evidence | None:
    """Whether sessions with the same packet size disagree by more than one FIFO can."""
    for size in {s.session.size_bytes for s in accepted}:
        rows = [i for i, s in enumerate(accepted) if s.session.size_bytes == size]
        counts = [held[i] for i in rows]
        allowed = max(tolerance(held[i], seen[i], idle_loss(seen)) for i in rows)
        low, high = (
            np.percentile(counts, [10, 90]) if len(counts) > 4 else (min(counts), max(counts))
        )
        if high - low > 2 * allowed:
            least, most = min(counts), max(counts)
            says = f"Sessions of {size} bytes held from {least:.1f} to {most:.1f} packets."
            return Evidence("between_sessions_packets", says, float(high - low))
    return None


def _fifo_evidence(
    accepted: Sequence[Judged], seen: Sequence[SessionEvidence], held: Sequence[float]
) -> list[Evidence]:
    spreads = [e.spread for e in seen if e.spread is not None]
    overtaken = [e.overtaken for e in seen if e.overtaken is not None]
    evidence = []
    if spreads:
        spread = float(np.median(spreads))
        says = f"Every refused packet met the same filling within {spread:.1f} packets."
        evidence.append(Evidence("spread_packets", says, spread))
    if overtaken:
        most = float(np.median(overtaken))
        says = f"Sparse flows waited behind the flood (they passed {most:.0f} of its packets)."
        evidence.append(Evidence("overtaken_packets", says, most))
    else:
        says = "No probe on another flow survived the flood: isolation of flows was not tested."
        evidence.append(Evidence("overtaken_packets", says))
    return evidence


def count_unit(
    by_size: dict[int, list[float]], frame_overhead: int, allowed: float = 2.0
) -> tuple[CountedIn, Evidence | None]:
    """Decide whether the device counts packets or bytes, from the counts for each IP size.

    Ratio r of the counts of the smallest over the largest packets: 1 for packets, the inverse ratio
    of the frame sizes for bytes. Decided only where the 95 % interval of r, widened by the
    resolution of half a packet on both counts, lies on one side and excludes the other. Counts that
    differ from what the unit demands by more than their intervals and ``allowed`` packets are those
    of a device that counts something else: both, cells of memory, or other traffic as well.
    """
    sizes = sorted(size for size, counts in by_size.items() if counts)
    if len(sizes) < 2:
        return "undecided", None
    small, large = sizes[0], sizes[-1]
    ratio = _ratio(by_size[small], by_size[large])
    expected = (large + frame_overhead) / (small + frame_overhead)
    says = (
        f"With {small}-byte packets it holds {ratio.mean:.3f} times as many as with {large}-byte "
        f"packets (1 if it counts packets, {expected:.2f} if bytes)."
    )
    evidence = Evidence("size_ratio", says, ratio.mean, (ratio.low, ratio.high))
    middle = float(np.sqrt(expected))
    packets_ok = abs(np.log(ratio.mean)) < np.log(PACKETS_BAND) and ratio.high < middle
    bytes_ok = abs(np.log(ratio.mean / expected)) < np.log(PACKETS_BAND) and ratio.low > middle
    packets_ok = packets_ok and _agree(by_size, dict.fromkeys(sizes, 1), allowed)
    frames = {size: size + frame_overhead for size in sizes}
    bytes_ok = bytes_ok and _agree(by_size, frames, allowed)
    if packets_ok and not bytes_ok:
        return "packets", evidence
    if bytes_ok and not packets_ok:
        return "bytes", evidence
    return "undecided", evidence


def _agree(by_size: Mapping[int, Sequence[float]], unit: Mapping[int, int], allowed: float) -> bool:
    """Whether one limit, of which a packet takes ``unit``, explains the counts of all sizes.

    n packets tell a limit from n to below n + 1 units; the interval of n and ``allowed`` packets
    more are granted.
    """
    lows, highs = [], []
    for size, weight in unit.items():
        interval = t_interval(by_size[size])
        assert interval is not None
        half = interval.half_width if interval.n > 1 else 0.05 * interval.mean
        lows.append((interval.mean - half) * weight)
        highs.append((interval.mean + half + (1 if weight > 1 else 0)) * weight)
    return max(lows) <= min(highs) + allowed * min(unit.values())


def _ratio(small: Sequence[float], large: Sequence[float]) -> Interval:
    """Ratio of two means with an interval by the delta method, plus half a packet on each."""
    a, b = t_interval(small), t_interval(large)
    assert a is not None and b is not None
    ratio = a.mean / b.mean if b.mean > 0 else float("inf")
    half_a = (a.half_width if a.n > 1 else 0.05 * a.mean) + 0.5
    half_b = (b.half_width if b.n > 1 else 0.05 * b.mean) + 0.5
    relative = float(np.hypot(half_a / max(a.mean, 0.5), half_b / max(b.mean, 0.5)))
    return Interval(ratio, ratio * (1 - relative), ratio * (1 + relative), min(a.n, b.n))
