"""A prober for several stations: downloads from one server to this machine and to others at once, or
their uploads.

This machine has a session with the measuring server, whose last flows belong to the other stations.
A second session with the `airqueue server` on each of these has it join its flow, with proof of its
own address, and record what comes to it. So the measuring server sends one plan by one clock, and
no records but a station's own are on the air until the run is over. Upwards these servers send the
packets of their flows, beginning with this machine when the measuring server says that it receives.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airqueue._native import Client, NativeError
from airqueue.measure.live import (
    DEFAULT_PORT,
    POLL_EVERY_S,
    PROGRESS_EVERY_S,
    OverSockets,
    progress_of,
)
from airqueue.measure.native import highest_rate_pps, run_from_native
from airqueue.measure.plan import Plan
from airqueue.measure.prober import Direction, ProbeError, RunInterrupted, RunProgress
from airqueue.measure.records import MISSING, Run
from airqueue.measure.stations.plans import OWN_FLOWS

if TYPE_CHECKING:
    # Shapes that the stub names; the compiled module has no such types.
    from airqueue.records import PollDict

READY_S: Final = 10.0
"""Longest wait until a station records."""
RECORDS_S: Final = 60.0
"""Longest wait for a station's records after a run."""
LONGEST_TURN_S: Final = 6.0
"""Stations that record wait for the server's first packet for not much longer."""
AGAIN_S: Final = 2.0
"""Pause after which a run is tried again that other clients kept from its turn."""
LONGEST_WAIT_S: Final = 86_400.0
"""For the clients of the sessions; the prober gives up before."""


class TogetherProber(OverSockets):
    """Carries out plans whose packets go to several stations; connects when made, leaves when
    closed.

    ``stations``: hosts on which `airqueue server` runs, and may attend this server's sessions; flow
    2 of a plan is the first one's, and so on. All servers have the port and the key.
    ``direction``: of all packets. ``netns``: path of a network namespace to open the sockets in.
    ``max_wait_s``: longest wait of a run for other clients of any server. Raises ProbeError, here
    and in `run`.
    """

    def __init__(
        self,
        host: str,
        stations: Sequence[str],
        port: int = DEFAULT_PORT,
        *,
        direction: Direction = "down",
        key: bytes | None = None,
        max_rate_bps: float | None = None,
        netns: str | PathLike[str] | None = None,
        timeout_s: float = 5.0,
        max_wait_s: float = 600.0,
    ) -> None:
        super().__init__()
        self.direction: Direction = direction
        self._max_rate_bps = max_rate_bps
        self._names = list(stations)
        self._stations: list[Client] = []
        self._max_wait_s = max_wait_s
        about: dict[str, Any] = {
            "key": key,
            "netns": netns,
            "timeout_s": timeout_s,
            "max_wait_s": LONGEST_WAIT_S,
        }
        flows = OWN_FLOWS + len(stations)
        try:
            self._client = Client(host, port, flows=flows, others=len(stations), **about)
        except NativeError as error:
            raise ProbeError(f"{error}.") from error
        server, session, nonce, _ = self._client.identity()
        for flow, station in enumerate(stations, start=OWN_FLOWS):
            try:
                self._stations.append(Client(station, port, flows=1, **about))
                self._stations[-1].attend(server, session, nonce, flow)
            except NativeError as error:
                self.close()
                # Some errors name the station by its address, others are the same at every station.
                place = "" if station in str(error) else f"{station}: "
                raise ProbeError(f"{place}{error}.") from error

    def max_rate_pps(self, size_bytes: int) -> float:
        """Return the highest packet rate that all ends agree to for IP packets of this size."""
        limits = [client.limits() for client in (self._client, *self._stations)]
        return min(highest_rate_pps(each, size_bytes, self._max_rate_bps) for each in limits)

    def run(
        self,
        plan: Plan,
        meta: Mapping[str, Any],
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> Run:
        """Carry out a plan; ``on_progress`` is called about five times a second.

        Raises ProbeError. Ctrl-C stops the run at all ends and raises RunInterrupted, without
        records: those of a run to several stations are whole or none.
        """
        began = time.monotonic()
        try:
            while True:
                try:
                    return self._once(plan, meta, on_progress)
                except _BusyError as busy:
                    self._discard()
                    if time.monotonic() - began >= self._max_wait_s:
                        raise
                    if on_progress is not None:
                        on_progress(busy.progress)
                    time.sleep(AGAIN_S)
        except NativeError as error:
            self._stop()
            raise ProbeError(f"{error}.") from error
        except KeyboardInterrupt:
            self._stop()
            raise RunInterrupted(None) from None
        except BaseException:
            self._stop()
            raise

    def _once(
        self,
        plan: Plan,
        meta: Mapping[str, Any],
        on_progress: Callable[[RunProgress], None] | None,
    ) -> Run:
        """Carry out a plan unless other clients come first."""
        taking_part = self._prepare(plan)
        self._client.start(plan.native(), self.direction)
        self._watch(on_progress)
        run = run_from_native(self._client.finish(0.0), meta)
        return self._with_others(run, taking_part)

    def _prepare(self, plan: Plan) -> dict[int, Client]:
        """Have all stations record the next run, or upwards those with packets wait for it.

        Returns the clients of these by their flows.
        """
        number = self._client.identity()[3]
        up = self.direction == "up"
        flows = {segment.flow for segment in plan.segments}
        taking_part = {
            flow: station
            for flow, station in enumerate(self._stations, start=OWN_FLOWS)
            if not up or flow in flows
        }
        for station in taking_part.values():
            (station.upload if up else station.watch)(plan.native(), number)
        for flow, station in taking_part.items():
            name = self._names[flow - OWN_FLOWS]
            end = time.monotonic() + READY_S
            while (seen := station.poll())["started_ns"] is None:
                if seen["state"] != "running":
                    station.finish(0.0)  # raises the reason
                if seen["runs_ahead"] or time.monotonic() > end:
                    raise _BusyError(name, seen)
                time.sleep(POLL_EVERY_S)
        return taking_part

    def _watch(self, on_progress: Callable[[RunProgress], None] | None) -> None:
        """Wait for the records of this machine."""
        shown = time.monotonic()
        waits_since: float | None = None
        while (seen := self._client.poll())["state"] in ("running", "collecting"):
            now = time.monotonic()
            waits_since = (waits_since or now) if seen["runs_ahead"] else None
            if waits_since is not None and now > waits_since + LONGEST_TURN_S:
                raise _BusyError("the server", seen)
            if on_progress is not None and now >= shown + PROGRESS_EVERY_S:
                shown = now
                on_progress(progress_of(seen))
            time.sleep(POLL_EVERY_S)

    def _with_others(self, run: Run, taking_part: Mapping[int, Client]) -> Run:
        """Put what the other stations recorded into the records of this machine's run."""
        for station in taking_part.values():
            station.conclude()
        join = joined_sent if self.direction == "up" else joined
        for flow, station in taking_part.items():
            theirs = run_from_native(station.finish(RECORDS_S), {})
            run = join(run, theirs, flow)
        return run

    def _discard(self) -> None:
        """Give up a run before its first packet, and leave all ends ready for the next one."""
        self._stop()
        for client in (self._client, *self._stations):
            with contextlib.suppress(NativeError):
                client.finish(RECORDS_S)  # of a client that did not begin there are no records

    def _stop(self) -> None:
        for client in (self._client, *self._stations):
            with contextlib.suppress(NativeError):
                client.cancel()  # where the session is over no more packets are sent

    def close(self) -> None:
        """Leave all sessions."""
        for client in (*self._stations, self._client):
            client.close()


class _BusyError(ProbeError):
    """Other clients come first at one of the ends; the message is a sentence."""

    def __init__(self, where: str, seen: PollDict) -> None:
        super().__init__(f"Other clients measure with {where} at the moment; try again later.")
        self.progress = progress_of(seen)


def joined(run: Run, theirs: Run, flow: int) -> Run:
    """Return a run with a flow's arrivals as another station recorded them, by its own clock.

    What the hosts report of themselves adds up. ``theirs`` has a row for each packet of the plan.
    A station that gave up in a silence, when a full queue refused packet after packet, records on:
    if the whole plan was sent, and its last packet to the station arrived, the run is complete.
    """
    rows = run.flow == flow
    received = run.received_ns.copy()
    received[rows] = theirs.received_ns[: len(run)][rows]
    received[rows & ~run.sent] = MISSING
    classes = run.received_class
    if classes is not None and theirs.received_class is not None:
        classes = classes.copy()
        classes[rows] = theirs.received_class[: len(run)][rows]
    ours, other = run.host, theirs.host
    host = dataclasses.replace(
        ours,
        receive_overflow=ours.receive_overflow + other.receive_overflow,
        duplicates=ours.duplicates + other.duplicates,
        clock_steps=ours.clock_steps + other.clock_steps,
        kernel_receive_timestamps=ours.kernel_receive_timestamps
        and other.kernel_receive_timestamps,
        shared=ours.shared or other.shared,
    )
    recorded_on = theirs.end == "sender_silent" and np.any(received[rows][-1:] != MISSING)
    end = run.end if theirs.end == "complete" or recorded_on else theirs.end
    return dataclasses.replace(
        run, received_ns=received, received_class=classes, host=host, end=end
    )


def joined_sent(run: Run, theirs: Run, flow: int) -> Run:
    """Return a run with a flow's times of sending as another station recorded them, by its own clock.

    What the hosts report of themselves adds up. ``theirs`` has a row for each packet of the plan.
    """
    rows = run.flow == flow
    sent, stamped = run.sent_ns.copy(), run.kernel_tx_ns.copy()
    sent[rows] = theirs.sent_ns[: len(run)][rows]
    stamped[rows] = theirs.kernel_tx_ns[: len(run)][rows]
    host = dataclasses.replace(
        run.host,
        send_blocked=run.host.send_blocked + theirs.host.send_blocked,
        clock_steps=run.host.clock_steps + theirs.host.clock_steps,
        shared=run.host.shared or theirs.host.shared,
    )
    end = run.end if theirs.end == "complete" else theirs.end
    return dataclasses.replace(run, sent_ns=sent, kernel_tx_ns=stamped, host=host, end=end)
