"""APQ as published: Algorithms 1 and 2 of the paper with its timeline.

Algorithm 1 raises the rate by 50 packets/s, 60 s each, until three rates in a row lose 20 % or more,
and takes the middle one. Algorithm 2 is a session of 120 s: baseline flow of 10 packets/s all the
time, saturation flow from 30 to 90 s; 30 accepted sessions for each packet size. Errata: the
saturation flow stops at 90 s (section III prints 120 s), and S_0 = 0, so that S_1 = 50.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from airqueue.measure.gates import Judged
from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW, Plan, cbr
from airqueue.measure.quiet import farewell
from airqueue.measure.records import Run
from airqueue.measure.runner import Runner
from airqueue.measure.session import Session

STEP_PPS = 50.0
STEP_S = 60.0
HIGH_LOSS = 0.20
HIGH_LOSS_RATES = 3
BASELINE_PPS = 10.0
BASELINE_END_S = 120.0
FLOOD_S = (30.0, 90.0)
PHASES = {
    "quiet": [5.0, 25.0],
    "fill": [30.0, 40.0],
    "hold": [40.0, 80.0],
    "after": [95.0, 115.0],
}
"""t1, the settling time, t2 and t3 of Algorithm 2 in seconds."""
SESSIONS = 30
MOST_DISCARDED = 30
"""Sessions discarded for one size before the device is called too unstable for the method."""


def measure_paper(runner: Runner, sizes: Sequence[int]) -> dict[str, Any]:
    """Run the paper's method for every size; returns header values for `analyze`."""
    warnings: list[str] = []
    for k, size in enumerate(sizes):
        rate = saturation_rate(runner, size, k / len(sizes))
        if rate is None:
            return {"warnings": warnings}
        accepted = discarded = 0
        while accepted < SESSIONS and discarded <= MOST_DISCARDED:
            if runner.out_of_time(BASELINE_END_S):
                return {"warnings": [*warnings, "The time limit ended the measurement."]}
            index = accepted + discarded
            share = (k + 0.3 + 0.7 * accepted / SESSIONS) / len(sizes)
            left = (SESSIONS - accepted + SESSIONS * (len(sizes) - 1 - k)) * (BASELINE_END_S + 1)
            runner.say(
                "session", f"session {accepted + 1} of {SESSIONS}, {size} bytes", share, left
            )
            run = runner.run(*session_plan(size, rate, index), share, left)
            ok = acceptable(run)
            accepted, discarded = accepted + ok, discarded + (not ok)
        if accepted < SESSIONS:
            warnings.append(
                f"Only {accepted} of {SESSIONS} sessions with {size}-byte packets were acceptable."
            )
    return {"warnings": warnings}


def acceptable(run: Run) -> bool:
    """Whether a session counts among the 30: passed every gate, steady, and still 20 % lost.

    The paper discards sessions with "extremely variable" throughput and loss without a number;
    `gates.UNSTEADY_SHARE` and the search's own 20 %, less what chance moves, stand for it.
    """
    judged = Judged(Session(run))
    return (
        judged.refused is None and judged.steady and judged.session.loss("hold") > 0.9 * HIGH_LOSS
    )


def saturation_rate(runner: Runner, size: int, share: float = 0.0) -> float | None:
    """Algorithm 1: S_sat in packets/s, or None if the endpoints' ceiling comes first."""
    agreed = runner.prober.max_rate_pps(size)
    losses: list[float] = []
    step = 0
    while len(losses) < HIGH_LOSS_RATES or min(losses[-HIGH_LOSS_RATES:]) < HIGH_LOSS:
        step += 1
        rate = step * STEP_PPS
        if rate > agreed:
            return None
        runner.say("search", f"{rate:.0f} packets/s of {size} bytes", share)
        run = runner.run(*step_plan(size, rate, step, agreed), share)
        # R_i against the rate that was really sent, should the generator have fallen behind.
        flood = np.asarray(run.flow == FLOOD_FLOW) & run.sent & (run.scheduled_ns < STEP_S * 1e9)
        sent = int(np.count_nonzero(flood))
        losses.append(int(np.count_nonzero(flood & run.lost)) / max(1, sent))
    return (step - 1) * STEP_PPS


def step_plan(
    size: int, rate_pps: float, step: int, agreed_pps: float
) -> tuple[Plan, dict[str, Any]]:
    """One rate of Algorithm 1; the next run begins when the queue has drained."""
    plan = Plan((cbr(FLOOD_FLOW, 0.0, STEP_S, rate_pps, size), *farewell(STEP_S + 0.1, size)))
    meta = {"kind": "search", "profile": "paper", "size_bytes": size, "index": step}
    says = f"{rate_pps:.0f} packets/s"
    return plan, {**meta, "flood_s": [0.0, STEP_S], "agreed_pps": agreed_pps, "says": says}


def session_plan(size: int, rate_pps: float, index: int) -> tuple[Plan, dict[str, Any]]:
    """Algorithm 2, with baseline packets of the same size as the flood's."""
    plan = Plan(
        (
            cbr(PROBE_FLOW, 0.0, BASELINE_END_S, BASELINE_PPS, size),
            cbr(FLOOD_FLOW, *FLOOD_S, rate_pps, size),
            *farewell(BASELINE_END_S, size),
        )
    )
    meta = {"kind": "session", "profile": "paper", "size_bytes": size, "index": index}
    return plan, {**meta, "phases": PHASES, "says": f"{size}-byte session"}
