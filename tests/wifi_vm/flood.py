"""Sends a number of UDP packets to an address at once: fills queues that do not drain.

With a third argument it waits, once it is ready, until there is a file `flood.go`.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

SO_SNDBUFFORCE = 32
PORT = 9
"""RFC 863: discard."""
PATIENCE_S = 30


def main(address: str, count: int, *, waits: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        # Packets in a queue below are still those of the socket, which would block.
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20)
        if waits:
            Path("flood.ready").touch()
            deadline = time.monotonic() + PATIENCE_S
            while not Path("flood.go").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
        for number in range(count):
            sender.sendto(number.to_bytes(4, "big") * 50, (address, PORT))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), waits=len(sys.argv) > 3)
