"""Descriptions of the models for `airqueue model`: parameters, outputs and one sentence.

A model file ends with ``MODEL = Model(...)``; a line in `MODULES` registers the model.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from airqueue.models.errors import ModelError


class Kind(Enum):
    """Syntax of a parameter's text. All but CHOICE, TEXT and the lists can be swept as ranges."""

    NUMBER = "number"
    WHOLE = "whole number"
    RATE = "rate in b/s"
    DURATION = "time in s"
    SIZE = "size in bytes"
    CHOICE = "choice"
    TEXT = "text"
    NUMBERS = "numbers, comma-separated"
    RATES = "rates, comma-separated"
    DURATIONS = "times, comma-separated"


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = _Required()
"""The default of a parameter that has none."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name is the key on the command line and the argument of ``evaluate``."""

    name: str
    help: str
    """Meaning, with the paper's symbol; one line."""
    default: Any = REQUIRED
    """In the unit of the kind, as ``evaluate`` gets it; None for "not given"."""
    kind: Kind = Kind.NUMBER
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether the user must give the parameter, since there is no default."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class Output:
    """One figure of the result; the unit is in the name."""

    name: str
    help: str


Figure: TypeAlias = float | int | str | bool | Sequence[float] | None
"""One output: a number, a word, or one number per element of a list parameter; never NaN or
infinite, None where there is no answer."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model as a user of the command sees it."""

    name: str
    """Lower case words joined by hyphens; the key in `MODULES`."""
    summary: str
    """One sentence, with the source."""
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]
    evaluate: Callable[..., Mapping[str, Figure]]
    """Called with every parameter by name, one point of a sweep at a time; raises ModelError."""
    example: str
    """Arguments that work, as in ``n=1..50``: shown in the help and run by the tests."""
    valid: str = ""
    """Range of validity in a sentence or two, shown in the help."""


MODULES: Final[Mapping[str, str]] = {
    "bianchi": "bianchi",
    "tay-chua": "tay_chua",
    "kumar": "kumar",
    "dcf-conventions": "dcf_conventions",
    "http-contention": "http_contention",
    "tcp-capacity": "tcp_capacity",
    "tcp-window": "tcp_window",
    "delayed-ack": "delayed_ack",
    "engset": "engset",
    "web-session": "web_session",
    "airtime": "airtime",
    "single-station": "single_station",
    "anomaly": "anomaly",
    "rate-mix": "rate_mix",
    "edca-hold": "edca_hold",
    "battiti-li": "battiti_li",
    "edca-txop": "edca_txop",
    "edca-slots": "edca_slots",
    "edca-fairness": "edca_fairness",
    "collision-domain": "collision_domain",
    "mesh-exchange": "mesh_exchange",
    "mesh-buffer": "mesh_buffer",
    "mesh-allocation": "mesh_allocation",
    "virtual-queues": "virtual_queues",
    "mesh-chain": "mesh_chain",
    "tcp-ap": "tcp_ap",
    "rdqm": "rdqm",
    "buffer-rules": "buffer_rules",
    "sawtooth": "sawtooth",
    "flow-adapted": "flow_adapted",
    "buffer-regime": "buffer_regime",
    "apq-stages": "apq_stages",
    "voice": "voice",
    "delay-budget": "delay_budget",
    "page-time": "page_time",
}
"""Name of each model -> its module in `airqueue.models`, in the order in which they are listed."""


def find(name: str) -> Model:
    """Import and return a model; raises ModelError that lists all names for an unknown name."""
    module = MODULES.get(name)
    if module is None:
        known = f"{near(name, list(MODULES))}there are {', '.join(MODULES)}"
        raise ModelError(f"there is no model {name[:40]!r}; {known}")
    model: Model = importlib.import_module(f"airqueue.models.{module}").MODEL
    return model


def near(name: str, names: Sequence[str]) -> str:
    """Return ``did you mean 'x'? `` for names close to ``name``, or "" if there are none.

    >>> near("tay-chau", ["tay-chua", "bianchi"])
    "did you mean 'tay-chua'? "
    """
    close = difflib.get_close_matches(name, names, n=3)
    return f"did you mean {' or '.join(repr(match) for match in close)}? " if close else ""
