"""What a local process does: requests as lines on stdin, answers as lines on stdout.

It ends with its stdin, that is when the process that started it is gone, however that went.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import Final, TextIO

READY: Final = "ready"
"""The first line, once everything is loaded."""


def serve() -> None:
    """Answer until stdin ends."""
    # Ctrl-C is for the process that started this one, which then ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _own_stdout()
    from airqueue.runs.protocol import run_request  # noqa: PLC0415 - what this loads may print

    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    print(READY, file=answers, flush=True)
    while True:
        print(run_request(requests.get()), file=answers, flush=True)


def _own_stdout() -> TextIO:
    """Return the stream of answers; whatever else is printed goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _read(requests: queue.SimpleQueue[str]) -> None:
    """Pass on requests; at the end of stdin nobody waits for an answer any more."""
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)
