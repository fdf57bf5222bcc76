"""Work that behaves as a test wants: it fails, dies, waits, and writes down that it was done.

Each function is a kind of work of its name in a process that imports this.
"""

import os
import signal
import time
from pathlib import Path

from airqueue.runs import kinds


def square(inputs):
    """Return the square, and add a line to the diary if there is one."""
    note(inputs)
    time.sleep(inputs.get("takes_s", 0))
    return {"square": inputs["number"] ** 2, "third": inputs["number"] / 3}


def fragile(inputs):
    """Die as if killed, the first ``deaths`` times."""
    note(inputs)
    if len(Path(inputs["diary"]).read_text().splitlines()) <= inputs["deaths"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def wrong(inputs):
    """Fail as code that is wrong does."""
    return {}["the key"]


def chatty(inputs):
    """Print, which is nobody's answer."""
    print("not an answer")
    return "an answer"


def infinite(inputs):
    """Return what JSON does not know."""
    return float("inf")


def note(inputs):
    """Add the process's number to the diary."""
    if "diary" in inputs:
        with Path(inputs["diary"]).open("a") as diary:
            diary.write(f"{os.getpid()}\n")


for function in (square, fragile, wrong, chatty, infinite):
    kinds.register(function.__name__, function, ())
