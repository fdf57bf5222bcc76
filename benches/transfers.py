"""A transfer over TCP between two programs that always have data, for the other benches."""

from __future__ import annotations

import sys

RECEIVE = """
import socket
with socket.create_server(("", 5001)) as s:
    s, _ = s.accept()
    while s.recv(1 << 18):
        pass
"""
# IPv4, whose headers the simulator counts.
SEND = """
import os, socket
with socket.create_connection((os.environ["AIRQUEUE_PEER"], 5001)) as s:
    while True:
        s.sendall(bytes(1 << 18))
"""

SENDER = (sys.executable, "-c", SEND)
RECEIVER = (sys.executable, "-c", RECEIVE)
