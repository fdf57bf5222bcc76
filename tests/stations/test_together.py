"""Endpoints over real sockets: a server, this client, and servers for other stations."""

import os
import signal
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import pytest

from airqueue._native import Client, NativeError, Server
from airqueue.measure.live import LiveProber
from airqueue.measure.plan import Plan, cbr
from airqueue.measure.prober import ProbeError, RunInterrupted
from airqueue.measure.records import MISSING, HostReport, Run
from airqueue.measure.together import TogetherProber, joined

pytestmark = pytest.mark.wall_clock

HOST, STATIONS = "127.0.0.1", ("127.0.0.2", "127.0.0.3")
"""All of 127.0.0.0/8 is this machine: each end has an address of its own, and one port."""


@contextmanager
def ends(stations=STATIONS, attend=(HOST,), **about):
    """A server and those of the stations; yields their port and the latter."""
    with ExitStack() as stack:

        def serve(address, port, **options):
            server = Server(address, port, **options)
            stack.callback(server.stop)
            return server

        host = serve(HOST, 0)
        others = [serve(each, host.port, attend=list(attend), **about) for each in stations]
        yield host.port, others


def floods(seconds=0.5):
    return Plan(
        (
            cbr(0, 0.1, 0.1 + seconds, 1000, 1500),
            cbr(1, 0.0, 0.1 + seconds, 20, 200),
            cbr(2, 0.1, 0.2 + seconds, 1000, 1500),
            cbr(3, 0.1, 0.2 + seconds, 500, 200),
        )
    )


def test_every_station_records_what_comes_to_it():
    seen = []
    with ends() as (port, others), TogetherProber(HOST, STATIONS, port) as prober:
        for _ in range(2):
            run = prober.run(floods(), {"kind": "test"}, seen.append)
            assert (run.end, run.meta) == ("complete", {"kind": "test"})
            assert run.sent.all()
            assert run.received.all()
            assert run.host.kernel_receive_timestamps
            # Each flow has one clock: delays vary by what is real, and little in the median.
            for flow in range(4):
                delay = run.delay_s[run.flow == flow]
                assert 0 <= np.median(delay - delay.min()) < 0.02
        assert prober.max_rate_pps(1500) == pytest.approx(1e9 / 12_000)
        assert prober.elapsed_s() > 1.0
        prober.wait(0.0)
        assert all(server.stats()["runs"] == 2 for server in others)
    assert any(p.received for p in seen)


def test_the_least_of_all_limits_holds():
    with ends(STATIONS[:1], max_bits_per_s=12_000_000) as (port, _):
        with TogetherProber(HOST, STATIONS[:1], port) as prober:
            assert prober.max_rate_pps(1500) == 1000.0
            with pytest.raises(ProbeError, match="peaks at"):
                prober.run(Plan((cbr(0, 0, 0.5, 100, 1500), cbr(2, 0, 0.5, 2000, 1500))), {})
        with TogetherProber(HOST, STATIONS[:1], port, max_rate_bps=1.2e6) as prober:
            assert prober.max_rate_pps(1500) == 100.0


def test_a_station_that_did_not_agree_is_not_measured():
    with ends(attend=["192.0.2.1"]) as (port, others):
        with pytest.raises(ProbeError, match=r"^127.0.0.2:\d+ may not .*--attend 127.0.0.1\.$"):
            TogetherProber(HOST, STATIONS, port)
        assert all(server.stats()["runs"] == 0 for server in others)


def test_a_station_with_another_key_is_named():
    refused = pytest.raises(ProbeError, match=r"^127.0.0.2: .*key")
    with ends(STATIONS[:1], key=b"theirs") as (port, _), refused:
        TogetherProber(HOST, STATIONS[:1], port)


def test_nobody_there():
    with pytest.raises(ProbeError, match=r"127\.0\.0\.1"):
        TogetherProber(HOST, STATIONS, 9, timeout_s=0.3)
    with ends(()) as (port, _), pytest.raises(ProbeError, match=r"127.0.0.2"):
        TogetherProber(HOST, STATIONS, port, timeout_s=0.3)
    with ends(STATIONS[:1]) as (port, _), pytest.raises(ProbeError, match=r"127.0.0.3"):
        TogetherProber(HOST, STATIONS, port, timeout_s=0.3)


def test_an_address_that_is_none_is_refused():
    with pytest.raises(NativeError, match="give an IP address"):
        Server(HOST, 0, attend=["here"])
    with ends(()) as (port, _):
        client = Client(HOST, port, flows=1)
        with pytest.raises(NativeError, match="not an address with a port"):
            client.attend("here", 1, 1, 2)
        client.close()
        with pytest.raises(NativeError, match="all 2 flows are of other stations"):
            Client(HOST, port, flows=2, others=2)


class Once:
    """A callback for progress that lets something be done, beside it, when the run has begun."""

    def __init__(self, do):
        self._thread = threading.Thread(target=do)

    def __call__(self, progress):
        if self._thread.ident is None:
            self._thread.start()


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_a_station_that_goes_away_ends_the_run():
    with ends() as (port, others), TogetherProber(HOST, STATIONS, port) as prober:
        began = time.monotonic()
        with pytest.raises(ProbeError):
            prober.run(floods(20.0), {}, Once(others[1].stop))
        assert time.monotonic() - began < 40.0


@contextmanager
def measuring(prober):
    """Have a prober measure meanwhile; yields the event that ends its run, which has begun."""
    began, enough = threading.Event(), threading.Event()
    plan = Plan((cbr(0, 0.0, 50.0, 50, 100),))

    def note(progress):
        began.set()
        if enough.is_set():
            raise KeyboardInterrupt

    def measure():
        with suppress(RunInterrupted):
            prober.run(plan, {}, note)

    thread = threading.Thread(target=measure)
    thread.start()
    try:
        assert began.wait(60)
        yield enough
    finally:
        enough.set()
        thread.join()


@pytest.mark.parametrize("busy", [pytest.param(HOST, marks=pytest.mark.long), STATIONS[1]])
@pytest.mark.parametrize("begun", [False, True])
def test_runs_of_others_are_waited_for(busy, begun):
    seen = []
    with (
        ends() as (port, _),
        TogetherProber(HOST, STATIONS, port) as prober,
        LiveProber(busy, port) as other,
    ):
        if begun:
            prober.run(floods(), {})

        def note(progress):
            seen.append(progress)
            if progress.runs_ahead:
                enough.set()

        with measuring(other) as enough:
            run = prober.run(floods(), {}, note)
    assert run.end == "complete"
    assert run.received.all()
    assert any(progress.runs_ahead for progress in seen)


@pytest.mark.parametrize("busy", [HOST, STATIONS[1]])
def test_runs_of_others_are_not_waited_for_longer_than_wanted(busy):
    with (
        ends() as (port, _),
        TogetherProber(HOST, STATIONS, port, max_wait_s=0.0) as prober,
        LiveProber(busy, port) as other,
    ):
        where = "the server" if busy == HOST else busy
        refused = pytest.raises(
            ProbeError, match=f"Other clients measure with {where} at the moment"
        )
        with measuring(other), refused:
            prober.run(floods(), {})


def test_ctrl_c_stops_all_ends():
    with ends() as (port, _), TogetherProber(HOST, STATIONS, port) as prober:
        with pytest.raises(RunInterrupted) as stopped:
            prober.run(floods(20.0), {}, Once(ctrl_c))
        assert stopped.value.run is None


def test_an_error_of_the_caller_stops_all_ends():
    def fail(progress):
        raise ValueError(progress.elapsed_s)

    failed = pytest.raises(ValueError, match=r"\d")
    with ends() as (port, _), TogetherProber(HOST, STATIONS, port) as prober, failed:
        prober.run(floods(5.0), {}, fail)


def test_a_station_that_is_gone_before_a_run_is_said_to_be():
    with ends() as (port, others), TogetherProber(HOST, STATIONS, port) as prober:
        others[0].stop()
        with pytest.raises(ProbeError, match=r"127.0.0.2:\d+ has stopped replying"):
            prober.run(floods(), {})


def records(flow, received, **about):
    n = len(flow)
    at = np.arange(n) * 1_000_000
    return Run(
        scheduled_ns=at,
        sent_ns=at.copy(),
        kernel_tx_ns=np.full(n, MISSING),
        received_ns=np.array(received),
        flow=np.array(flow, dtype=np.uint8),
        size_bytes=np.full(n, 1500, dtype=np.uint16),
        **about,
    )


def test_joining_takes_the_rows_of_the_flow_and_adds_what_hosts_report():
    ours = records([0, 2, 0, 2], [5, MISSING, 7, MISSING], host=HostReport(duplicates=1))
    ours.sent_ns[3] = MISSING
    report = HostReport(receive_overflow=3, duplicates=2, clock_steps=1, shared=True)
    theirs = records([0, 2, 0, 2, 2], [MISSING, 90, MISSING, 91, 92], host=report)
    run = joined(ours, theirs, 2)
    assert run.received_ns.tolist() == [5, 90, 7, MISSING], "what was never sent did not arrive"
    assert run.host == HostReport(receive_overflow=3, duplicates=3, clock_steps=1, shared=True)
    assert run.received_class is None
    classes = np.array([1, 2, 3, 0, 0], dtype=np.uint8)
    ours = records([0, 2], [5, MISSING], received_class=classes[:2] * 0, sent_class=classes[:2])
    theirs = records([0, 2, 0, 2, 2], [1] * 5, received_class=classes)
    run = joined(ours, theirs, 2)
    assert run.received_class.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("own", "theirs", "last", "end"),
    [
        # A full queue refused all of the few packets to the station for longer than it waits.
        ("complete", "sender_silent", 91, "complete"),
        ("complete", "sender_silent", MISSING, "sender_silent"),
        ("receiver_silent", "sender_silent", 91, "receiver_silent"),
        ("complete", "cancelled", 91, "cancelled"),
        ("receiver_silent", "complete", 91, "receiver_silent"),
    ],
)
def test_a_station_that_gave_up_in_a_silence_and_recorded_on_spoils_nothing(own, theirs, last, end):
    ours = records([0, 2, 0, 2], [5, MISSING, 7, MISSING], end=own)
    other = records([0, 2, 0, 2], [MISSING, 90, MISSING, last], end=theirs)
    assert joined(ours, other, 2).end == end


def uploads(seconds=0.5):
    """Of this machine and the second station; the first station has no packets."""
    return Plan(
        (
            cbr(0, 0.0, seconds, 1000, 1500, traffic_class=0x20),
            cbr(3, 0.0, seconds, 500, 700),
            cbr(0, seconds, seconds + 0.1, 20, 1500),
        )
    )


def test_stations_upload_and_the_server_records_all():
    with ends() as (port, others), TogetherProber(HOST, STATIONS, port, direction="up") as prober:
        for _ in range(2):
            run = prober.run(uploads(), {"kind": "test"})
            assert run.end == "complete"
            assert run.sent.all()
            assert run.received.all()
            assert run.host.kernel_receive_timestamps
            assert set(run.flow) == {0, 3}
            assert set(run.received_class[run.flow == 3]) == {0}
            assert 0x20 in run.received_class[run.flow == 0]
            # One clock stamps all: the stations send at the same time.
            begins = [run.received_ns[run.flow == flow].min() for flow in (0, 3)]
            assert abs(begins[0] - begins[1]) < 50e6
            for flow in (0, 3):
                delay = run.delay_s[run.flow == flow]
                assert 0 <= np.median(delay - delay.min()) < 0.02
        assert [server.stats()["runs"] for server in others] == [0, 2]


def test_a_station_uploads_alone():
    only = Plan((cbr(2, 0.0, 0.3, 500, 700),))
    with ends() as (port, _), TogetherProber(HOST, STATIONS, port, direction="up") as prober:
        run = prober.run(only, {})
        assert (run.end, len(run)) == ("complete", 150)
        assert run.received.all()


def test_ctrl_c_stops_uploads():
    stopped = pytest.raises(RunInterrupted)
    with (
        ends() as (port, _),
        TogetherProber(HOST, STATIONS, port, direction="up") as prober,
        stopped,
    ):
        prober.run(uploads(20.0), {}, Once(ctrl_c))


def test_a_station_that_goes_away_spoils_the_uploads():
    with (
        ends() as (port, others),
        TogetherProber(HOST, STATIONS, port, direction="up") as prober,
        pytest.raises(ProbeError),
    ):
        # It goes away at the first progress, after a fifth of a second.
        prober.run(uploads(8.0), {}, Once(others[1].stop))
