"""A download at one real node of `rdqm_rates.py`: its bytes at each whole second.

The argument is a JSON object with ``start_s``, ``until_s`` and ``result``, the file for the counts.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

PORT = 5001


def pull(wait_s: float, count: list[int]) -> None:
    """Download; a connection that is refused or reset is tried again."""
    time.sleep(wait_s)
    while True:
        try:
            with socket.create_connection((os.environ["AIRQUEUE_PEER"], PORT)) as connection:
                while data := connection.recv(1 << 18):
                    count[0] += len(data)
        except OSError:
            time.sleep(1)


def main() -> None:
    """Do the task."""
    task = json.loads(sys.argv[1])
    zero_s = time.monotonic()
    count = [0]
    threading.Thread(target=pull, args=(task["start_s"], count), daemon=True).start()
    noted = []
    for second in range(int(task["until_s"]) + 1):
        time.sleep(max(0.0, zero_s + second - time.monotonic()))
        noted.append(count[0])
    Path(task["result"]).write_text(json.dumps(noted), encoding="ascii")


if __name__ == "__main__":
    main()
