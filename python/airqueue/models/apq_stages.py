"""Predicts the result of the APQ measurement for a device whose queues are known.

F. Li, M. Li, R. Lu, H. Wu, M. Claypool, R. Kinicki, *Measuring Queue Capacities of IEEE 802.11
Wireless Access Points* (APQ). A device is a series of stages, each a queue and its server: the IP
queue, the driver's ring, the radio. A measurement from outside sees only the sum of the full stages:

- A stage fills if packets arrive faster than they leave. A stage that *waits* for room in the next
  stage (an IP queue before a driver's ring) is as slow as the next: all stages that wait for the
  slowest fill with it, and all stages behind the slowest stay empty, however long their queues.
- A stage that *drops* packets when full does not hold back the stage before. The stage before
  fills only if it is slower than the flood, and its packets pass faster than the slowest stage's: the
  measurement then sees fewer packets than the stage holds.

The published estimate, Eq. (1), ``q = (D_h - D_l) T / s``, differs from the true number of waiting
packets for four reasons, each derived here and none fitted:

1. *Phase.* An admitted packet takes a place that came free when the last packet went into service, on
   average half a gap of the flood earlier, and waits less by this time. The estimate is low by
   ``μ/(2 S)`` for service rate μ and offered rate S: 0.4 at the least overload that Algorithm 1
   accepts (1.25). Exact in the mean for constant service and a constant-rate flood whose period is
   not a simple multiple of the service time; else the phase is fixed, and the bias lies between
   0 and ``μ/S``.
2. *Baseline.* T counts the flood alone, but admitted baseline packets take places too. One that
   comes a share φ of a gap after a packet of the flood finds a free place with probability
   ``φ μ/S``, so T is low by the share ``φ b/S`` of b baseline packets per second: φ is 1/2 over
   random phases, 0 or 1 where both flows keep step and the baseline's packet comes just after or
   just before the flood's.
3. *Idle medium.* A frame that finds the medium idle is sent without backoff. D_l lacks the backoff,
   D_h has it: the estimate is high by the mean backoff (310 µs for 802.11b) in service times.
4. *Clock drift.* It cancels if D_l is the mean of the medians of both quiet windows. The median of
   their pooled samples lies at the edge of one window, 35 s from the middle of the loaded one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from airqueue.models.airtime import (
    FCS_BYTES,
    HEADER_BYTES,
    LLC_SNAP_BYTES,
    exchange_s,
    mean_backoff_s,
)
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import (
    FloatArray,
    Numbers,
    broadcast,
    called,
    choice,
    finished,
    number,
    numbers,
)
from airqueue.models.errors import ParameterError
from airqueue.models.phys import dsss

BASELINE_PPS = 10.0
STEP_PPS = 50.0
STEP_S = 60.0
HIGH_LOSS = 0.20
"""Algorithm 1 and 2 of APQ: baseline rate; rate step, length of a step and loss of the search."""
T1_END_S, T2_MIDDLE_S, T3_START_S = 25.0, 60.0, 95.0
"""Edges and middle of the windows of Algorithm 2."""
SIZES_BYTES = (750.0, 1500.0)
BYTES_FROM_RATIO = 1.5
"""Between 1 (counts packets) and 2 (counts bytes): the arithmetic middle; the geometric is √2."""
UNITS = ("packets", "bytes")
WHEN_FULL = ("waits", "drops")

_DSSS: Final = dsss("long")
DSSS_OVERHEAD_S: Final = round(
    float(exchange_s(_DSSS, HEADER_BYTES + LLC_SNAP_BYTES + FCS_BYTES, 11e6, control_rate_bps=1e6)),
    9,
)
"""802.11b at 11 Mb/s, long preamble, ACK at 1 Mb/s: all of an exchange but the IP packet, 893 µs."""
DSSS_BACKOFF_S: Final = mean_backoff_s(_DSSS)
"""310 µs."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One queue and its server. Raises ParameterError for an impossible stage.

    limit: packets or bytes that may wait; a byte queue admits a packet that stays within the limit,
    and counts header_bytes with each (14 of Ethernet in Linux). rate_bps, overhead_s: a packet of s
    bytes takes ``overhead_s + 8 s/rate_bps``; None: a packet is handed on as soon as the next stage
    has room. when_full: whether the stage before waits or the packet is lost (the first stage always
    drops, since no stage is before). in_service_counts: the
    packet in service takes one of the places, as in a ring of descriptors.
    """

    limit: float
    rate_bps: float | None = None
    overhead_s: float = 0.0
    unit: str = "packets"
    when_full: str = "waits"
    in_service_counts: bool = False
    header_bytes: float = 14.0

    def __post_init__(self) -> None:
        number("limit", self.limit, at_least=0)
        if self.rate_bps is not None:
            number("rate_bps", self.rate_bps, above=0)
        elif self.in_service_counts:
            raise ParameterError(
                "in_service_counts", "a stage that hands packets on at once has none in service"
            )
        number("overhead_s", self.overhead_s, at_least=0)
        number("header_bytes", self.header_bytes, at_least=0)
        choice("unit", self.unit, UNITS)
        choice("when_full", self.when_full, WHEN_FULL)

    def service_s(self, size_bytes: FloatArray) -> FloatArray:
        """Time that a packet of this IP size takes alone."""
        if self.rate_bps is None:
            return np.full_like(size_bytes, self.overhead_s)
        with np.errstate(over="ignore"):
            time: FloatArray = self.overhead_s + 8.0 * size_bytes / self.rate_bps
        return time

    def places(self, size_bytes: FloatArray) -> FloatArray:
        """Packets of this IP size that may wait, excluding the packet in service."""
        each = size_bytes + self.header_bytes if self.unit == "bytes" else 1.0
        held = np.floor(self.limit / each)
        waiting: FloatArray = np.maximum(held - self.in_service_counts, np.zeros_like(size_bytes))
        return waiting


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted result of a session; fields have the shape of size, rates and drift broadcast."""

    waiting_packets: FloatArray
    """Packets waiting in each stage, 0 where it stays empty; shape (stages, ...)."""
    capacity_packets: FloatArray
    """Packets waiting in all stages, without the packet in service at the slowest stage."""
    full_delay_s: FloatArray
    """Wait of a packet that enters at the moment a place comes free."""
    throughput_bps: FloatArray
    """Rate of the slowest stage, all flows, IP packets."""
    offered_pps: FloatArray
    """S, rate of the flood."""
    loss: FloatArray
    """Share of the flood lost, were there no baseline."""
    fill_at_least_s: FloatArray
    """``capacity/(S - μ)``: the fields above hold only if the flood lasts longer. The paper's loaded
    window begins 10 s after the flood."""
    published_packets: FloatArray
    """q of Eq. (1), D_l being the mean of two medians."""
    pooled_shift_packets: FloatArray
    """Shift of q, up or down, if D_l is the pooled median: the side depends on which window has more
    samples or more scatter. Holds while quiet delays scatter less than the clock drifts in 35 s."""


def estimate_packets(delay_s: Numbers, throughput_bps: Numbers, size_bytes: Numbers) -> FloatArray:
    """Return ``q = (D_h - D_l) T / (8 s)``, Eq. (1) of APQ.

    delay_s: D_h - D_l. throughput_bps: T, of IP packets of size_bytes. Raises ParameterError.

    >>> float(estimate_packets(0.584, 6.7e6, 1500).round(1))
    326.1
    """
    delay, rate, size = broadcast(
        delay_s=numbers("delay_s", delay_s, at_least=0),
        throughput_bps=numbers("throughput_bps", throughput_bps, at_least=0),
        size_bytes=numbers("size_bytes", size_bytes, above=0),
    )
    with np.errstate(over="ignore"):
        return finished("q", delay * (rate / (8.0 * size)))


def saturation_rate_pps(service_pps: Numbers, held_packets: Numbers = 0.0) -> FloatArray:
    """Return the final S_sat of Algorithm 1, in packets/s.

    service_pps: μ. held_packets: Q, which the empty queue takes in during a step's 60 s, so that
    ``R = μ + Q/60`` of S are received. The first rate that loses 20 % is the least multiple of 50
    that is at least ``R/0.8``; the middle one of three such rates is one step above it. Valid
    without loss on the air. Raises ParameterError.

    >>> float(saturation_rate_pps(504.3))
    700.0
    """
    rate, held = broadcast(
        service_pps=numbers("service_pps", service_pps, above=0),
        held_packets=numbers("held_packets", held_packets, at_least=0),
    )
    with np.errstate(over="ignore"):
        steps = (rate + held / STEP_S) / ((1.0 - HIGH_LOSS) * STEP_PPS)
        # A loss of exactly 20 % counts; rounding must not push it to the next step.
        first = np.ceil(steps * (1.0 - 1e-12))
        return finished("S_sat", STEP_PPS * (first + 1.0))


def predict(
    stages: Sequence[Stage],
    size_bytes: Numbers = SIZES_BYTES[1],
    *,
    offered_pps: Numbers | None = None,
    baseline_pps: Numbers = BASELINE_PPS,
    baseline_phase: Numbers = 0.5,
    idle_saving_s: Numbers = 0.0,
    drift_ppm: Numbers = 0.0,
) -> Prediction:
    """Predict what the APQ measurement shows of ``stages``, first to last.

    size_bytes: s, IP size of every packet. offered_pps: S; None for the rate that Algorithm 1 finds.
    baseline_pps, baseline_phase: b and φ. idle_saving_s: time that an idle medium saves a packet
    (`DSSS_BACKOFF_S`). drift_ppm: rate of one clock against the other.

    Valid for one FIFO per stage, drop-tail, with constant service times and no other traffic; random
    service times with the same mean leave capacity and delay and move the phase a little. Of
    equally slow stages the first fills. A stage that is hardly slower than the stage before fills at
    the difference of their rates, which may take longer than a session, as may a long queue
    (`Prediction.fill_at_least_s`). Raises ParameterError, also where the flood fills no
    stage.

    >>> host_ap = (Stage(50), Stage(40, rate_bps=11e6, overhead_s=DSSS_OVERHEAD_S))
    >>> seen = predict(host_ap, baseline_pps=0)
    >>> float(seen.capacity_packets), float(seen.published_packets.round(1))
    (90.0, 89.6)
    """
    given = {
        "size_bytes": numbers("size_bytes", size_bytes, above=0),
        "baseline_pps": numbers("baseline_pps", baseline_pps, at_least=0),
        "baseline_phase": numbers("baseline_phase", baseline_phase, at_least=0, at_most=1),
        "idle_saving_s": numbers("idle_saving_s", idle_saving_s, at_least=0),
        "drift_ppm": numbers("drift_ppm", drift_ppm),
    }
    if offered_pps is not None:
        given["offered_pps"] = numbers("offered_pps", offered_pps, above=0)
    size, baseline, phase, saving, drift, *sent = broadcast(**given)
    service = _service_times(stages, size)
    offered = sent[0] if sent else _found_rate_pps(stages, service, size)
    gap, (wait, held, missed, last_gap) = _flooded(stages, service, size, offered)
    rate = 1.0 / last_gap
    flood_rate = rate * (1.0 - np.minimum(1.0, phase * baseline * gap))
    full_delay = wait.sum(axis=0)
    edge_s = T2_MIDDLE_S - T1_END_S
    with np.errstate(over="ignore"):
        return Prediction(
            waiting_packets=finished("waiting", held),
            capacity_packets=finished("capacity", held.sum(axis=0)),
            full_delay_s=finished("delay", full_delay),
            throughput_bps=finished("T", 8.0 * size * rate),
            offered_pps=finished("S", offered),
            loss=finished("loss", 1.0 - gap / last_gap),
            fill_at_least_s=finished("fill", held.sum(axis=0) * gap / (1.0 - gap / last_gap)),
            published_packets=finished(
                "q", np.maximum(0.0, full_delay - missed + saving) * flood_rate
            ),
            pooled_shift_packets=finished("shift", edge_s * np.abs(drift) * 1e-6 * flood_rate),
        )


@dataclass(frozen=True, slots=True)
class SizeRatio:
    """Comparison of estimates with small and with large packets."""

    ratio: FloatArray
    """q(small)/q(large): near 1 if packets are counted, near the sizes' ratio if bytes are."""
    counts: str
    """"packets" or "bytes": whether the ratio reaches `BYTES_FROM_RATIO`."""


def size_ratio(
    stages: Sequence[Stage],
    small_bytes: float = SIZES_BYTES[0],
    large_bytes: float = SIZES_BYTES[1],
    threshold: float = BYTES_FROM_RATIO,
    **session: Any,
) -> SizeRatio:
    """Predict the paper's test for packets or bytes: Eq. (1) with both sizes, each at its own S_sat.

    ``session``: keywords of `predict`. A byte limit that holds few packets gives more than the
    sizes' ratio, since only whole packets fit. A byte queue before a ring of descriptors gives a
    ratio between 1 and 2: such a device counts neither, whatever the threshold says. Raises
    ParameterError, also if no packet of the large size fits.

    >>> test = size_ratio([Stage(1e6, rate_bps=20e6, unit="bytes")])
    >>> float(test.ratio.round(2)), test.counts
    (1.98, 'bytes')
    """
    small = number("small_bytes", small_bytes, above=0)
    large = number("large_bytes", large_bytes, above=small)
    limit = number("threshold", threshold, above=0)
    for name, value in session.items():
        number(name, 0.0 if value is None else value)
    both = predict(stages, [small, large], **session).published_packets
    if both[1] <= 0:
        raise ParameterError(
            "large_bytes", "no packet of large_bytes finds room; it must fit in the queue"
        )
    ratio = finished("ratio", both[0] / both[1])
    return SizeRatio(ratio, UNITS[int(ratio >= limit)])


def _service_times(stages: Sequence[Stage], size: FloatArray) -> FloatArray:
    """Service time of every stage; shape (stages, ...)."""
    if not stages:
        raise ParameterError("stages", "there is no stage; give at least one")
    if stages[-1].rate_bps is None:
        raise ParameterError("stages", "the last stage has no rate; give it one")
    times = np.stack([stage.service_s(size) for stage in stages])
    return np.asarray(finished("service time", times))


def _found_rate_pps(stages: Sequence[Stage], service: FloatArray, size: FloatArray) -> FloatArray:
    """Return the rate that Algorithm 1 finds: its steps overload every stage that can fill."""
    _, held, _, last_gap = _fill(stages, service, size, np.zeros_like(size))
    return np.asarray(saturation_rate_pps(1.0 / last_gap, held.sum(axis=0)))


def _flooded(
    stages: Sequence[Stage], service: FloatArray, size: FloatArray, offered_pps: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Return the flood's gap and the result of `_fill`; ParameterError if no stage fills."""
    with np.errstate(over="ignore"):
        gap = 1.0 / offered_pps
    filled = _fill(stages, service, size, gap)
    _, held, _, last_gap = filled
    if not np.all(held.sum(axis=0) + (last_gap > gap) > 0):
        raise ParameterError(
            "offered_pps",
            f"a flood of {float(np.min(offered_pps)):g} packets/s fills no stage; it must be above "
            f"{float(np.max(1.0 / service.max(axis=0))):g}",
        )
    return gap, filled


@np.errstate(over="ignore")
def _fill(
    stages: Sequence[Stage], service: FloatArray, size: FloatArray, gap: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return (wait in s, packets waiting) of each stage, the reduction by phases, and the last gap.

    ``gap``: time between packets at the entrance, then between packets that reach a stage if no
    stage behind holds them back. A full stage passes packets on at intervals of ``pace``: its own
    service time, or that of a slower stage for which it waits.
    """
    pace = service.copy()
    for k in range(len(stages) - 2, -1, -1):
        if stages[k + 1].when_full == "waits":
            pace[k] = np.maximum(pace[k], pace[k + 1])
    held, wait = np.zeros_like(pace), np.zeros_like(pace)
    missed = np.zeros(pace.shape[1:])
    for k, stage in enumerate(stages):
        full = gap < pace[k]
        # A server that waits for room keeps its finished packet: one place more, in which the packet
        # spends the pace instead of its service time.
        blocked = (stage.rate_bps is not None) & (pace[k] > service[k])
        waiting = stage.places(size) + blocked
        held[k] = np.where(full, waiting, 0.0)
        wait[k] = np.where(full, waiting * pace[k] - blocked * service[k], 0.0)
        if k == 0 or stage.when_full == "drops":
            missed = missed + np.where(full, gap / 2.0, 0.0)
        gap = np.maximum(gap, service[k])
    return wait, held, missed, gap


_KEYS: Final = {"limit": "limits", "rate_bps": "rates_bps", "stages": "rates_bps"}
"""The command's parameters, by those of the functions above."""


def _evaluate(
    *,
    limits: Sequence[float],
    rates_bps: Sequence[float],
    unit: str,
    when_full: str,
    overhead_s: float,
    size_bytes: float,
    offered_pps: float | None,
    baseline_pps: float,
    baseline_phase: float,
    idle_saving_s: float,
    drift_ppm: float,
) -> dict[str, float | str | list[float] | None]:
    session: dict[str, Any] = {
        "baseline_pps": baseline_pps,
        "baseline_phase": baseline_phase,
        "idle_saving_s": idle_saving_s,
        "drift_ppm": drift_ppm,
    }
    with called(_KEYS):
        stages = _stages(limits, rates_bps, unit, when_full, overhead_s)
        seen = predict(stages, size_bytes, offered_pps=offered_pps, **session)
    try:
        test = size_ratio(stages, **session)
        ratio, counts = float(test.ratio), test.counts
    except ParameterError:
        # `predict` has checked the rest: only the sizes of the test may not fit a queue of bytes.
        ratio, counts = None, None
    return {
        "capacity_packets": float(seen.capacity_packets),
        "waiting_packets": [float(packets) for packets in seen.waiting_packets],
        "full_delay_s": float(seen.full_delay_s),
        "throughput_bps": float(seen.throughput_bps),
        "flood_pps": float(seen.offered_pps),
        "loss": float(seen.loss),
        "fill_at_least_s": float(seen.fill_at_least_s),
        "published_packets": float(seen.published_packets),
        "pooled_shift_packets": float(seen.pooled_shift_packets),
        "size_ratio": ratio,
        "counts": counts,
    }


def _stages(
    limits: Sequence[float],
    rates_bps: Sequence[float],
    unit: str,
    when_full: str,
    overhead_s: float,
) -> list[Stage]:
    """Return the stages: a single rate is the last stage's, the others hand packets on at once."""
    rates: list[float | None] = [rate or None for rate in rates_bps]
    if len(rates) == 1:
        rates[:0] = [None] * (len(limits) - 1)
    if len(rates) != len(limits):
        raise ParameterError(
            "rates_bps",
            f"there are {len(rates)} rates for {len(limits)} stages; give one for each, or one",
        )
    last = len(limits) - 1
    return [
        Stage(limit, rate, overhead_s if k == last else 0.0, unit, when_full)
        for k, (limit, rate) in enumerate(zip(limits, rates, strict=True))
    ]


MODEL = Model(
    name="apq-stages",
    summary="Result of the APQ measurement of a device with known stages of queues (APQ, Eq. 1).",
    parameters=(
        Parameter(
            "limits",
            "packets or bytes that may wait in each stage, first to last",
            kind=Kind.NUMBERS,
        ),
        Parameter(
            "rates_bps",
            "rate of each stage, 0: hands packets on at once; a single rate is the last stage's",
            (11e6,),
            Kind.RATES,
        ),
        Parameter("unit", "unit of the limits", "packets", Kind.CHOICE, UNITS),
        Parameter(
            "when_full", "a stage without room: the one before", "waits", Kind.CHOICE, WHEN_FULL
        ),
        Parameter(
            "overhead_s", "time per packet at the last stage", DSSS_OVERHEAD_S, Kind.DURATION
        ),
        Parameter("size_bytes", "s, IP packets", SIZES_BYTES[1], Kind.SIZE),
        Parameter("offered_pps", "S, rate of the flood; not given: as Algorithm 1 finds", None),
        Parameter("baseline_pps", "b, baseline flow in packets/s", BASELINE_PPS),
        Parameter("baseline_phase", "φ, its phase in a gap of the flood, 0 to 1", 0.5),
        Parameter("idle_saving_s", "time that an idle medium saves", DSSS_BACKOFF_S, Kind.DURATION),
        Parameter("drift_ppm", "drift of the clocks", 0.0),
    ),
    outputs=(
        Output("capacity_packets", "packets waiting in all full stages"),
        Output("waiting_packets", "packets waiting in each stage"),
        Output("full_delay_s", "wait in the full queues"),
        Output("throughput_bps", "T: rate of the slowest stage"),
        Output("flood_pps", "S: rate of the flood, given or found"),
        Output("loss", "share of the flood that is lost"),
        Output("fill_at_least_s", "least time to fill; above 10 s the paper's session sees less"),
        Output("published_packets", "q of Eq. (1)"),
        Output("pooled_shift_packets", "shift of q by drift, up or down, with a pooled median"),
        Output("size_ratio", "q(750 bytes) / q(1500 bytes); none if 1500 do not fit"),
        Output("counts", "packets or bytes, by that ratio"),
    ),
    evaluate=_evaluate,
    example="limits=50,40 drift_ppm=100",
    valid="One drop-tail FIFO a stage, constant service times, no other traffic, a flood that fills "
    "the queues in time (fill_at_least_s). The size test runs at each size's own saturation rate.",
)
