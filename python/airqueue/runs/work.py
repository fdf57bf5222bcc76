"""A piece of work: what is computed, from what, and the name that its result is kept under."""

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
    """A piece of work; two with the same `key` have the same result.

    Raises RunError for a kind that there is not and for inputs that are not plain JSON.
    """

    kind: str
    """The name of a kind that is registered; see `kinds`."""
    inputs: Mapping[str, Any]
    """All that the result depends on besides the code, as plain JSON; not to be changed later."""
    weight: float = 1.0
    """How long it takes beside others: for the order and for the time left."""
    name: str = ""
    """What messages call it; not part of the key."""

    def __post_init__(self) -> None:
        kinds.find(self.kind)
        if not self.weight > 0:
            raise RunError(f"{self}: its weight is {self.weight!r}; expected a number above zero")
        _ = self.text

    def __str__(self) -> str:
        return self.name or f"a {self.kind}"

    # Not kept: many replications of one large scenario would each have a copy.
    @property
    def text(self) -> str:
        """The inputs as JSON, written in one way whatever the order of keys."""
        try:
            return json.dumps(self.inputs, sort_keys=True, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise RunError(f"{self}: its inputs are no plain JSON: {error}") from error

    @functools.cached_property
    def parts(self) -> frozenset[str]:
        """The full names of the modules and packages that it stands on."""
        return kinds.find(self.kind).parts(self.inputs)

    @functools.cached_property
    def code(self) -> str:
        """The fingerprint of the code that it stands on."""
        return fingerprint(self.parts)

    @functools.cached_property
    def key(self) -> str:
        """64 hexadecimal digits: SHA-256 of kind, inputs and the code that it stands on."""
        return hashlib.sha256(f"{self.kind}\n{self.code}\n{self.text}".encode()).hexdigest()
