"""`airqueue size web`: the window, the queue and the acknowledgements for people who browse.

The page times are those of `airqueue.models.page_time` (HTTP paper, Eq. 17), the queue that loses
nothing that of `airqueue.models.buffer_regime`, both for one frame per access.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.models.buffer_regime import buffer_regime
from airqueue.models.checks import number
from airqueue.models.engset import THINK_S
from airqueue.models.errors import ParameterError
from airqueue.models.http_timing import timing_for
from airqueue.models.packets import PACKET_BYTES, TCP_IP_BYTES
from airqueue.models.page_time import ROUND_TRIPS, PageTime, page_time, reason
from airqueue.models.tcp_capacity import collision
from airqueue.models.web_session import timer_wait_s
from airqueue.sizing.cell import ACK_EVERY, Cell, cell

MAX_USERS: Final = 100
"""With more, over half of all attempts collide where every segment is acknowledged: too many for the
model, which takes no packet for given up."""
LEAST_WINDOW: Final = 4
"""A loss is found by three duplicate acknowledgements of later segments (RFC 5681, section 3.2)."""
ACK_TIMER_S: Final = 0.04
"""The paper's delayed-ACK timer, and Linux's shortest."""


@dataclass(frozen=True, slots=True)
class Web:
    """What is browsed, by whom, and how far away. Raises ParameterError when it is sized."""

    users: int
    """Of the cell, from 1 to `MAX_USERS`."""
    page_bytes: float
    """Mean size of a page, all its objects."""
    rtt_s: float
    """Between the access point and the servers, without queues; windows rest on this time."""
    think_s: float = THINK_S
    """Mean time from the end of a page to the next click."""
    round_trips: float = ROUND_TRIPS
    """To the server before the first data."""
    ack_timer_s: float = ACK_TIMER_S
    """Longest delay of a delayed acknowledgement."""
    target_s: float | None = None
    """Mean page time that is acceptable."""
    rts: bool = False
    """Whether RTS and CTS precede every frame."""


@dataclass(frozen=True, slots=True)
class WebSizing:
    """The window, the queue, and what a page then takes."""

    web: Web
    air: Cell
    """For the layer, the rate and the packets."""
    segment_bytes: int
    window_segments: int
    """Of every connection: what keeps the air busy for one download, no less than `LEAST_WINDOW`."""
    queue_packets: int
    """Of the access point: all windows at once."""
    alone_bps: float
    """What one download gets, with delayed acknowledgements."""
    full_bps: float
    """The same for as many downloads as there are users, all together."""
    page: PageTime
    """With delayed acknowledgements."""
    plain_s: float
    """A page's time with an acknowledgement for every segment."""
    timer_s: float
    """Mean wait of a server for the last acknowledgement, if it waits for one."""
    most_users: int | None
    """With whom a page keeps the target, 0 if with nobody; None without target."""

    @property
    def limited_by(self) -> str:
        """The largest part of a page's time, as a sentence."""
        return reason(self.page, timer=False)

    @property
    def full_s(self) -> float:
        """What the last packet in the full queue waits."""
        return 8.0 * self.segment_bytes * self.queue_packets / self.full_bps


def size_web(
    web: Web, rate_bps: float, phy: str | None = None, packet_bytes: int = PACKET_BYTES
) -> WebSizing:
    """Size window and queue. Raises ParameterError, ConvergenceError.

    rate_bps: of all stations. phy: as for `airqueue.sizing.cell.cell`; without aggregation.
    packet_bytes: IP packets of full segments.

    Window: a connection with W segments of L bits carries W L in a round trip and d segments' time on
    the air, so it uses the cell's C alone if W >= d + C RTT/L. With less the path would be slower
    than the cell, which `page_time` does not model.

    >>> sized = size_web(Web(20, 1e6, rtt_s=0.02), 54e6)
    >>> sized.window_segments, sized.queue_packets
    (45, 900)
    """
    users = int(number("users", web.users, at_least=1, at_most=MAX_USERS, whole=True))
    if web.target_s is not None:
        number("target_s", web.target_s, above=0, at_most=1e6)
    air = cell([rate_bps], phy, packet_bytes)
    if air.phy.max_mpdus > 1:
        raise ParameterError(
            "phy",
            f"{air.phy.name} sends aggregates, and the HTTP paper's model has one frame per access: "
            "its page times would be far too long; name a layer of 802.11b, g or a, or simulate "
            'source = "web" with airqueue simulate',
        )
    segment = int(air.packet_bytes) - TCP_IP_BYTES
    timing = timing_for(
        air.phy,
        air.rates_bps[0],
        segment_bytes=segment,
        access="rts-cts" if web.rts else "basic",
    )

    def pages(people: object, d: int) -> PageTime:
        return page_time(
            np.asarray(people),
            web.page_bytes,
            web.think_s,
            d,
            timing,
            rtt_s=web.rtt_s,
            round_trips=web.round_trips,
        )

    page = pages(users, ACK_EVERY)
    alone, full = (
        float(collision(n, ACK_EVERY, timing, collision_cost="corrected").aggregate_bps)
        for n in (1, users)
    )
    path = math.ceil(alone * web.rtt_s / (8.0 * segment))
    window = max(LEAST_WINDOW, ACK_EVERY + path)
    most = None
    if web.target_s is not None:
        late = pages(np.arange(1, MAX_USERS + 1), ACK_EVERY).mean_s > web.target_s
        most = int(np.argmax(late)) if late.any() else MAX_USERS
    return WebSizing(
        web=web,
        air=air,
        segment_bytes=segment,
        window_segments=window,
        queue_packets=int(buffer_regime(window, 1, users).lossless_buffer_packets),
        alone_bps=alone,
        full_bps=full,
        page=page,
        plain_s=float(pages(users, 1).mean_s),
        timer_s=float(timer_wait_s(ACK_EVERY, web.ack_timer_s)),
        most_users=most,
    )
