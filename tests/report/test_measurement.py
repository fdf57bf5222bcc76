"""The HTML report: whole, self-contained, true to the records, safe against what is in names."""

import errno
import json
import os

import numpy as np
import pytest
from pages import parsed

import synthetic
from airqueue.files import check_writable, write_atomically
from airqueue.measure import series
from airqueue.measure.analysis import analyze
from airqueue.measure.api import measure
from airqueue.measure.schema import check
from airqueue.measure.session import Session
from airqueue.report import write_report
from airqueue.report.page import render
from airqueue.report.svg import Chart, nice_ticks, padded, tick_label
from fifo import Fifo, FifoProber


@pytest.fixture(scope="module")
def runs():
    return [synthetic.fifo_run(size, index) for size in (1500, 750) for index in range(2)]


@pytest.fixture(scope="module")
def result(runs):
    measured = analyze(runs, {"profile": "quick", "direction": "down", "target": "192.0.2.1:5860"})
    return measured.to_json()


def test_the_analysis_of_runs_follows_the_schema(result):
    check(result)
    assert result["verdict"] == "fifo"


def test_a_single_session_per_size_has_no_interval(runs):
    measured = analyze([runs[0], runs[2]], {"target": "a"}).to_json()
    check(measured)
    assert measured["estimators"]["counting"]["ci95_packets"] is None
    parsed(render(measured, [runs[0], runs[2]]))


def test_report_has_every_picture(result, runs):
    page = parsed(render({**result, "search": synthetic.search()}, runs))
    for title in (
        "Throughput over time",
        "Delay over time",
        "Delay when quiet and when full",
        "Occupancy at each drop",
        "Against offered load",
        "Capacity in packets",
    ):
        assert title in page.headings
    # Four pictures for two sizes each, three against load, one of capacities.
    assert page.svgs == 4 * 2 + 3 + 1
    assert page.references == []


def test_report_says_the_capacity_and_the_call(result, runs):
    said = " ".join(parsed(render(result, runs)).text)
    assert "100 packets" in said
    assert "G.114" in said
    assert "None" not in said
    assert "nan" not in said.split()


@pytest.mark.parametrize("verdict", ["isolated", "policer", "undecided", "not_saturable"])
def test_report_without_capacity_or_runs_is_whole(verdict):
    html = render(synthetic.other_result(verdict, sessions=[], search=[], evidence=[]), [])
    assert "with this verdict none of them is a capacity" in html
    parsed(html)


def test_report_of_nothing_but_a_verdict_is_whole():
    nothing = dict.fromkeys(("published", "corrected", "counting", "fill_drain"))
    hosts = synthetic.fifo_result()["hosts"]
    hosts.update(pacing_error_s=None, local_queueing_s=None, clock_skew_ppm=None)
    result = synthetic.other_result(
        "not_saturable",
        estimators=nothing,
        sessions=[],
        search=[],
        delay_full_s=None,
        rate_bps=None,
        rate_pps={},
        hosts=hosts,
    )
    check(result)
    parsed(render(result, []))


def test_a_run_in_which_nothing_arrived_is_not_drawn(result):
    run = synthetic.fifo_run()
    run.received_ns[:] = np.iinfo(np.int64).min
    page = parsed(render(result, [run]))
    assert "Delay over time" not in page.headings


def test_names_from_outside_are_escaped(result, runs):
    evil = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'
    hostile = json.loads(json.dumps(result))
    hostile.update(target=evil, warnings=[evil], truth={"counted_in": "packets", "capacity": 100})
    hostile["evidence"].append({"says": evil, "name": evil, "value": None, "ci95": None})
    hostile["sessions"][0].update(accepted=False, discarded_because=evil)
    hostile["discarded_sessions"], hostile["discard_reasons"] = 1, {evil: 1}
    html = render(hostile, runs)
    page = parsed(html)
    assert "alert(1)" in " ".join(page.text)
    assert html.count("<script") == 1
    assert "<img" not in html


def test_the_result_travels_inside(result, runs):
    html = render(result, runs)
    inside = html.split('id="result">')[1].split("</script>")[0]
    assert json.loads(inside) == json.loads(json.dumps(result))


def test_report_is_the_same_every_time(result, runs):
    assert render(result, runs) == render(result, runs)


def test_throughput_is_conserved():
    # The bins together hold every byte that arrived; a uint16 overflow once lost most of them.
    session = Session(synthetic.fifo_run())
    received, offered = series.throughput_over_time(session)
    width = received.x[1] - received.x[0]
    run = session.run
    assert received.y.sum() * width / 8 == pytest.approx(run.size_bytes[run.received].sum())
    assert offered.y.sum() * width / 8 == pytest.approx(run.size_bytes[run.sent].sum())


def test_delay_when_full_is_the_queue_over_its_rate():
    session = Session(synthetic.fifo_run(capacity=100, skew_ppm=80.0))
    quiet, full = series.delays_quiet_and_full(session)
    packet_s = 1514 * 8 / 7e6
    assert np.median(full) == pytest.approx(100 * packet_s, abs=packet_s)
    assert abs(np.median(quiet)) < packet_s / 2


def test_packets_of_another_size_do_not_blur_the_quiet_path():
    prober = FifoProber(Fifo(50))
    runs = []
    measure(prober, on_run=runs.append)
    run = next(r for r in runs if r.meta["kind"] == "session")
    assert len(set(run.size_bytes[run.flow != 0])) == 2
    quiet, _ = series.delays_quiet_and_full(Session(run))
    assert np.ptp(quiet) < 1e-6  # that queue has no jitter


def test_occupancy_at_drops_is_the_capacity():
    held = series.occupancy_at_drops(Session(synthetic.fifo_run(capacity=60)))
    assert len(held.x) > 20
    assert np.median(held.y) == 60


def test_thinning_keeps_spikes_and_shortens():
    x = np.linspace(0, 10, 50_000)
    y = np.sin(x)
    y[33_333] = 9.0
    y[12_345] = -7.0
    thinned = series.thin(series.Points(x, y), bins=100)
    assert len(thinned.x) <= 300
    assert {9.0, -7.0} <= set(thinned.y)
    assert np.all(np.diff(thinned.x) > 0)


def test_cdf_ends_at_one_and_never_falls():
    for count in (0, 1, 5, 1000):
        points = series.cdf(np.sort(np.random.default_rng(1).normal(size=count)))
        assert np.all(np.diff(points.y) >= 0)
        assert count == 0 or points.y[-1] == 1.0


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 7e6), (99.5, 100.5), (0, 1e-7), (5, 5)])
def test_ticks_are_round_and_inside(low, high):
    ticks = nice_ticks(low, high)
    assert 1 <= len(ticks) <= 11
    assert all(low - 1e-9 <= t <= high + 1e-9 for t in ticks)
    steps = np.diff(ticks)
    if len(steps):
        mantissa = steps[0] / 10 ** np.floor(np.log10(steps[0]) + 1e-9)
        assert round(float(mantissa), 6) in (1.0, 2.0, 5.0)


def test_tick_labels_tell_neighbours_apart():
    assert tick_label(0.25, 0.05) == "0.25"
    assert tick_label(-1000, 500) == "−1,000"


def test_a_chart_without_data_renders():
    chart = Chart("empty", padded([]), padded([]), x_label="x", y_label="y")
    chart.line([], [], 1)
    chart.dots([], [], 1)
    chart.steps([], [], 1)
    parsed(chart.render())


def test_writing_replaces_whole_files(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_follows_a_link_to_its_target(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_failed_write_names_the_file_and_keeps_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_device_is_an_error():
    with pytest.raises(OSError, match="No space left"):
        write_atomically("/dev/full", "x" * 100)


def test_unwritable_places_are_found_beforehand(tmp_path):
    check_writable(tmp_path / "fine")
    assert not any(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        check_writable(tmp_path / "missing" / "a")
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)


def test_write_report_writes_the_page(tmp_path, result, runs):
    path = tmp_path / "report.html"
    write_report(path, result, runs)
    assert path.read_text() == render(result, runs)
