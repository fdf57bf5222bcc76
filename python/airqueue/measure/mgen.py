"""Runs from the logs of MGEN, the traffic tool with which the APQ paper measured.

The receiver's log has what arrived; what was lost shows as a gap in the sequence numbers of a flow.
The sender's log (option ``txlog``), if there is one, adds the true send times of the lost packets
and the losses at both ends of a flow, which leave no gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from airqueue.measure.mgen_log import (
    DAY_US,
    MAX_PACKETS,
    Endpoints,
    MgenError,
    MgenLog,
    Packets,
    read_log,
)
from airqueue.measure.plan import FLOOD_FLOW
from airqueue.measure.records import MISSING, HostReport, Run

MAX_GAP = 1_000_000
"""More packets lost in a row than this are taken for a damaged log."""
MAX_RESTARTS = 100
MAX_FLOWS = 256
"""``Run.flow`` is one byte."""
MAX_DAYS = 7
QUARTER_HOUR_US = 900_000_000
"""Time zones differ by multiples of this: two logs of one clock agree modulo it."""

Ints = npt.NDArray[np.int64]
Key = tuple[int, int]
"""Flow number of the MGEN script and number of the destination."""


@dataclass
class _Flow:
    """One flow, one row per packet, in the order of sending; microseconds by the log's clocks."""

    sent_us: Ints
    received_us: Ints
    size: Ints
    duplicates: int

    @property
    def rate_bps(self) -> float:
        """Bits per second while it was active, and at least a second, so that no train leads."""
        active_us = max(int(self.sent_us[-1] - self.sent_us[0]), 1_000_000)
        return float(self.size.sum()) * 8e6 / active_us


def read_mgen(receiver_log: Path, sender_log: Path | None = None) -> Run:
    """Make a run of kind ``session`` from text or binary logs of MGEN 5.

    The flow of the highest rate becomes flow 0, the flood; the others follow in the order of their
    numbers in the script. Sizes are those of the IP packets: MGEN's payload and 28 (IPv4) or 48
    (IPv6) bytes of headers. MGEN plans no single packet, so ``scheduled_ns`` equals ``sent_ns``, and
    its receive times are its own, not the kernel's. Without the sender's log the send times of lost
    packets are interpolated between their neighbours, and losses before the first or after the last
    packet received of a flow remain unknown. ``meta`` has ``phases`` cut out of the flood's and the
    session's length in the proportions of the paper's timeline, ``flows`` (what became of each
    flow), and ``warnings``, sentences about what was left out.

    Raises MgenError, which names file and line, for logs that cannot be used.
    """
    endpoints = Endpoints()
    log = read_log(receiver_log, endpoints)
    if not len(log.received):
        raise MgenError(_nothing_received(log))
    warnings = log.warnings()
    received = _by_flow(log, log.received)
    if sender_log is None:
        # One MGEN that sends to itself writes both kinds of event into one log.
        other, sends = log, _by_flow(log, log.sent)
    else:
        other = read_log(sender_log, endpoints)
        sends = _by_flow(other, other.sent)
        warnings += other.warnings()
        if not sends:
            raise MgenError(
                f"{sender_log} has no SEND event of UDP; was txlog given to the sender?"
            )
    flows: dict[Key, _Flow] = {}
    for key, rows in received.items():
        name = f"flow {key[0]} to {endpoints.names[key[1]]}"
        sent = sends.pop(key, None)
        if sent is not None:
            flows[key] = _with_sends(name, (log, rows), (other, sent), warnings)
        else:
            flows[key] = _without_sends(name, log, rows, warnings)
            if sender_log is not None:
                warnings.append(f"{sender_log} has no SEND event of {name}")
    for key, sent in sends.items():
        name = f"flow {key[0]} to {endpoints.names[key[1]]}"
        warnings.append(f"{name}: {len(sent)} packets sent, none received; left out")
    return _run(receiver_log, flows, endpoints, warnings)


def _nothing_received(log: MgenLog) -> str:
    if len(log.sent):
        return f"{log.path} has SEND but no RECV events: name the receiver's log first"
    return f"{log.path} has no RECV event of UDP; did the receiver LISTEN on the flow's port?"


def _by_flow(log: MgenLog, packets: Packets) -> dict[Key, Ints]:
    """Indices of each flow's packets, in the order of the log."""
    flow, destination = _array(packets.flow), _array(packets.destination)
    # Both fit: flow numbers have 32 bits, destinations are few.
    keys, inverse = np.unique(flow * 2**16 + destination, return_inverse=True)
    if len(keys) > MAX_FLOWS:
        raise MgenError(f"{log.path} has {len(keys)} flows, more than the {MAX_FLOWS} of a run")
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(len(keys) + 1))
    return {
        (int(key) >> 16, int(key) & 0xFFFF): order[starts[i] : starts[i + 1]]
        for i, key in enumerate(keys)
    }


def _array(column: Any) -> Ints:
    return np.frombuffer(column, dtype=np.int64) if len(column) else np.empty(0, np.int64)


def _without_sends(name: str, log: MgenLog, rows: Ints, warnings: list[str]) -> _Flow:
    """One flow from the receiver's log alone: gaps in the numbers are losses."""
    parts = list(_stretches(name, log, rows))
    if len(parts) > 1:
        times = "once" if len(parts) == 2 else f"{len(parts) - 1} times"
        warnings.append(f"{name}: the sequence numbers start over {times}")
    total = sum(int(p.max() - p.min()) + 1 for _, p in parts)
    if total > MAX_PACKETS:
        raise MgenError(f"{log.path}: {name} has {total} packets with the lost ones, too many")
    filled = [_fill(log.received, rows_, positions) for rows_, positions in parts]
    kept = sum(int(np.count_nonzero(received != MISSING)) for _, received, _ in filled)
    sent, received, size = (np.concatenate(column) for column in zip(*filled, strict=True))
    return _Flow(sent, received, size, len(rows) - kept)


def _stretches(name: str, log: MgenLog, rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Cut a flow where its sender starts over; yields log indices and unwrapped positions.

    The 32-bit sequence number wraps. One that is not above the highest so far belongs to a late or
    repeated packet if it was sent no later than the highest; otherwise the sender began again.
    """
    packets = log.received
    stretch: list[int] = []
    positions: list[int] = []
    sources: list[int] = []
    top_seq = top_position = top_sent = restarts = 0
    for row in rows.tolist():
        seq, sent, source = packets.seq[row], packets.sent_us[row], packets.source[row]
        step = (seq - top_seq + 2**31) % 2**32 - 2**31
        another = not sources or source != sources[-1]
        again = step <= 0 and sent > top_sent and seq <= top_seq
        if another and source in sources:
            raise log.error(packets.place[row], f"one sender at a time for {name}", "two")
        if stretch and (another or again):
            restarts += 1
            if restarts > MAX_RESTARTS:
                expected = f"at most {MAX_RESTARTS} starts of {name}"
                raise log.error(packets.place[row], expected, f"number {seq} again")
            yield np.array(stretch), np.array(positions)
            stretch, positions = [], []
        if another:
            sources.append(source)
        if not stretch:
            top_seq, top_position, top_sent, step = seq, 0, sent, 0
        if abs(step) > MAX_GAP:
            expected = f"at most {MAX_GAP} packets of {name} lost in a row"
            raise log.error(packets.place[row], expected, f"number {seq} after {top_seq}")
        stretch.append(row)
        positions.append(top_position + step)
        if step > 0:
            top_seq, top_position, top_sent = seq, top_position + step, sent
    yield np.array(stretch), np.array(positions)


def _fill(packets: Packets, rows: Ints, positions: Ints) -> tuple[Ints, Ints, Ints]:
    """Rows of one stretch (sent, received, size), lost packets put between their neighbours.

    The first copy of a packet counts. A lost packet has the size of the one before it.
    """
    known, first = np.unique(positions, return_index=True)
    rows = rows[first]
    sent_us = _array(packets.sent_us)[rows]
    every = np.arange(known[0], known[-1] + 1)
    since = sent_us - sent_us[0]
    sent = sent_us[0] + np.rint(np.interp(every, known, since)).astype(np.int64)
    received = np.full(len(every), MISSING)
    received[known - known[0]] = _array(packets.received_us)[rows]
    before = np.searchsorted(known, every, side="right") - 1
    return sent, received, _array(packets.size)[rows][before]


def _with_sends(
    name: str, arrivals: tuple[MgenLog, Ints], departures: tuple[MgenLog, Ints], warnings: list[str]
) -> _Flow:
    """One flow from both logs, joined by sequence number and send time.

    The receiver writes down the send time that came in the packet, so both logs have the same one,
    but for whole days and for the time zone if one of the two logs in local time.
    """
    (log, rows), (sender, sends) = arrivals, departures
    stamps, sent_us = _array(log.received.sent_us)[rows], _array(sender.sent.sent_us)[sends]
    of_receiver = _array(log.received.seq)[rows] << 30 | stamps % QUARTER_HOUR_US
    of_sender = _array(sender.sent.seq)[sends] << 30 | sent_us % QUARTER_HOUR_US
    order = np.argsort(of_sender, kind="stable")
    at = np.minimum(np.searchsorted(of_sender[order], of_receiver), len(order) - 1)
    matched = of_sender[order][at] == of_receiver
    if 2 * np.count_nonzero(matched) < len(rows):
        raise MgenError(
            f"{sender.path} and {log.path} are not of one session: of {len(rows)} packets received "
            f"of {name} only {np.count_nonzero(matched)} are among those sent"
        )
    joined = order[at[matched]]
    offset = int(np.median(sent_us[joined] - stamps[matched]))
    received = np.full(len(sends), MISSING)
    partner, first = np.unique(joined, return_index=True)
    received[partner] = _array(log.received.received_us)[rows][matched][first]
    strays = np.flatnonzero(~matched)
    if len(strays):
        warnings.append(f"{sender.path} lacks {len(strays)} packets of {name} that were received")
    _, copies = np.unique(of_receiver[strays], return_index=True)
    strays = strays[copies]
    sent_all = np.concatenate((sent_us - offset, stamps[strays]))
    received = np.concatenate((received, _array(log.received.received_us)[rows][strays]))
    sizes = (_array(sender.sent.size)[sends], _array(log.received.size)[rows][strays])
    by_time = np.argsort(sent_all, kind="stable")
    duplicates = len(rows) - len(partner) - len(strays)
    size = np.concatenate(sizes)
    return _Flow(sent_all[by_time], received[by_time], size[by_time], duplicates)


def _run(path: Path, flows: dict[Key, _Flow], endpoints: Endpoints, warnings: list[str]) -> Run:
    """Put the flows together, the fastest first, all rows in the order of sending."""
    fastest = max(flows, key=lambda key: flows[key].rate_bps)
    numbered = [fastest, *(key for key in sorted(flows) if key != fastest)]
    parts = [flows[key] for key in numbered]
    number = np.repeat(np.arange(len(parts)), [len(p.sent_us) for p in parts])
    sent_us = np.concatenate([p.sent_us for p in parts])
    received_us = np.concatenate([p.received_us for p in parts])
    size = np.concatenate([p.size for p in parts])
    arrived = received_us != MISSING
    _check_extent(path, sent_us, received_us[arrived])
    order = np.argsort(sent_us, kind="stable")
    start_us = int(sent_us[order[0]])
    sent_ns = (sent_us[order] - start_us) * 1_000
    received_ns = np.full(len(order), MISSING)
    received_ns[arrived] = (received_us[arrived] - start_us) * 1_000
    number, size = number[order], size[order]
    flood = number == FLOOD_FLOW
    sizes, counts = np.unique(size[flood], return_counts=True)
    meta = {
        "kind": "session",
        "source": "mgen",
        "profile": "capture",
        "size_bytes": int(sizes[np.argmax(counts)]),
        "phases": _phases(sent_ns, sent_ns[flood]),
        "flows": [_account(endpoints, key, flows[key]) for key in numbered],
        "warnings": warnings,
    }
    return Run(
        scheduled_ns=sent_ns,
        sent_ns=sent_ns.copy(),
        kernel_tx_ns=np.full(len(sent_ns), MISSING),
        received_ns=received_ns[order],
        flow=number.astype(np.uint8),
        size_bytes=size.astype(np.uint16),
        host=HostReport(
            duplicates=sum(p.duplicates for p in parts), kernel_receive_timestamps=False
        ),
        meta=meta,
    )


def _check_extent(path: Path, sent_us: Ints, received_us: Ints) -> None:
    """Refuse what no session is, before nanoseconds overflow."""
    if len(sent_us) > MAX_PACKETS:
        raise MgenError(f"{path}: {len(sent_us)} packets with the lost ones, too many for one run")
    for what, times in (("send", sent_us), ("receive", received_us)):
        days = int(times.max() - times.min()) / DAY_US
        if days > MAX_DAYS:
            raise MgenError(
                f"{path}: the {what} times cover {days:.0f} days, more than the {MAX_DAYS} of a "
                "session; is it one log, of one clock?"
            )


def _account(endpoints: Endpoints, key: Key, flow: _Flow) -> dict[str, Any]:
    return {
        "mgen_flow": key[0],
        "destination": endpoints.names[key[1]],
        "sent": len(flow.sent_us),
        "received": int(np.count_nonzero(flow.received_us != MISSING)),
    }


def _phases(sent_ns: Ints, flood_ns: Ints) -> dict[str, list[float]]:
    """Windows in seconds, placed as in Algorithm 2 of the APQ paper for its 30, 60 and 30 s.

    A sixth is left out at both ends of the quiet time before the flood, of the flood, and of the
    time after it: t1 = [5, 25), t2 = [40, 80), t3 = [95, 115).
    """
    first, last, end = (float(t) * 1e-9 for t in (flood_ns[0], flood_ns[-1], sent_ns[-1]))
    hold = _inner(first, last)
    return {
        "quiet": _inner(0.0, first),
        "fill": [first, hold[0]],
        "hold": hold,
        "after": _inner(last, end),
    }


def _inner(start: float, end: float) -> list[float]:
    margin = (end - start) / 6
    return [start + margin, end - margin]
