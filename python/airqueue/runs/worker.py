"""The main program of a local process: requests are lines on stdin, answers lines on stdout.

The process ends when its stdin ends, that is when the parent process is gone for any reason.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import Final, TextIO

READY: Final = "ready"
"""The first line, once all modules are loaded."""


def serve() -> None:
    """Answer until stdin ends."""
    # The parent process handles Ctrl-C, and then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _own_stdout()
    from airqueue.runs.protocol import run_request  # noqa: PLC0415 - the loaded modules may print

    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    print(READY, file=answers, flush=True)
    while True:
        print(run_request(requests.get()), file=answers, flush=True)


def _own_stdout() -> TextIO:
    """Return the stream of answers; all other output goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _read(requests: queue.SimpleQueue[str]) -> None:
    """Pass on requests; after the end of stdin no answer is needed."""
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)
