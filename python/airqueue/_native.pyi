"""Endpoints over real sockets, simulations and capture files, in Rust.

Times in integer nanoseconds where the name ends in ``_ns`` (``MISSING``, the least int64, where
there is none), else in seconds. Everything raises `NativeError` with one sentence.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt

from airqueue.records import (
    CodecDict,
    ContentionDict,
    EchoPollDict,
    EchoSeriesDict,
    EchoTargetDict,
    EmulationDict,
    FatesDict,
    HopDict,
    LimitsDict,
    LiveDict,
    LoadDict,
    LoadSeriesDict,
    MeshBuffersDict,
    MeshDecisionDict,
    OpportunitiesDict,
    PollDict,
    RunDict,
    SeriesDict,
    ServerStatsDict,
    TotalsDict,
    TruthDict,
)
from airqueue.simulate.shaped import TcpHeader

Segment = tuple[int, int, int, int, int, int]
"""(flow, start_ns, duration_ns, count, size_bytes, traffic_class)"""

class NativeError(Exception): ...

Contender = tuple[int, int, int, int | None, int, int]
"""(aifs_slots, w_min, w_max, retries, packets, node); windows are numbers of values, CWmin + 1 and
CWmax + 1. None: retries without end."""

class Client:
    """A session with a server; connects when made. Flow i has its own socket and local port."""

    def __init__(
        self,
        host: str,
        port: int = 5860,
        *,
        key: bytes | None = None,
        flows: int = 2,
        others: int = 0,
        local_ports: list[int] | None = None,
        netns: str | PathLike[str] | None = None,
        timeout_s: float = 5.0,
        max_wait_s: float = 600.0,
    ) -> None: ...
    def start(self, segments: list[Segment], direction: Literal["down", "up"]) -> None: ...
    def identity(self) -> tuple[str, int, int, int]:
        """The server's address, session, nonce, and a number for the next run, another at each call.

        For ``attend`` and ``watch`` of clients of servers on other stations, to which the last
        ``others`` flows belong.
        """
    def attend(self, server: str, session: int, nonce: int, flow: int) -> None:
        """Have this client's server join a flow of a session with another; wait until it has."""
    def watch(self, segments: list[Segment], number: int) -> None:
        """Have the server record what comes to it of the other's run, until ``conclude``."""
    def upload(self, segments: list[Segment], number: int) -> None:
        """Have the server send its flow's packets in the other's run, until ``conclude``."""
    def conclude(self) -> None: ...
    def poll(self) -> PollDict: ...
    def load(self, down: int, up: int) -> Load:
        """TCP connections beside the run in progress, which end with the run."""
    def cancel(self) -> None: ...
    def finish(self, timeout_s: float) -> RunDict: ...
    def limits(self) -> LimitsDict: ...
    def close(self) -> None: ...

class Load:
    """TCP connections that load the path of a run; ``Client.load`` makes one."""

    def poll(self) -> LoadDict: ...
    def stop(self) -> LoadSeriesDict: ...

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
        tcp: bool = True,
        attend: list[str] | None = None,
    ) -> None: ...
    @property
    def port(self) -> int: ...
    @property
    def address(self) -> str: ...
    @property
    def no_tcp(self) -> str | None: ...
    def failure(self) -> str | None: ...
    def stats(self) -> ServerStatsDict: ...
    def stop(self) -> None: ...

class Echoes:
    """Round-trip times to several targets at once, probed by a thread of its own until ``stop``.

    The methods, how fast they may be and how exact they are: docs/echo.md. A target that cannot be
    probed says why in ``poll``, and the others go on; NativeError if none can be probed.
    """

    def __init__(
        self,
        targets: Sequence[EchoTargetDict],
        *,
        interval_s: float = 0.05,
        netns: str | PathLike[str] | None = None,
    ) -> None: ...
    def poll(self) -> list[EchoPollDict]:
        """The state of each target, in the order given."""
    def take(self) -> list[EchoSeriesDict]:
        """All probes of each target since the start; a later call has them again, and more."""
    def stop(self) -> None:
        """End the probing. What was found stays, and answers that come later are not read."""

def first_hops(
    host: str,
    *,
    most: int = 4,
    timeout_s: float = 1.0,
    netns: str | PathLike[str] | None = None,
) -> list[HopDict]:
    """The first routers on the way to a host, up to the host; takes 2 ``timeout_s`` at most."""

def serve(
    queue: str,
    rate_bps: int,
    burst_bytes: int,
    seed: int,
    at_ns: npt.NDArray[np.int64],
    flow: npt.NDArray[np.uint32],
    size_bytes: npt.NDArray[np.uint32],
    ect: npt.NDArray[np.bool_],
    dscp: npt.NDArray[np.uint8],
    hosts: Sequence[tuple[int, int, int]],
    tcp: Sequence[TcpHeader | None],
) -> FatesDict:
    """Packets through the queue of a JSON ``queue`` table behind a token bucket.

    Equal lengths, times that do not decrease. ``hosts`` are flows, each with its source and
    its destination. ``tcp`` is empty, or has a value for each packet. What is wrong with the table
    is a `ValueError`.
    """

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

def voice_codecs() -> dict[str, CodecDict]:
    """Codecs of calls by their names, of which the functions below take one."""

def voice_coding_delay(name: str, frames: Floats) -> Floats: ...
def voice_delay_impairment(mouth_to_ear_s: Floats) -> Floats: ...
def voice_loss_impairment(name: str, loss: Floats, burst_ratio: Floats) -> Floats: ...
def voice_r_factor(name: str, mouth_to_ear_s: Floats, loss: Floats, burst_ratio: Floats) -> Floats:
    """R of calls; the arrays of these functions have equal shapes, and what is in them is checked."""

def voice_mos(r: Floats, as_printed: bool) -> Floats: ...
def student_t_sf(t: float, freedom: float) -> float:
    """P(T > t) of Student's distribution."""

def t_interval(samples: Sequence[float], quantile: float) -> tuple[float, float, float]:
    """The mean of two samples or more, and the ends of mean ± quantile s / √n."""

def summary(values: Sequence[float | None], quantile: Callable[[int], float]) -> dict[str, Any]:
    """Mean and interval of a figure over replications, as of `summaries`."""

def summaries(
    runs: Sequence[Mapping[str, float | None]], quantile: Callable[[int], float]
) -> dict[str, dict[str, Any]]:
    """Mean and interval of each figure of the first replication over all of them."""

def binomial_sf(k: int, n: int, p: float) -> float:
    """P(X > k) successes of n trials."""

def fisher_greater(table: Sequence[int]) -> float:
    """Fisher's exact test of a table of two rows: P(the first count is at least what it is)."""

def moving_average(values: Floats, weight: float, before: float) -> Floats:
    """y of y[i] = y[i-1] + weight (x[i] - y[i-1]), with y before the first given."""

def since_last_drop(hazard: Floats, lost: Bools) -> Floats:
    """The hazard accumulated since the last drop, each packet's own included."""

def log_likelihood(
    hazard: Floats, lost: Bools, known: Bools, losses: tuple[float, float, float]
) -> float:
    """The log-likelihood of the losses of the known packets, each with its hazard.

    ``losses``: part of the packets that is lost with the share of all, share that the path loses by
    itself, least probability.
    """

def red_log_likelihood(
    waiting: Floats,
    lost: Bools,
    known: Bools,
    law: tuple[float, float, float, float, float, float],
    losses: tuple[float, float, float],
) -> float:
    """As `log_likelihood`, with the hazards of `red_hazards`."""

def red_hazards(
    waiting: Floats, lost: Bools, law: tuple[float, float, float, float, float, float]
) -> tuple[Floats, Floats, Floats, Floats]:
    """RED's average, probability and hazard of each packet, and the sum since the last drop.

    ``law``: weight, average before the first packet, lower threshold, distance of the upper one,
    greatest probability, share of the upper threshold by which an average may be wrong.
    """

def pie_probabilities(
    delays: Floats, targets: Floats, begun: Floats, update: float
) -> tuple[Floats, Bools]:
    """PIE's probability of a drop after each update, and whether all are spared then.

    Shapes (targets, updates). ``delays``: seconds, at each update. ``begun``: the probability before
    the first update, for each target. ``update``: seconds between updates. RFC 8033, section 4.2.
    """

def law_intervals(
    tried: tuple[Floats, Floats, Floats],
    pairs: tuple[Ints, Ints],
    events: tuple[int, int],
    edge: Floats,
    ends: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """The least and the greatest interval with which instants of a law lie between low and high.

    ``tried``: low and high, shape (rings, events), and the laws' instants in intervals, shape (laws,
    events or more). ``pairs``: places of a ring and a law each. ``edge``: room, one for all pairs or
    one for each. ``events``: how many first events have given the intervals their ``ends``, and how
    many are to be compared. Where the least is greater no interval does.
    """

def law_chances(
    tried: tuple[Floats, Floats, Floats],
    pairs: tuple[Ints, Ints],
    events: int,
    edge: Floats,
    interval: Floats,
    known: float,
) -> Floats:
    """The chance that events at random are all in their places, of each pair with its interval.

    The interval puts one of them there, and is one of as many within ``known`` as can be told apart;
    the rest as for `law_intervals`.
    """

class Ieee80211:
    """What IEEE 802.11 fixes for all layers: bytes of frames and of what surrounds packets, limits.

    The clauses stand beside the same names in the engine (``phy/frames.rs``).
    """

    HEADER_BYTES: ClassVar[int]
    """MAC header of a data frame with three addresses."""
    QOS_HEADER_BYTES: ClassVar[int]
    FOUR_ADDRESS_QOS_HEADER_BYTES: ClassVar[int]
    FCS_BYTES: ClassVar[int]
    LLC_SNAP_BYTES: ClassVar[int]
    NS2_OVERHEAD_BYTES: ClassVar[int]
    """All that ns-2 adds to an IP packet."""
    RTS_BYTES: ClassVar[int]
    CTS_BYTES: ClassVar[int]
    ACK_BYTES: ClassVar[int]
    MAX_NON_HT_PSDU_BYTES: ClassVar[int]
    MAX_PPDU_S: ClassVar[float]
    """aPPDUMaxTime from 802.11n on."""
    MAX_DURATION_S: ClassVar[float]
    """The most that the Duration field can announce."""

class Mode:
    """One rate of a layer."""

    rate_bps: Final[float]
    modulation_class: Final[Literal["dsss", "ofdm"]]
    """That of the response; all layers from HT on are answered in OFDM."""
    preamble_ns: Final[int]
    """Preamble and PHY header."""
    overhead_ns: Final[int]
    """The same with signal extension and packet extension."""
    extra_bits: Final[float]
    """SERVICE field and tail."""
    bits_per_symbol: Final[float]
    symbol_ns: Final[int]
    """With its guard interval; for DSSS the time to which its frames are rounded up."""

class AccessCategory:
    """Channel access of BK, BE, VI or VO; the windows are the standard's CWmin and CWmax."""

    name: Final[str]
    aifsn: Final[int]
    cw_min: Final[int]
    cw_max: Final[int]
    txop_s: Final[float]

class RadioChoices:
    """What a `Radio` can be; before 802.11ax there are no LTFs and packet extensions to choose."""

    most_streams: Final[int]
    widths_mhz: Final[list[int]]
    usual_width_mhz: Final[int]
    """Of a network that says nothing of it."""
    guard_intervals_ns: Final[list[int]]
    ltfs_ns: Final[list[int]]
    packet_extensions_ns: Final[list[int]]

def radio_choices(standard: str, band: str = "5") -> RadioChoices:
    """Those of 802.11n or a later standard in a band ("2.4" or "5" GHz); else `NativeError`."""

def radio_standards() -> list[tuple[str, list[str], bool]]:
    """All, older ones first: name, bands in GHz with the usual one first, whether it has choices."""

class Radio:
    """A physical layer of the engine with one number of streams, one width and one guard interval.

    standard: one of `radio_standards`. preamble: of DSSS frames, "long" or "short". short_slot: of
    802.11g, or at 2.4 GHz. exact_dsss: as `unrounded`. band to guard_interval_ns: of 802.11n and
    later. ltf_ns, packet_extension_ns: from 802.11ax on. `radio_choices` says which values there are.
    access: slot and SIFS in nanoseconds, CWmin and CWmax, instead of the standard's.
    basic_rates_bps: BSSBasicRateSet, likewise. Options of other standards are ignored.

    Equal to a radio that was made of the same; it can be copied and pickled.
    """

    def __new__(
        cls,
        standard: str,
        *,
        preamble: str = "long",
        short_slot: bool = True,
        exact_dsss: bool = False,
        band: str = "5",
        streams: int = 1,
        width_mhz: int = 20,
        guard_interval_ns: int = 800,
        ltf_ns: int | None = None,
        packet_extension_ns: int = 0,
        access: tuple[int, int, int, int] | None = None,
        basic_rates_bps: list[float] | None = None,
    ) -> Radio: ...
    def variant(self, access: tuple[int, int, int, int], basic_rates_bps: list[float]) -> Radio:
        """The same with other channel access timing and basic rates; itself where nothing differs."""
    def unrounded(self) -> Radio:
        """The same with DSSS frames as long as their bits, up to the next nanosecond, as in ns-2."""
    band: Final[Literal["2.4", "5"]]
    """In GHz."""
    slot_s: Final[float]
    sifs_s: Final[float]
    cw_min: Final[int]
    """CWmin: the first backoff is drawn from 0 to this."""
    cw_max: Final[int]
    eifs_s: Final[float]
    """SIFS, ACK at the lowest basic rate, DIFS."""
    response_timeout_s: Final[float]
    """How long the sender of a frame at the highest rate waits for the response to start."""
    basic_rates_bps: Final[list[float]]
    modes: Final[tuple[Mode, ...]]
    """Of data frames, by rising rate."""
    control_modes: Final[tuple[Mode, ...]]
    """Of control frames, by rising rate: never those of 802.11n and later."""
    max_mpdus: Final[int]
    """MPDUs in an A-MPDU; 1 before 802.11n."""
    max_psdu_bytes: Final[int]
    """Of data frames."""
    max_mpdu_bytes: Final[int]
    """Of data frames at the highest rate, within an A-MPDU or alone."""
    response_rates_bps: Final[list[float]]
    """Rate of the response to a frame of each of `modes`."""
    def frame_s(self, modes: Places, psdu_bytes: Floats, *, control: bool = False) -> Floats:
        """Durations of data frames, or of control frames.

        modes: places in `modes`, or in `control_modes`. psdu_bytes: from 0 to 2^32, need not be
        whole: a bit that is begun counts. The arrays of this and the next have equal shapes;
        `NativeError` otherwise.
        """
    def most_mpdus(
        self,
        modes: Places,
        mpdu_bytes: Floats,
        max_mpdus: int,
        max_bytes: int,
        max_ppdu_ns: int,
    ) -> Floats:
        """The most MPDUs of one size that an A-MPDU holds, under these limits and the standard's."""
    def edca_defaults(self, edition: str, access_point: bool) -> list[AccessCategory]:
        """BK, BE, VI, VO. edition: "2005" or "2016"."""

def block_ack_bytes(mpdus: Floats) -> Floats:
    """Bytes of the compressed block ack of A-MPDUs with so many MPDUs."""

def ampdu_bytes(mpdu_bytes: Floats, mpdus: Floats) -> Floats:
    """Bytes of A-MPDUs of equal MPDUs; the arrays have equal shapes."""

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

MeshHop = tuple[int | None, int | None, int | None, int]
"""(previous router, next router, demand_bps, other_delay_us)"""

class MeshRouter:
    """A router of a mesh that computes limits by itself, from its neighbours' messages.

    Times are nanoseconds on any clock. Messages and decisions are to be taken after each input, and
    as time passes.
    """

    def __init__(
        self,
        number: int,
        boot: int,
        secret: bytes,
        *,
        queues: Literal["node", "flow"],
        domains: Literal["two-hop", "busy"],
        unsized_packets: int,
        segment_bytes: int,
        every_s: float,
        hold_s: float,
    ) -> None: ...
    def on_message(self, sender: int, message: bytes, now_ns: int) -> str | None:
        """Take in a message, and return why it was refused, if it was."""
    def on_link(self, neighbour: int, rate_bps: int, round_trip_ns: int, now_ns: int) -> None: ...
    def on_route(self, flow: int, hop: MeshHop | None, now_ns: int) -> None: ...
    def on_active(self, flow: int, now_ns: int) -> None: ...
    def on_busy(self, fraction: float, now_ns: int) -> None: ...
    def on_time(self, now_ns: int) -> None: ...
    def poll_message(self, now_ns: int) -> bytes | None:
        """Return the next message for all neighbours, if it is time for one."""
    def poll_decision(self, now_ns: int) -> MeshDecisionDict | None:
        """Return the limits to set, if they have changed."""

Mesh = tuple[
    int,
    Sequence[tuple[int, int]],
    Sequence[tuple[int, int, float, float, int]],
    Sequence[tuple[Sequence[int], float | None, float]],
]
"""(nodes, pairs that hear each other, links (sender, receiver, rate_bps, round_trip_s, channel),
flows (links of the route, demand_bps, other_delay_s))"""

def mesh_buffers(
    mesh: Mesh,
    *,
    segment_bytes: int,
    minimum_packets: int,
    busy: tuple[Sequence[float], Sequence[bool]] | None = None,
) -> list[MeshBuffersDict]:
    """Return the buffers of each flow, as the routers of a mesh compute them.

    busy: the fraction of time for each node, and whether its medium counts as full.
    """

VERSION: Final[str]
CAPTURE_LEAST_BYTES: Final[int]
"""The fewest of a frame that a capture keeps: control frames are whole."""
CAPTURE_HEADERS_BYTES: Final[int]
"""Enough for all headers of a packet."""
CAPTURE_WHOLE_BYTES: Final[int]
"""Cuts no frame."""

class Scenario:
    """A network of 802.11 stations from the JSON of a scenario file.

    What is wrong with it is a `ValueError` of one sentence that begins with the key. ``others_real``:
    nodes are real that the file does not mark.
    """

    def __init__(self, json: str, *, others_real: bool = False) -> None: ...
    @property
    def warnings(self) -> list[str]:
        """What a user should know of it although it can be simulated, a sentence each."""
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
    def routes(self) -> dict[str, list[str]]: ...
    @property
    def buffers(self) -> str | None:
        """How the limits of queues are to be set while it runs, if the scenario asks for that, as
        JSON: `airqueue.monitored.Buffers`.
        """
    def queues_in_force(self) -> str:
        """The settings of all queues that have figures, as JSON: a list of
        `airqueue.monitored.QueueInForce`.
        """
    def monitor(self) -> Monitor:
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
        """A replication, at time zero; ``seed`` from 0 to 2**64 - 1 decides every random draw in it.

        ``pcap``: a capture of all frames, or of those at a station, with so many bytes of each.
        Raises `ValueError` for what cannot be recorded, and `OSError`.
        """
    def watch(self, run: Run, link: str) -> None:
        """Have a replication keep the delivery opportunities of a link, as in ``ap:phone``."""

def open_tun(namespace: str | PathLike[str], name: str, offload: bool) -> int:
    """Create a TUN device in a network namespace (a path that setns can open).

    The kernel leaves checksums to the reader, and the cutting into segments too with ``offload``.
    Returns a descriptor that belongs to the caller; the device ends with the last descriptor. Raises
    `NativeError`.
    """

def open_veth(
    namespace: str | PathLike[str], name: str, emulator: tuple[str | PathLike[str], str]
) -> int:
    """Prepare a veth pair: the node's end, and the emulator's (namespace and name).

    Packets leave the node's end as they would arrive: whole, with checksums, in one segment each.
    Returns a descriptor of the emulator's end that belongs to the caller. Raises `NativeError`.
    """

def open_packet_queue(namespace: str | PathLike[str], most: int) -> tuple[int, int]:
    """Open the queue (NFQUEUE) in which the kernel keeps up to ``most`` packets of a namespace.

    Returns a descriptor that belongs to the caller, and the number of the queue for the rule that
    sends packets there. Raises `NativeError`.
    """

class Emulation:
    """The network of a scenario between real nodes, on the wall clock.

    ``real``: nodes that are real although the scenario's JSON does not say so. ``seed`` from 0 to
    2**64 - 1 decides every random draw. What is wrong is a `ValueError` of one sentence.
    """

    def __init__(self, json: str, real: list[str], seed: int) -> None: ...
    @property
    def nodes(self) -> list[tuple[str, bool]]:
        """The real nodes in the order of the scenario, each with whether the node is a wired host."""
    @property
    def mtus(self) -> list[int]:
        """The largest packets on the link of each real node, in bytes."""
    @property
    def routers(self) -> list[str]:
        """Names of the routers between real nodes that are not real themselves."""
    def set_router(self, name: str, addresses: list[str]) -> None:
        """Give a router that is not real its addresses. Raises `NativeError`."""
    def add_prefix(self, network: str, length: int) -> None:
        """Say that addresses with this prefix are those of the network: nobody may have one.

        Raises `NativeError`.
        """
    @property
    def warm_up_s(self) -> float: ...
    def attach(self, node: str, device: int, addresses: list[str], merges: bool) -> None:
        """Connect a node to a device with these addresses; the descriptor is duplicated.

        ``device``: of `open_tun` or `open_veth`. ``merges``: TCP segments that leave the network at
        one instant are written as one packet, to TUN devices alone. Raises `NativeError`.
        """
    def set_gateway(self, node: str) -> None:
        """Have the node pass on packets to and from other hosts than the nodes.

        Raises `NativeError`.
        """
    def device_drops(self) -> dict[str, int]:
        """For each node packets not read in time, beyond those that the device itself counts."""
    def attach_queue(self, node: str, queue: int) -> None:
        """Take packets of a node from a queue of `open_packet_queue` too.

        The descriptor is duplicated.

        Raises `NativeError`.
        """
    def capture(self, node: str, path: str | PathLike[str]) -> None:
        """Capture what a node sends and receives in a file of pcapng, which is made now.

        Raises `NativeError` for a node, and OSError for the file.
        """
    def captures(self) -> list[tuple[str, int, str | None]]:
        """The captures: the node, the number of packets, and why the file ends early."""
    def run(self, duration_s: float | None = None, *, priority: bool = False) -> None:
        """Simulate the warm-up, and then follow the wall clock until `stop`, or for a duration.

        Blocks. ``priority``: ask for a real-time priority for the calling thread. Raises
        `NativeError`, for example where a node has no device.
        """
    def stop(self) -> None:
        """End `run`, from any thread, also a run that has not begun."""
    @property
    def started(self) -> bool:
        """Whether the warm-up is over, and the network follows the wall clock."""
    def change(self, json: str) -> float:
        """Change the network now, from any thread, and return the time since the warm-up in s.

        ``json``: the keys of an entry of ``changes`` in a scenario, without ``at``. What cannot be
        changed is a `ValueError` of one sentence.
        """
    def watch(self, link: str) -> None:
        """Keep the delivery opportunities of a link, as in ``ap:phone``, after the warm-up."""
    def opportunities(self) -> OpportunitiesDict | None:
        """These opportunities so far."""
    def moment(self) -> Moment:
        """All counters at this moment, from any thread."""
    def report(self) -> EmulationDict:
        """The counters so far, from any thread."""
    def figures(self) -> str:
        """Figures of simulated flows, stations and queues since the warm-up: `figures.Figures`."""

class Moment:
    """The counters of an emulation at a moment."""

    def since(self, before: Moment) -> LiveDict:
        """The figures of the time since an earlier moment of the same emulation."""
    @property
    def elapsed_s(self) -> float:
        """Wall-clock time since the end of the warm-up."""
    def totals(self) -> TotalsDict:
        """The counters since real time began."""

class Monitor:
    """Where to look and what to set in the replications of a scenario."""

    def map(self) -> str:
        """What stays as it is, as JSON: `airqueue.monitored.Map`."""
    def snapshot(self, run: Run) -> str:
        """What can be seen now, as JSON: `airqueue.monitored.Snapshot`."""
    def send(self, run: Run, sender: int, receiver: int, size_bytes: int, number: int) -> bool:
        """Send a message between two stations, by their places in the map; whether it can be."""
    def finished(self, run: Run) -> list[tuple[int, bool]]:
        """Return the numbers of messages that have ended since, and whether they arrived."""
    def set_limit(self, run: Run, station: str, flow: str | None, packets: int | None) -> None:
        """Set the limit of a station's queues, or of what ``flow`` has for itself in them, both ways.

        ``packets`` None: what the scenario says. What waits stays. Raises `ValueError`.
        """

class LiveChanges:
    """Changes of one replication that its scenario, given as JSON, does not have."""

    def __init__(self, json: str) -> None: ...
    def apply(self, run: Run, json: str) -> None:
        """Change the replication now, by the keys of an entry of ``changes`` without ``at``.

        Raises `ValueError` of one sentence that begins with the key.
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
        """What happened since the end of the warm-up, as JSON: `airqueue.figures.Figures`."""
    def close_pcap(self) -> None:
        """End the capture, if there is one; `OSError` if not all of it could be written."""
    def series(self) -> SeriesDict | None:
        """The time series so far, if they are recorded."""
    def opportunities(self) -> OpportunitiesDict | None:
        """The delivery opportunities so far, if they are kept."""

class CaptureWriter:
    """A capture file that grows by whole runs; with ``append`` it keeps the header that it has."""

    def __init__(
        self, path: str | PathLike[str], header_json: str, append: bool = False
    ) -> None: ...
    def append(self, meta_json: str, run: RunDict) -> None: ...
    def close(self) -> None: ...

Element = Literal["number", "whole", "any"] | str
"""What a value of a list is; "any": a number, quantity or word as scenarios have them; or a kind."""

def parse_quantity(text: str, kind: str) -> float:
    """What a text says in the base unit of its kind, an int of bytes and packets.

    ``kind``: rate (bit/s), packet_rate (packets/s), duration (s), size (bytes), packets, length (m),
    power (W), ratio (dB) or frequency (Hz). Raises `ValueError`, as do the other functions of text.
    """

def write_quantity(value: float, kind: str) -> str:
    """A number of the base unit as it could be typed: ``5.5mbit``, ``20ms``, ``1500B``."""

def measure(text: str) -> tuple[float, str] | None:
    """A number in its base unit and that unit's name in figures, where a text has one meaning.

    A level in dBm stays one: its unit is ``dbm``.
    """

def parse_values(
    text: str, kind: Element, *, absent: str | None = None, most: int
) -> tuple[list[Any], bool, bool]:
    """Values of a list or range, whether several were asked for, and whether in even ratios.

    ``absent``: the word for None, if there may be one. ``most``: values.
    """

def parse_lists(text: str, kind: Element, *, absent: str | None = None) -> list[list[Any] | None]:
    """Lists that slashes separate: ``1,2/3``."""

def parse_queue(text: str) -> tuple[str, int | None, Literal["packets", "bytes"] | None]:
    """The discipline of ``pfifo:100`` or ``fq_codel``, its limit, and what that counts."""

def parse_limit(text: str) -> tuple[int, Literal["packets", "bytes"]]:
    """A number of packets (``64p``) or of bytes (``150kB``), and which."""

class Range:
    """What lies between two values of a scenario, numbers or text with units.

    ``log``: in even ratios. Raises `ValueError`.
    """

    def __init__(self, first: float | str, last: float | str, log: bool) -> None: ...
    def points(self, count: int) -> list[Any]:
        """So many values, both ends among them; whole numbers that come twice are there once."""
    def at(self, share: float) -> Any:
        """The value so far along the range, 0 to 1."""
    def drawn(self, share: float) -> Any:
        """The value at a share that was drawn; whole numbers are equally likely."""

def check_plan(text: str) -> None:
    """Refuse what is no plan for ``airqueued``: `NativeError` names the key, and what is possible."""

def plan_schema() -> str:
    """The JSON Schema of plans."""

def scenario_schema() -> str:
    """The JSON Schema of scenario files."""

def devices() -> str:
    """The devices that stations can be like, as JSON: `airqueue.simulate.devices.Device` each."""

def scenario_problems(json: str, *, others_real: bool = False) -> list[tuple[str, str]]:
    """All errors of a scenario: the key of each, and the problem; none for a valid scenario.

    ``others_real``: nodes are real that the file does not mark.
    """

def toml_lines(text: str, keys: list[str]) -> list[int | None]:
    """The lines, from 1, on which keys such as ``flows[0].rate`` stand in the text of a TOML file.

    For a key that is not there the line on which what is around it begins; None where nothing is.
    """

def renamed_keys(json: str) -> list[tuple[list[str], str, str]]:
    """The old keys of a scenario: keys and places that lead to each, its new name, and a sentence.

    `ValueError` where both names of a key are given.
    """

def result_schemas() -> tuple[str, str]:
    """JSON Schemas of the dictionaries here, and of what is returned as JSON, in ``$defs``."""

def read_capture(path: str | PathLike[str]) -> tuple[str, list[tuple[str, RunDict]], bool]: ...
