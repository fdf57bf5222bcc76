"""Sends datagrams to a station over several sockets for some seconds: 200 kb/s each."""

import socket
import sys
import time

FIRST_PORT = 9000
PACKETS_PER_SECOND = 50
PAYLOAD_BYTES = 500


def main(address: str, count: int, seconds: float) -> None:
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    began = time.monotonic()
    for packet in range(int(PACKETS_PER_SECOND * seconds)):
        for port, each in enumerate(sockets, FIRST_PORT):
            each.sendto(bytes(PAYLOAD_BYTES), (address, port))
        time.sleep(max(0.0, began + packet / PACKETS_PER_SECOND - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
