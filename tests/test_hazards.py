"""Laws packet by packet, of the core, beside their formulas written out with numpy and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue import _native

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, packets=400):
    rng = np.random.default_rng(seed)
    return rng, rng.random(packets) ** 3, rng.random(packets) < rng.random()


def test_hazards_add_up_since_the_last_drop():
    lost = np.array([False, True, False, False, True, False])
    added = _native.since_last_drop(np.ones(6), lost)
    assert added.tolist() == [1, 2, 1, 2, 3, 1]


@given(SEEDS, st.floats(0, 1), st.floats(0, 0.5), st.floats(1e-9, 0.3))
def test_the_likelihood_is_the_product_over_the_known_packets(seed, mixed, idle, least):
    rng, hazard, lost = drawn(seed)
    known = rng.random(len(lost)) < 0.5
    p = (1 - mixed) * hazard[known] + mixed * lost[known].mean()
    p = np.clip(idle + (1 - idle) * p, least, 1 - least)
    expected = np.log(np.where(lost[known], p, 1 - p)).sum()
    found = _native.log_likelihood(hazard, lost, known, (mixed, idle, least))
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_a_long_product_of_small_probabilities_is_no_zero():
    packets = 5000
    everything = np.ones(packets, dtype=bool)
    found = _native.log_likelihood(np.zeros(packets), everything, everything, (0.0, 0.0, 1e-100))
    assert found == pytest.approx(packets * math.log(1e-100))


def test_nothing_known_is_no_evidence():
    nothing = np.zeros(3, dtype=bool)
    assert _native.log_likelihood(np.full(3, 0.5), ~nothing, nothing, (0.1, 0.0, 1e-4)) == 0


LAWS = st.tuples(
    st.integers(1, 14).map(lambda power: 2.0**-power),
    st.floats(0, 50),
    st.floats(0.1, 60),
    st.floats(0.1, 60),
    st.floats(1e-4, 1),
    st.just(0.02),
)
"""Weight, average before, lower threshold, distance of the upper one, probability, blurred."""


@given(SEEDS, LAWS)
def test_red_is_the_article_s(seed, law):
    """Section 7 of the article: p_b grows between the thresholds, p_a = p_b / (1 - count p_b)."""
    _, _, lost = drawn(seed)
    waiting = 100 * np.random.default_rng(seed).random(len(lost))
    found = _native.red_hazards(waiting, lost, law)
    weight, before, low, apart, probability, blurred = law
    average, added = before, 0.0
    for k, rows in enumerate(zip(*found, strict=True)):
        average = (1 - weight) * average + weight * waiting[k]
        chance = probability * min(1.0, max(0.0, (average - low) / apart))
        beyond = min(1.0, max(0.0, (average / (low + apart) - 1) / blurred + 0.5))
        hazard = max(beyond, min(1.0, chance / (1 - min(added, 0.999))))
        added += chance
        assert rows == pytest.approx((average, chance, hazard, added), rel=1e-9, abs=1e-9)
        if lost[k]:
            added = 0.0
    known, losses = waiting < 70, (0.1, 0.01, 1e-4)
    of_hazards = _native.log_likelihood(found[2], lost, known, losses)
    assert _native.red_log_likelihood(waiting, lost, known, law, losses) == of_hazards


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: _native.since_last_drop(np.ones(2), np.ones(3, dtype=bool)),
        lambda: _native.log_likelihood(
            np.ones(2), np.ones(2, dtype=bool), np.ones(3, dtype=bool), (0.1, 0.0, 1e-4)
        ),
        lambda: _native.red_hazards(np.ones(2), np.ones(3, dtype=bool), (0.5, 0, 1, 1, 0.1, 0.02)),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(wrong):
    with pytest.raises(_native.NativeError, match="arrays of different lengths"):
        wrong()


def test_a_least_probability_beyond_a_half_is_refused():
    packets = np.ones(2, dtype=bool)
    with pytest.raises(_native.NativeError, match="least probability"):
        _native.log_likelihood(np.ones(2), packets, packets, (0.1, 0.0, 0.5))
