"""The modified Engset queue: fractions, identities, and chains that know nothing of product forms."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor_sharing import PhaseType, erlang2, exponential, hyperexponential, mean_delay

from airqueue.models import engset as module
from airqueue.models.engset import MODEL, engset
from airqueue.models.errors import ConvergenceError, ParameterError
from airqueue.models.tcp_capacity import collision

CURVE = [1.0e6, 1.3e6, 1.1e6, 0.7e6]
SIZE = 2e6
"""With CURVE and two seconds of thinking: a queue that is busy most of the time."""


def in_fractions(n: int, think: Fraction, size: Fraction, curve: list[int]) -> tuple[Fraction, ...]:
    """π_k from the balance of each cut, in rational numbers."""
    weights = [Fraction(1)]
    for k in range(1, n):
        weights.append(weights[-1] * (n - k) / think * size / curve[k - 1])
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def test_equals_fractions() -> None:
    curve = [3, 5, 4, 2, 7]
    pi = in_fractions(6, Fraction(3, 2), Fraction(7), curve)
    queue = engset(6, 1.5, 7, curve)
    assert queue.probabilities == pytest.approx([float(share) for share in pi], rel=1e-14)
    active = sum(k * share for k, share in enumerate(pi))
    rate = sum((5 - k) * share for k, share in enumerate(pi)) / Fraction(3, 2)
    assert rate == sum(curve[k - 1] * pi[k] for k in range(1, 6)) / Fraction(7)
    assert float(queue.mean_active) == pytest.approx(float(active), rel=1e-14)
    assert float(queue.arrivals_per_s) == pytest.approx(float(rate), rel=1e-14)
    assert float(queue.mean_delay_s) == pytest.approx(float(active / rate), rel=1e-14)


def test_arrivals_equal_departures_in_the_papers_cell() -> None:
    curve = collision(np.arange(1, 51)).aggregate_bps
    queue = engset(51, 10, 240_000, curve)
    departures = (curve / 240_000 * queue.probabilities[1:]).sum()
    assert float(queue.arrivals_per_s) == pytest.approx(departures, rel=1e-9)


@pytest.mark.parametrize("think", [exponential(), erlang2(), hyperexponential()])
@pytest.mark.parametrize("work", [exponential(), erlang2(), hyperexponential()])
def test_sharing_is_insensitive(think: PhaseType, work: PhaseType) -> None:
    """The delay with phase-type sizes and think times is that of the product form."""
    assert think.mean() == pytest.approx(1) and work.mean() == pytest.approx(1)
    exact = mean_delay(4, think, 2.0, work, lambda k: CURVE[k - 1] / SIZE, shared=True)
    assert float(engset(5, 2.0, SIZE, CURVE).mean_delay_s) == pytest.approx(exact, rel=1e-9)


def test_first_come_first_served_is_not() -> None:
    """The condition: one server that takes users in turn depends on more than means."""
    ours = float(engset(5, 2.0, SIZE, CURVE).mean_delay_s)

    def first_come(work: PhaseType) -> float:
        return mean_delay(4, exponential(), 2.0, work, lambda k: CURVE[k - 1] / SIZE, shared=False)

    assert first_come(exponential()) == pytest.approx(ours, rel=1e-9)
    assert first_come(erlang2()) < 0.99 * ours
    assert first_come(hyperexponential()) > 1.05 * ours


def test_infinite_servers_are_binomial() -> None:
    """C_k proportional to k: nobody waits, and π is binomial."""
    queue = engset(6, 3.0, 1e6, 5e5 * np.arange(1, 6))
    busy = 2.0 / (2.0 + 3.0)
    binomial = [comb(5, k) * busy**k * (1 - busy) ** (5 - k) for k in range(6)]
    assert queue.probabilities == pytest.approx(binomial, rel=1e-13)
    assert float(queue.mean_delay_s) == pytest.approx(2.0, rel=1e-13)


def test_limits_of_load() -> None:
    idle = engset(11, 1e9, 1e6, 1e6)
    assert float(idle.mean_delay_s) == pytest.approx(1.0, rel=1e-6)
    # Nobody thinks: all are always active, and leave at C_k/E[X].
    full = engset(11, 1e-9, 1e6, 1e6)
    assert float(full.mean_delay_s) == pytest.approx(10.0, rel=1e-6)
    # Far beyond what the weights themselves could hold in floating point.
    huge = engset(5001, 1e-9, 1e9, 1e3)
    assert float(huge.mean_active) == pytest.approx(5000)


def test_printed_forms() -> None:
    def curve(k):
        return collision(k).aggregate_bps

    wrong = engset(11, 10, 240_000, curve, arrivals="printed")
    setup = 2.828e-3
    assert float(wrong.mean_delay_s) + setup == pytest.approx(1.004, abs=5e-4)
    right = engset(11, 10, 240_000, curve)
    # The reversed index is the whole difference: Σ (k+1) π_{n-2-k} is Σ (n-1-k) π_k.
    pi = right.probabilities
    reversed_sum = sum((k + 1) * pi[11 - 2 - k] for k in range(10)) / 10
    assert float(right.arrivals_per_s) == pytest.approx(reversed_sum, rel=1e-13)
    printed_sum = sum((k + 1) * pi[k] for k in range(10)) / 10
    assert float(wrong.arrivals_per_s) == pytest.approx(printed_sum, rel=1e-13)


def test_the_printed_normalisation_multiplies() -> None:
    curve = [3, 5, 4]
    wrong = engset(4, 1.5, 7, curve, normalisation="printed")
    weights = [1.0]
    for k in range(1, 4):
        weights.append(weights[-1] * (4 - k) / 1.5 * 7 / curve[k - 1])
    assert wrong.probabilities == pytest.approx([w * sum(weights) for w in weights], rel=1e-13)
    assert wrong.probabilities.sum() > 1
    assert float(wrong.mean_delay_s) == pytest.approx(
        float(engset(4, 1.5, 7, curve).mean_delay_s), rel=1e-13
    )


def test_shapes() -> None:
    queue = engset(np.array([2, 11, 51]), [[1.0], [10.0]], 240_000, lambda k: 2e6 + 0 * k)
    assert queue.probabilities.shape == (51, 2, 3)
    assert queue.mean_delay_s.shape == (2, 3)
    one = engset(11, 10, 240_000, 2e6).mean_delay_s
    assert queue.mean_delay_s[1, 1] == pytest.approx(float(one), rel=1e-12)
    assert (queue.probabilities[2:, :, 0] == 0).all()
    assert queue.probabilities.sum(axis=0) == pytest.approx(np.ones((2, 3)))
    # One curve per point: its own axes behind the first.
    curves = np.array([[1e6, 2e6], [1e6, 3e6]])
    many = engset(3, 1.0, 1e6, curves)
    second = engset(3, 1.0, 1e6, [2e6, 3e6]).mean_delay_s
    assert many.mean_delay_s[1] == pytest.approx(float(second), rel=1e-13)
    assert engset([], 1.0, 1e6, 1e6).mean_delay_s.shape == (0,)


@given(
    st.integers(2, 40),
    st.floats(1e-3, 1e3),
    st.floats(1e3, 1e8),
    st.lists(st.floats(1e4, 1e8), min_size=39, max_size=39),
)
def test_laws(n: int, think_s: float, bits: float, curve: list[float]) -> None:
    queue = engset(n, think_s, bits, curve)
    pi = queue.probabilities
    assert pi.sum() == pytest.approx(1)
    departures = (np.array(curve[: n - 1]) / bits * pi[1:]).sum()
    assert float(queue.arrivals_per_s) == pytest.approx(departures, rel=1e-9)
    # Little's law around the whole cycle of n - 1 users.
    cycle = float(queue.mean_delay_s) + think_s
    assert float(queue.arrivals_per_s) * cycle == pytest.approx(n - 1, rel=1e-9)
    assert 0 <= float(queue.mean_active) <= n - 1
    slower = engset(n, think_s, bits, [0.9 * c for c in curve])
    assert float(slower.mean_delay_s) > float(queue.mean_delay_s)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"n": 1}, "n"),
        ({"n": 2.5}, "n"),
        ({"n": 10**9}, "n"),
        ({"n": [50_000], "think_s": np.ones(10_000)}, "n"),
        ({"think_s": 0}, "think_s"),
        ({"think_s": 1e300}, "think_s"),
        ({"mean_size_bits": float("nan")}, "mean_size_bits"),
        ({"capacity": [1e6]}, "capacity"),
        ({"capacity": []}, "capacity"),
        ({"capacity": [1e6, 0.0, 1e6]}, "capacity"),
        ({"capacity": float("inf")}, "capacity"),
        ({"capacity": 1e300}, "capacity"),
        ({"capacity": lambda k: -k}, "capacity"),
        ({"capacity": np.ones((3, 5)), "think_s": [1, 2]}, "capacity"),
        ({"capacity": "fast"}, "capacity"),
        ({"arrivals": "other"}, "arrivals"),
        ({"normalisation": "other"}, "normalisation"),
        ({"n": [3, 4], "think_s": [1, 2, 3]}, "n"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    usual = {"n": 4, "think_s": 10, "mean_size_bits": 1e6, "capacity": 1e6}
    with pytest.raises(ParameterError) as raised:
        engset(**{**usual, **arguments})
    assert raised.value.parameter == names


def test_the_ends_of_the_ranges() -> None:
    for n in (2, 51):
        quick = engset(n, 1e12, 1e-3, 1e18)
        assert float(quick.mean_delay_s) == pytest.approx(1e-21, rel=1e-9)
        slow = engset(n, 1e-12, 1e18, 1e-9)
        assert float(slow.mean_delay_s) == pytest.approx((n - 1) * 1e27, rel=1e-9)


def test_what_floating_point_cannot_hold_is_refused() -> None:
    with pytest.raises(ConvergenceError):
        engset(5001, 1e-9, 1e9, 1e3, normalisation="printed")


def test_unbalanced_arrivals_are_noticed() -> None:
    with pytest.raises(ConvergenceError, match="balance"):
        module._assert_balance(np.array(1.0), np.array(1.0 + 1e-8))


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(n=5, think_s=2.0, size_bytes=SIZE / 8, capacity_bps=CURVE[:2])
    assert set(figures) == {output.name for output in MODEL.outputs}
    last_holds = engset(5, 2.0, SIZE, [1.0e6, 1.3e6, 1.3e6, 1.3e6])
    assert figures["mean_delay_s"] == pytest.approx(float(last_holds.mean_delay_s))
    with pytest.raises(ParameterError):
        MODEL.evaluate(n=5, think_s=2.0, size_bytes=1e6, capacity_bps=())
