"""`airqueue size web`: the HTTP paper's page times, and what the simulator says of the settings."""

import json
import math
import tomllib

import pytest
from click.testing import CliRunner

from airqueue import _native
from airqueue.cli import main
from airqueue.models.errors import ModelError
from airqueue.models.http_timing import timing_for
from airqueue.models.page_time import page_time
from airqueue.models.phy_names import phy
from airqueue.models.tcp_capacity import collision
from airqueue.simulate.scenario import Scenario
from airqueue.sizing.web import LEAST_WINDOW, MAX_USERS, Web, size_web
from airqueue.sizing.web_advice import web_advice

OF_MODEL = 0.05
"""Tolerance of web sessions against ns-2 in docs/validation.md."""
SMALL = Web(users=8, page_bytes=300e3, think_s=3.0, rtt_s=0.0)
DISTANT = Web(users=8, page_bytes=300e3, think_s=3.0, rtt_s=0.02)


def advised(web, rate_bps=54e6, **more):
    sized = size_web(web, rate_bps, **more)
    return sized, web_advice(sized, device="wlan0", phy_device="phy0")


def simulated(web, **changes):
    """Return mean page time and twice its standard error, of the scenario that is printed."""
    _, advice = advised(web)
    (settings,) = (each for each in advice.settings if each.target == "scenario")
    times = {"duration": "220 s", "warm_up": "20 s"}
    physical = {"phy": {"standard": "802.11g", "rate": "54 Mb/s"}}
    scenario = Scenario(times | physical | tomllib.loads("\n".join(settings.lines)))
    if changes:
        scenario = scenario.changed(changes)
    means = scenario.simulate(replications=5, seed=1).medium["session_mean_s"]
    return float(means.mean()), 2.0 * float(means.std()) / math.sqrt(len(means))


@pytest.mark.parametrize("every", [1, 2])
def test_a_page_takes_as_long_as_in_the_simulator(every):
    sized, _ = advised(SMALL)
    found_s, margin_s = simulated(SMALL, **{"tcp.ack_every": every})
    predicted_s = sized.plain_s if every == 1 else float(sized.page.mean_s)
    assert abs(predicted_s - found_s) <= OF_MODEL * found_s + margin_s


@pytest.mark.parametrize(
    "worse",
    [
        {"tcp.window": "1 packet"},
        {"tcp.window": "200 packets", "queue.limit": "10 packets"},
        {"tcp.ack_every": 1},
    ],
    ids=["a window of one", "a queue of ten", "every segment acknowledged"],
)
def test_other_settings_are_slower(worse):
    found_s, margin_s = simulated(SMALL)
    slower_s, other_s = simulated(SMALL, **worse)
    assert slower_s - other_s > found_s + margin_s


def test_the_window_for_a_distant_server_is_enough_and_a_tenth_is_not():
    sized, _ = advised(DISTANT)
    found_s, margin_s = simulated(DISTANT)
    unlimited_s, other_s = simulated(DISTANT, **{"tcp.window": "1000 packets"})
    assert found_s <= (1 + OF_MODEL) * unlimited_s + margin_s + other_s
    tenth = f"{max(2, sized.window_segments // 10)} packets"
    slower_s, other_s = simulated(DISTANT, **{"tcp.window": tenth})
    assert slower_s - other_s > found_s + margin_s


def test_the_queue_holds_all_windows_and_no_less():
    """Exactly: the sum of the windows; W of d + C RTT/L segments by hand."""
    timing = timing_for(phy("g"), 54e6, segment_bytes=1460, access="basic")
    alone = float(collision(1, 2, timing, collision_cost="corrected").aggregate_bps)
    for rtt_s in (0.0, 0.001, 0.02, 0.1):
        sized = size_web(Web(20, 1e6, rtt_s=rtt_s), 54e6)
        needed = 2 + alone * rtt_s / (8 * 1460)
        assert sized.window_segments == max(LEAST_WINDOW, math.ceil(needed))
        assert sized.queue_packets == 20 * sized.window_segments


@pytest.mark.parametrize("target_s", [0.4, 0.7, 2.0])
def test_users_within_the_target_are_the_most(target_s):
    sized = size_web(Web(20, 1e6, target_s=target_s, rtt_s=0.0), 54e6)
    timing = timing_for(phy("g"), 54e6, segment_bytes=1460, access="basic")
    kept, late = page_time([sized.most_users, sized.most_users + 1], 1e6, 10.0, 2, timing).mean_s
    assert kept <= target_s < late


@pytest.mark.parametrize(
    ("target_s", "most", "says"),
    [(0.01, 0, "No setting gives 10 ms"), (1e5, MAX_USERS, "as many as the model is for")],
)
def test_targets_out_of_reach_and_never_missed_are_said(target_s, most, says):
    sized, advice = advised(Web(20, 1e6, target_s=target_s, rtt_s=0.0))
    assert sized.most_users == most == advice.figure("most_users")
    assert says in advice.headline


def test_rts_costs_time_and_is_in_the_scenario():
    plain, _ = advised(Web(10, 30e3, rtt_s=0.0), 11e6)
    sized, advice = advised(Web(10, 30e3, rts=True, rtt_s=0.0), 11e6)
    assert sized.page.mean_s > plain.page.mean_s
    assert tomllib.loads("\n".join(advice.settings[-1].lines))["mac"]["rts_threshold"] == "0 B"


def test_an_overloaded_cell_and_a_distant_server_are_named():
    assert advised(Web(100, 1e6, rtt_s=0.0))[1].cautions[0].startswith("Somebody downloads 100.0 %")
    _, advice = advised(Web(2, 30e3, rtt_s=0.3))
    assert advice.figure("limited_by") == "path"


@pytest.mark.parametrize(
    ("web", "layer"),
    [
        (Web(0, 1e6, rtt_s=0.0), None),
        (Web(MAX_USERS + 1, 1e6, rtt_s=0.0), None),
        (Web(10, 0.0, rtt_s=0.0), None),
        (Web(10, float("nan"), rtt_s=0.0), None),
        (Web(10, 1e6, think_s=0.0, rtt_s=0.0), None),
        (Web(10, 1e6, rtt_s=-1.0), None),
        (Web(10, 1e6, target_s=0.0, rtt_s=0.0), None),
        (Web(10, 1e6, ack_timer_s=-1.0, rtt_s=0.0), None),
        (Web(10, 1e6, rtt_s=0.0), "b-short"),
    ],
)
def test_what_the_model_is_not_for_is_refused(web, layer):
    with pytest.raises(ModelError):
        size_web(web, 54e6, layer)


def test_layers_that_aggregate_are_refused_with_a_way_out():
    with pytest.raises(ModelError, match=r"one frame per access.*airqueue simulate"):
        size_web(Web(10, 1e6, rtt_s=0.0), 65e6, "n")


def test_the_plan_is_one_that_airqueued_takes_and_the_file_has_the_advice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = (
        "size web --users 20 --page 1MB --rate 54mbit --rtt 20ms --target 2s --no-simulate --for tc "
        "--plan plan.json --plan-sets queue --json out.json"
    )
    done = CliRunner().invoke(main, words.split())
    assert done.exit_code == 0, done.output
    plan = (tmp_path / "plan.json").read_text("utf-8")
    _native.check_plan(plan)
    sized = size_web(Web(20, 1e6, rtt_s=0.02), 54e6)
    assert str(sized.queue_packets) in plan
    assert f"dev wlan0 window {sized.window_segments * 1460}" in done.output
    document = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert document["what"] == "web" and document["inputs"]["rtt_s"] == 0.02


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--page 1MB --rate 54mbit --rtt 1ms", "--users"),
        ("--users 20 --page 1MB --rate 54mbit", "--rtt"),
        ("--users 20 --page 1 --rate 54mbit --rtt 1ms", "unit"),
        ("--users 0 --page 1MB --rate 54mbit --rtt 1ms", "--users"),
        ("--users 20 --page 1MB --rate 65mbit --rtt 1ms --phy n", "aggregates"),
    ],
)
def test_wrong_words_are_answered_in_a_sentence(words, says):
    done = CliRunner().invoke(main, ["size", "web", *words.split()])
    assert done.exit_code in (1, 2) and isinstance(done.exception, SystemExit)
    assert says in " ".join(done.output.split())
