"""Executing one piece of work in the chosen process: text in, text out.

Both are JSON, so that a result is equal to the last bit on any process of any machine.
"""

from __future__ import annotations

import json
import traceback
from typing import Any, Final

import airqueue
from airqueue.runs import kinds
from airqueue.runs.errors import BackendError, WorkError
from airqueue.runs.fingerprint import fingerprint
from airqueue.runs.result import Result
from airqueue.runs.work import Work

_RESULT: Final = '{"result": '
"""How the answer of work that succeeded begins."""


def request(work: Work) -> str:
    """Return the request for `run_request`, as one line."""
    asked = {
        "airqueue": airqueue.__version__,
        "function": kinds.find(work.kind).function,
        "parts": sorted(work.parts),
        "code": work.code,
        "inputs": work.text,
    }
    return json.dumps(asked)


def run_request(line: str) -> str:
    """Execute a request and return the answer as one line, also if the work fails."""
    asked = json.loads(line)
    try:
        stranger = _stranger(asked)
        if stranger:
            return json.dumps({"stranger": stranger})
        result = Result.of(kinds.function_of(asked["function"])(json.loads(asked["inputs"])))
        return f"{_RESULT}{result.text}}}"
    except Exception as error:
        return json.dumps({"error": _words(error), "trace": traceback.format_exc()})


def answer(work: Work, line: str, who: str) -> Result:
    """Return the result in an answer.

    Raises WorkError if the work failed, and CrewError if ``who`` has another airqueue.
    """
    if line.startswith(_RESULT):
        return Result.read(line.rstrip()[len(_RESULT) : -1])
    said = json.loads(line)
    if "stranger" in said:
        raise BackendError(f"{who} {said['stranger']}")
    if "error" in said:
        failed = WorkError(work, said["error"])
        failed.add_note(said["trace"])
        raise failed
    raise BackendError(f"{who} answered {line[:80]!r}, and not with a result")


def _stranger(asked: dict[str, Any]) -> str:
    """Return how this process's airqueue differs from the requester's; "" if it does not."""
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
    """Return the message of an error of ours, a sentence; other errors with their class."""
    ours = type(error).__module__.startswith("airqueue.")
    return str(error) if ours else f"{type(error).__name__}: {error}"
