"""The order of a diagnosis: quiet, one load after the other, quiet again; probes run throughout."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from airqueue.diagnose.legs import INTERVAL_S, Target, probing
from airqueue.diagnose.loads import LoadError, Say
from airqueue.diagnose.records import Leg, Load, Records, seconds
from airqueue.measure.prober import ProbeError
from airqueue.measure.records import MISSING

QUIET_S: Final = 3.0
"""Without load, at the beginning."""
AFTER_S: Final = 1.5
"""Without load, at the end."""
DRAIN_S: Final = 0.5
"""After a load, beyond the longest round trip under the load."""
LONGEST_DRAIN_S: Final = 15.0


class Loading(Protocol):
    """Something that fills a queue, such as `airqueue.diagnose.loads.Flood`."""

    def carry_out(self, say: Say, /) -> Load | tuple[Load, ...]:
        """Load the path, and return when, and with what: a tuple of loads that ran at once."""
        ...


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What happens now, for a person who watches."""

    says: str
    left_s: float | None
    trips_s: dict[str, float | None]
    """Last round trip of each leg."""


class BrokenOffError(Exception):
    """A load failed after others had ended: what these showed, and the error."""

    def __init__(self, records: Records, error: LoadError | ProbeError) -> None:
        super().__init__(str(error))
        self.records = records
        self.error = error


class Watch:
    """Probes all legs from its making to its closing, and tells the time since its making."""

    def __init__(self, targets: Sequence[Target], *, netns: str | None = None) -> None:
        """Begin to probe. Raises LegError if no leg can be probed."""
        self._targets = targets
        self._zero_ns = time.monotonic_ns()
        self._probes = probing(targets, netns)

    def clock(self) -> float:
        """Return the seconds since the beginning."""
        return (time.monotonic_ns() - self._zero_ns) * 1e-9

    def at_s(self, monotonic_ns: int) -> float:
        """Return a time of CLOCK_MONOTONIC in seconds since the beginning."""
        return (monotonic_ns - self._zero_ns) * 1e-9

    def answered_by(self, site: str) -> str | None:
        """Return the address that answers the probes of a leg; None before the first answer."""
        answers = {each["name"]: each["answered_by"] for each in self._probes.poll()}
        return answers.get(site)

    def last_s(self) -> dict[str, float | None]:
        """Return the last round trip of each leg."""
        return {each["name"]: each["round_trip_s"] for each in self._probes.poll()}

    def longest_s(self, since_s: float) -> float:
        """Return the longest round trip of probes sent since then; 0 without answers."""
        found = [leg.between(since_s, np.inf).round_trip_s for leg in self.legs()]
        known = np.concatenate(found) if found else np.zeros(0)
        known = known[~np.isnan(known)]
        return float(known.max()) if len(known) else 0.0

    def legs(self) -> tuple[Leg, ...]:
        """Return all round trips so far."""
        found = []
        for target, series in zip(self._targets, self._probes.take(), strict=True):
            sent_ns = series["sent_ns"]
            answered = series["received_ns"] != MISSING
            trips = np.full(len(sent_ns), np.nan)
            trips[answered] = seconds(series["received_ns"][answered] - sent_ns[answered])
            found.append(
                Leg(
                    target.name,
                    target.host,
                    target.method,
                    seconds(sent_ns - self._zero_ns),
                    trips,
                    series["answered_by"],
                    series["failed"],
                )
            )
        return tuple(found)

    def close(self) -> None:
        """Send no more probes."""
        self._probes.stop()


def carry_out(
    watch: Watch,
    loads: Iterable[Loading],
    on_glimpse: Callable[[Glimpse], None] = lambda glimpse: None,
) -> tuple[Records, bool]:
    """Probe all legs without load, under each load, and without load again.

    Returns the records, and whether Ctrl-C ended it early, after a load or more. Raises LoadError or
    ProbeError; BrokenOffError if that was after a load.
    """

    def say(words: str, left_s: float | None = None) -> None:
        on_glimpse(Glimpse(words, left_s, watch.last_s()))

    quiet = [_quiet(watch, QUIET_S, say)]
    done: list[Load] = []
    together: list[Load] = []
    interrupted, broke = False, None
    try:
        for load in loads:
            began = watch.clock()
            found = load.carry_out(say)
            if isinstance(found, Load):
                done.append(found)
            else:
                together.extend(found)
            _drain(watch, began, say)
        quiet.append(_quiet(watch, AFTER_S, say))
        # The last probes need time for their answers.
        time.sleep(DRAIN_S)
    except KeyboardInterrupt:
        if not done and not together:
            raise
        interrupted = True
    except (LoadError, ProbeError) as error:
        if not done and not together:
            raise
        broke = error
    records = Records(watch.legs(), tuple(done), tuple(quiet), tuple(together))
    if broke is not None:
        raise BrokenOffError(records, broke)
    return records, interrupted


def _quiet(watch: Watch, seconds: float, say: Say) -> tuple[float, float]:
    began = watch.clock()
    _pass(watch, seconds, "measuring round trips without load", say)
    return began, watch.clock()


def _drain(watch: Watch, began_s: float, say: Say) -> None:
    """Wait until the load's last packets have left the queues."""
    waits = min(LONGEST_DRAIN_S, DRAIN_S + watch.longest_s(began_s))
    _pass(watch, waits, "waiting until the queues are empty", say)


def _pass(watch: Watch, seconds: float, words: str, say: Say) -> None:
    end = watch.clock() + seconds
    while (left := end - watch.clock()) > 0:
        say(words, left)
        time.sleep(min(INTERVAL_S, left))
