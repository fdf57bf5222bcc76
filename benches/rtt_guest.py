"""Inside user-mode Linux: connections over known delays through a router that listens.

The first process of `rtt_linux.py`'s machine. Between server and router, and between router and
station, a namespace of its own delays packets with netem, half of the half's round trip in each
direction. Each kind of application has two connections: one begins before anybody listens, one after.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from airqueue.linux.virtual import first_process
from guest import feed, in_child, inside, ip, quietly, run, tc

MODULES = ("drivers/net/veth", "net/sched/sch_netem", "net/sched/sch_tbf")
PORT = 5001
LISTEN_S, LATER_S = 3.0, 4.0
"""When the taps begin, and when the second connections do."""
CLAMP_BYTES = 8 * 1448
"""Window of the connections that always have data: they fill no queue."""
PAGE_BYTES, REQUEST_BYTES = 30_000, 300
LINKS = (("server", "far", 1), ("far", "router", 3), ("router", "near", 4), ("near", "station", 2))
"""From the server to the station, with the net between the two."""
DEVICES = {("router", 3): "wan", ("router", 4): "lan"}
ADDRESS = "10.1.0.2"


def wire(task: Any) -> None:
    """Five namespaces in a row, and the delays."""
    Path("/run/netns").mkdir(exist_ok=True)
    for name in ("server", "far", "router", "near", "station"):
        ip(f"netns add {name}")
    for left, right, net in LINKS:
        ends = [(where, DEVICES.get((where, net), f"to{net}")) for where in (left, right)]
        (here, device), (there, other) = ends
        ip(f"link add {device} netns {here} type veth peer name {other} netns {there}")
        # The server is 10.1.0.2, the station 10.2.0.2.
        last = (2, 1) if left in ("server", "router") else (1, 2)
        for (where, of), number in zip(ends, last, strict=True):
            ip(f"-n {where} addr add 10.{net}.0.{number}/24 dev {of}")
            ip(f"-n {where} link set {of} up")
            # Packets of their own, as cards of routers hand over.
            run("ip", "netns", "exec", where, "ethtool", "-K", of, "tso", "off", "gso", "off")
    for where, net, via in (
        *(("server", 2, "10.1.0.1"), ("far", 2, "10.3.0.2"), ("router", 1, "10.3.0.1")),
        *(("router", 2, "10.4.0.1"), ("near", 1, "10.4.0.2"), ("station", 1, "10.2.0.1")),
    ):
        ip(f"-n {where} route add 10.{net}.0.0/24 via {via}")
    for where in ("far", "router", "near"):
        run("ip", "netns", "exec", where, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    for where in ("server", "station"):
        word = f"net.ipv4.tcp_timestamps={int(task['timestamps'])}"
        run("ip", "netns", "exec", where, "sysctl", "-qw", word)
    for where, devices, half_ms in (
        ("far", ("to1", "to3"), task["far_ms"]),
        ("near", ("to4", "to2"), task["near_ms"]),
    ):
        for device in devices:
            tc(where, f"qdisc add dev {device} root netem limit 10000 {netem(task, half_ms / 2)}")
    if task["queue"]:
        tc("router", "qdisc add dev lan root handle 1: tbf rate 5mbit burst 3028 limit 9000000")
        tc("router", "qdisc add dev lan parent 1:1 handle 2: pfifo limit 50")


def netem(task: Any, delay_ms: float) -> str:
    """The delay; with losses also up to ``jitter_ms`` more, which changes the order of packets."""
    if not task["loss"]:
        return f"delay {delay_ms}ms"
    jitter_ms = task["jitter_ms"] / 2
    return f"delay {delay_ms + jitter_ms}ms {jitter_ms}ms loss {100 * task['loss']}%"


def say_now_and_then(connection: socket.socket, draw: random.Random) -> None:
    """Send a few packets, and pause, until the connection ends."""
    while True:
        connection.sendall(bytes(draw.randint(500, 8000)))
        time.sleep(draw.uniform(0.1, 3.0))


def serve(kind: str, connection: socket.socket, draw: random.Random) -> None:
    """The server's side of a connection."""
    if kind in ("download", "queued download"):
        feed(connection)
    if kind == "pushes":
        say_now_and_then(connection, draw)
    while data := connection.recv(65536):
        if kind == "pages" and data.endswith(b"\n"):
            time.sleep(draw.uniform(0.0, 0.1))
            connection.sendall(bytes(PAGE_BYTES))


def use(kind: str, connection: socket.socket, draw: random.Random) -> None:
    """The station's side."""
    if kind == "upload":
        feed(connection)
    if kind == "posts":
        say_now_and_then(connection, draw)
    if kind != "pages":
        while connection.recv(65536):
            pass
        return
    while True:
        connection.sendall(bytes(REQUEST_BYTES - 1) + b"\n")
        left = PAGE_BYTES
        while left > 0:
            left -= len(connection.recv(left))
        time.sleep(draw.expovariate(2.0))


def clamp(kind: str, end: socket.socket) -> None:
    if kind in ("download", "upload"):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, CLAMP_BYTES)


def listen(kinds: list[str], seed: int) -> None:
    """All listeners of the server, two ports for each kind."""
    for number in range(2 * len(kinds)):
        kind = kinds[number // 2]
        listening = socket.create_server((ADDRESS, PORT + number))
        clamp(kind, listening)

        def accept(of: str = kind, at: socket.socket = listening, which: int = number) -> None:
            serve(of, at.accept()[0], random.Random(f"server {seed} {which}"))

        quietly(accept)
    signal.pause()


def connect(kinds: list[str], seed: int, *, later: bool) -> None:
    for at, kind in enumerate(kinds):
        number = 2 * at + later

        def go(of: str = kind, which: int = number) -> None:
            connection = socket.socket()
            clamp(of, connection)
            connection.connect((ADDRESS, PORT + which))
            use(of, connection, random.Random(f"station {seed} {which}"))

        quietly(go)


def station(task: Any) -> None:
    connect(task["kinds"], task["seed"], later=False)
    time.sleep(LATER_S)
    connect(task["kinds"], task["seed"], later=True)
    signal.pause()


def work() -> int:
    task = json.loads((first_process.FOLDER / "task.json").read_text("utf-8"))
    wire(task)
    processes = [inside("server", listen, task["kinds"], task["seed"])]
    time.sleep(0.5)
    processes.append(inside("station", station, task))
    time.sleep(LISTEN_S)
    taps = []
    for interface in ("lan", "wan"):
        words = (os.environ["AIRQUEUED"], "flows", interface, "--json", "--all")
        command = ("ip", "netns", "exec", "router", *words, "--count", str(task["seconds"]))
        file = (first_process.FOLDER / f"{interface}.json").open("wb")
        taps.append(subprocess.Popen(command, stdout=file))
    ends = [tap.wait() for tap in taps]
    for process in processes:
        os.kill(process, signal.SIGKILL)
    return max(ends)


if __name__ == "__main__":
    first_process.first_process(MODULES, lambda: in_child(work))
