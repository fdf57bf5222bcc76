"""The result of a measurement as JSON has it: names, types, units and meaning.

Written by scripts/measurement_types.py from schema.json: change that, then ``make types``. Units are
in the names; None: not measured or not applicable.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Resolution(TypedDict):
    """What the device's own behaviour (bursts, ticks) keeps the method from telling apart."""

    packets: float
    because: str


class PathMtu(TypedDict):
    """Largest IP packet that arrived in the search before the measurement."""

    bytes: int
    at_least: bool
    """Larger ones were not tried."""


class TokenBucket(TypedDict):
    """What passes at once after a rest, in bytes of Ethernet frames."""

    bytes: float | None
    ci95_bytes: list[float] | None
    at_least: bool
    """The longest rest did not fill the bucket."""


class Parameter(TypedDict):
    """A parameter of a discipline, with its 95 % interval."""

    value: float
    ci95: list[float]


class Parameters(TypedDict):
    """Parameters that the records tell."""

    target_s: NotRequired[Parameter]
    interval_s: NotRequired[Parameter]


class Evidence(TypedDict):
    """One observation behind the verdict."""

    says: str
    """A sentence."""
    name: str
    """Stable name of the test."""
    value: float | None
    ci95: list[float] | None


class Discipline(TypedDict):
    """A queue discipline: how flows share the path, and how packets are chosen that are dropped."""

    name: (
        Literal[
            "fifo",
            "codel",
            "cobalt",
            "pie",
            "red",
            "managed",
            "fifo_by_flow",
            "fq_codel",
            "cake",
            "fq_codel_or_cake",
            "fq_pie",
            "managed_by_flow",
            "sparse_first",
            "policer",
        ]
        | None
    )
    """null: undecided."""
    says: str
    """The name in words."""
    sharing: Literal["one_queue", "by_flow", "sparse_first", "undecided"]
    management: Literal[
        "tail_drop",
        "codel",
        "cobalt",
        "codel_or_cobalt",
        "pie",
        "red",
        "no_queue",
        "unknown",
        "undecided",
    ]
    """no_queue: packets are dropped without a wait; unknown: managed, by none of the others."""
    parameters: Parameters
    """Parameters that the records tell."""
    hard_limit_packets: float | None
    """Packets that waited when the queue was full; null: never seen full."""
    evidence: list[Evidence]


class LostShare(TypedDict):
    """Of the packets of each ECN field in the same overload."""

    not_ect: NotRequired[float]
    ect_0: NotRequired[float]
    ect_1: NotRequired[float]


class ClassWaits(TypedDict):
    """What packets of a DSCP wait beside a best-effort flood of the same five-tuple."""

    ef: Literal["less", "alike", "more", "undecided"]
    """DSCP 46."""
    nqb: Literal["less", "alike", "more", "undecided"]
    """DSCP 45."""
    cs1: Literal["less", "alike", "more", "undecided"]
    """DSCP 8."""


class Changed(TypedDict):
    """A value of a field of the IP header that arrives as another one."""

    field: Literal["dscp", "ecn"]
    sent: int
    arrived: int


class Classes(TypedDict):
    """How a device treats traffic classes: the ECN field and the DSCP."""

    ecn: Literal["marks", "drops", "undecided"]
    """Whether ECT(0) packets are marked in an overload, or dropped only."""
    marked_share: float | None
    """Of the ECT(0) packets that arrived in the overload; null: marks cannot be told."""
    lost_share: LostShare
    """Of the packets of each ECN field in the same overload."""
    l4s: Literal["apart", "alike", "undecided"]
    """Whether ECT(1) packets are marked more often, or wait otherwise, than ECT(0) packets."""
    waits: ClassWaits
    changed: list[Changed]
    """Values that the path replaces."""
    evidence: list[Evidence]


class EstimateOfSize(TypedDict):
    """An estimator over the accepted sessions with one packet size."""

    packets: float | None
    ci95_packets: list[float] | None
    bytes: float | None
    sessions: int
    """Sessions behind the interval."""


class Estimator(TypedDict):
    """An estimator over all accepted sessions; bytes include the link-layer header."""

    packets: float | None
    bytes: float | None
    ci95_packets: list[float] | None
    ci95_bytes: list[float] | None
    by_size: dict[str, EstimateOfSize]


class Estimators(TypedDict):
    """Each estimator over all accepted sessions; null where it is silent."""

    published: Estimator | None
    corrected: Estimator | None
    counting: Estimator | None
    fill_drain: Estimator | None


class Estimates(TypedDict):
    """Packets, one number per estimator."""

    published: NotRequired[float | None]
    corrected: NotRequired[float | None]
    counting: NotRequired[float | None]
    fill_drain: NotRequired[float | None]


class Session(TypedDict):
    """One session."""

    size_bytes: int
    index: int
    accepted: bool
    discarded_because: str | None
    steady: bool
    """The rate held still; otherwise published and corrected are null."""
    estimates: Estimates
    """Packets, one number per estimator."""
    throughput_bps: float | None
    loss: float | None
    delay_full_s: float | None
    sparse_idle_p50_s: NotRequired[float | None]
    """Delay of the sparse flows' packets above the quiet path, median, without the flood."""
    sparse_idle_p95_s: NotRequired[float | None]
    """The same, 95th percentile."""
    sparse_loaded_p50_s: NotRequired[float | None]
    """The same beside the flood, median: what a call feels."""
    sparse_loaded_p95_s: NotRequired[float | None]
    """The same beside the flood, 95th percentile; null where most of the packets were lost."""
    started_s: float | None
    elapsed_s: float | None


class SearchStep(TypedDict):
    """One step of the search for the rate that fills the queue."""

    size_bytes: int
    planned_pps: float | None
    offered_pps: float | None
    received_pps: float | None
    loss: float | None
    delay_s: float | None


class Quantiles(TypedDict):
    """Quantiles of times in seconds."""

    p50: float | None
    p99: float | None
    max: NotRequired[float | None]


class ClockSkewPpm(TypedDict):
    """How much faster one clock runs than the other."""

    value: float
    ci95: list[float] | None


class Hosts(TypedDict):
    """What the hosts at both ends did to the packets."""

    pacing_error_s: Quantiles | None
    local_queueing_s: Quantiles | None
    send_blocked: int
    receive_overflow: int
    duplicates: int
    clock_steps: int
    clock_skew_ppm: ClockSkewPpm | None
    kernel_receive_timestamps: bool


class Truth(TypedDict):
    """What the test bed was configured to hold; absent for real devices."""

    counted_in: Literal["packets", "bytes"]
    capacity: float | None
    discipline: NotRequired[str]
    """Queue discipline of the kernel, by its name in tc; absent for a FIFO."""
    parameters: NotRequired[list[str]]
    """Its parameters in tc's words, those that were given."""
    settings: NotRequired[dict[str, object]]
    """The kernel's own settings of the queue, defaults included, as tc shows them."""


class Document(TypedDict):
    """Result of `airqueue measure` and `airqueue analyze`. Units are in the names; null: not
    measured or not applicable."""

    format: Literal["airqueue-measurement"]
    version: Literal[1]
    airqueue: str
    """Version of airqueue that wrote the result."""
    created: str
    """RFC 3339, UTC."""
    profile: Literal["quick", "paper", "capture"]
    direction: Literal["down", "up"]
    """down: from the server to the machine that measures."""
    target: str
    """host:port of the server, or the file that was analysed."""
    verdict: Literal[
        "fifo",
        "isolated",
        "not_flat",
        "policer",
        "sender_limited",
        "receiver_limited",
        "not_saturable",
        "undecided",
    ]
    counted_in: Literal["packets", "bytes", "undecided"]
    capacity: float | None
    """What waits when the queue is full, without the packet in service, in capacity_unit; only
    with verdict fifo."""
    capacity_unit: Literal["packets", "bytes"] | None
    ci95: list[float] | None
    """95 % confidence interval of capacity."""
    resolution: Resolution | None
    """What the device's own behaviour (bursts, ticks) keeps the method from telling apart."""
    in_service_packets: float | None
    """Packets being transmitted, held apart from capacity."""
    path_mtu: PathMtu | None
    token_bucket: NotRequired[TokenBucket | None]
    """Depth of the token bucket of a shaper or a policer, where floods show one; absent in
    results of earlier versions."""
    drop_from: Literal["tail", "head"] | None
    delay_full_s: float | None
    """Delay when full, above the quiet path."""
    quiet_jitter_s: float | None
    rate_bps: float | None
    """Rate at which the full queue drains, IP packets."""
    rate_pps: dict[str, float | None]
    """Drain rate in packets per second by packet size."""
    discipline: NotRequired[Discipline | None]
    """Which queue discipline this is, where runs for that were made; absent in results of
    earlier versions."""
    classes: NotRequired[Classes | None]
    """How traffic classes are treated, where a run for that was made; absent in results of
    earlier versions."""
    evidence: list[Evidence]
    warnings: list[str]
    estimators: Estimators
    """Each estimator over all accepted sessions; null where it is silent."""
    sessions: list[Session]
    discarded_sessions: int
    discard_reasons: dict[str, int]
    """Number of discarded sessions by reason."""
    search: list[SearchStep]
    hosts: Hosts
    elapsed_s: float
    interrupted: bool
    """The user stopped it; the result is of what was there."""
    truth: NotRequired[Truth]
    """What the test bed was configured to hold; absent for real devices."""
