"""Records of imagined paths: the delays of two legs, without load and under it."""

from __future__ import annotations

import dataclasses

import numpy as np

from airqueue.diagnose.records import (
    GATEWAY,
    NANOSECONDS,
    SERVER,
    Direction,
    Leg,
    Load,
    OneWay,
    Records,
)

QUIET = ((0.0, 3.0), (20.0, 22.0))
LOADED = (6.0, 11.0)
IDLE_S = {GATEWAY: 0.002, SERVER: 0.018}
INTERVAL_S = 0.05


def imagined(
    rises_s: dict[str, float],
    *,
    direction: Direction = "down",
    site: str = SERVER,
    jitter_s: float = 0.001,
    lost: float = 0.0,
    carried_bps: float = 20e6,
    along_s: float | None = None,
    quiet_lost: float = 0.0,
    seed: int = 1,
) -> Records:
    """Return records in which the load adds ``rises_s`` to each leg; a leg left out does not answer.

    ``along_s``: of the rise to the server, what is in the direction of the load, if measured.
    ``lost``: share of the probes under the load, ``quiet_lost``: of the server's without it. Jitter:
    exponential, and a slow swing of the queue as TCP's sawtooth has it, common to all legs.
    """
    draw = np.random.default_rng(seed)
    sent = np.arange(0.0, 22.0, INTERVAL_S)
    loaded = (sent >= LOADED[0] - 2) & (sent < LOADED[1])
    swing = 0.8 + 0.2 * (1 + np.sin(2 * np.pi * sent / 2.3)) / 2
    legs = []
    for name, idle_s in IDLE_S.items():
        trips = idle_s + draw.exponential(jitter_s, len(sent))
        if name in rises_s:
            trips += loaded * swing * rises_s[name]
            trips[loaded & (draw.random(len(sent)) < lost)] = np.nan
            if name == SERVER:
                trips[~loaded & (draw.random(len(sent)) < quiet_lost)] = np.nan
        else:
            trips[:] = np.nan
        sent_s, trips_s = np.round(sent, NANOSECONDS), np.round(trips, NANOSECONDS)
        legs.append(Leg(name, f"{name}.example", "icmp", sent_s, trips_s, "192.0.2.1"))
    load = Load(site, direction, "flood", *LOADED, carried_bps=carried_bps)
    if along_s is not None:
        load = dataclasses.replace(load, kind="tcp", one_way=one_way(along_s, lost, draw))
    return Records(tuple(legs), (load,), QUIET)


def one_way(rise_s: float, lost: float, draw: np.random.Generator) -> OneWay:
    """Return packets beside the load that wait so much longer, from a second before it on."""
    opened_s = LOADED[0] - 3
    sent = np.arange(opened_s - 1, LOADED[1], INTERVAL_S)
    swing = 0.8 + 0.2 * (1 + np.sin(2 * np.pi * sent / 2.3)) / 2
    delay = draw.exponential(0.0005, len(sent)) + (sent >= LOADED[0] - 2) * swing * rise_s
    delay[(sent >= opened_s) & (draw.random(len(sent)) < lost)] = np.nan
    return OneWay(opened_s, np.round(sent, NANOSECONDS), np.round(delay, NANOSECONDS))


def at_once(records: Records, down_bps: float = 20e6, up_bps: float = 2e6) -> Records:
    """Return the records with a load of both directions at once beside their load."""
    pair = (
        Load(SERVER, "down", "tcp", *LOADED, carried_bps=down_bps),
        Load(SERVER, "up", "tcp", *LOADED, carried_bps=up_bps),
    )
    return dataclasses.replace(records, together=pair)
