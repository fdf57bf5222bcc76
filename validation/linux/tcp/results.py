"""figures.csv, windows.csv, acks.csv, batches.csv, bursts.csv and received.csv: the kernel's TCP."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from validation.linux.tcp import paths
from validation.linux.tcp.paths import Path as Bottleneck

FIGURES = Path(__file__).parent / "figures.csv"
WINDOWS = Path(__file__).parent / "windows.csv"
ACKS = Path(__file__).parent / "acks.csv"
BATCHES = Path(__file__).parent / "batches.csv"
BURSTS = Path(__file__).parent / "bursts.csv"
RECEIVED = Path(__file__).parent / "received.csv"
BEGINNING_S = 5.0
"""End of the beginning, whose slow start has separate figures."""

_TRACE_S = 0.5

Row = Mapping[str, object]
Table = npt.NDArray[np.float64]


def figures(path: Bottleneck, samples: Table, kernel: str) -> Iterator[Row]:
    """Yield a row for each flow and window of time; samples are times, queue, drops, bytes."""
    for from_s, to_s in _spans(path):
        inside = _inside(samples, from_s, to_s)
        gained = inside[-1] - inside[0]
        for flow in range(len(path.flows)):
            yield {
                **_key(path, flow),
                "kernel": kernel,
                "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "from_s": from_s,
                "to_s": to_s,
                "goodput_bps": round(8 * gained[3 + flow] / gained[0]),
                "mean_queue_packets": round(float(inside[:, 1].mean()), 3),
                "drops": int(gained[2]),
            }


def acks(
    path: Bottleneck, samples: Table, counted: Mapping[str, Any], kernel: str
) -> Iterator[Row]:
    """Yield the row of a path with a CAKE on its way back: from its beginning to its end."""
    (tin,) = counted["tins"]
    (whole,) = (row for row in figures(path, samples, kernel) if row["from_s"] == BEGINNING_S)
    yield {
        **whole,
        "back_bps": path.back_bps,
        "ack_filter": path.ack_filter,
        "acks": tin["sent_packets"],
        "ack_drops": tin["ack_drops"],
        "other_ack_drops": tin["drops"],
    }


def acknowledged(path: Bottleneck, samples: Table, kernel: str) -> Iterator[Row]:
    """Yield the figures of a path, and what its receivers acknowledged.

    Behind the bytes of the flows the samples have their segments, then their acknowledgements. A
    path without batches sends one packet in no time.
    """
    batch = path.batch
    flows = len(path.flows)
    parts = [(span, flow) for span in _spans(path) for flow in range(flows)]
    for (span, flow), row in zip(parts, figures(path, samples, kernel), strict=True):
        inside = _inside(samples, *span)
        gained = inside[-1] - inside[0]
        yield {
            **row,
            "batch_packets": batch.most_packets if batch else 1,
            "every_us": round(1e6 * batch.every_s) if batch else 0,
            "segments": int(gained[3 + flows + flow]),
            "acknowledgements": int(gained[3 + 2 * flows + flow]),
        }


def received(path: Bottleneck, samples: Table, looks: Table, kernel: str) -> Iterator[Row]:
    """Yield the figures of the one flow of a path on which the receive window limits the sender.

    ``held_up_s``: the time of which the kernel says so (tcpi_rwnd_limited).
    """
    for row, span in zip(figures(path, samples, kernel), _spans(path), strict=True):
        begun_us, ended_us = np.interp(span, looks[:, 0], looks[:, 7])
        held_up_s = round(float(ended_us - begun_us) / 1e6, 3)
        yield {**row, "receive_bytes": path.receive_bytes, "held_up_s": held_up_s}


def _spans(path: Bottleneck) -> tuple[tuple[float, float], ...]:
    return ((0.0, BEGINNING_S), (BEGINNING_S, path.seconds))


def _inside(samples: Table, from_s: float, to_s: float) -> Table:
    return samples[(samples[:, 0] >= from_s) & (samples[:, 0] <= to_s)]


def windows(path: Bottleneck, looks: Table) -> Iterator[Row]:
    """Yield a row for each sample of a flow: time, flow, window, threshold, round trip in us."""
    due = [0.0] * len(path.flows)
    for at_s, number, window, threshold, rtt_us, *_ in looks if path.trace else ():
        flow = int(number)
        if at_s >= due[flow]:
            due[flow] += _TRACE_S
            yield {
                **_key(path, flow),
                "at_s": round(at_s, 4),
                "cwnd_segments": int(window),
                "ssthresh_segments": int(threshold),
                "srtt_ms": rtt_us / 1000,
            }


def _key(path: Bottleneck, flow: int) -> Row:
    return {
        "path": path.name,
        "congestion": path.congestion,
        "rate_bps": path.rate_bps,
        "queue_packets": path.queue_packets,
        "flow": flow,
        "rtt_ms": round(1000 * path.flows[flow].rtt_s, 1 if path.batch else None),
        "start_s": path.flows[flow].start_s,
    }


def read(file: Path) -> list[dict[str, str]]:
    """Return the rows of a file, none if there is no file."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def store(file: Path, path: Bottleneck, new: Sequence[Row]) -> None:
    """Replace the rows of a bottleneck."""
    order = [one.name for one in paths.ALL]
    rows: list[Row] = [
        row for row in read(file) if row["path"] != path.name and row["path"] in order
    ]
    rows.extend(new)
    if not rows:
        return
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: order.index(str(row["path"]))))
