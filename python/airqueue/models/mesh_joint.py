"""Queues of relays in a line, followed together: the Markov chain of all lengths at once, exact.

The process of `airqueue.models.mesh_chain.relay_queues`: one domain, a source that always has a
packet, and the next sender is any of the busy nodes and the source with equal probability. Its packet
joins the next node's queue or is lost there if that queue is full. The state has the lengths of all
queues, ``Π (b_i + 1)`` of them, so nothing has to be taken as independent.

A step changes a queue by at most one packet, so the states fall into levels by the length of the
longest queue, and a step leads to the same or a neighbouring level. With A the probabilities of a
step up, within a level and down:

    π_k = π_{k-1} R_k,  R_k = A_up (I - A_same - R_{k+1} A_down)^-1,  π_0 (A_same + R_1 A_down) = π_0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from airqueue.models.checks import FloatArray, Numbers, finished, numbers
from airqueue.models.errors import ParameterError

MAX_NODES: Final = 100
MOST_STATES: Final = 20_000
_MOST_WORK: Final = 1.5e10
"""Levels times the cube of their states: about a second of one core."""


@dataclass(frozen=True, slots=True)
class RelayQueues:
    """The solved chain; the last axis of each field is the nodes 1..M from the source."""

    empty: FloatArray
    """π_0, the probability that a node has nothing to send."""
    full: FloatArray
    """π_b, the probability that a node's buffer is full."""
    arrival: FloatArray
    """p_1,+: a packet comes while the node is busy."""
    drops: FloatArray
    """Packets dropped per transmission opportunity; π_b p_1,+, Eq. (7), for independent nodes."""
    delivered: FloatArray
    """(1 - π_0) p_0: packets that the node sends per transmission opportunity."""

    @property
    def drop_shares(self) -> FloatArray:
        """Each node's share of all drops."""
        return finished("share", self.drops / self.drops.sum(axis=-1, keepdims=True))


class _Step(NamedTuple):
    """What one step does, for each state and sender; senders are the source (0) and the nodes."""

    chance: FloatArray
    """Probability of the step; 0 for a node without packets."""
    after: FloatArray
    """Lengths after the step; axes states, senders, nodes."""
    lost: FloatArray
    """1 where the packet is lost at the next node."""


def can_follow(buffers: Sequence[float]) -> bool:
    """Return whether there are few enough states for `joint_queues`.

    >>> can_follow([3, 3, 3, 3]), can_follow([3] * 20)
    (True, False)
    """
    # As floats, which may be large, but do not overflow in a sum of logarithms.
    logarithms = [math.log(size + 1.0) for size in buffers]
    states, levels = sum(logarithms), max(logarithms)
    fits = 3.0 * states - 2.0 * levels <= math.log(_MOST_WORK)
    return fits and states <= math.log(MOST_STATES)


def joint_queues(buffers: Numbers) -> RelayQueues:
    """Solve the chain of all queues of one line of relays, exactly.

    buffers: b_i, packets, at least 1, of the nodes in the order from the source; one line. Valid for
    one domain in which all nodes hear each other, losses by overflow only. Raises ParameterError,
    also if there are too many states (`can_follow`).

    >>> joint_queues([1, 1, 1]).delivered.round(4).tolist()
    [0.2286, 0.1714, 0.1429]
    """
    sizes = numbers("buffers", buffers, at_least=1, at_most=1e9, whole=True)
    if sizes.ndim != 1 or not 1 <= len(sizes) <= MAX_NODES:
        raise ParameterError(
            "buffers", f"buffers must be a list of one buffer per node, 1 to {MAX_NODES} nodes"
        )
    if not can_follow(sizes.tolist()):
        raise ParameterError(
            "buffers",
            f"buffers have some 10^{np.log10(sizes + 1.0).sum():.0f} combinations of lengths, too "
            "many to follow together; use fewer nodes or smaller buffers",
        )
    longest = int(np.argmax(sizes))
    # The longest queue's length is the level, and comes first in the order of the states.
    order = np.argsort(np.arange(len(sizes)) != longest, kind="stable")
    shape = sizes[order].astype(np.intp) + 1
    lengths = np.empty((int(shape.prod()), len(sizes)))
    lengths[:, order] = np.indices(tuple(shape)).reshape(len(sizes), -1).T
    step = _steps(lengths, sizes)
    after = np.ravel_multi_index(
        tuple(np.moveaxis(step.after[..., order], -1, 0).astype(np.intp)), tuple(shape)
    )
    probability = _stationary(step.chance, after, int(shape[0]))
    return _queues(lengths, sizes, step, probability)


def _steps(lengths: FloatArray, sizes: FloatArray) -> _Step:
    states, nodes = lengths.shape
    busy = np.concatenate([np.ones((states, 1)), lengths > 0], axis=1)
    chance = busy / busy.sum(axis=1, keepdims=True)
    after = np.repeat(lengths[:, np.newaxis, :], nodes + 1, axis=1)
    lost = np.zeros((states, nodes + 1))
    for sender in range(nodes + 1):
        if sender > 0:
            after[:, sender, sender - 1] -= busy[:, sender]
        if sender < nodes:
            full = lengths[:, sender] == sizes[sender]
            lost[:, sender] = full
            after[:, sender, sender] += (busy[:, sender] > 0) & ~full
    return _Step(chance, after, lost)


def _stationary(chance: FloatArray, after: FloatArray, levels: int) -> FloatArray:
    """Return the stationary probabilities of the states, which are in the order of their levels."""
    wide = len(chance) // levels

    def moves(level: int, change: int) -> FloatArray:
        """Probabilities of steps from a level to the one ``change`` above."""
        matrix = np.zeros((wide, wide))
        rows = slice(level * wide, (level + 1) * wide)
        to = after[rows] - (level + change) * wide
        state, sender = np.nonzero((to >= 0) & (to < wide))
        np.add.at(matrix, (state, to[state, sender].astype(np.intp)), chance[rows][state, sender])
        return matrix

    ratios: list[FloatArray] = []
    inside = moves(levels - 1, 0)
    for level in range(levels - 1, 0, -1):
        solved = np.linalg.solve((np.eye(wide) - inside).T, moves(level - 1, 1).T).T
        ratios.append(np.asarray(solved, dtype=np.float64))
        inside = moves(level - 1, 0) + ratios[-1] @ moves(level, -1)
    # One equation of the first level follows from the others: the sum of its states takes its place.
    balance = inside.T - np.eye(wide)
    balance[-1] = 1.0
    found: list[FloatArray] = [np.linalg.solve(balance, np.append(np.zeros(wide - 1), 1.0))]
    for ratio in reversed(ratios):
        found.append(found[-1] @ ratio)
    probability = np.maximum(np.concatenate(found), 0.0)
    result: FloatArray = probability / probability.sum()
    return result


def _queues(
    lengths: FloatArray, sizes: FloatArray, step: _Step, probability: FloatArray
) -> RelayQueues:
    empty, busy = lengths == 0, lengths > 0
    # A node's packets come from the sender before it.
    coming, sent = step.chance[:, :-1], step.chance[:, 1:]
    busy_share = probability @ busy
    return RelayQueues(
        empty=finished("π_0", probability @ empty),
        full=finished("π_b", probability @ (lengths == sizes)),
        arrival=finished("p_1,+", (probability @ (coming * busy)) / busy_share),
        drops=finished("drops", probability @ (step.chance * step.lost)[:, :-1]),
        delivered=finished("delivered", probability @ sent),
    )
