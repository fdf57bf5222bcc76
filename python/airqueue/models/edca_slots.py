"""Exact EDCA and DCF contention: a Monte Carlo of the slot-level process.

Saturated queues draw uniform backoffs, count down after their AIFS, transmit, collide, double their
windows and give up. Nothing is assumed to be independent or geometric; the price is a confidence
interval. The kernel is in Rust (crate ``airqueue-wifi``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

import numpy as np

from airqueue import _native
from airqueue.models.backoff import CW_MAX, CW_MIN
from airqueue.models.batch_means import Estimate, ratio_of, share_of
from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, choice, number, numbers
from airqueue.models.edca_classes import CLASS_PARAMETERS, RETRIES, Classes, classes
from airqueue.models.errors import ModelError, ParameterError

if TYPE_CHECKING:
    from airqueue.records import ContentionDict

__all__ = ["BATCHES", "MODEL", "RULES", "Columns", "Estimate", "Slots", "slots"]

RULES: Final = ("edca", "freeze")
"""Whether a counter moves in a slot in which another station transmits ("edca") or not."""
BATCHES: Final = 30


@dataclass(frozen=True, slots=True)
class Slots:
    """Counts by batch (first axis) and class (last axis), summed over the class's stations."""

    stations: FloatArray
    """Stations of each class; no batch axis."""
    transmissions: FloatArray
    """Busy periods; no class axis."""
    collided: FloatArray
    """Busy periods with more than one station; no class axis."""
    idle_slots: FloatArray
    """Idle slots from the end of the smallest AIFS to each transmission; no class axis."""
    attempts: FloatArray
    successes: FloatArray
    collisions: FloatArray
    internal_collisions: FloatArray
    """Counters that ended together with that of a class before, in the same node."""
    drops: FloatArray
    packets: FloatArray
    """Successes times the packets of one opportunity."""
    most_packets: float
    """The most packets of one opportunity of any class."""

    def success_share(self, index: int) -> Estimate:
        """Share of a class in all successes; raises ModelError without any success."""
        if not self.successes.any():
            raise ModelError(
                f"there was no success in {self.transmissions.sum():.0f} transmissions, only "
                "collisions; use fewer stations, larger windows, or more transmissions"
            )
        return share_of(self.successes[:, index], self.successes.sum(axis=1))

    def packet_share(self, index: int) -> Estimate:
        """Share of a class in all packets delivered, of which there must be some."""
        return share_of(self.packets[:, index], self.packets.sum(axis=1), event=self.most_packets)

    def ratio(self, one: int, other: int) -> Estimate:
        """Successes of a station of class ``one`` for each of one of class ``other``.

        Raises ModelError if the other class had no success at all.
        """
        if not self.successes[:, other].any():
            raise ModelError(
                f"class {other} had no success in {self.transmissions.sum():.0f} transmissions, so "
                "that there is no ratio to it; it is starved, or needs more transmissions"
            )
        return ratio_of(
            self.successes[:, one],
            self.successes[:, other],
            self.successes.sum(axis=1),
            scale=float(self.stations[other] / self.stations[one]),
        )

    def collision_probability(self, index: int) -> Estimate:
        """Share of a class's attempts that collided; raises ModelError without any attempt."""
        if not self.attempts[:, index].any():
            raise ModelError(
                f"class {index} made no attempt in {self.transmissions.sum():.0f} transmissions; it "
                "is locked out, or needs more transmissions"
            )
        # Collisions are hardly alike in successive batches, and much less rare than successes may be.
        return share_of(self.collisions[:, index], self.attempts[:, index], merged=(1,))

    def station_success_per_slot(self, index: int) -> Estimate:
        """Successes of one station in a slot, where a busy period counts as one slot."""
        found = share_of(self.successes[:, index], self.transmissions + self.idle_slots)
        each = float(self.stations[index])
        return Estimate(found.mean / each, found.half_width / each)


def slots(
    stations: Numbers,
    aifs_slots: Numbers,
    cw_min: Numbers = CW_MIN,
    cw_max: Numbers = CW_MAX,
    *,
    retries: int | None = RETRIES,
    rule: str = "edca",
    packets: Numbers = 1.0,
    nodes: Sequence[float] | None = None,
    transmissions: int = 1_000_000,
    batches: int = BATCHES,
    seed: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Slots:
    """Simulate saturated classes for a number of transmissions and return the counts by batch.

    A station with AIFS offset D_i and counter b_i, of which t_i = D_i + b_i is the smallest, t,
    transmits after t idle slots, and with it all others with t_i = t. Each other counter becomes
    ``b_i - max(0, t - D_i + e)``, where e = 1 for ``rule="edca"``, in which counters move at the slot
    boundary at which somebody else begins to transmit, and e = 0 for ``rule="freeze"``, legacy DCF.

    stations: of each class, whole numbers. aifs_slots, cw_min, cw_max, retries: as in
    `airqueue.models.edca_hold.hold_chain`; one point, no sweep. packets: of each class, sent in one
    opportunity. nodes: of each class; the k-th stations of classes with equal numbers are queues of
    the same node, which never collide in the air: the class that comes first in the list transmits,
    and the other goes on as after a collision. None: every station is a node of its own.
    transmissions: busy periods to count, in ``batches`` parts; one more part before them, in which
    the process settles, is not counted. seed: equal seeds, equal results. progress: called after each
    part with the part of the work that is done.

    Exact for saturated stations that all hear each other and lose nothing but by collisions. Can be
    interrupted with Ctrl-C. Raises ParameterError.

    >>> slots([1, 1], [0, 4], transmissions=60_000).ratio(0, 1).covers(1.0)
    False
    """
    given = classes(stations, aifs_slots, cw_min, cw_max, retries)
    if given.stations.ndim != 1:
        raise ParameterError("stations", "the simulation takes one point; give one list of classes")
    process = _native.Contention(
        _contenders(given, packets, nodes), _rule(rule), int(_whole("seed", seed, 0, _MOST))
    )
    parts = int(_whole("batches", batches, 2, 1e6))
    part = max(1, int(_whole("transmissions", transmissions, parts, _MOST)) // parts)
    counts: list[ContentionDict] = []
    for done in range(parts + 1):
        counts.append(process.run(part))
        if progress is not None:
            progress((done + 1) / (parts + 1))
    return _by_class(given.stations, counts[1:], float(np.max(packets)))


Columns: TypeAlias = Literal[
    "attempts", "successes", "collisions", "internal_collisions", "drops", "packets"
]

_MOST = 2.0**53
_LOOKS = 1e9
_MOST_STATIONS = 65536


def _whole(name: str, value: float, low: float, high: float) -> float:
    return number(name, value, at_least=low, at_most=high, whole=True)


def _rule(rule: str) -> Literal["edca", "freeze"]:
    return cast(Literal["edca", "freeze"], choice("rule", rule, RULES))


def _contenders(
    given: Classes, packets: Numbers, nodes: Sequence[float] | None
) -> list[_native.Contender]:
    count = given.stations.shape
    stations = numbers("stations", given.stations, whole=True)
    if stations.sum() > _MOST_STATIONS:
        raise ParameterError(
            "stations",
            f"there are {stations.sum():g} stations; at most {_MOST_STATIONS} can contend",
        )
    for name, values in (("cw_min", given.w_min - 1.0), ("cw_max", given.w_max - 1.0)):
        numbers(name, values, whole=True)
    sent = numbers("packets", packets, at_least=1, at_most=1e6, whole=True)
    node = numbers("nodes", list(range(*count)) if nodes is None else nodes, whole=True)
    for name, values, shapes in (("packets", sent, ((), (1,), count)), ("nodes", node, (count,))):
        if values.shape not in shapes:
            raise ParameterError(name, f"{name} must have one value for each of {count[0]} classes")
    sent = np.broadcast_to(sent, count)
    first: dict[float, int] = {}
    numbered = 0
    contenders: list[_native.Contender] = []
    for i, n in enumerate(stations.astype(int).tolist()):
        base = first.setdefault(float(node[i]), numbered)
        if base == numbered:
            numbered += n
        elif n != stations[int(np.argmax(node == node[i]))]:
            raise ParameterError(
                "nodes", f"classes in the same nodes have the same stations; class {i} has {n}"
            )
        low, high = int(given.w_min[i]), int(given.w_max[i])
        aifs = int(given.aifs_slots[i])
        contenders += [(aifs, low, high, given.retries, int(sent[i]), base + k) for k in range(n)]
    return contenders


def _by_class(stations: FloatArray, counts: Sequence[ContentionDict], most_packets: float) -> Slots:
    starts = np.concatenate([[0], np.cumsum(stations)[:-1]]).astype(np.intp)

    def column(name: Columns) -> FloatArray:
        return np.array([np.add.reduceat(part[name], starts) for part in counts], dtype=np.float64)

    return Slots(
        stations=stations,
        transmissions=np.array([float(part["transmissions"]) for part in counts]),
        collided=np.array([float(part["collided"]) for part in counts]),
        idle_slots=np.array([float(part["idle_slots"]) for part in counts]),
        attempts=column("attempts"),
        successes=column("successes"),
        collisions=column("collisions"),
        internal_collisions=column("internal_collisions"),
        drops=column("drops"),
        packets=column("packets"),
        most_packets=most_packets,
    )


def _evaluate(
    *,
    stations: Sequence[float],
    aifs_slots: Sequence[float],
    cw_min: Sequence[float],
    cw_max: Sequence[float],
    retries: int | None,
    rule: str,
    packets: Sequence[float],
    nodes: Sequence[float] | None,
    transmissions: int,
    seed: int,
) -> Mapping[str, Figure]:
    # Limits of one command; a session in Python may run as long as it likes.
    numbers("transmissions", transmissions, at_most=_LOOKS // max(sum(stations), 10.0))
    done = slots(
        stations,
        aifs_slots,
        cw_min,
        cw_max,
        retries=retries,
        rule=rule,
        packets=packets,
        nodes=nodes,
        transmissions=transmissions,
        seed=seed,
    )
    return _figures(done)


def _figures(done: Slots) -> dict[str, Figure]:
    """Return the outputs of the command."""
    each = range(len(done.stations))
    shares = [done.success_share(i) for i in each]
    attempts, total = done.attempts.sum(axis=0), done.transmissions.sum()
    # A class that never transmits has no collision probability; it is reported as 0.
    collision = done.collisions.sum(axis=0) / np.maximum(attempts, 1.0)
    return {
        "success_share": [share.mean for share in shares],
        "share_half_width": [share.half_width for share in shares],
        "packet_share": [done.packet_share(i).mean for i in each],
        "collision_probability": collision.tolist(),
        "station_success_per_slot": [done.station_success_per_slot(i).mean for i in each],
        "internal_collisions": (done.internal_collisions.sum(axis=0) / total).tolist(),
        "drops": (done.drops.sum(axis=0) / total).tolist(),
        "idle_slots": float(done.idle_slots.sum() / total),
        "collided": float(done.collided.sum() / total),
    }


MODEL = Model(
    name="edca-slots",
    summary="Shares of EDCA or DCF classes by an exact slot-level simulation, with 95 % confidence "
    "intervals.",
    parameters=(
        *CLASS_PARAMETERS,
        Parameter(
            "rule", "counters move at others' transmissions, or freeze", "edca", Kind.CHOICE, RULES
        ),
        Parameter("packets", "packets of one opportunity, of each or all", (1.0,), Kind.NUMBERS),
        Parameter(
            "nodes", "node of each class, equal for queues of one station", None, Kind.NUMBERS
        ),
        Parameter("transmissions", "to simulate", 1_000_000, Kind.WHOLE),
        Parameter("seed", "equal seeds, equal results", 1, Kind.WHOLE),
    ),
    outputs=(
        Output("success_share", "successes of the class among all"),
        Output("share_half_width", "half of the 95 % confidence interval of success_share"),
        Output("packet_share", "packets delivered by the class among all"),
        Output("collision_probability", "p_i: an attempt collides; 0 if there was no attempt"),
        Output("station_success_per_slot", "successes of one station of the class in a slot"),
        Output("internal_collisions", "lost to another queue of the node, per transmission"),
        Output("drops", "packets given up, per transmission"),
        Output("idle_slots", "mean idle slots before a transmission"),
        Output("collided", "transmissions in which stations collide"),
    ),
    evaluate=_evaluate,
    example="stations=1,1 aifs_slots=0,10 transmissions=60000",
    valid="Exact for saturated stations that all hear each other and lose nothing but by collisions.",
)
