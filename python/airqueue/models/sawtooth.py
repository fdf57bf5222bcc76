"""Utilisation and delay of a buffer under the saw teeth of one TCP flow, or of many in step.

A flow that always has data raises its window until the buffer overflows, cuts the window to a share
f, and begins again. With ``D`` the bandwidth-delay product without queue and ``B`` the buffer, the
window runs between ``f (D + B)`` and ``D + B``; the part above D waits. Written in units of D, with
``M = 1 + B/D``, per unit of ``D`` packets at link rate:

*Linear* (Reno, f = 1/2, RFC 5681; also Reno-friendly CUBIC, f = 0.7): the window grows by a constant
per round trip, and a round trip lasts 1 while ``w <= 1``, w above. So ``dt = dw max(1, w)``, and

    packets  = (1 - f²) M²/2        time = (1 - f M) + (M² - 1)/2          (f M < 1)
    utilisation = (1 - f²) M² / (M² + 1 - 2 f M)

3/4 without buffer for Reno, 1 from ``f M = 1`` on: ``B = (1/f - 1) D``, which is the rule of thumb
for f = 1/2.

*Cubic* (RFC 9438, f = 0.7): the window follows ``w = M (1 - (1-f) v³)``, v falling from 1 to 0 in
real time whatever the round trip. The link is full while w >= 1, that is ``v <= v₁``,
``v₁³ = (1 - 1/M)/(1-f)``:

    utilisation = v₁ + M [(1 - v₁) - (1-f)(1 - v₁⁴)/4]

0.925 without buffer, 1 from ``B = 3/7 D`` on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, number, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.packets import PACKET_PARAMETER

DECREASE = {"reno": 0.5, "cubic": 0.7, "reno-friendly": 0.7}
"""f: share of the window left after a loss (RFC 5681, RFC 9438)."""
CONTROLS = tuple(DECREASE)

CUBIC_C = 0.4
"""RFC 9438, section 5: packets/s³."""
FRIENDLY_ALPHA = 3.0 * (1.0 - 0.7) / (1.0 + 0.7)
"""RFC 9438, section 4.3: packets per round trip in the Reno-friendly region."""
REGIONS = ("reno-friendly", "mixed", "cubic")

LEAST_WINDOW_PACKETS = 2.0
"""Half of the window must be at least one packet; below there is no saw tooth."""


@dataclass(frozen=True, slots=True)
class Sawtooth:
    """One tooth; fields have the parameters' shape."""

    utilisation: FloatArray
    """Share of the time that the link is busy."""
    full_delay_s: FloatArray
    """Wait in the full buffer, just before a loss: 8 B / rate."""
    mean_delay_s: FloatArray
    """Wait averaged over time: the delay of packets of another, sparse flow."""
    least_delay_s: FloatArray
    """Wait just after a loss: useless delay of a buffer above the needed size."""


def full_use_share(control: str = "reno") -> float:
    """Return the least B/D at which the link never idles: ``1/f - 1``.

    >>> full_use_share("reno"), round(full_use_share("cubic"), 4)
    (1.0, 0.4286)
    """
    return 1.0 / DECREASE[choice("control", control, CONTROLS)] - 1.0


def sawtooth(
    buffer_bytes: Numbers, rate_bps: Numbers, rtt_s: Numbers, control: str = "reno"
) -> Sawtooth:
    """Evaluate one tooth of a flow with a buffer of B bytes (equations in the module's text).

    rate_bps: of the link. rtt_s: round trip without queue. control: "reno", "cubic", or
    "reno-friendly" for CUBIC on short paths (see `cubic_region`).

    Valid for one flow, or for flows of one round-trip time that all lose at once, which is the worst
    case of several; with drop-tail, no limit by the receiver's window, a window of many packets (at
    few, whole packets matter; `window_packets` refuses too small windows) and losses by overflow
    only. A fluid model: no burst, no timeout, and the cut takes effect at once. Delayed ACKs stretch
    a tooth without effect on these results. Raises ParameterError.

    >>> float(sawtooth(0, 18e6, 0.2).utilisation)
    0.75
    >>> tooth = sawtooth(450_000, 18e6, 0.2)
    >>> float(tooth.utilisation), float(tooth.full_delay_s)
    (1.0, 0.2)
    """
    left = DECREASE[choice("control", control, CONTROLS)]
    buffer, rate, rtt = broadcast(
        buffer_bytes=numbers("buffer_bytes", buffer_bytes, at_least=0),
        rate_bps=numbers("rate_bps", rate_bps, above=0),
        rtt_s=numbers("rtt_s", rtt_s, above=0),
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        full_s = 8.0 * buffer / rate
        share = np.asarray(finished("buffer/(rate·rtt)", full_s / rtt))
        shape = _cubic if control == "cubic" else _linear
        utilisation, mean = shape(share, left)
        return Sawtooth(
            utilisation=finished("utilisation", utilisation),
            full_delay_s=finished("full_delay_s", full_s),
            mean_delay_s=finished("mean_delay_s", mean * rtt),
            least_delay_s=finished(
                "least_delay_s", np.maximum(0.0, left * (1.0 + share) - 1.0) * rtt
            ),
        )


def window_packets(
    buffer_bytes: Numbers, rate_bps: Numbers, rtt_s: Numbers, packet_bytes: Numbers
) -> FloatArray:
    """Return the window at the loss, ``D + B``, in packets.

    Parameters as of `sawtooth`; packet_bytes: IP packets. Raises ParameterError, also for a window of
    less than `LEAST_WINDOW_PACKETS`, where the saw tooth does not hold: senders then wait for
    timeouts, and the link idles.

    >>> float(window_packets(450_000, 18e6, 0.2, 1500))
    600.0
    """
    buffer, rate, rtt, packet = broadcast(
        buffer_bytes=numbers("buffer_bytes", buffer_bytes, at_least=0),
        rate_bps=numbers("rate_bps", rate_bps, above=0),
        rtt_s=numbers("rtt_s", rtt_s, above=0),
        packet_bytes=numbers("packet_bytes", packet_bytes, above=0),
    )
    with np.errstate(over="ignore"):
        window = np.asarray(finished("window_packets", (rate * rtt / 8.0 + buffer) / packet))
    # Allow for rounding in the last place.
    if np.any(window < LEAST_WINDOW_PACKETS * (1.0 - 1e-12)):
        raise ParameterError(
            "buffer_bytes",
            f"path and buffer together hold {float(window.min()):.3g} packets, and the saw tooth "
            f"needs a window of {LEAST_WINDOW_PACKETS:g} or more; use a larger buffer_bytes, or a "
            "smaller packet_bytes",
        )
    return window[()]


def period_s(
    buffer_bytes: Numbers,
    rate_bps: Numbers,
    rtt_s: Numbers,
    packet_bytes: Numbers,
    control: str = "reno",
) -> FloatArray:
    """Return the time from one loss to the next.

    Linear: the window climbs by α packets a round trip, of which each lasts 1 or w RTTs (the
    module's text), so the tooth takes ``D RTT/α`` times its time; α is 1, or RFC 9438's where CUBIC
    follows Reno. Cubic: RFC 9438's ``K = ((1-f) W/C)^(1/3)``, W the window at the loss.

    Parameters as of `window_packets`, and control as of `sawtooth`. Delayed ACKs that count as one
    packet each stretch a linear tooth to up to twice this time. Raises ParameterError.

    >>> float(period_s(450_000, 18e6, 0.2, 1500))
    90.0
    """
    left = DECREASE[choice("control", control, CONTROLS)]
    window = np.asarray(window_packets(buffer_bytes, rate_bps, rtt_s, packet_bytes))
    if control == "cubic":
        return finished("period", np.cbrt((1.0 - left) * window / CUBIC_C))
    rtt = np.asarray(numbers("rtt_s", rtt_s, above=0))
    path = np.asarray(rate_bps) * rtt / 8.0 / np.asarray(packet_bytes)
    low, full = left * window, np.maximum(path, left * window)
    climb = 1.0 if control == "reno" else FRIENDLY_ALPHA
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # Round trips of RTT while the path holds the window, of w/path RTTs above.
        trips = (full - low) + (window - full) * (0.5 * (window + full) / path)
        return finished("period", rtt * trips / climb)


def cubic_region(window_packets: float, rtt_s: float) -> str:
    """Return the region of RFC 9438 of a CUBIC flow's teeth: one of `REGIONS`.

    window_packets: at the loss. rtt_s: round trip, queue included. The cubic climbs back in
    ``K = ((1-f) W/C)^(1/3)`` seconds, at first by ``3 C K²`` packets/s; Reno's line climbs by
    ``α/RTT``. The larger window counts: the line all the time if it starts steeper (the cubic is
    concave), never if it has not caught up at K. In between ("mixed") `sawtooth` is not valid.

    >>> cubic_region(60, 0.02), cubic_region(600, 0.2)
    ('reno-friendly', 'cubic')
    """
    window = number("window_packets", window_packets, above=0)
    rtt = number("rtt_s", rtt_s, above=0)
    lost = (1.0 - DECREASE["cubic"]) * window
    climb_s = (lost / CUBIC_C) ** (1.0 / 3.0)
    slope = FRIENDLY_ALPHA / rtt
    mean_slope = CUBIC_C * climb_s**2
    return REGIONS[int(slope < 3.0 * mean_slope) + int(slope <= mean_slope)]


def _linear(share: FloatArray, left: float) -> tuple[FloatArray, FloatArray]:
    """Return (utilisation, mean delay in round trips) of a tooth linear in round trips."""
    top = 1.0 + share
    low = left * top
    queued_from = np.maximum(1.0, low)
    idle_time = queued_from - low
    # All divided by top²: a buffer of 1e200 round trips must not overflow.
    busy = (1.0 - (queued_from / top) ** 2) / 2.0
    time = idle_time / top**2 + busy
    packets = (1.0 - left**2) / 2.0
    utilisation = np.minimum(1.0, packets / time)
    # ∫ (w - 1) w dw from queued_from to top, over top².
    cubes = (top - queued_from * (queued_from / top) ** 2) / 3.0
    return utilisation, (cubes - busy) / time


def _cubic(share: FloatArray, left: float) -> tuple[FloatArray, FloatArray]:
    """Return (utilisation, mean delay in round trips) of a tooth cubic in time."""
    top = 1.0 + share
    lost = 1.0 - left
    queued = np.minimum(1.0, np.cbrt((share / top) / lost))
    below = (1.0 - queued) - lost * (1.0 - queued**4) / 4.0
    # ∫ (M (1 - (1-f) v³) - 1) dv from 0 to v₁.
    mean = share * queued - top * lost * queued**4 / 4.0
    return np.minimum(1.0, queued + top * below), mean


def _evaluate(
    *, buffer_bytes: float, rate_bps: float, rtt_s: float, control: str, packet_bytes: float
) -> dict[str, float | str | None]:
    tooth = sawtooth(buffer_bytes, rate_bps, rtt_s, control)
    window = window_packets(buffer_bytes, rate_bps, rtt_s, packet_bytes)
    full_rtt_s = rtt_s + float(tooth.full_delay_s)
    return {
        "utilisation": float(tooth.utilisation),
        "full_delay_s": float(tooth.full_delay_s),
        "mean_delay_s": float(tooth.mean_delay_s),
        "least_delay_s": float(tooth.least_delay_s),
        "window_packets": float(window),
        "period_s": float(period_s(buffer_bytes, rate_bps, rtt_s, packet_bytes, control)),
        "full_use_bytes": full_use_share(control) * rate_bps * rtt_s / 8.0,
        "cubic_region": None if control == "reno" else cubic_region(float(window), full_rtt_s),
    }


CONTROL_PARAMETER = Parameter("control", "congestion control", "reno", Kind.CHOICE, CONTROLS)

MODEL = Model(
    name="sawtooth",
    summary="Utilisation and delay of a drop-tail buffer under one TCP flow, Reno or CUBIC.",
    parameters=(
        Parameter("buffer_bytes", "B, size of the buffer", kind=Kind.SIZE),
        Parameter("rate_bps", "C, rate of the link", 18e6, Kind.RATE),
        Parameter("rtt_s", "round-trip time without queue", 0.2, Kind.DURATION),
        CONTROL_PARAMETER,
        PACKET_PARAMETER,
    ),
    outputs=(
        Output("utilisation", "share of the time that the link is busy"),
        Output("full_delay_s", "wait in the full buffer"),
        Output("mean_delay_s", "wait averaged over time"),
        Output("least_delay_s", "wait just after a loss"),
        Output("window_packets", "window at the loss"),
        Output("period_s", "time from one loss to the next"),
        Output("full_use_bytes", "least buffer at which the link never idles"),
        Output("cubic_region", "region of RFC 9438 of this window; sawtooth holds if it matches"),
    ),
    evaluate=_evaluate,
    example="buffer_bytes=150kB control=cubic",
    valid="One long flow, or several of one round-trip time that lose together; drop-tail; windows "
    "of many packets (fewer than 2 are refused); no receiver's limit, no loss on the air.",
)
