"""The window's chain: its table, the balance equations in fractions, its ends."""

from fractions import Fraction

import numpy as np
import pytest
from tables import half_unit, rows

from airqueue.models.errors import ParameterError
from airqueue.models.http_timing import DOT11B
from airqueue.models.tcp_capacity import collision_free, contention_time, single_station_bps
from airqueue.models.tcp_window import MODEL, tcp_window, window_distribution


@pytest.mark.parametrize("row", rows("http_window"), ids=lambda row: row["window"])
def test_the_worked_table(row: dict[str, str]) -> None:
    solved = tcp_window(float(row["window"]))
    assert float(solved.contention_s) * 1e6 == pytest.approx(
        float(row["contention_us"]), abs=half_unit(row["contention_us"])
    )
    assert float(solved.throughput_bps) / 1e6 == pytest.approx(
        float(row["throughput"]), abs=half_unit(row["throughput"])
    )


@pytest.mark.parametrize("window", [1, 2, 4, 9])
def test_the_distribution_solves_the_chain(window: int) -> None:
    """π P = π in fractions: inside either side wins with 1/2, at an end the other one does."""
    pi = [Fraction(float(share)).limit_denominator(1000) for share in window_distribution(window)]
    assert sum(pi) == 1
    after = [Fraction(0)] * (window + 1)
    for state, share in enumerate(pi):
        down = Fraction(0) if state == 0 else Fraction(1) if state == window else Fraction(1, 2)
        if down:
            after[state - 1] += share * down
        if down != 1:
            after[state + 1] += share * (1 - down)
    assert after == pi


def test_the_renewal_form_is_the_same_number() -> None:
    windows = np.arange(1, 50)
    for cost in ("printed", "corrected"):
        assert tcp_window(
            windows, equation="19-corrected", collision_cost=cost
        ).throughput_bps == pytest.approx(
            tcp_window(windows, collision_cost=cost).throughput_bps, rel=1e-13
        )


@pytest.mark.parametrize("window", [1, 4])
def test_the_bracket_as_printed(window: int) -> None:
    """Eq. (19) read letter by letter, from the chain's states."""
    pi = window_distribution(window)
    data, ack = float(DOT11B.data_exchange_s), float(DOT11B.ack_exchange_s)
    alone, cost = 310e-6, float(contention_time(2).total_s)
    acknowledged = pi[1:-1].sum() / 2 + pi[0]
    inside = sum(share * ((data + ack) / 2 + cost) for share in pi[1:-1])
    printed = inside + pi[0] * (ack + alone + pi[-1] * (data + alone))
    assert float(tcp_window(window, equation="19-printed").throughput_bps) == pytest.approx(
        8000 * acknowledged / printed, rel=1e-12
    )
    right = inside + pi[0] * (ack + alone) + pi[-1] * (data + alone)
    assert float(tcp_window(window).throughput_bps) == pytest.approx(
        8000 * acknowledged / right, rel=1e-12
    )


def test_the_ends() -> None:
    assert float(tcp_window(1).throughput_bps) == pytest.approx(
        float(collision_free(1).aggregate_bps), rel=1e-14
    )
    assert float(tcp_window(1e9).throughput_bps) == pytest.approx(
        float(single_station_bps(1)), rel=1e-8
    )
    assert (np.diff(tcp_window(np.arange(1, 100)).throughput_bps) > 0).all()
    assert (np.diff(tcp_window(np.arange(1, 100)).contention_s) < 0).all()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: tcp_window(0), "window"),
        (lambda: tcp_window(1.5), "window"),
        (lambda: tcp_window(float("inf")), "window"),
        (lambda: tcp_window(1, equation="21"), "equation"),
        (lambda: window_distribution(0), "window"),
        (lambda: window_distribution(10**9), "window"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(
        window=10, equation="20", collision_cost="printed", form="corrected", phy="802.11b"
    )
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["throughput_bps"] == pytest.approx(2.3581e6, abs=50)
