"""Queues of relays in a line that share the air: the paper's Markov chain and a solvable chain.

The printed chain (MESH Eqs (4) to (9)) treats all M nodes alike: each is empty with probability π_0,
busy with probability q = 1 - π_0, and of k busy nodes each sends next with probability 1/k. A queue
falls with p_0 and rises with p_1,0 from empty, with p_1,+ otherwise, so with ρ = p_1,+/p_0

    π_k = π_0 (p_1,0/p_0) ρ^(k-1)        p_0 - p_1,+ = π_0 p_1,0/q        Σ_{k=0}^b π_k = 1 - q ρ^b

Over an infinite buffer the π_k sum to 1 for any π_0 < 1: a closed line of equal relays only passes
packets on. Over a finite buffer they sum to less than 1 unless π_0 = 1, so the equations do not
determine π_0. The paper uses the limit ρ -> 1, in which all lengths are equally likely and a buffer
of b is full with probability 1/(b+1).

A chain that has a solution has a source that always has packets, feeds node 1 and contends as well.
`airqueue.models.mesh_joint` follows all its queues together, exactly, which takes a state for each
combination of lengths; the command does so as far as these are few enough. `relay_queues` is for any
line: each node has its own probability of being busy, independent of the others (as in the paper);
the transition probabilities follow from the busy probabilities by Poisson-binomial sums, and these
from the transition probabilities, iterated to the fixed point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, numbers, probability
from airqueue.models.errors import ConvergenceError, ParameterError
from airqueue.models.mesh_joint import MAX_NODES, RelayQueues, can_follow, joint_queues

_DAMPING: Final = 0.5
_ITERATIONS: Final = 5000
_TOLERANCE: Final = 1e-14


class NoSolutionError(ConvergenceError):
    """The printed chain has no solution except that all buffers are always empty."""


@dataclass(frozen=True, slots=True)
class Transitions:
    """Transition probabilities of the printed chain; each field has the parameters' shape."""

    served: FloatArray
    """p_0, Eq. (4): a busy node sends."""
    first_arrival: FloatArray
    """p_1,0, Eq. (5): the parent of an empty node sends to it."""
    arrival: FloatArray
    """p_1,+, Eq. (6): the parent of a busy node sends to it."""


def printed_transitions(empty: Numbers, nodes: Numbers) -> Transitions:
    """Return Eqs (4) to (6) in closed form, with q = 1 - π_0.

        p_0   = (1 - π_0^M)/(M q)
        p_1,0 = (1 - π_0^(M-1))/(M - 1)
        p_1,+ = 1/(M-1) - (1 - π_0^M)/(q M (M-1))

    empty: π_0, from 0 to 1. nodes: M, at least 2. For π_0 -> 0: 1/M, 1/(M-1), 1/M; at π_0 = 1:
    1, 0, 0.

    >>> found = printed_transitions(0.0, 4)
    >>> [round(float(p), 4) for p in (found.served, found.first_arrival, found.arrival)]
    [0.25, 0.3333, 0.25]
    """
    pi, m = broadcast(
        empty=probability("empty", empty),
        nodes=numbers("nodes", nodes, at_least=2, at_most=1e6, whole=True),
    )
    q = 1.0 - pi
    served = _one_less_power(pi, m) / np.where(q > 0.0, m * q, 1.0)
    served = np.where(q > 0.0, served, 1.0)
    return Transitions(
        finished("p_0", served),
        finished("p_1,0", _one_less_power(pi, m - 1.0) / (m - 1.0)),
        finished("p_1,+", _one_less_served(q, m, served) / (m - 1.0)),
    )


def _one_less_power(pi: FloatArray, exponent: FloatArray) -> FloatArray:
    """Return ``1 - pi^exponent`` without cancellation near pi = 1."""
    with np.errstate(divide="ignore"):
        result: FloatArray = -np.expm1(exponent * np.log(pi))
    return result


def _one_less_served(q: FloatArray, m: FloatArray, served: FloatArray) -> FloatArray:
    """Return ``1 - (1 - (1-q)^m)/(m q)``: for small m q by its series, which does not cancel."""
    small = np.where(m * q < 0.1, q, 0.0)
    term = (m - 1.0) * small / 2.0
    series = np.zeros_like(term)
    for k in range(2, 16):
        series = series + term
        term = -term * (m - k) * small / (k + 1.0)
    return np.where(m * q < 0.1, series, 1.0 - served)


def printed_sum(empty: Numbers, nodes: Numbers, buffer: Numbers) -> FloatArray:
    """Return ``Σ_{k=0}^{b} π_k`` of the printed chain, Eq. (9), which should be 1: ``1 - q ρ^b``.

    buffer: b, at least 1 packet. The result is 1 for π_0 = 1 and below 1 for every other π_0.

    >>> printed_sum([0.2, 0.6, 1.0], 4, 3).round(3).tolist()
    [0.682, 0.991, 1.0]
    """
    pi, m, b = broadcast(
        empty=probability("empty", empty),
        nodes=numbers("nodes", nodes, at_least=2, at_most=1e6, whole=True),
        buffer=numbers("buffer", buffer, at_least=1, at_most=1e9, whole=True),
    )
    p = printed_transitions(pi, m)
    return finished("sum", 1.0 - (1.0 - pi) * (p.arrival / p.served) ** b)


def printed_solution(nodes: int, buffer: int) -> float:
    """Raise NoSolutionError: no π_0 < 1 solves the paper's Eqs (4) to (9).

    The message says why. The paper continues with `full_limit`; `relay_queues` is a chain that can
    be solved.
    """
    half = float(printed_sum(0.5, nodes, buffer))
    raise NoSolutionError(
        f"for {nodes} alike nodes with a buffer of {buffer} packets the probabilities of Eqs (4) to "
        f"(9) sum to 1 - (1-π_0) (p_1,+/p_0)^{buffer}, less than 1 for every π_0 below 1 (to "
        f"{half:.4f} at 0.5); only π_0 = 1, nothing is ever sent, remains: use the limit 1/(b+1), "
        "or the chain with a source"
    )


def full_limit(buffer: Numbers) -> FloatArray:
    """Return ``π_b = 1/(b+1)``, the limit p_1,+ = p_0 that MESH Eq. (10) rests on.

    >>> full_limit([1, 3]).tolist()
    [0.5, 0.25]
    """
    return finished("π_b", 1.0 / (numbers("buffer", buffer, at_least=0) + 1.0))


def relay_queues(buffers: Numbers) -> RelayQueues:
    """Solve the chain of M relays fed by a source that always has a packet and contends with them.

    buffers: b_i, packets, at least 1, of the nodes in the order from the source (last axis, 1 to 100
    nodes). With q_i the probability that node i is busy, q_0 = 1 for the source:

        p_0(i)   = E[1/(1 + busy others, the source among them)]
        p_1,0(i) = q_{i-1} E[1/(1 + busy others but i-1)]
        p_1,+(i) = q_{i-1} E[1/(2 + busy others but i-1)]
        π_0(i)   = 1/(1 + p_1,0/p_0 Σ_{k=1}^{b_i} (p_1,+/p_0)^{k-1}),  q_i = 1 - π_0(i)

    Valid for one domain in which all nodes hear each other, losses by overflow only. Nodes are taken
    as independent: of four, the first drops 51 % with three packets each and 82 % with (1, 2, 3, 4),
    against 56 % and 90 % for the joint chain of the queues; probabilities of full buffers are high by
    up to 0.06. Packets are lost between the nodes, so that too few reach the end: of six nodes with
    one packet each 32 % too few, of ten 40 %, of fifty 58 % (`1/(2M+1)` is exact), of twenty with
    three each 9 %, with ten 2 %. Use `airqueue.models.mesh_joint.joint_queues` as far as it goes.

    Raises ParameterError, or ConvergenceError if the iteration does not settle.

    >>> solved = relay_queues([3, 3, 3, 3])
    >>> solved.full.round(3).tolist()
    [0.27, 0.174, 0.128, 0.101]
    >>> float(solved.drop_shares[0].round(2))
    0.51
    """
    sizes = numbers("buffers", buffers, at_least=1, at_most=1e9, whole=True)
    if sizes.ndim == 0 or not 1 <= sizes.shape[-1] <= MAX_NODES:
        raise ParameterError(
            "buffers", f"buffers must be a list of one buffer per node, 1 to {MAX_NODES} nodes"
        )
    busy = np.full(sizes.shape, 0.5)
    for _ in range(_ITERATIONS):
        served, first, arrival, gap = _relay_transitions(busy)
        empty = _empty(sizes, served, first, gap)
        change = float(np.max(np.abs(1.0 - empty - busy), initial=0.0))
        busy = (1.0 - _DAMPING) * busy + _DAMPING * (1.0 - empty)
        if change < _TOLERANCE:
            break
    else:
        raise ConvergenceError(
            f"the relays' queues did not settle (last change {change:.1e}); use smaller buffers"
        )
    served, first, arrival, gap = _relay_transitions(busy)
    empty = _empty(sizes, served, first, gap)
    full = empty * (first / served) * _power_from_gap(gap / served, sizes - 1.0)
    return RelayQueues(
        empty=finished("π_0", empty),
        full=finished("π_b", full),
        arrival=finished("p_1,+", arrival),
        drops=finished("drops", full * arrival),
        delivered=finished("delivered", (1.0 - empty) * served),
    )


def _relay_transitions(
    busy: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return p_0, p_1,0, p_1,+ and ``p_0 - p_1,+`` of every node.

    The Poisson-binomial mean ``E[1/(c + S)]`` is ``∫_0^1 t^(c-1) Π_j (1 - q_j + q_j t) dt``, a
    polynomial's integral, for which Gauss-Legendre quadrature of enough points is exact; every term
    is positive.
    """
    nodes = busy.shape[-1]
    abscissae, weights = np.polynomial.legendre.leggauss(nodes // 2 + 2)
    t, weight = (abscissae + 1.0) / 2.0, weights / 2.0
    parent = np.concatenate([np.ones_like(busy[..., :1]), busy[..., :-1]], axis=-1)
    # One factor per node, the source (a factor of t) first; then the product of all but i and i-1.
    factors = 1.0 - busy[..., np.newaxis] * (1.0 - t)
    source = np.broadcast_to(t, factors[..., :1, :].shape)
    factors = np.concatenate([source, factors], axis=-2)
    ones = np.ones_like(factors[..., :1, :])
    before = np.concatenate([ones, np.cumprod(factors, axis=-2)], axis=-2)
    after = np.cumprod(factors[..., ::-1, :], axis=-2)[..., ::-1, :]
    after = np.concatenate([after[..., 2:, :], ones], axis=-2)
    others = before[..., :nodes, :] * after
    one_more = (others * weight).sum(axis=-1)
    two_more = (others * weight * t).sum(axis=-1)
    first, arrival = parent * one_more, parent * two_more
    gap = (1.0 - parent) * one_more
    return arrival + gap, first, arrival, gap


def _empty(sizes: FloatArray, served: FloatArray, first: FloatArray, gap: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + first / served * _geometric_sum(gap / served, sizes))


def _power_from_gap(gap: FloatArray, exponent: FloatArray) -> FloatArray:
    """Return ``(1 - gap)^exponent``, accurate for small gaps."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.exp(exponent * np.log1p(-gap))
    # 0 · log 0, if no packet arrives.
    result: FloatArray = np.where(exponent == 0.0, 1.0, power)
    return result


def _geometric_sum(gap: FloatArray, terms: FloatArray) -> FloatArray:
    """Return ``Σ_{k=1}^{terms} ρ^(k-1)`` with ρ = 1 - gap, from 0 to 1."""
    with np.errstate(divide="ignore"):
        missing = -np.expm1(terms * np.log1p(-gap))
    tiny = gap * terms < 1e-300
    return np.where(tiny, terms, missing / np.where(tiny, 1.0, gap))


def independence_caution(buffers: Sequence[float]) -> str | None:
    """Return what the figures of a line lack if its nodes are taken as independent; None if not.

    Bounds from simulations of lines of up to fifty nodes.

    >>> independence_caution([3, 3, 3, 3]) is None
    True
    """
    if can_follow(buffers):
        return None
    least = min(buffers)
    low = "2 %"
    for below, words in ((10, "a tenth"), (3, "a fifth"), (2, "three fifths")):
        low = words if least < below else low
    return (
        "the queues have too many combinations of lengths to follow them together, and nodes are "
        f"taken as independent: delivered_share is too low, by up to {low}, and the first node's "
        "share of the drops by up to a tenth"
    )


def _evaluate(buffers: Sequence[float]) -> dict[str, Any]:
    # Before the number of combinations is asked for.
    sizes = numbers("buffers", buffers, at_least=1, at_most=1e9, whole=True).tolist()
    followed = bool(sizes) and can_follow(sizes)
    solved = joint_queues(sizes) if followed else relay_queues(sizes)
    return {
        "full_probability": solved.full.tolist(),
        "full_limit": full_limit(buffers).tolist(),
        "empty_probability": solved.empty.tolist(),
        "drop_share": solved.drop_shares.tolist(),
        "delivered_share": float(solved.delivered[-1]),
        "caution": independence_caution(sizes),
    }


MODEL = Model(
    name="mesh-chain",
    summary="Drops of a line of relays, by node, given their buffers (MESH 4.2, with a source).",
    parameters=(
        Parameter(
            "buffers", "b_i: buffer of each node from the source", [3, 3, 3, 3], Kind.NUMBERS
        ),
    ),
    outputs=(
        Output("full_probability", "π_b: a node's buffer is full"),
        Output("full_limit", "1/(b + 1), which the paper uses instead"),
        Output("empty_probability", "π_0: a node has nothing to send"),
        Output("drop_share", "each node's share of all drops by overflow"),
        Output("delivered_share", "share of transmission opportunities that deliver a packet"),
        Output("caution", "what an approximation lacks, where there are too many states"),
    ),
    evaluate=_evaluate,
    example="buffers=2,2,3,3",
    valid=(
        "For nodes that all hear each other and lose packets by overflow only; with losses by "
        "collisions too, measured shares differ. Exact up to some thousand combinations of queue "
        "lengths; beyond, nodes are taken as independent (see caution). The chain as printed has no "
        "solution."
    ),
)
