"""Captures of simulated TCP: what Wireshark makes of them, beside what the engine counted."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airqueue import _native

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

SECONDS = 8

FIELDS = {
    "tcp.stream": "stream",
    "ip.id": "packet",
    "ip.src": "source",
    "ip.dst": "destination",
    "ip.len": "ip_bytes",
    "ip.dsfield.ecn": "ecn",
    "tcp.srcport": "port",
    "tcp.seq": "first",
    "tcp.len": "bytes",
    "tcp.flags.syn": "syn",
    "tcp.flags.fin": "fin",
    "tcp.flags.ece": "ece",
    "tcp.flags.cwr": "cwr",
    "tcp.hdr_len": "header_bytes",
    "radiotap.flags.badfcs": "bad",
    "wlan.fc.retry": "retry",
}


@dataclass(frozen=True)
class Segment:
    """A frame that carries one."""

    stream: int
    packet: int
    source: str
    destination: str
    ip_bytes: int
    ecn: int
    port: int
    first: int
    bytes: int
    syn: bool
    fin: bool
    ece: bool
    cwr: bool
    header_bytes: int
    bad: bool
    retry: bool

    @property
    def octets(self) -> range:
        """Those of the sequence that it takes, FIN's among them."""
        return range(self.first, self.first + self.bytes + self.fin)


def _value(field: str, text: str) -> Any:
    if field in ("ip.src", "ip.dst"):
        return text
    return int(text, 0)


def tshark(path: Path, fields: Iterable[str], shown: str = "tcp") -> list[list[str]]:
    """Return fields of the frames that a filter shows."""
    checks = [f"-o{name}.check_checksum:TRUE" for name in ("wlan", "ip", "tcp")]
    wanted = [part for name in fields for part in ("-e", name)]
    command = ["tshark", *checks, "-r", path, "-Y", shown, "-T", "fields", *wanted]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in output.splitlines()]


def extract(path: Path, shown: str, into: Path) -> None:
    """Keep the frames that a filter shows."""
    command = ["tshark", "-r", path, "-Y", shown, "-w", into]
    subprocess.run(command, capture_output=True, check=True)


def segments(path: Path) -> list[Segment]:
    """Return the frames that carry a segment."""
    found = []
    for row in tshark(path, FIELDS):
        pairs = zip(FIELDS.items(), row, strict=True)
        found.append(Segment(**{name: _value(field, text) for (field, name), text in pairs}))
    return found


def captured(path: Path, flows: list[dict[str, Any]], **network: Any) -> dict[str, Any]:
    """Return the figures of a replication of a cell, whose capture goes to a file."""
    description = {
        "duration": f"{SECONDS} s",
        "warm_up": "0 s",
        "phy": {"standard": "802.11g"},
        "queue": {"limit": "1000 packets"},
        "stations": [{"name": "ap"}, {"name": "sta"}, {"name": "relay"}],
        "hosts": [{"name": "server", "link": "ap", "delay": "3 ms"}],
        "flows": flows,
        **network,
    }
    run = _native.Scenario(json.dumps(description)).start(1, pcap=path, pcap_bytes=65_535)
    run.advance(SECONDS)
    run.close_pcap()
    figures: dict[str, Any] = json.loads(run.results())
    return figures


def delivered_bytes(figures: dict[str, Any], flow: str) -> int:
    return round(figures["connections"][flow]["goodput_bps"] * SECONDS / 8)


def in_order_bytes(frames: Iterable[Segment]) -> int:
    """Bytes that good frames bring without a gap from the first on, FIN not among them."""
    good = sorted((frame for frame in frames if not frame.bad), key=lambda frame: frame.first)
    end = 1
    for frame in good:
        if frame.first <= end:
            end = max(end, frame.first + frame.bytes)
    return end - 1


def check_no_fault(path: Path) -> None:
    """Nothing is malformed, and all that arrived has right checksums and the length that it says."""
    fields = ["ip.checksum.status", "tcp.checksum.status", "_ws.malformed"]
    rows = tshark(path, fields, "ip && radiotap.flags.badfcs == 0")
    assert len(rows) > 50
    assert all(row == ["1", "1", ""] for row in rows)
    cut = "tcp.options.unknown || _ws.short || ip.len < 40"
    assert not tshark(path, ["frame.number"], cut)


def test_a_lossless_transfer_is_a_conversation_without_surprises(tmp_path: Path) -> None:
    """With two segments at a time no two stations ever send at once."""
    path = tmp_path / "air.pcap"
    one_at_a_time = {"window": "2 packets", "ack_every": 2}
    flow = {"name": "up", "from": "sta", "to": "server", "source": "tcp", "tcp": one_at_a_time}
    figures = captured(path, [{**flow, "transfer_size": "300 kB"}])
    check_no_fault(path)
    frames = segments(path)
    assert not any(frame.bad or frame.retry for frame in frames)
    assert {frame.stream for frame in frames} == {0}
    assert {(frame.source, frame.port) for frame in frames} == {
        ("10.0.0.2", 32_768),
        ("10.0.0.4", 49_152),
    }
    # A sender that uses all of a window is no surprise where there is so little of it.
    assert not tshark(path, ["frame.number"], "tcp.analysis.flags && !tcp.analysis.window_full")
    assert sum(frame.bytes for frame in frames) == 300_000 == delivered_bytes(figures, "up")
    sent = [frame for frame in frames if frame.source == "10.0.0.2"]
    assert len({frame.packet for frame in frames}) == len(frames)
    assert sum(frame.bytes > 0 for frame in sent) == figures["connections"]["up"]["segments"]
    opening, answer = (frame for frame in frames if frame.syn)
    assert opening.source == "10.0.0.2" and answer.source == "10.0.0.4"
    assert sum(frame.fin for frame in frames) == 1
    options = ["tcp.options.mss_val", "tcp.options.sack_perm", "tcp.options.timestamp.tsval"]
    assert all(all(row) for row in tshark(path, options, "tcp.flags.syn == 1"))


@pytest.mark.parametrize("standard", [pytest.param("802.11g", marks=pytest.mark.long), "802.11n"])
def test_first_frames_alone_tell_what_tcp_did(standard: str, tmp_path: Path) -> None:
    """Frames are lost on the air; the link mends that, and TCP has nothing to do."""
    path, first = tmp_path / "air.pcap", tmp_path / "first.pcap"
    flow = {"name": "down", "from": "server", "to": "sta", "source": "tcp"}
    window = {"window": "40 packets"}
    flows = [{**flow, "transfer_size": "1 MB", "tcp": window}]
    noise = {"errors": {"frame": 0.1}}
    figures = captured(path, flows, phy={"standard": standard}, medium=noise)
    check_no_fault(path)
    frames = segments(path)
    assert any(frame.bad for frame in frames)
    assert figures["connections"]["down"]["retransmitted_segments"] == 0
    assert {frame.stream for frame in frames} == {0}
    data = [frame for frame in frames if frame.source == "10.0.0.4"]
    assert in_order_bytes(data) == 1_000_000 == delivered_bytes(figures, "down")
    # The link's retries are those of Wireshark, and have the number of the first frame.
    assert tshark(path, ["frame.number"], "tcp.analysis.retransmission")
    assert {frame.packet for frame in frames if frame.retry} <= {
        frame.packet for frame in frames if not frame.retry
    }
    extract(path, "tcp && wlan.fc.retry == 0", first)
    lost = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment"
    again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission"
    assert not tshark(first, ["frame.number"], f"{lost} || {again}")
    assert len(segments(first)) == len({frame.packet for frame in frames})
    assert not tshark(path, ["frame.number"], lost)


def test_what_tcp_sends_again_is_counted(tmp_path: Path) -> None:
    """A link that soon gives up leaves it to TCP; those are packets with numbers of their own."""
    path = tmp_path / "air.pcap"
    flow = {"name": "up", "from": "sta", "to": "ap", "source": "tcp", "transfer_size": "1 MB"}
    few = {"short_retry_limit": 2, "long_retry_limit": 2}
    figures = captured(path, [flow], mac=few, medium={"errors": {"frame": 0.2}})["connections"][
        "up"
    ]
    check_no_fault(path)
    frames = segments(path)
    data = {f.packet: f for f in frames if f.source == "10.0.0.2" and f.octets}
    assert len(data) == figures["segments"]
    end = again = 0
    # They are numbered as they set out.
    for packet in sorted(data):
        octets = data[packet].octets
        again += octets.start < end
        end = max(end, octets.stop)
    assert again == figures["retransmitted_segments"] > 10
    assert in_order_bytes(data.values()) <= in_order_bytes(frames) == 1_000_000
    assert tshark(path, ["frame.number"], "tcp.options.sack.count > 0")
    assert not tshark(path, ["frame.number"], "tcp.analysis.ack_lost_segment")


def test_each_file_is_a_conversation(tmp_path: Path) -> None:
    path = tmp_path / "air.pcap"
    web = {"file_size": "20 kB", "think_time": "100 ms"}
    flow = {"name": "page", "from": "server", "to": "sta", "source": "web", "web": web}
    figures = captured(path, [flow])
    check_no_fault(path)
    streams: dict[int, list[Segment]] = defaultdict(list)
    for frame in segments(path):
        streams[frame.stream].append(frame)
    data = [[f for f in of if f.source == "10.0.0.4"] for of in streams.values()]
    ended = sum(any(f.fin and not f.bad for f in of) for of in data)
    assert ended == figures["connections"]["page"]["sessions"] > 20
    assert len(streams) - ended in (0, 1)
    assert all(of[0].syn for of in data)
    ports = [{f.port for f in of} for of in data]
    assert ports == [{32_768 + number} for number in range(len(streams))]
    assert sum(in_order_bytes(of) for of in data) == delivered_bytes(figures, "page")


def test_a_conversation_stays_one_over_several_hops(tmp_path: Path) -> None:
    """A packet is on the air once for each hop, with the same number and addresses."""
    path = tmp_path / "air.pcap"
    flow = {"name": "up", "from": "sta", "to": "server", "via": ["relay"], "source": "tcp"}
    figures = captured(path, [{**flow, "transfer_size": "500 kB"}])
    check_no_fault(path)
    frames = segments(path)
    assert {frame.stream for frame in frames} == {0}
    assert {(f.source, f.destination) for f in frames} == {
        ("10.0.0.2", "10.0.0.4"),
        ("10.0.0.4", "10.0.0.2"),
    }
    sent: dict[int, set[str]] = defaultdict(set)
    for packet, transmitter in tshark(path, ["ip.id", "wlan.ta"]):
        sent[int(packet, 0)].add(transmitter)
    assert set(map(len, sent.values())) == {2}
    first = tmp_path / "first.pcap"
    extract(path, "tcp && wlan.fc.retry == 0 && wlan.addr == 02:00:00:00:00:01", first)
    assert len(segments(first)) == len(sent)
    assert tshark(path, ["frame.number"], "tcp.analysis.retransmission")
    assert not tshark(first, ["frame.number"], "tcp.analysis.flags")
    data = [frame for frame in frames if frame.source == "10.0.0.2"]
    assert in_order_bytes(data) == 500_000 == delivered_bytes(figures, "up")


def test_marks_are_those_of_the_queue(tmp_path: Path) -> None:
    """The queue marks, the receiver echoes, the sender reduces its window and says so."""
    path = tmp_path / "air.pcap"
    flow = {"name": "up", "from": "sta", "to": "ap", "source": "tcp", "ecn": True}
    codel = {"discipline": "codel", "codel": {"ecn": True}}
    figures = captured(path, [flow], queue=codel)
    frames = segments(path)
    opening, answer = [frame for frame in frames if frame.syn][:2]
    assert (opening.ece, opening.cwr, answer.ece, answer.cwr) == (True, True, True, False)
    marked = {frame.packet for frame in frames if frame.ecn == 3}
    # The one that the queue has just marked may not have been on the air yet.
    assert 0 <= figures["queues"]["sta"]["marked_packets"] - len(marked) <= 1
    assert len(marked) > 5
    capable = {frame.ecn for frame in frames if frame.bytes > 0}
    assert capable == {2, 3}
    rest = [frame for frame in frames if not frame.syn]
    assert any(frame.ece for frame in rest if frame.source == "10.0.0.1")
    assert any(frame.cwr for frame in rest if frame.source == "10.0.0.2")


def test_ns2_has_headers_of_its_own(tmp_path: Path) -> None:
    """Headers of 40 bytes have no options; without LLC/SNAP no packet can be told."""
    path = tmp_path / "air.pcap"
    like = {"stack": "ns2", "handshake": True, "timestamps": True, "sack": True}
    flow = {"name": "up", "from": "sta", "to": "ap", "source": "tcp", "tcp": like}
    figures = captured(path, [{**flow, "transfer_size": "500 kB"}])
    check_no_fault(path)
    frames = segments(path)
    assert {frame.header_bytes for frame in frames} == {20}
    assert {frame.ip_bytes for frame in frames} == {40, 1040}
    data = [frame for frame in frames if frame.source == "10.0.0.2"]
    assert in_order_bytes(data) == delivered_bytes(figures, "up") == 500_000
    captured(path, [flow], behaviour="ns2", phy={"standard": "802.11b"})
    fault = "_ws.malformed && radiotap.flags.badfcs == 0"
    assert not tshark(path, ["frame.number"], f"ip || {fault}")
    assert len(tshark(path, ["frame.number"], "wlan.fc.type == 2")) > 100
