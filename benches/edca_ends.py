"""The transfers at one real node of `edca_linux.py`: the kernel's TCP, counted every second.

The argument is a JSON object: ``receive`` and ``send`` have a table for each transfer, with
``name``, ``port`` and ``tos`` (the byte with the DSCP of all packets that this end sends); a sender
also has the ``address``, ``start_s`` and ``stop_s``. Times are those since this program began. At
each whole second up to ``until_s`` the bytes that each receiver has so far are noted in ``result``,
with the time since the machine's start at which this program began.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_CHUNK = bytes(1 << 16)


def receive(task: dict[str, Any], counts: dict[str, int]) -> None:
    """Take one connection, and count what arrives in order."""
    listening = socket.socket()
    # The connection has this byte from the listener, and all its acknowledgements have it.
    listening.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, task["tos"])
    listening.bind(("", task["port"]))
    listening.listen(1)
    connection, _ = listening.accept()
    with suppress(OSError):
        while data := connection.recv(1 << 18):
            counts[task["name"]] += len(data)


def send(task: dict[str, Any], zero_s: float) -> None:
    """Connect, always have data, and at the end leave nothing behind in the socket."""
    time.sleep(max(0.0, zero_s + task["start_s"] - time.monotonic()))
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, task["tos"])
    left_s = zero_s + task["stop_s"] - time.monotonic()
    connection.settimeout(left_s)
    ends = threading.Timer(left_s, end, (connection,))
    ends.daemon = True
    ends.start()
    try:
        connection.connect((task["address"], task["port"]))
        while True:
            connection.sendall(_CHUNK)
    except OSError:
        end(connection)


def end(connection: socket.socket) -> None:
    """Reset the connection: what it has not sent is not sent."""
    with suppress(OSError):  # never connected, or ended by its timer
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def main() -> None:
    """Do the task, and write how many bytes each receiver had at each second."""
    task = json.loads(sys.argv[1])
    zero_s, began_s = time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME)
    counts = {each["name"]: 0 for each in task["receive"]}
    for each in task["receive"]:
        threading.Thread(target=receive, args=(each, counts), daemon=True).start()
    for each in task["send"]:
        threading.Thread(target=send, args=(each, zero_s), daemon=True).start()
    noted = []
    for second in range(int(task["until_s"]) + 1):
        time.sleep(max(0.0, zero_s + second - time.monotonic()))
        noted.append(dict(counts))
    result = json.dumps({"began_s": began_s, "bytes": noted})
    Path(task["result"]).write_text(result, encoding="ascii")


if __name__ == "__main__":
    main()
