"""Round-trip times to several targets through kernels that we know: three namespaces in a row."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from airqueue._native import Echoes, NativeError, Server, first_hops
from airqueue.linux.netns import Namespace
from airqueue.measure.records import MISSING
from bed_traffic import judged_when_punctual

pytestmark = pytest.mark.bed

HOST, HOST6 = "10.96.2.1", "fd96:2::1"
ROUTER, ROUTER6 = "10.96.1.2", "fd96:1::2"
OPEN, SHUT = 7000, 7001
METHODS = {
    "icmp": {"method": "icmp"},
    "first hop": {"method": "hop", "hops": 1},
    "second hop": {"method": "hop", "hops": 2},
    "closed port": {"method": "udp"},
    "one closed port": {"method": "udp", "port": SHUT},
    "accepts": {"method": "tcp", "port": OPEN},
    "refuses": {"method": "tcp", "port": SHUT},
    "server": {"method": "server", "port": 5860},
}


def ip(namespace: Namespace, *arguments: str) -> None:
    done = namespace.run(("ip", *arguments))
    assert done.returncode == 0, f"{arguments}: {done.stderr}"


def wire(number: int, *ends: tuple[Namespace, int]) -> None:
    """Connect two namespaces; each has a host number on the wire."""
    (one, _), (other, _) = ends
    link = ("ip", "link", "add", f"w{number}", "type", "veth", "peer", f"w{number}")
    done = one.run((*link, "netns", other.path), pass_fds=(other.fd,))
    assert done.returncode == 0, done.stderr
    for namespace, host in ends:
        # Addresses are good at once: no other host is there to have them (RFC 4862, 5.4).
        for interface in ("all", f"w{number}"):
            namespace.set_sysctl(f"net.ipv6.conf.{interface}.accept_dad", "0")
        ip(namespace, "addr", "add", f"10.96.{number}.{host}/24", "dev", f"w{number}")
        ip(namespace, "addr", "add", f"fd96:{number}::{host}/64", "dev", f"w{number}", "nodad")
        ip(namespace, "link", "set", f"w{number}", "up")


class Row:
    """``near`` and ``far``, and a router between them."""

    def __init__(self) -> None:
        self.near, self.router, self.far = (Namespace(n) for n in ("near", "router", "far"))
        for namespace in (self.near, self.router, self.far):
            ip(namespace, "link", "set", "lo", "up")
        wire(1, (self.near, 1), (self.router, 2))
        wire(2, (self.router, 2), (self.far, 1))
        for namespace, number in ((self.near, 1), (self.far, 2)):
            ip(namespace, "route", "add", "default", "via", f"10.96.{number}.2")
            ip(namespace, "-6", "route", "add", "default", "via", f"fd96:{number}::2")
        self.router.set_sysctl("net.ipv4.ip_forward", "1")
        self.router.set_sysctl("net.ipv6.conf.all.forwarding", "1")


@pytest.fixture(scope="module")
def row() -> Iterator[Row]:
    made = Row()
    listening = made.far.call(
        lambda: socket.create_server(
            ("::", OPEN), family=socket.AF_INET6, backlog=4096, dualstack_ipv6=True
        )
    )
    server = Server(None, 5860, netns=made.far.path)
    with listening:
        yield made
    server.stop()


def probe(row: Row, targets: list[dict[str, Any]], seconds: float, **options: Any) -> Any:
    """Return what was found of each target after some time, by name."""
    whole = [{"port": None, "hops": None, **target} for target in targets]
    echoes = Echoes(whole, netns=row.near.path, **options)
    time.sleep(seconds)
    echoes.stop()
    polled = {state["name"]: state for state in echoes.poll()}
    return {of["name"]: {**polled[of["name"]], **of} for of in echoes.take()}


def round_trips_s(found: Any) -> Any:
    answered = found["received_ns"] != MISSING
    return (found["received_ns"] - found["sent_ns"])[answered] * 1e-9


@pytest.mark.parametrize("ipv6", [False, True])
@judged_when_punctual
def test_every_method_finds_round_trips_of_its_host(row, ipv6):
    host, router = (HOST6, ROUTER6) if ipv6 else (HOST, ROUTER)
    targets = [{"name": name, "host": host, **of} for name, of in METHODS.items()]
    before = time.monotonic_ns()
    found = probe(row, targets, 2.5)
    after = time.monotonic_ns()
    for name, of in found.items():
        assert of["failed"] is None
        assert of["refused"] == 0, of["refusal"]
        slow = METHODS[name]["method"] in ("udp", "hop")
        # Half as many as there would be: other work may keep the thread from its processor.
        assert len(of["sent_ns"]) >= (2 if slow else 25), name
        assert len(of["sent_ns"]) <= (3 if slow else 51), name
        times = round_trips_s(of)
        assert len(times) >= len(of["sent_ns"]) - 1, name
        assert of["answered"] == len(times)
        # Two kernels and a veth pair: microseconds, and on a busy machine far more now and then.
        assert times.min() > 0
        assert np.median(times) < 0.02, name
        assert before < of["sent_ns"][0] < of["sent_ns"][-1] < after
        assert of["answered_by"] == (router if name == "first hop" else host)
        assert of["address"] == host
        assert of["from_host"] == (name in ("second hop", "closed port", "one closed port"))
        assert not any(of["ignored"].values()), (name, of["ignored"])
        # RST is seen by the program, everything else is stamped by the kernel, once it has begun to.
        if name != "refuses":
            assert of["timed_by_program"] <= 4, name


@judged_when_punctual
def test_probes_are_as_far_apart_as_was_asked_and_take_turns(row):
    targets = [{"name": str(n), "host": HOST, "method": "icmp"} for n in range(4)]
    turns = []
    for _ in range(3):
        found = probe(row, targets, 0.5, interval_s=0.02)
        sent = [of["sent_ns"] for of in found.values()]
        # Of most probes: one may leave late on a busy machine.
        assert all(np.quantile(np.diff(of), 0.1) >= 0.01e9 for of in sent)
        assert all(np.median(np.diff(of)) == pytest.approx(0.02e9, rel=0.05) for of in sent)
        turns.append(_apart(sent))
    # The first probe of a target, too, may be late.
    assert np.median(turns, axis=0) == pytest.approx([0.005e9] * 3, rel=0.3)


def _apart(sent):
    """Return the times from target to target, as long as no target has had a late probe.

    After a probe that was late all of its target's probes are so much later: delays add up.
    """
    late = [np.abs(of - of[0] - 0.02e9 * np.arange(len(of))) > 0.5e6 for of in sent]
    rounds = min(int(np.argmax(np.append(of, True))) for of in late)
    return np.median(np.diff([of[:rounds] for of in sent], axis=0), axis=1)


@judged_when_punctual
def test_a_target_that_cannot_be_probed_says_why_and_the_others_go_on(row):
    ip(row.near, "route", "add", "unreachable", "198.51.100.0/24")
    targets = [
        {"name": "good", "host": HOST, "method": "icmp"},
        {"name": "name", "host": "no-such-host.invalid", "method": "icmp"},
        {"name": "route", "host": "198.51.100.1", "method": "udp"},
        {"name": "connection", "host": "198.51.100.1", "method": "tcp", "port": 80},
    ]
    found = probe(row, targets, 0.3)
    assert found["good"]["failed"] is None
    assert found["good"]["answered"] > 0
    assert "cannot resolve no-such-host.invalid" in found["name"]["failed"]
    for name in ("route", "connection"):
        assert "cannot reach 198.51.100.1" in found[name]["failed"]
        assert found[name]["sent"] == len(found[name]["sent_ns"]) == 0
    with pytest.raises(NativeError, match=r"no target can be probed: a: .*; b: cannot reach"):
        Echoes(
            [{**targets[1], "name": "a"}, {**targets[2], "name": "b"}],  # type: ignore[list-item]
            netns=row.near.path,
        )


@pytest.mark.parametrize(
    "target",
    [
        {"host": "203.0.113.1", "method": "icmp"},
        {"host": "203.0.113.1", "method": "tcp", "port": 80},
        {"host": "203.0.113.1", "method": "udp"},
        {"host": HOST, "method": "server", "port": SHUT},
    ],
    ids=lambda target: target["method"],
)
@judged_when_punctual
def test_an_error_that_is_not_the_methods_answer_is_none(target):
    row = Row()  # Another one's router would have sent its errors of this second already.
    ip(row.router, "route", "add", "prohibit", "203.0.113.1")
    found = probe(row, [{"name": "t", **target}], 0.5)["t"]
    assert found["sent"] > 0
    assert found["answered"] == 0
    assert found["ignored"]["unreachable"] > 0
    assert found["failed"] is None


@judged_when_punctual
def test_few_connections_are_in_the_making_where_nobody_answers(row):
    ip(row.router, "route", "add", "blackhole", "203.0.113.3")
    target = {"name": "t", "host": "203.0.113.3", "method": "tcp", "port": 80}
    found = probe(row, [target], 0.6, interval_s=0.02)["t"]
    assert (found["sent"], found["answered"]) == (8, 0)
    assert found["skipped"] >= 8
    assert not any(found["ignored"].values())


@pytest.mark.parametrize(("host", "router"), [(HOST, ROUTER), (HOST6, ROUTER6)])
def test_the_first_hops_are_the_router_and_the_host(row, host, router):
    hops = first_hops(host, netns=row.near.path)
    found = [(of["hop"], of["address"], of["is_host"]) for of in hops]
    assert found == [(1, router, False), (2, host, True)]
    assert all(0 < of["round_trip_s"] < 0.5 for of in hops)
    assert len(first_hops(host, most=1, netns=row.near.path)) == 1


@judged_when_punctual
def test_hops_that_do_not_answer_are_listed_without_an_address(row):
    ip(row.router, "route", "add", "blackhole", "203.0.113.2")
    began = time.monotonic()
    hops = first_hops("203.0.113.2", most=3, timeout_s=0.3, netns=row.near.path)
    assert 0.6 <= time.monotonic() - began < 3
    assert [of["address"] for of in hops] in ([ROUTER, None, None], [None] * 3)


ALONE = """
import json, sys, time
from airqueue._native import Echoes, NativeError
targets = [
    {"name": method + host, "host": host, "method": method, "port": None, "hops": 1}
    for method in ("icmp", "hop")
    for host in sys.argv[1:]
]
try:
    echoes = Echoes(targets)
    time.sleep(3.0)
    print(json.dumps(echoes.poll()))
except NativeError as error:
    print(json.dumps(str(error)))
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv of util-linux")
def test_icmp_without_rights_is_allowed_by_a_setting_and_else_the_error_names_it():
    row = Row()  # A new namespace allows no group.
    without = ("setpriv", "--bounding-set=-net_raw,-net_admin", "--inh-caps=-net_raw,-net_admin")
    command = (*without, sys.executable, "-c", ALONE, HOST, HOST6)

    def run() -> Any:
        done = row.near.run(command)
        assert done.returncode == 0, done.stderr
        return {state["name"]: state for state in json.loads(done.stdout)}

    for name, state in run().items():
        if name.startswith("hop"):
            assert state["answered"] > 0, "ICMP errors need no rights"
        else:
            assert "sysctl -w net.ipv4.ping_group_range" in state["failed"]
    row.near.set_sysctl("net.ipv4.ping_group_range", "0 0")
    assert all(state["answered"] > 0 and not state["failed"] for state in run().values())


@pytest.mark.parametrize(
    ("targets", "options", "says"),
    [
        ([], {}, "0 targets were given: give 1 to 16"),
        ([{"name": str(n)} for n in range(17)], {}, "17 targets were given"),
        ([{}, {}], {}, "two targets are called"),
        ([{"host": None}], {}, "a target lacks `host`"),
        ([{"host": ""}], {}, "cannot resolve : it is empty"),
        ([{"method": "smoke"}], {}, "give icmp, hop, udp, tcp or server"),
        ([{"method": "hop"}], {}, "lacks `hops`"),
        ([{"method": "hop", "hops": 0}], {}, 'hops of "t" is 0'),
        ([{"method": "hop", "hops": 256}], {}, "a target's `hops` is 256: give a number"),
        ([{"method": "tcp"}], {}, "lacks `port`"),
        ([{"method": "tcp", "port": 0}], {}, 'the port of "t" is 0'),
        ([{"method": "tcp", "port": "http"}], {}, "a target's `port` is http: give a port"),
        ([{"hop": 3}], {}, 'a target has no "hop"'),
        ([{}], {"interval_s": 0.0}, "the interval is 0 s: give 0.001 to 60 s"),
        ([{}], {"interval_s": float("nan")}, "interval_s is NaN"),
        ([{}], {"netns": "/no/such"}, "cannot enter the network namespace /no/such"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(targets, options, says):
    default = {"name": "t", "host": "127.0.0.1", "method": "udp"}
    with pytest.raises(NativeError) as raised:
        Echoes([{**default, **of} for of in targets], **options)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"most": 0}, "0 hops were asked for: ask for 1 to 16"),
        ({"timeout_s": 0.0}, "the timeout is 0 s"),
        ({"timeout_s": 1e9}, "at most 10 s"),
        ({"netns": "/no/such"}, "/no/such"),
    ],
)
def test_hops_that_cannot_be_asked_for_are_one_sentence(options, says):
    with pytest.raises(NativeError, match=says):
        first_hops("127.0.0.1", **options)


def test_replies_from_strangers_are_counted_and_change_nothing(row):
    """Copies of each challenge, damaged ones, and other bytes: as a hostile server would send."""
    with closing(row.far.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))) as hostile:
        hostile.bind((HOST, 5999))
        hostile.settimeout(60)
        target = {"name": "t", "host": HOST, "method": "server", "port": 5999}
        echoes = Echoes([{"hops": None, **target}], interval_s=0.01, netns=row.near.path)  # type: ignore[typeddict-item]
        answered = 0
        while answered < 20:
            hello, sender = hostile.recvfrom(200)
            assert len(hello) == 96
            right = hello[:5] + b"\x02\x00\x00" + hello[8:16] + bytes(20)
            wrong = right[:12] + bytes(4) + right[16:]
            for answer in (b"", right[:35], wrong, hello, right, right):
                hostile.sendto(answer, sender)
            answered += 1
        end = time.monotonic() + 60
        while echoes.poll()[0]["answered"] < 20 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.2)  # for the copy that follows the last answer
        echoes.stop()
    (found,) = echoes.take()
    assert np.count_nonzero(found["received_ns"] != MISSING) == 20
    # hello is a message of ours that is none of a server: no challenge at all.
    assert found["ignored"] == {
        "malformed": 60,
        "foreign": 20,
        "duplicate": 20,
        "late": 0,
        "unreachable": 0,
        "ambiguous": 0,
    }
