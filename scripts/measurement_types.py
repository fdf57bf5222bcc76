#!/usr/bin/env python
"""Writes the types of a measurement's result, ``python/airqueue/measure/document.py``.

They are those of the schema that results are checked with. ``make types`` runs this; a test says when
that is due.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from native_types import Definitions, Schema, class_of, formatted, words_of

MEASURE: Final = Path(__file__).parents[1] / "python" / "airqueue" / "measure"
_HEAD: Final = '''"""The result of a measurement as JSON has it: names, types, units and meaning.

Written by scripts/measurement_types.py from schema.json: change that, then ``make types``. Units are
in the names; None: not measured or not applicable.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict
'''
_NUMBERS: Final = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}


def document_module() -> str:
    """Return the text of ``airqueue/measure/document.py``."""
    schema = json.loads((MEASURE / "schema.json").read_text("utf-8"))
    types = _Types(schema["$defs"])
    types.write("Document", schema)
    return formatted("\n".join([_HEAD, *types.classes]))


class _Types:
    """The classes of objects, parts first."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._named: dict[str, str] = {}
        """What a definition is called, once it has been written."""
        self.classes: list[str] = []

    def write(self, name: str, schema: Schema) -> str:
        """Write the class of an object and return its name."""
        required = schema.get("required", [])
        fields = {}
        for key, of in schema["properties"].items():
            kind = self._type(key, of)
            kind = kind if key in required else f"NotRequired[{kind}]"
            fields[key] = (kind, words_of(of))
        self.classes.append(class_of(name, words_of(schema), fields))
        return name

    def _type(self, key: str, schema: Schema) -> str:
        if "$ref" in schema:
            name = str(schema["$ref"]).rpartition("/")[2]
            if name not in self._named:
                self._named[name] = self._type(name, self._definitions[name])
            return self._named[name]
        if "anyOf" in schema:
            outer = {"description": words_of(schema)}
            kinds = [self._type(key, {**outer, **each}) for each in schema["anyOf"]]
            return " | ".join(sorted(kinds, key=lambda kind: kind == "None"))
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            choices = [each for each in schema["enum"] if each is not None]
            kind = f"Literal[{', '.join(map(repr, choices))}]"
            return kind if len(choices) == len(schema["enum"]) else f"{kind} | None"
        if "properties" in schema:
            return self.write("".join(map(str.title, key.split("_"))), schema)
        if schema["type"] == "object":
            return f"dict[str, {self._type(key, schema['additionalProperties'])}]"
        if schema["type"] == "array":
            item = schema["items"] or schema["prefixItems"][0]
            return f"list[{self._type(key, item)}]"
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if {"array", "object"} & {*names}:
            return "object"
        return " | ".join(_NUMBERS.get(each, "None") for each in names)


WRITTEN: Final = {MEASURE / "document.py": document_module}
"""The file, and what it is to have."""


if __name__ == "__main__":
    for path, content in WRITTEN.items():
        path.write_text(content(), "utf-8")
