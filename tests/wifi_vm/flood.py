"""Sends a number of UDP packets to an address at once: fills queues that do not drain."""

from __future__ import annotations

import socket
import sys

SO_SNDBUFFORCE = 32
PORT = 9
"""RFC 863: discard."""


def main(address: str, count: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        # More than waits by default: packets in a queue below are still those of the socket.
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20)
        for number in range(count):
            sender.sendto(number.to_bytes(4, "big") * 50, (address, PORT))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
