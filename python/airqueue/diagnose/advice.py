"""What to set after a diagnosis: one recommendation, its reason, and the lines to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from airqueue import text
from airqueue.diagnose.felt import Trips
from airqueue.diagnose.losses import Lost
from airqueue.diagnose.queue import waits_most
from airqueue.diagnose.records import Direction, Load
from airqueue.diagnose.where import Finding
from airqueue.qoe import GAME_ROUND_TRIP_S
from airqueue.sizing.advice import Settings
from airqueue.sizing.ap_parts import Asked, flow_queueing
from airqueue.sizing.measured import RTT_S, MeasuredAir, tcp_share
from airqueue.sizing.settings import sqm

SIZE_BYTES: Final = 1500
TOLERABLE_S: Final = GAME_ROUND_TRIP_S / 2
"""A wait in the radio network that is left as it is: half of what a fast game bears is the path's."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One thing to do, why, and how."""

    do: str
    """leave, flow-queueing, limit, shape-access-point, shape-line, shape-station, find-losses or
    nothing-known."""
    headline: str
    settings: tuple[Settings, ...] = ()


@dataclass(frozen=True, slots=True)
class Asking:
    """Names of devices in the settings."""

    device: str = "wlan0"
    line: str = sqm.WAN
    """That of the router which leads to the line."""


def recommend(
    findings: Sequence[Finding],
    felt: Sequence[Trips],
    asking: Asking,
    lost: Lost | None = None,
    *,
    measured: bool = False,
    slow: str | None = None,
) -> Recommendation:
    """Return the recommendation for the load that adds most; ``felt`` has the trips of each load.

    lost: losses that are noticed, which matter where nobody waits.
    measured: whether a measurement of the queue was tried, which then does not tell what it is.
    slow: why the load may show nothing, from `airqueue.diagnose.before`.
    """
    worst = waits_most(findings)
    if worst is None:
        return _without_lag(findings, lost, slow)
    if worst.place in ("line", "both"):
        return shape_line(line_rates(findings), asking, also_radio=worst.place == "both")
    rate_bps = tcp_bps(load_through(findings, worst))
    most_s = longest_s(worst, felt[findings.index(worst)])
    if most_s <= TOLERABLE_S:
        return _leave_radio(worst, most_s)
    if worst.place == "station":
        return shape_station(rate_bps, asking)
    return _access_point(worst, most_s, rate_bps, asking, measured=measured)


def _without_lag(
    findings: Sequence[Finding], lost: Lost | None, slow: str | None
) -> Recommendation:
    if findings and all(finding.place == "none" for finding in findings):
        if lost:
            return Recommendation("find-losses", lost.advice)
        if slow is not None:
            says = "Change nothing on this evidence: a queue that is full already waits no longer."
            return Recommendation("nothing-known", says)
        says = "Leave everything as it is: under load nobody waits longer."
        return Recommendation("leave", says)
    says = "Change nothing on this evidence: it does not say where packets wait."
    return Recommendation("nothing-known", says)


def load_through(
    findings: Sequence[Finding], finding: Finding, direction: Direction | None = None
) -> Load | None:
    """Return the load whose data go through the queue of a finding; None: there was none.

    direction: of the queue, by default `Finding.direction`.
    """
    way, site = direction or finding.direction, finding.load.site
    loads = [finding.load, *(each.load for each in findings)]
    return next((load for load in loads if (load.site, load.direction) == (site, way)), None)


def tcp_bps(load: Load | None) -> float | None:
    """Return what the air carries of TCP under a load: of a flood, less its acknowledgements."""
    if load is None:
        return None
    if load.kind == "flood" and load.carried_bps:
        return load.carried_bps * tcp_share({SIZE_BYTES: 8 * SIZE_BYTES / load.carried_bps})
    return load.carried_bps


def line_rates(findings: Sequence[Finding]) -> dict[Direction, float]:
    """Return the rate of each direction of the line in which packets wait."""
    rates = {}
    for finding in findings:
        for way in finding.ways if finding.place in ("line", "both") else ():
            load = load_through(findings, finding, way)
            if load is not None and load.carried_bps:
                rates[way] = load.carried_bps
    return rates


def shape_line(
    rates: Mapping[Direction, float], asking: Asking, *, also_radio: bool = False
) -> Recommendation:
    """Shape each direction of the line that lags, a little below its rate."""
    if not rates:
        says = (
            "Shape the line on the router with flow queueing (SQM, cake); its rate in the direction "
            "in which packets wait is not known: load both directions."
        )
        return Recommendation("shape-line", says)
    words = " and ".join(
        f"{text.rate(1e3 * sqm.shaped_kbit(bps))} {way}wards" for way, bps in rates.items()
    )
    says = (
        f"Shape the line on the router to {words} with flow queueing (SQM, cake): packets wait in "
        "front of the line, where no setting of the access point reaches them; before a slower "
        "shaper they wait in the router, where flows need not wait behind each other."
    )
    if also_radio:
        says += " Then diagnose again: packets wait in the radio network as well."
    return Recommendation(
        "shape-line", says, sqm.line(rates.get("down"), rates.get("up"), asking.line)
    )


def shape_station(rate_bps: float | None, asking: Asking) -> Recommendation:
    """Shape what this machine sends below the rate at which the air carried it."""
    if not rate_bps:
        says = (
            "Let this machine's own queue be managed (fq_codel); the rate of its uploads is not "
            "known: load both directions."
        )
        return Recommendation("shape-station", says)
    says = (
        "Manage the queue of this machine: its uploads wait in its own driver, in front of the "
        f"air. Shape what it sends to {text.rate(1e3 * sqm.shaped_kbit(rate_bps))} with flow "
        "queueing (cake), or use a driver with mac80211's queues."
    )
    return Recommendation("shape-station", says, sqm.station(asking.device, rate_bps))


def _leave_radio(worst: Finding, most_s: float) -> Recommendation:
    """Change nothing where the wait is no more than a game bears: frames take time, too."""
    assert worst.rise is not None
    owner = "this machine" if worst.place == "station" else "the access point"
    says = (
        f"Leave {owner} as it is: behind a transfer a packet of a call or a game waits "
        f"{text.seconds(worst.rise.value)} there (95 % of them: {text.seconds(most_s)}), no more "
        "than half of what a fast game bears; aggregated frames in the air take some of this."
    )
    return Recommendation("leave", says)


def _access_point(
    worst: Finding, most_s: float, rate_bps: float | None, asking: Asking, *, measured: bool
) -> Recommendation:
    """Recommend flow queueing where the wait is more than a game bears beside the path itself."""
    assert worst.rise is not None
    waits_s = worst.rise.value
    if not rate_bps:
        says = (
            "Use flow queueing (FQ-CoDel) at the access point; what the air carries downwards is not "
            "known: load both directions."
        )
        return Recommendation("flow-queueing", says)
    says = (
        f"{sqm.use_flow_queueing(rate_bps)}: a packet of a call or a game waits "
        f"{text.seconds(waits_s)} behind a transfer there."
    )
    if not measured:
        says += " With `--queue` a diagnosis also says what queue this is, and what it holds."
    return Recommendation("flow-queueing", says, by_flow(waits_s, most_s, rate_bps, asking))


def by_flow(waits_s: float, most_s: float, rate_bps: float, asking: Asking) -> tuple[Settings, ...]:
    """Return the settings of flow queueing at the access point.

    rate_bps: what the air carries of TCP. A shaper makes a queue at any device; what does not shape
    fills only where the queue is a qdisc.
    """
    asked = Asked(RTT_S, 1, device=asking.device)
    return (
        *sqm.access_point(asking.device, rate_bps),
        flow_queueing(_air(waits_s, most_s, rate_bps), asked, instead=True),
    )


def longest_s(worst: Finding, trips: Trips) -> float:
    """Return what 95 % of packets wait under a load, at most."""
    assert worst.rise is not None
    return worst.rise.value + _beyond_median_s(trips)


def _beyond_median_s(trips: Trips) -> float:
    """Return by how much the 95th percentile exceeds the median."""
    return 0.0 if trips.p50_s is None or trips.p95_s is None else trips.p95_s - trips.p50_s


def _air(waits_s: float, most_s: float, rate_bps: float) -> MeasuredAir:
    """Return the access point as sizing knows one whose queue is not a FIFO of known length."""
    return MeasuredAir(
        packet_bytes=float(SIZE_BYTES),
        capacity_bps=rate_bps,
        aggregated_packets=0,
        mpdus=0,
        verdict="not_flat",
        held_packets=None,
        held_bytes=None,
        delay_full_s=waits_s,
        sparse_p50_s=waits_s,
        sparse_p95_s=most_s,
        times_s={SIZE_BYTES: 8 * SIZE_BYTES / rate_bps},
    )
