"""Captures of real nodes: other tools read them, counters agree, and a kill leaves whole packets."""

from __future__ import annotations

import json
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from airqueue.emulate import EmulationError, Order, Program, emulate, exact
from airqueue.emulate.network import EmulatedNetwork

AIRQUEUE: Final = [sys.executable, "-m", "airqueue", "emulate"]
PING: Final = ["ping", "-q", "-c", "20", "-i", "0.05", "peer"]
# More than the network carries: packets are dropped by queues.
FLOOD: Final = """
import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(200):
    for _ in range(50):
        s.sendto(bytes(1200), (os.environ["AIRQUEUE_PEER"], 9))
    time.sleep(0.005)
"""


@dataclass(frozen=True)
class Packet:
    """A packet of a capture."""

    at_ns: int
    sent: bool
    data: bytes
    comment: str


def parse(content: bytes) -> list[Packet]:
    """Return the packets of a file of pcapng, written from the specification alone."""
    packets, at = [], 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        body = content[at + 8 : at + length - 4]
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        if at == 0:
            assert kind == 0x0A0D0D0A
            assert struct.unpack_from("<IHHq", body) == (0x1A2B3C4D, 1, 0, -1)
        elif kind == 1:
            assert struct.unpack_from("<HHI", body) == (101, 0, 0)
            assert options(body[8:])[9] == b"\t", "nanoseconds"
        else:
            assert kind == 6
            _, high, low, kept, size = struct.unpack_from("<IIIII", body)
            assert kept == size
            found = options(body[20 + (kept + 3) // 4 * 4 :])
            sent = {1: False, 2: True}[struct.unpack("<I", found[2])[0]]
            data = body[20 : 20 + kept]
            packets.append(Packet(high << 32 | low, sent, data, found[1].decode()))
        at += length
    assert at == len(content)
    return packets


def options(content: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while True:
        code, length = struct.unpack_from("<HH", content, at)
        if code == 0:
            return found
        found[code] = content[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def check(packets: list[Packet], node: str, emulated: Any) -> None:
    """Assert that comments say of each packet what the counters say of all."""
    assert [packet.at_ns for packet in packets] == sorted(packet.at_ns for packet in packets)
    counts: Counter[str] = Counter()
    for packet in packets:
        way, _, fate = packet.comment.partition(": ")
        word = next(
            (w for w in ("delivered", "dropped", "given up", "still") if w in fate), "refused"
        )
        counts[f"{way}, {word}, {packet.sent}"] += 1
        counts[f"{way}, marked, {packet.sent}"] += "marked CE" in fate
    for pair, counters in emulated["pairs"].items():
        way = " -> ".join(pair.split("->"))
        if way.endswith(node):
            assert counts[f"{way}, delivered, False"] == counters["delivered_packets"]
        else:
            assert counts[f"{way}, delivered, True"] == counters["delivered_packets"]
            assert counts[f"{way}, dropped, True"] == counters["dropped_packets"]
            assert counts[f"{way}, given up, True"] == counters["given_up_packets"]
            assert counts[f"{way}, marked, True"] == counters["marked_packets"]
            known = ("delivered", "dropped", "given up", "still")
            total = sum(counts[f"{way}, {word}, True"] for word in known)
            assert total == counters["offered_packets"]
    if len(emulated["pairs"]) == 2:
        refused = sum(count for of, count in counts.items() if "refused, True" in of)
        # Packets of the other node are not in this capture.
        assert refused <= sum(each["packets"] for each in emulated["refused"].values())


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [*AIRQUEUE, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd
    )


@pytest.mark.emulation
def test_a_capture_has_all_packets_and_other_tools_read_it(tmp_path):
    before_ns = time.time_ns()
    done = run(
        *("far-station", "--pcap", "phone=phone.pcapng", "--pcap", "server=server.pcapng"),
        *("--json", "result.json", "--at", "phone", "--", sys.executable, "-c", FLOOD),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    phone, server = (
        parse((tmp_path / f"{name}.pcapng").read_bytes()) for name in ("phone", "server")
    )
    check(phone, "phone", result["emulated"])
    check(server, "server", result["emulated"])
    assert result["emulated"]["pairs"]["phone->server"]["dropped_packets"] > 0
    # The same packets at both ends, but for the hop that the access point took.
    arrived = [packet.data[28:] for packet in server if not packet.sent]
    left = [p.data[28:] for p in phone if p.sent and ": delivered after" in p.comment]
    assert len(arrived) == len(left) > 100
    assert before_ns < phone[0].at_ns < time.time_ns()
    assert f"phone.pcapng has {len(phone)} packets of phone." in done.stderr
    captures = [(of["node"], of["packets"], of["problem"]) for of in result["captures"]]
    assert captures == [("phone", len(phone), None), ("server", len(server), None)]
    if shutil.which("tcpdump"):
        shown = subprocess.run(
            ["tcpdump", "-nr", "phone.pcapng"], cwd=tmp_path, capture_output=True, check=True
        )
        assert len(shown.stdout.splitlines()) == len(phone)
    if shutil.which("capinfos"):
        shown = subprocess.run(
            ["capinfos", "-M", "phone.pcapng"], cwd=tmp_path, capture_output=True, check=True
        )
        assert f"Number of packets:   {len(phone)}".encode() in shown.stdout


@pytest.mark.long
@pytest.mark.usefixtures("user_mode_linux")
def test_exact_captures_are_the_same_to_the_byte(tmp_path):
    order = Order(Program("phone", tuple(PING)))
    files = [tmp_path / f"{number}.pcapng" for number in range(2)]
    runs = [exact.run("home-evening", order, seed=3, pcap={"phone": file}) for file in files]
    packets = parse(files[0].read_bytes())
    check(packets, "phone", runs[0].results.emulated)
    assert sum(packet.sent for packet in packets) == 20
    assert files[0].read_bytes() == files[1].read_bytes()
    # 1 January 2026.
    assert 0 < packets[0].at_ns - 1_767_225_600 * 10**9 < 60 * 10**9
    (capture,) = runs[0].results.captures
    assert (capture.node, capture.file, capture.problem) == ("phone", str(files[0]), None)


@pytest.mark.emulation
def test_a_capture_is_whole_blocks_when_the_emulator_is_killed(tmp_path):
    file = tmp_path / "phone.pcapng"
    ping = ("--at", "phone", "--", "ping", "-q", "-i", "0.01", "peer")
    process = subprocess.Popen(
        [*AIRQUEUE, "quiet-flat", "--quiet", "--pcap", f"phone={file}", *ping]
    )
    deadline = time.monotonic() + 60
    while not file.exists() or file.stat().st_size < 20_000:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.5)
    assert len(parse(file.read_bytes())) > 50


def test_what_cannot_be_captured_is_one_sentence(tmp_path):
    for options, says in (
        (["--pcap", f"cellar={tmp_path}/x"], "'cellar' cannot be captured: it is not a real node"),
        (["--pcap", f"phone={tmp_path}/no/x"], "there is no directory"),
        (["--pcap", f"phone={tmp_path}"], "s a directory"),
        (["--pcap", "phone"], "is not NODE=FILE"),
        (["--pcap", "phone="], "is not NODE=FILE"),
        (["--pcap", "phone=a", "--pcap", "phone=b"], "once for each node"),
        (["--pcap", "phone=a", "--pcap", "server=./a"], "name two files"),
    ):
        for more in ([], ["--exact"]):
            done = run("quiet-flat", *options, *more, "--", "touch", "begun", cwd=tmp_path)
            assert done.returncode in (1, 2), done.stderr
            assert says in done.stderr
            assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(EmulationError, match="cannot be captured"):
        EmulatedNetwork("quiet-flat", pcap={"cellar": tmp_path / "x"})


@pytest.mark.emulation
def test_a_full_disk_ends_the_capture_and_not_the_run():
    with emulate("quiet-flat", pcap={"phone": "/dev/full"}) as net:
        assert net.host("phone").run(PING, capture_output=True).returncode == 0
    (capture,) = net.report().captures
    assert capture.problem == "no space left on device"
    assert "ends early" in capture.sentence
