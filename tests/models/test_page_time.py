"""Page times: the parts add up, the round trips are an infinite server, the reason is the largest."""

import numpy as np
import pytest

from airqueue.models.errors import ParameterError
from airqueue.models.http_timing import DOT11B
from airqueue.models.page_time import MODEL, page_time, reason
from airqueue.models.tcp_window import tcp_window
from airqueue.models.web_session import handshake_s, session_delay


@pytest.mark.parametrize("cost", ["corrected", "printed"])
def test_without_distance_it_is_the_session(cost: str) -> None:
    users = np.array([1, 5, 10, 50])
    page = page_time(users, d=2, timer_s=0.04, collision_cost=cost)
    session = session_delay(users + 1, d=2, timer_s=0.04, collision_cost=cost, form="corrected")
    assert page.mean_s == pytest.approx(session.mean_s)
    assert page.active_users == pytest.approx(session.mean_active)
    assert page.busy == pytest.approx(session.busy)


def test_parts_add_up() -> None:
    page = page_time([[1], [30]], 1e5, [2, 20], rtt_s=0.05, timer_s=0.04, d=2)
    assert page.mean_s.shape == (2, 2)
    parts = page.distance_s + page.protocol_s + page.transfer_s + page.sharing_s
    assert page.mean_s == pytest.approx(parts)
    assert page.distance_s == pytest.approx(np.full((2, 2), 0.1))
    assert page.sharing_s[0] == pytest.approx([0, 0], abs=1e-12)


def test_waiting_for_the_server_is_a_longer_pause() -> None:
    """Little's law around the cycle: users = rate · (think + round trips + transfer)."""
    page = page_time(20, 2e5, 5, rtt_s=0.2, round_trips=3)
    transfer = float(page.transfer_s + page.sharing_s)
    rate = float(page.active_users) / transfer
    assert rate * (5 + 0.6 + transfer) == pytest.approx(20, rel=1e-12)
    page, near = page_time(5, 5e4, 5, rtt_s=0.2), page_time(5, 5e4, 5)
    assert float(near.sharing_s) > float(page.sharing_s)
    assert float(page.mean_s) > float(near.mean_s)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"users": 1}, "transfer itself"),
        ({"users": 50, "page_bytes": 3e5}, "sharing"),
        ({"users": 1, "rtt_s": 1}, "server"),
        ({"users": 1, "page_bytes": 1000, "d": 2, "timer_s": 0.5}, "timer"),
    ],
)
def test_the_reason_is_the_largest_part(arguments: dict[str, float], word: str) -> None:
    assert word in reason(page_time(**arguments))


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"users": 0}, "users"),
        ({"users": 1e300}, "users"),
        ({"page_bytes": 0}, "page_bytes"),
        ({"think_s": float("nan")}, "think_s"),
        ({"rtt_s": -1}, "rtt_s"),
        ({"round_trips": float("inf")}, "round_trips"),
        ({"think_s": [1, 2], "rtt_s": [1, 2, 3]}, "think_s"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        page_time(**{"users": 10, **arguments})
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(
        users=10,
        page_bytes=30_000,
        think_s=10.0,
        d=1.0,
        rtt_s=0.0,
        round_trips=2.0,
        timer_s=0.0,
        collision_cost="printed",
    )
    assert set(figures) == {output.name for output in MODEL.outputs}
    page = page_time(10, collision_cost="printed")
    assert figures["mean_s"] == float(page.mean_s)
    assert figures["caution"] is None


def command(**given: object) -> dict[str, object]:
    start = {parameter.name: parameter.default for parameter in MODEL.parameters}
    return dict(MODEL.evaluate(**start | given))


@pytest.mark.parametrize("d", [1.0, 2.0])
@pytest.mark.parametrize("page_bytes", [30_000, 300_000])
def test_one_user_has_the_capacity_of_a_window_that_never_contends(
    page_bytes: float, d: float
) -> None:
    """W* = d: data of d segments and one acknowledgement take turns, each after a backoff alone."""
    rounds = page_bytes / 1000 / d
    backoffs = (d + 1) * 15.5 * 20e-6
    transfer = rounds * (
        d * float(DOT11B.data_exchange_s) + float(DOT11B.ack_exchange_s) + backoffs
    )
    page = page_time(1, page_bytes, d=d)
    assert float(page.transfer_s) == pytest.approx(transfer, rel=1e-12)
    assert float(page.mean_s) == pytest.approx(float(handshake_s()) + transfer, rel=1e-12)
    if d == 1.0:
        bps = 8 * page_bytes / transfer
        assert float(tcp_window(1).throughput_bps) == pytest.approx(bps, rel=1e-12)


@pytest.mark.parametrize("page_bytes", [1, 100, 999, 1000])
def test_a_page_takes_at_least_a_packet(page_bytes: float) -> None:
    figures = command(users=1, page_bytes=page_bytes)
    short = 8 * (1000 - page_bytes) / 11e6
    assert figures["transfer_s"] == pytest.approx(float(DOT11B.round_trip_s) - short)
    assert "up to 3.6 ms more" in str(figures["caution"])


def test_a_timer_that_is_not_waited_for_is_not_to_be_shortened() -> None:
    """The transfer, of a packet at least, takes longer than the handshake on the air."""
    small = {"users": 1, "page_bytes": 100.0, "segment_bytes": 100.0}
    for given in ({"timer_s": 0.0}, {"timer_s": 0.2, "d": 1.0}, {"timer_s": 0.0, "d": 2.0}):
        assert "timer" not in str(command(**small | given)["reason"])
    assert "a shorter timer" in str(command(**small, timer_s=0.2, d=2.0)["reason"])


def test_many_users_of_an_idle_cell_are_answered_and_of_a_full_one_refused() -> None:
    idle = command(users=1000, think_s=3600.0)
    assert idle["busy"] == pytest.approx(1000 * 0.10665 / 3600, rel=0.01)
    assert idle["mean_s"] == pytest.approx(command(users=1)["mean_s"], rel=0.03)
    with pytest.raises(ParameterError, match="users asks for more than 427 downloads") as raised:
        command(users=1000)
    assert raised.value.parameter == "users"
    # The curve is out of its range before it ends, where so many download most of the time.
    assert "given up" in str(command(users=420, think_s=1.0)["caution"])
