"""The advice of `airqueue size web`: the numbers of `airqueue.sizing.web` in words and settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airqueue.models.packets import TCP_IP_BYTES
from airqueue.sizing.advice import (
    Advice,
    Alternative,
    Column,
    Figure,
    Settings,
    Table,
    not_simulated,
)
from airqueue.sizing.cell import ACK_EVERY
from airqueue.sizing.settings import linux
from airqueue.sizing.settings import web as lines
from airqueue.sizing.web import LEAST_WINDOW, MAX_USERS, WebSizing
from airqueue.sizing.web_trial import WebTrial, scenario
from airqueue.text import percent, plural, rate, seconds

FULL: Final = 0.95
"""Share of the time in which somebody downloads from which a cell counts as overloaded."""

_UNTRIED: Final = (
    "The model has no slow start, so that pages take longer than is said here: simulated, 1.1 times "
    "as long for 1 MB over a round trip of 20 ms, 1.6 to 1.8 times for 1 MB over 100 ms or 300 kB "
    "over 50 ms, 2.5 times for 30 kB over 1 s."
)
_CAUTIONS: Final = (
    "The model has one connection for each user, downloads alone, stations of the same rate that "
    "hear each other, and no loss on the air. Several connections of a user at once have a "
    "window each: count every one as a user, or the queue loses packets.",
    "Names to look up and TLS take more round trips, which --round-trips adds.",
    "A window holds for every connection over the route, whatever its server: one farther away than "
    "--rtt is then slower than the air would let it be.",
)


def web_advice(
    sized: WebSizing,
    *,
    device: str,
    phy_device: str,
    trial: WebTrial | None = None,
    untried: str | None = None,
) -> Advice:
    """Return the advice for what `airqueue.sizing.web.size_web` sized.

    trial: what simulations say; untried: why there is none, where one would be expected.
    """
    web = sized.web
    return Advice(
        what="web",
        inputs={
            "users": web.users,
            "page_bytes": web.page_bytes,
            "think_s": web.think_s,
            "rate_bps": sized.air.rates_bps[0],
            "phy": sized.air.phy.name,
            "rts": web.rts,
            "packet_bytes": sized.air.packet_bytes,
            "rtt_s": web.rtt_s,
            "round_trips": web.round_trips,
            "ack_timer_s": web.ack_timer_s,
            "target_s": web.target_s,
        },
        headline=_headline(sized, trial),
        figures=(*(() if trial is None else trial.figures()), *_figures(sized)),
        tables=(_parts(sized),),
        alternatives=(
            Alternative(
                "FQ-CoDel",
                "shares evenly among downloads whatever their windows, so that stations need no "
                "setting; mac80211 has it by itself: on such an access point leave both alone",
            ),
        ),
        cautions=tuple(_cautions(sized, trial, untried)),
        settings=_settings(sized, device, phy_device),
    )


def _headline(sized: WebSizing, trial: WebTrial | None) -> str:
    web = sized.web
    mean_s, how, most = float(sized.page.mean_s), "slow start left out", sized.most_users
    if trial is not None:
        mean_s, how, most = trial.page_s, "simulated", trial.most_users
    text = (
        f"Let connections have windows of {plural(sized.window_segments, 'segment')}, the access "
        f"point's queue {plural(sized.queue_packets, 'packet')}, and keep delayed acknowledgements: "
        f"a page then takes {seconds(mean_s)} on average, {how}, with {plural(web.users, 'user')}"
    )
    if web.target_s is None or most is None:
        return f"{text}."
    target = seconds(web.target_s)
    if most == 0:
        return f"{text}. No setting gives {target}: one user alone waits longer."
    if most == MAX_USERS:
        as_many = "as many as the model is for" if trial is None else "as many as are tried"
        return f"{text}; with {MAX_USERS} users, {as_many}, a page stays within {target}."
    return f"{text}; up to {plural(most, 'user')} a page stays within {target}."


def _figures(sized: WebSizing) -> tuple[Figure, ...]:
    web = sized.web
    target = (
        ()
        if web.target_s is None
        else (
            Figure(
                "most_users",
                "users within, by the model",
                sized.most_users,
                f"with one more a page takes longer than {seconds(web.target_s)} on average; the "
                f"model is for {MAX_USERS} at most",
            ),
        )
    )
    return (
        Figure(
            "page_s",
            "a page, by the model",
            float(sized.page.mean_s),
            f"an acknowledgement for {ACK_EVERY} segments (HTTP paper, Eq. 17)",
        ),
        Figure(
            "page_every_ack_s",
            "the same, an ACK for each",
            sized.plain_s,
            "the air carries twice as many acknowledgements",
        ),
        Figure(
            "ack_timer_wait_s",
            "wait for the ACK timer",
            sized.timer_s,
            "on average, by the paper, and not in the times above: only a server that waits for its "
            "last acknowledgement before it goes on waits for the timer",
        ),
        Figure("alone_bps", "C, one download alone", sized.alone_bps, "TCP data, delayed ACKs"),
        Figure(
            "window_segments",
            "window of a connection",
            sized.window_segments,
            f"d + C RTT/L, for the air to be the limit and not the window; {LEAST_WINDOW} at least, "
            "for a loss to be found by duplicate acknowledgements",
        ),
        Figure(
            "window_bytes",
            "the same in bytes",
            sized.window_segments * sized.segment_bytes,
            f"segments of {sized.segment_bytes} bytes",
        ),
        Figure(
            "queue_packets",
            "queue of the access point",
            sized.queue_packets,
            "the sum of all windows: data cannot overflow the queue",
        ),
        Figure(
            "delay_full_s",
            "delay when full",
            sized.full_s,
            "what a call waits behind all windows at once, at the "
            f"{rate(sized.full_bps)} of a cell in which all users download",
        ),
        Figure(
            "busy_fraction",
            "somebody downloads",
            float(sized.page.busy),
            f"{float(sized.page.active_users):.2g} users at once on average",
        ),
        *target,
        Figure("limited_by", "what limits", "air" if _by_air(sized) else "path", sized.limited_by),
    )


def _by_air(sized: WebSizing) -> bool:
    return 2.0 * float(sized.page.distance_s) <= float(sized.page.mean_s)


def _parts(sized: WebSizing) -> Table:
    page = sized.page
    parts = (
        ("round trips to the server", page.distance_s),
        ("handshake on the air", page.protocol_s),
        ("the transfer, as if alone", page.transfer_s),
        ("added by the others", page.sharing_s),
    )
    return Table(
        "parts",
        "Time of a page, by the model",
        (Column("part", "part"), Column("mean_s", "on average")),
        tuple((name, float(value)) for name, value in parts),
    )


def _cautions(sized: WebSizing, trial: WebTrial | None, untried: str | None) -> Iterator[str]:
    busy = float(sized.page.busy)
    if busy >= FULL:
        yield (
            f"Somebody downloads {percent(busy)} of the time: people ask for nearly as much as the "
            "cell carries, or more. Page times then follow small changes of the load; no window and "
            "no queue shortens them."
        )
    yield from not_simulated(untried)
    yield (
        _UNTRIED
        if trial is None
        else "The simulation includes slow start and losses; the model, whose figures do not say "
        "simulated, does not. --for scenario prints the network for airqueue simulate, whose figure "
        "of all pages is medium.session_mean_s."
    )
    yield from _CAUTIONS


def _settings(sized: WebSizing, device: str, phy_device: str) -> tuple[Settings, ...]:
    packets = sized.queue_packets
    frame_bytes = sized.segment_bytes + TCP_IP_BYTES + linux.ETHERNET_BYTES
    return (
        *linux.queue(phy_device, device, packets, packets * frame_bytes, "access point"),
        lines.windows(device, sized.window_segments * sized.segment_bytes),
        scenario(sized),
    )
