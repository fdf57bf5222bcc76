"""Which processor a machine on a virtual clock gets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from airqueue.linux.virtual import processors
from airqueue.linux.virtual.processors import reserved

HOLDER = """
import sys
from airqueue.linux.virtual import processors
processors._NAME = sys.argv[1]
with processors.reserved() as processor:
    print(processor, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Machines that run beside these tests do not count."""
    monkeypatch.setattr(processors, "_NAME", f"airqueue-test-{os.getpid()}")


def test_machines_at_the_same_time_have_different_processors():
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("this machine has one processor")
    with reserved() as one, reserved() as other:
        assert one != other
        assert {one, other} <= allowed


def test_more_machines_than_processors_share(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    with reserved() as one, reserved() as other:
        assert one == other == 0


def test_a_killed_process_keeps_no_processor(monkeypatch):
    command = [sys.executable, "-c", HOLDER, processors._NAME]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        held = int(holder.stdout.readline())
        holder.send_signal(signal.SIGKILL)
    allowed = sorted(os.sched_getaffinity(0))
    # The search begins at this processor.
    monkeypatch.setattr(os, "getpid", lambda: allowed.index(held))
    with reserved() as processor:
        assert processor == held
