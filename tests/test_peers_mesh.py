"""Flows over several hops in ns-2: places and ways, its trace, and laws that the runs obey."""

import shutil
from dataclasses import replace
from itertools import pairwise

import pytest

from peers.mesh import CLOSE_M, Meshed, run_mesh
from peers.mesh_trace import Watch
from peers.references_mesh import CHAIN, CROSS, LOT, drops, places

ns2 = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
SENSE_M = 550.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: replace(CHAIN, kind="ring"),
        lambda: replace(CHAIN, hops=0, frames=(50,)),
        lambda: replace(LOT, hops=2, frames=(50,) * 3),
        lambda: replace(CHAIN, frames=(50,) * 4),
        lambda: replace(CHAIN, frames=(50, 1, 50, 50, 50)),
        lambda: replace(CHAIN, spacing_m=0.0),
    ],
)
def test_a_mesh_that_cannot_be_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError):
        wrong()


@pytest.mark.parametrize("scenario", [CHAIN, LOT, CROSS])
def test_ways_lead_from_neighbour_to_neighbour(scenario) -> None:  # type: ignore[no-untyped-def]
    nodes = list(scenario.nodes())
    routes = scenario.routes()
    assert len({route[0] for route in routes}) == len(routes)
    assert len({route[-1] for route in routes}) == 1
    for route in routes:
        for a, b in pairwise(route):
            (ax, ay, _), (bx, by, _) = nodes[a], nodes[b]
            assert abs(ax - bx) + abs(ay - by) == scenario.spacing_m
    limits = [nodes[node][2] for node in max(routes, key=len)]
    assert limits == list(scenario.frames)


def test_in_a_close_chain_all_sense_each_other() -> None:
    assert all(hops * spacing_m <= SENSE_M for hops, spacing_m in CLOSE_M.items())


LINES = """\
s 1.0 _0_ AGT  --- 1 tcp 1500 [0 0 0 0] ------- [0:0 2:0 32 0] [0 0] 0 0
r 1.5 _0_ AGT  --- 2 ack 40 [13a 0 1 800] ------- [2:0 0:0 32 0] [0 0] 2 0
s 2.0 _0_ AGT  --- 3 tcp 1500 [0 0 0 0] ------- [0:0 2:0 32 0] [1 0] 0 0
s 2.1 _0_ AGT  --- 4 tcp 1500 [0 0 0 0] ------- [0:0 2:0 32 0] [2 0] 0 0
s 2.2 _0_ AGT  --- 5 tcp 1500 [0 0 0 0] ------- [0:0 2:0 32 0] [3 0] 0 0
D 2.3 _1_ IFQ  --- 3 tcp 1500 [13a 1 0 800] ------- [0:0 2:0 32 1] [1 0] 1 0
s 2.5 _0_ AGT  --- 6 tcp 1500 [0 0 0 0] ------- [0:0 2:0 32 0] [1 0] 0 0
r 2.6 _0_ AGT  --- 7 ack 40 [13a 0 1 800] ------- [2:0 0:0 32 0] [1 0] 2 0
r 2.7 _0_ AGT  --- 8 ack 40 [13a 0 1 800] ------- [2:0 0:0 32 0] [3 0] 2 0
r 2.8 _0_ AGT  --- 9 ack 40 [13a 0 1 800] ------- [2:0 0:0 32 0] [3 0] 2 0
D 2.9 _0_ MAC  RET 4 tcp 1500 [13a 1 0 800] ------- [0:0 2:0 32 1] [2 0] 0 0
D 2.9 _2_ MAC  COL 4 tcp 1500 [13a 1 0 800] ------- [0:0 2:0 32 1] [2 0] 0 0
s 3.0 _0_ AGT  --- 10 cbr 40 [0 0 0 0] ------- [0:1 2:1 32 0] [0] 0 0
s 3.1 _0_ AGT  --- 11 cbr 40 [0 0 0 0] ------- [0:1 2:1 32 0] [1] 0 0
r 3.4 _2_ AGT  --- 11 cbr 40 [13a 2 1 800] ------- [0:1 2:1 32 2] [1] 2 0
"""


def test_the_trace_says_who_waited_and_what_died() -> None:
    """Segment 1 was sent twice, 2 is acknowledged with 3, and nothing counts before the beginning."""
    watch = Watch(nodes=3, begin_s=1.8)
    for line in LINES.splitlines():
        watch.on_line(line)
    assert watch.rtt_s(0, 2) == pytest.approx(2.7 - 2.2)
    assert (watch.overflows, watch.given_up) == ([0, 1, 0], [1, 0, 0])
    call = watch.call(0, 2)
    assert (call.sent, call.arrived, call.delay_s) == (2, 1, pytest.approx(0.3))


def test_places_of_a_cross_are_those_of_all_arms() -> None:
    counts = [1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 5, 7]
    small = replace(CROSS, hops=3, frames=(50,) * 4)
    assert places(small, counts) == [10, 0, 5, 7]
    run = Meshed(
        simulator="fake",
        cpu_s=1.0,
        simulated_s=1.0,
        flow_bps=(),
        overflows=counts,
        given_up=[0] * 13,
    )
    shares = [
        q.above(run) / q.below(run) for q in drops(small) if q.name.startswith("share of drops at")
    ]
    assert sum(shares) == pytest.approx(1)


@ns2
def test_a_chain_that_shares_a_medium_has_it_in_turns() -> None:
    """Of two hops each gets half the time of one; with small queues hardly anything waits."""
    short = replace(CHAIN, warm_up_s=5.0, seconds=20.0)
    one = run_mesh(replace(short, hops=1, frames=(50,) * 2))
    two = run_mesh(replace(short, hops=2, frames=(50,) * 3))
    assert two.flow_bps[0] == pytest.approx(one.flow_bps[0] / 2, rel=0.1)
    small = run_mesh(replace(short, hops=2, frames=(2, 3, 3)))
    assert small.rtt_s[0] < two.rtt_s[0] / 4
    assert small.overflows[0] > 0
    # Both figures tell of the same connection.
    assert two.smoothed_rtt_s[0] == pytest.approx(two.rtt_s[0], rel=0.2)


@ns2
def test_a_call_waits_in_the_queues_of_the_data() -> None:
    mesh = replace(CHAIN, hops=2, frames=(50,) * 3, warm_up_s=5.0, seconds=20.0, calls=True)
    run = run_mesh(mesh)
    assert run.calls_sent[0] == pytest.approx(25 * mesh.seconds, abs=1)
    assert 0.9 * run.calls_sent[0] < run.calls_arrived[0] <= run.calls_sent[0]
    assert 0.2 * run.rtt_s[0] < run.call_delay_s[0] < run.rtt_s[0]
    unwatched = run_mesh(mesh, watch=False)
    assert unwatched.flow_bps == run.flow_bps
