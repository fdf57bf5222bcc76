"""Voice quality from delay and loss: ITU-T G.107 (E-model) and its inverse.

    R = 93.2062 - Idd(Ta) - Ie,eff + A

    Idd     = 25 [(1 + X⁶)^(1/6) - 3 (1 + (X/3)⁶)^(1/6) + 2],  X = log₂(Ta/100 ms);  0 up to 100 ms
    Ie,eff  = Ie + (95 - Ie) Ppl/(Ppl/BurstR + Bpl)             Ppl in percent
    MOS     = 1 + 0.035 R + 7·10⁻⁶ R (R - 60)(100 - R)          1 below R = 0, 4.5 above 100

All else is at the defaults of G.107, at which R is 93.2062 (G.107 prints 93.2) and the delay
sensitivity is sT = 1, mT = 100 ms, and the echo is cancelled: Idd is the only term of the delay. Ta,
from mouth to ear, may be at most 500 ms in G.107; beyond, no listening test supports the formula.

Cole and Rosenbluth, *Voice over IP performance monitoring* (CCR 2001), approximate R by straight
lines in the delay and a logarithm in the loss.

The equations are the engine's, which uses them to rate simulated calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from airqueue import _native
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import (
    FORMS,
    FloatArray,
    Numbers,
    broadcast,
    choice,
    finished,
    numbers,
    probability,
)
from airqueue.models.errors import ParameterError
from airqueue.models.roots import increasing_root

LONGEST_DELAY_S = 0.5
"""Largest Ta that G.107 permits."""
LARGEST_DELAY_IMPAIRMENT = 50.0
"""Limit of Idd for long delays."""


@dataclass(frozen=True, slots=True)
class Codec:
    """A codec's planning values (ITU-T G.113, appendix I) and its delays."""

    ie: float
    """Ie: impairment without loss."""
    bpl: float
    """Bpl: robustness against loss, in percent."""
    frame_s: float
    lookahead_s: float
    """Look-ahead of the coder beyond the frame, or delay of the concealment."""
    frames_per_packet: int
    """Usual number of frames in a packet."""
    rate_bps: float


CODECS = {name: Codec(**values) for name, values in _native.voice_codecs().items()}
"""G.711 with the concealment of its appendix I (10 ms, 3.75 ms of overlap); G.729; G.729A with voice
activity detection."""
DEFAULT_CODEC = "g729a-vad"


def codec_of(name: str) -> Codec:
    """Return a codec by its name in `CODECS`; raises ParameterError."""
    return CODECS[choice("codec", name, tuple(CODECS))]


def delay_impairment(mouth_to_ear_s: Numbers) -> FloatArray:
    """Return Idd of the one-way delay from mouth to ear; rises from 0 to 50.

    Continuous with its slope at 100 ms. Raises ParameterError.

    >>> float(delay_impairment(0.1)), float(delay_impairment(0.3).round(1))
    (0.0, 14.8)
    """
    delay = numbers("mouth_to_ear_s", mouth_to_ear_s, at_least=0)
    return finished("Idd", _native.voice_delay_impairment(delay))


def loss_impairment(
    loss: Numbers, codec: str = DEFAULT_CODEC, burst_ratio: Numbers = 1.0
) -> FloatArray:
    """Return Ie,eff of a codec under packet loss.

    loss: share of packets that never come or come too late, 0 to 1; G.107 permits 0.2. burst_ratio:
    BurstR, mean run of losses against that of independent losses (`burst_ratio_of`); 1 is
    independent, G.107 permits 0 to 8 and asks for losses below 2 % above 2. Raises ParameterError.

    >>> float(loss_impairment(0.03).round(2))
    22.45
    """
    lost, burst = _loss_and_burst(loss, burst_ratio)
    codec_of(codec)
    return finished("Ie,eff", _native.voice_loss_impairment(codec, lost, burst))


def burst_ratio_of(loss_after_success: Numbers, success_after_loss: Numbers) -> FloatArray:
    """Return BurstR = 1/(p + q) of losses that follow a two-state Markov chain (G.107, 7.5).

    loss_after_success: p; success_after_loss: q; both above 0. Independent losses have q = 1 - p, so
    1. Raises ParameterError.

    >>> float(burst_ratio_of(0.02, 0.48))
    2.0
    """
    p, q = broadcast(
        loss_after_success=numbers("loss_after_success", loss_after_success, above=0, at_most=1),
        success_after_loss=numbers("success_after_loss", success_after_loss, above=0, at_most=1),
    )
    with np.errstate(over="ignore"):
        return finished("BurstR", 1.0 / (p + q))


def r_factor(
    mouth_to_ear_s: Numbers,
    loss: Numbers = 0.0,
    codec: str = DEFAULT_CODEC,
    *,
    burst_ratio: Numbers = 1.0,
    advantage: Numbers = 0.0,
) -> FloatArray:
    """Return R of G.107; below 0 is possible and as bad as 0.

    advantage: A, 0 for a substitute of a wired telephone, up to 20 if there is no alternative.
    Other parameters as in `delay_impairment` and `loss_impairment`. Raises ParameterError.

    >>> r_factor([0.05, 0.15, 0.2, 0.3]).round(1).tolist()
    [82.2, 82.0, 79.2, 67.4]
    """
    delay, lost, burst, bonus = broadcast(
        mouth_to_ear_s=numbers("mouth_to_ear_s", mouth_to_ear_s, at_least=0),
        loss=probability("loss", loss),
        burst_ratio=numbers("burst_ratio", burst_ratio, above=0),
        advantage=_advantage(advantage),
    )
    codec_of(codec)
    return finished("R", _native.voice_r_factor(codec, delay, lost, burst) + bonus)


def cole_rosenbluth(
    mouth_to_ear_s: Numbers, loss: Numbers = 0.0, codec: str = DEFAULT_CODEC
) -> FloatArray:
    """Return R = 94.2 - 0.024 d - 0.11 (d - 177.3)[d > 177.3] - (γ₁ + γ₂ ln(1 + γ₃ e)).

    d in ms, e the loss; γ is 11, 40, 10 for G.729 and its annexes, 0, 30, 15 for G.711. Independent
    losses, made for delays below 400 ms. Raises ParameterError.

    >>> float(cole_rosenbluth(0.2).round(1))
    75.9
    """
    delay, lost = broadcast(
        mouth_to_ear_s=numbers("mouth_to_ear_s", mouth_to_ear_s, at_least=0),
        loss=probability("loss", loss),
    )
    codec_of(codec)
    base, scale, rate = (0.0, 30.0, 15.0) if codec == "g711-plc" else (11.0, 40.0, 10.0)
    with np.errstate(over="ignore"):
        d = 1e3 * delay
        delayed = 0.024 * d + 0.11 * np.maximum(0.0, d - 177.3)
        return finished("R", 94.2 - delayed - (base + scale * np.log1p(rate * lost)))


def mos(r: Numbers, form: str = "corrected") -> FloatArray:
    """Return the mean opinion score of an R (G.107, annex B), 1 to 4.5.

    The cubic dips below 1 between R = 0 and 6.5, to 0.989, although 1 is the worst score. form:
    "printed" keeps the dip, "corrected" gives 1 and never falls as R rises. Raises
    ParameterError.

    >>> float(mos(82.2).round(2)), float(mos(0)), float(mos(100))
    (4.1, 1.0, 4.5)
    """
    rating = numbers("r", r)
    choice("form", form, FORMS)
    return finished("MOS", _native.voice_mos(rating, form == "printed"))


def r_of_mos(score: Numbers) -> FloatArray:
    """Return the least R with this mean opinion score, 6.5 to 100: `mos` inverted.

    score: above 1, up to 4.5. Raises ParameterError.

    >>> float(r_of_mos(3.6).round(1))
    70.1
    """
    wanted = numbers("score", score, above=1, at_most=4.5)
    return finished("R", increasing_root(_surplus, _R_LEAST, 100.0, (wanted,), what="R"))


def largest_delay_s(
    score: Numbers,
    loss: Numbers = 0.0,
    codec: str = DEFAULT_CODEC,
    *,
    burst_ratio: Numbers = 1.0,
    advantage: Numbers = 0.0,
) -> FloatArray:
    """Return the longest one-way delay from mouth to ear that keeps this mean opinion score.

    Parameters as in `r_factor`. At most `LONGEST_DELAY_S`, which then means "that or more". Raises
    ParameterError if the codec with this loss misses the score without any delay.

    >>> float(largest_delay_s(3.6).round(3))
    0.277
    """
    wanted, lost, burst, bonus = broadcast(
        score=numbers("score", score, above=1, at_most=4.5),
        loss=probability("loss", loss),
        burst_ratio=numbers("burst_ratio", burst_ratio, above=0),
        advantage=_advantage(advantage),
    )
    best = np.asarray(r_factor(0.0, lost, codec, burst_ratio=burst, advantage=bonus))
    spare = _spare(wanted, best, f"{codec} with this loss and no delay")
    reach = np.minimum(spare, delay_impairment(LONGEST_DELAY_S))
    return finished(
        "delay",
        increasing_root(
            lambda delay, allowed: delay_impairment(delay) - allowed,
            0.1,
            LONGEST_DELAY_S,
            (reach,),
            what="delay",
        ),
    )


def largest_loss(
    score: Numbers,
    mouth_to_ear_s: Numbers = 0.0,
    codec: str = DEFAULT_CODEC,
    *,
    burst_ratio: Numbers = 1.0,
    advantage: Numbers = 0.0,
) -> FloatArray:
    """Return the largest share of lost packets that keeps this mean opinion score.

    Parameters as in `r_factor`. Solves ``(95 - Ie) P/(P/BurstR + Bpl) = x`` for x points of R to
    spare: ``P = x Bpl/(95 - Ie - x/BurstR)``, at most 100 %. Raises ParameterError if the codec with
    this delay misses the score without any loss.

    >>> float(largest_loss(3.6, 0.15).round(4))
    0.0316
    """
    wanted, delay, burst, bonus = broadcast(
        score=numbers("score", score, above=1, at_most=4.5),
        mouth_to_ear_s=numbers("mouth_to_ear_s", mouth_to_ear_s, at_least=0),
        burst_ratio=numbers("burst_ratio", burst_ratio, above=0),
        advantage=_advantage(advantage),
    )
    kind = codec_of(codec)
    best = np.asarray(r_factor(delay, 0.0, codec, advantage=bonus))
    spare = _spare(wanted, best, f"{codec} with this delay and no loss")
    with np.errstate(over="ignore"):
        room = 95.0 - kind.ie - spare / burst
        # Without a positive denominator even the loss of every packet costs fewer points than x.
        percent = np.divide(spare * kind.bpl, room, out=np.full_like(spare, 100.0), where=room > 0)
    return finished("loss", np.minimum(100.0, percent) / 100.0)


def _advantage(advantage: Numbers) -> FloatArray:
    return numbers("advantage", advantage, at_least=0, at_most=20)


def _loss_and_burst(loss: Numbers, burst_ratio: Numbers) -> tuple[FloatArray, ...]:
    return broadcast(
        loss=probability("loss", loss),
        burst_ratio=numbers("burst_ratio", burst_ratio, above=0),
    )


_R_LEAST = float(min(r for r in np.roots([-7e-6, 1.12e-3, -7e-3, 0.0]).real if r > 1))
"""R above which the cubic stays above 1, 6.515."""


def _surplus(r: FloatArray, wanted: FloatArray) -> FloatArray:
    return np.asarray(mos(r)) - wanted


def _spare(wanted_score: FloatArray, best_r: FloatArray, without: str) -> FloatArray:
    """Return the points of R between the best and the score's R; ParameterError if none."""
    spare = best_r - r_of_mos(wanted_score)
    if np.any(spare < 0):
        worst = np.unravel_index(int(np.argmin(spare)), spare.shape)
        raise ParameterError(
            "score",
            f"score is {float(wanted_score[worst]):g}, but {without} reaches only "
            f"{float(mos(best_r[worst])):.2f}; it must be at most that",
        )
    return np.asarray(spare)


def _evaluate(
    *,
    mouth_to_ear_s: float,
    loss: float,
    codec: str,
    burst_ratio: float,
    advantage: float,
    score: float,
    form: str,
) -> dict[str, float | None]:
    r = r_factor(mouth_to_ear_s, loss, codec, burst_ratio=burst_ratio, advantage=advantage)
    kept = {"burst_ratio": burst_ratio, "advantage": advantage}
    return {
        "r": float(r),
        "mos": float(mos(r, form)),
        "delay_impairment": float(delay_impairment(mouth_to_ear_s)),
        "loss_impairment": float(loss_impairment(loss, codec, burst_ratio)),
        "cole_rosenbluth_r": float(cole_rosenbluth(mouth_to_ear_s, loss, codec)),
        "largest_delay_s": _or_none(largest_delay_s, score, loss, codec, **kept),
        "largest_loss": _or_none(largest_loss, score, mouth_to_ear_s, codec, **kept),
    }


def _or_none(
    largest: Callable[..., FloatArray], score: float, other: float, codec: str, **kept: float
) -> float | None:
    """Return an inverse, or None where the score is out of reach; other errors still raise."""
    try:
        return float(largest(score, other, codec, **kept))
    except ParameterError as error:
        if error.parameter == "score" and 1.0 < score <= 4.5:
            return None
        raise


MODEL = Model(
    name="voice",
    summary="Voice quality, R and MOS, from delay and loss by the E-model (ITU-T G.107).",
    parameters=(
        Parameter("mouth_to_ear_s", "Ta, one-way delay from mouth to ear", 0.15, Kind.DURATION),
        Parameter("loss", "share of packets lost or late", 0.0),
        Parameter("codec", "codec", DEFAULT_CODEC, Kind.CHOICE, tuple(CODECS)),
        Parameter("burst_ratio", "BurstR, 1 for independent losses", 1.0),
        Parameter("advantage", "A, 0 to 20", 0.0),
        Parameter("score", "MOS for which the largest delay and loss are wanted", 3.6),
        Parameter("form", "MOS as printed dips below 1 near R = 3", FORMS[0], Kind.CHOICE, FORMS),
    ),
    outputs=(
        Output("r", "R of G.107"),
        Output("mos", "mean opinion score, 1 to 4.5"),
        Output("delay_impairment", "Idd"),
        Output("loss_impairment", "Ie,eff"),
        Output("cole_rosenbluth_r", "R as Cole and Rosenbluth approximate it"),
        Output("largest_delay_s", "mouth-to-ear delay that keeps the score, 0.5 s: or more"),
        Output("largest_loss", "loss that keeps the score at this delay"),
    ),
    evaluate=_evaluate,
    example="mouth_to_ear_s=264ms loss=0.025",
    valid="Narrowband telephony, echo cancelled, delays to 0.5 s, losses to 20 %; planning values, "
    "not a verdict on one call.",
)
