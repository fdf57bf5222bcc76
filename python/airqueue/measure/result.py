"""The result of a measurement: the dataclass behind the JSON that `schema.json` describes."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from airqueue.measure.document import Document, Hosts, Resolution, SearchStep

FORMAT = "airqueue-measurement"
VERSION = 1

Verdict = Literal[
    "fifo",
    "isolated",
    "not_flat",
    "policer",
    "sender_limited",
    "receiver_limited",
    "not_saturable",
    "undecided",
]
CountedIn = Literal["packets", "bytes", "undecided"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation behind the verdict, as a sentence and as a number."""

    name: str
    says: str
    value: float | None = None
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class EstimatorResult:
    """One estimator over all accepted sessions; bytes include the link-layer header."""

    packets: float | None
    ci95_packets: tuple[float, float] | None
    bytes: float | None
    ci95_bytes: tuple[float, float] | None
    by_size: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SessionResult:
    """One session's row; ``without`` names estimators silenced because the rate was not steady."""

    size_bytes: int
    index: int
    accepted: bool
    discarded_because: str | None
    steady: bool
    estimates: dict[str, float | None]
    throughput_bps: float
    loss: float
    delay_full_s: float | None
    started_s: float | None
    elapsed_s: float | None
    sparse_idle_p50_s: float | None = None
    """Delay of the sparse flows above the quiet path: without the flood, and beside it."""
    sparse_idle_p95_s: float | None = None
    sparse_loaded_p50_s: float | None = None
    sparse_loaded_p95_s: float | None = None


@dataclass(frozen=True, slots=True)
class PathMtu:
    """Largest IP packet that arrived in the search before the measurement.

    ``at_least``: larger ones were not tried.
    """

    bytes: int
    at_least: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a discipline, in the unit of its name, with its 95 % interval."""

    value: float
    ci95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Depth of the bucket of a shaper or a policer: what passes at once after a rest.

    In bytes of Ethernet frames. ``at_least``: the longest rest did not fill the bucket; then there is
    no interval. See `airqueue.measure.bucket`.
    """

    bytes: float
    ci95_bytes: tuple[float, float] | None
    at_least: bool


Sharing = Literal["one_queue", "by_flow", "sparse_first", "undecided"]
Management = Literal[
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


@dataclass(frozen=True, slots=True)
class Discipline:
    """Which queue discipline a device has, as far as `airqueue.measure.disciplines` tells.

    ``name``: None where it is undecided. ``hard_limit_packets``: what waited when the queue was full,
    beside what manages it.
    """

    name: str | None
    says: str
    sharing: Sharing
    management: Management
    parameters: dict[str, Parameter]
    hard_limit_packets: float | None
    evidence: tuple[Evidence, ...]


Ecn = Literal["marks", "drops", "undecided"]
L4s = Literal["apart", "alike", "undecided"]
Waits = Literal["less", "alike", "more", "undecided"]


@dataclass(frozen=True, slots=True)
class Changed:
    """A value of a field of the IP header that the path replaces by another one."""

    field: Literal["dscp", "ecn"]
    sent: int
    arrived: int


@dataclass(frozen=True, slots=True)
class Classes:
    """How a device treats traffic classes, as far as `airqueue.measure.disciplines` tells.

    ``marked_share``: of the ECT(0) packets that arrived under overload; ``lost_share`` by ECN field.
    ``l4s``: whether ECT(1) is treated apart from ECT(0). ``waits``: what packets of a DSCP wait
    beside a flood of best effort, and as part of the same flow.
    """

    ecn: Ecn
    marked_share: float | None
    lost_share: dict[str, float]
    l4s: L4s
    waits: dict[str, Waits]
    changed: tuple[Changed, ...]
    evidence: tuple[Evidence, ...]


@dataclass(slots=True)
class Measurement:
    """The whole result. Its fields are explained in ``docs/output.md``; units are in the names."""

    airqueue: str
    created: str
    profile: str
    direction: str
    target: str
    verdict: Verdict = "undecided"
    counted_in: CountedIn = "undecided"
    capacity: float | None = None
    capacity_unit: Literal["packets", "bytes"] | None = None
    ci95: tuple[float, float] | None = None
    resolution: Resolution | None = None
    in_service_packets: float | None = None
    path_mtu: PathMtu | None = None
    drop_from: Literal["tail", "head"] | None = None
    delay_full_s: float | None = None
    quiet_jitter_s: float | None = None
    rate_bps: float | None = None
    rate_pps: dict[str, float] = field(default_factory=dict)
    token_bucket: TokenBucket | None = None
    discipline: Discipline | None = None
    classes: Classes | None = None
    evidence: list[Evidence] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    estimators: dict[str, EstimatorResult | None] = field(default_factory=dict)
    sessions: list[SessionResult] = field(default_factory=list)
    discarded_sessions: int = 0
    discard_reasons: dict[str, int] = field(default_factory=dict)
    search: list[SearchStep] = field(default_factory=list)
    hosts: Hosts | dict[str, object] = field(default_factory=dict)
    elapsed_s: float = 0.0
    interrupted: bool = False
    truth: dict[str, Any] | None = None

    def to_json(self) -> Document:
        """Return plain JSON values; numbers that do not exist (NaN, infinite) become None."""
        body = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}
        if self.truth is None:
            del body["truth"]
        return cast("Document", _plain(body))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        if isinstance(value, tuple) and any(_unbounded(v) for v in value):
            return None  # a single sample gives an unbounded interval, which is not shown
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return None if _unbounded(value) else value
    if hasattr(value, "item"):
        return _plain(value.item())
    return value


def _unbounded(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
