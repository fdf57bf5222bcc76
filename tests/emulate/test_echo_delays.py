"""Round trips through an emulated network of known delays, on the virtual clock."""

from __future__ import annotations

import functools
import json
import sys
from typing import Any, Final

import pytest

from airqueue.emulate import Order, Program, exact

pytestmark = pytest.mark.usefixtures("user_mode_linux")

# phone - air - ap - isp - server; the server's end is 2 + 3 ms away by wire, each way.
SCENARIO: Final[dict[str, Any]] = {
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": True}],
    "hosts": [
        {"name": "isp", "link": "ap", "delay": "2 ms"},
        {"name": "server", "link": "isp", "delay": "3 ms", "real": True},
    ],
}
WIRE_S: Final = {"ap": 0.0, "isp": 0.004, "server": 0.010}
"""Round trip on the wires to each node."""
AIR_S: Final = 0.001
"""Two small frames, each with DIFS (34 us), at most 15 slots of backoff (135 us), preamble, data of
some symbols, SIFS and an acknowledgement: below 0.4 ms each way, and a little for the kernels."""
TARGETS: Final = [
    {"name": "ap by icmp", "host": "ap", "method": "icmp"},
    {"name": "ap by hop", "host": "server", "method": "hop", "hops": 1},
    {"name": "isp by icmp", "host": "isp", "method": "icmp"},
    {"name": "isp by hop", "host": "server", "method": "hop", "hops": 2},
    {"name": "isp by udp", "host": "isp", "method": "udp"},
    {"name": "server by icmp", "host": "server", "method": "icmp"},
    {"name": "server by hop", "host": "server", "method": "hop", "hops": 3},
    {"name": "server by udp", "host": "server", "method": "udp"},
    {"name": "server by refused tcp", "host": "server", "method": "tcp", "port": 81},
    {"name": "server by tcp", "host": "server", "method": "tcp", "port": 8000},
    {"name": "server by server", "host": "server", "method": "server"},
]
PROBE: Final = """
import json, sys, time
from airqueue._native import Echoes, first_hops
time.sleep(2)  # The programs of the server start meanwhile.
hops = first_hops("server")
echoes = Echoes(json.loads(sys.argv[1]), interval_s=0.1)
time.sleep(5)
echoes.stop()
found = {}
for of in echoes.take():
    pairs = zip(of["sent_ns"].tolist(), of["received_ns"].tolist())
    found[of["name"]] = [of["failed"], [(r - s) * 1e-9 if r > 0 else None for s, r in pairs]]
print(json.dumps([hops, found]))
"""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *arguments)


@functools.cache
def measured() -> Any:
    """Return the hops, and by target why it failed and its round trips; once for all tests."""
    serve = (sys.executable, "-m", "http.server", "8000", "--directory", "/nonexistent")
    answer = (sys.executable, "-m", "airqueue", "server")
    others = (Program("server", serve), Program("server", answer))
    order = Order(Program("phone", python(PROBE, json.dumps(TARGETS))), others)
    done = exact.run(SCENARIO, order)
    assert done.exit_code == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target["name"])
def test_each_method_measures_the_delay_of_its_leg(target):
    name = target["name"]
    failed, times = measured()[1][name]
    assert failed is None
    # Routers limit errors, so those are asked for once a second. The end may be that of an interval.
    probes = 5 if target["method"] in ("hop", "udp") else 50
    assert len(times) in (probes, probes + 1)
    # The last one may be on its way at the end.
    assert None not in times[:-1]
    answered = [of for of in times if of is not None]
    wire_s = WIRE_S[name.split()[0]]
    # TCP_INFO has whole microseconds.
    assert min(answered) > wire_s - 1e-6
    # A probe may wait for one of another target on the air; half of them at most do.
    assert sorted(answered)[len(answered) // 2] < wire_s + AIR_S
    assert max(answered) < wire_s + 3 * AIR_S


def test_the_hops_are_those_of_the_network():
    hops = measured()[0]
    assert [of["is_host"] for of in hops] == [False, False, True]
    assert len({of["address"] for of in hops}) == 3
    for of, wire_s in zip(hops, WIRE_S.values(), strict=True):
        # Their probes leave 2 ms apart, and the first one has the neighbour looked up before it.
        assert wire_s < of["round_trip_s"] < wire_s + 3 * AIR_S
