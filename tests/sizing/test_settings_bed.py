"""The real ip, tc and nft take the printed lines, and the rules catch acknowledgements."""

import json
import os
import socket
import threading
import time

import pytest

from airqueue.linux.netns import Namespace
from airqueue.sizing.settings import acks, classes, linux

pytestmark = pytest.mark.bed

STATION, FAR = {4: "10.9.0.1", 6: "fd09::1"}, {4: "10.9.0.2", 6: "fd09::2"}
UPLOADED_BYTES = 3_000_000


def run(namespace, command, stdin=""):
    done = namespace.run(command.split(), stdin=stdin)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def wire(first, device, second, peer):
    """Connect two namespaces by a veth pair, both ends up."""
    command = f"ip link add {device} type veth peer name {peer} netns {second.path}"
    done = first.run(command.split(), pass_fds=(second.fd,))
    assert done.returncode == 0, done.stderr
    for namespace, name in ((first, device), (second, peer)):
        run(namespace, f"ip link set dev {name} up")


def address(namespace, device, addresses):
    run(namespace, f"ip addr add {addresses[4]}/24 dev {device}")
    run(namespace, f"ip addr add {addresses[6]}/64 dev {device} nodad")


@pytest.fixture
def station():
    with Namespace("station") as namespace:
        yield namespace


@pytest.fixture
def far():
    with Namespace("far") as namespace:
        yield namespace


def test_commands_for_queues_are_accepted(station, far):
    wire(station, "wlan0", far, "p0")
    run(station, linux.txqueuelen("wlan0", 38))
    assert "qlen 38" in run(station, "ip link show dev wlan0")
    run(station, linux.pfifo("wlan0", 38))
    assert "limit 38p" in run(station, "tc qdisc show dev wlan0")
    run(station, linux.bfifo("wlan0", 57532))
    assert "limit 57532b" in run(station, "tc qdisc show dev wlan0")


def test_the_fq_codel_command_is_understood(station, far):
    wire(station, "wlan0", far, "p0")
    command = linux.fq_codel("wlan0", limit=1000, target_s=5e-3, interval_s=0.1, quantum_bytes=300)
    done = station.run(command.split())
    # tc has parsed the whole line before the kernel can say that it lacks the module.
    assert done.returncode == 0 or "Specified qdisc kind is unknown" in done.stderr


def test_stations_packets_go_into_their_classes(station, far):
    """Of what `size rdqm` prints: `station` is the base station, addresses of `far` its stations."""
    wire(station, "wlan0", far, "p0")
    run(station, "ip addr add 10.9.0.1/24 dev wlan0")
    run(far, "ip addr add 10.9.0.2/24 dev p0")
    run(far, "ip addr add 10.9.0.3/24 dev p0")
    parts = [
        classes.Class(9, 5e6, "10.9.0.2"),
        classes.Class(3, 1e6, "10.9.0.3"),
        classes.Class(5, 2e6, None),
    ]
    for line in classes.settings("wlan0", parts).lines:
        done = station.run(["sh", "-c", line])
        assert done.returncode == 0, f"{line}: {done.stderr}"
    sent = {"10.9.0.2": 7, "10.9.0.3": 4, "10.9.0.1": 0}
    udp = station.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    with udp:
        for target, packets in sent.items():
            for _ in range(packets):
                udp.sendto(bytes(500), (target, 9))
    leaves = leaves_of(station, "wlan0")
    limits = {parent: leaf["options"]["limit"] for parent, leaf in leaves.items()}
    assert limits == {"10:2": 9, "10:3": 3, "10:4": 5, "10:5": classes.OTHER_PACKETS}
    # Packets count when they leave their class.
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(leaf["qlen"] for leaf in leaves.values()):
        leaves = leaves_of(station, "wlan0")
    packets = {parent: leaf["packets"] for parent, leaf in leaves.items()}
    assert (packets["10:2"], packets["10:3"], packets["10:4"]) == (7, 4, 0)
    # ARP, which no rule assigns.
    assert packets["10:5"] > 0


def leaves_of(namespace, device):
    """Return the FIFOs of a device's classes, by class."""
    shown = json.loads(run(namespace, f"tc -s -j qdisc show dev {device}"))
    return {each["parent"]: each for each in shown if each["kind"] == "pfifo"}


def upload(sender, receiver, family, source):
    """Send bytes over TCP from ``sender`` to ``receiver``, both namespaces."""
    kind = {4: socket.AF_INET, 6: socket.AF_INET6}[family]

    def listen():
        listening = socket.create_server((FAR[family], 0), family=kind)
        listening.settimeout(60)
        return listening

    with receiver.call(listen) as listening:
        received = []

        def receive():
            connection, _ = listening.accept()
            with connection:
                while block := connection.recv(65536):
                    received.append(len(block))

        thread = threading.Thread(target=receive)
        thread.start()
        target = listening.getsockname()[:2]
        with sender.call(lambda: socket.create_connection(target, 60, (source, 0))) as connection:
            connection.sendall(os.urandom(UPLOADED_BYTES))
        thread.join(60)
    assert sum(received) == UPLOADED_BYTES


def count_marks(namespace, device, mark):
    """Count what leaves the device: marked and not, acknowledgements (small) and data."""
    test = {"dscp": "ip dscp cs4", "priority": f"meta priority {acks.PRIORITY}"}[mark]
    test6 = test.replace("ip ", "ip6 ")
    small, large = "ip length <= 80", "ip length > 80"
    small6, large6 = "ip6 length <= 60", "ip6 length > 60"
    plain = "tcp flags & (syn | fin | rst) == 0"
    run(
        namespace,
        "nft -f -",
        "table netdev watch {\n"
        "  counter marked {}\n  counter wrongly {}\n  counter acks {}\n"
        f'  chain out {{ type filter hook egress device "{device}" priority 10;\n'
        f'    {plain} {small} counter name "acks"\n    {plain} {small6} counter name "acks"\n'
        f'    {small} {test} counter name "marked"\n    {small6} {test6} counter name "marked"\n'
        f'    {large} {test} counter name "wrongly"\n    {large6} {test6} counter name "wrongly"\n'
        "  }\n}\n",
    )


def marks(namespace):
    listed = json.loads(run(namespace, "nft -j list counters table netdev watch"))["nftables"]
    counters = [entry["counter"] for entry in listed if "counter" in entry]
    return {counter["name"]: counter["packets"] for counter in counters}


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("mark", ["dscp", "priority"])
def test_a_station_marks_every_acknowledgement_and_nothing_else(station, far, family, mark):
    # Here the one with the rule receives, so what leaves through wlan0 are acknowledgements.
    wire(far, "wlan0", station, "p0")
    address(far, "wlan0", FAR)
    address(station, "p0", STATION)
    rules = next(s for s in linux.ack_rules("wlan0", 80, mark) if "station" in s.place)
    run(far, "nft -f -", "\n".join(rules.lines) + "\n")
    count_marks(far, "wlan0", mark)
    upload(station, far, family, STATION[family])
    counted = marks(far)
    assert counted["acks"] > 10
    assert counted["marked"] == counted["acks"]
    assert counted["wrongly"] == 0


@pytest.mark.parametrize("mark", ["dscp", "priority"])
def test_an_access_point_marks_what_it_bridges(station, far, mark):
    with Namespace("ap") as ap:
        wire(ap, "wlan0", station, "p0")
        wire(ap, "eth0", far, "p0")
        run(ap, "ip link add br0 type bridge")
        for device in ("wlan0", "eth0"):
            run(ap, f"ip link set dev {device} master br0")
        run(ap, "ip link set dev br0 up")
        address(station, "p0", STATION)
        address(far, "p0", FAR)
        rules = next(s for s in linux.ack_rules("wlan0", 80, mark) if "access" in s.place)
        run(ap, "nft -f -", "\n".join(rules.lines) + "\n")
        count_marks(ap, "wlan0", mark)
        for family in (4, 6):
            upload(station, far, family, STATION[family])
        counted = marks(ap)
    assert counted["acks"] > 10
    assert counted["marked"] == counted["acks"]
    assert counted["wrongly"] == 0
