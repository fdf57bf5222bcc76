"""TCP windows against the access point's buffer: three regimes, HTTP paper, section 4.2.

The paper describes the regimes in words: W* much less than B, near B, at least B. Which
losses are possible is exact and sets the borders of the regimes. The duration of transfers in the
two regimes with loss needs simulation: no number is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, numbers
from airqueue.models.engset import Engset

NO_LOSS: Final = "no loss"
MICE_LOSE: Final = "several overflow"
ALL_LOSE: Final = "one overflows"

MEANING: Final = {
    NO_LOSS: "The buffer holds every window at once: nothing is ever dropped. Exact; the session "
    "model applies, the better the smaller the windows (they decide how evenly users share).",
    MICE_LOSE: "No connection overflows the buffer alone, several together can. Qualitative: the "
    "nearer the window to the buffer, the more a long transfer fills it and the more short ones "
    "lose; near it is the paper's worst case. Far below it losses are rare.",
    ALL_LOSE: "One connection alone can overflow the buffer. Qualitative: long transfers lose too "
    "and hold back, which is fairer to short ones; a still larger window changes nothing, since "
    "loss limits it.",
}
"""What each regime implies."""


@dataclass(frozen=True, slots=True)
class BufferRegime:
    """The regime of a configuration; each field has the parameters' shape."""

    regime: NDArray[np.str_]
    """`NO_LOSS`, `MICE_LOSE` or `ALL_LOSE`; `MEANING` says what it implies."""
    filled_by_one: FloatArray
    """W*/B: the part of the buffer that one connection can fill (above 1: more than all)."""
    safe_connections: FloatArray
    """floor(B/W*): number of connections that can be active without any loss."""
    lossless_buffer_packets: FloatArray
    """n_c W*, the smallest buffer that never drops."""


def buffer_regime(window: Numbers, buffer_packets: Numbers, connections: Numbers) -> BufferRegime:
    """Return which overflows are possible at the access point: none, by several flows, or by one.

    window: W*, segments that each connection may have outstanding. buffer_packets: B, packets that
    the access point holds, the one on the air included. connections: most that are active at once.

    Outstanding segments are in the buffer or were acknowledged by the station, so the buffer
    never holds more than Σ W*. Hence no loss if and only if ``connections · W* <= B`` (every
    segment can be in the buffer at once: state (W*, 0) of Eq. (18)); that is exact. The rest is
    qualitative. Downloads only, one buffer for all, no loss on the air.

    Raises ParameterError.

    >>> buffer_regime([1, 5, 30, 35], 30, 20).regime.tolist()
    ['no loss', 'several overflow', 'several overflow', 'one overflows']
    """
    size = numbers("window", window, at_least=1, at_most=1e9, whole=True)
    room = numbers("buffer_packets", buffer_packets, at_least=1, at_most=1e9, whole=True)
    active = numbers("connections", connections, at_least=1, at_most=1e9, whole=True)
    size, room, active = broadcast(window=size, buffer_packets=room, connections=active)
    need = size * active
    regime = np.where(need <= room, NO_LOSS, np.where(size <= room, MICE_LOSE, ALL_LOSE))
    return BufferRegime(
        regime,
        finished("W*/B", size / room),
        finished("B/W*", np.floor(room / size)),
        finished("n_c W*", need),
    )


def overflow_possible(queue: Engset, window: Numbers, buffer_packets: Numbers) -> FloatArray:
    """Return the fraction of time in which enough users are active for a loss to be possible.

    P(k W* > B) over the π_k of `engset.engset`: an upper bound of the time in which packets can be
    lost, under that model (which knows no losses). Raises ParameterError.

    >>> from airqueue.models.engset import engset
    >>> queue = engset(21, 10, 240_000, 2.25e6)
    >>> float(overflow_possible(queue, 5, 30).round(6))
    6e-06
    """
    size = numbers("window", window, at_least=1, at_most=1e9, whole=True)
    room = numbers("buffer_packets", buffer_packets, at_least=1, at_most=1e9, whole=True)
    pi = queue.probabilities
    broadcast(queue=pi[0], window=size, buffer_packets=room)
    dimensions = max(pi.ndim - 1, size.ndim, room.ndim)
    pi = pi.reshape(len(pi), *(1,) * (dimensions - pi.ndim + 1), *pi.shape[1:])
    users = np.arange(len(pi)).reshape(-1, *(1,) * dimensions)
    return finished("P", np.where(users * size > room, pi, 0.0).sum(axis=0))


def _evaluate(window: int, buffer_packets: int, connections: int) -> dict[str, Figure]:
    found = buffer_regime(window, buffer_packets, connections)
    return {
        "regime": str(found.regime),
        "filled_by_one": float(found.filled_by_one),
        "safe_connections": float(found.safe_connections),
        "lossless_buffer_packets": float(found.lossless_buffer_packets),
        "meaning": MEANING[str(found.regime)],
    }


MODEL = Model(
    name="buffer-regime",
    summary="Which losses TCP windows can cause in the access point's buffer "
    "(HTTP paper, section 4.2; qualitative where there is loss).",
    parameters=(
        Parameter("window", "W*: segments outstanding per connection", kind=Kind.WHOLE),
        Parameter("buffer_packets", "B: packets the access point holds", kind=Kind.WHOLE),
        Parameter("connections", "most that are active at once", 1, Kind.WHOLE),
    ),
    outputs=(
        Output("regime", "no loss, several overflow, or one overflows"),
        Output("filled_by_one", "W*/B: part that one connection can fill"),
        Output("safe_connections", "active connections without any loss"),
        Output("lossless_buffer_packets", "the smallest buffer that never drops"),
        Output("meaning", "consequences of the regime"),
    ),
    evaluate=_evaluate,
    example="window=1..40 buffer_packets=30 connections=20",
    valid="Exact about which losses are possible; qualitative about their effect. Downloads only, "
    "one buffer for all.",
)
