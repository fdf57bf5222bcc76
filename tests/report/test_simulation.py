"""The HTML report of a simulation: whole, safe, and what it notices is what the figures say."""

from __future__ import annotations

import pytest
from pages import parsed

from airqueue import text
from airqueue.report.simulation import render
from airqueue.simulate import Recorders, Scenario
from airqueue.simulate.noticed import sentences

HOSTILE = "<script>alert(1)</script>\"'&"


def home(queue: dict[str, str] | None = None) -> Scenario:
    """Return a download behind whose packets a call waits, as far as the queue allows."""
    return Scenario(
        {
            "duration": "4 s",
            "warm_up": "1 s",
            "phy": {"standard": "802.11g", "rate": "6 Mb/s"},
            "stations": [
                {"name": "ap", "queue": queue or {"limit": "400 packets"}},
                {"name": "laptop"},
                {"name": "phone"},
            ],
            "hosts": [{"name": "server", "link": "ap", "rate": "100 Mb/s", "delay": "10 ms"}],
            "flows": [
                {"name": "download", "from": "server", "to": "laptop", "source": "tcp"},
                {"name": "call", "from": "server", "to": "phone", "source": "voice"},
            ],
        }
    )


def simulated(scenario: Scenario, replications: int = 3):
    return scenario.simulate(replications=replications, recorders=Recorders(series_interval_s=0.1))


@pytest.fixture(scope="module")
def bloated():
    scenario = home()
    return scenario, simulated(scenario)


def test_the_report_has_pictures_tables_and_the_data(bloated):
    page = parsed(render("home.toml", *bloated))
    assert page.svgs >= 12
    for title in ("Who gets what", "Who waits", "Where packets wait", "Who has the air"):
        assert title in page.headings
    for title in ("Rate over time", "TCP's congestion window over time", "Queues over time"):
        assert title in page.headings
    for title in ("Flows", "TCP", "Calls", "Queues", "Stations"):
        assert title in page.headings
    assert "result" in page.ids


def test_what_is_noticed_are_the_means_of_the_figures(bloated):
    scenario, results = bloated
    said = sentences(results, scenario)
    queue = results.summary["queues"]["ap"]
    assert said[0].startswith(f"Packets wait in ap: {queue['length_mean_packets']['mean']:.1f} in")
    assert f"stays {queue['sojourn_mean_s']['mean'] * 1e3:.0f} ms" in said[0]
    assert said[1] == "ap sends the flows download and call."
    busy = results.summary["stations"]["ap"]["busy_ratio"]["mean"]
    assert any(f"{busy:.1%}"[:-1] in each and "ap senses or sends" in each for each in said)
    call = results.summary["calls"]["call"]["r_factor"]["mean"]
    assert any(f"R {call:.0f}" in each for each in said)
    assert any(each.startswith("download gets most") for each in said)


def test_what_a_cure_changes_is_not_noticed_any_more(bloated):
    scenario, results = bloated
    better = home({"discipline": "fq_codel"})
    now = sentences(simulated(better), better)
    before = sentences(results, scenario)
    unhappy = "leaves many people dissatisfied"
    assert any(unhappy in each for each in before) and not any(unhappy in each for each in now)
    assert any("to slow senders down" in each for each in now)
    assert not any("window holds" in each for each in now)


def test_a_quiet_network_has_nothing_that_waits_and_no_loss():
    scenario = Scenario(
        {
            "duration": "2 s",
            "phy": {"standard": "802.11g"},
            "stations": [{"name": "ap"}, {"name": "phone"}],
            "flows": [
                {"name": "few", "from": "ap", "to": "phone", "source": "cbr", "rate": "100 kb/s"}
            ],
        }
    )
    results = scenario.simulate(replications=1)
    said = sentences(results, scenario)
    assert said[0].startswith(
        "No queue holds more than one packet in the mean; packets stay longest in ap, "
    )
    assert "No packet was lost." in said
    assert not any("The air is full" in each for each in said)
    assert said[-1].startswith("One replication has no interval")
    page = parsed(render("few.toml", scenario, results))
    assert "Rate over time" not in page.headings
    assert "Where packets are lost" not in page.headings


def noticed(description, **changes):
    scenario = Scenario({**description, **changes})
    results = scenario.simulate(replications=1)
    return sentences(results, scenario), results


PAIR = {
    "duration": "4 s",
    "phy": {"standard": "802.11g"},
    "stations": [{"name": "ap"}, {"name": "phone"}],
}
CONSTANT = {"source": "cbr", "rate": "8 Mb/s"}


def test_packets_before_a_wired_link_without_figures_are_noticed():
    flow = {"name": "down", "from": "server", "to": "phone", **CONSTANT}
    host = {"name": "server", "link": "ap", "rate": "5 Mb/s"}
    said, _ = noticed(PAIR, hosts=[host], flows=[flow])
    assert "packets wait before the wired link server->ap" in said[0]
    assert not any("No queue holds" in each for each in said)
    said, _ = noticed(PAIR, hosts=[{**host, "queue": "pfifo:100000"}], flows=[flow])
    assert said[0].startswith("Packets wait in server->ap: ")
    said, _ = noticed(PAIR, hosts=[{**host, "rate": "50 Mb/s"}], flows=[flow])
    assert said[0].startswith("No queue holds more than one packet")
    # Of an asymmetric line the direction towards the host alone is slow.
    back = {"name": "up", "from": "phone", "to": "server", **CONSTANT}
    line = {**host, "rate": "50 Mb/s", "rate_to_host": "1 Mb/s"}
    said, _ = noticed(PAIR, hosts=[line], flows=[back])
    assert "packets wait before the wired link ap->server" in said[0]
    said, _ = noticed(PAIR, hosts=[line], flows=[flow])
    assert said[0].startswith("No queue holds more than one packet")


def test_packets_of_a_processor_are_noticed():
    slow = [{"name": "ap", "processing_rate": "300 packets/s", "processing_room": "9 packets"}]
    flow = {"name": "down", "from": "ap", "to": "phone", **CONSTANT}
    said, results = noticed(PAIR, stations=[*slow, {"name": "phone"}], flows=[flow])
    assert said[0].startswith("What waits for the processor of ap is in no queue")
    dropped = results.summary["queues"]["ap"]["dropped_unprocessed_packets"]["mean"]
    why = f"ap drops {dropped:,.0f} packets"
    assert any(
        each.startswith(why) and "because the processor had no room" in each for each in said
    )
    page = parsed(render("slow.toml", Scenario(results.scenario), results))
    assert "Where packets are lost" in page.headings


def test_packets_kept_for_a_sleeper_are_noticed():
    phone = {"name": "phone", "power_save": {"timeout": "50 ms"}}
    flow = {
        "name": "few",
        "from": "ap",
        "to": "phone",
        "source": "cbr",
        "packet_rate": "5 packets/s",
    }
    said, results = noticed(
        PAIR, stations=[{"name": "ap"}, phone], beacons=[{"station": "ap"}], flows=[flow]
    )
    kept_s = results.summary["sleep"]["phone"]["kept_mean_s"]["mean"]
    assert said[0] == (
        "Packets wait longest where those for phone, which sleeps or is away, are kept: "
        f"{text.seconds(kept_s)} in the mean."
    )


def test_answers_that_are_lost_are_lost_packets():
    lossy = {"name": "server", "link": "ap", "loss": 0.5}
    ping = {"name": "ping", "from": "phone", "to": "server", "source": "ping"}
    said, results = noticed(PAIR, hosts=[lossy], flows=[ping])
    drops = results.summary["drops"].values()
    lost = sum(of["wire_packets"]["mean"] for of in drops)
    assert lost > results.summary["flows"]["ping"]["given_up_packets"]["mean"]
    assert any(each.startswith(f"{lost:.0f} packets are lost on the way: ") for each in said)


def test_the_worst_calls_are_spoken_of():
    calls = [
        {"name": f"call{n}", "from": "phone", "to": "server", "source": "voice"} for n in range(4)
    ]
    calls.append({"name": "bad", "from": "phone", "to": "far", "source": "voice"})
    hosts = [
        {"name": "server", "link": "ap"},
        {"name": "far", "link": "ap", "delay": "300 ms", "loss": 0.2},
    ]
    said, _ = noticed(PAIR, hosts=hosts, flows=calls)
    spoken = [each for each in said if each.startswith("The call ")]
    assert len(spoken) == 3
    assert spoken[0].startswith("The call bad leaves many people dissatisfied")


@pytest.mark.parametrize(
    ("standard", "queue", "source", "warned"),
    [
        ("802.11g", "fq_codel", "saturated", True),
        ("802.11g", "fq_codel", "tcp", False),
        ("802.11g", "pfifo:100", "saturated", False),
        ("802.11ac", "pfifo:100", "saturated", True),
        ("802.11ac", "mac80211", "saturated", False),
    ],
)
def test_saturated_flows_that_share_a_queue_are_warned_of(standard, queue, source, warned):
    rate = {} if standard == "802.11g" else {"rate": "VHT-MCS7"}
    scenario = Scenario(
        {
            "duration": "200 ms",
            "phy": {"standard": standard, **rate},
            "stations": [{"name": "ap", "queue": queue}, {"name": "sta", "count": 2}],
            "flows": [{"from": "ap", "to": "sta", "source": source}],
        }
    )
    warnings = scenario.simulate(replications=1).warnings
    says = "2 saturated flows share the queue of ap"
    assert any(each.startswith(says) for each in warnings) == warned


def test_a_flow_that_the_receivers_window_holds_up_is_noticed():
    far = home().description
    far["tcp"] = {"window": "4 packets"}
    far["hosts"][0]["delay"] = "50 ms"
    scenario = Scenario(far)
    results = scenario.simulate(replications=1)
    share = results.summary["connections"]["download"]["window_limited_ratio"]["mean"]
    assert share > 0.9
    said = sentences(results, scenario)
    assert any(f"holds download up {text.percent(share)} of the time" in each for each in said)


def test_names_from_outside_are_text(bloated):
    page = parsed(render(HOSTILE, *bloated))
    assert page.open == []
    assert any(HOSTILE in each for each in page.text)


def test_many_stations_are_cut_short_and_the_report_says_so():
    scenario = Scenario(
        {
            "duration": "200 ms",
            "phy": {"standard": "802.11g"},
            "stations": [{"name": "ap"}, {"name": "sta", "count": 130}],
            "flows": [{"name": "up", "from": "sta", "to": "ap", "source": "saturated"}],
        }
    )
    page = parsed(render("crowd.toml", scenario, scenario.simulate(replications=2)))
    text = " ".join(page.text)
    assert "are left out" in text and "The first 100 of 130" in text
