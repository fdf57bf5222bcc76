"""The tables of ``docs/reference/scenario-keys.md``, from the JSON Schema of scenario files.

Each table of a scenario is a section; each key a row with what its value may be and what the key
means. Words that a key chooses from are a table beneath. The descriptions are the comments of the
structs in ``crates/airqueue-scenario/src/file`` and of the disciplines, sources and controllers.
``scripts/native_types.py`` writes the page; ``make types`` runs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]
Definitions = Mapping[str, Schema]

TOP: Final = (
    "phy", "mac", "queue", "stations", "flows", "hosts", "medium", "tcp", "beacons", "links",
    "routing", "buffers", "changes",
)  # fmt: skip
"""The tables of a file in the order in which a reader needs them; others follow by their names."""
_JSON: Final = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "`true` or `false`",
}


def key_tables(root: Schema, definitions: Definitions) -> str:
    """Return the sections of all tables of a scenario file."""
    return "\n\n".join(_Page(root, definitions).sections())


class _Page:
    """Walks the schema; a table that occurs in several places is described at the first one."""

    def __init__(self, root: Schema, definitions: Definitions) -> None:
        self.root = root
        self.definitions = definitions
        self.paths = self._paths()

    def sections(self) -> Iterator[str]:
        properties = self.root["properties"]
        plain = {key: of for key, of in properties.items() if not self._tables_in(of)}
        yield "\n\n".join(["## At the top", *self._rows(plain, self.root)])
        for name, paths in self.paths.items():
            first, *others = paths
            depth = "##" if "." not in first else "###"
            also = f" Also {', '.join(f'`[{path}]`' for path in others)}." if others else ""
            words = f"{_words(self.definitions[name])}{also}"
            table = self._rows(self.definitions[name]["properties"], self.definitions[name])
            yield "\n\n".join([f"{depth} `[{first}]`", words, *table])

    def _paths(self) -> dict[str, list[str]]:
        """Return where each table may stand, by its definition; nested tables follow their own."""
        found: dict[str, list[str]] = {}

        def visit(name: str, path: str) -> None:
            known = name in found
            found.setdefault(name, []).append(path)
            if known:
                return
            for key, of in self.definitions[name]["properties"].items():
                for within, table in self._tables_in(of):
                    visit(table, ".".join([path, key, *within]))

        properties = self.root["properties"]
        for key in [*TOP, *(key for key in properties if key not in TOP)]:
            for within, table in self._tables_in(properties.get(key, {})):
                visit(table, ".".join([key, *within]))
        return found

    def _tables_in(self, schema: Schema) -> list[tuple[list[str], str]]:
        """Return (keys on the way, definition) of the tables that a value may be or contain."""
        if "items" in schema:
            return self._tables_in(schema["items"])
        if "$ref" in schema:
            name = _name(schema)
            if "properties" in self.definitions[name]:
                return [([], name)]
            return self._tables_in(self.definitions[name])
        found = []
        for each in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
            for key, of in each.get("properties", {}).items():
                found += [([key, *within], table) for within, table in self._tables_in(of)]
            if "properties" not in each:
                found += self._tables_in(each)
        return found

    def _rows(self, properties: Mapping[str, Schema], table: Schema) -> Iterator[str]:
        required = table.get("required", [])
        lines = ["| key | value | meaning |", "|---|---|---|"]
        choices: dict[str, list[str]] = {}
        for key, of in properties.items():
            value = self._value(of)
            if key in required:
                value += ", required"
            lines.append(f"| `{key}` | {value} | {_escaped(_words(of) + _default(of))} |")
            if "$ref" in of and "oneOf" in self.definitions[_name(of)]:
                choices.setdefault(_name(of), []).append(f"`{key}`")
        yield "\n".join(lines)
        for name, keys in choices.items():
            yield self._choices(", ".join(keys), self.definitions[name])

    def _choices(self, keys: str, definition: Schema) -> str:
        lines = [f"| {keys} | {_escaped(_words(definition))} |", "|---|---|"]
        for each in definition["oneOf"]:
            lines.append(f"| {self._word(each)} | {_escaped(_words(each))} |")
        return "\n".join(lines)

    def _word(self, choice: Schema) -> str:
        if "const" in choice:
            return f'`"{choice["const"]}"`'
        return ", ".join(f"`{{{key} = ...}}`" for key in choice["properties"])

    def _value(self, schema: Schema) -> str:
        """Return in words what a value may be."""
        if "items" in schema:
            return f"a list: {self._value(schema['items'])}"
        if "$ref" in schema:
            name = _name(schema)
            definition = self.definitions[name]
            if "properties" in definition:
                return f"[a table](#{_anchor(self.paths[name][0])})"
            if "oneOf" in definition:
                return " or ".join(_kinds_of(definition["oneOf"]))
            if "examples" in definition:
                return _quantity(definition)
            if "anyOf" in definition:
                return _either(self._value(each) for each in definition["anyOf"])
            return _quantity(definition)
        if "anyOf" in schema:
            return _either(self._value(each) for each in schema["anyOf"])
        words = _JSON[schema["type"]]
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and high is not None:
            return f"{words}, {low} to {high}"
        if high is not None:
            return f"{words}, at most {high}"
        return f"{words}, at least {low}" if low is not None else words


def _quantity(definition: Schema) -> str:
    words = _words(definition).replace(", with its unit", "")
    examples = " or ".join(f'`"{each}"`' for each in definition.get("examples", []))
    return f"{_lower(words)}, as {examples}" if examples else _lower(words)


def _kinds_of(choices: Sequence[Schema]) -> list[str]:
    words = ["a word"] if any("const" in each for each in choices) else []
    return [*words, "a table"] if any("properties" in each for each in choices) else words


def _either(values: Iterator[str]) -> str:
    return ", or ".join(dict.fromkeys(values))


def _default(schema: Schema) -> str:
    """Return the default as a sentence, where the description does not have it already."""
    default = schema.get("default")
    if default is None or "default" in _words(schema):
        return ""
    return f" The default is `{json.dumps(default)}`."


def _words(schema: Schema) -> str:
    return " ".join(str(schema.get("description", "")).split())


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _escaped(words: str) -> str:
    return words.replace("|", "\\|").replace("*", "\\*") if "`*`" not in words else words


def _anchor(path: str) -> str:
    return path.replace(".", "")
