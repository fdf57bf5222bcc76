"""What simulations say of people who browse: figures for `airqueue.sizing.web_advice`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from airqueue.sizing.advice import Figure, Settings
from airqueue.sizing.cell import ACK_EVERY
from airqueue.sizing.settings import web as lines
from airqueue.sizing.web import MAX_USERS, WebSizing
from airqueue.text import seconds

PAGES: Final = 400
"""Of all users together, in the counted time."""
LEAST_S: Final = 100.0
FIRST_PAGES: Final = 3.0
"""Of each user, before anything is counted."""


@dataclass(frozen=True, slots=True)
class WebTrial:
    """Pages that were loaded in a simulation, with the windows and the queue that are advised."""

    page_s: float
    """Mean time of a page."""
    page_half_width_s: float
    """Of the 95 % interval."""
    added_s: float
    """Of the time: round trips that are added to the simulated ones, for names and TLS."""
    most_users: int | None
    """The most users with whom the interval of the mean keeps the target; None without target."""
    replications: int
    duration_s: float
    """Counted, of each replication."""

    def figures(self) -> tuple[Figure, ...]:
        """Return how long a page takes, and how many users keep the target."""
        page = Figure(
            "simulated_page_s",
            "a page, simulated",
            self.page_s,
            f"± {seconds(self.page_half_width_s)}, slow start and losses included"
            + (f", and {seconds(self.added_s)} for more round trips" if self.added_s else "")
            + f": {self.replications} times {self.duration_s:g} s",
        )
        if self.most_users is None:
            return (page,)
        return (
            page,
            Figure(
                "simulated_most_users",
                "users within the target",
                self.most_users,
                "simulated: the most for whom the whole interval of the mean keeps the target; "
                f"{MAX_USERS} at most are tried",
            ),
        )


def times_s(sized: WebSizing) -> tuple[float, float]:
    """Return how long is counted, and how long is simulated before that."""
    one_s = sized.web.think_s + float(sized.page.mean_s)
    counted_s = max(LEAST_S, PAGES * one_s / sized.web.users)
    return math.ceil(counted_s), math.ceil(FIRST_PAGES * one_s)


def scenario(sized: WebSizing) -> Settings:
    """Return the network of the advice."""
    web = sized.web
    return lines.scenario(
        layer=sized.air.phy,
        rate_bps=sized.air.rates_bps[0],
        times_s=times_s(sized),
        users=web.users,
        page_bytes=web.page_bytes,
        think_s=web.think_s,
        window=sized.window_segments,
        segment_bytes=sized.segment_bytes,
        every=ACK_EVERY,
        timer_s=web.ack_timer_s,
        queue_packets=sized.queue_packets,
        rtt_s=web.rtt_s,
        rts=web.rts,
    )
