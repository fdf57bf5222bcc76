"""A transfer over TCP between two programs that always have data, and how its figures compare."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from airqueue.stats import t_interval

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


def difference(these: Sequence[float], reference: Sequence[float]) -> str:
    """The mean difference from the reference, relative to its mean, with the 95 % interval.

    Both have one value for each seed.
    """
    relative = (np.array(these) - np.array(reference)) / np.mean(reference)
    interval = t_interval(relative)
    if interval is None or interval.n == 1:
        return f"{100 * relative.mean():+.1f} %"
    return f"{100 * interval.mean:+.1f} % [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"
