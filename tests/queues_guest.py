"""Inside user-mode Linux: plans of airqueued over, and to, every discipline that it can put back.

The first process of `test_airqueued.py`'s machine.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from airqueue.linux.virtual import first_process

MODULES = (
    "drivers/net/veth",
    *(
        f"net/sched/sch_{name}"
        for name in ("cake", "codel", "drr", "fq", "fq_codel", "htb", "pie", "sfq", "tbf")
    ),
)
STATE = "/run/airqueued"

PLANS: dict[str, Any] = {
    "fq_codel": {"fq_codel": {"target_us": 7000, "interval_us": 140_000, "limit_packets": 600}},
    "fq_codel as it is": {"fq_codel": {}},
    "fq_codel without ecn": {
        "fq_codel": {"flows": 64, "quantum_bytes": 300, "memory_limit_bytes": 4 << 20, "ecn": False}
    },
    "cake": {
        "cake": {
            "rate_bps": 20_000_000,
            "rtt_us": 50_000,
            "isolation": "dual_dsthost",
            "tins": "diffserv4",
            "overhead_bytes": 18,
            "memory_limit_bytes": 1 << 20,
            "nat": True,
            "ack_filter": True,
        }
    },
    "cake as it is": {"cake": {}},
    "tbf above fq_codel": {
        "shaped": {"rate_bps": 8_000_000, "below": {"fq_codel": {"target_us": 5000}}}
    },
    "htb above cake": {"shaped": {"by": "htb", "rate_bps": 8_000_000, "below": {"cake": {}}}},
}
"""Queues of plans."""

TREES: dict[str, tuple[str, ...]] = {
    "fq_codel": (
        "qdisc add dev va root handle 1: fq_codel limit 1000 target 20ms interval 333ms"
        " ce_threshold 3ms memory_limit 1Mb flows 99 noecn quantum 400 drop_batch 7",
    ),
    "codel": ("qdisc add dev va root handle 1: codel limit 77 target 4999us interval 33ms ecn",),
    "cake": (
        "qdisc add dev va root handle 1: cake bandwidth 7mbit diffserv8 dual-srchost nat wash"
        " ingress ack-filter-aggressive split-gso rtt 33ms overhead 44 mpu 84 atm memlimit 2Mb",
    ),
    "cake without a rate": ("qdisc add dev va root cake",),
    "sfq": ("qdisc add dev va root handle 1: sfq perturb 10 quantum 3000 limit 99 depth 33",),
    "fq": (
        "qdisc add dev va root handle 1: fq limit 500 flow_limit 50 quantum 3000 maxrate 9mbit",
    ),
    "drr": (
        "qdisc add dev va root handle 1: drr",
        "class add dev va parent 1: classid 1:1 drr quantum 1500",
        "class add dev va parent 1: classid 1:2 drr quantum 3000",
        "qdisc add dev va parent 1:2 handle 2: fq_codel",
    ),
    "htb": (
        "qdisc add dev va root handle 1: htb default 2 r2q 5",
        "class add dev va parent 1: classid 1:1 htb rate 9mbit burst 20k",
        "class add dev va parent 1:1 classid 1:2 htb rate 3333kbit ceil 9mbit prio 1",
        "qdisc add dev va parent 1:2 handle 2: cake",
    ),
    "mq": ("qdisc add dev va root handle 1: mq", "qdisc add dev va parent 1:1 handle 2: fq_codel"),
}
"""What somebody may have set before the first plan, in tc's words."""


def run(*command: str) -> str:
    """Run a command, and return what it prints; an error has what it complained about."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def shown() -> list[Any]:
    """Everything that tc tells, counters left out."""
    told = json.loads(run("tc", "-j", "qdisc", "show", "dev", "va"))
    for each in told:
        each.pop("refcnt", None)
        each.get("options", {}).pop("direct_packets_stat", None)
    # tc has no JSON for classes.
    classes = run("tc", "class", "show", "dev", "va").splitlines()
    return [*sorted(told, key=json.dumps), *sorted(classes)]


def airqueued(*arguments: str) -> Any:
    """Run the binary, and return what it prints as JSON."""
    program = os.environ["AIRQUEUED"]
    return json.loads(run(program, *arguments, "--json", "--state", STATE))


def plan(queue: Any) -> None:
    """Write a plan of one queue."""
    item = {"why": "a test", "set": {"queue": {"interface": "va", "queue": queue}}}
    text = json.dumps({"plan": 1, "made_by": "a test", "settings": [item]})
    Path("/run/plan.json").write_text(text, encoding="utf-8")


def apply(queue: Any) -> Any:
    """Apply a plan of one queue, and confirm it."""
    plan(queue)
    applied = airqueued("apply", "/run/plan.json", "--confirm", "60s")
    airqueued("confirm")
    return applied["settings"][0]["to"]


def work() -> int:
    """Do everything, and write what was found."""
    run("ip", "link", "add", "va", "numtxqueues", "2", "type", "veth", "peer", "name", "vb")
    run("ip", "link", "set", "va", "up")
    run("ip", "link", "set", "vb", "up")
    found: dict[str, Any] = {"plans": {}, "trees": {}}
    for name, queue in PLANS.items():
        before = shown()
        words, during = apply(queue), shown()
        again = airqueued("apply", "/run/plan.json", "--dry-run")["settings"][0]["already"]
        airqueued("restore")
        found["plans"][name] = {
            "words": words,
            "during": during,
            "already": again,
            "restored": shown() == before,
        }
    for name, commands in TREES.items():
        for command in commands:
            run("tc", *command.split())
        before = shown()
        # Twice, since a small error of each way would add up.
        for _ in range(2):
            apply({"fifo": {"limit_packets": 100}})
            assert shown() != before
            airqueued("restore")
        found["trees"][name] = {"before": before, "after": shown()}
        run("tc", "qdisc", "del", "dev", "va", "root")
    run("tc", "qdisc", "add", "dev", "va", "root", "pie")
    command = (os.environ["AIRQUEUED"], "apply", "/run/plan.json", "--dry-run", "--state", STATE)
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    found["refused"] = [refused.returncode, refused.stderr]
    (first_process.FOLDER / "found.json").write_text(json.dumps(found), encoding="utf-8")
    return 0


def main() -> None:
    """Boot, work, switch off."""
    first_process.first_process(MODULES, in_child)


def in_child() -> None:
    """The first process reaps guards that lost their parents."""
    if first_process.in_child(work) != 0:
        raise RuntimeError("the work failed")


if __name__ == "__main__":
    main()
