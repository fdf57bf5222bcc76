"""The kernel's TCP: which bottlenecks are kept, what is made of samples, and a run made anew."""

from __future__ import annotations

import numpy as np
import pytest

from validation.linux.tcp import results
from validation.linux.tcp.__main__ import measure
from validation.linux.tcp.paths import ASYMMETRIC, BATCHED, PATHS, path


@pytest.mark.parametrize(("file", "paths"), [(results.FIGURES, PATHS), (results.BATCHES, BATCHED)])
def test_what_is_kept_is_what_is_described(file, paths):
    rows = results.read(file)
    order = [one.name for one in paths]
    kept = list(dict.fromkeys(row["path"] for row in rows))
    assert kept == sorted(kept, key=order.index)
    for row in rows:
        one = path(row["path"])
        flow = one.flows[int(row["flow"])]
        assert (row["congestion"], int(row["rate_bps"])) == (one.congestion, one.rate_bps)
        assert int(row["queue_packets"]) == one.queue_packets
        assert float(row["rtt_ms"]) == pytest.approx(1000 * flow.rtt_s)
        assert float(row["to_s"]) in (results.BEGINNING_S, one.seconds)


def test_each_way_back_is_kept():
    rows = results.read(results.ACKS)
    assert [row["path"] for row in rows] == [one.name for one in ASYMMETRIC]
    for row, one in zip(rows, ASYMMETRIC, strict=True):
        assert (int(row["back_bps"]), row["ack_filter"]) == (one.back_bps, one.ack_filter)
        assert (row["congestion"], int(row["rate_bps"])) == (one.congestion, one.rate_bps)
        assert 0 < int(row["ack_drops"]) < int(row["acks"])


def test_figures_of_a_way_back():
    one = ASYMMETRIC[0]
    samples = np.array([[0.0, 0, 0, 0], [5.0, 9, 3, 1000], [60.0, 11, 8, 56_000]])
    counted = {"tins": [{"sent_packets": 90, "ack_drops": 30, "drops": 2}]}
    (row,) = results.acks(one, samples, counted, "6.1")
    assert (row["goodput_bps"], row["mean_queue_packets"], row["drops"]) == (8000, 10.0, 5)
    assert (row["acks"], row["ack_drops"], row["other_ack_drops"]) == (90, 30, 2)


def test_windows_are_kept_of_those_that_say_so():
    kept = {row["path"] for row in results.read(results.WINDOWS)}
    assert kept == {one.name for one in PATHS if one.trace}


def test_figures_of_samples():
    # 1000 bytes a second and a queue of 2 packets up to 5 s, then 3000 and 4; one drop each second.
    one = path("reno, 5 Mb/s, 10 ms, 5")
    times = np.arange(0.0, 61.0)
    received = np.where(times <= 5.0, 1000 * times, 5000 + 3000 * (times - 5.0))
    samples = np.column_stack([times, np.where(times < 5.0, 2, 4), times, received])
    first, second = results.figures(one, samples, "6.1")
    assert (first["goodput_bps"], second["goodput_bps"]) == (8000, 24000)
    assert (first["drops"], second["drops"]) == (5, 55)
    assert first["mean_queue_packets"] == pytest.approx(14 / 6, abs=0.001)
    assert second["mean_queue_packets"] == 4.0


def test_all_batches_are_kept():
    kept = {row["path"]: row for row in results.read(results.BATCHES)}
    assert set(kept) == {one.name for one in BATCHED}
    for one in BATCHED:
        row = kept[one.name]
        assert one.batch is not None
        assert int(row["batch_packets"]) == one.batch.most_packets
        assert int(row["every_us"]) == pytest.approx(1e6 * one.batch.every_s)


def test_segments_and_acknowledgements_of_samples():
    # Two flows of 10 and 20 segments a second, each with ten acknowledgements a second.
    one = next(one for one in BATCHED if len(one.flows) == 2)
    times = np.arange(0.0, 61.0)
    columns = [times, 0 * times, 0 * times, 100 * times, 200 * times]
    samples = np.column_stack([*columns, 10 * times, 20 * times, 10 * times, 10 * times])
    rows = list(results.acknowledged(one, samples, "6.1"))
    assert [row["goodput_bps"] for row in rows] == [800, 1600, 800, 1600]
    assert [row["segments"] for row in rows] == [50, 100, 550, 1100]
    assert [row["acknowledgements"] for row in rows] == [50, 50, 550, 550]


def test_the_kernel_acknowledges_a_batch_again_as_is_kept(user_mode_linux):
    one = path("cubic, 10 packets in 5 ms, 43.4 ms, 174")
    samples, _, _ = measure(user_mode_linux, one)
    again = results.acknowledged(one, samples, user_mode_linux.release)
    tolerances = {"segments": 0.05, "acknowledgements": 0.05}
    check_as_kept(one, again, results.BATCHES, user_mode_linux.release, tolerances)


@pytest.mark.long
def test_the_kernel_does_again_what_is_kept(user_mode_linux):
    """On a virtual clock it does so to the byte; another kernel may differ by a little."""
    one = path("cubic, 5 Mb/s, 10 ms, 20")
    samples, _, _ = measure(user_mode_linux, one)
    again = results.figures(one, samples, user_mode_linux.release)
    tolerances = {"goodput_bps": 0.03, "mean_queue_packets": 0.1}
    check_as_kept(one, again, results.FIGURES, user_mode_linux.release, tolerances)


def check_as_kept(one, again, table, release, tolerances):
    """Compare rows measured again with the rows of a table: equal ones by the same kernel."""
    kept = [row for row in results.read(table) if row["path"] == one.name]
    for new, old in zip(again, kept, strict=True):
        for name, tolerance in tolerances.items():
            exact = 0.0 if release == old["kernel"] else tolerance
            assert float(str(new[name])) == pytest.approx(float(old[name]), rel=exact)
