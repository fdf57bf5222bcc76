"""The order of a diagnosis, with loads that do nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest

from airqueue.diagnose import timeline
from airqueue.diagnose.records import SERVER, Leg, Load
from airqueue.measure.prober import ProbeError

pytestmark = pytest.mark.wall_clock


class Watched:
    """A path whose round trips take a tenth of a second."""

    def __init__(self) -> None:
        self._zero_s = time.monotonic()

    def clock(self) -> float:
        return time.monotonic() - self._zero_s

    def last_s(self) -> dict[str, float | None]:
        return {SERVER: 0.1}

    def longest_s(self, since_s: float) -> float:
        return 0.1

    def legs(self) -> tuple[Leg, ...]:
        return (Leg(SERVER, "h", "icmp", np.zeros(1), np.full(1, 0.1)),)


class Loading:
    """A load that takes no time, or Ctrl-C."""

    def __init__(self, watch: Watched, *, ends: BaseException | None = None) -> None:
        self._watch, self._ends = watch, ends

    def carry_out(self, say: timeline.Say) -> Load:
        if self._ends is not None:
            raise self._ends
        say("loading", 1.0)
        now = self._watch.clock()
        return Load(SERVER, "down", "tcp", now, now)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QUIET_S", "AFTER_S", "DRAIN_S"):
        monkeypatch.setattr(timeline, name, 0.1)


def test_loads_are_between_quiet_times():
    watch, said = Watched(), []
    records, interrupted = timeline.carry_out(watch, [Loading(watch)] * 2, said.append)
    assert not interrupted
    (first, second), (before, after) = records.loads, records.quiet
    assert before[1] <= first.began_s <= second.began_s <= after[0]
    # The load's packets need as long as the longest round trip, and a while.
    assert second.began_s - first.ended_s >= 0.2
    words = [each.says for each in said]
    assert "loading" in words and said[0].trips_s == {SERVER: 0.1}


class AtOnce(Loading):
    """Two loads at once."""

    def carry_out(self, say: timeline.Say) -> tuple[Load, ...]:
        now = self._watch.clock()
        return Load(SERVER, "down", "tcp", now, now), Load(SERVER, "up", "tcp", now, now)


def test_loads_at_once_are_kept_apart_from_those_alone():
    watch = Watched()
    records, _ = timeline.carry_out(watch, [Loading(watch), AtOnce(watch)])
    assert [load.direction for load in records.loads] == ["down"]
    assert [load.direction for load in records.together] == ["down", "up"]


def test_ctrl_c_keeps_the_loads_until_then():
    watch = Watched()
    loads = [Loading(watch), Loading(watch, ends=KeyboardInterrupt()), Loading(watch)]
    records, interrupted = timeline.carry_out(watch, loads)
    assert interrupted
    assert len(records.loads) == 1 and len(records.quiet) == 1
    with pytest.raises(KeyboardInterrupt):
        timeline.carry_out(watch, [Loading(watch, ends=KeyboardInterrupt())])


def test_a_server_that_goes_away_leaves_the_loads_until_then():
    watch, gone = Watched(), ProbeError("The server is gone.")
    with pytest.raises(timeline.BrokenOffError) as broke:
        timeline.carry_out(watch, [Loading(watch), Loading(watch, ends=gone)])
    assert len(broke.value.records.loads) == 1
    assert broke.value.error is gone
    with pytest.raises(ProbeError):
        timeline.carry_out(watch, [Loading(watch, ends=gone)])
