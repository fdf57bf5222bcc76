"""Emulations leave nothing behind, however they end, and leave the network outside alone."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from airqueue.emulate import EmulatedNetwork, EmulationError, emulate
from airqueue.emulate.devices import Devices
from airqueue.emulate.nodes import Host
from airqueue.linux.netns import Namespace

pytestmark = pytest.mark.emulation

MARK = "AIRQUEUE_TEST_MARK"
BRIEF_S = 60
"""How long the kernel may take to end what a killed process has left, on a busy machine."""
COMMAND = [sys.executable, "-m", "airqueue", "emulate", "quiet-flat", "--quiet"]
PROGRAMS = [
    *("--run", "server=setsid sleep 1000 & sleep 1000"),
    *("--at", "phone", "--", "sh", "-c", "setsid sleep 1000 & echo ready; sleep 1000"),
]


def marked(mark: str) -> list[int]:
    """Processes that have the mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def children(pid: int) -> list[int]:
    """Children of all threads of a process, the oldest first; none of one that has ended."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(x) for x in path.read_text().split()]
    return sorted(found)


@contextmanager
def started(mark: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command with programs at both ends, some of which have left their session."""
    process = subprocess.Popen(
        [*COMMAND, *PROGRAMS],
        env={**os.environ, MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        for pid in marked(mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def none_is_left(mark: str) -> bool:
    deadline = time.monotonic() + BRIEF_S
    while marked(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def links(namespace: Namespace) -> str:
    return namespace.run(("ip", "-o", "link", "show")).stdout


def outside_now() -> str:
    shown = (
        subprocess.run(["ip", "-o", *what], capture_output=True, text=True, check=True).stdout
        for what in (("link",), ("address",), ("route",), ("-6", "route"))
    )
    return "".join(shown)


@pytest.mark.parametrize("which", [0, *(pytest.param(k, marks=pytest.mark.long) for k in (1, 2))])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_and_no_namespace_outlives_the_command(which, how):
    mark = uuid.uuid4().hex
    with Namespace("outside") as outside, started(mark) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        # The process outside, the first one inside, and the one that does the work.
        pids = [process.pid]
        for _ in range(2):
            pids += children(pids[-1])
        assert len(pids) == 3
        # One end of a wire in the namespace of a program: it goes with the namespace.
        program = children(pids[2])[-1]
        wire = f"ip link add canary type veth peer name inner netns {program}"
        done = outside.run(wire.split())
        assert done.returncode == 0, done.stderr
        assert "canary" in links(outside)
        os.kill(pids[which], how)
        process.wait(BRIEF_S)
        assert process.returncode != 0
        assert none_is_left(mark)
        deadline = time.monotonic() + BRIEF_S
        while "canary" in links(outside):
            assert time.monotonic() < deadline, "a namespace outlived its emulation"
            time.sleep(0.05)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_left_when_it_is_killed_at_any_moment(seed):
    rng = random.Random(seed)
    mark = uuid.uuid4().hex
    before = outside_now()
    with started(mark) as process:
        time.sleep(rng.uniform(0, 1.5))
        pids = [process.pid]
        while len(pids) < 3 and (more := children(pids[-1])):
            pids += more[:1]
        os.kill(rng.choice(pids), signal.SIGKILL)
        process.wait(BRIEF_S)
        assert none_is_left(mark)
    assert outside_now() == before


@pytest.mark.parametrize("seed", range(4))
def test_signals_to_the_group_at_any_moment_keep_the_files(seed, tmp_path):
    """As `timeout` and service managers send them: to every process, and more than once."""
    rng = random.Random(seed)
    command = [sys.executable, "-m", "airqueue", "emulate", "quiet-flat", "--quiet"]
    files = ["--json", "a.json", "--report", "a.html"]
    process = subprocess.Popen(
        [*command, *files, "--", "sh", "-c", "echo ready; exec sleep 1000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    for pause_s in (rng.uniform(0, 0.3), *(rng.uniform(0, 0.2) for _ in range(seed))):
        time.sleep(pause_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=BRIEF_S)
    assert (process.returncode, said) == (128 + signal.SIGINT, b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json"]


def test_the_network_outside_is_not_touched():
    before = outside_now()
    settings = Path("/proc/sys/net/ipv6/conf/default")
    values = {path: path.read_text() for path in settings.glob("a*")}
    with emulate("quiet-flat") as net:
        assert outside_now() == before
        seen = net.host("phone").run(["cat", "/etc/hosts"], capture_output=True, text=True).stdout
        assert "peer" in seen
        assert "peer" not in Path("/etc/hosts").read_text()
    assert outside_now() == before
    assert {path: path.read_text() for path in settings.glob("a*")} == values


def test_leaving_the_with_statement_closes_what_it_opened():
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = open_files()
    for _ in range(2):
        with emulate("quiet-flat") as net:
            net.host("phone").run(["true"])
    assert open_files() == before


def test_without_capabilities_the_command_goes_on_in_a_user_namespace():
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (Debian package util-linux) is not installed")
    # See test_bed_life.py. This is still uid 0, which may open /dev/net/tun, without capabilities.
    drop = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"]
    code = "getent hosts peer && exit 7"
    done = subprocess.run(
        [*drop, *COMMAND, "--at", "phone", "--", "sh", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert "server peer" in done.stdout
    assert done.returncode == 7


def test_what_fails_at_the_beginning_is_said_in_one_sentence(monkeypatch):
    reason = "there is no such device here"

    def fail(self: Devices, host: Host) -> int:
        raise EmulationError(reason)

    monkeypatch.setattr(Devices, "open", fail)
    net = EmulatedNetwork("quiet-flat")
    with pytest.raises(EmulationError, match=f"^{reason}$"):
        net.start()
    net.close()
    with pytest.raises(EmulationError, match="it ended before it ran"):
        net.report()
