"""Buffer regimes: which losses can happen, by trying every way in which segments can be placed."""

from itertools import product

import numpy as np
import pytest

from airqueue.models.buffer_regime import (
    ALL_LOSE,
    MEANING,
    MICE_LOSE,
    MODEL,
    NO_LOSS,
    buffer_regime,
    overflow_possible,
)
from airqueue.models.engset import engset
from airqueue.models.errors import ParameterError


def most_in_buffer(window: int, connections: int) -> int:
    """Each connection has its window outstanding: any part at the access point, the rest as ACKs."""
    return max(sum(parts) for parts in product(range(window + 1), repeat=connections))


@pytest.mark.parametrize("connections", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("room", [1, 2, 4, 5, 6, 9, 10, 14, 15, 16])
def test_borders(window: int, room: int, connections: int) -> None:
    found = buffer_regime(window, room, connections)
    together, alone = most_in_buffer(window, connections), most_in_buffer(window, 1)
    assert (found.regime == NO_LOSS) == (together <= room)
    assert (found.regime == ALL_LOSE) == (together > room and alone > room)
    assert (found.regime == MICE_LOSE) == (alone <= room < together)
    safe = int(found.safe_connections)
    assert safe * window <= room < (safe + 1) * window
    assert float(found.lossless_buffer_packets) == together


def test_the_papers_figure_9() -> None:
    found = buffer_regime([1, 5, 29, 30, 31, 35], 30, 20)
    assert found.regime.tolist() == [NO_LOSS, *[MICE_LOSE] * 3, *[ALL_LOSE] * 2]
    assert found.filled_by_one[3] == 1
    assert set(MEANING) == {NO_LOSS, MICE_LOSE, ALL_LOSE}


def test_time_in_which_a_loss_is_possible() -> None:
    queue = engset(21, 10, 240_000, 2.25e6)
    windows = np.array([1, 5, 7, 30, 31])
    # More than 30, 6, 4, 1, 0 users active.
    pi = queue.probabilities
    expected = [pi[k:].sum() for k in (21, 7, 5, 2, 1)]
    assert overflow_possible(queue, windows, 30) == pytest.approx(expected, rel=1e-12)
    several = engset([21, 21], 10, 240_000, 2.25e6)
    found = overflow_possible(several, windows[:, None], 30)
    assert found[:, 1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: buffer_regime(0, 30, 1), "window"),
        (lambda: buffer_regime(1, 0.5, 1), "buffer_packets"),
        (lambda: buffer_regime(1, 30, float("nan")), "connections"),
        (lambda: buffer_regime([1, 2], [1, 2, 3], 1), "window"),
        (lambda: overflow_possible(engset([2, 3], 1, 1, 1), [1, 2, 3], 4), "queue"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(window=5, buffer_packets=30, connections=20)
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["regime"] == MICE_LOSE
    assert figures["meaning"] == MEANING[MICE_LOSE]
