"""What `airqueued` costs a router that carries 500 downloads at 100 Mb/s: processor and memory.

Three network namespaces, joined by veth pairs: a server, a router and 50 stations (addresses), ten
connections of the kernel's TCP each. The packets are real and pass one by one. The service on the
router keeps the queue towards the stations; its time of the processor and its memory are those that
the kernel counts for its process. What passes the taps is told by `airqueued flows`, the same code
in a process of its own, after the measurement. There is no radio: what the messages of cfg80211 cost
is in `cargo bench -p airqueued`.

    python benches/router_cost.py [--seconds 60] [--runs 3] [--flows 500] [CASE...]

Needs root, or a user namespace: `make bench-router`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airqueue.linux.netns import Namespace
from airqueue.stats import t_interval

STATIONS: Final = 50
SHAPER_MBPS: Final = 100
STEADY_MBPS: Final = 110
"""Of the shaper where the flows' own rates, with headers, come to 100 Mb/s."""
CLASSES: Final = 200
PACKET_BYTES: Final = 1514
SEGMENT_BYTES: Final = 1448
TARGET_SHARE: Final = 0.02
TARGET_BYTES: Final = 16_000_000
PATIENCE_S: Final = 60.0
SETTLE_S: Final = 15.0
"""From the first connection to the measurement: longer than a change of classes may take."""

SERVER: Final = """
import selectors, socket, sys
pace, data = int(sys.argv[1]), bytes(1 << 14)
ready = selectors.DefaultSelector()
listening = socket.create_server(("", 5001), backlog=4096)
ready.register(listening, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in ready.select():
        if key.fileobj is listening:
            connection = listening.accept()[0]
            connection.setblocking(False)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
            if pace:
                connection.setsockopt(socket.SOL_SOCKET, 47, pace)  # SO_MAX_PACING_RATE
            ready.register(connection, selectors.EVENT_WRITE)
            continue
        try:
            key.fileobj.send(data)
        except BlockingIOError:
            pass
        except OSError:
            ready.unregister(key.fileobj)
            key.fileobj.close()
"""
"""Sends to everybody who connects, at so many byte/s at most (0: as fast as TCP does)."""

STATION: Final = """
import selectors, socket, sys
ready = selectors.DefaultSelector()
for number in range(int(sys.argv[1])):
    station = f"10.2.0.{2 + number % int(sys.argv[2])}"
    connection = socket.create_connection(("10.1.0.2", 5001), source_address=(station, 0))
    connection.setblocking(False)
    ready.register(connection, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in ready.select():
        if not key.fileobj.recv(1 << 18):
            sys.exit("a connection has ended")
"""
"""Connects so many times, from so many addresses, and reads."""


@dataclass(frozen=True, slots=True)
class Case:
    """What the service does, and how the flows send."""

    about: str
    loop: str
    """Its table of the configuration."""
    steady: bool = False
    """Whether each flow sends at its own rate, or as fast as TCP finds."""


def rdqm(mbps: int) -> str:
    """RDQM's table: a buffer in 200 classes, and the rates of 50 stations."""
    table = (
        f'[[rdqm]]\ninterface = "lan"\nuplink = "wan"\nrate = "{mbps} Mb/s"\n'
        f'buffer = "1000 packets"\nclasses = {CLASSES}\n'
    )
    rates = ("11 Mb/s", "54 Mb/s", "150 Mb/s")
    return table + "".join(
        f'[[rdqm.station]]\naddress = "10.2.0.{2 + number}"\nrate = "{rates[number % 3]}"\n'
        for number in range(STATIONS)
    )


ADAPTIVE: Final = (
    'plan = "plan.json"\n[[adaptive]]\ninterface = "lan"\nuplink = "wan"\n'
    f'rate = "{STEADY_MBPS} Mb/s"\n'
)
CASES: Final = {
    "rdqm": Case("RDQM, 200 classes; TCP sends as fast as it can", rdqm(SHAPER_MBPS)),
    "rdqm-steady": Case(
        "RDQM, 200 classes; all flows send at one rate", rdqm(STEADY_MBPS), steady=True
    ),
    "adaptive-steady": Case(
        "APQ's limit of one FIFO; all flows send at one rate", ADAPTIVE, steady=True
    ),
}


def configuration(case: Case, folder: Path) -> Path:
    """Write what the service reads."""
    shaped = {"rate_bps": STEADY_MBPS * 1_000_000, "below": {"fifo": {"limit_packets": 1000}}}
    queue = {"interface": "lan", "queue": {"shaped": shaped}}
    plan = {"plan": 1, "made_by": "bench", "settings": [{"why": "bench", "set": {"queue": queue}}]}
    (folder / "plan.json").write_text(json.dumps(plan), "utf-8")
    file = folder / "airqueued.toml"
    file.write_text(f"config = 1\n{case.loop}", "utf-8")
    return file


def checked(namespace: Namespace, line: str, *, fds: Sequence[int] = ()) -> str:
    """Run a command in a namespace, and return what it prints."""
    done = namespace.run(shlex.split(line), pass_fds=fds)
    if done.returncode:
        raise SystemExit(f"{line} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def network() -> Iterator[tuple[Namespace, Namespace, Namespace]]:
    """The server, the router and the stations, joined."""
    with Namespace("server") as server, Namespace("router") as router, Namespace("sta") as stations:
        for end, device, net in ((server, "wan", 1), (stations, "lan", 2)):
            pair = f"ip link add {device} type veth peer name eth netns {end.path}"
            checked(router, pair, fds=(end.fd,))
            for where, name, host in ((router, device, 1), (end, "eth", 2)):
                where.set_sysctl("net.ipv6.conf.all.disable_ipv6", "1")
                checked(where, f"ip address add 10.{net}.0.{host}/24 dev {name}")
                # Merged packets would be fewer for the taps.
                checked(where, f"ethtool -K {name} tso off gso off gro off")
                checked(where, f"ip link set {name} up")
            checked(end, f"ip route add default via 10.{net}.0.1")
        for number in range(1, STATIONS):
            checked(stations, f"ip address add 10.2.0.{2 + number}/24 dev eth")
        router.set_sysctl("net.ipv4.ip_forward", "1")
        yield server, router, stations


@contextmanager
def started(
    namespace: Namespace, argv: Sequence[str], **more: Any
) -> Iterator[subprocess.Popen[str]]:
    """A program that runs in a namespace until the end of the block."""
    process = namespace.call(lambda: subprocess.Popen(argv, text=True, **more))
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def python(text: str, *arguments: int) -> list[str]:
    return [sys.executable, "-c", text, *map(str, arguments)]


def said_ready(process: subprocess.Popen[str]) -> None:
    """Wait for a program that is ready."""
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        raise SystemExit(f"a program of the bench ended with {process.wait()}")


def processor_s(process: int) -> float:
    """What a process has had of the processor, in its own code and in the kernel's for it."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((of / "schedstat").read_text("ascii").split()[0]) for of in threads) / 1e9


def memory_bytes(process: int) -> dict[str, int]:
    """The most that a process has had, and what it has of its own and shared, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return {
        key: int(found[key].split()[0]) * 1024
        for key in ("VmHWM", "RssAnon", "RssFile", "RssShmem")
    }


def family(service: int, program: Path) -> list[int]:
    """The service, and the guards that stand by."""
    space = Path(f"/proc/{service}/ns/net").readlink()
    found = [service]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            inside = (process / "ns/net").readlink() == space
            same = (process / "exe").readlink() == program
        except OSError:
            continue
        if inside and same and int(process.name) != service:
            found.append(int(process.name))
    return found


def sent(router: Namespace) -> tuple[int, int]:
    """Bytes and packets that the router has sent to the stations."""
    shown = json.loads(checked(router, "ip -statistics -json link show dev lan"))[0]["stats64"][
        "tx"
    ]
    return shown["bytes"], shown["packets"]


def pace_bytes_per_s(flows: int) -> int:
    """Payload of each of so many flows that come to the shaper's rate with their headers."""
    return SHAPER_MBPS * 125_000 * SEGMENT_BYTES // (flows * PACKET_BYTES)


def once(
    case: Case, program: Path, flows: int, seconds: float, settle_s: float = SETTLE_S
) -> dict[str, Any]:
    """A run: what the service took, what passed, and what was seen of that."""
    pace = pace_bytes_per_s(flows) if case.steady else 0
    with tempfile.TemporaryDirectory() as name, network() as (server, router, stations):
        folder = Path(name)
        told = folder / "events"
        command = [str(program), "--config", str(configuration(case, folder)), "--json"]
        with (
            told.open("w") as events,
            started(router, [*command, "--state", str(folder / "state")], stdout=events) as service,
            started(server, python(SERVER, pace), stdout=subprocess.PIPE) as sender,
        ):
            await_event(told, service)
            said_ready(sender)
            downloads = python(STATION, flows, STATIONS)
            with started(stations, downloads, stdout=subprocess.PIPE) as receiver:
                said_ready(receiver)
                time.sleep(settle_s)
                found = measured(router, family(service.pid, program.resolve()), seconds)
                found["seen"] = seen(router, program)
                if any(each.poll() is not None for each in (service, sender, receiver)):
                    raise SystemExit("a program has ended before the measurement had")
            service.send_signal(signal.SIGTERM)
            service.wait(PATIENCE_S)
        lines = [json.loads(line) for line in told.read_text("utf-8").splitlines()]
        found["changes"] = [line["why"] for line in lines if line["event"] == "changed"]
        return found


def await_event(file: Path, service: subprocess.Popen[str]) -> None:
    """Wait until the service has set its settings."""
    until = time.monotonic() + PATIENCE_S
    while not file.read_text("utf-8"):
        if service.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"the service has set nothing; it ended with {service.poll()}")
        time.sleep(0.05)


def measured(router: Namespace, processes: Sequence[int], seconds: float) -> dict[str, Any]:
    """Shares of a processor of the service and its guards, memory, and what passed meanwhile."""
    before, begin, passed = (
        [processor_s(each) for each in processes],
        time.monotonic(),
        sent(router),
    )
    time.sleep(seconds)
    after, took_s, later = (
        [processor_s(each) for each in processes],
        time.monotonic() - begin,
        sent(router),
    )
    share, *guards = ((now - then) / took_s for then, now in zip(before, after, strict=True))
    return {
        "share": share,
        "guards_share": sum(guards),
        "guards": len(guards),
        "memory": memory_bytes(processes[0]),
        "guards_memory": [memory_bytes(each)["VmHWM"] for each in processes[1:]],
        "mbps": (later[0] - passed[0]) * 8e-6 / took_s,
        "packets_per_s": (later[1] - passed[1]) / took_s,
    }


def seen(router: Namespace, program: Path) -> dict[str, Any]:
    """What a tap tells: downloads, their rates, round trips, and packets that passed unseen."""
    look = json.loads(
        checked(router, f"{shlex.quote(str(program))} flows lan --json --count 3").splitlines()[-1]
    )
    return {
        "downloads": look["downloads"],
        "mbps": sum(flow["down_bps"] for flow in look["flows"]) / 1e6,
        "round_trips": sum(flow["station_rtt"]["least_s"] is not None for flow in look["flows"]),
        "lost_packets": look["lost_packets"],
    }


def words(values: Sequence[float], digits: int) -> str:
    """The mean, with its 95 % interval if there is more than one run."""
    found, mean = t_interval(values), sum(values) / len(values)
    if found is None or found.n == 1:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def table(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The runs as a table of Markdown."""
    lines = [
        "| the service | Mb/s | packets a second | active downloads at a look | unseen packets "
        "| % of a core, with guards | memory, MB | of that not shared |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, runs in rows.items():
        most = max(row["memory"]["VmHWM"] for row in runs)
        own = max(row["memory"]["RssAnon"] for row in runs)
        cells = [
            CASES[name].about,
            words([row["mbps"] for row in runs], 1),
            words([row["packets_per_s"] for row in runs], 0),
            words([row["seen"]["downloads"] for row in runs], 0),
            str(max(row["seen"]["lost_packets"] for row in runs)),
            words([100 * (row["share"] + row["guards_share"]) for row in runs], 2),
            f"{most / 1e6:.1f}",
            f"{own / 1e6:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the cases, and print the table. Ends with 1 if a run misses a target."""
    parser = argparse.ArgumentParser(description="What airqueued costs a router with 500 flows.")
    parser.add_argument("case", nargs="*", help=", ".join(CASES))
    parser.add_argument("--seconds", type=float, default=60.0, help="of a run's measurement")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--flows", type=int, default=500)
    parser.add_argument("--airqueued", type=Path, default=Path("target/release/airqueued"))
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    if unknown := set(given.case) - set(CASES):
        parser.error(f"there is no case {min(unknown)}; give one of {', '.join(CASES)}")
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in given.case or CASES:
        for run in range(given.runs):
            found = once(CASES[name], given.airqueued.resolve(), given.flows, given.seconds)
            rows.setdefault(name, []).append(found)
            print(f"{name}, run {run + 1}: {json.dumps(found)}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows), "utf-8")
    print(f"\n{table(rows)}")
    all_runs = [row for runs in rows.values() for row in runs]
    if any(
        row["share"] + row["guards_share"] >= TARGET_SHARE or row["memory"]["VmHWM"] >= TARGET_BYTES
        for row in all_runs
    ):
        raise SystemExit("A run misses the target: below 2 % of a core, and below 16 MB.")


if __name__ == "__main__":
    main()
