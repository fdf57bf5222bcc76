"""`airqueue size rdqm`: the paper's shares in whole packets, and classes that the kernel takes."""

from __future__ import annotations

import ipaddress
import json
import re

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from airqueue import _native
from airqueue.cli import main
from airqueue.models.errors import ModelError
from airqueue.models.phy_names import phy
from airqueue.models.rate_mix import tcp_cycle_s
from airqueue.sizing.rdqm import MAX_FLOWS, Receiver, size_rdqm
from airqueue.sizing.rdqm_advice import rdqm_advice
from airqueue.sizing.settings import classes

RATES_BPS = (1e6, 2e6, 5.5e6, 11e6)
flows = st.lists(
    st.builds(
        Receiver, st.sampled_from(RATES_BPS), st.one_of(st.none(), st.floats(1e-3, 1.0)), st.none()
    ),
    min_size=1,
    max_size=20,
)


@given(flows, st.integers(0, 500))
def test_the_buffer_is_divided_wholly_and_nobody_is_locked_out(receivers, more):
    sized = size_rdqm(receivers, len(receivers) + more)
    assert sum(sized.limits) == sized.buffer_packets
    assert min(sized.limits) >= 1
    # Equation of the shares, by hand: Q N_R/N w/W, and Q/N without a report.
    weights = [flow.rate_bps * (flow.rtt_s or 0.0) for flow in receivers]
    reports = sum(flow.rtt_s is not None for flow in receivers)
    for flow, weight, share in zip(receivers, weights, sized.shares, strict=True):
        part = 1.0 if flow.rtt_s is None else reports * weight / sum(weights)
        assert share == pytest.approx(part * sized.buffer_packets / len(receivers))


def test_whole_packets_are_within_one_of_the_shares_where_all_have_one():
    receivers = [Receiver(rate, rtt) for rate in RATES_BPS for rtt in (0.05, 0.2)]
    sized = size_rdqm(receivers, 2000)
    assert all(abs(a - b) <= 1 for a, b in zip(sized.limits, sized.shares, strict=True))


def test_six_flows_of_the_paper_get_what_airtime_fairness_says():
    """RDQM, Fig. 3: three stations at 11 Mb/s, two at 5.5, one at 1; 700, 500 and 100 kb/s."""
    receivers = [Receiver(rate, 0.15) for rate in (11e6,) * 3 + (5.5e6,) * 2 + (1e6,)]
    sized = size_rdqm(receivers, 100, "b-long")
    cycle_s = tcp_cycle_s(phy("b-long"), [11e6, 5.5e6, 1e6], 1460, segments_per_ack=2)
    for index, expected in zip((0, 3, 5), 8 * 1500 / cycle_s / 6, strict=True):
        assert sized.airtime_fair_bps[index] == pytest.approx(float(expected), rel=0.01)
    # All as slow as the slowest from one FIFO, and more with the limits.
    assert len({round(bps) for bps in sized.together_bps}) == 1
    assert sum(sized.airtime_fair_bps) > 1.3 * sum(sized.together_bps)


@pytest.mark.parametrize(
    ("receivers", "buffer"),
    [
        ([], 10),
        ([Receiver(11e6, 0.1)] * 5, 4),
        ([Receiver(11e6, 0.0)], 10),
        ([Receiver(11e6, float("nan"))], 10),
        ([Receiver(3e6, 0.1)], 10),
        ([Receiver(11e6, 0.1)] * (MAX_FLOWS + 1), 1000),
    ],
)
def test_what_cannot_be_divided_is_refused(receivers, buffer):
    with pytest.raises(ModelError):
        size_rdqm(receivers, buffer)


@given(flows.filter(lambda several: len(several) > 1))
def test_every_plan_is_one_that_airqueued_takes(receivers):
    sized = size_rdqm(receivers, 10 * len(receivers))
    settings, _ = rdqm_advice(sized, device="wlan0").settings
    (setting,) = settings.sets
    plan = {"plan": 1, "made_by": "a test", "settings": [{"why": "A test.", "set": setting}]}
    _native.check_plan(json.dumps(plan))
    shared = setting["queue"]["queue"]["shared"]
    assert sum(each["rate_bps"] for each in shared["classes"]) == shared["rate_bps"]
    # The lines say the same as the plan.
    printed = "\n".join(settings.lines)
    limits = [int(limit) for limit in re.findall(r"pfifo limit (\d+)", printed)]
    assert limits == [each["queue"]["limit_packets"] for each in shared["classes"]]
    rates = [int(bps) for bps in re.findall(r"htb rate (\d+)bit ceil", printed)]
    assert rates == [each["rate_bps"] for each in shared["classes"]]
    # airqueued's choice is not that of tc: 4 ms of the whole rate, and turns of 60 kB at most.
    burst = max(3036, shared["rate_bps"] // 2000)
    turns = re.findall(
        rf"htb rate (\d+)bit.* burst {burst} cburst {burst} quantum (\d+)$", printed, re.M
    )
    assert len(turns) == 1 + len(rates)
    assert all(int(turn) == min(max(int(bps) // 80, 1518), 60_000) for bps, turn in turns)


def test_rules_put_stations_into_their_classes():
    parts = [
        classes.Class(9, 5e6, "192.0.2.7"),
        classes.Class(3, 1e6, None),
        classes.Class(5, 2e6, "2001:db8::7"),
    ]
    rules = [line for line in classes.settings("wlan1", parts).lines if "daddr" in line]
    found = [re.search(r"(ip6?) daddr (\S+) meta priority set 10:(\w+)", rule) for rule in rules]
    assert [match.groups() for match in found] == [
        ("ip", "192.0.2.7", "2"),
        ("ip6", "2001:db8::7", "4"),
    ]
    for match in found:
        ipaddress.ip_address(match[2])


def test_the_command_divides_writes_and_explains(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = (
        "size rdqm --flow 150ms@11mbit@192.0.2.7 --flow 30ms@1mbit --legacy 5.5mbit --buffer 30 "
        "--for tc --plan plan.json --json out.json"
    )
    done = CliRunner().invoke(main, words.split())
    assert done.exit_code == 0, done.output
    assert "192.0.2.7" in done.output and "pfifo limit 10" in done.output
    assert (tmp_path / "plan.json").exists()
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["what"] == "rdqm"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--buffer 10", "give a flow"),
        ("--flow 11mbit --buffer 10", "no flow"),
        ("--flow 10ms@11mbit@host --buffer 10", "no flow"),
        ("--flow 10ms@11mbit@192.0.2.7@x --buffer 10", "too many parts"),
        ("--flow 0s@11mbit --buffer 10", "rtt_s"),
        ("--legacy 10ms@11mbit --buffer 10", "no flow"),
        ("--flow 10ms@11mbit --buffer 0", "0"),
        ("--flow 10ms@11mbit --flow 10ms@11mbit --buffer 1", "one for each of 2"),
    ],
)
def test_wrong_words_are_answered_in_a_sentence(words, says):
    done = CliRunner().invoke(main, ["size", "rdqm", *words.split()])
    assert done.exit_code in (1, 2) and isinstance(done.exception, SystemExit)
    assert says in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("flows", "says"),
    [
        ("--flow 20ms@54mbit@fe80::1%wlan0", "fe80::1%wlan0 has a scope"),
        ("--flow 20ms@54mbit@192.0.2.7 --legacy 11mbit@192.0.2.7", "192.0.2.7 is the address of"),
        ("--flow 9ms@54mbit@2001:db8::1 --flow 9ms@11mbit@2001:DB8:0::1", "2001:db8::1 is the"),
    ],
)
def test_addresses_that_rules_cannot_tell_apart_are_refused(flows, says):
    command = ["size", "rdqm", *flows.split(), "--buffer", "60", "--for", "tc"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 1
    assert done.stdout == "" and says in done.stderr and done.stderr.count("\n") == 1
