"""The server of `edca_linux.py` behind Ethernet, where `airqueued flows` counts its downloads.

A real host of an exact run has a TUN device, whose packets have no Ethernet header. The server's
address therefore moves into a network namespace, joined to the host by a veth pair; what leaves there
goes to stations. The argument is a JSON object: ``ends`` is the task of `edca_ends.py`,
``airqueued`` the program, ``looks`` the file for what it tells, and ``count`` how often.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # it is run with -I
from rdqm_router import AIR, HOST, entering, run, space


def wire(server: int, stations: list[str]) -> None:
    """Put the server with its address behind the host, which forwards."""
    shown = json.loads(run(f"ip -json -4 addr show dev {AIR}"))[0]["addr_info"][0]
    own, length = shown["local"], shown["prefixlen"]
    run(f"ip addr del {own}/{length} dev {AIR}")
    run(f"ip link add below type veth peer name eth netns {server}")
    for line in (
        f"ip addr add {HOST}/32 dev below",
        "ip link set below up",
        f"ip route add {own} dev below",
        *(f"ip route add {station} dev {AIR}" for station in stations),
        "sysctl -qw net.ipv4.ip_forward=1",
    ):
        run(line)
    for line in (
        f"ip addr add {own}/32 dev eth",
        "ip link set eth up",
        f"ip route add {HOST} dev eth",
        f"ip route add default via {HOST} dev eth",
        # Packets cross the emulated network one by one.
        "ethtool -K eth tso off gso off gro off",
    ):
        run(line, server)


def main() -> None:
    """Do the server's part, and count until it is over."""
    task = json.loads(sys.argv[1])
    ends = task["ends"]
    stations = {name: socket.gethostbyname(name) for name in task["stations"]}
    for each in ends["send"]:
        each["address"] = stations[each["address"]]
    server = space(signal.pause)
    wire(server, sorted(set(stations.values())))
    program = str(Path(__file__).with_name("edca_ends.py"))
    counts = [task["airqueued"], "flows", "eth", "--json", "--count", str(task["count"])]
    with Path(task["looks"]).open("w", encoding="ascii") as looks:
        counting = subprocess.Popen([*entering(server), *counts], stdout=looks)
        served = subprocess.run(
            [*entering(server), sys.executable, "-I", "-S", program, json.dumps(ends)], check=False
        )
        counting.terminate()
        counting.wait()
    os.kill(server, signal.SIGKILL)
    sys.exit(served.returncode)


if __name__ == "__main__":
    main()
