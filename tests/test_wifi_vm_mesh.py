"""Routers of a mesh over the real 802.11s: mac80211 forwards, the service sees paths and sets TXQs.

One machine is booted with a mesh of three whose outer stations do not hear each other. hwsim has no
air time: rates are those of its frames; busy time is made up by the kernel, and not used here.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from wifi_vm import machine, networks
from wifi_vm.ready import ready

# Quicker, with routers that IP forwards through: crates/airqueued/tests/plans/mesh.rs.
pytestmark = pytest.mark.long

SERVICE = """
config = 1
at_most_every = "1 s"
[[mesh]]
interface = "wlan{0}"
key = "mesh.key"
phy = "phy{0}"
most = "4000 packets"
outside = "200 ms"
"""
FLOW = """
import socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    out.sendto(bytes(1200), ("10.8.0.4", 5001))
    time.sleep(0.02)
"""
PACKETS = 600
BURST = f"""
import socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({PACKETS}):
    out.sendto(bytes(1200), ("10.8.0.4", 5001))
    time.sleep(0.001)
"""
RELAY = {"shaped": {"rate_bps": 1_000_000, "below": {"fifo": {"limit_packets": 10}}}}
SCRIPT = """
radios 5
mesh
mkdir -m 700 /run/mesh
cp *.toml mesh.key /run/mesh
chmod 600 /run/mesh/mesh.key
limit() {
    within m$1 iw phy phy$1 get txq | sed -n 's/.*Packet limit:[^0-9]*\\([0-9]*\\).*/\\1/p'
}
limits() { for n in 2 3 4; do limit $n; done; }
changed() { grep -q "$2" m$1.out; }
limits >before
for n in 2 3 4; do
    ip netns exec m$n $PWD/airqueued --config /run/mesh/m$n.toml --state /run/s$n --json \
        >m$n.out 2>m$n.err &
    echo $! >m$n.pid
done
for n in 2 3 4; do waits 30 changed $n '"set"'; done
ip netns exec m2 PYTHON flow.py &
flow=$!
for n in 2 3 4; do waits 40 changed $n 'B = RTT'; done
# Downwards by steps.
sleep 8
limits >agreed
kill -9 $(cat m3.pid)
for n in 2 4; do waits 40 changed $n 'the safe limit: a flow is not sized'; done
sleep 1
limits >fallen
kill -TERM $(cat m2.pid) $(cat m4.pid)
waits 20 sh -c '! pgrep -x airqueued'
limits >after
kill $flow
wait
# The queue of the relay's interface, under packets that the relay does not send itself.
airqueued() { within m3 $PWD/airqueued "$@"; }
relay() {
    airqueued obeys wlan3 --for 8s --json >$1.obeys 2>$1.err &
    local looks=$!
    sleep 1
    within m2 PYTHON burst.py
    wait $looks
    echo $? >$1.code
    within m3 tc -s -j qdisc show dev wlan3 >$1.qdisc
    waits 20 within m2 ping -c 1 -W 1 10.8.0.4
}
route() { within m$1 sh -c "for key in $2; do echo $3 >/proc/sys/net/ipv4/\\$key; done"; }
airqueued apply relay.json --confirm 1000s --state /run/relay >relay.out
relay forwarded
for n in 2 3 4; do
    within m$n iw dev wlan$n set mesh_param mesh_fwding 0
    route $n "conf/all/send_redirects conf/wlan$n/send_redirects conf/all/accept_redirects" 0
    route $n ip_forward 1
done
ip -n m2 route add 10.8.0.4/32 via 10.8.0.3
ip -n m4 route add 10.8.0.2/32 via 10.8.0.3
waits 20 within m2 ping -c 1 -W 1 10.8.0.4
relay routed
exit 0
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder with what the machine left behind."""
    airqueued, kernel = ready(txqs=True)
    folder = tmp_path_factory.mktemp("mesh")
    for number in (2, 3, 4):
        (folder / f"m{number}.toml").write_text(SERVICE.format(number), "utf-8")
    (folder / "mesh.key").write_text("the routers of this mesh alone\n", "utf-8")
    (folder / "flow.py").write_text(FLOW, "utf-8")
    (folder / "burst.py").write_text(BURST, "utf-8")
    setting = {"why": "a test", "set": {"queue": {"interface": "wlan3", "queue": RELAY}}}
    plan = {"plan": 1, "made_by": "a test", "settings": [setting]}
    (folder / "relay.json").write_text(json.dumps(plan), "utf-8")
    files = {"airqueued": airqueued}
    script = (
        networks.WAIT + networks.RADIOS + networks.MESH + SCRIPT.replace("PYTHON", sys.executable)
    )
    done = machine.run(kernel, script, folder, files)
    assert done.code == 0, done.output
    return folder


def limits(folder: Path, name: str) -> list[int]:
    return [int(line) for line in (folder / name).read_text("utf-8").split()]


def test_three_routers_share_the_buffer_of_a_flow_that_80211s_forwards(ran):
    for position, limit in enumerate(limits(ran, "agreed")):
        events = map(json.loads, (ran / f"m{position + 2}.out").read_text("utf-8").splitlines())
        last = [event["why"] for event in events if f"to {limit} packets," in event["what"]][-1]
        found = re.search(r"(\d+) of its 2 hops.*B = RTT · λ = ([\d.]+) packets", last)
        assert found and found[1] == "2", last
        # Eq. (16): by the roots of 1 and 2; the last router has what the last hop has.
        share = float(found[2]) * (1 if position == 0 else 2**0.5) / (1 + 2**0.5)
        assert abs(limit - share) <= 0.6


def test_when_one_is_killed_the_others_have_the_safe_limit_and_all_goes_back(ran):
    before = limits(ran, "before")
    fallen = limits(ran, "fallen")
    # The guard of the one that was killed has put its own back by then.
    assert fallen == [4000, before[1], 4000]
    assert limits(ran, "after") == before


def counted(folder: Path, name: str) -> int:
    """Packets that have come to the FIFO of the relay's interface."""
    disciplines = json.loads((folder / f"{name}.qdisc").read_text("utf-8"))
    (fifo,) = [each for each in disciplines if each["kind"] == "pfifo"]
    return int(fifo["packets"]) + int(fifo["drops"])


def test_relayed_packets_pass_the_qdisc_only_with_routes_of_ip(ran):
    """With `mesh_fwding 0` and IP routes, as `airqueued places` says, a limit at the relay acts."""
    forwarded = counted(ran, "forwarded")
    assert forwarded < PACKETS / 20
    assert (ran / "forwarded.code").read_text("utf-8") == "8\n", "the queue did not fill"
    assert counted(ran, "routed") - forwarded > PACKETS * 0.9
    said = (ran / "routed.err").read_text("utf-8")
    assert (ran / "routed.code").read_text("utf-8") == "0\n", said
    (queue,) = json.loads((ran / "routed.obeys").read_text("utf-8"))["queues"]
    assert (queue["limit"], queue["seen"]) == (10, "yes")
    # At most 8 s of 1 Mb/s leave meanwhile, of which the looks see the part after the burst began.
    assert queue["overflows"] > PACKETS / 4
