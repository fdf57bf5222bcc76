"""Sends datagrams to a station over several sockets for some seconds: 200 kb/s each."""

import socket
import sys
import time

address, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
began = time.monotonic()
for packet in range(int(50 * seconds)):
    for port, each in enumerate(sockets, 9000):
        each.sendto(bytes(500), (address, port))
    time.sleep(max(0.0, began + packet / 50 - time.monotonic()))
