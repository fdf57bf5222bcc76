"""One queue behind a token bucket, from Python."""

import numpy as np
import pytest

from airqueue.simulate import ScenarioError, shaped


def test_packets_wait_for_their_tokens():
    # A bucket of one packet of 1000 bytes at 8 Mb/s: the first at once, then one a millisecond.
    fates = shaped({}, [0, 0, 0], 1000, rate_bps=8_000_000, burst_bytes=1000)
    assert fates.left_ns.tolist() == [0, 1_000_000, 2_000_000]
    assert not fates.dropped.any() and not fates.marked.any()


def test_the_link_layer_counts():
    queue = {"link_layer": "14 B"}
    fates = shaped(queue, [0, 0], 1000, rate_bps=8_112_000, burst_bytes=1014)
    assert fates.left_ns.tolist() == [0, 1_000_000]


def test_a_seed_decides_all_chance():
    queue = {"discipline": "red", "red": {"ecn": True, "probability": 0.5}}
    at_ns = np.arange(2000) * 900_000
    ect = np.arange(2000) % 2 == 0

    def fates(seed):
        return shaped(queue, at_ns, 1000, rate_bps=8_000_000, ect=ect, seed=seed)

    one, same, other = fates(1), fates(1), fates(2)
    assert (one.left_ns == same.left_ns).all() and (one.marked == same.marked).all()
    assert (one.dropped != other.dropped).any()
    assert one.marked.any() and one.dropped.any()
    assert not one.marked[~ect].any(), "what is not ECN-capable is never marked"
    assert not one.dropped.all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"queue": {"discipline": "pie", "pie": {"target": "-1 ms"}}}, "pie.target"),
        ({"queue": {"codel": {}}}, "queue.codel"),
        ({"at_ns": [0, -1]}, "at_ns"),
        ({"at_ns": [2, 1]}, "at_ns"),
        ({"size_bytes": [1, 2, 3]}, "size_bytes: found 3 values for 2 packets"),
        ({"size_bytes": 1.5}, "size_bytes"),
        ({"flow": -1}, "flow"),
        ({"rate_bps": 0}, "rate_bps"),
        ({"burst_bytes": 0}, "burst_bytes"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes, message):
    arguments = {"queue": {}, "at_ns": [0, 1], "size_bytes": 1000, "rate_bps": 8_000_000}
    with pytest.raises(ScenarioError, match=message):
        shaped(**{**arguments, **changes})


def test_no_packets_have_no_fates():
    assert shaped({}, [], 1000, rate_bps=1).left_ns.size == 0


def test_what_no_bucket_can_ever_hold_is_dropped():
    fates = shaped({}, [0], 2000, rate_bps=8_000_000, burst_bytes=1000)
    assert fates.dropped.tolist() == [True]
