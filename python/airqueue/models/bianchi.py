"""Bianchi's fixed point and saturation throughput of DCF, with and without a retry limit.

G. Bianchi, *Performance analysis of the IEEE 802.11 distributed coordination function*, IEEE JSAC 18
(2000), Eqs. (7), (9), (13); the retry limit as in H. Wu, Y. Peng, K. Long, S. Cheng, J. Ma,
*Performance of reliable transport protocol over IEEE 802.11 wireless LAN*, INFOCOM 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from airqueue.models.backoff import (
    CW_MAX,
    CW_MIN,
    EXTRA_SLOTS,
    attempt_probability,
    drop_probability,
    retry_limit,
    windows,
)
from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, numbers
from airqueue.models.fixed_point import collision_probability
from airqueue.models.saturation import ACCESS, AccessTimings, saturation

_TAU = partial(attempt_probability, extra_slots=EXTRA_SLOTS["bianchi"])


@dataclass(frozen=True, slots=True)
class Contention:
    """Contention of n saturated stations; each field has the parameters' shape."""

    collision_probability: FloatArray
    """p, the probability that an attempt collides."""
    attempt_probability: FloatArray
    """τ, the probability that a station transmits in a slot."""
    drop_probability: FloatArray
    """p^(retries+1), the probability that a packet is given up; 0 without retry limit."""


def bianchi(
    n: Numbers,
    cw_min: Numbers = CW_MIN,
    cw_max: Numbers = CW_MAX,
    retries: Numbers | None = None,
) -> Contention:
    """Solve ``p = 1 - (1-τ)^(n-1)`` with the attempt probability of Bianchi's chain.

        τ = 2(1-2p) / [ (1-2p)(W+1) + p W (1-(2p)^m) ]        packets never given up
        τ = Σ_{k=0}^{K} p^k / Σ_{k=0}^{K} p^k (w_k+1)/2       given up after K retries

    Parameters
    ----------
    n : number or array
        Saturated stations, at least 1, may be fractional.
    cw_min, cw_max : number or array
        The standard's CWmin and CWmax, one less than W and 2^m W, the values of the smallest and the
        largest window (a largest window that is not such a multiple caps the last doubling).
    retries : number or array, optional
        K, retransmissions before a packet is given up; None as in Bianchi's paper: never. K may be
        below m, the windows then end early, or above. Both forms are evaluated as sums, which are
        regular at p = 1/2.

    Returns
    -------
    Contention
        Probabilities, of the parameters' shape.

    Raises
    ------
    ParameterError
        A parameter outside its range.

    Notes
    -----
    Valid for saturated stations that all hear each other and lose frames by collision alone. A
    backoff counts the slot of the transmission, as if the stations that freeze also took a step in
    it. Against a slot-by-slot simulation p is right to 6 % from a CWmin of 15 on (for two
    stations low by 3 % at 31 and 5 % at 15). Stations that do take that step, by EDCA's rule, allow a
    CWmin of 3, to a tenth; for those that freeze p is then far too high, by half for two of them.

    Examples
    --------
    >>> ten = bianchi(10, 31, 255)
    >>> float(ten.collision_probability.round(4)), float(ten.attempt_probability.round(5))
    (0.2989, 0.03869)
    """
    low, high = windows(cw_min, cw_max)
    stations, low, high, limit = broadcast(
        n=numbers("n", n, at_least=1), cw_min=low, cw_max=high, retries=retry_limit(retries)
    )
    p = collision_probability(_TAU, stations, (low, high, limit))
    return Contention(
        finished("p", p),
        finished("τ", _TAU(p, low, high, limit)),
        finished("drop probability", drop_probability(p, limit)),
    )


def _evaluate(
    n: float,
    cw_min: float,
    cw_max: float,
    retries: int | None,
    access: str,
    **exchange: Any,
) -> dict[str, Figure]:
    solved = bianchi(n, cw_min, cw_max, retries)
    frames = AccessTimings(**exchange)
    times = frames.slot_times(access)
    cell = saturation(n, solved.attempt_probability, times, frames.payload_bits)
    stuck = cell.packets_per_s == 0
    return {
        "collision_probability": float(solved.collision_probability),
        "attempt_probability": float(solved.attempt_probability),
        "drop_probability": float(solved.drop_probability),
        "transmission_probability": float(cell.transmission_probability),
        "success_probability": float(cell.success_probability),
        "success_s": float(np.asarray(times.success_s)),
        "collision_s": float(np.asarray(times.collision_s)),
        "throughput_share": float(cell.throughput_bps / frames.data_rate_bps),
        "throughput_bps": float(cell.throughput_bps),
        "mean_access_delay_s": None if stuck else float(cell.mean_access_delay_s()),
    }


_BIANCHI = AccessTimings()

MODEL = Model(
    name="bianchi",
    summary="Collision probability, throughput and delay of n saturated stations (Bianchi 2000).",
    parameters=(
        Parameter("n", "saturated stations, may be fractional"),
        Parameter("cw_min", "CWmin, the largest value of the first backoff: W - 1", CW_MIN),
        Parameter("cw_max", "CWmax, the largest value of any backoff: 2^m W - 1", CW_MAX),
        Parameter("retries", "K, retransmissions before giving up; none: never", None, Kind.WHOLE),
        Parameter("access", "basic or RTS/CTS", "basic", Kind.CHOICE, ACCESS),
        Parameter("payload_bits", "E[P], mean payload of a frame", _BIANCHI.payload_bits),
        Parameter(
            "collision_payload_bits",
            "E[P*], mean payload of a collision's longest frame; none: all frames equal",
            None,
        ),
        Parameter("mac_header_bits", "MAC header with FCS", _BIANCHI.mac_header_bits),
        Parameter(
            "phy_header_s",
            "preamble and PHY header, before every frame",
            _BIANCHI.phy_header_s,
            Kind.DURATION,
        ),
        Parameter("rts_bits", "RTS without PHY header", _BIANCHI.rts_bits),
        Parameter("cts_bits", "CTS without PHY header", _BIANCHI.cts_bits),
        Parameter("ack_bits", "ACK without PHY header", _BIANCHI.ack_bits),
        Parameter(
            "data_rate_bps", "rate of MAC header and payload", _BIANCHI.data_rate_bps, Kind.RATE
        ),
        Parameter(
            "control_rate_bps", "rate of RTS, CTS and ACK", _BIANCHI.control_rate_bps, Kind.RATE
        ),
        Parameter("slot_s", "σ, backoff slot", _BIANCHI.slot_s, Kind.DURATION),
        Parameter("sifs_s", "SIFS", _BIANCHI.sifs_s, Kind.DURATION),
        Parameter("difs_s", "DIFS", _BIANCHI.difs_s, Kind.DURATION),
        Parameter("propagation_s", "δ, propagation delay", _BIANCHI.propagation_s, Kind.DURATION),
    ),
    outputs=(
        Output("collision_probability", "p: an attempt collides"),
        Output("attempt_probability", "τ: a station transmits in a slot"),
        Output("drop_probability", "p^(K+1): a packet is given up"),
        Output("transmission_probability", "P_tr: a station transmits in a slot"),
        Output("success_probability", "P_s: a transmission succeeds"),
        Output("success_s", "T_s: a successful exchange"),
        Output("collision_s", "T_c: a collision"),
        Output("throughput_share", "S: share of the time that carries payload"),
        Output("throughput_bps", "S as payload of all stations"),
        Output(
            "mean_access_delay_s",
            "n L/S: time between two deliveries of a station; none if stuck",
        ),
    ),
    evaluate=_evaluate,
    example="n=1..50 access=rts-cts",
    valid=(
        "Saturated stations that all hear each other and lose frames by collision alone. From cw_min "
        "15 on p is within 6 % of a slot-by-slot simulation. With smaller windows p is far too high "
        "if counters freeze, and within a tenth down to 3 by EDCA's rule. Far above 50 stations "
        "give a retry limit, since real stations drop packets."
    ),
)
