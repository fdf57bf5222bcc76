"""From runs to a `Measurement`: a pure function, for live runs and stored captures alike."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import airqueue
from airqueue.measure import bucket, path_mtu
from airqueue.measure.capacity import (
    counts_by_size,
    decide_capacity,
    ends,
    pool,
    quiet_loss,
    too_near,
)
from airqueue.measure.disciplines import shared, treatment
from airqueue.measure.disciplines import verdict as disciplines
from airqueue.measure.document import ClockSkewPpm, Hosts, Quantiles, SearchStep
from airqueue.measure.estimators import ESTIMATORS
from airqueue.measure.evidence import lost_quietly
from airqueue.measure.gates import SAYS, Judged, judge
from airqueue.measure.plan import FLOOD_FLOW
from airqueue.measure.reconsidered import unless_lossy, unless_managed
from airqueue.measure.records import MISSING, Run
from airqueue.measure.result import EstimatorResult, Measurement, SessionResult
from airqueue.measure.series import excess_delay_s
from airqueue.measure.session import LINK_OVERHEAD_BYTES, Session, rate_of
from airqueue.measure.standing import KIND as STANDING
from airqueue.measure.verdicts import Finding, find
from airqueue.stats import Interval, t_interval

AGREEMENT = (1.5, 0.03)
"""Packets or share by which estimators may differ without a warning."""


def analyze(
    runs: Sequence[Run], header: Mapping[str, Any], known: Sequence[Session] = ()
) -> Measurement:
    """Evaluate every estimator and the verdict over stored or fresh runs.

    Parameters
    ----------
    runs : sequence of Run
        Packet records.
    header : dict
        May carry ``profile``, ``direction``, ``target``, ``created``, ``elapsed_s``, ``interrupted``,
        ``warnings`` and ``link_overhead_bytes``.
    known : sequence of Session, optional
        Of these runs: what was computed of them before is not computed again.

    Returns
    -------
    Measurement
    """
    overhead = int(header.get("link_overhead_bytes", LINK_OVERHEAD_BYTES))
    before = {id(each.run): each for each in known if each.link_overhead_bytes == overhead}
    sessions = [before.get(id(run)) or Session(run, overhead) for run in runs]

    def of_kind(kind: str) -> list[Session]:
        return [each for each in sessions if each.run.meta.get("kind") == kind]

    judged = judge(of_kind("session"))
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
    searches = [each.run for each in of_kind("search")]
    points = [load_point(r) for r in searches]
    ended = _search_ended(searches, points)
    finding = find(judged, points, ended, of_kind(STANDING), of_kind("exploration"))
    idle = lost_quietly(j.session for j in accepted)
    finding = unless_lossy(finding, idle)
    result.discipline = disciplines.judge(sessions, found=finding.verdict, idle=idle)
    finding = unless_managed(finding, result.discipline)
    result.verdict = finding.verdict
    result.evidence = list(finding.evidence)
    result.classes = treatment.judge(sessions, idle=idle)
    result.token_bucket = bucket.judge(sessions)
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
        decide_capacity(result, finding, accepted, overhead)
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
    """Quantiles of the sparse flows' delay above the quiet path, without the flood and beside it.

    Of a flow that lost most of its packets the few others are no basis for a 95th percentile.
    """
    found: dict[str, float] = {}
    delays = excess_delay_s(session)
    sparse = session.run.sent & (session.run.flow != FLOOD_FLOW)
    sparse &= session.run.size_bytes == session.size_bytes
    for name, phases in (("idle", ("quiet",)), ("loaded", ("hold", "press"))):
        sent = sparse & np.logical_or.reduce([session.during(phase) for phase in phases])
        arrived = sent & np.isfinite(delays)
        if np.any(arrived):
            found[f"sparse_{name}_p50_s"] = float(np.median(delays[arrived]))
        if 2 * np.count_nonzero(arrived) > np.count_nonzero(sent):
            found[f"sparse_{name}_p95_s"] = float(np.percentile(delays[arrived], 95))
    return found


def _estimator(name: str, accepted: Sequence[Judged], overhead: int) -> EstimatorResult | None:
    counts = counts_by_size(name, accepted)
    if not counts:
        return None
    rows = {}
    packets: list[Interval] = []
    in_bytes: list[Interval] = []
    for size, values in counts.items():
        interval = t_interval(values)
        assert interval is not None
        frame = size + overhead
        packets.append(interval)
        in_bytes.append(
            Interval(interval.mean * frame, interval.low * frame, interval.high * frame, interval.n)
        )
        rows[str(size)] = {
            "packets": interval.mean,
            "ci95_packets": ends(interval),
            "bytes": interval.mean * frame,
            "sessions": interval.n,
        }
    p, b = pool(packets), pool(in_bytes)
    return EstimatorResult(p.mean, ends(p), b.mean, ends(b), rows)


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
    known = ends(found)
    return {"value": found.mean, "ci95": None if known is None else [*known]}


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
    result.warnings.extend(shared.warnings(result.discipline))
    if finding.verdict == "fifo" and len({j.session.size_bytes for j in accepted}) < 2:
        result.warnings.append(
            "One packet size cannot tell packets from bytes: the capacity is in packets of that "
            "size; measure a second one."
        )
    elif finding.verdict == "fifo" and too_near([j.session.size_bytes for j in accepted]):
        result.warnings.append(
            "The packet sizes are too near to each other to tell packets from bytes: the capacity is "
            "in packets of these sizes; measure one of half the size."
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
    share = quiet_loss(accepted, finding).mean
    if share > 0.02:
        result.warnings.append(
            f"{share:.0%} of the packets were lost even without load: counts may be low by that."
        )
    if judged and result.discarded_sessions * 2 > len(judged):
        result.warnings.append("More than half of the sessions were discarded.")


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
