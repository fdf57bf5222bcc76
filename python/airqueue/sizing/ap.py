"""`airqueue size ap`: how long the queue of an access point should be.

One FIFO for all downloads: long enough that TCP keeps the air busy, short enough for the delay that
was asked for, and what is the better answer where both cannot be had.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from airqueue.models.buffer_rules import tooth_and_bound
from airqueue.models.checks import number
from airqueue.models.errors import ParameterError
from airqueue.models.flow_adapted import RECOVERY_WINDOW, FlowAdapted, flow_adapted
from airqueue.models.packets import PACKET_BYTES
from airqueue.models.sawtooth import LEAST_WINDOW_PACKETS, Sawtooth, cubic_region
from airqueue.sizing.ap_trial import ApTrial
from airqueue.sizing.cell import Air, Cell, cell

AirT = TypeVar("AirT", bound=Air)
AirT_co = TypeVar("AirT_co", bound=Air, covariant=True)

DELAY_TARGET_S: Final = 0.020
"""If none is given: what mac80211's CoDel aims at, and a fifth of what a game can bear."""
FIRST_WINDOW: Final = 10
"""RFC 6928: packets that a new connection sends in one burst."""
MUCH: Final = 0.05
"""Share of the air that decides whether one queue is better than another."""
LONGEST_RTT_S: Final = 60.0
"""Far above any path, those through satellites included."""
RECOVERED_PACKETS: Final = RECOVERY_WINDOW["fast-retransmit"]
"""Of a flow, at a loss: with fewer it ends in a timeout."""


@dataclass(frozen=True, slots=True)
class ApQueue(Generic[AirT_co]):
    """The numbers behind the advice."""

    air: AirT_co
    wanted: FlowAdapted
    """What TCP needs."""
    target_packets: int
    """Packets that the delay target allows, at least 1."""
    packets: int
    """The recommendation: the smaller of the two, and with the path enough for a window at all."""
    path_packets: float
    """D: packets in flight without any queue."""
    flow_packets: float
    """(D + B)/n: window of a flow when the queue is full."""
    control: str
    """Whose saw tooth the forecast is: "reno-friendly" for CUBIC where its windows are small."""
    tooth: Sawtooth
    """Of the recommendation, all flows in step."""
    utilisation_at_least: float
    trial: ApTrial | None = None
    """What simulations say, if any were made."""

    @property
    def limited(self) -> bool:
        """Whether the delay target leaves less than TCP needs."""
        return bool(self.target_packets < self.wanted.capacity_packets)

    @property
    def slower(self) -> bool:
        """Whether the queue is too short for the full aggregates that the cell's rate counts on."""
        return self.packets < self.air.aggregated_packets

    @property
    def timeouts(self) -> bool:
        """Whether flows have too few packets to recover from a loss; the utilisation ignores this."""
        return self.flow_packets < RECOVERED_PACKETS * (1 - 1e-9)

    @property
    def torn(self) -> bool:
        """Whether flow queueing is the answer.

        The target costs much of the air, or leaves flows to timeouts; or, simulated, flow queueing
        uses much more of the air.
        """
        if self.trial is None:
            lost = float(self.wanted.utilisation_at_least) - self.utilisation_at_least
            return self.limited and (lost > MUCH or self.timeouts)
        costs = self.limited and (self.trial.share < 1.0 - MUCH or self.timeouts)
        return (costs and self.flow_queueing_is_better) or self.trial.gained > MUCH

    @property
    def flow_queueing_is_better(self) -> bool:
        """Whether downloads use more of the air with it, or nearly as much and pings return sooner.

        Without a trial: yes.
        """
        trial = self.trial
        if trial is None:
            return True
        return trial.gained > MUCH or (trial.gained > -MUCH and trial.flow_queueing_is_sooner)


def ap_queue(
    rates_bps: Sequence[float],
    rtt_s: float,
    flows: float,
    *,
    phy: str | None = None,
    packet_bytes: float = PACKET_BYTES,
    delay_target_s: float = DELAY_TARGET_S,
    control: str = "reno",
    least_packets: int = FIRST_WINDOW,
) -> ApQueue[Cell]:
    """Size one drop-tail queue from the rates of the radios, as `queue_for` does.

    rates_bps: of the physical layer, one for each station that downloads, as `airqueue.sizing.cell`
    takes them. Raises ParameterError, also for fewer flows than stations.

    >>> sized = ap_queue([54e6], 0.1, 20)
    >>> sized.packets, round(float(sized.tooth.full_delay_s), 4) <= 0.02
    (41, True)
    """
    air = cell(rates_bps, phy, packet_bytes)
    if number("flows", flows, at_least=1) < len(rates_bps):
        raise ParameterError(
            "flows",
            f"the rates are those of {len(rates_bps)} stations that download, with {flows:g} "
            "downloads; give one download for each station at least, or the rates of fewer stations",
        )
    return queue_for(
        air,
        rtt_s,
        flows,
        delay_target_s=delay_target_s,
        control=control,
        least_packets=least_packets,
    )


def queue_for(
    air: AirT,
    rtt_s: float,
    flows: float,
    *,
    delay_target_s: float = DELAY_TARGET_S,
    control: str = "reno",
    least_packets: int = FIRST_WINDOW,
) -> ApQueue[AirT]:
    """Size one drop-tail queue for n long downloads, at least for full aggregates.

    rtt_s: mean round trip without queue, at most `LONGEST_RTT_S`. delay_target_s: longest delay of
    the full queue; one packet is allowed even where it takes longer, and two where the path holds
    less than one, since no window is smaller. control: as in `airqueue.models.sawtooth`.
    least_packets: what TCP needs at least: a first window, or what simulations found.

    Raises ParameterError.
    """
    target_s = number("delay_target_s", delay_target_s, above=0, at_most=1e6)
    number("rtt_s", rtt_s, above=0, at_most=LONGEST_RTT_S)

    def needed(control: str) -> FlowAdapted:
        return flow_adapted(
            air.capacity_bps,
            rtt_s,
            flows,
            packet_bytes=air.packet_bytes,
            control=control,
            least_packets=max(least_packets, air.aggregated_packets),
        )

    wanted = needed(control)
    target_packets = max(1, math.floor(target_s / air.packet_s * (1 + 1e-12)))
    path_packets = rtt_s / air.packet_s
    least = math.ceil((LEAST_WINDOW_PACKETS - path_packets) * (1 - 1e-12))
    packets = min(int(wanted.capacity_packets), max(target_packets, least))
    followed = _followed(control, rtt_s + packets * air.packet_s, flows, air.packet_s)
    if followed != control:
        # The decrease, and with it the capacity, is equal; the use of the air is not.
        control, wanted = followed, needed(followed)
    buffer = packets * air.packet_bytes
    tooth, utilisation = tooth_and_bound(buffer, air.capacity_bps, rtt_s, flows, control)
    return ApQueue(
        air,
        wanted,
        target_packets,
        packets,
        path_packets,
        (path_packets + packets) / flows,
        control,
        tooth,
        float(utilisation),
    )


def _followed(control: str, full_rtt_s: float, flows: float, packet_s: float) -> str:
    """Return the control whose saw tooth senders follow: CUBIC's small windows grow as Reno's do.

    full_rtt_s: round trip with the queue full. Where both take turns the Reno-friendly tooth is the
    lower bound.
    """
    if control != "cubic":
        return control
    window = full_rtt_s / packet_s / flows
    return control if cubic_region(window, full_rtt_s) == "cubic" else "reno-friendly"
