"""The modified Engset queue: users who think, then share a capacity that depends on their number.

HTTP paper, Eqs (16), (17), with any capacity curve C_k. With a constant curve it is the processor
sharing model of Shankaranarayanan, Jiang and Mishra for EDGE.

**Insensitivity.** The queue is a closed network of an infinite server (the users who think) and one
station whose server works at C_k and splits C_k evenly among its k sessions. Both are symmetric
in Kelly's sense, so π_k, and with it the mean delay, depends on the distributions of size and of
think time through their means alone. The condition is the even split at every instant, which the
paper's W* = 1 nearly meets. A first-come-first-served server, or sessions that get more than others
(large windows over one FIFO), do not have this property: variable sizes then increase the delay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import (
    FORMS,
    FloatArray,
    Numbers,
    broadcast,
    called,
    choice,
    finished,
    number,
    numbers,
)
from airqueue.models.errors import ConvergenceError, ParameterError

_SIZE_BITS: Final = (1e-3, 1e18)
"""Least and greatest mean size."""

Capacity: TypeAlias = Callable[[FloatArray], Numbers] | Numbers
"""C_k in bit/s: a number for all k, an array with C_1, C_2, ... along its first axis, or a function.

The function is called once with k = 1 .. n-1 along the first axis and as many axes of length one
behind it as the other parameters have, and returns what broadcasts to both.
"""

_MOST_NODES = 100_000
_MOST_VALUES = 1 << 26
"""States times points of a sweep: more would not fit in memory."""
_BALANCE = 1e-9
"""Relative difference between arrivals and departures that rounding may cause."""


@dataclass(frozen=True, slots=True)
class Engset:
    """The queue in equilibrium. All but the first have the parameters' shape."""

    probabilities: FloatArray
    """π_k, k = 0 .. n-1 along the first axis (0 beyond a point's own n-1)."""
    mean_active: FloatArray
    """E[Y], sessions in progress."""
    arrivals_per_s: FloatArray
    """λ̄, sessions that begin, and that end, per second."""
    mean_delay_s: FloatArray
    """E[Y]/λ̄, from the start of a session to its end."""


def engset(
    n: Numbers,
    think_s: Numbers,
    mean_size_bits: Numbers,
    capacity: Capacity,
    *,
    normalisation: str = "corrected",
    arrivals: str = "corrected",
) -> Engset:
    """Solve Eqs (16), (17): n-1 users think for 1/λ, then transfer E[X] bits at C_k/k each.

        π_k = w_k/Σw,  w_0 = 1,  w_k = w_{k-1} λ(n-k)/μ_k,  μ_k = C_k/E[X]
        E[Y] = Σ k π_k,  λ̄ = λ Σ (n-1-k) π_k = Σ μ_k π_k,  E[T] = E[Y]/λ̄

    n: nodes, the access point among them, so n-1 users; from 2. think_s: mean think time 1/λ.
    mean_size_bits: E[X]. capacity: C_k, see `Capacity`.

    The print has two errors, which can be reproduced. ``normalisation="printed"`` multiplies by
    Σw in Eq. (16), where it must divide: the π_k then do not sum to 1 (E[Y]/λ̄ does not notice).
    ``arrivals="printed"`` takes λ̄ = λ Σ (k+1) π_k over k <= n-2, an index reversed: π_k has to be
    π_{n-2-k}. At 11 nodes the paper's cell would then need 1.004 s instead of 0.115 s.

    Sizes and think times may have any distribution (see the module). Users are independent and have
    at most one session each. Raises ParameterError, and ConvergenceError where a capacity is not
    positive or arrivals and departures do not balance (parameters too extreme for floating point).

    >>> queue = engset(3, think_s=10, mean_size_bits=1e6, capacity=[1e6, 2e6])
    >>> float(queue.mean_delay_s.round(6))  # the capacity grows with the users: nobody waits
    1.0
    """
    nodes = numbers("n", n, at_least=2, at_most=_MOST_NODES, whole=True)
    think = numbers("think_s", think_s, at_least=1e-12, at_most=1e12)
    size = numbers("mean_size_bits", mean_size_bits, at_least=_SIZE_BITS[0], at_most=_SIZE_BITS[1])
    broadcast(n=nodes, think_s=think, mean_size_bits=size)
    served_per_s = _service_rates(capacity, nodes, think, size)
    states = np.arange(served_per_s.shape[0] + 1.0)
    states = states.reshape(-1, *(1,) * (served_per_s.ndim - 1))
    thinking = np.maximum(nodes - 1.0 - states, 0.0)
    pi = _probabilities(thinking / think, served_per_s)
    active = (states * pi).sum(axis=0)
    rate = (thinking * pi).sum(axis=0) / think
    _assert_balance(rate, (served_per_s * pi[1:]).sum(axis=0))
    if choice("arrivals", arrivals, FORMS) == "printed":
        rate = ((states + 1.0) * pi * (thinking > 0)).sum(axis=0) / think
    if choice("normalisation", normalisation, FORMS) == "printed":
        # π_0 is 1/Σw, so w_k Σw is π_k/π_0².
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            squared = pi[0] ** 2
            pi, active, rate = pi / squared, active / squared, rate / squared
    with np.errstate(invalid="ignore"):
        delay = active / rate
    return Engset(
        finished("π", pi),
        finished("E[Y]", active),
        finished("λ̄", rate),
        finished("E[Y]/λ̄", delay),
    )


def _service_rates(
    capacity: Capacity, nodes: FloatArray, think: FloatArray, size: FloatArray
) -> FloatArray:
    """Return μ_k along the first axis, broadcast to the shape of all parameters and the curve."""
    most = int(nodes.max(initial=2)) - 1
    shape = np.broadcast_shapes(nodes.shape, think.shape, size.shape)
    if callable(capacity):
        users = np.arange(1.0, most + 1.0).reshape(-1, *(1,) * len(shape))
        curve = np.asarray(capacity(users), dtype=np.float64)
    else:
        curve = numbers("capacity", capacity)
    if curve.ndim == 0:
        curve = np.broadcast_to(curve, (most,))
    if curve.shape[0] < most:
        raise ParameterError(
            "capacity",
            f"capacity has {curve.shape[0]} values; {most + 1} nodes need C_1 to C_{most}",
        )
    # The axes after the first belong to the other parameters: align them from the end.
    curve = curve[:most].reshape(most, *(1,) * (1 + len(shape) - curve.ndim), *curve.shape[1:])
    try:
        shape = np.broadcast_shapes(shape, curve.shape[1:])
    except ValueError as error:
        raise ParameterError(
            "capacity",
            f"capacity has shape {curve.shape}; behind its first axis it must fit {shape}",
        ) from error
    if most * max(int(np.prod(shape)), 1) > _MOST_VALUES:
        raise ParameterError(
            "n", f"n asks for {most} states at each of {int(np.prod(shape))} points; use fewer"
        )
    numbers("capacity", curve, at_least=1e-9, at_most=1e18)
    return np.broadcast_to(curve / size, (most, *shape))


def _probabilities(born_per_s: FloatArray, served_per_s: FloatArray) -> FloatArray:
    """Return π_k: the birth-death chain in logarithms, since w_k may leave floating point."""
    weights = np.zeros((served_per_s.shape[0] + 1, *served_per_s.shape[1:]))
    # A point with fewer users than the largest has a birth rate of 0 and so a weight of exp(-inf).
    with np.errstate(divide="ignore"):
        np.log(born_per_s[:-1] / served_per_s, out=weights[1:])
    np.cumsum(weights, axis=0, out=weights)
    weights -= weights.max(axis=0)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=0)
    return weights


def _assert_balance(arrivals: FloatArray, departures: FloatArray) -> None:
    """Raise ConvergenceError unless as many sessions end as begin."""
    if not np.all(np.abs(arrivals - departures) <= _BALANCE * arrivals):
        raise ConvergenceError(
            "arrivals and departures do not balance in floating point; use less extreme "
            "think times, sizes or capacities"
        )


def size_bits(size_bytes: float, name: str = "size_bytes") -> float:
    """Return a mean size in bits, as `engset` takes one. Raises ParameterError by the given name."""
    low, high = (bits / 8 for bits in _SIZE_BITS)
    return 8.0 * number(name, size_bytes, at_least=low, at_most=high)


def _evaluate(
    n: int, think_s: float, size_bytes: float, capacity_bps: Sequence[float]
) -> dict[str, Figure]:
    curve = numbers("capacity_bps", capacity_bps)
    if curve.size == 0:
        raise ParameterError("capacity_bps", "capacity_bps is empty; it must be at least one rate")
    with called({"capacity": "capacity_bps"}):
        queue = engset(
            n,
            think_s,
            size_bits(size_bytes),
            lambda k: curve[np.minimum(k, curve.size).astype(np.int64) - 1],
        )
    return {
        "mean_delay_s": float(queue.mean_delay_s),
        "mean_active": float(queue.mean_active),
        "arrivals_per_s": float(queue.arrivals_per_s),
        "busy": float(1.0 - queue.probabilities[0]),
    }


THINK_S = 10.0
SIZE_BYTES = 30_000
"""Default mean think time and page size of people who browse."""

SESSION_PARAMETERS = (
    Parameter("n", "nodes, access point included: n-1 users", kind=Kind.WHOLE),
    Parameter("think_s", "mean think time 1/λ", THINK_S, Kind.DURATION),
    Parameter("size_bytes", "mean size E[X]", SIZE_BYTES, Kind.SIZE),
)
"""Parameters of every model in which users think between transfers."""

MODEL = Model(
    name="engset",
    summary="Delay of users who think, then share a capacity that depends on how many are active "
    "(HTTP paper, Eqs 16-17).",
    parameters=(
        *SESSION_PARAMETERS,
        Parameter(
            "capacity_bps", "C_1, C_2, ...; the last holds for all beyond", (2.25e6,), Kind.RATES
        ),
    ),
    outputs=(
        Output("mean_delay_s", "E[Y]/λ̄: from the start of a transfer to its end"),
        Output("mean_active", "E[Y]: transfers in progress"),
        Output("arrivals_per_s", "λ̄: transfers per second"),
        Output("busy", "1 - π_0: fraction of time with a transfer"),
    ),
    evaluate=_evaluate,
    example="n=2..51",
    valid="Users who share evenly at every instant; then the mean delay depends on sizes and "
    "think times through their means alone. Not for first-come-first-served.",
)
