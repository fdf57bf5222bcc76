"""Carrying out one piece of work in the process that was chosen for it: text in, text out.

Both are JSON, so that a result is the same to the last bit whichever process, here or on another
machine, has computed it.
"""

from __future__ import annotations

import json
import traceback
from typing import Any

import airqueue
from airqueue.runs import kinds
from airqueue.runs.errors import BackendError, WorkError
from airqueue.runs.fingerprint import fingerprint
from airqueue.runs.work import Work


def request(work: Work) -> str:
    """Return what `run_request` needs to know, as one line."""
    asked = {
        "airqueue": airqueue.__version__,
        "function": kinds.find(work.kind).function,
        "parts": sorted(work.parts),
        "code": work.code,
        "inputs": work.text,
    }
    return json.dumps(asked)


def run_request(line: str) -> str:
    """Carry out a request and return the answer as one line, also where the work fails."""
    asked = json.loads(line)
    try:
        stranger = _stranger(asked)
        if stranger:
            return json.dumps({"stranger": stranger})
        result = kinds.function_of(asked["function"])(json.loads(asked["inputs"]))
        return json.dumps({"result": result}, allow_nan=False)
    except Exception as error:
        return json.dumps({"error": _words(error), "trace": traceback.format_exc()})


def answer(work: Work, line: str, who: str) -> Any:
    """Return the result that an answer has.

    Raises WorkError if the work failed, and CrewError if ``who`` has another airqueue.
    """
    said = json.loads(line)
    if "stranger" in said:
        raise BackendError(f"{who} {said['stranger']}")
    if "error" in said:
        failed = WorkError(work, said["error"])
        failed.add_note(said["trace"])
        raise failed
    return said["result"]


def _stranger(asked: dict[str, Any]) -> str:
    """Return how the airqueue of this process differs from that of the asking one; "" if not."""
    if airqueue.__version__ != asked["airqueue"]:
        here, there = airqueue.__version__, asked["airqueue"]
        return f"has airqueue {here} and this is {there}; install the same version on both"
    if fingerprint(frozenset(asked["parts"])) != asked["code"]:
        return (
            f"has other code of airqueue {airqueue.__version__} than this process; install the same "
            "build on both, or start again if it has just been changed"
        )
    return ""


def _words(error: Exception) -> str:
    """Return the message of our own errors, which are sentences; others with their class."""
    ours = type(error).__module__.startswith("airqueue.")
    return str(error) if ours else f"{type(error).__name__}: {error}"
