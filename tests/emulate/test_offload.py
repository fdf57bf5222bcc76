"""Segmentation offload: the network has whole packets, and programs get what was sent."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import time
from pathlib import Path
from typing import Any, Final

import pytest
from test_emulated_captures import parse
from test_programs import python, wait_for
from test_veth import SEGMENTS

from airqueue.emulate import EmulatedNetwork, emulate
from airqueue.emulate.nodes import Host

pytestmark = pytest.mark.emulation

SIZE: Final = 3_000_000
DIGEST: Final = hashlib.sha256(bytes(range(256)) * (SIZE // 256)).hexdigest()
CELL: Final[dict[str, Any]] = {
    "warm_up": "0 s",
    "phy": {"standard": "802.11ax", "width": "20 MHz", "rate": "HE-MCS9"},
    "queue": {"discipline": "droptail", "limit": "2000 packets"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": True}],
    "hosts": [{"name": "server", "link": "ap", "delay": "5 ms", "real": True}],
}
# Receives a connection of each family, and prints the digests.
RECEIVE: Final = """
import hashlib, socket
s = socket.socket(socket.AF_INET6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
s.bind(("::", 80))
s.listen()
for _ in range(2):
    c, _ = s.accept()
    with c, c.makefile("rb") as f:
        print(hashlib.sha256(f.read()).hexdigest())
"""
SEND: Final = f"""
import os, socket
for peer in (os.environ["AIRQUEUE_PEER"], os.environ["AIRQUEUE_PEER6"]):
    with socket.create_connection((peer, 80), 20) as c:
        c.sendall(bytes(range(256)) * ({SIZE} // 256))
"""
# Notes of virtio_net.h that a network card would believe: segments of a byte, and of another version.
HOSTILE: Final = """
import os, socket, struct, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
s.setsockopt(263, 15, 1)  # SOL_PACKET, PACKET_VNET_HDR
s.bind(("airqueue0", 0x0800))
sent = 0
addresses = [socket.inet_aton(os.environ[f"AIRQUEUE_ADDRESS_{name}"]) for name in ("SERVER", "PHONE")]
for size in (1, 7):
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 3, 4, 0x50, 0x10, 5, 0, 0) + bytes(1000)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 9, 6, 0, *addresses)
    notes = struct.pack("=BBHHHH", 1, 1, 40, size, 20, 16)
    try:
        s.send(notes + ip + tcp)
        sent += 1
    except OSError:
        pass
print(sent)
"""


def transfer(net: EmulatedNetwork, sender: Host, receiver: Host) -> None:
    """A connection of each family."""
    receives = receiver.popen(python(RECEIVE), stdout=subprocess.PIPE, text=True)
    wait_for(receiver, 1)
    done = sender.run(python(SEND), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    out, _ = receives.communicate(timeout=60)
    assert out.split() == [DIGEST] * 2


def device_packets(host: Host) -> tuple[int, int]:
    """Packets that the device has received and sent, as its kernel counts them."""
    text = host.run(["cat", "/proc/net/dev"], capture_output=True, text=True).stdout
    counters = next(line for line in text.splitlines() if "airqueue0" in line).split(":")[1].split()
    return int(counters[1]), int(counters[9])


def total(data: bytes) -> int:
    """The sum of RFC 1071."""
    value = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while value >> 16:
        value = (value & 0xFFFF) + (value >> 16)
    return value


def check(packet: bytes) -> None:
    """A packet is whole, and its checksums are right."""
    assert len(packet) <= 1500
    if packet[0] >> 4 == 4:
        assert total(packet[:20]) == 0xFFFF
        assert int.from_bytes(packet[2:4]) == len(packet)
        protocol, addresses, payload = packet[9], packet[12:20], packet[20:]
    else:
        assert int.from_bytes(packet[4:6]) == len(packet) - 40
        protocol, addresses, payload = packet[6], packet[8:40], packet[40:]
    assert total(addresses + struct.pack("!HH", len(payload), protocol) + payload) == 0xFFFF


@pytest.mark.parametrize(("sender", "receiver"), [("server", "phone"), ("phone", "server")])
def test_the_network_carries_whole_packets_and_programs_get_the_bytes(
    sender: str, receiver: str, tmp_path: Path
) -> None:
    files = {node: tmp_path / f"{node}.pcapng" for node in (sender, receiver)}
    with emulate(CELL, pcap=files) as net:
        transfer(net, net.host(sender), net.host(receiver))
        _, sent = device_packets(net.host(sender))
        received, _ = device_packets(net.host(receiver))
        held_back = "phone" not in net.without_back_pressure
        pair = net.report().emulated["pairs"][f"{sender}->{receiver}"]
    assert net.report().offload
    assert net.report().emulated["refused"] == {}
    assert net.report().emulated["unwritten_packets"] == 0
    assert pair["offered_packets"] > 2 * SIZE / 1448
    # A-MPDUs arrive merged. A host's packets are cut here; a station's by the kernel that keeps them.
    assert received < pair["delivered_packets"] / 2
    if sender == "server":
        assert sent < pair["offered_packets"] / 2
    elif held_back:
        assert sent == pair["offered_packets"]
    for file in files.values():
        packets = parse(file.read_bytes())
        assert len(packets) >= pair["delivered_packets"]
        for packet in packets:
            check(packet.data)


def test_without_offload_each_packet_crosses_the_device_alone() -> None:
    with emulate(CELL, offload=False) as net:
        transfer(net, net.host("server"), net.host("phone"))
        _, sent = device_packets(net.host("server"))
        received, _ = device_packets(net.host("phone"))
        pair = net.report().emulated["pairs"]["server->phone"]
    assert not net.report().offload
    assert (sent, received) == (pair["offered_packets"], pair["delivered_packets"])


def test_marks_of_queues_reach_the_receiver_each() -> None:
    codel = {"target": "1 ms", "interval": "10 ms"}
    queue = {"discipline": "fq_codel", "fq_codel": codel}
    with emulate({**CELL, "queue": queue}) as net:
        server, phone = net.host("server"), net.host("phone")
        for host in (server, phone):
            host.run(["sysctl", "-qw", "net.ipv4.tcp_ecn=1"], check=True)
        transfer(net, server, phone)
        text = phone.run(["cat", "/proc/net/netstat"], capture_output=True, text=True).stdout
        text6 = phone.run(["cat", "/proc/net/snmp6"], capture_output=True, text=True).stdout
        pair = net.report().emulated["pairs"]["server->phone"]
    names, values = (line.split() for line in text.splitlines() if line.startswith("IpExt"))
    seen = dict(zip(names, values, strict=True))["InCEPkts"]
    seen6 = dict(line.split() for line in text6.splitlines())["Ip6InCEPkts"]
    assert int(seen) + int(seen6) == pair["marked_packets"] > 0


@pytest.mark.parametrize("offload", [True, False])
@pytest.mark.parametrize(("sender", "receiver"), [("phone", "server"), ("server", "phone")])
def test_datagrams_of_one_call_are_packets_of_their_own(
    sender: str, receiver: str, offload: bool
) -> None:
    with emulate("quiet-flat", offload=offload) as net:
        assert net.host(sender).run(python(SEGMENTS)).returncode == 0
        pair: Any = {}
        deadline = time.monotonic() + 60
        while not pair or pair["delivered_packets"] < 20:
            assert time.monotonic() < deadline, net.report().emulated
            time.sleep(0.05)
            pair = net.report().emulated["pairs"][f"{sender}->{receiver}"]
    assert pair["offered_packets"] == 20
    assert pair["offered_bytes"] == 10 * (1000 + 8 + 20) + 10 * (1000 + 8 + 40)


def test_notes_that_no_network_card_should_believe_are_counted() -> None:
    with emulate("quiet-flat") as net:
        done = net.host("server").run(python(HOSTILE), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        sent = int(done.stdout)
        if sent == 0:
            pytest.skip("this kernel refuses such packets itself")
        deadline = time.monotonic() + 60
        while sum(of["packets"] for of in net.report().emulated["refused"].values()) < sent:
            assert time.monotonic() < deadline, net.report().emulated
            time.sleep(0.02)
        ping = net.host("server").run(["ping", "-qc3", "-i0.1", "phone"], capture_output=True)
        assert ping.returncode == 0, ping.stdout
    refused = net.report().emulated["refused"]
    assert refused["malformed"]["packets"] == sent
