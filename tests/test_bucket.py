"""How deep the token bucket of a shaper or a policer is, on simulated paths."""

from __future__ import annotations

import numpy as np
import pytest

from airqueue.measure import bucket
from airqueue.measure.api import measure
from airqueue.measure.disciplines import classes, steps, treatment
from airqueue.measure.disciplines.observed import Step
from airqueue.measure.quiet import baseline, quiet_length_s
from airqueue.measure.runner import Runner
from airqueue.measure.session import Session
from airqueue.measure.simulated import SimulatedProber
from airqueue.measure.words import describe

IP_BYTES = {"link_overhead_bytes": 0}
"""The simulated bottleneck counts no Ethernet header."""


def path(rate_bps: float, burst_bytes: int = 1540, queue: str = "pfifo:60", **more: object):
    shaper = {} if more.get("policer") else {"shaper": "token_bucket"}
    config = {"rate_bps": rate_bps, "burst_bytes": burst_bytes, "queue": queue, **shaper, **more}
    return SimulatedProber(config, seed=1)


def through(prober: SimulatedProber):
    return measure(prober, header=IP_BYTES)


@pytest.mark.parametrize(
    ("rate_bps", "burst_bytes", "more"),
    [
        # One that outlasts a train, and the first flood, of a slow path.
        (1e6, 200_000, {}),
        (20e6, 96_896, {}),
        # Longer to fill than the sessions' rests.
        (20e6, 3_028_000, {}),
        (20e6, 3_028_000, {"policer": True}),
        (100e6, 3_000_000, {"queue": "bfifo:150000"}),
    ],
)
def test_the_bucket_is_known_to_a_packet(rate_bps, burst_bytes, more):
    found = through(path(rate_bps, burst_bytes, **more))
    token_bucket = found.token_bucket
    assert token_bucket is not None
    assert not token_bucket.at_least
    low, high = token_bucket.ci95_bytes
    assert low <= burst_bytes <= high
    assert high - low <= 3 * 1500
    says = " ".join(describe(found.to_json()).findings)
    assert "After a rest" in says
    if more.get("policer"):
        assert found.verdict == "policer"
    else:
        # What passes at once does not count as waiting.
        truth = 60 if "queue" not in more else 150_000
        assert found.ci95[0] <= truth <= found.ci95[1]
        assert found.discarded_sessions == 0


@pytest.mark.long
def test_random_buckets():
    draw = np.random.default_rng(20262001)
    for _ in range(20):
        rate_bps = float(10 ** draw.uniform(6, 8.3))
        burst_bytes = int(10 ** draw.uniform(4.5, 6.7))
        found = through(path(rate_bps, burst_bytes, policer=bool(draw.random() < 0.3)))
        about = f"{burst_bytes} bytes at {rate_bps:.0f} b/s: {found.token_bucket}"
        assert found.token_bucket is not None, about
        if found.token_bucket.at_least:
            assert burst_bytes > 0.8 * bucket.LONGEST_REST_S * rate_bps / 8, about
        else:
            low, high = found.token_bucket.ci95_bytes
            assert low <= burst_bytes <= high, about


def test_a_bucket_that_no_rest_fills_is_at_least_so_deep():
    found = through(path(3e6, 30_000_000))
    assert found.token_bucket.at_least
    assert found.token_bucket.ci95_bytes is None
    # Of what the longest rest saves; the bucket has 80 s of the rate.
    assert 20 * 3e6 / 8 < found.token_bucket.bytes < 30 * 3e6 / 8
    assert "at least that deep" in " ".join(describe(found.to_json()).findings)
    assert (found.verdict, round(found.capacity)) == ("fifo", 60)


@pytest.mark.parametrize(
    "more",
    [
        {"shaper": "link"},
        # A kernel's default, of a packet and a millisecond.
        {"burst_bytes": 4000},
        {"shaper": "link", "aggregate_packets": 16},
    ],
)
def test_a_link_has_no_bucket(more):
    kinds = []
    config = {"rate_bps": 20e6, "queue": "pfifo:100", "shaper": "token_bucket", **more}
    prober = SimulatedProber(config, seed=1)
    found = measure(prober, header=IP_BYTES, on_run=lambda run: kinds.append(run.meta["kind"]))
    assert found.token_bucket is None
    assert bucket.KIND not in kinds


def floods(rate_pps: float, prober: SimulatedProber):
    """Runs for the bucket as `bucket.find` makes them."""
    runner = Runner(prober)
    quiet_s = quiet_length_s(rate_pps, 1)
    at = steps.Layout(
        1500, rate_pps, 1e6, 100.0, baseline(0.0, quiet_s, rate_pps, (1500,)), quiet_s
    )
    for index in range(3):
        prober.wait(5.0 * index - prober.elapsed_s())
        plan, meta = bucket.bucket_plan(at, 2.0, 1000.0, index)
        runner.run(plan, meta)
    return runner.sessions(bucket.KIND)


def test_a_rate_that_falls_in_the_middle_of_a_flood_is_no_bucket():
    """As many packets pass beyond the later rate, but the times of the changes differ."""
    config = {"rate_bps": 70e6, "queue": "pfifo:100"}
    changes = []
    for begin, after_s in ((0.0, 0.2), (5.0, 0.25), (10.0, 0.3)):
        changes += [[begin + 0.5, 1.0], [begin + 2.0 + after_s, 2 / 7]]
    prober = SimulatedProber({**config, "rate_changes": changes}, 1)
    sessions = floods(20e6 / 8 / 1500, prober)
    seen = [bucket.saved(each) for each in sessions]
    assert [each is not None and each.packets > 200 for each in seen] == [True] * 3
    assert bucket.judge(sessions) is None


def test_a_queue_is_no_bucket():
    """Packets that wait have passed nothing at once."""
    sessions = floods(20e6 / 8 / 1500, path(20e6, 1540, "pfifo:1000"))
    assert bucket.judge(sessions) is None
    sessions = floods(20e6 / 8 / 1500, path(20e6, 300_000, "pfifo:1000"))
    assert bucket.judge(sessions).bytes == pytest.approx(300_000 * 1514 / 1500, rel=1e-6)


def through_step(burst_packets: float, known_packets: float) -> Step:
    rate_pps, size = 1000.0, 1500
    quiet_s = quiet_length_s(rate_pps, 1)
    sparse = baseline(0.0, quiet_s, rate_pps, (size,))
    at = steps.Layout(size, rate_pps, 1e5, 200.0, sparse, quiet_s, known_packets)
    runner = Runner(path(8 * size * rate_pps, round(burst_packets * size), "pfifo:1000"))
    step = Step.of(Session(runner.run(*steps.step_plan(at, 1.1, 5.0, 0))))
    assert step is not None
    return step


def test_a_step_begins_when_the_tokens_are_spent():
    """Otherwise a small overload meets no queue: 10 % of 5 s are 500 packets."""
    unaware = through_step(2000.0, 0.0)
    assert unaware.waiting.max() <= 2
    aware = through_step(2000.0, 2000.0)
    # What the step's overload brings beyond the tokens that were left, a hundredth.
    share = steps.LEFT[1]
    assert aware.waiting.max() == pytest.approx(500 - share * 2000, abs=3)
    assert aware.rest_s >= 2.0


def test_classes_are_tried_when_the_tokens_are_spent():
    rate_pps, size = 1000.0, 1500
    quiet_s = quiet_length_s(rate_pps, 1)
    sparse = baseline(0.0, quiet_s, rate_pps, (size,))

    def found(known_packets: float):
        at = steps.Layout(size, rate_pps, 1e5, 200.0, sparse, quiet_s, known_packets)
        runner = Runner(path(8 * size * rate_pps, 2000 * size, "pfifo:100"))
        laid_out = classes.classes_plan(at)
        assert laid_out is not None
        runner.run(*laid_out)
        return treatment.judge(runner.sessions(), idle=(0, 100))

    assert found(0.0).lost_share == {}
    (says,) = [each.says for each in found(0.0).evidence]
    assert "met no queue" in says
    assert found(2000.0).lost_share["ect_0"] > 0.05
