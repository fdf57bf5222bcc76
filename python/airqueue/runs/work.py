"""A piece of work: its kind, its inputs, and the keys of its result."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airqueue.runs import kinds
from airqueue.runs.errors import RunError
from airqueue.runs.fingerprint import fingerprint


@dataclass(frozen=True)
class Work:
    """A piece of work; in a process, two with the same `key` have the same result.

    Raises RunError for an unknown kind and for inputs that are not plain JSON.
    """

    kind: str
    """The name of a registered kind; see `kinds`."""
    inputs: Mapping[str, Any]
    """All inputs of the result besides the code, as plain JSON; must not be changed later."""
    weight: float = 1.0
    """Relative duration: determines the order and the estimate of the remaining time."""
    name: str = ""
    """Name in messages; not part of the keys."""

    def __post_init__(self) -> None:
        kinds.find(self.kind)
        if not self.weight > 0:
            raise RunError(f"{self}: its weight is {self.weight!r}; expected a number above zero")
        _ = self.key

    def __str__(self) -> str:
        return self.name or f"a {self.kind}"

    # Not kept: many replications of one large scenario would each have a copy.
    @property
    def text(self) -> str:
        """The inputs as JSON, independent of the order of keys."""
        try:
            return json.dumps(self.inputs, sort_keys=True, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise RunError(f"{self}: its inputs are no plain JSON: {error}") from error

    @functools.cached_property
    def parts(self) -> frozenset[str]:
        """The full names of the modules and packages on which the work depends."""
        return kinds.find(self.kind).parts(self.inputs)

    @functools.cached_property
    def code(self) -> str:
        """The fingerprint of the code on which the work depends."""
        return fingerprint(self.parts)

    @functools.cached_property
    def key(self) -> str:
        """64 hexadecimal digits that identify the work in a process: SHA-256 of kind and inputs."""
        return hashlib.sha256(f"{self.kind}\n{self.text}".encode()).hexdigest()

    # Apart from `key`: to digest the code takes longer than many simulations.
    @functools.cached_property
    def stored_key(self) -> str:
        """64 hexadecimal digits that identify the result among those of other code, too."""
        return hashlib.sha256(f"{self.code}\n{self.key}".encode()).hexdigest()
