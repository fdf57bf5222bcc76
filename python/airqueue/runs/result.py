"""The result of a piece of work: plain data and its JSON, of which mostly one is needed alone."""

from __future__ import annotations

import functools
import json
from typing import Any


class Result:
    """A result, given as one of both; the other one is made when it is needed."""

    @classmethod
    def of(cls, value: Any) -> Result:
        """Return a result that is plain data, or a result already."""
        if isinstance(value, Result):
            return value
        made = cls()
        made.__dict__["value"] = value
        return made

    @classmethod
    def read(cls, text: str) -> Result:
        """Return a result that is JSON, in one line."""
        made = cls()
        made.__dict__["text"] = text
        return made

    @functools.cached_property
    def value(self) -> Any:
        """The result as plain data."""
        return json.loads(self.text)

    @functools.cached_property
    def text(self) -> str:
        """The result as JSON. Raises ValueError for what JSON does not have, such as infinity."""
        return json.dumps(self.value, ensure_ascii=False, allow_nan=False)
