"""Endpoints over real sockets, simulations and capture files, in Rust.

Times in integer nanoseconds where the name ends in ``_ns`` (``MISSING``, the least int64, where
there is none), else in seconds. Everything raises `NativeError` with one sentence.
"""

from os import PathLike
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

Segment = tuple[int, int, int, int, int]
"""(flow, start_ns, duration_ns, count, size_bytes)"""

class NativeError(Exception): ...

class HostDict(TypedDict):
    send_blocked: int
    receive_overflow: int
    duplicates: int
    clock_steps: int
    kernel_receive_timestamps: bool

class RunDict(TypedDict):
    """Columns of equal length, one row per packet in the order of sending."""

    scheduled_ns: npt.NDArray[np.int64]
    sent_ns: npt.NDArray[np.int64]
    kernel_tx_ns: npt.NDArray[np.int64]
    received_ns: npt.NDArray[np.int64]
    flow: npt.NDArray[np.uint8]
    size_bytes: npt.NDArray[np.uint16]
    host: HostDict
    end: Literal["complete", "cancelled", "receiver_silent", "sender_silent"]

class PollDict(TypedDict):
    """``reason`` says why the state is ``failed``; ``delay_s`` is above the run's least."""

    state: Literal["running", "collecting", "done", "failed"]
    reason: str | None
    elapsed_s: float
    planned_s: float
    received: int
    lost: int
    delay_s: float | None

class LimitsDict(TypedDict):
    max_bits_per_s: int
    max_packets_per_s: int
    max_run_s: float
    max_packets: int
    max_sessions: int
    max_sessions_per_address: int

class ServerStatsDict(TypedDict):
    sessions: int
    sessions_opened: int
    refused: int
    ignored: int
    runs: int
    datagrams_received: int
    datagrams_sent: int

class TruthDict(TypedDict):
    """The series (queue length after each change) is empty unless the configuration asks for it."""

    max_waiting_packets: int
    max_waiting_bytes: int
    at_ns: npt.NDArray[np.int64]
    packets: npt.NDArray[np.uint64]
    bytes: npt.NDArray[np.uint64]

class FlowSeriesDict(TypedDict):
    """A value for each interval; the delay is NaN where nothing was delivered."""

    throughput_bps: npt.NDArray[np.float64]
    delay_mean_s: npt.NDArray[np.float64]

class QueueSeriesDict(TypedDict):
    """The mean over each interval, and the length at its end."""

    length_mean_packets: npt.NDArray[np.float64]
    length_packets: npt.NDArray[np.float64]

class SeriesDict(TypedDict):
    """``time_s``: the ends of the whole intervals, counted from the beginning of the warm-up."""

    time_s: npt.NDArray[np.float64]
    flows: dict[str, FlowSeriesDict]
    queues: dict[str, QueueSeriesDict]

Contender = tuple[int, int, int, int | None, int, int]
"""(aifs_slots, cw_min, cw_max, retries, packets, node); None: retries without end."""

class ContentionDict(TypedDict):
    """Totals of the medium, and one value for each contender in its order."""

    idle_slots: int
    transmissions: int
    collided: int
    attempts: npt.NDArray[np.uint64]
    successes: npt.NDArray[np.uint64]
    collisions: npt.NDArray[np.uint64]
    internal_collisions: npt.NDArray[np.uint64]
    drops: npt.NDArray[np.uint64]
    packets: npt.NDArray[np.uint64]

class Client:
    """A session with a server; connects when made. Flow i has its own socket and local port."""

    def __init__(
        self,
        host: str,
        port: int = 5860,
        *,
        key: bytes | None = None,
        flows: int = 2,
        local_ports: list[int] | None = None,
        netns: str | PathLike[str] | None = None,
        timeout_s: float = 5.0,
    ) -> None: ...
    def start(self, segments: list[Segment], direction: Literal["down", "up"]) -> None: ...
    def poll(self) -> PollDict: ...
    def cancel(self) -> None: ...
    def finish(self, timeout_s: float) -> RunDict: ...
    def limits(self) -> LimitsDict: ...
    def close(self) -> None: ...

class Server:
    """A server in a thread of its own; ``bind=None`` listens on every address, port 0 on any port."""

    def __init__(
        self,
        bind: str | None = None,
        port: int = 5860,
        *,
        key: bytes | None = None,
        max_bits_per_s: int | None = None,
        max_packets_per_s: int | None = None,
        max_run_s: float | None = None,
        max_sessions: int | None = None,
        max_sessions_per_address: int | None = None,
        netns: str | PathLike[str] | None = None,
    ) -> None: ...
    @property
    def port(self) -> int: ...
    @property
    def address(self) -> str: ...
    def failure(self) -> str | None: ...
    def stats(self) -> ServerStatsDict: ...
    def stop(self) -> None: ...

class FatesDict(TypedDict):
    """One value for each packet; ``left_ns`` is MISSING where it was dropped."""

    left_ns: npt.NDArray[np.int64]
    marked: npt.NDArray[np.bool_]

def serve(
    queue: str,
    rate_bps: int,
    burst_bytes: int,
    seed: int,
    at_ns: npt.NDArray[np.int64],
    flow: npt.NDArray[np.uint32],
    size_bytes: npt.NDArray[np.uint32],
    ect: npt.NDArray[np.bool_],
) -> FatesDict:
    """Packets through the queue of a JSON ``queue`` table behind a token bucket.

    Equal lengths, times that do not decrease. What is wrong with the table is a `ValueError`.
    """

class CodecDict(TypedDict):
    ie: float
    bpl: float
    frame_s: float
    lookahead_s: float
    frames_per_packet: int
    rate_bps: float

Floats = npt.NDArray[np.float64]

def voice_codecs() -> dict[str, CodecDict]:
    """Codecs of calls by their names, of which the functions below take one."""

def voice_coding_delay(name: str, frames: Floats) -> Floats: ...
def voice_delay_impairment(mouth_to_ear_s: Floats) -> Floats: ...
def voice_loss_impairment(name: str, loss: Floats, burst_ratio: Floats) -> Floats: ...
def voice_r_factor(name: str, mouth_to_ear_s: Floats, loss: Floats, burst_ratio: Floats) -> Floats:
    """R of calls; the arrays of these functions have equal shapes, and what is in them is checked."""

def voice_mos(r: Floats, as_printed: bool) -> Floats: ...

class SimulatedPath:
    """The same endpoints over a simulated bottleneck or access point, on a virtual clock."""

    def __init__(self, config: dict[str, Any], seed: int) -> None: ...
    def run(self, segments: list[Segment], direction: Literal["down", "up"]) -> RunDict: ...
    def now_s(self) -> float: ...
    def wait(self, seconds: float) -> None: ...
    def limits(self) -> LimitsDict: ...
    def truth(self) -> TruthDict: ...

class Contention:
    """Saturated queues that contend for one medium, slot by slot; the counts are those of a run."""

    def __init__(
        self, contenders: list[Contender], rule: Literal["edca", "freeze"], seed: int
    ) -> None: ...
    def run(self, transmissions: int) -> ContentionDict: ...

class Scenario:
    """A network of 802.11 stations from the JSON of a scenario file.

    What is wrong with it is a `ValueError` of one sentence that begins with the key.
    """

    def __init__(self, json: str) -> None: ...
    @property
    def duration_s(self) -> float:
        """How long is counted, after the warm-up."""
    @property
    def warm_up_s(self) -> float: ...
    @property
    def stations(self) -> list[str]: ...
    @property
    def flows(self) -> list[str]: ...
    @property
    def ways(self) -> dict[str, list[str]]: ...
    @property
    def buffers(self) -> str | None:
        """How the limits of queues are to be set while it runs, as JSON: the table ``buffers``, if
        there is one, with times in seconds (``look_s``, ``every_s``, ``hold_s``) and
        ``change_packets``.
        """
    def watch(self) -> Watch:
        """What a manager of the network sees and sets, in any replication."""
    def start(
        self,
        seed: int,
        *,
        series_interval_s: float | None = None,
        pcap: str | PathLike[str] | None = None,
        pcap_station: str | None = None,
        pcap_bytes: int = ...,
    ) -> Run:
        """A replication, at time zero; ``seed`` from 0 to 2**64 - 1 decides all chance in it.

        ``pcap``: a capture of all frames, or of those at a station, with so many bytes of each.
        Raises `ValueError` for what cannot be recorded, and `OSError`.
        """

class Watch:
    """Where to look and what to set in the replications of a scenario."""

    def map(self) -> str:
        """What stays as it is, as JSON.

        ``stations``: names. ``positions_m``: where they stand, an empty list where that does not
        matter. ``limit_packets``: of the queues of each that flows feed, or None. ``neighbours``:
        pairs of them, by place, that decode each other's frames, of those that flows pass.
        ``flows``, of those that go over the air: ``name``, ``route`` (stations from the first to
        the last), ``elsewhere_s`` (what a packet and its answer take in cables) and
        ``packet_bytes`` (its largest IP packet).
        """
    def look(self, run: Run) -> str:
        """What can be seen now, as JSON; sums are from the beginning on.

        ``now_s``; ``busy_s``: of each station, how long its medium was busy or it sent; ``flows``:
        ``delivered_bytes``, ``under_way_packets`` and ``hops`` with the ``rate_bps`` of their frames
        and the mean times of an exchange that meets nobody, ``data_s`` of a packet and ``ack_s`` of
        TCP's acknowledgement (0 without TCP). Stations and flows are in the order of `map`.
        """
    def set_limit(self, run: Run, station: str, flow: str | None, packets: int | None) -> None:
        """Set the limit of a station's queues, or of what ``flow`` has for itself in them, both ways.

        ``packets`` None: what the scenario says. What waits stays. Raises `ValueError`.
        """

class Run:
    """A replication of a scenario."""

    def advance(self, seconds: float) -> None:
        """Let so much simulated time pass, at most to the end."""
    @property
    def now_s(self) -> float:
        """The simulated time, warm-up included."""
    @property
    def end_s(self) -> float:
        """Warm-up and duration."""
    @property
    def done(self) -> bool: ...
    def results(self) -> str:
        """Figures of flows, stations, queues and medium since the end of the warm-up, as JSON."""
    def close_pcap(self) -> None:
        """End the capture, if there is one; `OSError` if not all of it could be written."""
    def series(self) -> SeriesDict | None:
        """The time series so far, if they are recorded."""

class CaptureWriter:
    """A capture file that grows by whole runs; with ``append`` it keeps the header that it has."""

    def __init__(
        self, path: str | PathLike[str], header_json: str, append: bool = False
    ) -> None: ...
    def append(self, meta_json: str, run: RunDict) -> None: ...
    def close(self) -> None: ...

def scenario_schema() -> str:
    """The JSON Schema of scenario files."""

def read_capture(path: str | PathLike[str]) -> tuple[str, list[tuple[str, RunDict]], bool]: ...
