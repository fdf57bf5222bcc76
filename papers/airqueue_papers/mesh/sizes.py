"""Size and division of the shared buffer, and the claims of the abstract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from airqueue.models import mesh_topology
from airqueue.models.collision_domain import CollisionDomains
from airqueue.models.mesh_allocation import STRATEGIES, allocate
from airqueue.models.mesh_buffer import neighbourhood_buffer
from airqueue.models.mesh_chain import printed_transitions
from airqueue.models.mesh_exchange import mesh_exchange
from airqueue.models.virtual_queues import virtual_queues
from airqueue.simulate import Results
from airqueue.simulate.reported import known
from airqueue_papers import measured
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.mesh import chains, figures, networks, testbed
from airqueue_papers.mesh.networks import FIFO50, SIZED
from airqueue_papers.picture import Panel, PaperFigure, Series

HOPS: Final = 4


@dataclass(frozen=True, slots=True)
class Radio:
    """A printed size, the radio assumed for it, and another possible radio."""

    claim: str
    hops: int
    rate_bps: float
    name: str
    other: str

    def packets(self, radio: str) -> float:
        """Return B."""
        exchange = mesh_exchange(radio, self.rate_bps).round_trip_s
        return float(neighbourhood_buffer(self.hops, exchange, self.rate_bps).packets)


RADIOS: Final = (
    Radio("mesh.eq.B11", 4, 11e6, "b-ack-11", "b-ack-1"),
    Radio("mesh.eq.B3hop", 3, 11e6, "b-ack-11", "b-ack-1"),
    Radio("mesh.eq.B54", 4, 54e6, "g-long-slot-ack-6", "a-ack-6"),
    Radio("mesh.eq.B65", 4, 65e6, "n-65-ack-6", "n-65-ack-24"),
    Radio("mesh.eq.B600", 4, 600e6, "n-600", "n-600"),
)
PLENTY_PACKETS: Final = 20.0
"""Largest shared buffer that counts as some ten packets: small beside one usual queue."""


def _compare_sizes(_: Outcomes) -> Iterable[Finding]:
    for claimed, rate in (("mesh.eq.exchange_1m", 1e6), ("mesh.eq.exchange_11m", 11e6)):
        ours = 1e3 * float(mesh_exchange("b-ack-11", rate).round_trip_s)
        slow = 1e3 * float(mesh_exchange("b-ack-1", rate).round_trip_s)
        short = 1e3 * float(mesh_exchange("b-short-ack-11", rate).round_trip_s)
        yield figures.found(
            claimed,
            f"{ours:.2f} ms with long preambles and acknowledgements at the rate of data, {slow:.2f} "
            f"with these at 1 Mb/s, {short:.2f} with short preambles",
            (Value(ours),),
        )
    for radio in RADIOS:
        ours, other = radio.packets(radio.name), radio.packets(radio.other)
        another = f"; {other:.1f} with {radio.other}" if radio.other != radio.name else ""
        yield figures.found(
            radio.claim, f"{ours:.2f} packets with the radio {radio.name}{another}", (Value(ours),)
        )
    yield _cross_buffer()
    yield from _domains()
    yield _limit()


def _cross_buffer() -> Finding:
    """Return B of the cross: the common need of its flows in the domain that they share."""
    sized = virtual_queues(mesh_topology.cross())
    total = sum(float(flow.buffer.packets) for flow in sized.flows)
    nodes = sum(flow.bottleneck.transmitters for flow in sized.flows)
    fewer = total * (nodes - 1) / nodes
    return figures.found(
        "mesh.eq.Bcross",
        f"{nodes} nodes, two on each edge, give {total:.1f} packets with the exchange that gives the "
        f"other sizes; {nodes - 1} nodes would give {fewer:.1f}",
        (Value(total),),
        holds=total < 2 * PLENTY_PACKETS,
    )


def _domains() -> Iterable[Finding]:
    chain = CollisionDomains(mesh_topology.chain(6))
    middle = next(i for i, link in enumerate(chain.links) if link.sender == "n2")
    members = [f"{link.sender}-{link.receiver}" for link in chain.members(middle)]
    yield figures.found(
        "mesh.domain.fig2",
        f"in a chain of six links the domain of the third has {', '.join(sorted(members))}",
        holds=sorted(members) == [f"n{i}-n{i + 1}" for i in range(5)],
    )
    bottlenecks = CollisionDomains(mesh_topology.cross()).bottlenecks()
    hops = sorted({hop for each in bottlenecks for hop in each.hops})
    yield figures.found(
        "mesh.domain.cross",
        f"each flow over five hops has hops {', '.join(map(str, hops))} in its bottleneck",
        holds=all(each.hops == (4, 5) for each in bottlenecks),
    )


def _limit() -> Finding:
    found = printed_transitions(1e-9, HOPS)
    return figures.found(
        "mesh.model.limit",
        f"for {HOPS} nodes whose buffers are hardly ever empty {float(found.served):.4f} and "
        f"{float(found.arrival):.4f}",
        holds=max(abs(float(p) - 1 / HOPS) for p in (found.served, found.arrival)) < 1e-6,
    )


def _draw_sizes(_: Outcomes) -> Iterable[PaperFigure]:
    printed = {"mesh.eq.B11": 10.0, "mesh.eq.B54": 15.0, "mesh.eq.B65": 14.0, "mesh.eq.B600": 85.0}
    radios = [radio for radio in RADIOS if radio.claim in printed]
    names = tuple(f"{radio.rate_bps / 1e6:g} Mb/s" for radio in radios)
    ours = tuple(radio.packets(radio.name) for radio in radios)
    series = (
        Series("Eq. (3)", names, ours, style="bars"),
        Series("printed", names, tuple(printed.values()), style="bars", printed=True),
    )
    panel = Panel("buffer of four hops together", "", "packets", series)
    yield PaperFigure("mesh-sizes", "Sizes of the shared buffer (Secs 6.1 and 7)", (panel,))


# How the buffer is divided


def _allocation_runs(budget: Budget) -> Mapping[str, Run]:
    described = {
        f"{rule}-{where}": networks.chain(
            HOPS, spacing, networks.seconds(budget), {"buffers.allocation": rule}
        )
        for rule in STRATEGIES
        for where, spacing in (("far", networks.FAR_M), ("close", networks.CLOSE_M[HOPS]))
    }
    return networks.runs(budget, described, 0.35, least=2)


def _whole(packets: Iterable[float]) -> tuple[Value, ...]:
    return tuple(Value(float(each)) for each in packets)


def _compare_allocation(_: Outcomes) -> Iterable[Finding]:
    for claimed, total, hops in (("mesh.alloc.4hop", 10, 4), ("mesh.alloc.3hop", 8, 3)):
        ours = allocate(total, hops).packets
        best = allocate(total, hops, "optimum", "best").packets
        yield figures.found(
            claimed,
            f"Eq. (16) to the nearest packet; the exact optimum of Eq. (8) is {_words(best)}",
            _whole(ours),
        )
    cross = virtual_queues(mesh_topology.cross()).flows[0]
    inside = [queue.packets for queue in cross.queues if queue.in_bottleneck]
    yield figures.found(
        "mesh.alloc.cross",
        f"{float(cross.buffer.packets):.1f} packets for each flow, {_words(inside)}; the printed 18 "
        f"among four flows give {_words(allocate(18 / 4, 2).packets)} as well",
        _whole(inside),
    )
    lot = virtual_queues(mesh_topology.parking_lot())
    each = [queue.packets for flow in lot.flows for queue in flow.queues if queue.hop > 1]
    yield figures.found(
        "mesh.alloc.perflow",
        f"relays of the parking lot have {min(each):.0f} to {max(each):.0f} packets for each flow",
        _whole((max(each, key=lambda packets: abs(packets - 2)),)),
        holds=max(each) <= 4,
    )
    yield _most_nodes()


def _most_nodes() -> Finding:
    shapes = (
        mesh_topology.chain(3),
        mesh_topology.chain(4),
        mesh_topology.parking_lot(),
        mesh_topology.cross(),
    )
    all_of = [
        queue.packets
        for shape in shapes
        for flow in virtual_queues(shape).flows
        for queue in flow.queues
    ]
    usual = sum(2 <= each <= 3 for each in all_of)
    return figures.found(
        "mesh.text.small",
        f"{usual} of {len(all_of)} buffers of the chains, the parking lot and the cross have 2 or 3 "
        f"packets, none more than {max(all_of):.0f}",
        (Value(sorted(all_of)[len(all_of) // 2]),),
        holds=usual > len(all_of) / 2,
    )


def _words(packets: Iterable[float]) -> str:
    return ", ".join(f"{each:.0f}" for each in packets)


def _draw_allocation(outcomes: Outcomes) -> Iterable[PaperFigure]:
    rules = tuple(STRATEGIES)
    nodes = tuple(f"hop {hop}" for hop in range(1, HOPS + 1))
    held = tuple(
        Series(rule, nodes, _limits(outcomes[f"{rule}-far"]), style="bars") for rule in rules
    )
    panels = [Panel("buffers", "from the source", "packets", held)]
    titles = {"far": "end nodes do not sense each other", "close": "all sense each other"}
    for title, axis, figure in (
        ("goodput", "kb/s", figures.goodput_kbps),
        ("round-trip time", "ms", figures.rtt_ms),
    ):
        drawn = []
        for where, label in titles.items():
            found = {rule: figure(outcomes[f"{rule}-{where}"]) for rule in rules}
            drawn.append(measured.series(label, found, style="bars"))
        panels.append(Panel(title, "", axis, tuple(drawn)))
    name = "Seven rules to divide the buffer of four hops (Sec. 4.2)"
    yield PaperFigure("mesh-allocation", name, tuple(panels))


def _limits(results: Results) -> tuple[float | None, ...]:
    """Return the last limits set, from the source on."""
    last = {row["station"]: row["limit_packets"] for row in results.runs[0]["limits"]}
    return tuple(last.get(f"node{HOPS - place}") for place in range(HOPS))


# Related work and the abstract


def _related_runs(budget: Budget) -> Mapping[str, Run]:
    described = {
        str(packets): networks.paced_link(packets, budget.pick(40, 100)) for packets in (10, 20)
    }
    return networks.runs(budget, described, 0.5, least=2)


def _compare_related(outcomes: Outcomes) -> Iterable[Finding]:
    used = [_utilisation(outcomes[name]) for name in ("10", "20")]
    yield figures.found(
        "mesh.related.enachescu",
        f"fifty paced transfers from links of 5 Mb/s use {used[0].mean:.1f} % of one of 50 Mb/s with "
        f"10 packets, {used[1].mean:.1f} % with 20",
        tuple(used),
        holds=min(each.mean for each in used) >= 85,
    )


def _utilisation(results: Results) -> Value:
    return figures.value(
        100 * sum(known(of["throughput_bps"]) for of in run["flows"].values()) / 50e6
        for run in results.runs.values()
    )


def _abstract_runs(budget: Budget) -> Mapping[str, Run]:
    """Return the networks of a single flow, with usual and with sized buffers, by table."""
    pairs = {
        "Table 3": (chains.table_runs("table3", budget), FIFO50.name, SIZED.name),
        "Table 4": (chains.table_runs("table4", budget), FIFO50.name, SIZED.name),
        "Table 11": (testbed.table11_runs(budget), "default", "sized"),
    }
    lengths = testbed.fig11_runs(budget)
    for hops in testbed.LENGTHS:
        pairs[f"Fig. 11, {hops} hops"] = (lengths, f"default-{hops}-far", f"sized-{hops}-far")
    return {
        f"{table}{ending}": runs[name]
        for table, (runs, *names) in pairs.items()
        for ending, name in zip(("", _SIZED), names, strict=True)
    }


_SIZED: Final = ", sized"


def _compare_abstract(outcomes: Outcomes) -> Iterable[Finding]:
    networks_of = [name for name in outcomes if not name.endswith(_SIZED)]
    pairs = {name: (outcomes[name], outcomes[name + _SIZED]) for name in networks_of}
    factors = {name: figures.shorter(*pair).mean for name, pair in pairs.items()}
    losses = {name: figures.lost_percent(*pair).mean for name, pair in pairs.items()}
    words = ", ".join(f"{name} {factor:.1f}" for name, factor in factors.items())
    yield figures.found(
        "mesh.abs.rtt",
        f"round trips are shorter by the factors {words}",
        (Value(min(factors.values())),),
        holds=min(factors.values()) > 3,
    )
    words = ", ".join(f"{name} {loss:.1f} %" for name, loss in losses.items())
    yield figures.found(
        "mesh.abs.loss",
        f"goodput that is lost: {words}",
        (Value(max(losses.values())),),
        holds=max(losses.values()) < 100 * (1 - chains.KEPT),
    )


ITEMS: Final = (
    Item(
        "sizes",
        "Domains, exchanges and the size of the shared buffer",
        _compare_sizes,
        pictures=_draw_sizes,
        notes=(
            "No single radio gives all printed sizes. Preambles, control rates and slots, which are "
            "not printed, are chosen to come nearest; results of others are given beside.",
        ),
    ),
    Item(
        "allocation",
        "How the buffer is divided",
        _compare_allocation,
        _allocation_runs,
        _draw_allocation,
        notes=(
            "The figure shows all seven rules of this project on the chain of four hops. The buffers "
            "are computed during the run from the exchanges of this network: with control frames "
            "at 1 Mb/s they are a little larger than the printed ones.",
        ),
    ),
    Item(
        "related",
        "Small buffers of routers",
        _compare_related,
        _related_runs,
        notes=(
            "A result of Enachescu and others that the paper cites: paced transfers from links much "
            "slower than the shared one, without radio.",
        ),
    ),
    Item("abstract", "Six times shorter for a tenth", _compare_abstract, _abstract_runs),
)
