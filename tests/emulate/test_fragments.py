"""Routers fragment packets of IPv4, and the kernel puts them together again."""

from __future__ import annotations

import json
import sys

import pytest

from airqueue.emulate import Order, Program, exact

CELL = {
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": True}],
    "hosts": [
        {"name": "isp", "link": "ap", "delay": "5 ms", "mtu": "1400 B", "rate": "20 Mb/s"},
        {"name": "core", "link": "isp", "delay": "5 ms", "mtu": "1280 B", "rate": "10 Mb/s"},
        {"name": "server", "link": "core", "real": True},
    ],
}
# Without DF: option IP_MTU_DISCOVER with IP_PMTUDISC_DONT.
ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 0)
s.bind(("", 7))
while True:
    s.sendto(*s.recvfrom(65535))
"""
ASK = """
import json, os, random, socket

def counted():
    names, values = [line.split() for line in open("/proc/net/snmp") if line.startswith("Ip:")]
    return dict(zip(names[1:], map(int, values[1:])))

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 0)
s.settimeout(5)
found = []
for size in (1200, 1472, 8000):
    data, before = random.randbytes(size), counted()
    s.sendto(data, (os.environ["AIRQUEUE_PEER"], 7))
    same, after = s.recv(65535) == data, counted()
    came = {name: after[name] - before[name] for name in ("ReasmReqds", "ReasmOKs", "FragCreates")}
    found.append([size, same, came])
print(json.dumps(found))
"""


@pytest.mark.usefixtures("user_mode_linux")
def test_the_kernel_puts_fragments_of_routers_together():
    others = (Program("server", (sys.executable, "-c", ECHO)),)
    done = exact.run(CELL, Order(Program("phone", (sys.executable, "-c", ASK)), others))
    assert done.exit_code == 0, done.stderr.decode()
    # From the server the first router's link is the narrowest: 1256 bytes of data in a fragment. With
    # UDP's header the kernel makes five fragments with 1480 bytes of data and one with 608, and the
    # router makes two of each of the five.
    reassembly = {"ReasmReqds": 0, "ReasmOKs": 0, "FragCreates": 0}
    assert json.loads(done.stdout) == [
        [1200, True, reassembly],
        [1472, True, {"ReasmReqds": 2, "ReasmOKs": 1, "FragCreates": 0}],
        [8000, True, {"ReasmReqds": 11, "ReasmOKs": 1, "FragCreates": 6}],
    ]
    # Towards the server a whole packet becomes two fragments, of which the larger becomes two again.
    counts = {pair: of["offered_packets"] for pair, of in done.results.emulated["pairs"].items()}
    assert counts == {"phone->server": 1 + 3 + 5 * 3 + 1, "server->phone": 1 + 2 + 11}
    assert not any(of["packets"] for of in done.results.emulated["refused"].values())
