"""Transfers between real nodes: the kernel's TCP in a scenario's network, on a virtual clock.

Flows of the scenario that are not of TCP, such as calls, are simulated beside the transfers.

A run of this kind is `airqueue.emulate.exact`: user-mode Linux, equal for equal seeds. The result
names the release of the kernel, which other machines may not have.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, cast

from airqueue.description import Description, FlowTable
from airqueue.runs import Work, kinds
from airqueue.simulate import Results
from airqueue.simulate.reported import as_run

KIND: Final = "kernel-tcp"
PORT: Final = 5001
"""Of the first transfer; each has a port of its own."""
START_S: Final = (0.5, 1.5)
"""Transfers begin at random times between these, when all nodes listen."""
_RUN_OUT_S: Final = 5.0
"""Time after the last mark, for a program that has not ended by itself."""


_TOS: Final = {"bk": 8 << 2, "be": 0, "vi": 34 << 2, "vo": 46 << 2}
"""Access category -> the byte with a DSCP of this category (RFC 8325): CS1, default, AF41, EF."""
_DESCRIBES: Final = ("from", "to", "via", "phy_rate", "rdqm_rtt", "rdqm_rtt_kind")
"""Keys of a flow that also apply to packets of programs."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A connection that always has data, from one real node to another."""

    name: str
    sender: str
    receiver: str
    tos: int = 0
    """The byte with the DSCP of the data."""
    ack_tos: int = 0
    """That of the acknowledgements."""


@dataclass(frozen=True, slots=True)
class Emulation:
    """Exact emulations with several seeds of a scenario whose flows of TCP become real transfers.

    The result is like that of a simulation: figures of connections, and of calls if there are any.
    """

    simulated: Description
    """The scenario with simulated flows. Those of TCP are endless transfers."""
    congestion: str
    """The kernel's word for the congestion control."""
    seeds: int
    warm_up_s: float
    counted_s: float
    weight: float = 30.0
    """Approximate cost of a run in CPU seconds."""

    @property
    def scenario(self) -> Description:
        """The scenario of exact runs: without TCP, and with keys of flows for programs' packets."""
        flows = [flow for each in self.simulated["flows"] for flow in _described(each)]
        # Programs do their own counting: only simulated flows need a warm-up of the network.
        simulated = any(flow["source"] != "external" for flow in flows)
        warm_up = f"{self.warm_up_s:g} s" if simulated else "0 s"
        described: Description = {**self.simulated, "warm_up": warm_up, "flows": flows}
        del described["tcp"]
        return described

    @property
    def transfers(self) -> list[Transfer]:
        """The transfers, with the names of the simulated connections."""
        counts = {
            each["name"]: each["count"]
            for each in (*self.simulated["stations"], *self.simulated.get("hosts", ()))
            if "count" in each
        }
        flows = [flow for flow in self.simulated["flows"] if flow["source"] == "tcp"]
        return [each for flow in flows for each in _transfers(flow, counts)]

    def works(self) -> list[Work]:
        """Return one piece of work for each seed, from 1 on."""
        inputs = {
            "scenario": self.scenario,
            "transfers": [asdict(each) for each in self.transfers],
            "congestion": self.congestion,
            "warm_up_s": self.warm_up_s,
            "counted_s": self.counted_s,
        }
        return [
            Work(KIND, {**inputs, "seed": seed}, self.weight, name="a run of the kernel's TCP")
            for seed in range(1, self.seeds + 1)
        ]

    def outcome(self, figures: list[Any]) -> Results:
        """Return the connections and calls of each run as figures of a replication."""
        runs = {at: as_run(each) for at, each in enumerate(figures)}
        return Results(self.scenario, 1, self.seeds, runs)


def _described(flow: FlowTable) -> list[FlowTable]:
    """Return the flows of packets that are not as all others: of a transfer, or simulated."""
    if flow["source"] != "tcp":
        return [flow]
    keys = {key: value for key, value in flow.items() if key in _DESCRIBES}
    if keys.keys() <= {"from", "to"}:
        return []
    there = {"name": flow["name"], **keys, "source": "external"}
    back = {"name": f"{flow['name']} back", "from": flow["to"], "to": flow["from"]}
    via = {"via": flow["via"][::-1]} if "via" in flow else {}
    return [cast("FlowTable", each) for each in (there, {**back, **via, "source": "external"})]


def _transfers(flow: FlowTable, counts: Mapping[str, int]) -> Iterator[Transfer]:
    """Yield the transfer of a flow, or one for each member of a group at its ends."""
    data = flow.get("category", "be")
    tos = _TOS[data], _TOS[flow.get("ack_category", data)]
    count = next((counts[end] for end in (flow["from"], flow["to"]) if end in counts), None)
    for number in [""] if count is None else [str(at) for at in range(1, count + 1)]:
        sender, receiver = (
            f"{end}{number}" if end in counts else end for end in (flow["from"], flow["to"])
        )
        yield Transfer(f"{flow['name']}{number}", sender, receiver, *tos)


def transfers(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out work of the kind `KIND`.

    Returns ``kernel``, the release; ``connections``: by name ``goodput_bps``, ``rtt_mean_s`` (None
    without acknowledgements), ``mss_bytes``, and the segments sent and sent again; ``calls``: by
    name of a simulated flow, the figures of a call's direction. Raises EmulationError or
    MachineError with one sentence.
    """
    from airqueue.emulate import EmulationError, Order, Program, exact  # noqa: PLC0415 - is slow

    until_s = inputs["warm_up_s"] + inputs["counted_s"]
    with tempfile.TemporaryDirectory(prefix="airqueue-") as name:
        scratch = Path(name)
        tasks = _tasks(inputs, scratch.resolve())
        programs = tuple(Program(node, _command(task)) for node, task in tasks.items())
        done = exact.run(
            inputs["scenario"],
            Order(None, programs, duration_s=until_s + _RUN_OUT_S),
            real=list(tasks),
            seed=inputs["seed"],
            # The papers' kernels had no TCP small queues: a sender fills the queue of its station.
            back_pressure=False,
            scratch=scratch,
            tcp={"tcp_congestion_control": inputs["congestion"]},
        )
        files = [Path(task["result"]) for task in tasks.values()]
        absent = [file.stem for file in files if not file.exists()]
        if done.exit_code or absent:
            said = " ".join(done.stderr.decode(errors="replace").split())[-300:]
            raise EmulationError(f"the transfers at {', '.join(absent) or 'a node'} failed: {said}")
        results = [json.loads(file.read_text("ascii")) for file in files]
    used = {end.get("congestion", inputs["congestion"]) for of in results for end in of["ends"]}
    if used != {inputs["congestion"]}:
        raise EmulationError(f"the kernel had {sorted(used)}, not {inputs['congestion']!r} alone")
    return {
        "kernel": results[0]["kernel"],
        "connections": _connections(results, inputs["counted_s"]),
        "calls": dict(done.results.figures["calls"]),
    }


kinds.register(
    KIND,
    transfers,
    (
        "airqueue.emulate",
        "airqueue.linux",
        "airqueue.simulate",
        "airqueue.sizing",
        "airqueue.models",
        "airqueue.measure",
        "airqueue.numeric",
        "airqueue.qoe",
        "airqueue.stats",
        "airqueue.traces",
        "airqueue.units",
        "airqueue_papers.kernel.ends",
    ),
)


def _tasks(inputs: Mapping[str, Any], folder: Path) -> dict[str, dict[str, Any]]:
    """Return the task of each node's program, by node."""
    draw = random.Random(inputs["seed"])
    common = {
        "from_s": inputs["warm_up_s"],
        "until_s": inputs["warm_up_s"] + inputs["counted_s"],
    }
    tasks: dict[str, dict[str, Any]] = {}
    for number, each in enumerate(inputs["transfers"]):
        for node in (each["sender"], each["receiver"]):
            result = str(folder / f"{node}.json")
            tasks.setdefault(node, {"receive": [], "send": [], "result": result, **common})
        end = {"name": each["name"], "port": PORT + number}
        tasks[each["receiver"]]["receive"].append({**end, "tos": each["ack_tos"]})
        start_s = round(draw.uniform(*START_S), 6)
        tasks[each["sender"]]["send"].append(
            {**end, "tos": each["tos"], "address": each["receiver"], "start_s": start_s}
        )
    return tasks


def _command(task: Mapping[str, Any]) -> tuple[str, ...]:
    program = resources.files("airqueue_papers").joinpath("kernel", "ends.py")
    return (sys.executable, "-I", "-S", str(program), json.dumps(task))


def _connections(results: Sequence[Mapping[str, Any]], counted_s: float) -> dict[str, Any]:
    """Return the figures of each connection from those of its two ends."""
    ends: dict[str, dict[str, Any]] = {}
    for end in (end for result in results for end in result["ends"]):
        ends.setdefault(end["name"], {}).update(end)
    return {
        name: {
            "goodput_bps": 8 * of["received_bytes"] / counted_s,
            "rtt_mean_s": of["rtt_mean_s"],
            "mss_bytes": of["mss_bytes"],
            "segments": of["segments"],
            "retransmitted_segments": of["retransmitted"],
        }
        for name, of in sorted(ends.items())
    }
