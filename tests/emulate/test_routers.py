"""Routers of emulated networks: traceroute, path MTU discovery, missing addresses, for real programs.

Real time, and once on the virtual clock: what programs find does not depend on time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any, Final

import pytest

from airqueue.emulate import Order, Program, emulate, exact
from airqueue.emulate.plan import PREFIX, PREFIX6, Plan

# phone - air - ap - isp (tunnel of 1400 B) - server
SCENARIO: Final[dict[str, Any]] = {
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": True}],
    "hosts": [
        {"name": "isp", "link": "ap", "delay": "2 ms", "mtu": "1400 B"},
        {"name": "server", "link": "isp", "delay": "3 ms", "real": True},
    ],
}
AP, ISP = "10.213.128.1", "10.213.128.2"
AP6, ISP6 = "fd61:6972:7175::8001", "fd61:6972:7175::8002"
NOBODY, NOBODY6 = "10.213.9.9", "fd61:6972:7175::9999"

# Sends probes with rising hop limits until the destination says that a port is closed, as traceroute
# does, and reads who answered from the socket's queue of errors.
TRACE: Final = """
import errno, ipaddress, select, socket, struct, sys
IP_RECVERR, IPV6_RECVERR = 11, 25
for name in sys.argv[1:]:
    family, _, _, _, address = socket.getaddrinfo(name, 33434, type=socket.SOCK_DGRAM)[0]
    v6 = family == socket.AF_INET6
    level = socket.IPPROTO_IPV6 if v6 else socket.IPPROTO_IP
    for hops in range(1, 9):
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.setsockopt(level, IPV6_RECVERR if v6 else IP_RECVERR, 1)
        s.setsockopt(level, socket.IPV6_UNICAST_HOPS if v6 else socket.IP_TTL, hops)
        s.sendto(b"probe", address)
        poll = select.poll()
        poll.register(s, 0)
        assert poll.poll(10_000), "no answer"
        _, control, _, _ = s.recvmsg(100, 500, socket.MSG_ERRQUEUE)
        data = control[0][2]
        number, origin, kind, code = struct.unpack_from("IBBB", data)
        who = ipaddress.ip_address(data[24:40] if v6 else data[20:24])
        print(who, kind, code, flush=True)
        if number == errno.ECONNREFUSED:
            break
"""
# Sends larger datagrams than the path carries, with DF, until the kernel knows the path's MTU.
DISCOVER: Final = """
import os, socket, time
IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_MTU = 10, 2, 14
IPV6_MTU_DISCOVER, IPV6_MTU = 23, 24
for family, level, discover, mtu, to in (
    (socket.AF_INET, socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_MTU, os.environ["AIRQUEUE_PEER"]),
    (socket.AF_INET6, 41, IPV6_MTU_DISCOVER, IPV6_MTU, os.environ["AIRQUEUE_PEER6"]),
):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(level, discover, IP_PMTUDISC_DO)
    s.connect((to, 9))
    known = [s.getsockopt(level, mtu)]
    s.send(bytes(known[0] - (28 if family == socket.AF_INET else 48)))
    deadline = time.monotonic() + 60
    while s.getsockopt(level, mtu) == known[0] and time.monotonic() < deadline:
        time.sleep(0.01)
    known.append(s.getsockopt(level, mtu))
    print(*known, flush=True)
"""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *arguments)


# What programs print who are told to find out; in one shell, so that a machine boots once.
LOOK: Final = f"""
{sys.executable} -c '{TRACE}' $AIRQUEUE_PEER $AIRQUEUE_PEER6
{sys.executable} -c '{DISCOVER}'
ping -n -c 1 -t 1 $AIRQUEUE_PEER
ping -n -c 1 -w 5 {NOBODY}
ping -n -c 1 -w 5 {NOBODY6}
ping -4 -n -c 1 -w 5 isp
ping -6 -n -c 1 -w 5 isp
ip link set airqueue0 mtu 9000
ping -n -c 1 -w 5 -M do -s 1600 $AIRQUEUE_PEER
true
"""


def check(text: str) -> None:
    """Assert that the programs of `LOOK` have seen a path as real ones are."""
    server, server6 = PREFIX[2], PREFIX6[2]
    lines = text.splitlines()
    # Time exceeded twice, and then the destination's closed port.
    assert lines[:3] == [f"{AP} 11 0", f"{ISP} 11 0", f"{server} 3 3"], text
    assert lines[3:6] == [f"{AP6} 3 0", f"{ISP6} 3 0", f"{server6} 1 4"], text
    # What the device carries, and what the tunnel behind the access point carries.
    assert lines[6:8] == ["1500 1400", "1500 1400"], text
    assert f"From {AP} icmp_seq=1 Time to live exceeded" in text
    assert f"From {AP} icmp_seq=1 Destination Host Unreachable" in text
    assert f"From {AP6} icmp_seq=1 Destination unreachable: Address unreachable" in text
    assert f"from {ISP}: icmp_seq=1" in text
    assert f"from {ISP6}: icmp_seq=1" in text
    # The kernel remembers the tunnel's MTU, and does not send larger packets.
    assert "message too long, mtu=1400" in text


def refused(results: Any, reason: str) -> tuple[int, int]:
    found = results.emulated["refused"][reason]
    return found["packets"], found["answered_packets"]


@pytest.mark.emulation
def test_programs_see_routers_in_real_time():
    with emulate(SCENARIO) as net:
        done = net.host("phone").run(["sh", "-c", LOOK], capture_output=True, text=True)
    check(done.stdout + done.stderr)
    # Two probes and a ping; a datagram of each family; a ping to nobody for each family.
    assert refused(net.report(), "hop_limit") == (5, 5)
    assert refused(net.report(), "oversize") == (2, 2)
    packets, answered = refused(net.report(), "no_such_node")
    assert packets == answered == 2
    document = json.loads(net.report().to_text())
    assert [router["name"] for router in document["routers"]] == ["ap", "isp"]
    assert document["routers"][0]["address"] == AP


@pytest.mark.emulation
def test_a_device_with_a_larger_mtu_learns_that_of_the_network():
    scenario = {**SCENARIO, "hosts": [{"name": "server", "link": "ap", "real": True}]}
    ping = "ip link set airqueue0 mtu 9000; ping -n -c 1 -w 5 -M do -s 1600 $AIRQUEUE_PEER"
    with emulate(scenario) as net:
        done = net.host("phone").run(["sh", "-c", ping], capture_output=True, text=True)
    assert f"From {AP} icmp_seq=1 Frag needed and DF set (mtu = 1500)" in done.stdout, done
    assert refused(net.report(), "oversize") == (1, 1)


SEND: Final = """
import os, socket
with socket.create_connection((os.environ["AIRQUEUE_PEER"], 80)) as s:
    s.sendall(bytes(300_000))
    s.shutdown(socket.SHUT_WR)
    print(s.recv(9).decode())
"""
RECEIVE: Final = """
import socket
with socket.create_server(("", 80)) as server:
    s, _ = server.accept()
    size = 0
    while part := s.recv(65536):
        size += len(part)
    s.sendall(str(size).encode())
"""


@pytest.mark.emulation
def test_tcp_finds_its_way_through_a_tunnel_that_neither_end_knows():
    with emulate(SCENARIO) as net:
        net.host("server").popen(python(RECEIVE))
        while net.host("server").listening() < 1:
            time.sleep(0.02)
        done = net.host("phone").run(python(SEND), capture_output=True, text=True)
    assert done.stdout.strip() == "300000", done
    assert refused(net.report(), "oversize")[1] >= 1


@pytest.mark.usefixtures("user_mode_linux")
def test_programs_see_routers_on_the_virtual_clock():
    order = Order(Program("phone", ("sh", "-c", LOOK)), duration_s=120.0)
    done = exact.run(SCENARIO, order, seed=5)
    check((done.stdout + done.stderr).decode())
    assert refused(done.results, "hop_limit") == (5, 5)
    assert [router.name for router in done.results.routers] == ["ap", "isp"]


@pytest.mark.long
@pytest.mark.usefixtures("user_mode_linux")
def test_runs_with_routers_are_the_same_on_the_virtual_clock():
    order = Order(Program("phone", ("sh", "-c", LOOK)), duration_s=120.0)
    first, again = (exact.run(SCENARIO, order, seed=5) for _ in range(2))
    assert first.stdout == again.stdout
    assert first.results.emulated == again.results.emulated


def test_addresses_of_routers_are_none_of_the_nodes():
    plan = Plan(["a", "b"], [False, True], ipv6=True, mtus=[1500, 1492], routers=["ap", "isp"])
    assert [router.addresses for router in plan.routers] == [[AP, AP6], [ISP, ISP6]]
    assert [node.mtu_bytes for node in plan.nodes] == [1500, 1492]
    assert f"{AP} ap\n{AP6} ap\n" in plan.hosts(plan.nodes[0])
    assert Plan(["a"], [False], ipv6=False, routers=["ap"]).routers[0].addresses == [AP]


@pytest.mark.parametrize("tool", ["tracepath", "traceroute"])
@pytest.mark.emulation
def test_tools_show_the_hops(tool: str):
    if subprocess.run(["which", tool], capture_output=True, check=False).returncode:
        pytest.skip(f"{tool} is not installed")
    with emulate(SCENARIO) as net:
        done = net.host("phone").run([tool, "-n", "server"], capture_output=True, text=True)
    assert AP in done.stdout, done
    assert ISP in done.stdout, done
