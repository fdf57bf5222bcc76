"""The HTTP paper's models against ns-2, which simulates TCP and medium access packet by packet."""

from __future__ import annotations

from airqueue.models.file_sizes import mean_segments
from airqueue.models.http_constants import HttpConstants
from airqueue.models.http_timing import timing_from
from airqueue.models.tcp_capacity import collision, single_station_bps
from airqueue.models.tcp_window import tcp_window
from airqueue.models.web_session import session_delay
from validation.claim import Claim, against_simulator

# Differences of ns-2 2.35 from Table 1: RTS frames of 20 bytes, and a first backoff of 0..30 slots,
# which is one value less.
_NS2 = timing_from(HttpConstants(rts_bits=160, cw_min=30, cw_max=31 * 32 - 1))
_SEGMENT_BITS = 8000


def claims() -> list[Claim]:
    """Return the claims about long downloads and about sessions."""
    return [_one_station(), _several(), _sessions()]


def _one_station() -> Claim:
    points = [
        against_simulator(
            f"{d}",
            d,
            float(single_station_bps(d, _NS2, collision_cost="corrected")) / 1e6,
            f"tcp-nc1-d{d}-w1000",
        )
        for d in (1, 2, 5)
    ]
    return Claim(
        name="tcp-delayed-ack",
        title="One TCP download, delayed ACKs",
        statement="`tcp-capacity`, Eqs (7) and (8) with the collision counted once "
        "(`collision_cost=corrected`), for one station with a large window and RTS/CTS.",
        quantity="TCP goodput, Mb/s",
        reference="ns-2 2.35",
        tolerance=0.03,
        axis="segments per TCP ACK",
        points=points,
    )


def _several() -> Claim:
    alone = float(tcp_window(1, _NS2, collision_cost="corrected").throughput_bps) / 1e6
    points = [against_simulator("1, W* = 1", 1, alone, "tcp-nc1-d1-w1")]
    points += [
        against_simulator(f"{n}, W* = 1", n, _all_stations(n, 1, "corrected"), f"tcp-nc{n}-d1-w1")
        for n in (2, 5, 10, 20, 40)
    ]
    points += [
        against_simulator(
            f"{n}, W* = 1, printed cost",
            n,
            _all_stations(n, 1, "printed"),
            f"tcp-nc{n}-d1-w1",
            inside=False,
        )
        for n in (10, 20, 40)
    ]
    several_per_ack = _all_stations(10, 3, "corrected")
    points.append(
        against_simulator("10, W* = d = 3", 10, several_per_ack, "tcp-nc10-d3-w3", inside=False)
    )
    return Claim(
        name="tcp-small-windows",
        title="TCP downloads with small windows",
        statement="`tcp-window` at W* = 1 for one station, and `tcp-capacity`, Eq. (10) with the "
        "collision counted once, for several. The model holds while every segment is acknowledged; "
        "with delayed ACKs and W* = d it gives too much. With the printed cost of a collision the "
        "capacity falls with the number of stations, unlike in ns-2.",
        quantity="TCP goodput of all, Mb/s",
        reference="ns-2 2.35",
        tolerance=0.05,
        axis="stations",
        figure=False,
        points=points,
    )


def _all_stations(n: int, d: int, cost: str) -> float:
    """Return the goodput of n stations together in Mb/s, with the constants of ns-2."""
    return float(collision(n, d, _NS2, collision_cost=cost).aggregate_bps) / 1e6


def _sessions() -> Claim:
    points = []
    # ns-2 sends whole segments: exponential sizes padded to L bits have the mean L/(1 - e^(-L/E[X])),
    # which is half a segment more. The mean number is the models' own `file_sizes`.

    bits = float(mean_segments(240_000, _SEGMENT_BITS, "exponential")) * _SEGMENT_BITS
    delay = session_delay(11, 10, bits, timing=_NS2, collision_cost="corrected")
    for x, window in enumerate((1, 1000)):
        points.append(
            against_simulator(f"{window}", x, float(delay.mean_s), f"session-n11-w{window}")
        )
    return Claim(
        name="web-sessions",
        title="Web sessions of ten users",
        statement="`web-session`, Eq. (17) with the collision counted once, exponential sizes padded "
        "to whole segments. The model is for small windows; results of exponential sizes do not "
        "depend on the window.",
        quantity="mean session delay, s",
        reference="ns-2 2.35",
        tolerance=0.05,
        axis="window, segments",
        points=points,
        figure=False,
    )
