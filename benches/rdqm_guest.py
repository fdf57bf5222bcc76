"""Inside user-mode Linux: six downloads of six delays through a router's queue.

The first process of `rdqm_linux.py`'s machine.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from airqueue.linux.virtual import first_process
from guest import feed, in_child, inside, ip, quietly, run, tc

MODULES = (
    "drivers/net/veth",
    "net/sched/cls_u32",
    *(f"net/sched/sch_{name}" for name in ("fq_codel", "htb", "netem", "prio", "tbf")),
)
PORT = 5001
WARM_S = 20.0


def wire(delays_ms: list[float]) -> None:
    """A server, a router, and a station with an address for each delay of its packets."""
    Path("/run/netns").mkdir(exist_ok=True)
    for name in ("server", "router", "station"):
        ip(f"netns add {name}")
    ip("link add wan netns router type veth peer name eth netns server")
    ip("link add lan netns router type veth peer name eth netns station")
    ip("-n router addr add 10.1.0.1/24 dev wan")
    ip("-n router addr add 10.2.0.1/24 dev lan")
    ip("-n server addr add 10.1.0.2/24 dev eth")
    for number in range(len(delays_ms)):
        ip(f"-n station addr add 10.2.0.{10 + number}/24 dev eth")
    for name, device in (
        ("server", "eth"),
        ("station", "eth"),
        ("router", "wan"),
        ("router", "lan"),
    ):
        ip(f"-n {name} link set {device} up")
    ip("-n server route add default via 10.1.0.1")
    ip("-n station route add default via 10.2.0.1")
    run("ip", "netns", "exec", "router", "sysctl", "-qw", "net.ipv4.ip_forward=1")
    # Merged packets would be one for a limit in packets, as many as fit into a token bucket's burst.
    run("ip", "netns", "exec", "server", "ethtool", "-K", "eth", "tso", "off", "gso", "off")
    tc("station", f"qdisc add dev eth root handle 1: prio bands {len(delays_ms) + 1}")
    for number, delay_ms in enumerate(delays_ms, 1):
        tc("station", f"qdisc add dev eth parent 1:{number} netem delay {delay_ms}ms limit 10000")
        chosen = f"match ip src 10.2.0.{9 + number}/32 flowid 1:{number}"
        tc("station", f"filter add dev eth parent 1: protocol ip prio 1 u32 {chosen}")


def queue(task: Any) -> subprocess.Popen[bytes] | None:
    """Give the router its queue towards the station; the service of RDQM is returned."""
    rate, packets = task["rate_bps"], task["packets"]
    if task["queue"] != "rdqm":
        # The token bucket's own bytes are two packets.
        tc(
            "router",
            f"qdisc add dev lan root handle 1: tbf rate {rate}bit burst 3028 limit 9000000",
        )
        below = {"fifo": f"pfifo limit {packets}", "fq_codel": "fq_codel noecn"}[task["queue"]]
        tc("router", f"qdisc add dev lan parent 1:1 handle 2: {below}")
        return None
    stations = "".join(
        f'[[rdqm.station]]\naddress = "10.2.0.{10 + number}"\nrate = "11 Mb/s"\n'
        for number in range(len(task["delays_ms"]))
    )
    file = Path("/run/rdqm.toml")
    file.write_text(
        'config = 1\n[[rdqm]]\ninterface = "lan"\nuplink = "wan"\nclasses = 8\n'
        f'rate = "{rate / 1000} kb/s"\nbuffer = "{packets} packets"\n{stations}',
        "utf-8",
    )
    words = (os.environ["AIRQUEUED"], "--config", str(file), "--state", "/run/airqueued")
    service = subprocess.Popen(("ip", "netns", "exec", "router", *words))
    time.sleep(1)
    return service


def serve() -> None:
    listening = socket.create_server(("10.1.0.2", PORT))
    while True:
        quietly(feed, listening.accept()[0])


def pull(number: int, wait_s: float, counts: list[int]) -> None:
    """Download until the end; a connection that is refused or reset is tried again."""
    time.sleep(wait_s)
    while True:
        connection = socket.socket()
        connection.bind((f"10.2.0.{10 + number}", 0))
        try:
            connection.connect(("10.1.0.2", PORT))
            while data := connection.recv(1 << 18):
                counts[number] += len(data)
        except OSError:
            time.sleep(1)


def download(task: Any) -> None:
    """Download at all addresses, and write each flow's rate after the beginning."""
    draw = random.Random(task["seed"])
    counts = [0] * len(task["delays_ms"])
    for number in range(len(counts)):
        arguments = (number, draw.uniform(0, 5), counts)
        threading.Thread(target=pull, args=arguments, daemon=True).start()
    time.sleep(WARM_S)
    before, began = list(counts), time.monotonic()
    time.sleep(task["seconds"])
    elapsed_s = time.monotonic() - began
    rates = [(now - then) * 8 / elapsed_s for now, then in zip(counts, before, strict=True)]
    (first_process.FOLDER / "rates.json").write_text(json.dumps(rates), "utf-8")


def work() -> int:
    task = json.loads((first_process.FOLDER / "task.json").read_text("utf-8"))
    Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(task["congestion"], "ascii")
    wire(task["delays_ms"])
    service = queue(task)
    server = inside("server", serve)
    time.sleep(0.5)
    os.waitpid(inside("station", download, task), 0)
    os.kill(server, signal.SIGKILL)
    if service is not None:
        service.terminate()
        service.wait()
    return 0


def main() -> None:
    """Boot, work, switch off."""
    first_process.first_process(MODULES, lambda: in_child(work))


if __name__ == "__main__":
    main()
