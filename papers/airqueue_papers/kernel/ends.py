"""The ends of a node's transfers over TCP: a program for real nodes, with Python's library alone.

The argument is a JSON object: ``receive`` and ``send`` have a table for each transfer, with
``name``, ``port`` and ``tos`` (the byte with the DSCP of all packets that this end sends); a sender
also has the ``address`` and the ``start_s``. Bytes and round-trip times are counted from ``from_s``
to ``until_s`` after the start of the program, and written to the file ``result``.

The round-trip time of a connection is the mean of the kernel's smoothed round-trip time over the
acknowledged bytes; the simulator has the mean over acknowledgements, without smoothing.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

LOOK_S = 0.2
"""Time between two looks at the round-trip times."""
LINGER_S = 1.0
"""Time for which connections last after the counting."""
_CHUNK = bytes(1 << 18)

# Offsets in struct tcp_info (include/uapi/linux/tcp.h).
_INFO_BYTES = 192
_INFO = {
    "mss": ("I", 16),
    "rtt_us": ("I", 68),
    "retransmitted": ("I", 100),
    "acked": ("Q", 120),
    "received": ("Q", 128),
    "segments": ("I", 136),
}


def tcp_info(connection: socket.socket) -> dict[str, int]:
    """Return what the kernel says of a connection: bytes acknowledged and received, and so on."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    return {name: struct.unpack_from(kind, info, at)[0] for name, (kind, at) in _INFO.items()}


class Receiver:
    """Takes one connection, and counts what arrives in order."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # The connection has this byte from the listener, and all its acknowledgements have it.
        self._listener.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, task["tos"])
        self._listener.bind(("", task["port"]))
        self._listener.listen(1)
        self._name = task["name"]
        self._before = 0
        self.socket = self._listener
        self.writes = False
        self.over = False

    def ready(self) -> None:
        """Accept the connection, or read."""
        if self.socket is self._listener:
            self.socket, _ = self._listener.accept()
            return
        try:
            self.over = not self.socket.recv(len(_CHUNK))
        except ConnectionError:
            self.over = True

    def look(self) -> None:
        """Do nothing."""

    def begin(self) -> None:
        """Count from now on."""
        self._before = self._received()

    def result(self) -> dict[str, Any]:
        """Return what has been counted."""
        return {"name": self._name, "received_bytes": self._received() - self._before}

    def _received(self) -> int:
        return 0 if self.socket is self._listener else tcp_info(self.socket)["received"]


class Sender:
    """Always has data for one connection."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._name = task["name"]
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, task["tos"])
        self.socket.setblocking(False)
        self.socket.connect_ex((task["address"], task["port"]))
        self.writes = True
        self.over = False
        self._acked = self._weighted = 0
        self._counted = 0
        self._first: dict[str, int] = {}

    def ready(self) -> None:
        """Write as much as the socket takes."""
        try:
            self.socket.send(_CHUNK)
        except ConnectionError:
            self.over = True

    def look(self) -> None:
        """Weigh the smoothed round-trip time with the bytes acknowledged since the last look."""
        now = tcp_info(self.socket)
        acked = now["acked"] - self._acked
        self._acked = now["acked"]
        self._counted += acked
        self._weighted += acked * now["rtt_us"]

    def begin(self) -> None:
        """Count from now on."""
        self.look()
        self._counted = self._weighted = 0
        self._first = tcp_info(self.socket)

    def result(self) -> dict[str, Any]:
        """Return what has been counted."""
        self.look()
        last = tcp_info(self.socket)
        rtt_s = 1e-6 * self._weighted / self._counted if self._counted else None
        sent = {key: last[key] - self._first.get(key, 0) for key in ("segments", "retransmitted")}
        used = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        return {
            "name": self._name,
            "congestion": used.split(b"\0")[0].decode(),
            "rtt_mean_s": rtt_s,
            "mss_bytes": last["mss"],
            **sent,
        }


class Ends:
    """All ends at this node, in one loop."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._task = task
        self._began = time.monotonic()
        self._ends: list[Receiver | Sender] = [Receiver(each) for each in task["receive"]]
        self._due = sorted(task["send"], key=lambda each: -each["start_s"])

    def run(self) -> list[dict[str, Any]]:
        """Carry out the transfers, and return the results."""
        self._until(self._task["from_s"])
        for end in self._ends:
            end.begin()
        self._until(self._task["until_s"])
        results = [end.result() for end in self._ends]
        # Nobody's connection ends before all have counted: programs do not begin at the same instant.
        self._until(self._task["until_s"] + LINGER_S)
        return results

    def _now_s(self) -> float:
        return time.monotonic() - self._began

    def _until(self, end_s: float) -> None:
        while (now_s := self._now_s()) < end_s:
            if self._due and self._due[-1]["start_s"] <= now_s:
                self._ends.append(Sender(self._due.pop()))
            marks = [end_s, (now_s // LOOK_S + 1) * LOOK_S]
            marks += [each["start_s"] for each in self._due]
            self._wait(min(marks))
            for end in self._ends:
                end.look()

    def _wait(self, until_s: float) -> None:
        """Write and read as sockets permit."""
        while (left_s := until_s - self._now_s()) > 0.0:
            ends = [end for end in self._ends if not end.over]
            readers = {end.socket: end for end in ends if not end.writes}
            writers = {end.socket: end for end in ends if end.writes}
            ready = select.select(readers, writers, [], left_s)
            for each in ready[0]:
                readers[each].ready()
            for each in ready[1]:
                writers[each].ready()


def main() -> None:
    """Do the task, and write the results with the release of the kernel."""
    task = json.loads(sys.argv[1])
    ends = Ends(task).run()
    result = {"kernel": os.uname().release, "ends": ends}
    Path(task["result"]).write_text(json.dumps(result), encoding="ascii")


if __name__ == "__main__":
    main()
