"""Checks whether a queue's delay and jitter leave room for calls and games.

The mouth-to-ear delay of a call has these parts: coding, ``(N + 1)`` frames and the look-ahead for
N frames a packet (G.114, annex A); the network; the de-jitter buffer. ITU-T G.114: up to 150 ms is
good, to 400 ms acceptable if one knows of the delay, above not acceptable. The MESH paper (section
6.2) asks for less than 150 ms and less than 30 ms of jitter. For a first-person shooter the APQ
paper (section V) asks for a round trip of less than 100 ms; M. Claypool and K. Claypool,
*Latency and
Player Actions in Online Games* (CACM 2006), add 500 ms for games seen over the avatar's shoulder
and
1 s for those seen from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airqueue import _native
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, number, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.voice import CODECS, DEFAULT_CODEC, codec_of, mos, r_factor
from airqueue.qoe import CALL_GOOD_S, CALL_LIMIT_S, GAME_ROUND_TRIP_S

G114_CLASSES = ("good", "acceptable", "unacceptable")
VOICE_DELAY_S, VOICE_JITTER_S = 0.150, 0.030
"""Delay and jitter must be below these limits (MESH, section 6.2)."""
GAME_LIMITS_S = {"first-person": GAME_ROUND_TRIP_S, "third-person": 0.500, "omnipresent": 1.000}
"""Round-trip times above which play suffers."""


def g114_class(one_way_s: Numbers) -> np.ndarray:
    """Return the class of G.114, one of `G114_CLASSES`, of a one-way delay; strings, same shape.

    Raises ParameterError.

    >>> str(g114_class(0.15)), str(g114_class(0.264))
    ('good', 'acceptable')
    """
    delay = numbers("one_way_s", one_way_s, at_least=0)
    index = (delay > CALL_GOOD_S).astype(int) + (delay > CALL_LIMIT_S)
    return np.asarray(np.array(G114_CLASSES)[index])


def meets_voice_limits(one_way_s: Numbers, jitter_s: Numbers) -> np.ndarray:
    """Return whether delay and jitter are below the MESH paper's limits; booleans.

    one_way_s: from mouth to ear. Raises ParameterError.

    >>> bool(meets_voice_limits(0.065, 0.006)), bool(meets_voice_limits(0.149, 0.030))
    (True, False)
    """
    delay, jitter = broadcast(
        one_way_s=numbers("one_way_s", one_way_s, at_least=0),
        jitter_s=numbers("jitter_s", jitter_s, at_least=0),
    )
    return np.asarray((delay < VOICE_DELAY_S) & (jitter < VOICE_JITTER_S))


def codec_delay_s(
    codec: str = DEFAULT_CODEC, frames_per_packet: Numbers | None = None
) -> FloatArray:
    """Return ``(N + 1) frame + look-ahead`` of a codec in `airqueue.models.voice.CODECS`, s.

    frames_per_packet: N, whole; None for the usual number. The first frame's packet leaves when N
    frames are recorded; coding takes up to one frame. G.729 with N = 1: 25 ms. Raises
    ParameterError.

    >>> float(codec_delay_s("g729", 1))
    0.025
    """
    kind = codec_of(codec)
    n = kind.frames_per_packet if frames_per_packet is None else frames_per_packet
    count = numbers("frames_per_packet", n, at_least=1, whole=True)
    return finished("codec delay", _native.voice_coding_delay(codec, count))


def mouth_to_ear_s(
    network_s: Numbers,
    codec: str = DEFAULT_CODEC,
    frames_per_packet: Numbers | None = None,
    dejitter_s: Numbers = 0.0,
) -> FloatArray:
    """Return network delay + coding + de-jitter buffer, one way, s.

    network_s: of the packets played, without the de-jitter buffer; if the buffer is sized from the
    least delay (`playout_delay_s` less that), the least delay belongs here. Raises ParameterError.

    >>> float(mouth_to_ear_s(0.239, "g729", 1).round(3))
    0.264
    """
    network, count, held = broadcast(
        network_s=numbers("network_s", network_s, at_least=0),
        frames_per_packet=np.asarray(codec_delay_s(codec, frames_per_packet)),
        dejitter_s=numbers("dejitter_s", dejitter_s, at_least=0),
    )
    with np.errstate(over="ignore"):
        return finished("mouth_to_ear_s", network + count + held)


def network_budget_s(
    allowed_s: Numbers,
    codec: str = DEFAULT_CODEC,
    frames_per_packet: Numbers | None = None,
    dejitter_s: Numbers = 0.0,
    rest_s: Numbers = 0.0,
) -> FloatArray:
    """Return the queueing delay that a mouth-to-ear delay allows: `mouth_to_ear_s` inverted.

    allowed_s: mouth to ear, from G.114 or `airqueue.models.voice.largest_delay_s`. rest_s: the path
    without the queue. Raises ParameterError if no delay is left.

    >>> float(network_budget_s(0.150, "g729", 1, 0.03, 0.02).round(3))
    0.075
    """
    allowed, fixed = broadcast(
        allowed_s=numbers("allowed_s", allowed_s, at_least=0),
        rest_s=np.asarray(mouth_to_ear_s(rest_s, codec, frames_per_packet, dejitter_s)),
    )
    left = allowed - fixed
    if np.any(left < 0):
        raise ParameterError(
            "allowed_s",
            f"coding, de-jitter buffer and the rest of the path take {float(np.max(fixed)):g} s, "
            f"more than the {float(np.min(allowed)):g} s allowed; it must be at least that",
        )
    return finished("budget", left)


def interarrival_jitter_s(sent_s: Sequence[float], received_s: Sequence[float]) -> FloatArray:
    """Return the jitter estimate of RFC 3550 (6.4.1) after every packet, in order of arrival; (n,).

    ``D = (R_j - R_i) - (S_j - S_i)`` of neighbours, ``J += (|D| - J)/16``, first 0. The two clocks
    may differ by any offset. The estimate averages ``|D|`` with a time constant of 16 packets:
    for delays
    that alternate by d it tends to d. Raises ParameterError.

    >>> sent = [0, 0.020, 0.040, 0.060, 0.080]
    >>> (interarrival_jitter_s(sent, [0.050, 0.072, 0.088, 0.120, 0.131]) * 1e3).round(3).tolist()
    [0.0, 0.125, 0.367, 1.094, 1.588]
    """
    sent, received = numbers("sent_s", sent_s), numbers("received_s", received_s)
    if sent.ndim != 1 or sent.shape != received.shape or not sent.size:
        raise ParameterError(
            "received_s",
            f"there are {received.size} receive times for {sent.size} send times; give two lists "
            "of the same length, at least one packet",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        change = np.asarray(finished("D", np.abs(np.diff(received) - np.diff(sent))))
    return finished(
        "J",
        _native.moving_average(np.concatenate(([0.0], change)), 1.0 / 16.0, 0.0),
    )


def playout_delay_s(delays_s: Sequence[float] | FloatArray, late: float = 0.0) -> float:
    """Return the least playout delay at which at most a share ``late`` of the packets is late.

    delays_s: one-way network delays of packets, any offset; the result has the same offset. Late
    packets count as lost (`airqueue.models.voice.loss_impairment`). The result is the delay that
    ``n - floor(late n)`` packets do not exceed. Raises ParameterError.

    >>> playout_delay_s([0.05, 0.06, 0.052, 0.09], late=0.25)
    0.06
    """
    delays = np.sort(np.ravel(numbers("delays_s", delays_s)))
    share = number("late", late, at_least=0, below=1)
    if not delays.size:
        raise ParameterError("delays_s", "there is no delay; give that of at least one packet")
    # A share such as 0.07 of 100 must give 7 despite rounding.
    dropped = int(np.floor(share * delays.size * (1.0 + 1e-12)))
    return float(delays[delays.size - 1 - min(dropped, delays.size - 1)])


@dataclass(frozen=True, slots=True)
class GameDelay:
    """Round-trip time through a queue, and its effect on a game."""

    round_trip_s: FloatArray
    playable: np.ndarray
    """Whether it is below the game's limit; booleans."""
    queue_budget_s: FloatArray
    """Queueing delay that the limit leaves; 0 if the path alone reaches it."""


def game_delay(
    queueing_s: Numbers, base_rtt_s: Numbers = 0.0, game: str = "first-person"
) -> GameDelay:
    """Judge a queue (one direction) on a path of a round-trip time by a key of `GAME_LIMITS_S`.

    Raises ParameterError.

    >>> bool(game_delay(0.584).playable), float(game_delay(0.584, 0.04).queue_budget_s.round(3))
    (False, 0.06)
    """
    limit = GAME_LIMITS_S[choice("game", game, tuple(GAME_LIMITS_S))]
    queueing, base = broadcast(
        queueing_s=numbers("queueing_s", queueing_s, at_least=0),
        base_rtt_s=numbers("base_rtt_s", base_rtt_s, at_least=0),
    )
    with np.errstate(over="ignore"):
        trip = finished("round trip", queueing + base)
    return GameDelay(trip, np.asarray(trip < limit), np.asarray(np.maximum(0.0, limit - base))[()])


def _evaluate(
    *,
    queueing_s: float,
    rest_s: float,
    jitter_s: float,
    loss: float,
    codec: str,
    frames_per_packet: int | None,
    dejitter_s: float,
    allowed_s: float,
    base_rtt_s: float | None,
    game: str,
) -> dict[str, float | str | bool | None]:
    network, rest = broadcast(
        queueing_s=numbers("queueing_s", queueing_s, at_least=0),
        rest_s=numbers("rest_s", rest_s, at_least=0),
    )
    total = mouth_to_ear_s(network + rest, codec, frames_per_packet, dejitter_s)
    fixed = float(mouth_to_ear_s(rest, codec, frames_per_packet, dejitter_s))
    allowed = number("allowed_s", allowed_s, at_least=0)
    r = r_factor(total, loss, codec)
    play = game_delay(queueing_s, 2.0 * rest if base_rtt_s is None else base_rtt_s, game)
    return {
        "mouth_to_ear_s": float(total),
        "g114": str(g114_class(total)),
        "meets_voice_limits": bool(meets_voice_limits(total, jitter_s)),
        "r": float(r),
        "mos": float(mos(r)),
        "queue_budget_s": allowed - fixed if fixed <= allowed else None,
        "game_round_trip_s": float(play.round_trip_s),
        "game_playable": bool(play.playable),
        "game_queue_budget_s": float(play.queue_budget_s),
    }


MODEL = Model(
    name="delay-budget",
    summary="Delay that a queue leaves to calls (G.114, G.107) and games, and their quality.",
    parameters=(
        Parameter("queueing_s", "wait in the queue, one way", kind=Kind.DURATION),
        Parameter("rest_s", "rest of the path, one way", 0.02, Kind.DURATION),
        Parameter("jitter_s", "jitter (RFC 3550)", 0.0, Kind.DURATION),
        Parameter("loss", "share of voice packets lost or late", 0.0),
        Parameter("codec", "codec", DEFAULT_CODEC, Kind.CHOICE, tuple(CODECS)),
        Parameter("frames_per_packet", "N; not given: the codec's usual number", None, Kind.WHOLE),
        Parameter("dejitter_s", "de-jitter buffer", 0.03, Kind.DURATION),
        Parameter("allowed_s", "mouth-to-ear delay wanted", CALL_GOOD_S, Kind.DURATION),
        Parameter(
            "base_rtt_s", "a game's round trip; not given: twice rest_s", None, Kind.DURATION
        ),
        Parameter(
            "game", "perspective of the game", "first-person", Kind.CHOICE, tuple(GAME_LIMITS_S)
        ),
    ),
    outputs=(
        Output("mouth_to_ear_s", "queue + rest + coding + de-jitter buffer"),
        Output("g114", "class of G.114"),
        Output("meets_voice_limits", "below 150 ms and 30 ms of jitter (MESH)"),
        Output("r", "R of G.107"),
        Output("mos", "mean opinion score"),
        Output("queue_budget_s", "part of allowed_s left to the queue; none if nothing is left"),
        Output("game_round_trip_s", "a game's round trip through the full queue"),
        Output("game_playable", "below the game's limit"),
        Output("game_queue_budget_s", "delay that the game's limit leaves to the queue"),
    ),
    evaluate=_evaluate,
    example="queueing_s=584ms",
    valid="One-way delays, except for games; the queue is taken as full all the time.",
)
