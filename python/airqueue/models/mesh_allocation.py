"""Dividing the buffer B of a mesh's bottleneck among its M nodes (MESH section 4.2).

A packet that is dropped late has used more of the network, so node i weighs its probability of a
full buffer, 1/(b_i + 1), with a cost c_i; in the paper c_i is i, the hops from the source:

    minimise  f(b) = Σ c_i/(b_i + 1)      subject to  Σ b_i = B,  b_i >= minimum

At the optimum ``c_i/(b_i + 1)² = ν`` (Lagrange) wherever b_i is above the minimum, so

    b_i = sqrt(c_i) (B + M)/Σ_j sqrt(c_j) - 1

The paper's Eq. (15) has B + 5, which is right for M = 5 only; Eq. (14), ∂f/∂b_i = 0, leaves out the
constraint. Its published buffers are those of the ratio ``b_i ~ sqrt(i)``, Eq. (16), to the nearest
whole packet, which need not add up to B.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, choice, finished, number, numbers
from airqueue.models.errors import ParameterError

MAX_PACKETS: Final = 1e9
MAX_NODES: Final = 10_000
_SUM_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Allocation:
    """Buffers of the nodes, in the order from the source."""

    packets: FloatArray
    """b_i; the last axis is the nodes."""
    total_packets: FloatArray
    """B, rounded to whole packets if the buffers are whole."""

    @property
    def sum_holds(self) -> bool:
        """Whether Σ b_i = B, for every B of a sweep."""
        difference = np.abs(self.packets.sum(axis=-1) - self.total_packets)
        return bool(np.all(difference <= _SUM_TOLERANCE * (1.0 + self.total_packets)))


def hop_costs(nodes: int) -> FloatArray:
    """Return the paper's costs: i for the i-th node of the bottleneck, Eq. (8).

    >>> hop_costs(4).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return np.arange(1.0, _nodes(nodes) + 1.0)


def airtime_costs(airtimes_s: Sequence[float] | FloatArray, *, path: bool = False) -> FloatArray:
    """Return costs for links of different rates: ``i · a_i``, or with ``path`` ``a_1 + ... + a_i``.

    airtimes_s: a_i, air time of a packet on the link of node i. With equal rates both are the
    paper's cost times a constant, which changes no buffer. ``i · a_i`` weighs the paper's cost by
    the air time of a packet at the node; the sum over the path is the air time that a packet has
    used up to and including its transmission by node i.

    >>> airtime_costs([1e-3, 4e-3]).tolist()
    [0.001, 0.008]
    """
    airtimes = numbers("airtimes_s", airtimes_s, above=0, at_most=1e3)
    if airtimes.ndim != 1 or not 1 <= len(airtimes) <= MAX_NODES:
        raise ParameterError("airtimes_s", "airtimes_s must be a list of one time per node")
    return np.cumsum(airtimes) if path else airtimes * hop_costs(len(airtimes))


def drop_cost(packets: Numbers, costs: Numbers) -> FloatArray:
    """Return the objective ``f(b) = Σ c_i/(b_i + 1)``, over the last axis.

    >>> float(drop_cost([1, 2, 3, 4], hop_costs(4)).round(4))
    2.7167
    """
    buffers = numbers("packets", packets, at_least=0, at_most=MAX_PACKETS)
    return finished("f", np.sum(_costs(costs, buffers.shape[-1:]) / (buffers + 1.0), axis=-1))


def continuous_optimum(
    total_packets: Numbers, costs: Numbers, minimum_packets: float = 0.0
) -> FloatArray:
    """Return the optimum in real numbers; shape of ``total_packets``, and a last axis for the nodes.

    A node for which the equation gives less than ``minimum_packets`` gets the minimum and leaves the
    sums, and the others are computed again until no node is below.

    Raises ParameterError if ``total_packets`` is less than the minimum of all nodes.

    >>> continuous_optimum(10, hop_costs(4)).round(2).tolist()
    [1.28, 2.22, 2.95, 3.56]
    """
    weights, packets = _problem(total_packets, costs, minimum_packets)
    roots = np.sqrt(weights)
    nodes = len(weights)
    # By rising cost, the nodes at the minimum are the first k: find the smallest k that leaves the
    # next node above it. left[k] packets then go to the nodes from k on.
    order = np.argsort(roots, kind="stable")
    ascending = roots[order]
    behind = np.cumsum(ascending[::-1])[::-1]
    k = np.arange(nodes)
    left = packets[..., np.newaxis] - k * minimum_packets + (nodes - k)
    enough = ascending * left / behind - 1.0 >= minimum_packets
    # The last node alone gets at least the minimum, up to rounding.
    enough[..., -1] = True
    first = np.argmax(enough, axis=-1)[..., np.newaxis]
    scale = np.take_along_axis(left / behind, first, axis=-1)
    sorted_buffers = np.where(
        k < first, minimum_packets, np.maximum(minimum_packets, ascending * scale - 1.0)
    )
    buffers = np.empty_like(sorted_buffers)
    buffers[..., order] = sorted_buffers
    return finished("b", buffers)


def printed_equation_15(total_packets: Numbers, nodes: int) -> FloatArray:
    """Return the paper's Eq. (15) as printed, with B + 5 for any M; it adds up to B for M = 5 only.

    For small B and large M the result is negative and is returned unchanged.

    >>> float(printed_equation_15(10, 4).sum().round(9))
    11.0
    """
    roots = np.sqrt(hop_costs(nodes))
    packets = _total(total_packets)[..., np.newaxis]
    return finished("b", roots * (packets + 5.0) / roots.sum() - 1.0)


def ratio(total_packets: Numbers, costs: Numbers) -> FloatArray:
    """Return Eq. (16), ``b_i = B sqrt(c_i)/Σ sqrt(c_j)``: the optimum's limit for large B.

    >>> ratio(10, hop_costs(4)).round(2).tolist()
    [1.63, 2.3, 2.82, 3.25]
    """
    weights, packets = _problem(total_packets, costs, 0.0)
    roots = np.sqrt(weights)
    return finished("b", packets[..., np.newaxis] * (roots / roots.sum()))


def to_nearest(packets: Numbers) -> FloatArray:
    """Return whole packets, halves upwards, as the paper rounds; the sum may change.

    >>> to_nearest([1.63, 2.3, 2.82, 3.25]).tolist()
    [2.0, 2.0, 3.0, 3.0]
    """
    return finished("b", np.floor(numbers("packets", packets, at_least=0) + 0.5))


def largest_remainder(packets: Sequence[float] | FloatArray) -> FloatArray:
    """Return whole packets with the sum kept (rounded if it is not whole): down, then one more each
    to those with the largest remainders, the later node of two equal ones.

    >>> largest_remainder([2.44, 3.45, 4.23, 4.88]).tolist()
    [2.0, 4.0, 4.0, 5.0]
    """
    exact = numbers("packets", packets, at_least=0, at_most=MAX_PACKETS)
    if exact.ndim != 1:
        raise ParameterError("packets", "packets must be a list of one buffer per node")
    whole = np.floor(exact)
    missing = int(np.floor(exact.sum() + 0.5) - whole.sum())
    later_first = np.lexsort((-np.arange(len(exact)), -(exact - whole).round(12)))
    whole[later_first[:missing]] += 1.0
    return whole


def integer_optimum(total_packets: float, costs: Numbers, minimum_packets: int = 0) -> FloatArray:
    """Return whole packets that minimise f: every packet goes where it lowers f most.

    The k-th packet of node i is worth ``c_i/k - c_i/(k+1) = c_i/(k (k+1))``, less than the one
    before: f is separable and convex, so the greedy choice of the B best packets is optimal. Between
    packets of equal worth the earlier node's is taken. All packets worth more than a threshold, found
    by bisection, are taken at once, so the work does not grow with B.

    >>> integer_optimum(10, hop_costs(4)).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    weights, packets = _problem(total_packets, costs, minimum_packets)
    least = numbers("minimum_packets", minimum_packets, at_least=0, whole=True)
    if packets.ndim or packets != np.floor(packets):
        raise ParameterError(
            "total_packets",
            f"total_packets is {total_packets}; it must be one whole number of packets",
        )
    buffers = _worth_more_than_a_threshold(weights, float(packets), float(least))
    heap = [
        (-c / ((b + 1.0) * (b + 2.0)), i)
        for i, (c, b) in enumerate(zip(weights, buffers, strict=True))
    ]
    heapq.heapify(heap)
    for _ in range(int(packets - buffers.sum())):
        _, node = heap[0]
        buffers[node] += 1.0
        worth = weights[node] / ((buffers[node] + 1.0) * (buffers[node] + 2.0))
        heapq.heapreplace(heap, (-worth, node))
    return buffers


def _worth_more_than_a_threshold(weights: FloatArray, total: float, least: float) -> FloatArray:
    """Return at most ``total`` packets, each worth more than any packet left out."""

    def taken(log_worth: float) -> FloatArray:
        # The largest k with k (k+1) < c/worth, from the quadratic equation.
        quotient = np.exp(np.minimum(np.log(weights) - log_worth, 700.0))
        found: FloatArray = np.maximum(
            least, np.ceil((np.sqrt(1.0 + 4.0 * quotient) - 1.0) / 2) - 1.0
        )
        return found

    high = float(np.log(weights.max()))
    low = float(np.log(weights.min())) - 2.0 * np.log(total + 2.0)
    for _ in range(64):
        middle = (low + high) / 2.0
        if taken(middle).sum() > total:
            low = middle
        else:
            high = middle
    return taken(high)


def equal(total_packets: Numbers, nodes: int) -> FloatArray:
    """Return B/M for every node, the paper's comparison in Fig. 8.

    >>> equal(12, 4).tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    count = _nodes(nodes)
    return np.repeat(_total(total_packets)[..., np.newaxis] / count, count, axis=-1)


def first_hop_drops(total_packets: Numbers, nodes: int, minimum_packets: float = 1.0) -> FloatArray:
    """Return buffers that move the drops to the first hop, an alternative in the paper's outlook.

    The first node gets the minimum, so that excess packets are dropped before they use any air of the
    relays; the relays share the rest equally. A single node gets everything.

    >>> first_hop_drops(10, 4).tolist()
    [1.0, 3.0, 3.0, 3.0]
    """
    count = _nodes(nodes)
    _, packets = _problem(total_packets, hop_costs(count), minimum_packets)
    if count == 1:
        return equal(packets, 1)
    relays = equal(packets - minimum_packets, count - 1)
    first = np.full((*packets.shape, 1), float(minimum_packets))
    return np.concatenate([first, relays], axis=-1)


def _nodes(nodes: float) -> int:
    return int(number("nodes", nodes, at_least=1, at_most=MAX_NODES, whole=True))


def _total(total_packets: Numbers) -> FloatArray:
    return numbers("total_packets", total_packets, at_least=0, at_most=MAX_PACKETS)


def _costs(costs: Numbers, shape: tuple[int, ...]) -> FloatArray:
    weights = numbers("costs", costs, above=0)
    if (
        weights.ndim != 1
        or not 1 <= len(weights) <= MAX_NODES
        or (shape and weights.shape != shape)
    ):
        expected = f"{shape[0]}" if shape else f"1 to {MAX_NODES:,}"
        raise ParameterError("costs", f"costs must be a list of one per node: {expected}")
    return numbers("costs", weights, at_least=1e-100, at_most=1e100)


def _problem(
    total_packets: Numbers, costs: Numbers, minimum_packets: float
) -> tuple[FloatArray, FloatArray]:
    weights, packets = _costs(costs, ()), _total(total_packets)
    least = float(
        numbers("minimum_packets", minimum_packets, at_least=0, at_most=MAX_PACKETS)
    ) * len(weights)
    return weights, numbers("total_packets", packets, at_least=least)


STRATEGIES: Final[Mapping[str, str]] = {
    "ratio": "Eq. (16), the paper's buffers",
    "optimum": "the optimum of Eqs (8) to (13) with the constraint",
    "printed": "Eq. (15) as printed",
    "equal": "B/M",
    "first-hop": "drops on the first hop: the least there",
    "airtime": "the optimum for cost i · air time of hop i",
    "airtime-path": "the optimum for the cost of all air time up to the hop",
}
ROUNDINGS: Final = ("nearest", "largest-remainder", "best", "none")


def allocate(
    total_packets: float,
    nodes: int,
    strategy: str = "ratio",
    rounding: str = "nearest",
    *,
    minimum_packets: float = 0.0,
    airtimes_s: Sequence[float] | FloatArray | None = None,
) -> Allocation:
    """Divide B packets among M nodes by one of `STRATEGIES`.

    rounding: "nearest" as in the paper, "largest-remainder" (keeps the sum), "best" (whole packets
    that minimise f; for the strategies that are an optimum), "none"; but for "none" B itself is
    first rounded to whole packets, a half up. minimum_packets: of every node,
    1 for a relay that must pass packets on; the optima respect the minimum, the others are raised to
    it, which may break the sum; if B is too small, every node has the minimum. A minimum that is not
    whole is rounded up unless rounding is "none". airtimes_s: air time of a packet on each hop, for
    the air-time strategies.

    >>> allocate(10, 4).packets.tolist()
    [2.0, 2.0, 3.0, 3.0]
    >>> allocate(10, 4, "optimum", "best").packets.tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    choice("strategy", strategy, tuple(STRATEGIES))
    choice("rounding", rounding, ROUNDINGS)
    packets = _total(total_packets)
    if packets.ndim:
        raise ParameterError("total_packets", "total_packets is a list; it must be one number")
    least = number("minimum_packets", minimum_packets, at_least=0, at_most=MAX_PACKETS)
    if rounding != "none":
        least = math.ceil(least)
    goal = packets if rounding == "none" else np.floor(packets + 0.5)
    costs = _strategy_costs(strategy, nodes, airtimes_s)
    if rounding == "best" and _EXACT[strategy] is not continuous_optimum:
        raise ParameterError(
            "rounding", f"rounding best is not for {strategy}; use nearest or largest-remainder"
        )
    if packets < least * len(costs):
        return Allocation(np.full(len(costs), float(least)), goal)
    if rounding == "best":
        return Allocation(integer_optimum(float(goal), costs, int(least)), goal)
    exact = _EXACT[strategy](packets, costs, least)
    if rounding != "none":
        exact = np.maximum(exact, 0.0)
        exact = to_nearest(exact) if rounding == "nearest" else largest_remainder(exact)
    return Allocation(np.maximum(exact, least), goal)


def _strategy_costs(
    strategy: str, nodes: int, airtimes_s: Sequence[float] | FloatArray | None
) -> FloatArray:
    if not strategy.startswith("airtime"):
        return hop_costs(nodes)
    if airtimes_s is None:
        raise ParameterError("airtimes_s", f"airtimes_s is missing; {strategy} needs one per node")
    costs = airtime_costs(airtimes_s, path=strategy == "airtime-path")
    if len(costs) != _nodes(nodes):
        raise ParameterError("airtimes_s", f"there are {len(costs)} airtimes_s for {nodes} nodes")
    return costs


_EXACT: Final[Mapping[str, Callable[[FloatArray, FloatArray, float], FloatArray]]] = {
    "ratio": lambda total, costs, _minimum: ratio(total, costs),
    "optimum": continuous_optimum,
    "printed": lambda total, costs, _minimum: printed_equation_15(total, len(costs)),
    "equal": lambda total, costs, _minimum: equal(total, len(costs)),
    "first-hop": lambda total, costs, minimum: first_hop_drops(
        total, len(costs), min(max(minimum, 1.0), float(total) / len(costs))
    ),
    "airtime": continuous_optimum,
    "airtime-path": continuous_optimum,
}


def _evaluate(
    *,
    total_packets: float,
    nodes: float,
    strategy: str,
    rounding: str,
    minimum_packets: float,
    airtimes_s: Sequence[float] | None,
) -> dict[str, Any]:
    found = allocate(
        total_packets,
        int(_nodes(nodes)),
        strategy,
        rounding,
        minimum_packets=minimum_packets,
        airtimes_s=airtimes_s,
    )
    positive = np.maximum(found.packets, 0.0)
    costs = _strategy_costs(strategy, int(nodes), airtimes_s)
    return {
        "buffers_packets": found.packets.tolist(),
        "sum_packets": float(found.packets.sum()),
        "sum_holds": found.sum_holds,
        "drop_cost": float(drop_cost(positive, costs)),
    }


MODEL = Model(
    name="mesh-allocation",
    summary="Shares of a mesh's bottleneck buffer, by the cost of a drop at each node (MESH 4.2).",
    parameters=(
        Parameter("total_packets", "B: packets to divide, as from mesh-buffer"),
        Parameter("nodes", "M: nodes, in the order from the source", 4, Kind.WHOLE),
        Parameter("strategy", "how", "ratio", Kind.CHOICE, tuple(STRATEGIES)),
        Parameter("rounding", "to whole packets", "nearest", Kind.CHOICE, ROUNDINGS),
        Parameter("minimum_packets", "least buffer of a node", 0.0),
        Parameter("airtimes_s", "air time of a packet on each hop", None, Kind.DURATIONS),
    ),
    outputs=(
        Output("buffers_packets", "b_i of each node from the source"),
        Output("sum_packets", "Σ b_i"),
        Output("sum_holds", "whether the sum is B, rounded for whole packets"),
        Output("drop_cost", "f(b): Σ cost/(b_i + 1), to compare strategies of the same cost"),
    ),
    evaluate=_evaluate,
    example="total_packets=10 nodes=4",
    valid=(
        "The objective takes every buffer to be full with probability 1/(b + 1), as if each node "
        "were nearly always backlogged; mesh-chain drops this assumption. Eq. (16) needs B >> M."
    ),
)
