"""The kernel's TCP: which bottlenecks are kept, what is made of samples, and a run made anew."""

from __future__ import annotations

import numpy as np
import pytest

from peers.install import UnavailableError
from validation.linux import kernel
from validation.linux.tcp import results
from validation.linux.tcp.__main__ import measure
from validation.linux.tcp.paths import ASYMMETRIC, PATHS, path


def test_what_is_kept_is_what_is_described():
    rows = results.read(results.FIGURES)
    order = [one.name for one in PATHS]
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


def test_the_kernel_does_again_what_is_kept(tmp_path):
    """On a virtual clock it does so to the byte; another kernel may differ by a little."""
    one = path("cubic, 5 Mb/s, 10 ms, 20")
    try:
        machine = kernel.install(tmp_path)
    except UnavailableError as reason:
        pytest.skip(f"no user-mode Linux: {reason}")
    samples, _, _ = measure(machine, one)
    again = list(results.figures(one, samples, machine.release))
    kept = [row for row in results.read(results.FIGURES) if row["path"] == one.name]
    for new, old in zip(again, kept, strict=True):
        for name, tolerance in (("goodput_bps", 0.03), ("mean_queue_packets", 0.1)):
            exact = 0.0 if machine.release == old["kernel"] else tolerance
            assert float(str(new[name])) == pytest.approx(float(old[name]), rel=exact)
