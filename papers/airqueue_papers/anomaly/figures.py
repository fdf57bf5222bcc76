"""Figures from runs of the airtime paper's test bed: throughput, airtime, frames, round trips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from airqueue.figures import Figures
from airqueue.models.airtime import frame_s, mac_overhead_bytes
from airqueue.models.ampdu import aggregate_bytes, aggregate_exchange
from airqueue.models.phy_names import phy
from airqueue.simulate.reported import known
from airqueue.stats import jain_index
from airqueue_papers.anomaly.scenarios import PACKET_BYTES, PINGED, Case
from airqueue_papers.finding import Value
from airqueue_papers.item import Outcomes
from airqueue_papers.measured import interval

LAYERS: Final = (phy("n-2ss-sgi"), phy("n-sgi"))
"""Physical layers of the fast stations and of the slow one, which has one spatial stream."""
FAST_BPS: Final = LAYERS[0].rates_bps[-1]
SLOW_BPS: Final = LAYERS[1].rates_bps[0]
MPDU_BYTES: Final = PACKET_BYTES + mac_overhead_bytes(LAYERS[0])


def of_runs(outcomes: Outcomes, case: Case, figure: Callable[[Figures], float]) -> Value:
    """Return a figure of each replication, mean and interval. Raises ValueError without any."""
    value = Value.of(figure(run) for _, run in sorted(outcomes[case.name].runs.items()))
    if value is None:
        raise ValueError(f"{case.name}: no replication has the figure")
    return value


def each(
    outcomes: Outcomes, case: Case, figure: Callable[[Figures, str], float]
) -> tuple[Value, ...]:
    """Return a figure of each station, the slow one last."""

    def of(name: str) -> Value:
        return of_runs(outcomes, case, lambda run: figure(run, name))

    return tuple(of(name) for name in case.stations)


def mbps(run: Figures, flow: str) -> float:
    """Return what a station receives, in Mb/s: TCP's data, or the IP packets of UDP."""
    if flow in run["connections"]:
        return known(run["connections"][flow]["goodput_bps"]) / 1e6
    return known(run["flows"][flow]["throughput_bps"]) / 1e6


def total_mbps(outcomes: Outcomes, case: Case) -> Value:
    """Return what all stations receive, in Mb/s."""
    return of_runs(outcomes, case, lambda run: sum(mbps(run, name) for name in case.stations))


def airtime(run: Figures, station: str) -> float:
    """Return a station's share of the time: of data to it, and of data frames from it."""
    to = known(run["flows"][station]["airtime_ratio"])
    return to + known(run["stations"][station]["data_airtime_ratio"])


def _shares(run: Figures, case: Case) -> dict[str, float]:
    """Return the airtimes of the stations as shares of all, in per cent."""
    used = {name: airtime(run, name) for name in case.stations}
    return {name: 100 * time / sum(used.values()) for name, time in used.items()}


def shares(outcomes: Outcomes, case: Case) -> tuple[Value, ...]:
    """Return the share of each station in the airtime of all, in per cent, the slow one last."""
    return each(outcomes, case, lambda run, name: _shares(run, case)[name])


def fairness(outcomes: Outcomes, case: Case) -> Value:
    """Return Jain's index of the stations' airtimes."""
    return of_runs(outcomes, case, lambda run: jain_index([*_shares(run, case).values()]))


def frame_bytes(run: Figures, station: str) -> float:
    """Return the mean size of a frame to a station, from its airtime: to a few per cent.

    A packet's airtime is that of its bits, and its share of the preamble and of the block ack.
    """
    layer, rate = (LAYERS[1], SLOW_BPS) if station == "slow" else (LAYERS[0], FAST_BPS)
    flow = run["flows"][station]
    packet_s = known(flow["airtime_ratio"]) * run["duration_s"] / flow["delivered_packets"]
    subframe = float(aggregate_bytes(MPDU_BYTES, 2)) / 2
    preamble_s = float(frame_s(layer, MPDU_BYTES, rate)) - 8 * MPDU_BYTES / rate
    response_s = float(aggregate_exchange(layer, MPDU_BYTES, rate, 1).response_s)
    packets = (preamble_s + response_s) / (packet_s - 8 * subframe / rate)
    return packets * subframe


def pings_ms(outcomes: Outcomes, case: Case) -> dict[str, Value]:
    """Return the median round trip of the pings to each station that has some, in ms."""

    def of(name: str) -> Value:
        ping = f"ping {name}"
        return of_runs(
            outcomes, case, lambda run: 1e3 * known(run["pings"][ping]["round_trip_p50_s"])
        )

    return {name: of(name) for name in PINGED}


def listed(values: tuple[Value, ...], digits: int = 1) -> str:
    """Return the values in words, their intervals left out."""
    return ", ".join(f"{value.mean:.{digits}f}" for value in values)


def told(value: Value, digits: int = 2) -> str:
    """Return a value with its interval."""
    return interval(value, digits=digits)
