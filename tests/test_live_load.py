"""TCP load through the bindings: real sockets, and the kernel's TCP."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from airqueue._native import Client, NativeError, Server
from bed_traffic import judged_when_punctual

pytestmark = pytest.mark.wall_clock

MISSING = np.iinfo(np.int64).min


@contextmanager
def pair(**options):
    """A server, and a client with a session."""
    server = Server("127.0.0.1", 0, max_bits_per_s=30_000_000, **options)
    try:
        client = Client("127.0.0.1", server.port, flows=1, netns=options.get("netns"))
        try:
            yield server, client
        finally:
            client.close()
    finally:
        server.stop()


def begin(client, direction, seconds=1.5):
    """Begin a sparse run, and return when it is in progress."""
    client.start([(0, 0, int(seconds * 1e9), int(seconds * 50), 200, 0)], direction)
    until(lambda: client.poll()["started_ns"] is not None)


def until(done, patience_s=60.0):
    """Wait for a condition."""
    end = time.monotonic() + patience_s
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("direction", ["down", "up"])
@judged_when_punctual
def test_load_and_run_are_on_one_time_axis(direction):
    with pair() as (_server, client):
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        begin(client, direction)
        load = client.load(down=1, up=1)
        until(lambda: load.poll()["ended"])
        series = load.stop()
        run = client.finish(60.0)
        over = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        poll = client.poll()
    assert series["died"] == []
    assert series["down_bytes"].sum() > 0
    assert series["up_bytes"].sum() > 0
    ends = series["at_ns"]
    assert began < series["from_ns"] < ends[0]
    assert (np.diff(ends) > 0).all()
    assert ends[-1] < over
    assert {len(column) for column in series.values() if isinstance(column, np.ndarray)} == {
        len(ends)
    }
    assert (series["up_rtt_median_ns"] >= series["up_rtt_least_ns"]).all()
    assert (series["up_rtt_median_ns"] != MISSING).any()
    epoch, started = poll["epoch_ns"], poll["started_ns"]
    assert epoch is not None
    assert started is not None
    own = run["received_ns"] if direction == "down" else run["sent_ns"]
    own = epoch + own[own != MISSING]
    assert began < started <= own[0] < series["from_ns"]
    # The load ends with the last planned packet, give or take a busy processor.
    assert abs(ends[-1] - own[-1]) < 0.5e9


def test_epochs_are_of_the_present_run():
    with pair() as (_server, client):
        assert client.poll()["epoch_ns"] is None
        assert client.poll()["started_ns"] is None
        begin(client, "up", 0.2)
        first = client.poll()["started_ns"]
        client.finish(60.0)
        begin(client, "down", 0.2)
        second = client.poll()
        client.finish(60.0)
    assert second["started_ns"] > first
    assert second["epoch_ns"] < first, "received times count from the beginning of the session"


def test_a_load_without_a_run_or_of_no_connections_is_one_sentence():
    with pair() as (_server, client):
        with pytest.raises(NativeError, match="needs a run in progress"):
            client.load(1, 0)
        begin(client, "down", 0.5)
        with pytest.raises(NativeError, match="1 to 32"):
            client.load(0, 0)
        with pytest.raises(OverflowError):
            client.load(-1, 0)
        client.finish(60.0)


def test_a_load_in_another_namespace():
    if os.geteuid() != 0:
        pytest.skip("entering a namespace needs root")
    with subprocess.Popen(["unshare", "--net", "sleep", "300"]) as holder:
        try:
            path = f"/proc/{holder.pid}/ns/net"
            until(lambda: Path(path).readlink() != Path("/proc/self/ns/net").readlink())
            enter = ["nsenter", f"--net={path}", "ip", "link", "set", "lo", "up"]
            subprocess.run(enter, check=True)
            with pair(netns=path) as (_server, client):
                begin(client, "down", 1.0)
                load = client.load(1, 1)
                until(lambda: load.poll()["ended"])
                assert load.poll()["failed"] is None
                assert (load.stop()["down_bytes"]).sum() > 0
                client.finish(60.0)
        finally:
            holder.kill()


def test_a_server_without_tcp():
    with pair(tcp=False) as (server, client):
        assert server.no_tcp is None
        begin(client, "down", 0.5)
        load = client.load(1, 0)
        until(lambda: load.poll()["ended"])
        assert "offers no TCP load" in load.poll()["failed"]
        client.finish(60.0)


def first_line(*options):
    """The first line of `airqueue server`."""
    command = [sys.executable, "-m", "airqueue", "server", "--bind", "127.0.0.1", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.terminate()
    return line


def test_the_command_says_why_it_offers_no_tcp():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = first_line("--port", str(port))
        quiet = first_line("--port", str(port), "--no-tcp")
    assert line.startswith(f"Listening on 127.0.0.1:{port}")
    assert f"No TCP load: TCP port {port} of 127.0.0.1 is taken." in line
    assert quiet == f"Listening on 127.0.0.1:{port}, Ctrl-C ends it.\n"
