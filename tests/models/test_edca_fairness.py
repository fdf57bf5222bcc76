"""Shares of TCP flows: the EDCA paper's arguments, counted round by round, and its settings."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.edca_fairness import (
    AP_ACKS,
    AP_DATA,
    MODEL,
    STATION_ACKS,
    STATION_DATA,
    AccessClass,
    acks_pass_freely,
    tcp_fairness,
)
from airqueue.models.edca_slots import slots
from airqueue.models.errors import ParameterError


def counted(uploads: int, downloads: int, burst: int) -> list[Fraction]:
    """Packets of each flow in one round in which every backlogged node wins once."""
    packets = [Fraction(1)] * uploads + [Fraction(burst, max(downloads, 1))] * downloads
    return [each / sum(packets) for each in packets]


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["default", "edca"]))
def test_shares_are_those_of_a_round(uploads: int, downloads: int, scheme: str) -> None:
    if uploads + downloads == 0:
        return
    flows = counted(uploads, downloads, downloads if scheme == "edca" else 1)
    fair = tcp_fairness(uploads, downloads, scheme=scheme)
    if uploads:
        assert float(fair.upload_share) == pytest.approx(float(flows[0]))
    if downloads:
        assert float(fair.download_share) == pytest.approx(float(flows[-1]))
    assert float(fair.downloads_share) == pytest.approx(float(sum(flows[uploads:])))
    jain = sum(flows) ** 2 / (len(flows) * sum(x * x for x in flows))
    assert float(fair.jain_index) == pytest.approx(float(jain))
    assert float(fair.min_max_ratio) == pytest.approx(float(min(flows) / max(flows)))
    if scheme == "edca":
        assert float(fair.jain_index) == pytest.approx(1)


def test_the_paper_s_default_case() -> None:
    """Six and six: downloads together get what one upload gets, 1/7."""
    fair = tcp_fairness(6, 6)
    assert float(fair.downloads_share) == pytest.approx(1 / 7)
    assert float(fair.upload_share) == pytest.approx(1 / 7)
    assert float(fair.min_max_ratio) == pytest.approx(1 / 6)


def test_acknowledgements_are_short_by_default() -> None:
    """n uploads: n/(n+1) of the transmissions are data, 1/(n+1) acknowledgements."""
    for n in (1, 3, 12):
        share = Fraction(1, n + 1) / Fraction(n, n + 1)
        assert float(tcp_fairness(n, 0).acks_per_packet) == pytest.approx(float(share))
    assert float(tcp_fairness(12, 0, scheme="edca").acks_per_packet) == 1
    # Delayed acknowledgements ask for half as many, which two uploads still get.
    assert float(tcp_fairness(2, 0, ack_every=2).acks_per_packet) == 0.5
    assert float(tcp_fairness(3, 0, ack_every=2).acks_per_packet) == pytest.approx(1 / 3)
    assert float(tcp_fairness(0, 3).acks_per_packet) == 0


def test_the_burst_may_be_chosen() -> None:
    fair = tcp_fairness(4, 6, ap_packets=3)
    assert float(fair.downloads_share) == pytest.approx(3 / 7)


@pytest.mark.parametrize("uploads", [2, 6])
def test_nodes_with_the_paper_s_data_classes_win_equally_often(uploads: int) -> None:
    """The premise, simulated: the access point's data queue among the uploading stations."""
    downloads = 4
    run = slots(
        [1, uploads],
        [AP_DATA.aifs_slots, STATION_DATA.aifs_slots],
        [AP_DATA.cw_min, STATION_DATA.cw_min],
        packets=[downloads, 1],
        transmissions=600_000,
    )
    predicted = tcp_fairness(uploads, downloads, scheme="edca")
    estimate = run.packet_share(0)
    assert abs(estimate.mean - float(predicted.downloads_share)) <= 1.5 * estimate.half_width


def test_the_paper_s_acknowledgements_pass_freely() -> None:
    """Within the access point too: two queues of one node, and no internal collision."""
    assert acks_pass_freely(AP_ACKS, STATION_DATA)
    assert acks_pass_freely(AP_ACKS, AP_DATA)
    assert not acks_pass_freely(STATION_ACKS, STATION_DATA)
    assert not acks_pass_freely(AccessClass(0, 4), STATION_DATA)
    run = slots([1, 1, 3], [0, 4, 4], [3, 31, 31], nodes=[0, 0, 1], transmissions=60_000)
    assert run.success_share(0).mean == 1
    assert run.internal_collisions.sum() == 0


def test_arrays_broadcast() -> None:
    fair = tcp_fairness(np.arange(1, 13)[:, np.newaxis], [0, 6], scheme="edca")
    assert fair.upload_share.shape == (12, 2)
    assert (fair.jain_index > 1 - 1e-12).all()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"uploads": 0, "downloads": 0}, "uploads"),
        ({"uploads": 1.5}, "uploads"),
        ({"downloads": -1}, "downloads"),
        ({"ap_packets": 0}, "ap_packets"),
        ({"ack_every": 0}, "ack_every"),
        ({"scheme": "fair"}, "scheme"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        tcp_fairness(**{"uploads": 1, "downloads": 1, **arguments})
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(**{p.name: p.default for p in MODEL.parameters})
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["downloads_share"] == pytest.approx(1 / 7)
