"""From runs to a `Measurement`: a pure function, for live runs and stored captures alike."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import airqueue
from airqueue.measure import path_mtu
from airqueue.measure.disciplines import verdict as disciplines
from airqueue.measure.document import ClockSkewPpm, Hosts, Quantiles, SearchStep
from airqueue.measure.estimators import ESTIMATORS
from airqueue.measure.evidence import lost_in
from airqueue.measure.gates import LOUD, SAYS, Judged, judge
from airqueue.measure.plan import FLOOD_FLOW
from airqueue.measure.records import MISSING, Run
from airqueue.measure.result import EstimatorResult, Evidence, Measurement, SessionResult
from airqueue.measure.series import excess_delay_s
from airqueue.measure.session import LINK_OVERHEAD_BYTES, Session, rate_of
from airqueue.measure.standing import KIND as STANDING
from airqueue.measure.verdicts import Finding, count_unit, explained, find, idle_loss
from airqueue.stats import Interval, t_interval

RESOLUTION_PACKETS = 0.5
"""Counting whole packets against an estimated instant cannot do better than half a packet."""
AGREEMENT = (1.5, 0.03)
"""Packets or share by which estimators may differ without a warning."""
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
ROUNDED = 1.0
"""Counts of whole packets at estimated instants may differ by one."""
HEADLINE = {"tail": "counting", "head": "fill_drain", None: "counting"}


def analyze(runs: Sequence[Run], header: Mapping[str, Any]) -> Measurement:
    """Evaluate every estimator and the verdict over stored or fresh runs.

    ``header`` may carry ``profile``, ``direction``, ``target``, ``created``, ``elapsed_s``,
    ``interrupted``, ``warnings`` and ``link_overhead_bytes``.
    """
    overhead = int(header.get("link_overhead_bytes", LINK_OVERHEAD_BYTES))
    judged = judge([Session(r, overhead) for r in runs if r.meta.get("kind") == "session"])
    result = Measurement(
        airqueue=airqueue.__version__,
        created=str(header.get("created") or _now()),
        profile=str(header.get("profile", "capture")),
        direction=str(header.get("direction", "down")),
        target=str(header.get("target", "")),
        warnings=list(header.get("warnings", ())),
        elapsed_s=float(header.get("elapsed_s", _elapsed(runs))),
        interrupted=bool(header.get("interrupted", False)),
    )
    accepted = [j for j in judged if j.refused is None]
    searches = [r for r in runs if r.meta.get("kind") == "search"]
    points = [load_point(r) for r in searches]
    standing = [Session(r, overhead) for r in runs if r.meta.get("kind") == STANDING]
    explored = [Session(r, overhead) for r in runs if r.meta.get("kind") == "exploration"]
    finding = find(judged, points, _search_ended(searches, points), standing, explored)
    result.verdict = finding.verdict
    result.evidence = list(finding.evidence)
    idle = [lost_in(j.session, "quiet") for j in accepted]
    result.discipline = disciplines.judge(
        [Session(r, overhead) for r in runs],
        found=finding.verdict,
        idle=(sum(i[0] for i in idle), sum(i[1] for i in idle)),
    )
    result.sessions = [_row(j) for j in judged]
    reasons = Counter(j.refused for j in judged if j.refused is not None)
    result.discarded_sessions = sum(reasons.values())
    result.discard_reasons = dict(reasons)
    result.search = points
    result.path_mtu = path_mtu.path_mtu(runs)
    refitted = path_mtu.warning(runs)
    if refitted is not None:
        result.warnings.append(refitted)
    result.estimators = {name: _estimator(name, accepted, overhead) for name in ESTIMATORS}
    # What the sending host refuses in the search for the path MTU is no fault of the host.
    result.hosts = _hosts([r for r in runs if r.meta.get("kind") != path_mtu.KIND], judged)
    _describe_path(result, accepted)
    if finding.verdict in ("fifo", "undecided"):
        _capacity(result, finding, accepted, overhead)
    _warn(result, finding, accepted, judged)
    return result


def load_point(run: Run) -> SearchStep:
    """Offered and received rate, loss and added delay of a run that sent one steady flood.

    The received rate is that of the second half of the arrivals: a shaper lets the first packets
    pass with the tokens it has saved, and a queue's filling hides nothing from then on.
    """
    start, end = (round(float(t) * 1e9) for t in run.meta["flood_s"])
    at = run.scheduled_ns
    planned = np.asarray(run.flow == FLOOD_FLOW) & (at >= start) & (at < end)
    planned_pps = rate_of(at[planned])
    flood = planned & run.sent
    # Packets that the sender's own socket refused were not offered, wherever in the train they were.
    refused = 1 - int(np.count_nonzero(flood)) / max(1, int(np.count_nonzero(planned)))
    sent = run.sent_ns[flood]
    arrived = np.sort(run.received_ns[flood & run.received])
    delay = run.delay_s[flood & run.received]
    return {
        "size_bytes": int(run.meta["size_bytes"]),
        "planned_pps": planned_pps,
        "offered_pps": min(rate_of(sent), planned_pps * (1 - refused)),
        "received_pps": rate_of(arrived[len(arrived) // 2 :]),
        "loss": 1 - len(arrived) / len(sent) if len(sent) else 0.0,
        "delay_s": float(np.median(delay) - delay.min()) if len(delay) else None,
    }


def _search_ended(searches: Sequence[Run], points: Sequence[SearchStep]) -> bool:
    """Whether some search run was planned at nearly the highest rate that the endpoints allow."""
    return any(
        (point["planned_pps"] or 0.0) >= 0.9 * float(run.meta.get("agreed_pps", math.inf))
        for run, point in zip(searches, points, strict=True)
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _elapsed(runs: Sequence[Run]) -> float:
    return sum(float(r.meta.get("elapsed_s", 0.0)) for r in runs)


def _row(judged: Judged) -> SessionResult:
    session, meta = judged.session, judged.session.run.meta
    return SessionResult(
        size_bytes=session.size_bytes,
        index=int(meta.get("index", 0)),
        accepted=judged.refused is None,
        discarded_because=None if judged.refused is None else SAYS[judged.refused],
        steady=judged.steady,
        estimates=judged.estimates,
        throughput_bps=session.rate_pps("hold") * session.size_bytes * 8,
        loss=session.loss("hold"),
        delay_full_s=session.delay_full_s,
        started_s=meta.get("started_s"),
        elapsed_s=meta.get("elapsed_s"),
        **_sparse(session),
    )


def _sparse(session: Session) -> dict[str, float]:
    """Quantiles of the sparse flows' delay above the quiet path, without the flood and beside it."""
    found: dict[str, float] = {}
    delays = excess_delay_s(session)
    known = np.isfinite(delays) & (session.run.flow != FLOOD_FLOW)
    known &= session.run.size_bytes == session.size_bytes
    for name, phases in (("idle", ("quiet",)), ("loaded", ("hold", "press"))):
        chosen = known & np.logical_or.reduce([session.during(phase) for phase in phases])
        if np.any(chosen):
            p50, p95 = np.percentile(delays[chosen], [50, 95])
            found |= {f"sparse_{name}_p50_s": float(p50), f"sparse_{name}_p95_s": float(p95)}
    return found


def _by_size(name: str, accepted: Sequence[Judged]) -> dict[int, list[float]]:
    values: dict[int, list[float]] = {}
    for judged in accepted:
        value = judged.estimates.get(name)
        if value is not None and math.isfinite(value):
            values.setdefault(judged.session.size_bytes, []).append(value)
    return dict(sorted(values.items(), reverse=True))


def _estimator(name: str, accepted: Sequence[Judged], overhead: int) -> EstimatorResult | None:
    by_size = _by_size(name, accepted)
    if not by_size:
        return None
    rows = {}
    packets: list[Interval] = []
    in_bytes: list[Interval] = []
    for size, values in by_size.items():
        interval = t_interval(values)
        assert interval is not None
        frame = size + overhead
        packets.append(interval)
        in_bytes.append(
            Interval(interval.mean * frame, interval.low * frame, interval.high * frame, interval.n)
        )
        rows[str(size)] = {
            "packets": interval.mean,
            "ci95_packets": _ends(interval),
            "bytes": interval.mean * frame,
            "sessions": interval.n,
        }
    p, b = _pool(packets), _pool(in_bytes)
    return EstimatorResult(p.mean, _ends(p), b.mean, _ends(b), rows)


def _ends(interval: Interval) -> tuple[float, float] | None:
    """Ends of an interval, None if a single session leaves it unbounded."""
    return (interval.low, interval.high) if math.isfinite(interval.half_width) else None


def _pool(intervals: Sequence[Interval]) -> Interval:
    """Mean of the sizes' means; the interval covers their sampling error and their disagreement."""
    means = [i.mean for i in intervals]
    mean = float(np.mean(means))
    sampling = math.sqrt(sum(i.half_width**2 for i in intervals)) / len(intervals)
    disagreement = (max(means) - min(means)) / 2
    half = max(sampling, disagreement)
    return Interval(mean, mean - half, mean + half, sum(i.n for i in intervals))


def _capacity(
    result: Measurement, finding: Finding, accepted: Sequence[Judged], overhead: int
) -> None:
    """Decide the unit and, for one FIFO, the headline capacity with its interval."""
    by_size = _by_size(HEADLINE[finding.drop_from], accepted)
    unit, evidence = count_unit(by_size, overhead, finding.allowed)
    if evidence is not None:
        result.evidence.append(evidence)
    result.counted_in = unit
    if finding.verdict != "fifo":
        return
    others, seen = _others(accepted, finding)
    # In a queue that drops at its head the counts at refused packets say nothing.
    least = min(float(np.mean(counts)) for counts in by_size.values())
    if finding.drop_from != "head" and others > VAGUE * least:
        says = f"{seen}, as where others use the queue: more than a tenth of it may be theirs."
        result.verdict = "undecided"
        result.evidence.append(Evidence("other_traffic_packets", says, others))
        result.warnings.append(says)
        return
    result.drop_from = "head" if finding.drop_from == "head" else "tail"
    result.in_service_packets = _in_service(accepted)
    blur = RESOLUTION_PACKETS + (finding.burst / 2 if finding.burst > 2 else 0.0)
    result.resolution = {
        "packets": blur,
        "because": f"packets arrive in bursts of {finding.burst:.0f}"
        if finding.burst > 2
        else "whole packets are counted",
    }
    # What the air loses behind the queue has waited in it and is not counted; what is lost before
    # the queue has not. The records do not tell which, so the interval covers both.
    lost = min(0.5, _quiet_loss(accepted, finding).high)
    unseen = lost / (1 - lost)
    if others:
        result.warnings.append(
            f"{seen}, as where others use the queue: up to {others:.0f} of their packets may have "
            "been in the full queue, uncounted."
        )
    if unit == "packets" or len(by_size) == 1:
        # With a single size the capacity is known in packets of this size, whichever unit counts.
        intervals = [_between(size, values, accepted) for size, values in by_size.items()]
        pooled = _pool(intervals)
        pooled = pooled.widened(blur, blur + unseen * pooled.mean + others)
        result.capacity, result.ci95 = pooled.mean, _ends(pooled)
    elif unit == "bytes":
        result.capacity, (low, high) = _byte_limit(by_size, overhead, blur)
        result.ci95 = (low, high + unseen * result.capacity + others * min(by_size))
    if result.capacity is not None:
        result.capacity_unit = "bytes" if unit == "bytes" else "packets"


def _others(accepted: Sequence[Judged], finding: Finding) -> tuple[float, str]:
    """Most packets of others in the full queue, which are not counted, and what says so.

    A transfer of others waits in the quiet path, too, where it makes the delay vary. A call or a page
    does not; its packets come and go in the full queue, where without them every refused packet would
    find equally many of ours. How many there were is not known, only how many came and went.
    """
    seen = [j.seen for j in accepted]
    lost = idle_loss(seen)
    noise = float(np.median([e.noise for e in seen]))
    spreads = [
        e.spread - 2 * e.noise - explained(j.estimates["counting"] or 0.0, e, lost)
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
    return 0.0, ""


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


def _byte_limit(
    by_size: Mapping[int, list[float]], overhead: int, blur: float
) -> tuple[float, tuple[float, float]]:
    """Limit L of a byte queue from its counts: n packets of f bytes fit, n + 1 do not.

    Each size confines L to [n f, (n + 1) f); the estimate is the middle of what all sizes allow.
    """
    lows, highs, slack = [], [], []
    for size, values in by_size.items():
        frame, interval = size + overhead, t_interval(values)
        assert interval is not None
        count = round(interval.mean)
        lows.append(count * frame)
        highs.append((count + 1) * frame)
        half = interval.half_width if math.isfinite(interval.half_width) else 0.05 * interval.mean
        slack.append((half + blur) * frame)
    low, high = max(lows), min(highs)
    middle = (low + high) / 2
    best = min(slack)
    return middle, (min(low, high) - best, max(low, high) + best)


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
        run.received_ns[quiet & (run.size_bytes == s)] - run.sent_ns[quiet & (run.size_bytes == s)]
        for s in (sizes[-1], sizes[0])
    ]
    return float(np.median(delays[0]) - np.median(delays[1])) * 1e-9


def _describe_path(result: Measurement, accepted: Sequence[Judged]) -> None:
    """Rates, delay when full and jitter, medians over the accepted sessions."""
    rates: dict[int, list[float]] = {}
    for judged in accepted:
        rates.setdefault(judged.session.size_bytes, []).append(judged.session.rate_pps("hold"))
    result.rate_pps = {str(s): float(np.median(r)) for s, r in sorted(rates.items(), reverse=True)}
    if rates:
        largest = max(rates)
        result.rate_bps = float(np.median(rates[largest])) * largest * 8
        rows = [r for r in result.sessions if r.accepted and r.size_bytes == largest]
        delays = [r.delay_full_s for r in rows if r.delay_full_s is not None]
        result.delay_full_s = float(np.median(delays)) if delays else None
        jitter = [j.session.quiet_delay.jitter_s for j in accepted if j.session.quiet_delay]
        result.quiet_jitter_s = float(np.median(jitter)) if jitter else None


def _hosts(runs: Sequence[Run], judged: Sequence[Judged]) -> Hosts:
    """The endpoints' own errors over all runs: pacing, local queueing, overflow, clocks."""
    late = [
        (r.sent_ns[r.sent] - r.scheduled_ns[r.sent]) * 1e-9 for r in runs if "source" not in r.meta
    ]
    lateness = np.concatenate(late) if late else np.empty(0)
    stamped = [r.kernel_tx_ns != MISSING for r in runs]
    local = [
        (r.kernel_tx_ns[m & r.sent] - r.sent_ns[m & r.sent]) * 1e-9
        for r, m in zip(runs, stamped, strict=True)
    ]
    queued = np.concatenate(local) if local else np.empty(0)
    skews = [
        j.session.quiet_delay.slope * 1e6
        for j in judged
        if j.refused is None and j.session.quiet_delay and j.session.quiet_delay.after_ns
    ]
    skew = t_interval(skews)
    return {
        "pacing_error_s": _percentiles(lateness),
        "local_queueing_s": _percentiles(queued),
        "send_blocked": sum(r.host.send_blocked for r in runs),
        "receive_overflow": sum(r.host.receive_overflow for r in runs),
        "duplicates": sum(r.host.duplicates for r in runs),
        "clock_steps": sum(r.host.clock_steps for r in runs)
        + sum(j.refused == "clock_step" and not j.session.run.host.clock_steps for j in judged),
        "clock_skew_ppm": None if skew is None else _skew(skew),
        "kernel_receive_timestamps": all(r.host.kernel_receive_timestamps for r in runs),
    }


def _skew(found: Interval) -> ClockSkewPpm:
    ends = _ends(found)
    return {"value": found.mean, "ci95": None if ends is None else [*ends]}


def _percentiles(values: np.ndarray) -> Quantiles | None:
    if not len(values):
        return None
    p50, p99, top = np.percentile(values, [50, 99, 100])
    return {"p50": float(p50), "p99": float(p99), "max": float(top)}


def _warn(
    result: Measurement, finding: Finding, accepted: Sequence[Judged], judged: Sequence[Judged]
) -> None:
    """Sentences about what weakens the answer."""
    if finding.drop_from == "head":
        result.warnings.append(
            "The device drops its oldest packet: delay times rate (Eq. (1)) and the counts at "
            "refused packets see only the share that is delivered; the capacity is what drained."
        )
    elif finding.verdict == "fifo":
        result.warnings.extend(_disagreements(result, "counting"))
    if result.hosts.get("clock_steps"):
        result.warnings.append(
            "A clock was stepped during the measurement; see discarded sessions."
        )
    busy = sum(j.refused == "other_traffic" for j in judged)
    if busy:
        result.warnings.append(
            f"Other traffic waited in the path before or after the flood in {busy} of {len(judged)} "
            "sessions: measure again when nothing else uses the path."
        )
    if finding.verdict == "fifo" and len({j.session.size_bytes for j in accepted}) < 2:
        result.warnings.append(
            "One packet size cannot tell packets from bytes: the capacity is in packets of that "
            "size; measure a second one."
        )
    elif finding.verdict == "fifo" and result.counted_in == "undecided":
        result.warnings.append(
            "The counts of the packet sizes fit neither one number of packets nor one of bytes "
            "clearly: there is no capacity, but each size's count holds for that size."
        )
    unsteady = sum(not j.steady for j in accepted)
    if unsteady:
        result.warnings.append(
            f"The rate was not steady in {unsteady} of {len(accepted)} sessions: the estimators "
            "that need one rate leave them out."
        )
    share = _quiet_loss(accepted, finding).mean
    if share > 0.02:
        result.warnings.append(
            f"{share:.0%} of the packets were lost even without load: counts may be low by that."
        )
    if judged and result.discarded_sessions * 2 > len(judged):
        result.warnings.append("More than half of the sessions were discarded.")


def _quiet_loss(accepted: Sequence[Judged], finding: Finding) -> Interval:
    """Share of the packets lost where no queue stood, with its binomial error."""
    pairs = [lost_in(j.session, "quiet") for j in accepted]
    if finding.stood is not None:
        pairs.append(finding.stood.control)
    lost, total = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    share = lost / total if total else 0.0
    half = 1.96 * math.sqrt(share * (1 - share) / max(1, total))
    return Interval(share, max(0.0, share - half), share + half, total)


def _disagreements(result: Measurement, headline: str) -> list[str]:
    """Name the estimators that differ from the headline by more than both intervals explain."""
    reference = result.estimators.get(headline)
    if reference is None:
        return []
    notes = []
    for name, other in result.estimators.items():
        if other is None or name == headline:
            continue
        for size, row in other.by_size.items():
            main = reference.by_size.get(size)
            if main is None:
                continue
            apart = abs(row["packets"] - main["packets"])
            spread = sum(_half(r["ci95_packets"]) for r in (row, main))
            if apart > max(spread, AGREEMENT[0], AGREEMENT[1] * main["packets"]):
                notes.append(
                    f"With {size}-byte packets the {name} estimate is {row['packets']:.1f}, the "
                    f"{headline} estimate {main['packets']:.1f}: beyond their intervals."
                )
    return notes


def _half(ci95: tuple[float, float] | None) -> float:
    return 0.0 if ci95 is None else (ci95[1] - ci95[0]) / 2
