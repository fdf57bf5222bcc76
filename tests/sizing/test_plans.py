"""`size --plan`: what is recommended, as airqueued takes it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from airqueue import _native
from airqueue.cli import main
from airqueue.sizing import plans
from airqueue.sizing.advice import Settings

CHAIN = str(Path(__file__).parents[2] / "examples" / "mesh" / "chain.toml")
FIFO = "size ap --rate 54mbit --rtt 40ms --flows 20 --no-simulate"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def planned(command: str) -> tuple[list[dict], str]:
    """Return what a command plans, and its settings in tc's and hostapd's words."""
    done = CliRunner().invoke(main, [*command.split(), "--plan", "plan.json", "--for", "all"])
    assert done.exit_code == 0, done.output
    document = json.loads(Path("plan.json").read_text("utf-8"))
    jsonschema.validate(document, json.loads(_native.plan_schema()))
    assert all(len(item["why"]) > 20 for item in document["settings"])
    return [item["set"] for item in document["settings"]], done.output


def test_a_fifo_has_the_limit_that_the_lines_have():
    (setting,), printed = planned(FIFO)
    (limit,) = {int(n) for n in re.findall(r"root pfifo limit (\d+)", printed)}
    assert setting == plans.queue("wlan0", plans.fifo(packets=limit))


def test_mac80211s_queues_have_the_limit_that_the_lines_have():
    air = "--rate 866mbit --phy ac-80mhz-2ss-sgi --rtt 40ms --flows 8"
    fast = f"size ap {air} --no-simulate --plan-sets"
    (setting,), printed = planned(f"{fast} txq")
    (limit,) = {int(n) for n in re.findall(r"set txq limit (\d+)", printed)}
    assert setting["txq"]["limit_packets"] == limit
    (queue,), _ = planned(f"{fast} queue")
    assert queue == plans.queue("wlan0", plans.fifo(packets=limit))


def test_mac80211s_queues_cannot_be_as_short_as_a_mesh_needs():
    done = CliRunner().invoke(
        main,
        ["size", "mesh", CHAIN, "--node", "client", "--plan", "plan.json", "--plan-sets", "txq"],
    )
    assert done.exit_code == 1 and "sets no txq: it sets queue" in done.output


def test_flow_queueing_is_planned_where_no_fifo_is_recommended():
    command = "size ap --rate 54mbit --rtt 300ms --flows 1 --device wlan7 --no-simulate"
    (setting,), printed = planned(command)
    said = re.search(
        r"dev wlan7 root fq_codel limit (\d+) target (\d+)us interval (\d+)us", printed
    )
    discipline = setting["queue"]["queue"]["fq_codel"]
    keys = ("limit_packets", "target_us", "interval_us")
    assert [discipline[key] for key in keys] == [int(part) for part in said.groups()]
    assert setting["queue"]["interface"] == "wlan7"
    # mac80211's limit is among the lines, but nobody recommends it here.
    refused = CliRunner().invoke(main, [*command.split(), "--plan", "p", "--plan-sets", "txq"])
    assert refused.exit_code == 1 and "sets no txq: it sets queue" in refused.output
    assert not Path("p").exists()


def test_a_plan_of_a_mesh_is_for_one_node():
    limits = {}
    for node in ("client", "relay 1", "relay 2", "relay 3"):
        done = CliRunner().invoke(
            main, ["size", "mesh", CHAIN, "--node", node, "--plan", "plan.json"]
        )
        assert done.exit_code == 0, done.output
        (item,) = json.loads(Path("plan.json").read_text("utf-8"))["settings"]
        limits[node] = item["set"]["queue"]["queue"]["fifo"]["limit_packets"]
    # MESH, section 5: 2, 2, 3 and 3 packets from the source on.
    assert list(limits.values()) == [2, 2, 3, 3]


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ([], "name it with --node, one of client, relay 1"),
        (["--node", "roof"], 'There is no node "roof" with settings for a plan; the nodes are cl'),
    ],
)
def test_a_plan_of_a_mesh_without_its_node_is_refused_before_the_advice(node, says):
    done = CliRunner().invoke(main, ["size", "mesh", CHAIN, *node, "--plan", "plan.json"])
    assert done.exit_code == 2 and done.stdout == ""
    assert says in " ".join(done.stderr.split())


def test_channel_access_is_planned_for_stations_and_access_point():
    settings, printed = planned("size edca --uploads 6 --downloads 6 --no-simulate")
    announced = {s["edca"]["access_category"]: s["edca"] for s in settings if "edca" in s}
    own = {s["own_edca"]["access_category"]: s["own_edca"] for s in settings if "own_edca" in s}
    for hostapd, category in (("be", "best_effort"), ("bk", "background"), ("vi", "video")):
        for key, said in (("aifsn", "aifs"), ("cw_min", "cwmin"), ("cw_max", "cwmax")):
            found = re.search(rf"wmm_ac_{hostapd}_{said}=(\d+)", printed)
            if found is None:
                assert category not in announced
                continue
            value = int(found[1])
            assert announced[category][key] == (value if said == "aifs" else 2**value - 1)
    found = re.search(r"tx_queue_data2_cwmin=(\d+)", printed)
    assert own["best_effort"]["cw_min"] == int(found[1])


def test_the_upload_of_a_line_is_planned_and_the_download_is_not():
    (setting,) = plans.chosen(_line(None, 2e6)).sets
    assert setting == plans.queue("wan", plans.cake(1_900_000))
    with pytest.raises(
        plans.PlanError, match=r"a plan can set OpenWrt's .* alone: --plan-sets uci"
    ):
        plans.chosen(_line(20e6, 2e6))


def test_what_is_planned_for_openwrt_is_what_its_lines_set():
    settings = plans.chosen(_line(20e6, 2e6), plans.UCI)
    (setting,) = settings.sets
    section = setting["uci"]
    typed = {f"uci set sqm.{section['section']}={section['type']}"}
    typed |= {
        f"uci set sqm.{section['section']}.{option}='{value}'"
        for option, value in section["options"].items()
    }
    assert section["options"]["upload"] == "1900" and section["options"]["download"] == "19000"
    assert typed == {line for line in settings.lines if line.startswith("uci set")}
    with pytest.raises(plans.PlanError, match="sets no uci"):
        plans.chosen(
            (Settings("tc", "there", (), sets=(plans.queue("a", plans.fifo(packets=5)),)),), "uci"
        )


def test_radios_of_openwrt_are_planned_with_consent():
    """`wifi reload` may drop stations: each setting of the plan says that this was allowed."""
    radio = plans.uci(plans.WIRELESS, "radio0", {"tx_burst": "3.0"})
    line = plans.uci("sqm", "airqueue", {"upload": "9500"}, kind="queue")
    settings = Settings("openwrt", "there", (), sets=(radio, line))
    with pytest.raises(plans.PlanError, match="--drops-stations"):
        plans.plan(settings, "why")
    document = plans.plan(settings, "why", drops_stations=True)
    of_radio, of_line = (item["set"]["uci"] for item in document["settings"])
    assert of_radio == {**radio["uci"], "drops_stations": True}
    assert of_line == line["uci"]
    _native.check_plan(plans.text(document))


def test_advice_without_a_setting_is_not_planned():
    with pytest.raises(plans.PlanError, match="has no setting that a plan can say"):
        plans.chosen((Settings("hostapd", "there", ("# nothing to set",)),))


def _line(down_bps: float | None, up_bps: float | None) -> tuple[Settings, ...]:
    from airqueue.sizing.settings import sqm  # noqa: PLC0415 - of this test alone

    return sqm.line(down_bps, up_bps)


def test_a_long_reason_is_cut_and_stays_within_the_limit():
    settings = Settings("tc", "there", (), sets=(plans.queue("wlan0", plans.fifo(packets=5)),))
    document = plans.plan(settings, "ü" * 2000)
    (item,) = document["settings"]
    assert len(item["why"].encode()) <= plans.LONGEST_WHY
    _native.check_plan(plans.text(document))


def test_options_of_a_plan_need_a_plan():
    done = CliRunner().invoke(main, [*FIFO.split(), "--plan-sets", "txq"])
    assert done.exit_code == 2 and "--plan FILE" in done.output


def test_what_is_no_plan_is_refused_with_the_key():
    wrong = {"plan": 1, "made_by": "me", "settings": [{"why": "so", "set": {"ring": {}}}]}
    with pytest.raises(_native.NativeError, match="settings"):
        _native.check_plan(json.dumps(wrong))
