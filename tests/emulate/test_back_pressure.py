"""A full station stops its own senders, as a network driver does; a full router stops nobody."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from airqueue.emulate import Order, Program, back_pressure, emulate, exact

# 6 Mb/s: an exchange of a packet of 1428 bytes takes 2.1 ms and more.
SLOW: dict[str, Any] = {
    "warm_up": "0 s",
    "phy": {"standard": "802.11a", "rate": "6 Mb/s"},
    "queue": {"discipline": "droptail", "limit": "300 packets"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": True}],
    "hosts": [{"name": "server", "link": "ap", "real": True}],
}
# Sends 1000 datagrams as fast as the socket takes them; prints how long that took.
FLOOD = """
import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
began = time.monotonic()
for _ in range(1000):
    s.sendto(bytes(1400), (os.environ["AIRQUEUE_PEER"], 9))
print(time.monotonic() - began, s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))
time.sleep(3)
"""
SINK = """
import socket
connection, _ = socket.create_server(("", 5001)).accept()
while connection.recv(1 << 20):
    pass
"""
# Sends for 15 seconds; prints the socket's memory below TCP every 0.1 s, as ss has it.
SOURCE = """
import fcntl, json, socket, struct, subprocess, time
s = socket.create_connection(("peer", 5001))
s.setblocking(False)
below, began, told = [], time.monotonic(), 5
while time.monotonic() < began + 15:
    try:
        s.send(bytes(65536))
    except BlockingIOError:
        time.sleep(0.01)
    if time.monotonic() > began + told:
        shown = subprocess.run(["ss", "-tmn", "dport", "=", "5001"], capture_output=True, text=True)
        below.append(int(shown.stdout.split(",t")[1].split(",")[0]))
        told += 0.5
print(json.dumps(below))
"""
OVERHEAD = 2304
"""Bytes that the kernel counts for a full segment: the data, and its own structures."""


def python(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def flood(node: str) -> tuple[float, int, dict[str, Any]]:
    """Return seconds, the send buffer, and the counters of the packets."""
    done = exact.run(SLOW, Order(Program(node, python(FLOOD))))
    assert done.exit_code == 0, done.stderr
    took_s, buffer = done.stdout.split()
    peer = {"phone": "server", "server": "phone"}[node]
    pair = dict(done.results.emulated["pairs"][f"{node}->{peer}"])
    return float(took_s), int(buffer), pair


@pytest.mark.usefixtures("user_mode_linux")
def test_a_socket_blocks_while_its_station_is_full() -> None:
    took_s, buffer, pair = flood("phone")
    # All but what the send buffer holds has left the station: 2.1 ms for each packet at least.
    held = buffer / OVERHEAD
    assert took_s > (1000 - held - 1) * 0.0021
    assert (pair["dropped_packets"], pair["offered_packets"]) == (0, 1000)
    # The last packet waits for the packets of a send buffer, 3.5 ms each at most.
    assert 0.0021 * held * 0.9 < pair["delay_max_s"] < 0.0035 * held


@pytest.mark.long
@pytest.mark.usefixtures("user_mode_linux")
def test_a_host_behind_the_access_point_does_not_block() -> None:
    took_s, _, pair = flood("server")
    assert took_s < 0.5
    assert pair["dropped_packets"] > 600


def upload(**options: Any) -> tuple[list[int], dict[str, Any]]:
    """Return the bytes below TCP, and the counters of the packets."""
    order = Order(Program("phone", python(SOURCE)), (Program("server", python(SINK)),))
    done = exact.run(SLOW, order, **options)
    assert done.exit_code == 0, done.stderr
    assert done.results.without_back_pressure == {}
    return json.loads(done.stdout), dict(done.results.emulated["pairs"]["phone->server"])


@pytest.mark.long
@pytest.mark.usefixtures("user_mode_linux")
def test_tcp_keeps_its_segments_above_a_full_station() -> None:
    below, with_it = upload()
    free, without = upload(back_pressure=False)
    # TCP sends up to 45 segments at once (64 KiB), and lets twice as much wait before it sends more.
    assert 2 * OVERHEAD <= max(below) <= 3 * 45 * OVERHEAD
    assert max(free) == 0
    # Without, CUBIC fills the queue of 300 packets of 2.2 ms.
    assert without["dropped_packets"] > 0
    assert without["delay_p95_s"] > 0.5
    assert with_it["dropped_packets"] == 0
    assert with_it["delay_p95_s"] < 0.2
    assert with_it["delivered_bytes"] > 0.98 * without["delivered_bytes"]


@pytest.mark.emulation
def test_a_kernel_that_does_not_keep_packets_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(back_pressure, "_VARIANTS", ("-of-another-kernel",))
    with emulate("quiet-flat") as net:
        done = net.host("phone").run(["ping", "-c1", "peer"], capture_output=True)
        assert done.returncode == 0
        reasons = net.report().without_back_pressure
    assert list(reasons) == ["phone"]
    assert "iptables-of-another-kernel" in reasons["phone"]


@pytest.mark.emulation
def test_packets_pass_the_device_and_the_network_once() -> None:
    """Those larger than the MTU, too, of which the kernel makes fragments."""
    with emulate("quiet-flat") as net:
        phone = net.host("phone")
        sizes = ("-c20 peer", "-c5 -s3000 peer", "-c5 -s3000 -4 peer")
        pings = " && ".join(f"ping -q -i0.01 {size}" for size in sizes)
        done = phone.run(["sh", "-c", pings], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        assert "duplicates" not in done.stdout
        statistics = phone.run(["cat", "/proc/net/dev"], capture_output=True, text=True).stdout
        report = net.report()
    line = next(line for line in statistics.splitlines() if "airqueue0" in line)
    sent = int(line.split(":")[1].split()[9])
    # 3008 bytes are three fragments of both versions.
    assert sent == report.emulated["pairs"]["phone->server"]["offered_packets"] == 20 + 30
    assert report.without_back_pressure == {}


@pytest.mark.usefixtures("user_mode_linux")
def test_a_discipline_that_reorders_behind_the_station_makes_no_second_packets() -> None:
    script = (
        "tc qdisc replace dev airqueue0 root netem delay 20ms 15ms &&"
        " ping -q -i 0.002 -c 200 server"
    )
    done = exact.run("quiet-flat", Order(Program("phone", ("sh", "-c", script))))
    assert done.exit_code == 0, done.stderr
    assert b"duplicates" not in done.stdout
    assert done.results.emulated["pairs"]["phone->server"]["offered_packets"] == 200
