"""Rules of thumb for the buffer of a link that carries TCP, and the condition of each rule.

========== =========================== ============================================================
rule       buffer                      holds for
========== =========================== ============================================================
bdp        ``(1/f - 1) RTT C``         one long Reno flow (f = 1/2: ``RTT C``), or flows in step: the
                                       link never idles (Villamizar and Song 1994). CUBIC: f = 0.7
many       ``RTT C / √n``              n long flows that lose independently, "many": APQ quotes 250.
                                       Utilisation at least `desynchronised_utilisation`
                                       (Appenzeller, Keslassy, McKeown 2004)
tiny       ``log_{1/ρ}(W²/(2(1-θ)))``  paced senders or access links far slower than this one, load
           packets                     ρ < 1 kept by over-provisioning: utilisation ρ θ (Enachescu,
                                       Ganjali, Goel, McKeown, Roughgarden 2006)
========== =========================== ============================================================

RTT is the mean round trip without queue, C the rate that the link really carries: for a cell of
802.11 its TCP throughput, not the rate of the PHY. 1 to 4 times ``RTT C`` was advised before (APQ,
section I). An access point rarely meets the conditions of the last two: tens of flows, some in step,
unpaced and bursty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, numbers
from airqueue.models.packets import PACKET_BYTES, PACKET_PARAMETER
from airqueue.models.sawtooth import (
    CONTROL_PARAMETER,
    LEAST_WINDOW_PACKETS,
    Sawtooth,
    full_use_share,
    sawtooth,
)

ENOUGH_FLOWS = 250
"""Least number of flows for which APQ quotes ``RTT C / √n`` as valid (its reference [1])."""
TINY_PACKETS = (10, 20)
TINY_UTILISATION = (0.85, 0.90)
"""Utilisation that the tiny-buffer papers report from simulation; the theorem promises ρ θ."""


def bandwidth_delay_bytes(rate_bps: Numbers, rtt_s: Numbers) -> FloatArray:
    """Return ``RTT C / 8``, bytes. Raises ParameterError.

    >>> float(bandwidth_delay_bytes(18e6, 0.2))
    450000.0
    """
    rate, rtt = broadcast(
        rate_bps=numbers("rate_bps", rate_bps, above=0), rtt_s=numbers("rtt_s", rtt_s, above=0)
    )
    with np.errstate(over="ignore"):
        return finished("RTT·C", rate * rtt / 8.0)


def single_flow_bytes(rate_bps: Numbers, rtt_s: Numbers, control: str = "reno") -> FloatArray:
    """Return the least buffer at which one flow keeps the link busy: ``(1/f - 1) RTT C / 8``, bytes.

    control: "reno", "cubic" or "reno-friendly" (`airqueue.models.sawtooth`). Raises ParameterError.

    >>> float(single_flow_bytes(18e6, 0.2)) / 1500
    300.0
    """
    return finished("buffer", full_use_share(control) * bandwidth_delay_bytes(rate_bps, rtt_s))


def many_flows_bytes(rate_bps: Numbers, rtt_s: Numbers, flows: Numbers) -> FloatArray:
    """Return ``RTT C / (8 √n)``, bytes, for n long flows that lose independently.

    Not valid for few flows (`ENOUGH_FLOWS`) nor for flows in step. Raises ParameterError.

    >>> float((many_flows_bytes(18e6, 0.2, 250) / 1500).round(1))
    19.0
    """
    path, count = broadcast(
        rate_bps=np.asarray(bandwidth_delay_bytes(rate_bps, rtt_s)),
        flows=numbers("flows", flows, at_least=1),
    )
    return finished("buffer", path / np.sqrt(count))


def desynchronised_utilisation(
    buffer_bytes: Numbers, rate_bps: Numbers, rtt_s: Numbers, flows: Numbers
) -> FloatArray:
    """Return the least utilisation of n independent Reno flows, ``erf(a)``, a as follows.

    A flow's window is spread evenly from 2/3 to 4/3 of its mean w: deviation ``w/(3√3)``. The sum of
    n is normal, its mean halfway up the buffer, ``D + B/2``, taken as ``D + B`` in the deviation
    ``σ = (D + B)/(3√3 √n)``. The link idles only while the sum is more than B/2 below the mean, so
    the share of time within B/2 of it is a lower bound (Appenzeller et al., section 3):

        a = (B/2) / (σ √2) = (3√3 / (2√2)) · B √n / (D + B)

    0.99 for ``B = D/√n``. Poor for few flows: 0 without buffer, where one flow alone reaches 3/4.
    Raises ParameterError.

    >>> float(desynchronised_utilisation(4500, 18e6, 0.2, 10_000).round(4))
    0.9899
    """
    buffer, path, count = broadcast(
        buffer_bytes=numbers("buffer_bytes", buffer_bytes, at_least=0),
        rate_bps=np.asarray(bandwidth_delay_bytes(rate_bps, rtt_s)),
        flows=numbers("flows", flows, at_least=1),
    )
    with np.errstate(over="ignore", under="ignore"):
        # Both halved: their sum must not overflow.
        share = (buffer / 2.0) / (path / 2.0 + buffer / 2.0)
        argument = 3.0 * np.sqrt(3.0) / (2.0 * np.sqrt(2.0)) * share * np.sqrt(count)
        return finished("utilisation", _erf(argument))


_erf = np.vectorize(math.erf, otypes=[np.float64])


def tiny_packets(
    window_packets: Numbers, load: Numbers, effective_utilisation: Numbers = 0.9
) -> FloatArray:
    """Return ``B = log_{1/ρ}(W²/(2(1-θ)))``, packets, not rounded, at least 1.

    window_packets: W, the largest window of a flow (its receiver's limit), at least 2. load: ρ, the
    share of the link that the flows would fill with windows always at W, ``n W/(RTT C)``: below 1
    because the link is over-provisioned or the access links are slow. effective_utilisation: θ, the
    share of the load that gets through; the utilisation of the link is ``ρ θ``.

    Paced packets arrive as if Poisson, so a packet is lost with probability at most ``ρ^B``, and a
    loss costs at most ``W²/2`` packets before the window is back: ``1 - θ <= ρ^B W²/2``. The bound is
    loose: `TINY_PACKETS` gave `TINY_UTILISATION` in simulation. Raises ParameterError.

    >>> float(tiny_packets(64, 0.5, 0.9).round(1))
    14.3
    """
    window, rho, theta = broadcast(
        window_packets=numbers("window_packets", window_packets, at_least=2),
        load=numbers("load", load, above=0, below=1),
        effective_utilisation=numbers(
            "effective_utilisation", effective_utilisation, above=0, below=1
        ),
    )
    needed = (2.0 * np.log(window) - np.log(2.0 * (1.0 - theta))) / -np.log(rho)
    return finished("buffer", np.maximum(1.0, needed))


def tiny_utilisation(buffer_packets: Numbers, window_packets: Numbers, load: Numbers) -> FloatArray:
    """Return ``ρ θ``, ``θ = max(0, 1 - ρ^B W²/2)``: the utilisation that B packets guarantee.

    Parameters and validity as in `tiny_packets`, which it inverts. Raises ParameterError.

    >>> float(tiny_utilisation(20, 64, 0.5).round(3))
    0.499
    """
    buffer, window, rho = broadcast(
        buffer_packets=numbers("buffer_packets", buffer_packets, at_least=0),
        window_packets=numbers("window_packets", window_packets, at_least=2),
        load=numbers("load", load, above=0, below=1),
    )
    with np.errstate(under="ignore"):
        log_cost = buffer * np.log(rho) + 2.0 * np.log(window) - np.log(2.0)
        theta = 1.0 - np.exp(np.minimum(0.0, log_cost))
        return finished("utilisation", rho * theta)


def packets_of(size_bytes: Numbers, packet_bytes: Numbers = PACKET_BYTES) -> FloatArray:
    """Return a buffer of bytes as whole packets: rounded up, at least 1.

    >>> float(packets_of(450_000)), float(packets_of(0))
    (300.0, 1.0)
    """
    size, packet = broadcast(
        size_bytes=numbers("size_bytes", size_bytes, at_least=0),
        packet_bytes=numbers("packet_bytes", packet_bytes, above=0),
    )
    with np.errstate(over="ignore"):
        # Rounding in the last place must not cost a packet.
        return finished("packets", np.maximum(1.0, np.ceil(size / packet * (1.0 - 1e-12))))


@dataclass(frozen=True, slots=True)
class Rule:
    """The buffer of a rule, and the expected performance."""

    buffer_bytes: FloatArray
    buffer_packets: FloatArray
    """Whole packets, at least 1; delay and utilisation are for this number."""
    full_delay_s: FloatArray
    utilisation_at_least: FloatArray
    """If the rule's conditions hold; see `rule`."""


def rule(
    rate_bps: Numbers,
    rtt_s: Numbers,
    flows: Numbers = 1.0,
    control: str = "reno",
    packet_bytes: Numbers = PACKET_BYTES,
) -> Rule:
    """Apply ``(1/f - 1) RTT C / √n``, and return delay and utilisation of that buffer.

    For n = 1 the rule of thumb, for many flows Appenzeller's (by analogy for any f other than
    Reno's 1/2, for which it was derived). The utilisation is the larger of two
    lower bounds: all flows in step (`airqueue.models.sawtooth`, the worst case; valid for any n) and,
    for Reno, all independent (`desynchronised_utilisation`, normal approximation; trust it for tens
    of flows at least). Neither holds where path and buffer hold less than `LEAST_WINDOW_PACKETS` for
    each flow: senders then wait for timeouts. Raises ParameterError.

    >>> float(rule(18e6, 0.2).buffer_packets), float(rule(18e6, 0.2, 20).buffer_packets)
    (300.0, 68.0)
    """
    size = finished("buffer", full_use_share(control) * many_flows_bytes(rate_bps, rtt_s, flows))
    packets = packets_of(size, packet_bytes)
    buffer = packets * numbers("packet_bytes", packet_bytes, above=0)
    tooth, utilisation = tooth_and_bound(buffer, rate_bps, rtt_s, flows, control)
    return Rule(size, packets, tooth.full_delay_s, utilisation)


def tooth_and_bound(
    buffer_bytes: Numbers, rate_bps: Numbers, rtt_s: Numbers, flows: Numbers, control: str
) -> tuple[Sawtooth, FloatArray]:
    """Return the saw tooth of all flows in step, and the lower bound of the utilisation of `rule`.

    Raises ParameterError.

    >>> tooth, bound = tooth_and_bound(102_000, 18e6, 0.2, 20, "reno")
    >>> float(tooth.utilisation.round(3)), float(bound.round(3))
    (0.883, 0.968)
    """
    tooth = sawtooth(buffer_bytes, rate_bps, rtt_s, control)
    if control != "reno":
        return tooth, tooth.utilisation
    independent = desynchronised_utilisation(buffer_bytes, rate_bps, rtt_s, flows)
    return tooth, finished("utilisation", np.maximum(tooth.utilisation, independent))


def _evaluate(
    *,
    rate_bps: float,
    rtt_s: float,
    flows: float,
    control: str,
    packet_bytes: float,
    window_packets: float,
    load: float,
    effective_utilisation: float,
) -> dict[str, Figure]:
    thumb = rule(rate_bps, rtt_s, 1.0, control, packet_bytes)
    many = rule(rate_bps, rtt_s, flows, control, packet_bytes)
    tiny = tiny_packets(window_packets, load, effective_utilisation)
    path = float(bandwidth_delay_bytes(rate_bps, rtt_s)) / packet_bytes
    # The windows of all flows together at the loss, in packets, for each rule.
    window, whole = (path + float(each.buffer_packets) for each in (thumb, many))
    return {
        "bdp_packets": float(thumb.buffer_packets),
        "bdp_bytes": float(thumb.buffer_bytes),
        "bdp_delay_s": float(thumb.full_delay_s),
        "bdp_utilisation": None if _small_windows(window) else float(thumb.utilisation_at_least),
        "many_packets": float(many.buffer_packets),
        "many_bytes": float(many.buffer_bytes),
        "many_delay_s": float(many.full_delay_s),
        "many_utilisation": None if _small_windows(whole) else float(many.utilisation_at_least),
        "tiny_packets": float(np.ceil(tiny)),
        "tiny_delay_s": float(finished("delay", 8.0 * np.ceil(tiny) * packet_bytes / rate_bps)),
        "tiny_utilisation": load * effective_utilisation,
        "caution": _small_windows(min(window, whole / flows)),
    }


def _small_windows(window: float) -> str | None:
    """Return a caution where flows of such windows, in packets, have no saw tooth."""
    # Allow for rounding in the last place.
    if window >= LEAST_WINDOW_PACKETS * (1.0 - 1e-12):
        return None
    return (
        f"path and buffer hold {window:.3g} packets for each flow, and the rules need windows of "
        f"{LEAST_WINDOW_PACKETS:g} or more: senders wait for timeouts, and the link idles"
    )


MODEL = Model(
    name="buffer-rules",
    summary="Buffer by RTT·C, RTT·C/√n (Appenzeller et al. 2004) and log W (Enachescu et al. 2006).",
    parameters=(
        Parameter("rate_bps", "C, throughput of the link", 18e6, Kind.RATE),
        Parameter("rtt_s", "mean round-trip time without queue", 0.2, Kind.DURATION),
        Parameter("flows", "n, long flows that lose independently", 1.0),
        CONTROL_PARAMETER,
        PACKET_PARAMETER,
        Parameter("window_packets", "W, largest window of a flow, for the log W rule", 64.0),
        Parameter("load", "ρ, load offered by paced flows, for the log W rule", 0.9),
        Parameter("effective_utilisation", "θ, share of that load carried", 0.95),
    ),
    outputs=(
        Output("bdp_packets", "(1/f - 1) RTT·C in packets"),
        Output("bdp_bytes", "(1/f - 1) RTT·C in bytes"),
        Output("bdp_delay_s", "wait in this buffer when full"),
        Output("bdp_utilisation", "least utilisation; none for windows below 2 packets"),
        Output("many_packets", "(1/f - 1) RTT·C/√n in packets"),
        Output("many_bytes", "(1/f - 1) RTT·C/√n in bytes"),
        Output("many_delay_s", "wait in this buffer when full"),
        Output("many_utilisation", "least utilisation, if the flows lose independently"),
        Output("tiny_packets", "log W rule in packets"),
        Output("tiny_delay_s", "wait in this buffer when full"),
        Output("tiny_utilisation", "ρ θ, if the senders are paced"),
        Output("caution", "windows too small for a rule"),
    ),
    evaluate=_evaluate,
    example="flows=1..250",
    valid="bdp: one flow, or flows in step. many: long flows that lose independently, 250 or more. "
    "tiny: paced senders and a load below 1; its bound is loose.",
)
