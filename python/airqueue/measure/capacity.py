"""The capacity of one FIFO with its interval, from the counts of the accepted sessions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from airqueue.measure.evidence import lost_quietly
from airqueue.measure.gates import LOUD, Judged
from airqueue.measure.path_mtu import LEAST_RATIO
from airqueue.measure.result import Evidence, Measurement
from airqueue.measure.session import SEVERAL, Session
from airqueue.measure.verdicts import Finding, count_unit, explained, idle_loss
from airqueue.stats import Interval, share_interval, t_interval

RESOLUTION_PACKETS = 0.5
"""Counting whole packets against an estimated instant cannot do better than half a packet."""
MIN_GAPS = 3
"""Sessions with both sizes on the quiet path that are needed to tell a link from a shaper."""
OTHERS = 4.0
"""Packets of others granted in the full queue for each packet time that the quiet delay varies by.

A download that fills the path with a fixed window has three times the interquartile range there.
"""
SCATTERED = 2.0
"""Packets of others granted in the full queue for each by which the counts of one session scatter."""
VAGUE = 0.1
"""A share of the queue: where more of it may hold packets of others the count is no capacity."""
SESSIONS_ROUNDED = 2.0
"""Medians of such counts, of two sessions, may differ by two."""
ROUNDED = 1.0
"""Counts of whole packets at estimated instants may differ by one."""
ROUGH = 0.25
"""Packets by which counts may be too low, for late instants, that are worth a warning."""
MOST_OVERHEAD = 60
"""Bytes of a link's header that are tried: of 802.11 with encryption, SNAP and some more."""
HEADLINE = {"tail": "counting", "head": "fill_drain", None: "counting"}


def decide_capacity(
    result: Measurement, finding: Finding, accepted: Sequence[Judged], overhead: int
) -> None:
    """Decide the unit and, for one FIFO, the headline capacity with its interval."""
    counts = counts_by_size(HEADLINE[finding.drop_from], accepted)
    unit, evidence = count_unit(counts, overhead, finding.allowed)
    if evidence is not None:
        result.evidence.append(evidence)
    result.counted_in = unit
    if finding.verdict != "fifo":
        return
    # In a queue that drops at its head the counts at refused packets say nothing.
    others, seen = (0.0, "") if finding.drop_from == "head" else _others(accepted, finding)
    hidden = _hidden(counts, others, seen)
    if hidden is not None:
        result.verdict = "undecided"
        result.evidence.append(hidden)
        result.warnings.append(hidden.says)
        return
    result.drop_from = "head" if finding.drop_from == "head" else "tail"
    result.in_service_packets = _in_service(accepted)
    blur, because = _resolution(finding.burst)
    result.resolution = {"packets": blur, "because": because}
    # What the air loses behind the queue has waited in it and is not counted; what is lost before
    # the queue has not. The records do not tell which, so the interval covers both.
    lost = min(0.5, quiet_loss(accepted, finding).high)
    unseen = lost / (1 - lost)
    if others:
        result.warnings.append(
            f"{seen}, as where others use the queue: up to {others:.0f} of their packets may have "
            "been in the full queue, uncounted."
        )
    doubts = _doubts(accepted)
    if max(doubts.values()) > ROUGH:
        result.warnings.append(
            "Packets follow each other faster than the instants are known at which they reach the "
            f"queue: up to {max(doubts.values()):.1f} packets more may have waited."
        )
    if unit == "packets" or too_near(counts):
        # Of sizes that are one or nearly, the capacity is known in packets, whichever unit counts.
        pooled = pool([_between(size, values, accepted) for size, values in counts.items()])
        missed = max(others, float(np.mean([doubts[size] for size in counts])))
        pooled = pooled.widened(blur, blur + unseen * pooled.mean + missed)
        result.capacity, result.ci95 = pooled.mean, ends(pooled)
    elif unit == "bytes":
        fitting = _fitting(counts, overhead)
        if fitting != [overhead]:
            result.warnings.append(
                f"The counts do not fit packets with {overhead} bytes of a link's header each, but "
                f"with {min(fitting)} to {max(fitting)} bytes: the interval has these."
            )
        limits = [_byte_limit(counts, each, blur, doubts) for each in fitting]
        low, high = min(low for _, (low, _) in limits), max(high for _, (_, high) in limits)
        result.capacity = float(np.mean([limit for limit, _ in limits]))
        result.ci95 = (low, high + unseen * result.capacity + others * min(counts))
    if result.capacity is not None:
        result.capacity_unit = "bytes" if unit == "bytes" else "packets"


def too_near(sizes: Collection[int]) -> bool:
    """Whether packet sizes are one, or too near to each other to tell packets from bytes."""
    return max(sizes) < LEAST_RATIO * min(sizes)


def of_others(accepted: Sequence[Judged], finding: Finding) -> Evidence | None:
    """Return what says that a FIFO may hold so many packets of others that counts are no capacity."""
    counts = counts_by_size(HEADLINE[finding.drop_from], accepted)
    if not counts or finding.drop_from == "head":
        return None
    return _hidden(counts, *_others(accepted, finding))


def _hidden(counts: Mapping[int, Sequence[float]], others: float, seen: str) -> Evidence | None:
    """As `of_others`, of these counts and so many packets of others."""
    if others <= VAGUE * min(float(np.mean(of_size)) for of_size in counts.values()):
        return None
    says = f"{seen}, as where others use the queue: more than a tenth of it may be theirs."
    return Evidence("other_traffic_packets", says, others)


def _resolution(burst: float) -> tuple[float, str]:
    """Packets by which any count may be off, and why."""
    if burst > SEVERAL:
        return RESOLUTION_PACKETS + burst / 2, f"packets arrive in bursts of {burst:.0f}"
    return RESOLUTION_PACKETS, "whole packets are counted"


def counts_by_size(name: str, accepted: Sequence[Judged]) -> dict[int, list[float]]:
    """Estimates of one estimator in the sessions that have it, by packet size, the largest first."""
    values: dict[int, list[float]] = {}
    for judged in accepted:
        value = judged.estimates.get(name)
        if value is not None and math.isfinite(value):
            values.setdefault(judged.session.size_bytes, []).append(value)
    return dict(sorted(values.items(), reverse=True))


def ends(interval: Interval) -> tuple[float, float] | None:
    """Ends of an interval, None if a single session leaves it unbounded."""
    return (interval.low, interval.high) if math.isfinite(interval.half_width) else None


def pool(intervals: Sequence[Interval]) -> Interval:
    """Mean of the sizes' means; the interval covers their sampling error and their disagreement."""
    means = [i.mean for i in intervals]
    mean = float(np.mean(means))
    sampling = math.sqrt(sum(i.half_width**2 for i in intervals)) / len(intervals)
    disagreement = (max(means) - min(means)) / 2
    half = max(sampling, disagreement)
    return Interval(mean, mean - half, mean + half, sum(i.n for i in intervals))


def _doubts(accepted: Sequence[Judged]) -> dict[int, float]:
    """Packets by which the counts may be too low, by packet size: `Session.doubt`."""
    sessions = [j.session for j in accepted]
    return {
        size: float(np.mean([s.doubt for s in sessions if s.size_bytes == size]))
        for size in {s.size_bytes for s in sessions}
    }


def _others(accepted: Sequence[Judged], finding: Finding) -> tuple[float, str]:
    """Most packets of others in the full queue, which are not counted, and what says so.

    A transfer of others waits in the quiet path, too, where it makes the delay vary. A call or a page
    does not; its packets come and go in the full queue, where without them every refused packet would
    find equally many of ours, in every session. How many there were is not known, only how many came
    and went.
    """
    seen = [j.seen for j in accepted]
    lost = idle_loss(seen)
    noise = float(np.median([e.noise for e in seen]))
    spreads = [
        e.spread - 2 * e.noise - explained(j.counted, e, lost)
        for j, e in zip(accepted, seen, strict=True)
        if e.spread is not None
    ]
    scatter = float(np.median(spreads)) if spreads else 0.0
    if noise > max(LOUD, finding.burst) and OTHERS * noise >= SCATTERED * scatter:
        return OTHERS * noise, f"Without load the delay varied by {noise:.0f} packet times"
    if scatter > ROUNDED:
        return (
            SCATTERED * scatter,
            f"The filling at refused packets scattered by {scatter:.0f} packets",
        )
    apart = (
        _apart(accepted)
        - 2 * noise
        - float(np.median([explained(j.counted, j.seen, lost) for j in accepted]))
    )
    if apart > SESSIONS_ROUNDED:
        return SCATTERED * apart, f"The counts of sessions differed by {apart:.0f} packets"
    return 0.0, ""


def _apart(accepted: Sequence[Judged]) -> float:
    """Packets by which counts of sessions with one packet size differ, median of the sizes."""
    counts = counts_by_size("counting", accepted).values()
    return float(np.median([np.ptp(of_size) for of_size in counts])) if counts else 0.0


def _between(size: int, values: list[float], accepted: Sequence[Judged]) -> Interval:
    """Interval of one size's counts: between sessions, or within the only one.

    A single session has no spread between sessions; the medians of ten consecutive blocks of its
    refused packets stand in for it (batch means).
    """
    if len(values) == 1:
        session = next(j.session for j in accepted if j.session.size_bytes == size)
        waiting = session.waiting_at_drop[~np.isnan(session.waiting_at_drop)]
        values = [float(np.median(b)) for b in np.array_split(waiting, 10) if len(b)]
    interval = t_interval(values)
    assert interval is not None
    return interval


def _fitting(counts: Mapping[int, list[float]], overhead: int) -> list[int]:
    """Return the bytes of a link's header with which one byte limit explains the counts of all sizes.

    What is assumed where the counts allow it; otherwise all that they allow, up to `MOST_OVERHEAD`;
    where they allow none, what is assumed.
    """

    counted = {size: round(float(np.mean(values))) for size, values in counts.items()}

    def fits(header: int) -> bool:
        least = max(count * (size + header) for size, count in counted.items())
        return least < min((count + 1) * (size + header) for size, count in counted.items())

    if fits(overhead):
        return [overhead]
    return [each for each in range(MOST_OVERHEAD + 1) if fits(each)] or [overhead]


def _byte_limit(
    counts: Mapping[int, list[float]], overhead: int, blur: float, doubts: Mapping[int, float]
) -> tuple[float, tuple[float, float]]:
    """Limit L of a byte queue from its counts: n packets of f bytes fit, n + 1 do not.

    Each size confines L to [n f, (n + 1) f); the estimate is the middle of what all sizes allow.
    ``doubts``: packets of each size by which n may be too low.
    """
    lows, highs, tops, slack = [], [], [], []
    for size, values in counts.items():
        frame, interval = size + overhead, t_interval(values)
        assert interval is not None
        count = round(interval.mean)
        lows.append(count * frame)
        highs.append((count + 1) * frame)
        tops.append((count + 1 + doubts[size]) * frame)
        half = interval.half_width if math.isfinite(interval.half_width) else 0.05 * interval.mean
        slack.append((half + blur) * frame)
    low, high = max(lows), min(highs)
    best = min(slack)
    return (low + high) / 2, (min(low, high) - best, max(low, min(tops)) + best)


def _in_service(accepted: Sequence[Judged]) -> float | None:
    """1 if a link serves a packet beside the queue, 0 if a shaper releases it in no time.

    A link's own service time is part of the quiet delay, so on the quiet path large packets take
    longer than small ones by the difference of the service times; behind a shaper they do not.
    None if the difference drowns in the jitter or only one size was sent.
    """
    rates: dict[int, list[float]] = {}
    gaps: list[float] = []
    for judged in accepted:
        rates.setdefault(judged.session.size_bytes, []).append(judged.session.rate_pps("hold"))
        gap = quiet_gap_s(judged.session)
        if gap is not None:
            gaps.append(gap)
    if len(rates) < 2 or len(gaps) < MIN_GAPS or any(min(r) <= 0 for r in rates.values()):
        return None
    large, small = max(rates), min(rates)
    service = 1 / float(np.median(rates[large])) - 1 / float(np.median(rates[small]))
    if service <= 0:
        return None
    share = [gap / service for gap in gaps]
    interval = t_interval(share)
    if interval is None or interval.half_width > 0.3:
        return None
    if interval.mean > 0.7:
        return 1.0
    return 0.0 if interval.mean < 0.3 else None


def quiet_gap_s(session: Session) -> float | None:
    """Median quiet delay of the largest less that of the smallest packets, before the flood."""
    run = session.run
    quiet = session.during("quiet") & run.received & run.sent
    sizes = np.unique(run.size_bytes[quiet])
    if len(sizes) < 2:
        return None
    delays = [
        run.received_ns[quiet & (run.size_bytes == s)]
        - session.left_ns[quiet & (run.size_bytes == s)]
        for s in (sizes[-1], sizes[0])
    ]
    return float(np.median(delays[0]) - np.median(delays[1])) * 1e-9


def quiet_loss(accepted: Sequence[Judged], finding: Finding) -> Interval:
    """Share of the packets lost where no queue stood."""
    lost, total = lost_quietly(j.session for j in accepted)
    if finding.stood is not None:
        lost, total = lost + finding.stood.control[0], total + finding.stood.control[1]
    return share_interval(lost, total)
