"""The counters of a running emulation for Prometheus, in its text format, version 0.0.4.

Served over HTTP by `airqueue.emulate.serving`, of which a scrape needs one request a connection.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import airqueue
from airqueue.emulate.errors import EmulationError
from airqueue.emulate.network import EmulatedNetwork
from airqueue.emulate.serving import Server
from airqueue.prometheus import CONTENT_TYPE, counter, family, family_head, sample

if TYPE_CHECKING:
    from airqueue.records import TotalPairDict, TotalsDict

_MOST_BYTES: Final = 8192
_PATIENCE_S: Final = 5.0

_OF_PAIRS: Final = {
    "offered_packets": "IP packets that a real node sent to another one.",
    "offered_bytes": "Bytes of these packets.",
    "delivered_packets": "IP packets that the network delivered.",
    "delivered_bytes": "Bytes of these packets.",
    "dropped_packets": "Packets dropped by queues of the network.",
    "given_up_packets": "Packets given up on the air, or lost in a wired link.",
    "marked_packets": "Delivered packets that a queue of the network marked with CE.",
}
_OF_ALL: Final = {
    "elapsed_seconds": ("elapsed_s", "Wall-clock time since the end of the warm-up."),
    "cpu_seconds": ("cpu_s", "CPU time of the emulator's thread."),
    "written_packets": ("written_packets", "Packets written to real nodes."),
    "lateness_seconds": ("late_sum_s", "Lateness of written packets, summed."),
    "late_packets": ("late_packets", "Packets written more than a millisecond late."),
    "read_late_packets": (
        "read_late_packets",
        "Packets that may have waited more than a millisecond to be read.",
    ),
    "unwritten_packets": ("unwritten_packets", "Packets that a device did not take."),
}
_OF_STATIONS: Final = {
    "station_airtime_seconds": ("airtime_s", "Time in which a station sent frames."),
    "station_busy_seconds": ("busy_s", "Time in which a station sensed the medium busy, or sent."),
}
_OF_QUEUES: Final = {
    "queue_offered_packets": ("offered_packets", "Packets offered to a queue."),
    "queue_dropped_packets": ("dropped_packets", "Packets that a queue dropped."),
    "queue_marked_packets": ("marked_packets", "Packets that a queue marked with CE."),
}


def text(network: EmulatedNetwork) -> str:
    """Return all counters and gauges of a network, of which real time has begun.

    Before real time has begun there is `airqueue_info` alone.
    """
    about = {
        "scenario": network.name,
        "seed": str(network.seed),
        "version": airqueue.__version__,
    }
    families = [family("info", "gauge", "The emulation.", [(about, 1.0)])]
    try:
        totals = network.moment().totals()
    except EmulationError:
        return "".join(families)
    families += _counters(totals)
    families += _gauges(totals)
    families.append(_delays(totals["pairs"]))
    return "".join(families)


def _counters(totals: TotalsDict) -> Iterator[str]:
    values: Mapping[str, object] = totals
    for name, (key, about) in _OF_ALL.items():
        yield counter(name, about, [({}, _number(values[key]))])
    for name, about in _OF_PAIRS.items():
        pairs: Mapping[str, Mapping[str, object]] = totals["pairs"]
        yield counter(name, about, [(_ends(pair), _number(of[name])) for pair, of in pairs.items()])
    yield from _named("station", totals["stations"], _OF_STATIONS)
    yield from _named("queue", totals["queues"], _OF_QUEUES)
    refused = totals["refused"].items()
    yield counter(
        "refused_packets",
        "Packets that were not carried to their destination, by reason.",
        [({"reason": reason}, of["packets"]) for reason, of in refused],
    )


def _named(
    label: str,
    values: Mapping[str, Mapping[str, object]],
    families: Mapping[str, tuple[str, str]],
) -> Iterator[str]:
    for name, (key, about) in families.items():
        yield counter(name, about, [({label: of}, _number(v[key])) for of, v in values.items()])


def _gauges(totals: TotalsDict) -> Iterator[str]:
    held = float(totals["held_packets"])
    yield family("held_packets", "gauge", "Packets of real programs in the network.", [({}, held)])
    away = [({"station": name}, float(of["away"])) for name, of in totals["stations"].items()]
    yield family("station_away", "gauge", "1 if a station is out of reach of all others.", away)
    waiting = [({"queue": name}, float(of["packets"])) for name, of in totals["queues"].items()]
    yield family("queue_packets", "gauge", "Packets that wait in a queue.", waiting)
    waiting = [({"queue": name}, float(of["bytes"])) for name, of in totals["queues"].items()]
    yield family("queue_bytes", "gauge", "Bytes that wait in a queue.", waiting)


def _delays(pairs: Mapping[str, TotalPairDict]) -> str:
    """Return the delays of delivered packets as a histogram."""
    name = "airqueue_delay_seconds"
    lines = [family_head(name, "histogram", "Delay of delivered packets in the network.")]
    for pair, of in pairs.items():
        ends, count = _ends(pair), of["delivered_packets"]
        buckets = [(repr(each["below_s"]), each["packets"]) for each in of["delays_below"]]
        for bound, below in [*buckets, ("+Inf", count)]:
            lines.append(sample(f"{name}_bucket", {**ends, "le": bound}, below))
        lines.append(sample(f"{name}_sum", ends, of["delay_sum_s"]))
        lines.append(sample(f"{name}_count", ends, count))
    return "".join(lines)


def _ends(pair: str) -> dict[str, str]:
    # Names of nodes have no ">".
    start, _, end = pair.partition("->")
    return {"from": start, "to": end}


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return value


class Metrics:
    """Answers HTTP requests with the counters, for `airqueue.emulate.serving.Server`."""

    most_bytes = _MOST_BYTES
    patience_s = _PATIENCE_S

    def __init__(self, network: EmulatedNetwork) -> None:
        self._network = network

    def answer(self, buffer: bytearray) -> tuple[bytes, bool] | None:
        """Answer one request, and end the connection."""
        ends = [at for mark in (b"\r\n\r\n", b"\n\n") if (at := buffer.find(mark)) >= 0]
        if not ends:
            return None
        words = bytes(buffer[: min(ends)]).split(b"\n", 1)[0].split()
        buffer.clear()
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _response("400 Bad Request", "this is no request of HTTP/1.1\n"), False
        method, target, _ = words
        if target.partition(b"?")[0] != b"/metrics":
            return _response("404 Not Found", "the counters are at /metrics\n"), False
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", "GET is allowed\n", "Allow: GET\r\n"), False
        try:
            body = text(self._network)
        except Exception as error:  # the client shows the text; the emulation goes on
            return _response("500 Internal Server Error", f"{error!r}\n"), False
        return _response("200 OK", body, with_body=method == b"GET"), False

    def too_long(self) -> bytes:
        """Return the answer to a request that does not end."""
        return _response("431 Request Header Fields Too Large", "the request is too long\n")

    def too_many(self) -> bytes:
        """Return what a client gets for whom there is no room."""
        return _response("503 Service Unavailable", "too many clients are connected\n")


def _response(status: str, body: str, more: str = "", *, with_body: bool = True) -> bytes:
    data = body.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(data)}\r\n"
        f"{more}Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + (data if with_body else b"")


@contextmanager
def serve(where: tuple[str, int], network: EmulatedNetwork) -> Iterator[str]:
    """Serve the counters at an address and port within the ``with`` statement; yield the URL.

    Raises EmulationError if the address cannot be used.
    """
    host, port = where
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise EmulationError(
            f"metrics cannot be served at {host} port {port} ({error.strerror}): "
            "choose another address or port"
        ) from error
    port = listener.getsockname()[1]
    shown = f"[{host}]" if family == socket.AF_INET6 else host
    with Server(listener, Metrics(network), "airqueue-metrics"):
        yield f"http://{shown}:{port}/metrics"
