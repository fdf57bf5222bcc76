"""The paper's networks as scenarios; assumptions about settings not in print are in one place.

Frames, MAC and TCP of Tables 3 to 9 are those of ns-2, which the paper used. The paper prints the
rate of data frames, the segment and which nodes sense each other, but neither the rate of
acknowledgements nor distances. The scenarios use the usual values of ns-2: 1 Mb/s, decoding up to
250 m, sensing up to 550 m. `VARIANTS` are other possible settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from airqueue.description import Description, FlowTable, QueueTable, StationTable
from airqueue.models.mesh_allocation import allocate
from airqueue.models.mesh_buffer import neighbourhood_buffer
from airqueue.models.mesh_exchange import mesh_exchange
from airqueue.simulate import Scenario, mesh
from airqueue_papers.item import Budget, Setting, Simulation

CLOSE_M: Final = {2: 130.0, 3: 130.0, 4: 130.0, 5: 110.0, 6: 90.0}
"""By hops: distance of neighbours at which all nodes of a chain sense each other."""
FAR_M: Final = 200.0
"""The distance at which nodes three hops apart do not sense each other."""
RATE_BPS: Final = 11e6
USUAL_FRAMES: Final = 50
LARGE: Final = {"queue.limit": "1000 packets", "queue.ring": "50 packets"}
"""Linux of 2010: transmit queue, and the driver's descriptors of an access category (Table 2)."""
WARM_UP_S: Final = 20
RING_FRAMES: Final = 3
"""Reduced size of the test bed's driver ring."""

_NS2: Final = {
    "warm_up": f"{WARM_UP_S} s",
    "phy.control_rate": "1 Mb/s",
    "tcp.window": "10000 packets",
    "tcp.mss": "1460 B",
}
_LINUX: Final = {
    "warm_up": f"{WARM_UP_S} s",
    "tcp.stack": "linux",
    "tcp.mss": "1448 B",
    # The test bed has Linux 2.6.35; small queues came with 3.6, PSH at the end of bursts with 5.5.
    "tcp.segmentation_offload": False,
    "tcp.small_queue": False,
}
_RADIO: Final = {"medium.capture": {"margin": "10 dB"}}
"""Radios of the test bed: receivers keep a frame while a weaker one begins."""

SEPARATE: Final = "separate"
VARIANTS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "ack2": ("with an acknowledgement for every second segment", {"tcp.ack_every": 2}),
    "control11": ("with control frames at 11 Mb/s", {"phy.control_rate": "11 Mb/s"}),
    "window32": ("with windows of 32 segments at most", {"tcp.window": "32 packets"}),
    SEPARATE: ("where sized buffers begin behind the source", {}),
}
"""Settings that the paper does not print: name -> words for a sentence, and changes."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """One of the three schemes that the paper compares."""

    name: str
    """Name in claims."""
    label: str
    changes: Mapping[str, object]


FIFO50: Final = Scheme("fifo50", "50 packets", {})
TCPAP: Final = Scheme("tcpap", "TCP-AP", {"tcp.pacing": "tcp-ap"})
SIZED: Final = Scheme("sized", "sized buffers", {})
SCHEMES: Final = (FIFO50, TCPAP, SIZED)
FLOWS_APART: Final = {"queue.discipline": "drr", "buffers.limit_per": "flow"}
"""Sized buffers of several flows: a fair queue for each flow at each node (Sec. 6.2)."""


def sized_frames(hops: int, total: float | None = None, rule: str = "ratio") -> list[int]:
    """Return limits from the source on by Eqs (3) and (16); the destination has its neighbour's.

    total: B; by Eq. (3) for 11 Mb/s if not given. At least 2, as ns-2's limit counts the frame that
    the MAC holds.
    """
    if total is None:
        exchange = mesh_exchange("b-ack-11").round_trip_s
        total = float(neighbourhood_buffer(hops, exchange, RATE_BPS).packets)
    packets = allocate(total, hops, rule, minimum_packets=2.0).packets
    frames = [int(each) for each in packets]
    return [*frames, frames[-1]]


@dataclass(frozen=True, slots=True)
class ChainEnds:
    """Where the flow of a chain begins and ends."""

    direction: Literal["up", "down"] = "up"
    """To the gateway, or from it."""
    server: str | None = None
    """Delay of the wire to a server behind the gateway, which is then the flow's other end."""


def chain(
    hops: int,
    spacing_m: float,
    seconds: int,
    changes: Mapping[str, object],
    frames: Sequence[int] | None = None,
    *,
    ends: ChainEnds | None = None,
) -> Description:
    """Return a chain with a flow, and with limits as ns-2 counts them, the last node's first.

    The flow is one to the gateway unless ``ends`` says otherwise.
    """
    given = frames or [USUAL_FRAMES] * (hops + 1)
    ends = ends or ChainEnds()
    relays = [f"{mesh.NODE}{relay}" for relay in range(hops - 1, 0, -1)]
    # Every hop, even if frames reach farther.
    route = {f"flows.{ends.direction}.via": relays[:: 1 if ends.direction == "up" else -1]}
    return _description(
        mesh.chain(
            hops,
            spacing_m=spacing_m,
            rate="11 Mb/s",
            behaviour="ns2",
            limit=f"{USUAL_FRAMES} packets",
            duration=f"{seconds} s",
            direction=ends.direction,
            server=ends.server,
            overrides={**_NS2, **route, **changes, **limits(given)},
        )
    )


def limits(frames: Sequence[int]) -> dict[str, object]:
    """Return the change that gives a chain's queues their limits, the source's first."""
    last = len(frames) - 1
    names = [f"{mesh.NODE}{last - place}" for place in range(last)] + [mesh.GATEWAY]
    return {
        "changes": [
            {"at": "0 s", "station": name, "queue_limit": f"{limit} packets"}
            for name, limit in zip(names, frames, strict=True)
        ]
    }


def name_of(scheme: Scheme, variant: str) -> str:
    """Return the name of a run; without a variant, of the run with the paper's settings."""
    return f"{scheme.name}-{variant}" if variant else scheme.name


def runs_of(
    describe: Callable[[Scheme, str], Description], variants: Iterable[str] = VARIANTS
) -> dict[str, Description]:
    """Return the scenarios of all schemes, as printed and in each variant that changes them."""
    return {
        name_of(scheme, variant): describe(scheme, variant)
        for scheme in SCHEMES
        for variant in ("", *variants)
        if scheme is SIZED or variant != SEPARATE
    }


def settings(variants: Iterable[str] = VARIANTS) -> tuple[Setting, ...]:
    """Return the variants as settings of a whole table of the three schemes."""
    return tuple(
        Setting(
            VARIANTS[variant][0],
            {
                scheme.name: name_of(scheme, variant)
                for scheme in SCHEMES
                if scheme is SIZED or variant != SEPARATE
            },
        )
        for variant in variants
    )


def scheme_chain(
    hops: int, spacing_m: float, seconds: int, scheme: Scheme, variant: str = ""
) -> Description:
    """Return a chain with one of the three schemes; sized buffers as the paper prints them."""
    changes = VARIANTS[variant][1] if variant else {}
    frames = sized_frames(hops) if scheme.name == SIZED.name else None
    if frames and variant == SEPARATE:
        frames = [USUAL_FRAMES, *frames[:-1]]
    return chain(hops, spacing_m, seconds, {**scheme.changes, **changes}, frames)


def several(
    shape: Callable[..., Scenario],
    calls: bool,
    seconds: int,
    scheme: Scheme,
    variant: str = "",
) -> Description:
    """Return the parking lot or the cross, with or without a G.729 call beside each transfer."""
    sized = dict(FLOWS_APART) if scheme.name == SIZED.name else {}
    if sized and variant == SEPARATE:
        sized["buffers.source"] = SEPARATE
    changes = VARIANTS[variant][1] if variant else {}
    description = _description(
        shape(
            rate="11 Mb/s",
            behaviour="ns2",
            # Queues of single flows do not count the frame that the MAC holds.
            limit=f"{USUAL_FRAMES - bool(sized)} packets",
            duration=f"{seconds} s",
            flow={"source": "tcp", "start_spread": "1 s"},
            overrides={**_NS2, **scheme.changes, **sized, **changes},
        )
    )
    if calls:
        description["flows"] += [_call(flow) for flow in description["flows"]]
    return description


def _call(flow: FlowTable) -> FlowTable:
    """Return 8 kb/s in packets of 40 bytes beside a flow."""
    call: FlowTable = {"source": "cbr", "packet_rate": "25 packets/s", "size": "40 B"}
    ends: FlowTable = {"from": flow["from"], "to": flow["to"]}
    return {"name": f"call_{flow['name']}", **ends, **call, "start_spread": "1 s"}


def linux_chain(
    hops: int,
    spacing_m: float,
    seconds: int,
    *,
    sized: bool,
    changes: Mapping[str, object] | None = None,
) -> Description:
    """Return a chain of the test bed's routers: the standard's MAC, Linux's TCP and buffers."""
    buffers: Mapping[str, object] = LARGE
    if sized:
        buffers = {"queue.ring": f"{RING_FRAMES} packets", **limits(sized_frames(hops))}
    return _description(
        mesh.chain(
            hops,
            spacing_m=spacing_m,
            rate="11 Mb/s",
            duration=f"{seconds} s",
            overrides={**_LINUX, **_RADIO, **buffers, **(changes or {})},
        )
    )


def linux_pair(
    spacing_m: float, seconds: int, *, sized: bool, changes: Mapping[str, object] | None = None
) -> Description:
    """Return the chains of three and of four hops of Table 10, beside each other, a flow on each."""
    description = linux_chain(3, spacing_m, seconds, sized=False, changes=changes)
    description |= {"routing": {"connected": False}, "stations": [], "flows": []}
    for hops, across in ((3, "0 m"), (4, "50 m")):
        names = [f"chain{hops}_{place}" for place in range(hops + 1)]
        for place, (name, frames) in enumerate(zip(names, sized_frames(hops), strict=True)):
            small: QueueTable = {"limit": f"{frames} packets", "ring": f"{RING_FRAMES} packets"}
            position = [f"{place * spacing_m:g} m", across]
            station: StationTable = {"name": name, "position": position}
            if sized:
                station["queue"] = small
            description["stations"].append(station)
        source, *relays, sink = names
        route: FlowTable = {"from": source, "to": sink, "via": relays}
        description["flows"].append({"name": f"hops{hops}", "source": "tcp", **route})
    return _description(Scenario(description))


def fast_chain(
    seconds: int,
    ring: int,
    total: float | None,
    changes: Mapping[str, object],
    spacing_m: float = FAR_M,
) -> Description:
    """Return the 802.11n chain of Table 11: a download over four hops, with B packets or Linux's."""
    frames = None if total is None else list(reversed(sized_frames(4, total)))
    sized = {} if frames is None else limits(frames)
    return _description(
        mesh.chain(
            4,
            spacing_m=spacing_m,
            standard="802.11n",
            rate="HT-MCS7",
            direction="down",
            server="1 ms",
            limit="1000 packets",
            duration=f"{seconds} s",
            overrides={**_LINUX, **_RADIO, "queue.ring": f"{ring} packets", **sized, **changes},
        )
    )


def single_link(seconds: int, changes: Mapping[str, object]) -> Description:
    """Return the two nodes of Fig. 1 at 36 Mb/s with Linux's buffers."""
    return _description(
        mesh.chain(
            1,
            standard="802.11g",
            rate="36 Mb/s",
            duration=f"{seconds} s",
            overrides={**_LINUX, **LARGE, "warm_up": "0 s", **changes},
        )
    )


def small_packets() -> Description:
    """Return a station of 802.11n that always has packets of 100 bytes to send."""
    flow = {"name": "up", "from": "a", "to": "b", "size": "100 B"}
    return _description(
        Scenario(
            {
                "duration": "2 s",
                "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
                "queue": {"limit": "500 packets"},
                "stations": [{"name": "a"}, {"name": "b"}],
                "flows": [flow],
            }
        )
    )


def paced_link(packets: int, seconds: int) -> Description:
    """Return fifty paced transfers from links of 5 Mb/s over one wire of 50 Mb/s with a small queue.

    The result of Enachescu and others for routers, which the paper cites; without radio.
    """
    delays = [f"{5 + 40 * i / 49:.1f} ms" for i in range(50)]
    queue = {"limit": f"{packets} packets"}
    router = {"name": "router", "link": "sink", "rate": "50 Mb/s", "delay": "5 ms", "queue": queue}
    servers = {"name": "server", "count": 50, "link": "router", "rate": "5 Mb/s", "delay": delays}
    flow = {"name": "transfer", "from": "server", "to": "sink", "source": "tcp"}
    return _description(
        Scenario(
            {
                "duration": f"{seconds} s",
                "warm_up": f"{WARM_UP_S} s",
                "phy": {"standard": "802.11b"},
                "stations": [{"name": "sink"}],
                "hosts": [router, servers],
                "tcp": {"pacing": True, "mss": "1460 B"},
                "flows": [flow | {"start_spread": "5 s"}],
            }
        )
    )


def runs(
    budget: Budget, described: Mapping[str, Description], cost: float, least: int = 4
) -> dict[str, Simulation]:
    """Return simulations of scenarios by name; cost: CPU seconds of a replication per 100 s."""
    weight = cost * seconds(budget) / 100
    replications = budget.pick(least, 2 * least)
    return {name: Simulation(of, replications, weight=weight) for name, of in described.items()}


def seconds(budget: Budget) -> int:
    """Return the length of the counted part of a run."""
    return budget.pick(100, 200)


def _description(scenario: Scenario) -> Description:
    return scenario.description
