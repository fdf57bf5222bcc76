"""Endpoints over real sockets on the loopback device, with what goes wrong there."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import loopback
from airqueue._native import Client, NativeError, Server
from airqueue.cli import main
from airqueue.measure.live import LiveProber
from airqueue.measure.plan import Plan, Segment, cbr
from airqueue.measure.prober import ProbeError, RunInterrupted
from airqueue.measure.records import MISSING
from bed_traffic import judged_when_punctual
from binaries import newest

pytestmark = pytest.mark.wall_clock

GARBAGE_DATAGRAMS = 1_000_000
LOOPBACKS = ("127.0.0.1", "::1")
STOPS_WITHIN_S = 2.0
"""How long a sender may go on after its receiver died, and a receiver after its sender."""


@contextmanager
def serving(**options):
    server = Server(options.pop("bind", None), 0, **options)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def server():
    with serving() as running:
        yield running


@contextmanager
def server_process(*options):
    """A server of its own process, to be killed or watched; yields it and its port."""
    script = (
        "import sys, time; from airqueue._native import Server\n"
        "server = Server('127.0.0.1', 0)\n"
        "print(server.port, flush=True)\n"
        "for line in sys.stdin: print(server.stats()['datagrams_sent'], flush=True)\n"
        "time.sleep(1000)\n"
    )
    argv = [sys.executable, "-c", script, *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as child:
        try:
            yield child, int(child.stdout.readline())
        finally:
            child.kill()


def three_flows(seconds=0.6):
    return Plan(
        (
            cbr(0, 0.1, seconds, 2000, 1500),
            cbr(1, 0.0, seconds, 40, 1500),
            cbr(2, 0.0, seconds, 40, 750),
            Segment(0, seconds / 2, 0.0, 64, 200),
        )
    )


def expected(plan):
    """Offset, flow and size of each packet of a plan, in the order of sending."""
    rows = [
        (start + k * length // count, i, flow, size)
        for i, (flow, start, length, count, size, _) in enumerate(plan.native())
        for k in range(count)
    ]
    return sorted(rows, key=lambda row: row[:2])


@pytest.mark.parametrize("host", LOOPBACKS)
@pytest.mark.parametrize("direction", ["down", "up"])
@judged_when_punctual
def test_a_run_over_loopback(server, host, direction):
    plan = three_flows()
    glimpses = []
    with LiveProber(host, server.port, direction=direction) as prober:
        time.sleep(0.15)  # the kernel stamps packets a moment after the first socket asked
        run = prober.run(plan, {"kind": "test"}, glimpses.append)
    rows = expected(plan)
    assert run.end == "complete"
    assert run.meta == {"kind": "test"}
    assert run.scheduled_ns.tolist() == [row[0] for row in rows]
    assert run.flow.tolist() == [row[2] for row in rows]
    assert run.size_bytes.tolist() == [row[3] for row in rows]
    assert run.sent.all()
    assert run.received.all()
    assert (run.sent_ns >= run.scheduled_ns).all(), "no packet leaves early"
    assert run.host.kernel_receive_timestamps
    assert run.host.send_blocked == run.host.receive_overflow == run.host.duplicates == 0
    # One machine, one clock: what the delay varies by is real, and small in the median.
    delay = run.delay_s - run.delay_s.min()
    assert 0 <= np.median(delay) < 0.005
    stamped = run.kernel_tx_ns != MISSING
    assert stamped.any()
    assert (run.kernel_tx_ns[stamped] > run.sent_ns[stamped] - 100_000).all()
    assert glimpses
    assert glimpses[-1].planned_s == pytest.approx(plan.end_s, abs=0.01)


def test_packets_have_the_size_that_the_plan_says(server):
    """A raw socket on the loopback device sees IP packets of exactly the planned sizes."""
    plan = Plan((cbr(0, 0, 0.2, 100, 1500), cbr(1, 0, 0.2, 100, 750)))
    with loopback.listening() as tap:
        for host, version in (("127.0.0.1", 4), ("::1", 6)):
            with LiveProber(host, server.port, direction="up") as prober:
                prober.run(plan, {})
            sizes = [
                len(packet)
                for packet in loopback.packets_of(tap, server.port)
                if packet[0] >> 4 == version and len(packet) in (750, 1500)
            ]
            # The loopback device shows every packet twice: as it leaves and as it comes.
            assert sorted(sizes) == [750] * 40 + [1500] * 40


def test_runs_follow_each_other_in_one_session(server):
    with LiveProber("localhost", server.port) as prober:
        for direction in ("down", "up", "down"):
            prober.direction = direction
            run = prober.run(Plan((cbr(0, 0, 0.1, 500, 300),)), {})
            assert (run.end, len(run)) == ("complete", 50)
        assert server.stats()["runs"] == 3
        assert prober.elapsed_s() >= 0.3
    deadline = time.monotonic() + 60
    while server.stats()["sessions"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.stats()["sessions"] == 0, "closing a prober ends its session"


@pytest.mark.parametrize("direction", ["down", "up"])
def test_ctrl_c_leaves_a_valid_partial_run_and_a_usable_session(server, direction):
    def interrupt(progress):
        if progress.elapsed_s > 0.4:
            raise KeyboardInterrupt

    with LiveProber("127.0.0.1", server.port, direction=direction) as prober:
        with pytest.raises(RunInterrupted) as caught:
            prober.run(Plan((cbr(0, 0, 60.0, 500, 600),)), {"kind": "x"}, interrupt)
        run = caught.value.run
        assert run is not None
        assert run.end == "cancelled"
        assert run.meta == {"kind": "x"}
        sent = int(np.count_nonzero(run.sent))
        assert 100 < sent <= len(run) < 6000
        assert np.count_nonzero(run.received) > 0.9 * sent
        again = prober.run(Plan((cbr(0, 0, 0.1, 500, 300),)), {})
        assert again.end == "complete"


def test_a_plan_beyond_the_servers_limits_is_refused_with_the_limit():
    with (
        serving(max_bits_per_s=1_000_000, max_run_s=5) as server,
        LiveProber("127.0.0.1", server.port) as prober,
    ):
        assert prober.max_rate_pps(1250) == pytest.approx(100)
        for plan in (cbr(0, 0, 1, 200, 1250), cbr(0, 0, 6, 10, 1250)):
            with pytest.raises(ProbeError):
                prober.run(Plan((plan,)), {})
        assert prober.run(Plan((cbr(0, 0, 0.2, 50, 1250),)), {}).end == "complete"


def one_sentence(error):
    text = str(error.value)
    return "\n" not in text and text.endswith(".") and "os error" not in text


def test_nobody_listens():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(ProbeError, match=rf"127.0.0.1:{port} refuses UDP") as error:
        LiveProber("127.0.0.1", port, timeout_s=100.0)
    assert one_sentence(error)
    assert time.monotonic() - began < 60, "the ICMP message is answer enough"


def test_a_silent_server():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(ProbeError, match=rf"no .* from 127.0.0.1:{port}") as error:
            LiveProber("127.0.0.1", port, timeout_s=1.0)
        assert one_sentence(error)
        assert 0.9 < time.monotonic() - began < 9, "not the 10 s that are the default"


@pytest.mark.parametrize("host", ["", "no such host", "nowhere.invalid", "999.1.1.1"])
def test_a_host_that_cannot_be_resolved(host):
    with pytest.raises(ProbeError, match="cannot resolve") as error:
        LiveProber(host, 5860)
    assert one_sentence(error)


@pytest.mark.parametrize(("theirs", "ours"), [(b"right", b"wrong"), (b"right", None)])
def test_a_wrong_or_missing_key(theirs, ours):
    with serving(key=theirs) as server:
        with pytest.raises(ProbeError, match="key") as error:
            LiveProber("127.0.0.1", server.port, key=ours, timeout_s=2.0)
        assert one_sentence(error)
        with LiveProber("127.0.0.1", server.port, key=theirs) as prober:
            assert prober.run(Plan((cbr(0, 0, 0.1, 500, 300),)), {}).end == "complete"


def test_a_port_in_use(server):
    with pytest.raises(NativeError, match=rf"port {server.port} .* is taken"):
        Server(None, server.port)
    with pytest.raises(ProbeError, match=rf"port {server.port} .* is taken"):
        LiveProber("::1", server.port, local_ports=[server.port])


def test_wishes_that_make_no_sense(server):
    for options, words in (
        ({"flows": 0}, "1 to 16"),
        ({"flows": 2, "local_ports": [0, 0, 0]}, "3 local ports for 2 flows"),
        ({"netns": "/run/netns/absent"}, "/run/netns/absent"),
        ({"timeout_s": -1.0}, "timeout_s"),
    ):
        with pytest.raises(ProbeError, match=words):
            LiveProber("127.0.0.1", server.port, **options)
    with pytest.raises(NativeError, match="IP address"):
        Server("localhost", 0)
    with LiveProber("127.0.0.1", server.port) as prober:
        client = prober._client
        with pytest.raises(NativeError, match="direction"):
            client.start([(0, 0, 0, 1, 100, 0)], "sideways")
        with pytest.raises(NativeError, match="no run"):
            client.finish(0.1)
    with pytest.raises(NativeError, match="closed"):
        client.start([(0, 0, 0, 1, 100, 0)], "down")


def test_local_ports_are_the_flows(server):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with LiveProber("127.0.0.1", server.port, local_ports=[port]) as prober:
        run = prober.run(Plan((cbr(0, 0, 0.1, 100, 300), cbr(2, 0, 0.1, 100, 300))), {})
        assert run.received.all()
        with pytest.raises(ProbeError, match=f"port {port} .* is taken"):
            LiveProber("127.0.0.1", server.port, local_ports=[port])


def test_when_the_receiver_dies_the_sender_stops():
    script = (
        "import sys; from airqueue._native import Client\n"
        "client = Client('127.0.0.1', int(sys.argv[1]))\n"
        "client.start([(0, 0, 60_000_000_000, 60_000, 200, 0)], 'down')\n"
        "print('started', flush=True); client.finish(100.0)\n"
    )
    with (
        server_process() as (server, port),
        subprocess.Popen(
            [sys.executable, "-c", script, str(port)], stdout=subprocess.PIPE, text=True
        ) as client,
    ):
        client.stdout.readline()
        until(lambda: datagrams_sent(server) > 500)
        client.send_signal(signal.SIGKILL)
        client.wait()
        check_that_sending_ends(server, datagrams_sent(server))


def datagrams_sent(server):
    """How many datagrams a server of its own process has sent."""
    server.stdin.write("\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def check_that_sending_ends(server, since):
    """Of 1000 datagrams a second, the server sends no more than those of the limit.

    The time at which this process sees the last of them would say how busy the machine is.
    """
    sent, before = since, -1
    end = time.monotonic() + 60
    while sent != before and time.monotonic() < end:
        time.sleep(1.0)
        sent, before = datagrams_sent(server), sent
    assert sent - since < 1000 * (STOPS_WITHIN_S + 0.2)


def until(done, patience_s=60.0):
    """Wait for a condition."""
    end = time.monotonic() + patience_s
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("direction", "ends"), [("up", "receiver_silent"), ("down", "sender_silent")]
)
@judged_when_punctual
def test_when_the_server_dies_the_client_stops(direction, ends):
    with server_process() as (server, port):
        client = Client("127.0.0.1", port)
        client.start([(0, 0, 60_000_000_000, 60_000, 200, 0)], direction)
        time.sleep(1.0)
        server.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        while client.poll()["state"] == "running":
            assert time.monotonic() - killed < STOPS_WITHIN_S + 0.2
            time.sleep(0.01)
        # Then it asks for the server's half of the records, and the kernel of the server's machine
        # says that nobody listens there any more.
        with pytest.raises(NativeError, match=r"127\.0\.0\.1") as error:
            assert client.finish(5.0)["end"] == ends
        assert "within 5" not in str(error.value)


GARBAGE = """
import random, socket, sys
port, count = map(int, sys.argv[1:])
rng = random.Random(5)
noise = rng.randbytes(1 << 16)
starts = [b"", b"", b"", *(b"AQPB\\x04" + bytes((kind,)) for kind in range(24))]
thrown = [
    rng.choice(starts) + noise[at : at + rng.randrange(200)]
    for at in (rng.randrange(1 << 15) for _ in range(50_000))
]
thrower = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
thrower.connect(("127.0.0.1", port))
send = thrower.send
for _ in range(count // len(thrown)):
    for payload in thrown:
        send(payload)
print("thrown", flush=True)
"""
"""Random bytes of random lengths, most of them behind a genuine beginning."""


def resident_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def test_a_million_random_datagrams_do_not_disturb_a_measurement():
    with server_process() as (server, port), LiveProber("127.0.0.1", port) as prober:
        before = prober.run(Plan((cbr(0, 0, 0.2, 500, 300),)), {})
        memory = resident_kib(server.pid)
        runs = []
        argv = [sys.executable, "-c", GARBAGE, str(port), str(GARBAGE_DATAGRAMS)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as thrower:
            while not runs or thrower.poll() is None:
                runs.append(prober.run(Plan((cbr(0, 0, 1.0, 500, 300),)), {}))
            assert thrower.stdout.read() == "thrown\n"
        after = prober.run(Plan((cbr(0, 0, 0.2, 500, 300),)), {})
        assert before.end == after.end == "complete"
        assert runs
        for run in runs:
            assert run.end == "complete"
            assert run.sent.all()
            assert np.count_nonzero(run.received) > 0.95 * len(run)
        assert server.poll() is None
        assert resident_kib(server.pid) - memory < 64 * 1024, "strangers cost no memory"


def test_the_binarys_capture_is_analysed(server, tmp_path):
    output = tmp_path / "down.aqc"
    argv = [
        newest("airqueue-endpoint"),
        "client",
        "127.0.0.1",
        "--port",
        str(server.port),
        "--output",
        output,
    ]
    argv += ["--rate", "500", "--duration", "500ms", "--drain", "100ms", "--baseline", "300ms"]
    subprocess.run(argv, check=True, capture_output=True, timeout=30)
    done = CliRunner().invoke(main, ["analyze", str(output), "--json", "-"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert (result["profile"], result["direction"]) == ("capture", "down")
    # Nothing on the loopback device refuses packets, so no queue was seen full.
    assert result["discard_reasons"] == {"not_saturated": 1}


def in_own_network(script, *steps):
    """Run a Python script in a network namespace of its own; returns what it printed."""
    shell = " && ".join((*steps, f'exec "{sys.executable}" -c "$0"'))
    argv = ["unshare", "--map-root-user", "--net", "sh", "-c", shell, script]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    if "unshare" in done.stderr:
        pytest.skip(f"no network namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("direction", ["down", "up"])
def test_packets_larger_than_the_mtu_do_not_leave_in_pieces(direction):
    script = f"""
from airqueue._native import Server
from airqueue.cli import main
from airqueue.measure.live import LiveProber
from airqueue.measure.plan import Plan, cbr
from airqueue.measure.prober import ProbeError
server = Server(None, 0)
prober = LiveProber("127.0.0.1", server.port, direction="{direction}")
print(prober.run(Plan((cbr(0, 0, 0.1, 200, 1400),)), {{}}).received.sum())
try:
    prober.run(Plan((cbr(0, 0, 0.1, 200, 1500),)), {{}})
except ProbeError as error:
    print(error)
"""
    fits, refused = in_own_network(script, "ip link set lo mtu 1400 up").splitlines()
    assert fits == "20"
    assert "MTU" in refused


def test_sockets_in_another_namespace_and_the_process_where_it_was():
    if os.geteuid() != 0:
        pytest.skip("entering a namespace needs root")
    with subprocess.Popen(["unshare", "--net", "sleep", "300"]) as holder:
        try:
            path = f"/proc/{holder.pid}/ns/net"
            deadline = time.monotonic() + 60
            while Path(path).readlink() == Path("/proc/self/ns/net").readlink():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            enter = ["nsenter", f"--net={path}", "ip", "link", "set", "lo", "up"]
            subprocess.run(enter, check=True)
            with serving(bind="127.0.0.1", netns=path) as server:
                with LiveProber("127.0.0.1", server.port, netns=path) as prober:
                    run = prober.run(Plan((cbr(0, 0, 0.1, 200, 300),)), {})
                    assert run.received.all()
                with pytest.raises(ProbeError, match="refuses"):
                    LiveProber("127.0.0.1", server.port)
        finally:
            holder.kill()


def test_a_client_can_be_made_and_dropped_often(server):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        Client("127.0.0.1", server.port).close()
        Client("127.0.0.1", server.port)
    after = len(list(Path("/proc/self/fd").iterdir()))
    assert after <= before


def test_runs_of_two_clients_take_turns_and_the_one_that_waits_says_so(server):
    plan = Plan((cbr(0, 0, 1.5, 200, 300),))
    seen = []
    runs = {}

    first_runs = threading.Event()

    def measure(name):
        def note(progress):
            seen.append((name, progress))
            first_runs.set()

        with LiveProber("127.0.0.1", server.port) as prober:
            assert name == "first" or first_runs.wait(60)
            runs[name] = prober.run(plan, {}, note)

    threads = [threading.Thread(target=measure, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [run.end for run in runs.values()] == ["complete"] * 2
    assert not any(run.host.shared for run in runs.values())
    waits = [p.waits_s for name, p in seen if p.waits_s is not None and name == "second"]
    assert waits
    assert 0 <= min(waits) <= max(waits) <= 2.6, "a run takes about a second beside its plan"
    assert not any(p.waits_s is not None for name, p in seen if name == "first")


def test_a_client_may_refuse_to_wait(server):
    stop = threading.Event()

    def occupy():
        with LiveProber("127.0.0.1", server.port) as prober:
            prober.run(Plan((cbr(0, 0, 3.0, 100, 300),)), {}, lambda p: stop.set())

    thread = threading.Thread(target=occupy)
    thread.start()
    stop.wait(10)
    with (
        LiveProber("127.0.0.1", server.port, max_wait_s=0.0) as prober,
        pytest.raises(ProbeError, match=r"1 run of other clients .*--max-wait") as error,
    ):
        prober.run(Plan((cbr(0, 0, 0.1, 100, 300),)), {})
    assert one_sentence(error)
    thread.join(20)
