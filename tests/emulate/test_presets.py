"""Each preset is a scenario, and shows what its comment says: simulated, without real programs."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.emulate import catalogue
from airqueue.emulate.errors import EmulationError
from airqueue.simulate import Scenario
from airqueue.simulate.scenario import read_file

DATA = Path(__file__).parent / "data"
DOCS = Path(__file__).parents[2] / "docs" / "emulate.md"
# A probe in both directions between the real nodes, which asks for next to nothing.
PROBE = {"source": "cbr", "packet_rate": "20 packets/s", "size": "200 B"}
DOWN = {"name": "down", "from": "server", "to": "phone"}
UP = {"name": "up", "from": "phone", "to": "server"}


@functools.cache
def simulated(name: str, download: bool = False, distance: str = "") -> dict[str, Any]:
    """Figures of a preset with a probe, or a download, between its real nodes: means of two runs."""
    description = read_file(catalogue.path(name))
    flows = [{**DOWN, **PROBE}, {**UP, **PROBE}]
    if download:
        flows = [{**DOWN, "source": "tcp", "tcp": {"stack": "linux"}}]
    description["flows"] = [*description.get("flows", []), *flows]
    scenario = Scenario(description)
    if distance:
        scenario = scenario.changed({"stations.phone.position": [distance, "0 m"]})
    summary = scenario.simulate(seed=1, replications=2).summary
    return {
        kind: {
            each: {figure: value["mean"] for figure, value in figures.items()}
            for each, figures in summary[kind].items()
        }
        for kind in ("flows", "stations")
    }


def line_s(name: str) -> float:
    """The delay of the wired line between server and access point."""
    hosts = {host["name"]: host for host in read_file(catalogue.path(name))["hosts"]}
    value, unit = hosts["server"]["delay"].split()
    assert unit == "ms"
    return float(value) / 1e3


def test_the_list_has_every_preset_with_what_it_is():
    shown = CliRunner().invoke(main, ["emulate", "--list"])
    assert shown.exit_code == 0
    assert catalogue.names() == [
        "agreed-wake-times",
        "bloated-fifo",
        "conference-hall",
        "evening-with-neighbours",
        "far-station",
        "fq-codel",
        "home-evening",
        "living-room",
        "mesh-two-hops",
        "quiet-flat",
        "roaming-phone",
        "scanning-laptop",
        "sleeping-call",
        "sleeping-phone",
        "upload-starves-call",
    ]
    for name in catalogue.names():
        assert catalogue.about(name).endswith(".")
        assert f"\n{name}\t{catalogue.about(name)}\n" in shown.output


@pytest.mark.parametrize("name", catalogue.names())
def test_a_preset_is_a_scenario_file_with_real_nodes(name):
    description = Scenario.from_toml(catalogue.path(name)).description
    tables = [*description["stations"], *description["hosts"]]
    station = "laptop" if name == "scanning-laptop" else "phone"
    assert [table["name"] for table in tables if table.get("real")] == [station, "server"]
    text = catalogue.path(name).read_text("utf-8")
    assert "# Origin of the figures: " in text
    assert f"#     airqueue emulate {name} " in text


@pytest.mark.parametrize("name", catalogue.names())
def test_airqueue_simulate_reads_a_preset(name):
    command = ["simulate", str(catalogue.path(name)), "--replications", "1"]
    shown = CliRunner().invoke(main, [*command, "--set", "duration=1 s", "--set", "warm_up=0 s"])
    assert shown.exit_code == 0, shown.output


PUBLISHED = tomllib.loads((DATA / "published_delays.toml").read_text("utf-8"))["measured"]


@functools.cache
def round_trips_s(name: str, changes: tuple[tuple[str, Any], ...]) -> dict[str, float]:
    """Quantiles over the air of 600 pings to the phone at random times, means of four runs."""
    description = read_file(catalogue.path(name))
    # Seldom enough for a phone to fall asleep in between.
    ping = {"interval": "5 s", "distribution": "exponential"}
    probe = {"name": "probe", "from": "server", "to": "phone", "source": "ping", "ping": ping}
    description |= {"flows": [*description.get("flows", []), probe], "duration": "750 s"}
    # Quantiles are known to 1.6 %, of the line too: the line takes no time here.
    scenario = Scenario(description).changed({"hosts.server.delay": "0 ms", **dict(changes)})
    (figures,) = scenario.simulate(seed=1, replications=4).summary["pings"].values()
    return {q: figures[f"round_trip_{q}_s"]["mean"] for q in ("p50", "p95", "p99", "max")}


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row['preset']} {row['figure']}")
def test_presets_delay_as_homes_that_others_measured(row):
    changes = tuple(row.get("changes", {}).items())
    found = round_trips_s(row["preset"], changes)[row["figure"]]
    assert row["from_s"] <= found <= row["to_s"], row["why"]
    table = DOCS.read_text("utf-8").partition("### Beside measured delays")[2]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    value, unit = rows[PUBLISHED.index(row)][4].split()
    assert unit == "ms"
    assert float(value) / 1e3 == pytest.approx(found, rel=0.05)


def test_nothing_waits_in_the_quiet_flat():
    flows = simulated("quiet-flat")["flows"]
    for probe in ("down", "up"):
        assert flows[probe]["delay_max_s"] < line_s("quiet-flat") + 0.001
        assert flows[probe]["loss_ratio"] == 0
    # The line of 250 Mb/s is the bottleneck.
    assert simulated("quiet-flat", download=True)["flows"]["down"]["throughput_bps"] > 225e6


def test_packets_to_the_roaming_phone_are_lost_while_it_searches():
    description = read_file(catalogue.path("roaming-phone"))
    description["flows"] = [{**DOWN, **PROBE, "packet_rate": "200 packets/s"}]
    summary = Scenario(description).simulate(seed=1, replications=1).summary
    assert summary["associations"]["phone"]["roams"]["mean"] == 5
    down = {name: of["mean"] for name, of in summary["flows"]["down"].items()}
    # Five times 240 ms, and at most 20 ms more for the frames, their backoffs and the packets on
    # their way; less what the access point still repeats when the phone is back on the channel: ten
    # times with growing windows, 23 ms in the mean.
    assert 5 * 0.18 <= down["loss_ratio"] * 60 <= 5 * 0.26
    assert down["delay_p95_s"] < line_s("roaming-phone") + 0.001


def sparse(name, flow):
    """Delays beyond the line's of 1020 packets that come far apart, and how long the phone sleeps."""
    description = read_file(catalogue.path(name))
    # 1/1.7 s is no multiple of the time between beacons, or of the 20 ms of a call: packets come at
    # any place in between.
    packets = {"source": "cbr", "packet_rate": "1.7 packets/s", "size": "200 B"}
    description |= {"flows": [{**flow, **packets}], "duration": "300 s"}
    summary = Scenario(description).simulate(seed=1, replications=2).summary
    (delays,) = summary["flows"].values()
    past_line = {figure: of["mean"] - line_s(name) for figure, of in delays.items()}
    return past_line, summary["sleep"]["phone"]["asleep_ratio"]["mean"]


@pytest.mark.parametrize(("flow", "waits"), [(DOWN, True), (UP, False)])
def test_sparse_packets_to_the_sleeping_phone_wait_for_its_beacons(flow, waits):
    # The phone sleeps between two packets, and wakes up 102.4 ms after a beacon at the latest.
    past_line, asleep_ratio = sparse("sleeping-phone", flow)
    # Beacon, null frame and packet take less than 2 ms together.
    if waits:
        assert past_line["delay_mean_s"] == pytest.approx(0.0512, abs=0.003)
        assert 0.097 < past_line["delay_p95_s"] < past_line["delay_max_s"] < 0.1045
    else:
        assert past_line["delay_max_s"] < 0.002
    assert asleep_ratio > 0.6


@pytest.mark.parametrize(("flow", "waits"), [(DOWN, True), (UP, False)])
def test_packets_to_the_phone_in_a_call_wait_for_its_next_packet(flow, waits):
    past_line, asleep_ratio = sparse("sleeping-call", flow)
    if waits:
        # Evenly spread over 20 ms: the mean of 1020 packets is known to 0.18 ms. Trigger, its
        # answer and the packet take less than 1 ms together.
        assert past_line["delay_mean_s"] == pytest.approx(0.01, abs=0.0007)
        assert 0.018 < past_line["delay_p95_s"] < past_line["delay_max_s"] < 0.021
    else:
        assert past_line["delay_max_s"] < 0.002
    # Three short frames in 20 ms, and a beacon in 102.4 ms.
    assert asleep_ratio > 0.95


@pytest.mark.parametrize(("flow", "waits"), [(DOWN, True), (UP, False)])
def test_packets_to_the_phone_wait_for_its_agreed_wake_times(flow, waits):
    past_line, asleep_ratio = sparse("agreed-wake-times", flow)
    asleep = 102.4e-3 - 8e-3
    if waits:
        # (T - D)^2 / 2T, of 1020 packets known to 0.9 ms; the frame takes less than 1 ms.
        mean = asleep**2 / (2 * 102.4e-3)
        assert past_line["delay_mean_s"] == pytest.approx(mean, abs=0.003)
        assert 0.97 * asleep < past_line["delay_max_s"] < asleep + 0.001
    else:
        assert past_line["delay_max_s"] < 0.002
    assert asleep_ratio == pytest.approx(asleep / 102.4e-3, abs=0.002)


def test_people_who_walk_through_the_living_room_cost_packets_time():
    steady = read_file(catalogue.path("living-room")) | {"links": []}
    steady["flows"] = [{**DOWN, **PROBE}]
    (still,) = Scenario(steady).simulate(seed=1, replications=2).summary["flows"].values()
    walked = simulated("living-room")["flows"]
    line = line_s("living-room")
    # Minstrel samples with packets, of which a few need several tries.
    assert still["delay_p99_s"]["mean"] < line + 0.001
    for probe in ("down", "up"):
        assert walked[probe]["delay_p50_s"] < line + 0.001
        assert line + 0.005 < walked[probe]["delay_p99_s"] < line + 0.1
    # A tenth of the time Rayleigh's fading costs 10 dB and more, and shadows as much as they give.
    steady["flows"] = [{**DOWN, "source": "tcp", "tcp": {"stack": "linux"}}]
    (still,) = Scenario(steady).simulate(seed=1, replications=2).summary["flows"].values()
    faded = simulated("living-room", download=True)["flows"]["down"]["throughput_bps"]
    assert 0.25 < faded / still["throughput_bps"]["mean"] < 0.75


@pytest.mark.parametrize("tells", [True, False])
def test_packets_to_the_scanning_laptop_wait_until_it_is_back(tells):
    description = read_file(catalogue.path("scanning-laptop"))
    (laptop,) = (of for of in description["stations"] if of["name"] == "laptop")
    laptop["scans"]["tells"] = tells
    # 1/47 s is no divisor of the times of a scan: packets come at any place of an absence.
    sparse = {"source": "cbr", "packet_rate": "47 packets/s", "size": "200 B"}
    description |= {"flows": [{**DOWN, "to": "laptop", **sparse}], "duration": "300 s"}
    summary = Scenario(description).simulate(seed=1, replications=2).summary
    (flow,) = summary["flows"].values()
    past_line = {name: of["mean"] - line_s("scanning-laptop") for name, of in flow.items()}
    # Twelve times 60 ms every 20 s; of the 15 scans one may be cut by the end.
    absent = summary["absences"]["laptop"]["absent_ratio"]["mean"]
    assert absent == pytest.approx(12 * 0.06 / 20, rel=1 / 15)
    # 3.6 % of the packets wait, so that the 95th percentile does not.
    assert past_line["delay_p95_s"] < 0.002
    assert flow["loss_ratio"]["mean"] == 0
    failed = summary["stations"]["ap"]["failed_ratio"]["mean"]
    if tells:
        # Two channels, and the null frames before and behind, below 2 ms each.
        assert 0.117 < past_line["delay_max_s"] < 0.124
        assert failed == 0
    else:
        # Under a block ack agreement packets are repeated for 512 ms, in vain for 120 ms; the last
        # attempt has a backoff of at most 1023 slots of 9 us.
        assert 0.117 < past_line["delay_max_s"] < 0.12 + 1023 * 9e-6 + 0.001
        assert failed > 0.1


def test_packets_to_the_phone_wait_in_the_evening_and_packets_from_it_a_little():
    flows = simulated("home-evening")["flows"]
    line = line_s("home-evening")
    assert 0.05 < flows["down"]["delay_p50_s"] - line < 0.15
    assert 0.002 < flows["up"]["delay_mean_s"] - line < 0.02
    assert flows["film"]["throughput_bps"] > 3e6


def test_packets_wait_for_the_neighbours_in_the_evening():
    summary = simulated("evening-with-neighbours")
    line, flows = line_s("evening-with-neighbours"), summary["flows"]
    to_phone = {name: value - line for name, value in flows["down"].items() if "delay" in name}
    # As the preset's comment says, which was written before the first run.
    there_and_back = to_phone["delay_p50_s"] + flows["up"]["delay_p50_s"] - line
    assert 0.0015 < there_and_back < 0.006
    assert 0.005 < to_phone["delay_p95_s"] < 0.06
    assert to_phone["delay_max_s"] < 0.25
    # The phone hears what the access point does not.
    busy = {name: of["busy_ratio"] for name, of in summary["stations"].items()}
    assert 0.05 < busy["phone"] - busy["ap"] < 0.2


def test_the_far_station_is_slow_and_its_frames_are_repeated():
    far = simulated("far-station", download=True)
    near = simulated("far-station", download=True, distance="3 m")
    # The slowest rate of all is 6.5 Mb/s, the fastest 65 Mb/s.
    assert far["flows"]["down"]["throughput_bps"] < 6.5e6
    assert near["flows"]["down"]["throughput_bps"] > 6 * far["flows"]["down"]["throughput_bps"]
    probed = simulated("far-station")
    assert probed["stations"]["ap"]["failed_ratio"] > 0.05
    assert probed["flows"]["down"]["loss_ratio"] < 0.01


def test_many_contend_in_the_conference_hall():
    figures = simulated("conference-hall")
    flows, line = figures["flows"], line_s("conference-hall")
    assert 0.01 < flows["down"]["delay_p50_s"] - line < 0.1
    assert 0.002 < flows["up"]["delay_p50_s"] - line < 0.02
    assert 0.02 < flows["up"]["delay_p95_s"] - line < 0.1
    assert figures["stations"]["ap"]["busy_ratio"] > 0.85
    frames = [station["attempts"] for station in figures["stations"].values()]
    collided = [
        station["attempts"] * station["collided_ratio"]
        for station in figures["stations"].values()
        if station["attempts"]
    ]
    assert sum(collided) / sum(frames) > 0.1


def test_packets_take_the_channel_of_the_mesh_twice():
    figures = simulated("mesh-two-hops")
    line = line_s("mesh-two-hops")
    for probe in ("down", "up"):
        delays = figures["flows"][probe]
        assert 0.008 < delays["delay_p50_s"] - line < 0.025
        assert 0.025 < delays["delay_p95_s"] - line < 0.06
    far = simulated("mesh-two-hops", download=True)["flows"]["down"]["throughput_bps"]
    near = simulated("mesh-two-hops", download=True, distance="20 m")["flows"]["down"]
    assert 0.3 < far / near["throughput_bps"] < 2 / 3


def test_the_fifo_delays_two_hundred_milliseconds_and_fq_codel_a_few():
    fifo = simulated("bloated-fifo")["flows"]
    fair = simulated("fq-codel")["flows"]
    line = line_s("bloated-fifo")
    assert 0.15 < fifo["down"]["delay_p50_s"] - line < 0.25
    assert fair["down"]["delay_p95_s"] - line < 0.02
    # The television has as much of it either way.
    assert fair["download"]["throughput_bps"] > 0.9 * fifo["download"]["throughput_bps"]


def test_uploads_starve_what_comes_down_and_not_what_goes_up():
    flows = simulated("upload-starves-call")["flows"]
    line = line_s("upload-starves-call")
    assert flows["down"]["delay_p50_s"] - line > 0.05
    assert flows["down"]["loss_ratio"] > 0.05
    assert flows["up"]["delay_p50_s"] - line < 0.01
    assert flows["up"]["loss_ratio"] < 0.01


def test_what_is_no_preset_and_no_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EmulationError, match=r"did you mean home-evening\?$"):
        catalogue.path("home-evenin")
    with pytest.raises(EmulationError, match="presets are agreed-wake-times, bloated-fifo"):
        catalogue.path("xyz")
    assert str(catalogue.path("xyz.toml")) == "xyz.toml"
