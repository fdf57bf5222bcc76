"""Traffic classes over real sockets on the loopback device, in both families and directions."""

import numpy as np
import pytest

import loopback
from airqueue._native import Server
from airqueue.measure.live import LiveProber
from airqueue.measure.plan import (
    CE,
    ECT_0,
    ECT_1,
    HIGHEST_DSCP,
    NOT_ECT,
    Plan,
    cbr,
    traffic_class,
)
from airqueue.measure.prober import ProbeError

pytestmark = pytest.mark.wall_clock

DATA = 20
"""The type of measured packets on the wire."""
LOOPBACKS = ("127.0.0.1", "::1")
CLASSES = (
    traffic_class(),
    *(traffic_class(46, ecn) for ecn in (NOT_ECT, ECT_1, ECT_0, CE)),
    traffic_class(8),
    traffic_class(45, ECT_1),
)


@pytest.fixture
def server():
    running = Server(None, 0)
    yield running
    running.stop()


def in_classes(*classes):
    """A plan of one flow with several classes in turn, the i-th in packets of 300 + i bytes."""
    return Plan(
        tuple(
            cbr(0, 0.002 * i, 0.2 + 0.002 * i, 100, 300 + i, traffic_class=c)
            for i, c in enumerate(classes)
        )
    )


@pytest.mark.parametrize("host", LOOPBACKS)
@pytest.mark.parametrize("direction", ["down", "up"])
def test_packets_arrive_with_the_class_that_the_plan_says(server, host, direction):
    with LiveProber(host, server.port, direction=direction) as prober:
        run = prober.run(in_classes(*CLASSES), {})
    assert run.received.all()
    assert run.sent_class.dtype == run.received_class.dtype == np.uint8
    assert run.sent_class.tolist() == [CLASSES[size - 300] for size in run.size_bytes]
    assert np.array_equal(run.received_class, run.sent_class)


@pytest.mark.parametrize("host", LOOPBACKS)
def test_ip_headers_have_the_class(server, host):
    """A raw socket on the loopback device sees them; control messages have class 0."""
    with loopback.listening() as tap:
        with LiveProber(host, server.port, direction="up") as prober:
            prober.run(in_classes(*CLASSES), {})
        packets = list(loopback.packets_of(tap, server.port))
    version = 6 if ":" in host else 4
    packets = [p for p in packets if p[0] >> 4 == version]
    ours = [(p, kind) for p in packets if (kind := kind_of(p)) is not None]
    measured = {(len(p), class_of(p)) for p, kind in ours if kind == DATA}
    assert measured == {*enumerate(CLASSES, start=300)}
    assert {class_of(p) for p, kind in ours if kind != DATA} == {0}


def kind_of(packet):
    """The type of a message of ours; None for other packets."""
    udp = loopback.udp_of(packet)
    return udp[13] if udp[8:12] == b"AQPB" else None


def class_of(packet):
    """The octet after the version and header length (RFC 791), or after the version (RFC 8200)."""
    first, second = packet[:2]
    return second if first >> 4 == 4 else (first & 15) << 4 | second >> 4


def test_packets_without_a_class_have_class_0(server):
    with LiveProber("127.0.0.1", server.port) as prober:
        run = prober.run(Plan((cbr(0, 0, 0.1, 200, 300),)), {})
    assert not run.sent_class.any()
    assert not run.received_class.any()
    assert len(run.received_class) == len(run) == 20


def test_a_class_of_network_control_is_refused_and_the_session_stays(server):
    with LiveProber("127.0.0.1", server.port) as prober:
        refused = rf"DSCP {HIGHEST_DSCP + 1}, the highest is {HIGHEST_DSCP}.*network control"
        with pytest.raises(ProbeError, match=refused):
            prober.run(in_classes(0, traffic_class(HIGHEST_DSCP + 1)), {})
        assert prober.run(in_classes(0, traffic_class(HIGHEST_DSCP)), {}).end == "complete"


@pytest.mark.parametrize("wrong", [{"dscp": 64}, {"dscp": -1}, {"ecn": 4}, {"ecn": -1}])
def test_no_class_is_made_of_numbers_that_do_not_fit(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=rf"(?i){name}.* give a number from 0 to"):
        traffic_class(**wrong)
