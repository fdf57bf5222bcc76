"""Captures and time series of a simulation, beside what the command's own tests say of them."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.simulate import Recorders, Scenario, ScenarioError, cell
from pcap_reader import read


def small():
    return cell("802.11b", stations=2, duration="400 ms", overrides={"warm_up": "0 s"})


def test_a_window_of_tcp_is_what_is_delivered_in_a_round_trip():
    """Little's law: rate times round-trip time is the window, once slow start is over."""
    scenario = Scenario(
        {
            "duration": "30 s",
            "phy": {"standard": "802.11g"},
            "stations": [{"name": "ap", "queue": {"limit": "100 packets"}}, {"name": "phone"}],
            "hosts": [{"name": "server", "link": "ap", "rate": "100 Mb/s", "delay": "20 ms"}],
            "flows": [
                {"name": "download", "from": "server", "to": "phone", "source": "tcp"},
                {"name": "few", "from": "ap", "to": "phone", "source": "cbr", "rate": "10 kb/s"},
            ],
        }
    )
    results = scenario.simulate(replications=1, recorders=Recorders(series_interval_s=0.1))
    flow = results.series["flows"]["download"]
    late = results.series["time_s"] > 5
    carried = (flow["throughput_bps"] * flow["srtt_s"])[late].mean() / 8
    header = 40 / 1460
    assert carried == pytest.approx(flow["cwnd_bytes"][late].mean() * (1 + header), rel=0.05)
    assert np.isnan(results.series["flows"]["few"]["cwnd_bytes"]).all()


def test_series_add_up_to_the_figures_of_the_first_replication():
    recorders = Recorders(series_interval_s=0.1)
    results = small().simulate(seed=3, replications=2, recorders=recorders)
    series = results.series_frame("flows")
    assert list(series) == [
        "time_s",
        "flow",
        "throughput_bps",
        "delay_mean_s",
        "cwnd_bytes",
        "srtt_s",
    ]
    assert len(series) == 2 * 4
    for flow, of in series.groupby("flow"):
        figures = results.runs[0]["flows"][flow]
        assert of["throughput_bps"].mean() == pytest.approx(figures["throughput_bps"])
        assert of["delay_mean_s"].min() <= figures["delay_mean_s"] <= of["delay_mean_s"].max()


def test_the_capture_is_that_of_the_first_replication_whatever_the_workers(tmp_path):
    plain = small().simulate(replications=3, workers=1)
    for workers, replications in [(1, 1), (1, 3), (2, 3)]:
        recorders = Recorders(pcap=tmp_path / f"{workers}-{replications}.pcap")
        results = small().simulate(replications=replications, workers=workers, recorders=recorders)
        assert replications == 1 or results.to_text() == plain.to_text()
    alone, *others = sorted(tmp_path.iterdir())
    assert len(read(alone)) > 100
    assert all(path.read_bytes() == alone.read_bytes() for path in others)


@pytest.mark.parametrize(
    ("recorders", "words"),
    [
        ({"series_interval_s": 0}, "series_interval_s: 0; expected seconds, at least 1e-09"),
        ({"series_interval_s": float("nan")}, "series_interval_s: nan"),
        ({"series_interval_s": 1e-9}, "choose a longer interval"),
        ({"pcap": "x.pcap", "pcap_station": "nobody"}, 'no station "nobody"'),
        ({"pcap": "x.pcap", "pcap_bytes": 77}, "pcap_bytes: 77; .* from 78 to 65535"),
        ({"pcap": "x.pcap", "pcap_bytes": 50.5}, "pcap_bytes"),
    ],
)
def test_what_cannot_be_recorded_is_a_scenario_error(recorders, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match=words):
        small().simulate(replications=1, recorders=Recorders(**recorders))
    assert not list(tmp_path.iterdir())


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run one replication of a short scenario by the command."""
    monkeypatch.chdir(tmp_path)
    ends = '[[stations]]\nname = "ap"\n[[stations]]\nname = "sta"\n[phy]\nstandard = "802.11b"\n'
    flow = '[[flows]]\nfrom = "sta"\nto = "ap"\n'
    Path("cell.toml").write_text(f'duration = "300 ms"\n{ends}{flow}')
    run = ("simulate", "cell.toml", "--replications", "1")
    return lambda *arguments: CliRunner().invoke(main, [*run, *arguments])


def test_frames_are_cut_as_asked(invoke):
    for size in (80, 128, 65_535):
        given = invoke("--pcap", f"{size}.pcap", "--pcap-bytes", str(size))
        assert given.exit_code == 0, given.output
        frames = read(Path(f"{size}.pcap"))
        assert max(frame.psdu_bytes for frame in frames) == 1536
    sizes = [Path(f"{size}.pcap").stat().st_size for size in (80, 128, 65_535)]
    assert sizes == sorted(sizes)
    short = invoke("--pcap", "a.pcap", "--pcap-bytes", "77")
    assert "a whole number from 78 to 65535" in short.output


def test_a_full_disk_is_told(invoke):
    result = invoke("--pcap", "/dev/full")
    assert result.exit_code == 1
    assert "/dev/full: No space left on device" in result.output


def test_a_pipe_is_read_while_it_is_written(invoke):
    os.mkfifo("live.pcap")
    found = []
    reader = threading.Thread(target=lambda: found.append(Path("live.pcap").read_bytes()))
    reader.start()
    assert invoke("--pcap", "live.pcap").exit_code == 0
    reader.join()
    Path("copy.pcap").write_bytes(found[0])
    assert len(read(Path("copy.pcap"))) > 100
