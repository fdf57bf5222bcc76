"""`airqueued` sees cake obey its memory limit: real cake, packets, and user-mode Linux."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from airqueue.linux.virtual import machine
from binaries import newest

LIMIT_BYTES = 400_000
MERGED_BYTES = 1 << 17
"""Memory of the longest packet, by which the limit may be exceeded before cake drops."""

pytestmark = pytest.mark.boots


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Any:
    airqueued = newest("airqueued")
    try:
        machine.check()
    except machine.MachineUnavailableError as reason:
        pytest.skip(f"no user-mode Linux: {reason}")
    folder = tmp_path_factory.mktemp("machine")
    cake = {"rate_bps": 400_000, "memory_limit_bytes": LIMIT_BYTES}
    queue = {"interface": "va", "queue": {"cake": cake}}
    settings = [{"why": "a test", "set": {"queue": queue}}]
    plan = {"plan": 1, "made_by": "a test", "settings": settings}
    (folder / "plan.json").write_text(json.dumps(plan), "utf-8")
    tests = str(Path(__file__).parent)
    machine.boot(
        machine.find(folder),
        ["obeys_guest"],
        folder,
        seed=1,
        settings={
            "AIRQUEUED": str(airqueued),
            "PYTHONPATH": os.pathsep.join([tests, *sys.path]),
        },
    )
    return json.loads((folder / "said.json").read_text("utf-8"))


def test_cake_that_stays_empty_is_not_seen_to_obey(said: Any) -> None:
    assert said["silent"]["code"] == 8, said["silent"]
    assert "was not seen to obey" in said["silent"]["text"]
    assert said["restored"]["code"] == 0, said["restored"]


def test_cake_that_overflows_is_seen_to_obey_also_later(said: Any) -> None:
    assert said["applied"]["code"] == 0, said["applied"]
    assert "Applied: seen to obey." in said["applied"]["text"]
    assert said["later"]["code"] == 0, said["later"]
    (queue,) = json.loads(said["later"]["text"])["queues"]
    assert (queue["kind"], queue["unit"], queue["seen"]) == ("cake", "bytes", "yes")
    assert queue["limit"] == LIMIT_BYTES
    # Packets have less bytes than memory, and cake has dropped what was above the limit.
    assert 0 < queue["most"] < LIMIT_BYTES


def test_of_a_limit_that_was_lowered_by_others_nothing_is_known(said: Any) -> None:
    assert said["lowered"]["code"] == 8, said["lowered"]
    assert LIMIT_BYTES - 16_000 > MERGED_BYTES
