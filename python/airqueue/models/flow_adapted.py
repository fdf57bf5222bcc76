"""Queue capacity adapted to the number of TCP flows and to their round-trip times.

The APQ paper proposes (section V) that an access point counts flows (R. Morris, *Scalable TCP
Congestion Control*, Infocom 2000), times their acknowledgements and sets its queue accordingly.
The rule here follows from three requirements of n long flows:

    keep     B₁ = (1/f - 1) D / √(n/g)      keep the link busy: flows halve in groups of g
    recover  B₂ = n w - D                    each flow's window at a loss at least w packets
    bound    B₃ = n W - D                    at most the receivers' windows

    B = min(max(B₁, B₂, least), max(B₃, least))

with ``D = C RTT`` in packets, w the window that recovers without a timeout. One flow: the rule of
thumb, D for Reno. More flows: B₁ and the delay fall as 1/√n. Above the n at which B₁ meets B₂ (about
D/w), B₂ rises by w packets a flow: the path no longer holds w packets of each, and a smaller queue
would trade delay for timeouts. The delay is then ``n w/C - RTT``, a reason to mark (ECN) or to pace
rather than to queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airqueue.models.buffer_rules import (
    bandwidth_delay_bytes,
    packets_of,
    single_flow_bytes,
    tooth_and_bound,
)
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.packets import PACKET_BYTES, PACKET_PARAMETER
from airqueue.models.sawtooth import CONTROL_PARAMETER, full_use_share

RECOVERY_WINDOW = {"fast-retransmit": 4.0, "limited-transmit": 2.0}
"""Least window at a loss, in packets, that brings three duplicate ACKs. RFC 5681, section 3.2: three
packets must follow the lost one. RFC 3042: each of the first two duplicates sends one more packet,
so one that follows is enough."""
NEEDS = ("keep", "recover", "least", "bound")
SHARES = ("equal-rates", "equal-windows")


@dataclass(frozen=True, slots=True)
class FlowAdapted:
    """A capacity and its expected performance; fields have the parameters' shape."""

    capacity_packets: FloatArray
    full_delay_s: FloatArray
    window_packets: FloatArray
    """Mean window of a flow when the queue is full, path and queue together: (D + B)/n, W at most."""
    utilisation_at_least: FloatArray
    """The larger of two lower bounds; the bound of independent flows needs many groups. If all
    windows fit at W, n W <= D + B, nothing is lost, and the utilisation is n W/D."""
    decided_by: np.ndarray
    """The need, one of `NEEDS`, that set the capacity; strings."""


def effective_rtt_s(rtts_s: Sequence[float] | FloatArray, shares: str = "equal-rates") -> float:
    """Return one round-trip time that represents all flows.

    The path holds ``Σ rate_i RTT_i`` packets. With equal rates this is C times the mean RTT; with
    equal windows, which a drop-tail queue tends to give, rates go as 1/RTT and the path holds C times
    the smaller harmonic mean (as in Dhamdhere, Jiang, Dovrolis 2005 for flows in step). Raises
    ParameterError.

    >>> [round(effective_rtt_s([0.02, 0.18], shares), 6) for shares in SHARES]
    [0.1, 0.036]
    """
    choice("shares", shares, SHARES)
    times = np.ravel(numbers("rtts_s", rtts_s, above=0))
    if not times.size:
        raise ParameterError("rtts_s", "there is no round-trip time; give one for each flow")
    with np.errstate(over="ignore"):
        if shares == "equal-rates":
            return float(finished("rtt", np.asarray(np.mean(times))))
        # Relative to the smallest: inverses of tiny times would overflow.
        least = times.min()
        return float(finished("rtt", least / np.mean(least / times)))


def flow_adapted(
    rate_bps: Numbers,
    rtt_s: Numbers,
    flows: Numbers,
    *,
    packet_bytes: Numbers = PACKET_BYTES,
    control: str = "reno",
    together: Numbers = 1.0,
    recovery: str = "fast-retransmit",
    window_limit_packets: Numbers | None = None,
    least_packets: Numbers = 1.0,
) -> FlowAdapted:
    """Return the capacity for n flows (equations in the module's text).

    rate_bps: C, what the link carries. rtt_s: mean without queue (`effective_rtt_s`). flows: n long
    flows, at least 1. control: f, as in `airqueue.models.sawtooth`. together: g, flows that lose at
    the same overflow: 1 if independent, n (or more) if all in step, as few flows through drop-tail
    tend to be. recovery: a key of `RECOVERY_WINDOW`. window_limit_packets: W, receivers' limit;
    None for no limit. least_packets: never below.

    Valid for long flows in one drop-tail queue; short ones and unresponsive UDP only suffer the
    delay. Utilisation is a bound: all in step, or independent groups by the normal approximation
    (Reno only). Raises ParameterError.

    >>> [float(flow_adapted(18e6, 0.2, n).capacity_packets) for n in (1, 20, 250)]
    [300.0, 68.0, 700.0]
    """
    given = {
        "rate_bps": numbers("rate_bps", rate_bps, above=0),
        "rtt_s": numbers("rtt_s", rtt_s, above=0),
        "flows": numbers("flows", flows, at_least=1),
        "packet_bytes": numbers("packet_bytes", packet_bytes, above=0),
        "together": numbers("together", together, at_least=1),
        "least_packets": numbers("least_packets", least_packets, at_least=1, whole=True),
    }
    if window_limit_packets is not None:
        given["window_limit_packets"] = numbers(
            "window_limit_packets", window_limit_packets, at_least=1
        )
    rate, rtt, count, packet, group, least, *limit = broadcast(**given)
    groups = np.maximum(1.0, count / group)
    wanted = RECOVERY_WINDOW[choice("recovery", recovery, tuple(RECOVERY_WINDOW))]
    with np.errstate(over="ignore"):
        path = np.asarray(finished("D", bandwidth_delay_bytes(rate, rtt) / packet))
        keep = packets_of(single_flow_bytes(rate, rtt, control) / np.sqrt(groups), packet)
        recover = _whole(count * wanted - path)
        bound = np.maximum(_whole(count * limit[0] - path), least) if limit else np.inf
        capacity, decided = _capacity(np.stack([keep, recover, least]), bound)
        buffer = np.asarray(finished("buffer", capacity * packet))
    tooth, utilisation = tooth_and_bound(buffer, rate, rtt, groups, control)
    window = (path + capacity) / count
    if limit:
        utilisation, window = _held_by_receivers(utilisation, window, path / count, limit[0])
    return FlowAdapted(
        capacity_packets=capacity[()],
        full_delay_s=tooth.full_delay_s,
        window_packets=finished("window", window),
        utilisation_at_least=finished("utilisation", utilisation),
        decided_by=decided,
    )


def turning_point_flows(
    rate_bps: Numbers,
    rtt_s: Numbers,
    *,
    packet_bytes: Numbers = PACKET_BYTES,
    control: str = "reno",
    together: Numbers = 1.0,
    recovery: str = "fast-retransmit",
) -> FloatArray:
    """Return the n, at least 1, from which on more flows need a larger queue: ``B₁ = B₂``.

    With ``√n = y √(D/w)``: ``y³ - y = k √g/√(D/w)``, ``k = 1/f - 1``; the one root above 1, by
    Newton's method. Up to g flows lose as one, so ``B₁ = k D``, and n is ``(1 + k) D/w`` if that is
    not above g. Raises ParameterError.

    >>> float(turning_point_flows(18e6, 0.2).round(1))
    83.2
    """
    packet = numbers("packet_bytes", packet_bytes, above=0)
    wanted = RECOVERY_WINDOW[choice("recovery", recovery, tuple(RECOVERY_WINDOW))]
    path_bytes = np.asarray(bandwidth_delay_bytes(rate_bps, rtt_s))
    share = full_use_share(control)
    path_bytes, packet, group = broadcast(
        rate_bps=path_bytes,
        packet_bytes=packet,
        together=numbers("together", together, at_least=1),
    )
    with np.errstate(over="ignore"):
        scale = np.asarray(finished("D", path_bytes / packet / wanted))
        # A path that underflows to 0 is replaced by the smallest number.
        right = share * np.sqrt(group) / np.sqrt(np.maximum(scale, 1e-300))
        # Above the root the cubic is convex and Newton descends to it.
        y = np.maximum(np.sqrt(2.0), np.cbrt(2.0 * right))
        for _ in range(12):
            y = y - (y**3 - y - right) / (3.0 * y**2 - 1.0)
        flows = np.where((1.0 + share) * scale <= group, (1.0 + share) * scale, scale * y**2)
        return finished("n", np.maximum(1.0, flows))


def _held_by_receivers(
    utilisation: FloatArray, window: FloatArray, path: FloatArray, limit: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return (utilisation, window) where windows end at W; ``path`` is a flow's share of D.

    Windows that all fit at W lose nothing: no saw tooth, but no more than W packets a round trip.
    """
    carried = limit / np.maximum(limit, path)
    return np.where(limit <= window, carried, utilisation), np.minimum(window, limit)


def _capacity(needs: FloatArray, bound: FloatArray | float) -> tuple[FloatArray, np.ndarray]:
    """Return the largest of the first three `NEEDS`, within the bound, and its index."""
    most = needs.max(axis=0)
    capacity = np.asarray(finished("capacity", np.minimum(most, bound)))
    return capacity, np.array(NEEDS)[np.where(capacity < most, 3, needs.argmax(axis=0))]


def _whole(packets: FloatArray) -> FloatArray:
    """Return packets rounded up, except for rounding errors; negative numbers stay negative."""
    rounded: FloatArray = np.ceil(packets * (1.0 - 1e-12))
    return rounded


def _evaluate(
    *,
    rate_bps: float,
    rtts_s: Sequence[float],
    flows: float,
    shares: str,
    packet_bytes: float,
    control: str,
    together: float,
    recovery: str,
    window_limit_packets: float | None,
) -> dict[str, float | str]:
    rtt = effective_rtt_s(rtts_s, shares)
    adapted = flow_adapted(
        rate_bps,
        rtt,
        flows,
        packet_bytes=packet_bytes,
        control=control,
        together=together,
        recovery=recovery,
        window_limit_packets=window_limit_packets,
    )
    return {
        "capacity_packets": float(adapted.capacity_packets),
        "decided_by": str(adapted.decided_by),
        "full_delay_s": float(adapted.full_delay_s),
        "window_packets": float(adapted.window_packets),
        "utilisation_at_least": float(adapted.utilisation_at_least),
        "rtt_s": rtt,
        "turning_point_flows": float(
            turning_point_flows(
                rate_bps,
                rtt,
                packet_bytes=packet_bytes,
                control=control,
                together=together,
                recovery=recovery,
            )
        ),
    }


MODEL = Model(
    name="flow-adapted",
    summary="Queue capacity for the number of TCP flows and their round-trip times (APQ, section V).",
    parameters=(
        Parameter("rate_bps", "C, throughput of the link", 18e6, Kind.RATE),
        Parameter("rtts_s", "round-trip times without queue", (0.2,), Kind.DURATIONS),
        Parameter("flows", "n, long TCP flows", 1.0),
        Parameter("shares", "how flows of different RTTs share", SHARES[0], Kind.CHOICE, SHARES),
        PACKET_PARAMETER,
        CONTROL_PARAMETER,
        Parameter("together", "g, flows that lose at the same overflow", 1.0),
        Parameter(
            "recovery",
            "how a loss is repaired: 4 or 2 packets in flight",
            "fast-retransmit",
            Kind.CHOICE,
            tuple(RECOVERY_WINDOW),
        ),
        Parameter("window_limit_packets", "W, receivers' limit; not given: none", None),
    ),
    outputs=(
        Output("capacity_packets", "B, to configure"),
        Output("decided_by", "keep the link busy, recover without timeout, least, bound by W"),
        Output("full_delay_s", "wait in the full queue"),
        Output("window_packets", "window of a flow when the queue is full"),
        Output("utilisation_at_least", "lower bound; n W/D where W keeps windows from losing"),
        Output("rtt_s", "round-trip time that represents all flows"),
        Output("turning_point_flows", "n from which on more flows need more queue, W apart"),
    ),
    evaluate=_evaluate,
    example="flows=1..300",
    valid="Long flows in one drop-tail queue. Few flows tend to lose together: give them as g.",
)
