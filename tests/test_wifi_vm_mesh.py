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

from binaries import newest
from peers.install import UnavailableError
from wifi_vm import image, machine, networks

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
exit 0
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder with what the machine left behind."""
    airqueued = newest("airqueued")
    try:
        machine.install()
        kernel = image.build(txqs=True)
    except UnavailableError as reason:
        pytest.skip(f"no virtual machine with a Wi-Fi stack: {reason}")
    folder = tmp_path_factory.mktemp("mesh")
    for number in (2, 3, 4):
        (folder / f"m{number}.toml").write_text(SERVICE.format(number), "utf-8")
    (folder / "mesh.key").write_text("the routers of this mesh alone\n", "utf-8")
    (folder / "flow.py").write_text(FLOW, "utf-8")
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
