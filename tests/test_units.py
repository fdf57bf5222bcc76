"""Quantities as people type them, and the test bed's settings made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.linux.config import ConfigError, HostApConfig, QueueSpec
from airqueue.linux.disturbance import Disturbance
from airqueue.units import (
    UnitError,
    parse_burst,
    parse_duration,
    parse_pair,
    parse_rate,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("7mbit", 7_000_000),
        ("100Mbit/s", 100_000_000),
        ("500kbit", 500_000),
        ("1.5 Mb/s", 1_500_000),
        ("1gbit", 1_000_000_000),
        ("8000bit", 8000),
        ("54e6 bit/s", 54_000_000),
        ("1e3mbit", 10**9),
        ("54 Mb/s", 54_000_000),
    ],
)
def test_rates(text, rate_bps):
    assert parse_rate(text) == rate_bps


@pytest.mark.parametrize(
    "text", ["", "7", "fast", "-7mbit", "7mbps", "7 mbit/h", "nanbit", "0mbit", "7MB/s", "٧mbit"]
)
def test_what_is_no_rate_is_refused_in_one_sentence(text):
    with pytest.raises(UnitError) as caught:
        parse_rate(text)
    assert "\n" not in str(caught.value)


def test_sizes_bursts_and_durations():
    assert parse_size("1540B") == parse_size("1540b") == 1540
    assert parse_size("64kB") == 64_000
    assert parse_size("64KiB") == 65_536
    assert parse_size("1.5kB") == 1500
    assert parse_burst("64p", 1514) == 64 * 1514
    assert parse_burst("3080 B", 1514) == 3080
    assert parse_duration("2 s") == 2.0
    assert parse_duration("500ms") == 0.5
    assert parse_duration("1.5min") == 90.0
    assert parse_pair("10s:2s", "a stall", "10s:2s") == ("10s", "2s")


@pytest.mark.parametrize(
    ("parse", "text", "examples"),
    [
        (parse_rate, "54", '"11 Mb/s" or "54mbit"'),
        (parse_duration, "20", '"30 s" or "100ms"'),
        (parse_duration, "0", '"30 s" or "100ms"'),
        (parse_size, "1540", '"1500 B" or "64kB"'),
    ],
)
def test_a_number_alone_is_refused_with_examples(parse, text, examples):
    with pytest.raises(UnitError, match=f'"{text}" has no unit; .*such as {examples}'):
        parse(text)
    with pytest.raises(UnitError, match=r"write bytes \(1540B, 64kB\) or packets \(64p\)"):
        parse_burst(text, 1514)


def test_what_is_half_a_character_is_refused():
    for parse in (parse_rate, parse_size, QueueSpec.parse, lambda t: parse_burst(t, 1514)):
        with pytest.raises((UnitError, ConfigError)):
            parse("5\ud800")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_size, "1.5B"),
        (parse_size, "1 packet"),
        (lambda text: parse_burst(text, 1514), "0p"),
        (lambda text: parse_burst(text, 1514), "p"),
        (lambda text: parse_burst(text, 1514), ""),
        (parse_duration, "2 hours"),
        (parse_duration, "soon"),
        (lambda text: parse_pair(text, "a stall", "10s:2s"), "10s"),
        (lambda text: parse_pair(text, "a stall", "10s:2s"), "1:2:3"),
        (QueueSpec.parse, "codel:5"),
    ],
)
def test_other_nonsense_is_refused(parse, text):
    with pytest.raises((UnitError, ConfigError)):
        parse(text)


@given(st.text(max_size=60))
def test_any_text_is_a_quantity_or_a_clear_error(text):
    for parse in (parse_rate, parse_size, parse_duration, lambda t: parse_burst(t, 1514)):
        try:
            assert parse(text) >= 0
        except UnitError as error:
            assert "\n" not in str(error)
    for parse in (QueueSpec.parse, lambda t: Disturbance.parse("stall", t)):
        try:
            parse(text)
        except (ConfigError, UnitError) as error:
            assert "\n" not in str(error)


def test_queues():
    assert QueueSpec.parse("pfifo:100") == QueueSpec("pfifo", 100)
    assert QueueSpec.parse("bfifo:150kB").limit == 150_000
    assert QueueSpec.parse("bfifo:150000") == QueueSpec.parse("bfifo:150kB")
    assert QueueSpec.parse("pfifo:100 packets") == QueueSpec.parse("pfifo:100p")
    assert QueueSpec.parse("bfifo:150000").counted_in == "bytes"
    assert str(QueueSpec.parse("pfifo_head_drop:30")) == "pfifo_head_drop:30"


@pytest.mark.parametrize(
    "text",
    [
        "pfifo",
        "pfifo:",
        "pfifo:0",
        "pfifo:-1",
        "pfifo:1.5",
        "bfifo:100",
        "pfifo:99999999999",
        "fq_codel",
    ],
)
def test_queues_that_cannot_be(text):
    with pytest.raises(ConfigError):
        QueueSpec.parse(text)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"rate_bps": 1}, "8 kb/s"),
        ({"rate_bps": 10**12}, "1 Gb/s"),
        ({"burst_bytes": 100}, "one full frame"),
        ({"mpu_bytes": 9000}, "mpu"),
        ({"isolate": True, "shaper": "tbf"}, "htb"),
        ({"policer": "nft", "mpu_bytes": 100}, "policer"),
        (
            {
                "isolate": True,
                "shaper": "htb",
                "disturbances": (Disturbance("stall", 10.0, 1.0),),
            },
            "stall",
        ),
    ],
)
def test_beds_that_cannot_be(settings, says):
    with pytest.raises(ConfigError, match=says):
        HostApConfig(**settings)


@pytest.mark.parametrize("text", ["1s:2s", "10s:60s", "10s", "0s:1s", "10s:0s", "2h:1s"])
def test_stalls_that_cannot_be(text):
    with pytest.raises(UnitError):
        Disturbance.parse("stall", text)


@pytest.mark.parametrize("text", ["5s:0", "5s:x", "5s:nan", "5s:1000"])
def test_swings_that_cannot_be(text):
    with pytest.raises(UnitError):
        Disturbance.parse("swing", text)
