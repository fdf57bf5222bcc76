"""The keys of scenarios, as tables of Python.

Written by scripts/native_types.py from crates/airqueue-scenario/src/file: change that, then
``make types``. What each key means is in docs/reference/scenario-keys.md and in
the schema; whether a scenario can be simulated the engine says.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from airqueue import description_words as words


class BeaconsTable(TypedDict, total=False):
    """The beacons of an access point, and what it keeps for stations that sleep (IEEE
    802.11-2016, 11.1.3 and 11.2.3)."""

    aifsn: int
    buffer: words.Packets
    cw: int
    dtim_period: int
    first: words.Duration
    group_buffer: words.Packets
    interval: words.Duration
    kept: words.KeptName
    rate: words.Rate
    size: words.Size
    station: str
    total_buffer: words.Packets


class BuffersTable(TypedDict, total=False):
    """Buffers shared by the nodes of a collision domain, whose limits are set during the run
    (Jamshaid and others, 2015): B packets for the collision domain that limits a flow, divided
    among the nodes of the flow in it."""

    allocation: words.AllocationName
    carrying: words.CarryingName
    decided_by: words.DeciderName
    domains: words.DomainsName
    hold_time: words.Duration
    limit_per: words.LimitedName
    min_change: words.Packets
    refresh_interval: words.Duration
    rounding: words.RoundingName
    sample_interval: words.Duration
    source: words.SourceQueueName


class AdaptiveTable(TypedDict, total=False):
    """The adaptive limit."""

    floor: words.Size
    rate: words.Rate
    rtt: words.Duration
    window: words.Duration


class CakeTable(TypedDict, total=False):
    """The parameters of CAKE, as of `tc qdisc add ... cake`."""

    ack_filter: words.AckFilter
    isolation: words.Isolation
    memory_limit: words.Size
    mpu: words.Size
    mtu: words.Size
    overhead: words.Size
    rate: words.Rate
    rtt: words.Duration
    tins: words.Diffserv


class CodelTable(TypedDict, total=False):
    """CoDel, with the parameters of `tc qdisc add ... codel`."""

    behaviour: words.Behaviour
    ce_threshold: words.Duration
    ecn: bool
    interval: words.Duration
    mtu: words.Size
    target: words.Duration


class DrrTable(TypedDict, total=False):
    """Deficit round robin."""

    quantum: words.Size
    queue_per: words.QueuePer


class FqCodelTable(TypedDict, total=False):
    """FQ-CoDel, with the parameters of `tc qdisc add ... fq_codel`."""

    behaviour: words.Behaviour
    ce_threshold: words.Duration
    drop_batch: words.Packets
    ecn: bool
    flows: int
    interval: words.Duration
    memory_limit: words.Size
    mtu: words.Size
    quantum: words.Size
    target: words.Duration


class Mac80211Table(TypedDict, total=False):
    """The queues of mac80211."""

    airtime_fairness: bool
    airtime_quantum: words.Duration
    aql: bool
    aql_high: words.Duration
    aql_low: words.Duration
    aql_multicast: words.Duration
    aql_threshold: words.Duration
    ecn: bool
    flows: int
    interval: words.Duration
    memory_limit: words.Size
    quantum: words.Size
    slow_stations: bool
    target: words.Duration


class PieTable(TypedDict, total=False):
    """PIE."""

    alpha: float
    behaviour: words.Behaviour
    beta: float
    by_size: bool
    derandomize: bool
    ecn: bool
    mark_up_to: float
    max_burst: words.Duration
    mean_packet: words.Size
    target: words.Duration
    update: words.Duration


class RdqmTable(TypedDict, total=False):
    """RDQM."""

    beyond_limit: bool
    expiry: words.Duration
    expiry_rtts: int
    floor: bool
    weight: words.RdqmWeight


class RedTable(TypedDict, total=False):
    """RED."""

    burst: words.Packets
    by_size: bool
    ecn: bool
    gentle: bool
    hard_drop: bool
    max: words.QueueLimit
    mean_packet: words.Size
    min: words.QueueLimit
    probability: float
    rate: words.Rate
    weight: float


class SfqTable(TypedDict, total=False):
    """SFQ, with the parameters of `tc qdisc add ... sfq`, without the RED mode."""

    depth: int
    divisor: int
    flows: int
    headdrop: bool
    perturb: words.Duration
    quantum: words.Size


class QueueTable(TypedDict, total=False):
    """A queue of packets before the MAC, which holds one more packet. A key left out of a
    station's table is taken from the table of all stations."""

    adaptive: AdaptiveTable
    cake: CakeTable
    codel: CodelTable
    discipline: words.DisciplineName
    drop_from: words.DropFrom
    drr: DrrTable
    fq_codel: FqCodelTable
    limit: words.QueueLimit
    link_layer: words.Size
    mac80211: Mac80211Table
    pie: PieTable
    rdqm: RdqmTable
    red: RedTable
    ring: words.Packets
    sfq: SfqTable


Queue = QueueTable | str
"""A queue: a table of keys, or a discipline and its limit in a few letters"""


class ChangeTable(TypedDict, total=False):
    """A change at a given time: of a link, of stations, of the wired links of hosts, or of the
    route of a flow."""

    aifsn: int
    at: words.Duration
    away: bool
    category: words.CategoryName
    cw_max: int
    cw_min: int
    delay: words.Duration
    flow: str
    host: str
    link: list[str]
    loss: float
    position: list[words.Length]
    queue: Queue
    queue_limit: words.QueueLimit
    rate: words.FrameRate
    rate_to_host: words.Rate
    station: str
    txop: words.TxopLimit
    via: list[str]


class FramesTable(TypedDict, total=False):
    """The pictures of a game or a video."""

    deadline: words.Duration
    distribution: words.FrameDistributionName
    frame_size: words.Bytes
    interval: words.Duration
    sigma: float


class JitterNameUniform(TypedDict, total=False):
    """Evenly between nothing and this."""

    uniform: words.Duration


class JitterNameExponential(TypedDict, total=False):
    """Exponentially distributed with this mean."""

    exponential: words.Duration


JitterName = JitterNameUniform | JitterNameExponential
"""The law by which each packet of a source is late."""


class PageTable(TypedDict, total=False):
    """A user of the web whose browser loads pages: the document over one connection, then the
    page's objects over several."""

    connections: int
    distribution: words.SizeDistributionName
    document_size: words.Bytes
    object_size: words.Bytes
    objects: int
    parse_time: words.Duration
    shape: float
    think_distribution: words.ThinkDistributionName
    think_shape: float
    think_sigma: float
    think_time: words.Duration


class PingTable(TypedDict, total=False):
    """Requests and their answers."""

    answer_size: words.Bytes
    distribution: words.PingDistributionName
    interval: words.Duration


class TcpTable(TypedDict, total=False):
    """A TCP connection, both ends. A key that is left out of a flow's table is taken from the
    table of all flows."""

    ack_batches: bool
    ack_delay: words.Duration
    ack_every: words.AckEveryValue
    ack_timer: words.AckTimerName
    congestion: words.CongestionName
    handshake: bool
    initial_window: words.Packets
    limited_transmit: bool
    min_rto: words.Duration
    mss: words.Size
    nagle: bool
    pacing: words.PacingValue
    receive_buffer: words.Size
    sack: bool
    segmentation_offload: bool
    small_queue: words.SmallQueueValue
    stack: words.TcpName
    timestamps: bool
    window: words.Packets


class VideoTable(TypedDict, total=False):
    """A video whose player chooses the rate of each segment, over one TCP connection."""

    buffer: words.Duration
    choice: words.VideoChoiceName
    rates: list[words.Rate]
    segment: words.Duration
    start_at: words.Duration


class VoiceTable(TypedDict, total=False):
    """One direction of a call."""

    codec: words.CodecName
    packet_time: words.Duration
    playout: words.Duration
    silence: words.Duration
    talk: words.Duration


class WebTable(TypedDict, total=False):
    """A user of the web: files, each over a connection of its own, with pauses between them."""

    distribution: words.SizeDistributionName
    file_size: words.Bytes
    shape: float
    think_distribution: words.ThinkDistributionName
    think_shape: float
    think_sigma: float
    think_time: words.Duration
    whole_segments: bool


FlowTable = TypedDict(
    "FlowTable",
    {
        "ack_category": words.CategoryName,
        "category": words.CategoryName,
        "dscp": words.Dscp,
        "ecn": bool,
        "frames": FramesTable,
        "from": str,
        "jitter": JitterName,
        "name": str,
        "packet_rate": words.PacketRate,
        "page": PageTable,
        "phy_rate": words.FrameRate,
        "ping": PingTable,
        "rate": words.Rate,
        "rate_control": words.RateControlName,
        "rdqm": bool,
        "rdqm_rtt": words.Duration,
        "rdqm_rtt_kind": words.RttName,
        "size": words.Size,
        "source": words.SourceName,
        "start": words.Delays,
        "start_spread": words.Duration,
        "stop": words.Duration,
        "tcp": TcpTable,
        "to": str,
        "transfer_size": words.Bytes,
        "via": list[str],
        "video": VideoTable,
        "voice": VoiceTable,
        "web": WebTable,
    },
    total=False,
)
"""A flow of packets from one station or host to another, or one for each member of a group."""


class HostTable(TypedDict, total=False):
    """A host without a radio, or with `count` a group of them, and its wired link."""

    count: int
    delay: words.Delays
    link: str
    loss: float
    mtu: words.Size
    name: str
    queue: Queue
    rate: words.Rate
    rate_to_host: words.Rate
    real: bool


class BluetoothTable(TypedDict, total=False):
    """A hopping radio."""

    hit: float
    load: float
    packet: words.Duration
    slot: words.Duration


class MicrowaveTable(TypedDict, total=False):
    """A microwave oven: its magnetron works while the high voltage of the mains has one sign."""

    duty: float
    mains_hz: int


class ShareTraceTable(TypedDict, total=False):
    """A recorded share of busy time: each value holds until the next, the last one to the end."""

    busy_ratio: list[float]
    file: str
    repeat: words.Duration
    time_s: list[float]


class OccupancyTable(TypedDict, total=False):
    """A busy channel. Busy periods arrive at random (a Poisson process), so often that they take
    the share; each waits until the medium has been idle for PIFS, and so comes before all
    stations."""

    busy: words.Duration
    busy_law: words.SpanLawName
    shape: float
    share: float
    trace: ShareTraceTable


class OnOffTable(TypedDict, total=False):
    """Bursts and pauses."""

    off: words.Duration
    off_law: words.SpanLawName
    on: words.Duration
    on_law: words.SpanLawName
    shape: float


class InterferenceTable(TypedDict, total=False):
    """A source of energy that is no frame of a station: one of `microwave`, `bluetooth`,
    `on_off` and `occupancy`."""

    at: list[str]
    bluetooth: BluetoothTable
    level: words.EnergyLevelName
    microwave: MicrowaveTable
    name: str
    occupancy: OccupancyTable
    on_off: OnOffTable
    position: list[words.Length]
    power: words.Power
    received: words.Power
    start: words.Duration
    stop: words.Duration


class FadingTable(TypedDict, total=False):
    """Fast fading: the power of the link is another random multiple of its mean in each block of
    time, in both directions alike. One of `coherence` and `speed` is needed."""

    coherence: words.Duration
    line_of_sight: words.Decibels
    speed: words.Speed


class RateTraceTable(TypedDict, total=False):
    """A recorded rate of data frames: each value holds until the next, the last one to the end."""

    file: str
    rate: list[words.FrameRate]
    repeat: words.Duration
    time_s: list[float]


class ShadowingTable(TypedDict, total=False):
    """Slow fading: the power of the link in dB wanders about its mean, as a Gauss-Markov
    process, in both directions alike."""

    coherence: words.Duration
    deviation: words.Decibels


class SnrTraceTable(TypedDict, total=False):
    """A signal-to-noise ratio that was recorded: each value holds until the next, the last one
    to the end."""

    file: str
    repeat: words.Duration
    snr_db: list[float]
    time_s: list[float]


class RadioLinkTable(TypedDict, total=False):
    """Settings of the links between stations."""

    between: list[str]
    fading: FadingTable
    rate: words.FrameRate
    rate_trace: RateTraceTable
    shadowing: ShadowingTable
    snr: words.Decibels
    snr_trace: SnrTraceTable


class AggregationTable(TypedDict, total=False):
    """A-MPDUs with block ack, as a station sends them."""

    enabled: bool
    max_size: words.Size
    window: int


class DcfTable(TypedDict, total=False):
    """Channel access of a station without QoS."""

    aifsn: int
    countdown: words.CountdownName
    cw_max: int
    cw_min: int


class CategoryTable(TypedDict, total=False):
    """Channel access of an access category. Keys left out have the defaults of the edition and
    the role."""

    aifsn: int
    countdown: words.CountdownName
    cw_max: int
    cw_min: int
    txop: words.TxopLimit


class EdcaTable(TypedDict, total=False):
    """Channel access of a station with QoS."""

    be: CategoryTable
    bk: CategoryTable
    edition: words.EditionName
    role: words.RoleName
    vi: CategoryTable
    vo: CategoryTable


class MacTable(TypedDict, total=False):
    """Channel access. A key that is left out of a station's table is taken from the table of all
    stations."""

    access: words.AccessName
    aggregation: AggregationTable
    dcf: DcfTable
    edca: EdcaTable
    experimental: bool
    lifetime: words.Duration
    long_retry_limit: int
    protection: words.ProtectionName
    protection_rate: words.Rate
    rts_threshold: words.Size
    short_retry_limit: int


class SinrTable(TypedDict, total=False):
    """Capture by the ratio of signal to interference and noise. This needs powers."""

    preamble_detection: words.Duration
    threshold: words.Decibels


class CaptureNameMargin(TypedDict, total=False):
    """As in ns-2: a frame survives the frames that begin during it if it is stronger than each
    of them by this margin; the later frames are lost."""

    margin: words.Decibels


class CaptureNameSinr(TypedDict, total=False):
    """A frame survives if the ratio of its power to noise and all other frames stays above a
    threshold."""

    sinr: SinrTable


CaptureName = Literal["none"] | CaptureNameMargin | CaptureNameSinr
"""Which of the frames that overlap at a receiver survive."""


class ErrorsNameFrame(TypedDict, total=False):
    """Every frame is lost with this probability, regardless of its length."""

    frame: float


class ErrorsNameBit(TypedDict, total=False):
    """Every bit is wrong with this probability."""

    bit: float


ErrorsName = Literal["none", "snr"] | ErrorsNameFrame | ErrorsNameBit
"""Frame errors without a collision."""
LinkTable = TypedDict(
    "LinkTable",
    {
        "both": bool,
        "delay": words.Duration,
        "from": str,
        "level": words.LevelName,
        "power": words.Power,
        "to": str,
    },
    total=False,
)
"""A link between stations that hear each other."""


class FreeSpaceTable(TypedDict, total=False):
    """Free space."""

    frequency: words.Frequency


class TwoRayTable(TypedDict, total=False):
    """Two-ray ground."""

    antenna_height: words.Length
    frequency: words.Frequency


class LogDistanceTable(TypedDict, total=False):
    """Log-distance."""

    exponent: float
    reference: words.Length
    reference_loss: words.Decibels


class PathLossNameFreeSpace(TypedDict, total=False):
    """Free space (Friis): the square of the distance."""

    free_space: FreeSpaceTable


class PathLossNameTwoRay(TypedDict, total=False):
    """Free space, and beyond a distance that follows from wavelength and antenna height the
    fourth power of the distance. With the defaults here, of `thresholds` and of `stations.power`
    the model is ns-2's: frames are decoded up to 250 m and sensed up to 550 m."""

    two_ray: TwoRayTable


class PathLossNameLogDistance(TypedDict, total=False):
    """A power of the distance beyond a reference distance."""

    log_distance: LogDistanceTable


PathLossName = Literal["ns3"] | PathLossNameFreeSpace | PathLossNameTwoRay | PathLossNameLogDistance
"""The loss of power between two stations."""


class RangesTable(TypedDict, total=False):
    """Ranges."""

    decode: words.Length
    sense: words.Length


class ThresholdsTable(TypedDict, total=False):
    """Thresholds of received power."""

    decode: words.Power
    interfere: words.Power
    sense: words.Power


class MediumTable(TypedDict, total=False):
    """Which stations hear each other, by one of `ranges`, `path_loss` and `links`, and which
    frames are lost."""

    capture: CaptureName
    energy_detection: words.Power
    errors: ErrorsName
    fading: FadingTable
    links: list[LinkTable]
    noise: words.Power
    noise_figure: words.Decibels
    path_loss: PathLossName
    propagation_delay: bool
    ranges: RangesTable
    shadowing: ShadowingTable
    snr: words.Decibels
    thresholds: ThresholdsTable


class NeighboursTable(TypedDict, total=False):
    """Another cell on the channel: an access point and its stations, with traffic of their own.
    The table stands for a station `NAME-ap`, a group of stations `NAME`, flows `NAME-down` and
    `NAME-up`, and links where stations have no positions: a real cell of the same engine."""

    down: float
    heard_by: list[str]
    load: float
    name: str
    position: list[words.Length]
    power: words.Power
    radius: words.Length
    rate: words.FrameRate
    size: words.Size
    snr: words.Decibels
    stations: int


class PhyTable(TypedDict, total=False):
    """A physical layer."""

    band: words.BandName
    basic_rates: list[words.Rate]
    control_rate: words.Rate
    coverage_class: int
    guard_interval: words.Duration
    preamble: words.PreambleName
    rate: words.FrameRate
    rate_control: words.RateControlName
    slot: words.SlotName
    standard: words.Standard
    streams: int
    width: words.Frequency


class RoutingTable(TypedDict, total=False):
    """How routes over the air are computed, for flows without `via`."""

    connected: bool
    metric: words.MetricName


class RoamTable(TypedDict, total=False):
    """A station leaves its access point for another one."""

    at: words.Duration
    to: str


class AssociationTable(TypedDict, total=False):
    """A station that exchanges the frames of an association with an access point before it sends
    and receives data: when it begins, when it is back after it was out of reach, and when it
    roams."""

    access_point: str
    at: words.Duration
    keys: bool
    rate: words.Rate
    roams: list[RoamTable]
    search: words.Duration
    timeout: words.Duration


class DeparturesTable(TypedDict, total=False):
    """The station goes out of reach of all others now and then, without telling its access
    point."""

    first: words.Duration
    jitter: words.Duration
    lasts: words.Duration
    period: words.Duration


class GridTable(TypedDict, total=False):
    """Rows and columns."""

    columns: int
    spacing: words.Length


class TwtTable(TypedDict, total=False):
    """An individual agreement on target wake times (IEEE 802.11ax-2021, 26.8), which holds from
    the beginning."""

    announced: bool
    duration: words.Duration
    first: words.Duration
    interval: words.Duration


class PowerSaveTable(TypedDict, total=False):
    """A station that sleeps while it has no traffic (IEEE 802.11-2016, 11.2.3)."""

    access_point: str
    beacon_wait: words.Duration
    dtims: bool
    listen_interval: int
    max_service_period: words.Packets
    rate: words.Rate
    timeout: words.Duration
    trigger_interval: words.Duration
    twt: TwtTable
    uapsd: list[words.CategoryName]
    wake_up: words.WakeUpName


class RandomTable(TypedDict, total=False):
    """Random positions, uniform over a disc or a rectangle. All replications have the same
    positions."""

    area: list[words.Length]
    min_distance: words.Length
    radius: words.Length
    seed: int


class ScansTable(TypedDict, total=False):
    """The station looks for other access points now and then, on other channels. There it
    neither hears nor sends."""

    access_point: str
    at_once: int
    channels: int
    dwell: words.Duration
    first: words.Duration
    home: words.Duration
    jitter: words.Duration
    period: words.Duration
    tells: bool


class StationTable(TypedDict, total=False):
    """A station, or with `count` a group of them."""

    airtime_weight: int
    association: AssociationTable
    circle: words.Length
    count: int
    departures: DeparturesTable
    grid: GridTable
    like: words.DeviceName
    mac: MacTable
    name: str
    position: list[words.Length]
    power: words.Power
    power_save: PowerSaveTable
    processing_rate: words.PacketRate
    processing_room: words.Packets
    queue: Queue
    random: RandomTable
    rate: words.FrameRate
    rate_control: words.RateControlName
    real: bool
    scans: ScansTable
    step: list[words.Length]


class Description(TypedDict, total=False):
    """A network of 802.11 stations, its traffic, and the duration of the simulation."""

    beacons: list[BeaconsTable]
    behaviour: words.BehaviourName
    buffers: BuffersTable
    changes: list[ChangeTable]
    duration: words.Duration
    flows: list[FlowTable]
    hosts: list[HostTable]
    interference: list[InterferenceTable]
    links: list[RadioLinkTable]
    mac: MacTable
    medium: MediumTable
    neighbours: list[NeighboursTable]
    phy: PhyTable
    queue: Queue
    routing: RoutingTable
    stations: list[StationTable]
    tcp: TcpTable
    warm_up: words.Duration
