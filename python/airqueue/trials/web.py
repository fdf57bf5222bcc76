"""Trials of the windows and the queue for people who browse: pages with slow start and losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from airqueue.models.packets import TCP_IP_BYTES
from airqueue.sizing.web import WebSizing, size_web
from airqueue.sizing.web_trial import WebTrial, scenario, times_s
from airqueue.stats import Interval
from airqueue.text import seconds
from airqueue.trials.simulated import REPLICATIONS, Progress, mean, nothing_said, simulated

MOST_PACKETS: Final = 4e6
"""Of all replications: a few seconds of computing."""
STEPS: Final = 7
"""Numbers of users at most, until the most that keep a target are found among 100."""


def why_not(sized: WebSizing) -> str | None:
    """Return why a trial would take long, as a sentence; None if it would not."""
    time_s = sum(times_s(sized))
    packets = REPLICATIONS * time_s * sized.full_bps * float(sized.page.busy)
    if packets / (8.0 * sized.segment_bytes) <= MOST_PACKETS:
        return None
    return f"enough pages take {seconds(time_s)}, and a trial minutes"


def try_pages(sized: WebSizing, on_progress: Progress = nothing_said) -> WebTrial:
    """Simulate the pages; with a target also with fewer users. Raises ScenarioError, Interrupted."""
    most = STEPS + 1 if sized.most_users else 1
    found = _page_s(sized, lambda part: on_progress("simulating pages", part / most))
    counted_s, _ = times_s(sized)
    return WebTrial(
        page_s=found.mean,
        page_half_width_s=found.half_width,
        most_users=_most_users(sized, on_progress),
        replications=REPLICATIONS,
        duration_s=counted_s,
    )


def _page_s(sized: WebSizing, on_progress: Callable[[float], None]) -> Interval:
    results = simulated(scenario(sized), on_progress)
    return mean(results, lambda run: run["medium"]["session_mean_s"])


def _most_users(sized: WebSizing, on_progress: Progress) -> int | None:
    """Return the most users with whom a simulated page keeps the target, no more than the model's.

    The model leaves out what makes pages longer, so its number is an upper bound.
    """
    target_s, high = sized.web.target_s, sized.most_users
    if target_s is None or not high:
        return high
    low, step = 0, 1
    # With `low` users the target is kept, with `high` + 1 not.
    users = high
    while low < high:

        def show(part: float, done: int = step, users: int = users) -> None:
            on_progress(f"simulating {users} users", min(1.0, (done + part) / (STEPS + 1)))

        other = size_web(
            replace(sized.web, users=users),
            sized.air.rates_bps[0],
            sized.air.phy.name,
            sized.segment_bytes + TCP_IP_BYTES,
        )
        if _page_s(other, show).high <= target_s:
            low = users
        else:
            high = users - 1
        users, step = (low + high + 1) // 2, step + 1
    return low
