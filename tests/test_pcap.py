"""Captures of simulated networks: what a reader without the simulator makes of them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airqueue import _native
from airqueue.models.airtime import frame_s
from airqueue.models.phy_names import phy
from airqueue.models.phys import Phy
from pcap_reader import ACK, CTS, DATA, RTS, Frame, read

FIRST_PORT = 49_152


FIRST_PORT = 49_152

LAYERS = {
    "802.11b": (phy("b-long"), {"rts_threshold": "500 B"}),
    "802.11g": (phy("g"), {"protection": "cts_to_self", "protection_rate": "11 Mb/s"}),
    "802.11a": (phy("a"), {}),
}
SAMPLE = ["802.11b", *(pytest.param(x, marks=pytest.mark.long) for x in ("802.11g", "802.11a"))]

EXCHANGES = {
    "802.11b": {(RTS, CTS), (CTS, DATA), (DATA, ACK)},
    "802.11g": {(CTS, DATA), (DATA, ACK)},
    "802.11a": {(DATA, ACK)},
}


def network(standard: str) -> _native.Scenario:
    """Three stations that saturate an access point for two seconds, with frames of two sizes."""
    large = {"from": "large", "to": "ap", "source": "saturated", "size": "1000 B"}
    small = {"from": "small", "to": "ap", "source": "saturated", "size": "100 B"}
    preamble = {"preamble": "short"} if standard == "802.11g" else {}
    description = {
        "duration": "2 s",
        "warm_up": "0 s",
        "phy": {"standard": standard, **preamble},
        "mac": LAYERS[standard][1],
        "stations": [{"name": "ap"}, {"name": "large", "count": 2}, {"name": "small"}],
        "flows": [large, small],
    }
    return _native.Scenario(json.dumps(description))


def run(scenario: _native.Scenario, **recorders: Any) -> tuple[dict[str, Any], _native.Run]:
    """Return the figures of a replication, and the replication."""
    replication = scenario.start(1, **recorders)
    while not replication.done:
        replication.advance(0.7)
    replication.close_pcap()
    return json.loads(replication.results()), replication


def captured(standard: str, path: Path, **options: Any) -> tuple[dict[str, Any], list[Frame]]:
    """Return the figures of a replication and its capture."""
    figures, _ = run(network(standard), pcap=path, **options)
    return figures, read(path)


def airtime_ns(layer: Phy, frame: Frame) -> int:
    return round(1e9 * float(frame_s(layer, frame.psdu_bytes, frame.rate_bps)))


def packets(frames: list[Frame]) -> list[list[Frame]]:
    """Return the data frames of each packet, by the retry bit; the sequence numbers must agree."""
    current: dict[int | None, list[Frame]] = {}
    all_packets = []
    for frame in (frame for frame in frames if frame.is_data):
        before = current.get(frame.transmitter)
        if before is not None and frame.retry:
            assert frame.sequence == before[-1].sequence
            before.append(frame)
            continue
        assert frame.sequence == (0 if before is None else (before[-1].sequence or 0) + 1) % 4096
        current[frame.transmitter] = [frame]
        all_packets.append(current[frame.transmitter])
    return all_packets


@pytest.mark.parametrize("standard", SAMPLE)
def test_answers_begin_a_sifs_after_what_they_answer(standard: str, tmp_path: Path) -> None:
    """So does data behind a CTS; and Duration of all frames of an exchange tells the same end."""
    layer = LAYERS[standard][0]
    _, frames = captured(standard, tmp_path / "air.pcap")
    seen: Counter[tuple[int, int]] = Counter()
    assert all(earlier.end_ns <= later.end_ns for earlier, later in pairwise(frames))
    for earlier, later in pairwise(frames):
        assert later.end_ns - airtime_ns(layer, later) <= later.first_bit_us * 1000
        # Two CTS to oneself that collide are each good: nobody was to receive them.
        own = later.transmitter == earlier.receiver
        behind_cts = earlier.kind == CTS and later.is_data and own
        answer = (earlier.is_data and later.kind == ACK) or (earlier.kind, later.kind) == (RTS, CTS)
        if earlier.bad or not (behind_cts or answer):
            continue
        begins = later.end_ns - airtime_ns(layer, later)
        assert begins - earlier.end_ns == round(1e9 * layer.sifs_s)
        announced = earlier.end_ns + earlier.duration_us * 1000
        # Data announces its ACK alone: as long as the CTS did.
        assert announced == later.end_ns + later.duration_us * 1000
        seen[earlier.kind, later.kind] += 1
    assert seen.keys() == EXCHANGES[standard]
    assert min(seen.values()) > 100


@pytest.mark.parametrize("standard", SAMPLE)
def test_it_tells_the_figures_of_the_run(standard: str, tmp_path: Path) -> None:
    """Deliveries and airtime, from the capture alone."""
    layer = LAYERS[standard][0]
    figures, frames = captured(standard, tmp_path / "air.pcap")
    delivered = Counter(
        packet[-1].port for packet in packets(frames) if not all(f.bad for f in packet)
    )
    for flow, (name, of) in enumerate(figures["flows"].items()):
        assert delivered[FIRST_PORT + flow] == of["delivered_packets"], name
    for station, (name, of) in enumerate(figures["stations"].items()):
        times_s = [
            airtime_ns(layer, f) / 1e9 for f in frames if f.is_data and f.transmitter == station
        ]
        # A frame under way at the end is no frame of the capture, and its part counts in the figure.
        in_hand_s = 2.0 * (of["data_airtime_ratio"] or 0.0) - sum(times_s)
        assert -1e-9 <= in_hand_s < max(times_s, default=0.0) + 1e-9, name


def test_a_station_has_no_more_than_it_heard(tmp_path: Path) -> None:
    _, air = captured("802.11b", tmp_path / "air.pcap")
    _, ap = captured("802.11b", tmp_path / "ap.pcap", pcap_station="ap")
    assert len(ap) < len(air)
    whole = Counter((f.end_ns, f.kind, f.transmitter) for f in air)
    assert not Counter((f.end_ns, f.kind, f.transmitter) for f in ap) - whole
    good = [(f.end_ns, f.kind) for f in ap if not f.bad]
    # In a cell where all hear each other the access point understands what its receiver does.
    assert good == [(f.end_ns, f.kind) for f in air if not f.bad]


def test_recorders_change_no_figure(tmp_path: Path) -> None:
    scenario = network("802.11b")
    plain, _ = run(scenario)
    pcap = tmp_path / "x.pcap"
    recorded, _ = run(scenario, pcap=pcap, pcap_bytes=78, series_interval_s=0.013)
    assert recorded == plain
    again, _ = run(scenario, pcap=tmp_path / "y.pcap", pcap_bytes=78)
    assert again == plain
    assert (tmp_path / "y.pcap").read_bytes() == pcap.read_bytes()


def test_series_add_up_to_the_figures() -> None:
    figures, replication = run(network("802.11b"), series_interval_s=0.1)
    series = replication.series()
    assert series is not None
    np.testing.assert_allclose(series["time_s"], np.arange(1, 21) / 10)
    for name, columns in series["flows"].items():
        mean = columns["throughput_bps"].mean()
        assert mean == pytest.approx(figures["flows"][name]["throughput_bps"])
        assert (columns["delay_mean_s"] > 0).all()
    for name, queue in series["queues"].items():
        mean = queue["length_mean_packets"].mean()
        assert mean == pytest.approx(figures["queues"][name]["length_mean_packets"])
    assert list(series["queues"]) == ["large1", "large2", "small"]
    assert run(network("802.11b"))[1].series() is None


@pytest.mark.parametrize(
    ("recorders", "kind", "words"),
    [
        ({"pcap": "{}/none/x.pcap"}, FileNotFoundError, "none/x.pcap"),
        ({"pcap": "{}"}, IsADirectoryError, "directory"),
        ({"pcap": "{}/x", "pcap_station": "nobody"}, ValueError, 'no station "nobody"'),
        ({"pcap": "{}/x", "pcap_bytes": 77}, ValueError, "at least 78"),
        ({"series_interval_s": 0.0}, ValueError, "longer than nothing"),
        ({"series_interval_s": 1e-9}, ValueError, "choose a longer interval"),
        ({"series_interval_s": float("nan")}, _native.NativeError, "series_interval_s"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    recorders: dict[str, Any], kind: type[Exception], words: str, tmp_path: Path
) -> None:
    if "pcap" in recorders:
        recorders = {**recorders, "pcap": recorders["pcap"].format(tmp_path)}
    with pytest.raises(kind, match=words):
        network("802.11b").start(1, **recorders)
    assert not (tmp_path / "x").exists()


def test_a_full_disk_is_told_at_the_end() -> None:
    with pytest.raises(OSError, match="No space left") as caught:
        run(network("802.11b"), pcap="/dev/full")
    assert caught.value.filename == "/dev/full"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("standard", SAMPLE)
def test_wireshark_finds_no_fault(standard: str, tmp_path: Path) -> None:
    """Its own durations are ours, and good frames have nothing to be said against them."""
    path = tmp_path / "air.pcap"
    layer = LAYERS[standard][0]
    _, frames = captured(standard, path, pcap_bytes=65_535)
    fields = ["wlan_radio.duration", "wlan.fcs.status", "_ws.malformed", "ip.checksum.status"]
    checks = [f"-o{name}.check_checksum:TRUE" for name in ("wlan", "ip", "udp")]
    shown = [part for name in (*fields, "udp.checksum.status") for part in ("-e", name)]
    command = ["tshark", *checks, "-r", path, "-T", "fields", *shown]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(frames)
    for line, frame in zip(lines, frames, strict=True):
        duration_us, fcs, malformed, ip, udp = line.split("\t")
        extension_ns = 6_000 if standard == "802.11g" and frame.rate_bps not in (1.1e7, 2e6) else 0
        assert int(duration_us) * 1000 == airtime_ns(layer, frame) - extension_ns
        assert fcs == ("0" if frame.bad else "1")
        if not frame.bad:
            assert not malformed
            assert ip == udp == ("1" if frame.is_data else "")
