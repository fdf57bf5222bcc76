"""Inside user-mode Linux: cake at an interface, filled by a sender, and what `airqueued` says of it.

The first process of `test_obeys_cake.py`'s machine. `plan.json` of the folder is applied; the result
is `said.json`: for each command its exit code and what it printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path

from airqueue.linux.virtual import first_process

MODULES = ("drivers/net/veth", "net/sched/sch_cake")
PACKET = bytes(1200)
SETUP = """
ip link add va type veth peer name vb
ip link set va up
ip link set vb up
ip address add 10.7.0.1/24 dev va
ip neighbour replace 10.7.0.2 lladdr 02:00:00:00:00:07 dev va
"""


def run(line: str) -> None:
    subprocess.run(line.split(), check=True)


def flood(stop: threading.Event) -> None:
    """Packets to nobody, faster than the shaper."""
    import socket  # noqa: PLC0415 - only the sender needs it

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        # The queue, and not the sender's socket, is to be full.
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        sending.setblocking(False)
        while not stop.wait(0.002):
            try:
                sending.sendto(PACKET, ("10.7.0.2", 9))
            except BlockingIOError:
                continue


def work() -> int:
    first_process.make_writable()
    for line in SETUP.strip().splitlines():
        run(line)
    state = Path("/run/airqueued-state")
    said = {}

    def airqueued(name: str, *words: str) -> None:
        done = subprocess.run(
            [os.environ["AIRQUEUED"], *words], capture_output=True, text=True, check=False
        )
        said[name] = {"code": done.returncode, "text": done.stdout + done.stderr}

    plan = ("apply", str(first_process.FOLDER / "plan.json"), "--confirm", "600s")
    kept = ("--state", str(state))
    airqueued("silent", *plan, "--look", "1s", *kept)
    airqueued("restored", "restore", *kept)
    stop = threading.Event()
    threading.Thread(target=flood, args=(stop,), daemon=True).start()
    airqueued("applied", *plan, "--look", "4s", *kept)
    airqueued("later", "obeys", "va", "--for", "2s", "--json")
    run("tc qdisc change dev va root cake memlimit 16000")
    airqueued("lowered", "obeys", "va", "--for", "1s", "--json")
    stop.set()
    (first_process.FOLDER / "said.json").write_text(json.dumps(said), "utf-8")
    return 0


def main() -> None:
    if first_process.in_child(work) != 0:
        raise RuntimeError("the work failed")


if __name__ == "__main__":
    first_process.first_process(MODULES, main)
