"""Trials of the windows and the queue for people who browse: pages with slow start and losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from airqueue.models.packets import TCP_IP_BYTES
from airqueue.models.page_time import ROUND_TRIPS
from airqueue.sizing.web import MAX_USERS, WebSizing, size_web
from airqueue.sizing.web_trial import WebTrial, scenario, times_s
from airqueue.stats import Interval
from airqueue.text import plural
from airqueue.trials.simulated import (
    REPLICATIONS,
    Progress,
    long_time,
    mean,
    nothing_said,
    simulated,
    too_long,
)

if TYPE_CHECKING:
    from airqueue.simulate.report_types import Run

STEPS: Final = 6
"""Numbers of users that are tried, as a rule, until the most that keep a target are found."""


def why_not(sized: WebSizing) -> str | None:
    """Return why a trial would take long, as a sentence; None if it would not."""
    time_s = sum(times_s(sized))
    carried = REPLICATIONS * time_s * sized.full_bps * float(sized.page.busy)
    runs = 1 if sized.web.target_s is None else STEPS + 1
    why = f"enough pages take {long_time(time_s)} of simulated time"
    return too_long(runs * carried / (8.0 * sized.segment_bytes), why)


def try_pages(sized: WebSizing, on_progress: Progress = nothing_said) -> WebTrial:
    """Simulate the pages; with a target also with other numbers of users.

    Round trips beside those of the connection are added. Raises ScenarioError, Interrupted.
    """
    runs = 1 if sized.web.target_s is None else STEPS + 1
    found = _page_s(sized, lambda part: on_progress("simulating pages", part / runs))
    counted_s, _ = times_s(sized)
    return WebTrial(
        page_s=found.mean,
        page_half_width_s=found.half_width,
        added_s=_added_s(sized),
        most_users=_most_users(sized, on_progress),
        replications=REPLICATIONS,
        duration_s=counted_s,
    )


def _added_s(sized: WebSizing) -> float:
    """Return the time of round trips that the simulated connection does not make."""
    return (sized.web.round_trips - ROUND_TRIPS) * sized.web.rtt_s


def _page_s(sized: WebSizing, on_progress: Callable[[float], None]) -> Interval:
    results = simulated(scenario(sized), on_progress)
    added_s = _added_s(sized)

    def page_s(run: Run) -> float:
        mean_s = run["medium"]["session_mean_s"]
        # No page in the whole time: at least as long as that.
        return (times_s(sized)[0] if mean_s is None else mean_s) + added_s

    return mean(results, page_s)


def _most_users(sized: WebSizing, on_progress: Progress) -> int | None:
    """Return the most users for whom the interval of a simulated page keeps the target.

    The search begins at the model's number, which slow start makes too large and an overloaded cell
    too small.
    """
    target_s = sized.web.target_s
    if target_s is None:
        return None
    # With `low` users the target is kept, with more than `high` not.
    low, high, step = 0, MAX_USERS, 1
    users = stride = max(1, sized.most_users or 1)
    while low < high:

        def show(part: float, done: int = step, users: int = users) -> None:
            on_progress(
                f"simulating {plural(users, 'user')}", min(1.0, (done + part) / (STEPS + 1))
            )

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
        # Away from the model's number by growing steps, then by halves.
        step, stride = step + 1, max(1, stride // 8 if step == 1 else 2 * stride)
        if low == 0:
            users = max(1, (high + 1) // 2, high + 1 - stride)
        elif high == MAX_USERS:
            users = min((low + high + 1) // 2, low + stride)
        else:
            users = (low + high + 1) // 2
    return low
