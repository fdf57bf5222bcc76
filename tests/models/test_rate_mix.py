"""Sharing packets and sharing airtime: fractions, identities, and the mix of RDQM's Fig. 3."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import half_unit, rows

from airqueue.models.airtime import NS2_OVERHEAD_BYTES, exchange_s
from airqueue.models.errors import ParameterError
from airqueue.models.phy_names import phy
from airqueue.models.rate_mix import MODEL, RateMix, airtime_fair, packet_fair, tcp_cycle_s

STATIONS = [3, 2, 1]
RATES = [11e6, 5.5e6, 1e6]


def mix_of(sharing: str, control_mbps: float, segment: int = 1460, **options: object) -> RateMix:
    cycle_s = tcp_cycle_s(
        phy("b-long"),
        RATES,
        segment,
        overhead_bytes=NS2_OVERHEAD_BYTES,
        control_rate_bps=control_mbps * 1e6,
        **options,
    )
    if sharing == "airtime-fair":
        return airtime_fair(cycle_s, segment, STATIONS)
    weights = RATES if sharing == "rtt-times-rate" else 1
    return packet_fair(cycle_s, segment, STATIONS, weights)


@pytest.mark.parametrize("row", rows("rate_mix"), ids=lambda row: "-".join(row.values()))
def test_the_worked_table(row: dict[str, str]) -> None:
    mix = mix_of(row["sharing"], float(row["control_mbps"]))
    for index, column in enumerate(["rate11_kbps", "rate5_5_kbps", "rate1_kbps"]):
        assert mix.throughput_bps[index] / 1e3 == pytest.approx(
            float(row[column]), abs=half_unit(row[column])
        )
    printed = row["total_mbps"]
    assert float(mix.total_bps) / 1e6 == pytest.approx(float(printed), abs=half_unit(printed))


def test_shorter_segments_or_rts_do_not_fit_the_published_total() -> None:
    published = 3.2e6
    assert float(mix_of("airtime-fair", 2).total_bps) == pytest.approx(published, rel=0.05)
    assert float(mix_of("airtime-fair", 2, 1000).total_bps) < 2.6e6
    assert float(mix_of("airtime-fair", 2, protection="rts").total_bps) < 2.6e6


CLASSES = st.lists(
    st.tuples(
        st.integers(1, 10**5),
        st.integers(1, 65_535),
        st.integers(0, 50),
        st.integers(0, 1000),
    ),
    min_size=1,
    max_size=6,
).filter(lambda classes: any(count * weight for _, _, count, weight in classes))


@given(CLASSES)
def test_equals_fractions(classes: list[tuple[int, int, int, int]]) -> None:
    microseconds, sizes, counts, weights = (list(column) for column in zip(*classes, strict=True))
    cycle_s = np.array(microseconds) * 1e-6
    packets = packet_fair(cycle_s, sizes, counts, weights)
    airtime = airtime_fair(cycle_s, sizes, counts, weights)
    turn = sum(Fraction(t * n * w) for t, _, n, w in classes)
    parts = sum(Fraction(n * w) for _, _, n, w in classes)
    for index, (t, size, n, w) in enumerate(classes):
        present = 1 if n else 0
        x = float(present * w * 8 * size / turn) * 1e6
        assert packets.throughput_bps[index] == pytest.approx(x)
        x = float(present * Fraction(w) / parts * 8 * size / t) * 1e6
        assert airtime.throughput_bps[index] == pytest.approx(x)
    for mix in (packets, airtime):
        assert float(np.dot(counts, mix.airtime_share)) == pytest.approx(1)
        assert float(np.dot(counts, mix.throughput_bps)) == pytest.approx(float(mix.total_bps))


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8))
def test_packets_in_inverse_proportion_to_their_time_share_it_equally(cycle: list[float]) -> None:
    by_weight = packet_fair(cycle, 1500, 1, np.divide(1e-6, cycle))
    fair = airtime_fair(cycle, 1500)
    assert by_weight.airtime_share == pytest.approx(fair.airtime_share)
    assert by_weight.throughput_bps == pytest.approx(fair.throughput_bps)
    # And where all are alike there is nothing to choose.
    alike = [cycle[0]] * 4
    assert packet_fair(alike, 1500).throughput_bps == pytest.approx(
        airtime_fair(alike, 1500).throughput_bps
    )


def test_a_sweep_has_the_classes_last() -> None:
    mix = packet_fair([0.003, 0.015], 1460, np.array([[1, 0], [1, 1], [0, 1], [5, 1]]))
    assert mix.throughput_bps.shape == (4, 2)
    assert mix.total_bps.shape == (4,)
    assert mix.throughput_bps[0].tolist() == [pytest.approx(1460 * 8 / 0.003), 0]
    assert mix.throughput_bps[2].tolist() == [0, pytest.approx(1460 * 8 / 0.015)]


def test_a_cycle_is_two_exchanges() -> None:
    layer = phy("a")
    data, ack = exchange_s(layer, 1536, 54e6), exchange_s(layer, 76, 54e6)
    assert tcp_cycle_s(layer, 54e6) == pytest.approx(data + ack)
    assert tcp_cycle_s(layer, 54e6, segments_per_ack=[1, 2, 4]) == pytest.approx(
        [data + ack, data + ack / 2, data + ack / 4]
    )


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"cycle_s": 0}, "cycle_s"),
        ({"cycle_s": -1}, "cycle_s"),
        ({"cycle_s": 1e-300}, "cycle_s"),
        ({"cycle_s": 1e300}, "cycle_s"),
        ({"cycle_s": []}, "stations"),
        ({"packet_bytes": 0}, "packet_bytes"),
        ({"packet_bytes": float("inf")}, "packet_bytes"),
        ({"stations": [0, 0]}, "stations"),
        ({"stations": 0.5}, "stations"),
        ({"weights": 0}, "stations"),
        ({"weights": -1}, "weights"),
        ({"weights": float("nan")}, "weights"),
        ({"weights": [1, 2, 3]}, "cycle_s"),
        ({"stations": [[1, 1], [0, 0]]}, "stations"),
    ],
)
@pytest.mark.parametrize("sharing", [packet_fair, airtime_fair])
def test_bad_input_is_named(sharing: object, arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        sharing(**{"cycle_s": [0.003, 0.015], "packet_bytes": 1460} | arguments)
    assert raised.value.parameter == names


def test_extreme_weights_are_no_problem() -> None:
    mix = packet_fair([1e-3, 1e-3], 1460, [0, 1], [1, 1e-320])
    assert mix.airtime_share.tolist() == [0, 1]
    mix = airtime_fair([1e-9, 1e12], 1e12, 10**12, [1e12, 5e-324])
    assert np.isfinite(mix.throughput_bps).all()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"segment_bytes": 0}, "segment_bytes"),
        ({"segments_per_ack": 0}, "segments_per_ack"),
        ({"overhead_bytes": -1}, "overhead_bytes"),
        ({"rate_bps": [1e6, 2e6], "segments_per_ack": [1, 2, 3]}, "rate_bps"),
        ({"rate_bps": [1e6, 2e6], "segment_bytes": [1, 2, 3]}, "rate_bps"),
    ],
)
def test_bad_cycles_are_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        tcp_cycle_s(**{"phy": phy("b-long"), "rate_bps": 11e6} | arguments)
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    given_values = {parameter.name: parameter.default for parameter in MODEL.parameters}
    figures = MODEL.evaluate(**given_values | {"rates_bps": RATES, "stations": STATIONS})
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert np.dot(STATIONS, figures["airtime_fair_bps"]) == pytest.approx(
        figures["airtime_fair_total_bps"]
    )
    assert len(set(np.round(figures["packet_fair_bps"], 3))) == 1
    alone = MODEL.evaluate(**given_values | {"rates_bps": (11e6,)})
    assert alone["cycle_s"] == [pytest.approx(figures["cycle_s"][0])]


@pytest.mark.parametrize(("name", "overhead"), [("b-long", 36), ("a", 36), ("n", 38), ("ax", 38)])
def test_the_overhead_is_the_layer_s_if_not_given(name: str, overhead: int) -> None:
    rate, segments = phy(name).rates_bps[0], np.arange(1361, 1461)
    data = exchange_s(phy(name), overhead + 40 + segments, rate)
    ack = exchange_s(phy(name), overhead + 40, rate)
    cycle_s = tcp_cycle_s(phy(name), rate, segments)
    assert cycle_s == pytest.approx(data + ack, abs=1e-12)
    # Of a hundred sizes some need a symbol more for two bytes more.
    assert (cycle_s != tcp_cycle_s(phy(name), rate, segments, overhead_bytes=74 - overhead)).any()


def test_a_rate_that_the_layer_has_not_is_named_as_the_model_names_it():
    given = {each.name: each.default for each in MODEL.parameters}
    given |= {"rates_bps": [11e6, 7e6], "stations": [1, 1], "weights": [1, 1]}
    with pytest.raises(ParameterError, match=r"^rates_bps is 7 Mb/s, which b-long has not") as said:
        MODEL.evaluate(**given)
    assert said.value.parameter == "rates_bps"
