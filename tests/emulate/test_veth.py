"""Nodes without TUN devices: what arrives is what was sent, and nothing is lost uncounted."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from test_back_pressure import FLOOD as BLOCKED
from test_back_pressure import OVERHEAD, SLOW
from test_emulate_life import BRIEF_S, COMMAND, MARK, PROGRAMS, children, links, none_is_left
from test_programs import python, wait_for

from airqueue.emulate import EmulatedNetwork, EmulationError, devices, emulate
from airqueue.linux.netns import Namespace

pytestmark = pytest.mark.emulation

RING_PACKETS = 4096
"""The frames of LAYOUT in crates/airqueue-host/src/packet_ring.rs."""
SIZE = 200_000

# Serves one connection of each family: sends the digest of what comes, and as many bytes back.
SERVE = f"""
import hashlib, socket
s = socket.socket(socket.AF_INET6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
s.bind(("::", 80))
s.listen()
for _ in range(2):
    c, _ = s.accept()
    f = c.makefile("rwb")
    f.write(hashlib.sha256(f.read({SIZE})).digest() + bytes({SIZE}))
    f.close()
    c.close()
"""
ASK = f"""
import hashlib, os, socket
for peer in (os.environ["AIRQUEUE_PEER"], os.environ["AIRQUEUE_PEER6"]):
    with socket.create_connection((peer, 80), 20) as c:
        data = os.urandom({SIZE})
        c.sendall(data)
        f = c.makefile("rb")
        assert f.read(32) == hashlib.sha256(data).digest()
        assert f.read() == bytes({SIZE})
"""
# Looks at each packet that comes to the node, as the device has it: notes of the kernel (packet(7)),
# size, hop limit, and the checksums of RFC 1071.
LOOK = """
import socket, struct, sys
def total(data):
    words = struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\\0" * (len(data) % 2))
    value = sum(words)
    while value >> 16:
        value = (value & 0xffff) + (value >> 16)
    return value
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.ntohs(3))
s.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
s.bind(("airqueue0", 3))
s.settimeout(float(sys.argv[1]))
seen = {}
print("looks", flush=True)
try:
    while True:
        p, notes, _, (_, ethertype, kind, _, _) = s.recvmsg(100_000, 100)
        if kind == socket.PACKET_OUTGOING:
            continue
        status = struct.unpack_from("I", notes[0][2])[0]
        assert not status & 8, "TP_STATUS_CSUMNOTREADY"
        assert len(p) <= 1500, len(p)
        if ethertype == 0x800:
            assert total(p[:20]) == 0xffff, "IPv4 header"
            hops, protocol, addresses, payload = p[8], p[9], p[12:20], p[20:]
        else:
            assert ethertype == 0x86dd, hex(ethertype)
            hops, protocol, addresses, payload = p[7], p[6], p[8:40], p[40:]
        pseudo = addresses + struct.pack("!HH", len(payload), protocol)
        assert total(pseudo + payload) == 0xffff, "checksum of the payload"
        key = f"{ethertype:x} {protocol} {hops}"
        seen[key] = seen.get(key, 0) + 1
        # The last packets of a test are of this port.
        if protocol == 17 and payload[2:4] == (9).to_bytes(2, "big") and ethertype != 0x800:
            break
finally:
    print(seen)
"""
END = """
import os, socket, time
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
    s.sendto(b"end", (os.environ["AIRQUEUE_PEER6"], 9))
"""
SEGMENTS = """
import os, socket, sys
for peer in (os.environ["AIRQUEUE_PEER"], os.environ["AIRQUEUE_PEER6"]):
    family = socket.AF_INET6 if ":" in peer else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
        try:
            s.sendto(bytes(10_000), (peer, 7))
        except OSError as error:
            sys.exit(error.errno)
"""
FLOOD = """
import os, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for _ in range(int(sys.argv[1])):
        s.sendto(b"x", (os.environ["AIRQUEUE_PEER"], 9))
"""
# As ethtool -K airqueue0 tx on (linux/ethtool.h: ETHTOOL_STXCSUM).
SPARE = """
import array, fcntl, os, socket, struct
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    value = array.array("I", [0x17, 1])
    request = struct.pack("16sP16x", b"airqueue0", value.buffer_info()[0])
    fcntl.ioctl(s, 0x8946, request)
    s.sendto(bytes(100), (os.environ["AIRQUEUE_PEER"], 9))
"""
WITHOUT_TUN = [
    *("unshare", "--mount", "--propagation", "private", "sh", "-c"),
    *('mount -t tmpfs none /dev/net && exec "$@"', "sh"),
]
WITHOUT_CAPABILITIES = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"]


def looked(process: subprocess.Popen[str]) -> dict[str, int]:
    """What the program LOOK has seen, by ethertype, protocol and hop limit."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    found = dict(re.findall(r"'(\w+ \w+ \w+)': (\d+)", out))
    return {key: int(count) for key, count in found.items()}


@pytest.mark.parametrize("receiver", ["phone", "server"])
def test_connections_of_both_families_carry_whole_packets_both_ways(receiver):
    with emulate("quiet-flat", device="veth") as net:
        phone, server = net.host("phone"), net.host("server")
        server.popen(python(SERVE))
        wait_for(server, 1)
        host = net.host(receiver)
        looks = host.popen(
            [*python(LOOK), "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert looks.stdout is not None
        assert looks.stdout.readline() == "looks\n"
        done = phone.run(python(ASK), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        other = server if host is phone else phone
        assert other.run(python(END)).returncode == 0
        seen = looked(looks)
    # One router, the access point. 200 kB are 137 packets or more each way.
    assert set(seen) <= {"800 6 63", "86dd 6 63", "86dd 17 63", "86dd 58 64"}, seen
    assert seen["800 6 63"] > 137
    assert seen["86dd 6 63"] > 137
    report = net.report()
    assert report.device == "veth"
    assert report.emulated["refused"] == {}
    assert report.emulated["unwritten_packets"] == 0
    assert report.device_drops == {"phone": 0, "server": 0}


@pytest.mark.parametrize(("sender", "receiver"), [("phone", "server"), ("server", "phone")])
def test_segments_of_one_call_are_packets_of_their_own(sender, receiver):
    with emulate("quiet-flat", device="veth") as net:
        done = net.host(sender).run(python(SEGMENTS))
        if done.returncode != 0:
            pytest.skip(f"UDP_SEGMENT needs a device here: {os.strerror(done.returncode)}")
        pair, deadline = {}, time.monotonic() + 20
        while not pair or pair["delivered_packets"] < 20:
            assert time.monotonic() < deadline, net.report().emulated
            time.sleep(0.05)
            pair = net.report().emulated["pairs"][f"{sender}->{receiver}"]
    assert pair["offered_packets"] == 20
    assert pair["offered_bytes"] == 10 * (1000 + 8 + 20) + 10 * (1000 + 8 + 40)


def test_a_full_station_stops_its_senders_without_tun():
    with emulate(SLOW, device="veth") as net:
        if net.without_back_pressure:
            pytest.skip(net.without_back_pressure["phone"])
        done = net.host("phone").run(python(BLOCKED), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    took_s, buffer = map(float, done.stdout.split())
    pair = net.report().emulated["pairs"]["phone->server"]
    # Kept packets come from the device too, when the station is done with them, and count once.
    assert (pair["offered_packets"], pair["dropped_packets"]) == (1000, 0)
    assert net.report().emulated["refused"] == {}
    assert took_s > (1000 - buffer / OVERHEAD - 1) * 0.0021


def test_a_packet_whose_checksum_is_left_to_the_device_is_refused():
    with emulate("quiet-flat", device="veth") as net:
        assert net.host("server").run(python(SPARE)).returncode == 0
        deadline = time.monotonic() + 60
        while not net.report().emulated["refused"]:
            assert time.monotonic() < deadline, net.report().emulated
            time.sleep(0.02)
    assert net.report().emulated["refused"]["malformed"]["packets"] == 1
    assert net.report().emulated["pairs"]["server->phone"]["offered_packets"] == 0


def test_what_the_ring_cannot_hold_is_counted():
    sent = RING_PACKETS + 1000
    net = EmulatedNetwork("quiet-flat", device="veth")
    try:
        # The nodes are there, and nobody reads. A host's packets count against no socket.
        net._build()
        assert net.host("server").run([*python(FLOOD), str(sent)]).returncode == 0
        assert net.report().device_drops == {"phone": 0, "server": 1000}
        # The kernel's counter begins again with each reading, ours does not.
        assert net.report().device_drops == {"phone": 0, "server": 1000}
        net._run(None, lambda: False)
        offered, deadline = 0, time.monotonic() + 20
        while offered < RING_PACKETS:
            assert time.monotonic() < deadline
            time.sleep(0.05)
            offered = net.report().emulated["pairs"]["server->phone"]["offered_packets"]
    finally:
        net.close()
    report = net.report()
    assert report.emulated["pairs"]["server->phone"]["offered_packets"] == RING_PACKETS
    assert report.device_drops == {"phone": 0, "server": 1000}
    assert not report.verdict.trusted
    assert "the kernel dropped 1,000 packets of server" in report.verdict.sentence


@pytest.mark.parametrize("device", ["tun", "veth"])
def test_a_device_that_a_program_removes_ends_the_run_with_a_sentence(device):
    if device == "tun" and devices.why_no_tun():
        pytest.skip(devices.why_no_tun())
    net = EmulatedNetwork("quiet-flat", device=device)
    net.start()
    try:
        assert net.host("phone").run(["ip", "link", "del", "airqueue0"]).returncode == 0
        deadline = time.monotonic() + 60
        while not net.ended:
            assert time.monotonic() < deadline, "the loop goes on without the device"
            time.sleep(0.02)
        with pytest.raises(
            EmulationError, match=r"the emulation ended early: .*read a node's device"
        ):
            net.stop()
    finally:
        with suppress(EmulationError):
            net.close()


@pytest.mark.parametrize("user", ["root", "ordinary user"])
def test_the_command_does_without_tun(user):
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (Debian package util-linux) is not installed")
    drop = [] if user == "root" else WITHOUT_CAPABILITIES
    code = "ls /dev/net/tun; ip -o link show airqueue0; getent hosts peer && exit 7"
    done = subprocess.run(
        [*WITHOUT_TUN, *drop, *COMMAND, "--json", "-", "--at", "phone", "--", "sh", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "cannot access '/dev/net/tun'" in done.stderr
    assert "airqueue0@" in done.stderr
    assert done.returncode == 7, done.stderr
    result = json.loads(done.stdout)
    assert result["device"] == "veth"


def test_no_namespace_outlives_a_command_without_tun():
    mark = uuid.uuid4().hex
    with Namespace("outside") as outside:
        process = subprocess.Popen(
            [*WITHOUT_TUN, *COMMAND, *PROGRAMS],
            env={**os.environ, MARK: mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            worker = children(children(process.pid)[0])[0]
            held = Path(f"/proc/{worker}/fd")
            namespaces = [p for p in held.iterdir() if "net:[" in str(p.readlink())]
            # Of two nodes, and the emulator's own.
            assert len({path.readlink() for path in namespaces}) >= 3
            for number, path in enumerate(namespaces):
                wire = f"ip link add canary{number} type veth peer name inner{number} netns {path}"
                done = outside.run(wire.split())
                assert done.returncode == 0, done.stderr
            os.kill(worker, signal.SIGKILL)
            process.wait(BRIEF_S)
            assert none_is_left(mark)
            deadline = time.monotonic() + BRIEF_S
            while "canary" in links(outside):
                assert time.monotonic() < deadline, "a namespace outlived its emulation"
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def test_a_kind_of_device_that_is_not_there_is_refused(monkeypatch, tmp_path):
    with pytest.raises(EmulationError, match="'tap' is no kind of device: choose 'tun' or 'veth'"):
        EmulatedNetwork("quiet-flat", device="tap").start()  # type: ignore[arg-type]
    monkeypatch.setattr(devices, "_TUN", tmp_path / "tun")
    assert devices.choose(None) == "veth"
    with pytest.raises(EmulationError, match=r"there is no .*modprobe tun"):
        EmulatedNetwork("quiet-flat", device="tun").start()
