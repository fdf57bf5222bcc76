"""The HTTP paper's cell as scenarios: unlimited downloads, and users who fetch file after file.

Table 1's 802.11b in ns-2: RTS and CTS before every frame, control frames at 2 Mb/s, segments of
1000 bytes. The access point is the server, and queues drop nothing unless B is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airqueue.description import Description, FlowTable, QueueTable, TcpTable, WebTable
from airqueue.description_words import (
    AckEveryValue,
    AckTimerName,
    DisciplineName,
    SizeDistributionName,
    ThinkDistributionName,
)
from airqueue.figures import Figures
from airqueue.models.file_sizes import mean_segments
from airqueue.models.web_session import handshake_s, timer_wait_s
from airqueue.simulate import Results
from airqueue.simulate.reported import known
from airqueue_papers.finding import Value
from airqueue_papers.item import Budget, Outcomes, Simulation

MEAN_BYTES: Final = 30_000
SEGMENT_BYTES: Final = 1000
SEGMENT_BITS: Final = 8 * SEGMENT_BYTES
THINK_S: Final = 10.0
LARGE: Final = 1000
"""W* of the paper's large windows."""
LOSSLESS: Final = 100_000
AP: Final = "ap"
_WARM_UP_S: Final = 50
_SESSION_S: Final = 1.0e-4
"""Approximate CPU time of a file, of its segments, and of an ACK for each, in the simulation."""


def _network(duration_s: float, warm_up_s: float, tcp: TcpTable) -> Description:
    """Return the keys common to all scenarios, without stations and flows."""
    return {
        "behaviour": "ns2",
        "duration": f"{duration_s:g} s",
        "warm_up": f"{warm_up_s:g} s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "2 Mb/s"},
        "mac": {"rts_threshold": "0 B"},
        "queue": {"limit": f"{LOSSLESS} packets"},
        "tcp": {"mss": f"{SEGMENT_BYTES} B", "handshake": True, **tcp},
        "stations": [{"name": AP}],
        "flows": [],
    }


@dataclass(frozen=True, slots=True)
class Downloads:
    """Unlimited connections from the access point, one to a station."""

    connections: int = 1
    window: int = LARGE
    """W*, segments."""
    d: int = 1
    """Segments that an acknowledgement answers."""
    limit: int | None = None
    """Limit of the access point's queue in packets, counted as in ns-2 with the one in the MAC."""
    layer: str = "802.11b"
    """Whether the cell is 802.11a, with the two rates that the paper prints."""

    @property
    def name(self) -> str:
        """Of the run."""
        queue = "" if self.limit is None else f"-limit{self.limit}"
        layer = "" if self.layer == "802.11b" else f"-{self.layer}"
        return f"downloads-n{self.connections}-w{self.window}-d{self.d}{queue}{layer}"

    def scenario(self, duration_s: float) -> Description:
        """Return the description; acknowledgements wait for a clock of 40 ms, as in FullTcp."""
        tcp: TcpTable = {
            "window": f"{self.window} packets",
            "ack_every": self.d,
            "ack_delay": "40 ms",
            "ack_timer": "ticks",
            "initial_window": f"{max(2, self.d)} packets",
        }
        network = _network(duration_s, 20, tcp)
        if self.layer == "802.11a":
            network["behaviour"] = "standard"
            network["phy"] = {"standard": "802.11a", "rate": "54 Mb/s", "control_rate": "6 Mb/s"}
            network["tcp"] |= {"stack": "ns2"}
        if self.limit is not None:
            # ns-2's limits count the frame that the MAC holds.
            frames = self.limit if network["behaviour"] == "ns2" else self.limit - 1
            network["stations"] = [{"name": AP, "queue": {"limit": f"{frames} packets"}}]
        network["stations"].append({"name": "sta", "count": self.connections})
        flow: FlowTable = {"name": "file", "from": AP, "to": "sta", "source": "tcp"}
        network["flows"].append({**flow, "start": "100 ms", "start_spread": "1 s"})
        return network

    def simulation(self, budget: Budget) -> Simulation:
        """Return its replications."""
        duration_s = budget.pick(10, 60)
        weight = 0.0026 * (duration_s + 20)
        return Simulation(self.scenario(duration_s), budget.pick(3, 5), weight=weight)

    def throughput(self, outcomes: Outcomes) -> Value:
        """Return the total throughput of all connections in Mb/s of TCP payload."""
        runs = _runs(outcomes[self.name])
        return _found(self.name, [known(run["medium"]["goodput_bps"]) / 1e6 for run in runs])

    def backlogged(self, outcomes: Outcomes) -> Value:
        """Return the mean number of nodes that contend, for W* = 1.

        Each connection has one packet: in the access point's queue or MAC, or as an acknowledgement
        at its station. The access point always has one in its MAC.
        """
        queues = [run["queues"][AP] for run in _runs(outcomes[self.name])]
        waiting = [known(queue["length_mean_packets"]) for queue in queues]
        return _found(self.name, [self.connections - each for each in waiting])

    def given_up(self, outcomes: Outcomes) -> float:
        """Return the share of packets that MACs gave up, of all replications."""
        stations = [s for run in _runs(outcomes[self.name]) for s in run["stations"].values()]
        lost = sum(each["given_up_packets"] for each in stations)
        return float(lost / (lost + sum(each["acknowledged_packets"] for each in stations)))


@dataclass(frozen=True, slots=True)
class Sessions:
    """Users who think, fetch a file over its own connection, and think again."""

    nodes: int
    """n, the access point included."""
    law: SizeDistributionName = "pareto"
    """Of file sizes; exponential or constant."""
    window: int = LARGE
    d: AckEveryValue = 1
    """Segments per acknowledgement, or ``dynamic``."""
    think_s: float = THINK_S
    limit: int | None = None
    """B, the access point's queue in packets as ns-2 counts."""
    discipline: DisciplineName = "droptail"
    """Of the access point's queue."""
    ack_timer: AckTimerName = "segment"
    ack_delay_ms: int = 40
    pauses: ThinkDistributionName = "exponential"
    """Law of think times."""

    @property
    def name(self) -> str:
        """Name of the run: all settings in which it differs from others."""
        words = [f"sessions-n{self.nodes}-{self.law}-w{self.window}-d{self.d}"]
        words += [f"think{self.think_s:g}"] * (self.think_s != THINK_S)
        words += [f"limit{self.limit}"] * (self.limit is not None)
        words += [self.discipline] * (self.discipline != "droptail")
        words += [self.ack_timer] * (self.ack_timer != "segment")
        words += [f"timer{self.ack_delay_ms}"] * (self.ack_delay_ms != 40)
        words += [f"{self.pauses}-pauses"] * (self.pauses != "exponential")
        return "-".join(words)

    def scenario(self, files: int) -> Description:
        """Return the description, long enough for this number of files for each user."""
        initial = 2 if self.d == "dynamic" else max(2, int(self.d))
        tcp: TcpTable = {
            "window": f"{self.window} packets",
            "ack_every": self.d,
            "ack_delay": f"{self.ack_delay_ms} ms",
            "ack_timer": self.ack_timer,
            "initial_window": f"{initial} packets",
        }
        network = _network(files * (self.think_s + 0.15), _WARM_UP_S, tcp)
        queue: QueueTable = {"discipline": self.discipline}
        if self.limit is not None:
            queue["limit"] = f"{self.limit} packets"
        network["stations"] = [
            {"name": AP, "queue": queue},
            {"name": "user", "count": self.nodes - 1},
        ]
        web: WebTable = {
            "file_size": f"{MEAN_BYTES} B",
            "distribution": self.law,
            "think_time": f"{self.think_s:g} s",
            "whole_segments": True,
        }
        flow: FlowTable = {"name": "page", "from": AP, "to": "user", "source": "web", "web": web}
        if self.pauses != "exponential":
            web["think_distribution"] = self.pauses
            # Exponential pauses alone forget that all users began together; equal ones never do.
            flow["start_spread"] = f"{self.think_s:g} s"
        network["flows"].append(flow)
        return network

    def simulation(self, files: int, replications: int) -> Simulation:
        """Return replications with about this number of files for each user."""
        acks = 4 if self.d == "dynamic" else int(self.d)
        weight = files * (self.nodes - 1) * _SESSION_S * (1 + 1 / acks)
        return Simulation(self.scenario(files), replications, weight=weight)

    @property
    def _fixed_s(self) -> float:
        """The part of a session that does not depend on its size: handshake and last timer."""
        d = 4 if self.d == "dynamic" else int(self.d)
        # The wait for a free-running clock is half as long as for a timer.
        timer_s = self.ack_delay_ms / 1e3 / (2 if self.ack_timer == "ticks" else 1)
        return float(handshake_s() + timer_wait_s(d, timer_s))

    def delay(self, outcomes: Outcomes) -> Value:
        """Return the mean session delay in s at the mean size of files."""
        return _found(self.name, self.delays(outcomes))

    def shorter_by(self, other: Sessions, outcomes: Outcomes) -> Value:
        """Return by how much the mean delay is shorter than another's, for files of equal sizes."""
        pairs = zip(self.delays(outcomes), other.delays(outcomes), strict=True)
        return _found(self.name, [theirs - ours for ours, theirs in pairs])

    def delays(self, outcomes: Outcomes) -> list[float]:
        """Return each replication's mean session delay in s at the mean size of files.

        Each replication's mean without `_fixed_s`, over its mean number of segments and times the
        expected number: the mean size of a few thousand files of infinite variance is off by a tenth.
        """
        expected = float(mean_segments(8 * MEAN_BYTES, SEGMENT_BITS, self.law))
        fixed_s = self._fixed_s
        samples = []
        for run in _runs(outcomes[self.name]):
            medium, duration_s = run["medium"], run["duration_s"]
            segments = known(medium["goodput_bps"]) * duration_s / SEGMENT_BITS / medium["sessions"]
            sized_s = known(medium["session_mean_s"]) - fixed_s
            samples.append(fixed_s + sized_s * expected / segments)
        return samples

    def plain_delay(self, outcomes: Outcomes) -> Value:
        """Return the plain mean over the files, in s."""
        runs = _runs(outcomes[self.name])
        return _found(self.name, [known(run["medium"]["session_mean_s"]) for run in runs])

    def files(self, outcomes: Outcomes) -> int:
        """Return the number of files fetched in all replications."""
        return sum(run["medium"]["sessions"] for run in _runs(outcomes[self.name]))


@dataclass(frozen=True, slots=True)
class LargeAndSmall:
    """A user of files of 10 MB among others of 16 kB, the median of Pareto sizes of mean 30 kB."""

    nodes: int
    window: int
    discipline: DisciplineName = "droptail"

    @property
    def name(self) -> str:
        """Of the run."""
        return f"large-and-small-n{self.nodes}-w{self.window}-{self.discipline}"

    def scenario(self, duration_s: float) -> Description:
        """Return the description."""
        network = _network(duration_s, _WARM_UP_S, {"window": f"{self.window} packets"})
        groups = {"small": (self.nodes - 2, "16 kB"), "large": (1, "10 MB")}
        network["stations"] = [{"name": AP, "queue": {"discipline": self.discipline}}]
        for name, (count, size) in groups.items():
            network["stations"].append({"name": name, "count": count})
            web: WebTable = {
                "file_size": size,
                "distribution": "constant",
                "think_time": f"{THINK_S:g} s",
            }
            flow: FlowTable = {
                "name": f"to-{name}",
                "from": AP,
                "to": name,
                "source": "web",
                "web": web,
            }
            network["flows"].append(flow)
        return network

    def simulation(self, budget: Budget) -> Simulation:
        """Return its replications."""
        duration_s = budget.pick(400, 2000)
        return Simulation(self.scenario(duration_s), budget.pick(3, 5), weight=0.003 * duration_s)

    def delay(self, outcomes: Outcomes, size: str) -> Value:
        """Return the mean session delay in s of the ``large`` or the ``small`` files."""
        samples = []
        for run in _runs(outcomes[self.name]):
            own = [
                each
                for name, each in run["connections"].items()
                if name.startswith(f"to-{size}") and each["sessions"]
            ]
            files = sum(each["sessions"] for each in own)
            took_s = sum(each["sessions"] * known(each["session_mean_s"]) for each in own)
            samples.append(took_s / files)
        return _found(self.name, samples)


def _runs(results: Results) -> list[Figures]:
    return [run for _, run in sorted(results.runs.items())]


def _found(name: str, samples: list[float]) -> Value:
    value = Value.of(samples)
    if value is None:
        raise ValueError(f"{name}: no replication has it")
    return value
