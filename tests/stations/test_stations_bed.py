"""Stations behind the kernel's own queues: real sockets, and an access point made of namespaces."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from airqueue._native import Server
from airqueue.linux.netns import Namespace
from airqueue.measure.stations.method import measure
from airqueue.measure.together import TogetherProber

pytestmark = pytest.mark.bed

RATE = "10mbit"
QUEUES = {
    "one_queue": [
        f"qdisc add dev shaped root handle 1: tbf rate {RATE} burst 1540 limit 3000000",
        "qdisc add dev shaped parent 1:1 handle 10: pfifo limit 60",
    ],
    # Both borrow all of the rate from their parent, in turns of a packet.
    "by_station": [
        "qdisc add dev shaped root handle 1: htb default 2",
        f"class add dev shaped parent 1: classid 1:1 htb rate {RATE} burst 1540 cburst 1540",
        *(
            f"class add dev shaped parent 1:1 classid 1:{n} htb rate 8kbit ceil {RATE} "
            "burst 1540 cburst 1540 quantum 1540"
            for n in (2, 3)
        ),
        *(f"qdisc add dev shaped parent 1:{n} handle {n}0: pfifo limit 60" for n in (2, 3)),
        "filter add dev shaped parent 1: protocol ip u32 match ip dst 10.98.3.2/32 flowid 1:3",
    ],
}


class AccessPoint:
    """host -- ap -- fan, which leads to two stations; the queue is where ap sends to fan."""

    def __init__(self, stack: ExitStack, queue: list[str]) -> None:
        names = ("host", "ap", "fan", "station", "other")
        self.at = {name: stack.enter_context(Namespace(name)) for name in names}
        wires = (("host", "ap", 0), ("ap", "fan", 1), ("fan", "station", 2), ("fan", "other", 3))
        for name in names:
            self.run(name, "ip link set lo up")
            self.at[name].set_sysctl("net.ipv4.ip_forward", "1")
        for left, right, n in wires:
            self.wire(left, right, n)
        for name, gateway in (("host", 0), ("station", 2), ("other", 3)):
            self.run(name, f"ip route add default via 10.98.{gateway}.{2 if name == 'host' else 1}")
        self.run("ap", "ip route add 10.98.2.0/23 via 10.98.1.2")
        self.run("fan", "ip route add 10.98.0.0/24 via 10.98.1.1")
        for words in queue:
            self.run("ap", f"tc {words}")

    def wire(self, left: str, right: str, n: int) -> None:
        """Connect two namespaces by a veth pair, which is called the same at both ends."""
        fd = self.at[right].fd
        name = "shaped" if n == 1 else f"d{n}"
        words = f"ip link add {name} type veth peer name d{n} netns /proc/self/fd/{fd}"
        done = self.at[left].run(words.split(), pass_fds=[fd])
        assert done.returncode == 0, done.stderr
        self.run(left, f"ip addr add 10.98.{n}.1/24 dev {name}")
        self.run(right, f"ip addr add 10.98.{n}.2/24 dev d{n}")
        self.run(left, f"ip link set {name} up")
        self.run(right, f"ip link set d{n} up")

    def run(self, name: str, words: str) -> None:
        done = self.at[name].run(words.split())
        assert done.returncode == 0, f"{words}: {done.stderr}"


@pytest.mark.parametrize("truth", ["by_station", pytest.param("one_queue", marks=pytest.mark.long)])
def test_the_kernels_queues_are_told_apart(truth):
    with ExitStack() as stack:
        bed = AccessPoint(stack, QUEUES[truth])
        host = Server(None, 0, netns=bed.at["host"].path)
        stack.callback(host.stop)
        other = Server(None, host.port, netns=bed.at["other"].path, attend=["10.98.0.1"])
        stack.callback(other.stop)
        with TogetherProber(
            "10.98.0.1", ["10.98.3.2"], host.port, netns=bed.at["station"].path
        ) as prober:
            found = measure(prober, ["here", "other"])
    rates = [station["alone_bps"] for station in found["stations"]]
    # The kernel's rate counts 14 bytes more of each packet than the IP rate does.
    assert rates == pytest.approx([10e6 * 1500 / 1514] * 2, rel=0.03)
    shares = {"one_queue": "proportional", "by_station": "equal"}[truth]
    assert (found["queues"], found["shares"]) == (truth, shares), found
