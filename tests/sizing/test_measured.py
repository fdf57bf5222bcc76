"""`airqueue size ap FILE`: what measurements of access points say to set.

The measurements are real ones, of simulated bottlenecks whose queues are known.
"""

import copy
import json
import re

import jsonschema
import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.measure.api import measure
from airqueue.measure.schema import to_text
from airqueue.measure.simulated import SimulatedProber
from airqueue.models.errors import ParameterError
from airqueue.sizing.advice import schema
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.measured import measured_air, measured_plan, says_what_to_set
from airqueue.sizing.measured_advice import measured_advice

QUEUES = {
    "bloated": {"queue": "pfifo:1000"},
    "short": {"queue": "pfifo:12"},
    "bytes": {"queue": "bfifo:150000", "link_layer_bytes": 14},
    "isolated": {"queue": "pfifo:100", "isolate_flows": True},
    "policer": {"policer": True, "burst_bytes": 30_000},
    "bursts": {"queue": "pfifo:500", "rate_bps": 100e6, "aggregate_packets": 32},
    "head": {"queue": "pfifo:300", "drop_from": "head"},
}
RATE_BPS = 7e6
PACKET_S = 12_000 / RATE_BPS


@pytest.fixture(scope="module")
def measured():
    """Return a function that measures a queue of `QUEUES`, once, and returns its document."""
    known = {}

    def document(name):
        if name not in known:
            known[name] = measure(SimulatedProber({"flows": 3, **QUEUES[name]})).to_json()
        return copy.deepcopy(known[name])

    return document


def plan_for(document, **asked):
    return measured_plan(measured_air(document), Asked(**({"rtt_s": 0.05, "flows": 4} | asked)))


def advice_for(document, **asked):
    question = Asked(**({"rtt_s": 0.05, "flows": 4} | asked))
    return measured_advice(measured_plan(measured_air(document), question), question)


def lines_of(advice):
    return [line for entry in advice.settings for line in entry.lines]


def test_a_bloated_fifo_is_replaced_and_told_how_long_it_is(measured):
    plan = plan_for(measured("bloated"), rtt_s=0.1, flows=1)
    assert plan.do == "flow-queueing"
    assert plan.air.capacity_bps == pytest.approx(RATE_BPS, rel=0.01)
    assert plan.air.held_packets == pytest.approx(1000, abs=1)
    advice = advice_for(measured("bloated"), rtt_s=0.1, flows=1)
    assert advice.headline.startswith("Use flow queueing at the access point, in a shaper")
    assert "holds 1,000 packets now, and full it delays by 1.71 s" in advice.headline
    lines = lines_of(advice)
    # A shaper has a queue at any device; what does not shape comes after it.
    assert "cake" in lines[0] and "fq_codel" in lines[-1]
    # A device that mac80211 queues for is not measured as a FIFO: iw would set what does not matter.
    assert not any("iw phy" in line for line in lines)
    # The FIFO may be in firmware, where only a shaper helps: 95 % of what TCP gets.
    kbit = [int(rate) for line in lines for rate in re.findall(r"cake bandwidth (\d+)kbit", line)]
    assert len(kbit) == 1 and 0.9 * RATE_BPS < 1000 * kbit[0] < 0.95 * RATE_BPS


def test_where_one_length_suits_both_the_fifo_is_limited(measured):
    # 11 packets of 1.71 ms fit into 20 ms; TCP wants RTT·C over the root of 4, at least 10.
    plan = plan_for(measured("bloated"), flows=4, rtt_s=0.02)
    assert plan.do == "limit"
    assert 10 <= plan.sized.packets <= 0.02 / PACKET_S
    advice = advice_for(measured("bloated"), flows=4, rtt_s=0.02)
    assert advice.headline.startswith(f"Let the queue hold {plan.sized.packets} packets")
    assert "tbf rate" in lines_of(advice)[0]
    assert f"pfifo limit {plan.sized.packets}" in lines_of(advice)[1]
    rows = next(table for table in advice.tables if table.name == "now_and_then").rows
    assert [row[1] for row in rows] == [1000, plan.sized.packets]
    assert rows[0][2] == pytest.approx(1000 * PACKET_S, rel=0.01)


def test_a_short_fifo_is_left_as_it_is(measured):
    # 12 packets delay by 20.6 ms: near enough to 20 ms, and enough for 4 flows.
    document = measured("short")
    advice = advice_for(document, rtt_s=0.02)
    assert advice.headline.startswith("Leave the access point as it is: its FIFO of 12 packets")
    assert advice.settings == ()
    assert advice.tables == ()
    # One flow over a long path empties so short a queue: a longer one, where the target allows it.
    longer = plan_for(document, rtt_s=0.2, flows=1, delay_target_s=0.5)
    assert longer.do == "limit"
    assert longer.sized.packets > 12
    assert longer.sized.utilisation_at_least > longer.utilisation_now + 0.05


def test_a_limit_in_bytes_is_said_in_bytes(measured):
    document = measured("bytes")
    advice = advice_for(document)
    assert document["capacity_unit"] == "bytes"
    assert f"holds {document['capacity']:,.0f} bytes now" in advice.headline
    assert advice.figure("held_packets") == pytest.approx(150_000 / 1514, abs=1)
    # With the header of Ethernet, as tc counts.
    assert advice.figure("held_packets") == pytest.approx(document["capacity"] / 1514)


def test_queues_of_each_flow_are_left_alone_with_what_a_sparse_flow_waits(measured):
    advice = advice_for(measured("isolated"))
    assert advice.headline.startswith("Leave the access point as it is: each flow queues by itself")
    assert advice.settings == ()
    waits_s = advice.figure("sparse_loaded_p95_s")
    assert 0 <= waits_s <= 3 * PACKET_S
    # A target that it misses changes the reason, not the advice: no limit of a queue would help.
    strict = advice_for(measured("isolated"), delay_target_s=1e-6)
    assert strict.headline.startswith("Leave the access point as it is")
    assert "no limit of a queue shortens" in strict.headline


def test_a_policer_wants_a_shaper_below_its_rate(measured):
    advice = advice_for(measured("policer"))
    assert advice.headline.startswith("Shape the line on the router to")
    kbit = int(0.95 * measured_air(measured("policer")).capacity_bps / 1000)
    assert any(f"cake bandwidth {kbit}kbit ingress" in line for line in lines_of(advice))


def test_a_queue_behind_a_shaper_that_saves_tokens_is_the_lines(measured):
    document = measured("bloated")
    assert plan_for(document).do == "limit"
    document["token_bucket"] = {"bytes": 3e6, "ci95_bytes": [2.9e6, 3.1e6], "at_least": False}
    advice = advice_for(document)
    assert advice.inputs["measured"]["token_bucket_bytes"] == 3e6
    assert {f.name: f.value for f in advice.figures}["token_bucket_bytes"] == 3e6
    assert advice.headline.startswith("Shape the line")
    kbit = int(0.95 * measured_air(document).capacity_bps / 1000)
    assert f"uci set sqm.airqueue.download='{kbit}'" in lines_of(advice)
    assert any("--line" in caution for caution in advice.cautions)


def test_a_shaper_in_the_access_point_is_one_before_a_faster_line(measured):
    document = measured("bloated")
    document["token_bucket"] = {"bytes": 3e6, "ci95_bytes": [2.9e6, 3.1e6], "at_least": False}
    assert plan_for(document, line_bps=50e6).do == "limit"
    assert plan_for(document, line_bps=7e6).do == "shape"


def test_a_queue_that_is_short_enough_is_left_behind_any_shaper(measured):
    document = measured("short")
    document["token_bucket"] = {"bytes": 3e6, "ci95_bytes": [2.9e6, 3.1e6], "at_least": False}
    assert plan_for(document).do == plan_for(measured("short")).do == "leave"


def test_the_line_is_the_bottleneck_if_it_is_not_faster_than_what_was_measured(measured):
    for line_bps, do in ((7.2e6, "shape"), (5e6, "shape"), (16e6, "limit")):
        assert plan_for(measured("bloated"), line_bps=line_bps).do == do, line_bps
    advice = advice_for(measured("bloated"), line_bps=7.2e6)
    assert "uci set sqm.airqueue.download='6840'" in lines_of(advice)
    assert "leave the access point as it is" in advice.headline


def test_a_managed_queue_is_judged_by_what_a_sparse_flow_waits(measured):
    # From a real document of a FIFO: the verdict and the sparse flow's delays are what counts here.
    document = measured("bloated") | {"verdict": "not_flat", "capacity": None, "ci95": None}
    for delay_s, do in ((0.004, "leave"), (0.2, "flow-queueing")):
        for session in document["sessions"]:
            session |= {"sparse_loaded_p50_s": delay_s / 2, "sparse_loaded_p95_s": delay_s}
        assert plan_for(document).do == do
        advice = advice_for(document)
        jsonschema.validate(advice.to_json(), schema())
        assert ("Leave" in advice.headline) == (do == "leave")
    # Results of older versions have no delays of sparse flows: the flood's delay stands for them.
    for session in document["sessions"]:
        del session["sparse_loaded_p50_s"], session["sparse_loaded_p95_s"]
    assert plan_for(document).do == "flow-queueing"
    assert "waits 1.71 s" in advice_for(document).headline


def test_a_sparse_flow_waits_behind_packets_of_the_size_that_is_sized(measured):
    """Behind a queue full of small packets nobody waits for long: such sessions do not count."""
    document = measured("bytes")
    times_s = {1500: 0.06, 750: 0.03}
    for session in document["sessions"]:
        waits_s = times_s[session["size_bytes"]]
        session |= {"sparse_loaded_p50_s": waits_s, "sparse_loaded_p95_s": 1.1 * waits_s}
    sizes = [session["size_bytes"] for session in document["sessions"] if session["accepted"]]
    assert set(sizes) == set(times_s)
    advice = advice_for(document)
    assert advice.figure("sparse_loaded_p50_s") == 0.06
    assert advice.figure("sparse_loaded_p95_s") == pytest.approx(0.066)


def test_bursts_are_the_least_that_a_queue_must_hold(measured):
    air = measured_air(measured("bursts"))
    assert 16 <= air.aggregated_packets <= 40
    assert plan_for(measured("bursts"), rtt_s=0.001, flows=1).sized.packets >= air.mpdus
    assert measured_air(measured("bloated")).mpdus == 0


def test_a_fifo_without_capacity_holds_what_its_delay_says(measured):
    document = measured("head") | {"capacity": None, "capacity_unit": None, "ci95": None}
    held = measured_air(document).held_packets
    assert held == pytest.approx(document["delay_full_s"] / PACKET_S, rel=0.01)
    with pytest.raises(ParameterError, match="neither a capacity nor"):
        plan_for(document | {"delay_full_s": None})


def test_times_of_other_sizes_lie_on_a_line(measured):
    air = measured_air(measured("bloated"))
    # The simulated line has no cost for a packet beside its bytes.
    assert air.time_s(200) == pytest.approx(1600 / RATE_BPS, rel=0.05)
    one = measured("bloated")
    one["rate_pps"] = {"1500": one["rate_pps"]["1500"]}
    assert measured_air(one).time_s(200) is None
    assert all(other.name != "counted in bytes" for other in advice_for(one).alternatives)
    # A line through times that noise has bent down says nothing of small packets.
    bent = measured("bloated") | {"rate_pps": {"1500": 500.0, "1400": 5000.0}}
    assert measured_air(bent).time_s(200) is None


def test_what_was_not_decided_is_refused_with_the_reason(measured):
    says = "Only 1 of 9 sessions passed the gates."
    document = measured("bloated") | {
        "verdict": "undecided",
        "evidence": [{"name": "sessions", "says": says, "value": None, "ci95": None}],
    }
    with pytest.raises(ParameterError, match=says):
        measured_air(document)
    with pytest.raises(ParameterError, match="way up"):
        measured_air(measured("bloated") | {"direction": "up"})


def test_measurements_say_whether_they_say_what_to_set(measured):
    assert says_what_to_set(measured("bloated"))
    for change in ({"direction": "up"}, {"verdict": "undecided"}, {"rate_pps": {}}):
        document = measured("bloated") | change
        assert not says_what_to_set(document)
        with pytest.raises(ParameterError):
            measured_air(document)


def test_isolated_queues_of_an_older_result(measured):
    document = measured("isolated")
    for session in document["sessions"]:
        session.pop("sparse_loaded_p50_s", None)
        session.pop("sparse_loaded_p95_s", None)
    assert "no length of one queue would help" in advice_for(document).headline


@pytest.mark.parametrize("name", ["bloated", "isolated", "policer", "bytes", "short"])
def test_the_command_says_what_the_json_holds(measured, name, tmp_path):
    path = tmp_path / "home.json"
    path.write_text(to_text(measured(name)))
    text = CliRunner().invoke(
        main, ["size", "ap", str(path), "--for", "all"], env={"COLUMNS": "120"}
    )
    assert text.exit_code == 0, text.output
    done = CliRunner().invoke(main, ["size", "ap", str(path), "--for", "all", "--json", "-"])
    found = json.loads(done.stdout)
    jsonschema.validate(found, schema())
    words = " ".join(text.output.split())
    assert found["headline"] in words
    assert all(line in text.output for entry in found["settings"] for line in entry["lines"])
    assert all(" ".join(caution.split()) in words for caution in found["cautions"])
    assert found["inputs"]["rtt_s"] == 0.1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "or the radio's --rate"),
        (["--rate", "54mbit"], "give --rtt"),
        (["FILE", "--rate", "54mbit"], "--rate does not go with FILE"),
        (["FILE", "--phy", "g"], "--phy does not go with FILE"),
        (["FILE", "--packet", "1500"], "--packet does not go with FILE"),
        (["no-such.json"], "no-such.json"),
        ([__file__], "is not JSON, at line 1, column 3; give a file written by"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(options, says, measured, tmp_path):
    path = tmp_path / "home.json"
    path.write_text(to_text(measured("bloated")))
    arguments = [str(path) if option == "FILE" else option for option in options]
    done = CliRunner().invoke(main, ["size", "ap", *arguments])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code != 0
    assert says in " ".join(done.output.split())
