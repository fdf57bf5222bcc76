"""At one real host of `rdqm_rates.py`: a router of the kernel, and a server behind the router.

The argument is a JSON object: ``shaper`` names what the router does with what goes to the stations
(nothing, a shaper over ``fq_codel``, or the service of RDQM), and ``flows`` has the name, the
delay and the rate of each station. The server takes the host's address: flows of the
emulated network are those of the server.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

AIR = "airqueue0"
"""The host's device in the emulated network."""
LAN, WIRE = "lan", "wan"
"""The router's: towards the stations, and towards the server."""
HOST, ROUTER = "169.254.1.1", "169.254.1.2"
PORT = 5001
_CHUNK = bytes(1 << 16)
_CLONE_NEWNET = 0x40000000


def run(line: str, at: int | None = None) -> str:
    """Run a command, in the namespace of a process; return what it prints."""
    prefix = [] if at is None else entering(at)
    done = subprocess.run([*prefix, *line.split()], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{line} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def entering(process: int) -> list[str]:
    """A command in front of others that are to run in the network namespace of a process."""
    return ["nsenter", f"--net=/proc/{process}/ns/net"]


def space(work: Callable[[], None]) -> int:
    """Do something in a process with a network namespace of its own."""
    ready, told = os.pipe()
    process = os.fork()
    if process == 0:
        # os.unshare is in Python 3.12 and later.
        if ctypes.CDLL(None).unshare(_CLONE_NEWNET) == 0:
            os.write(told, b"1")
            work()
        os._exit(1)
    os.close(told)
    if not os.read(ready, 1):
        raise SystemExit("there is no network namespace to be had")
    return process


def wire(flows: list[dict[str, Any]], router: int, server: int) -> None:
    """Put the router between the host, which keeps its device, and the server with its address."""
    shown = json.loads(run(f"ip -json -4 addr show dev {AIR}"))[0]["addr_info"][0]
    own, length = shown["local"], shown["prefixlen"]
    run(f"ip addr del {own}/{length} dev {AIR}")
    run(f"ip link add below type veth peer name {LAN} netns {router}")
    run(f"ip link add {WIRE} netns {router} type veth peer name eth netns {server}")
    for number in (None, router, server):
        run("ip link set lo up", number)
    for line in (
        f"ip addr add {HOST}/32 dev below",
        "ip link set below up",
        f"ip route add {ROUTER} dev below",
        f"ip route add {own} via {ROUTER} dev below",
        "sysctl -qw net.ipv4.ip_forward=1",
    ):
        run(line)
    for line in (
        f"ip addr add {ROUTER}/32 dev {LAN}",
        f"ip link set {LAN} up",
        f"ip link set {WIRE} up",
        f"ip route add {HOST} dev {LAN}",
        f"ip route add default via {HOST} dev {LAN}",
        f"ip route add {own} dev {WIRE}",
        "sysctl -qw net.ipv4.ip_forward=1",
    ):
        run(line, router)
    for line in (
        f"ip addr add {own}/32 dev eth",
        "ip link set eth up",
        f"ip route add {ROUTER} dev eth",
        f"ip route add default via {ROUTER} dev eth",
        # Merged packets would be one for a limit in packets.
        "ethtool -K eth tso off gso off",
        f"tc qdisc add dev eth root handle 1: prio bands {len(flows) + 1}",
    ):
        run(line, server)
    for number, flow in enumerate(flows, 1):
        run(f"ip route add {flow['address']} dev {AIR}")
        delay = f"netem delay {flow['delay_ms']}ms limit 10000"
        run(f"tc qdisc add dev eth parent 1:{number} {delay}", server)
        chosen = f"u32 match ip dst {flow['address']}/32 flowid 1:{number}"
        run(f"tc filter add dev eth parent 1: protocol ip prio 1 {chosen}", server)


def shape(task: dict[str, Any], router: int) -> subprocess.Popen[bytes] | None:
    """Set what the router does with packets to the stations; the service is returned."""
    if task["shaper"] == "fq_codel":
        # The token bucket's own bytes are two packets.
        limits = f"rate {task['rate_bps']}bit burst 3028 limit 9000000"
        run(f"tc qdisc add dev {LAN} root handle 1: tbf {limits}", router)
        run(f"tc qdisc add dev {LAN} parent 1:1 handle 2: fq_codel noecn", router)
    if task["shaper"] != "rdqm":
        return None
    file = Path(task["folder"], "rdqm.toml")
    stations = "".join(
        f'[[rdqm.station]]\naddress = "{flow["address"]}"\nrate = "{flow["rate_mbps"]} Mb/s"\n'
        for flow in task["flows"]
    )
    file.write_text(
        f'config = 1\n[[rdqm]]\ninterface = "{LAN}"\nuplink = "{WIRE}"\nclasses = 8\n'
        f'rate = "{task["rate_bps"] / 1000} kb/s"\nbuffer = "{task["packets"]} packets"\n{stations}',
        "utf-8",
    )
    words = (task["airqueued"], "--config", str(file), "--state", f"{task['folder']}/state")
    return subprocess.Popen([*entering(router), *words])


def serve() -> None:
    listening = socket.create_server(("", PORT))
    while True:
        threading.Thread(target=feed, args=(listening.accept()[0],), daemon=True).start()


def feed(connection: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection.sendall(_CHUNK)


def main() -> None:
    """Serve and route until the time is over."""
    task = json.loads(sys.argv[1])
    for flow in task["flows"]:
        flow["address"] = socket.gethostbyname(flow["station"])
    server, router = space(serve), space(signal.pause)
    wire(task["flows"], router, server)
    service = shape(task, router)
    time.sleep(task["until_s"])
    if service is not None:
        if service.poll() is not None:
            raise SystemExit(f"the service has ended with {service.returncode}")
        service.terminate()
        service.wait()
    for process in (server, router):
        os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    main()
