#!/usr/bin/env python
"""Writes what Python and the documentation say of scenarios and results, from the Rust definitions.

The bindings have JSON Schemas of all that crosses them: names, types, and the comments of the
structs, which say meaning and unit. Of these come in ``python/airqueue``

- ``figures.py``: the figures of simulations, which cross as JSON,
- ``monitored.py``: what a manager of a network sees, likewise,
- ``records.py``: what crosses as dictionaries,
- ``description.py`` and ``description_words.py``: the keys of scenarios, and their words,

and the tables of ``docs/reference/scenario-keys.md`` (scenario_page.py) and
``docs/reference/figures.md``. ``make types`` runs this; a test says when that is due.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from airqueue import _native

sys.path.insert(0, str(Path(__file__).parent))
from scenario_page import key_tables

ROOT: Final = Path(__file__).parents[1]
FIGURES: Final = ROOT / "python" / "airqueue" / "figures.py"
WATCHED: Final = ROOT / "python" / "airqueue" / "monitored.py"
RECORDS: Final = ROOT / "python" / "airqueue" / "records.py"
DESCRIPTION: Final = ROOT / "python" / "airqueue" / "description.py"
WORDS: Final = ROOT / "python" / "airqueue" / "description_words.py"
KEYS_PAGE: Final = ROOT / "docs" / "reference" / "scenario-keys.md"
FIGURES_PAGE: Final = ROOT / "docs" / "reference" / "figures.md"
_WIDTH: Final = 100
_UNITS: Final = {
    "bps": "b/s",
    "s": "s",
    "packets": "packets",
    "ratio": "0 to 1",
    "db": "dB",
}
_TYPES: Final = {
    "integer": "int",
    "number": "float",
    "string": "str",
    "boolean": "bool",
    "null": "None",
}

Schema = Mapping[str, Any]
Definitions = Mapping[str, Schema]

_FIGURES_HEAD: Final = '''"""The figures of simulated networks: names, types, units and meaning.

Written by scripts/native_types.py from reported.rs and reported/ of crates/airqueue-scenario:
change those, then ``make types``. The unit is in the name: ``_bps`` bits per second, ``_s``
seconds, ``_packets`` packets, ``_ratio`` a share from 0 to 1; what has none is a count. None where
there is nothing to divide by.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict
'''
_WATCHED_HEAD: Final = '''"""What a manager of a network sees of it: names, types, units and meaning.

Written by scripts/native_types.py from monitor.rs, buffers.rs and in_force.rs of
crates/airqueue-scenario: change those, then ``make types``. The unit is in the name: ``_s``
seconds, ``_bps`` bits per second.
"""

from __future__ import annotations

from typing import Literal, TypedDict
'''
_RECORDS_HEAD: Final = '''"""Dictionaries that the bindings return: names, types, units and meaning.

Written by scripts/native_types.py from crates/airqueue-python/src/dicts.rs: change that, then
``make types``. The unit is in the name; times whose names end in ``_ns`` are whole nanoseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
'''
_DESCRIPTION_HEAD: Final = '''"""The keys of scenarios, as tables of Python.

Written by scripts/native_types.py from crates/airqueue-scenario/src/file: change that, then
``make types``. What each key means is in docs/reference/scenario-keys.md and in
the schema; whether a scenario can be simulated the engine says.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from airqueue import description_words as words
'''
_WORDS_HEAD: Final = '''"""What values of scenarios may be: words, and quantities with their units.

Written by scripts/native_types.py from crates/airqueue-scenario/src/file: change that, then
``make types``.
"""

from __future__ import annotations

from typing import Literal
'''
_SUMMARY: Final = '''
class Summary(TypedDict):
    """A figure over several replications."""

    mean: float | None
    """None where no replication has the figure."""
    ci95: list[float] | None
    """The 95 % confidence interval of the mean, low and high; None with a single replication."""
    n: NotRequired[int]
    """How many replications have the figure, where some have none."""
'''


def figures_module() -> str:
    """Return the text of ``airqueue/figures.py``."""
    definitions = _definitions(1)
    kinds = _kinds(definitions)
    parts = [_FIGURES_HEAD, *_classes(definitions, ["Figures"])]
    parts.append(_alias("Kind", kinds, "What has figures by name."))
    every = [*kinds.values(), "MediumFigures"]
    parts += [_alias(of.removesuffix("s"), _properties(definitions[of]), "") for of in every]
    parts.append(_figure_of(kinds))
    parts.append(_SUMMARY)
    for of in every:
        noun = of.removesuffix("Figures")
        fields = dict.fromkeys(_properties(definitions[of]), ("Summary", ""))
        parts.append(class_of(f"{noun}Summary", f"`{of}` over several replications.", fields))
    summaries = {
        kind: (f"dict[str, {of.removesuffix('Figures')}Summary]", "") for kind, of in kinds.items()
    }
    summaries["medium"] = ("MediumSummary", "")
    words = "The figures over several replications by kind and name."
    parts.append(class_of("Summaries", words, summaries))
    return "\n".join(parts)


def monitored_module() -> str:
    """Return the text of ``airqueue/monitored.py``."""
    roots = ["Map", "Snapshot", "Buffers", "QueueInForce"]
    return "\n".join([_WATCHED_HEAD, *_classes(_definitions(1), roots)])


def records_module() -> str:
    """Return the text of ``airqueue/records.py``."""
    definitions = _definitions(0)
    return "\n".join([_RECORDS_HEAD, *_classes(definitions, definitions)])


def description_module() -> str:
    """Return the text of ``airqueue/description.py``."""
    _, tables = _words_and_tables(_scenario_definitions())
    return formatted("\n".join([_DESCRIPTION_HEAD, *tables]))


def description_words_module() -> str:
    """Return the text of ``airqueue/description_words.py``."""
    words, _ = _words_and_tables(_scenario_definitions())
    return formatted("\n".join([_WORDS_HEAD, *words.values()]))


def _scenario_definitions() -> Definitions:
    schema = json.loads(_native.scenario_schema())
    return {**schema.pop("$defs"), "Description": schema}


def formatted(text: str) -> str:
    """Return Python as ruff writes it."""
    command = [sys.executable, "-m", "ruff", "format", "--line-length", str(_WIDTH), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def keys_page(text: str) -> str:
    """Return the page of scenario keys with its tables written anew."""
    schema = json.loads(_native.scenario_schema())
    return _with_tables(text, KEYS_PAGE, {"keys": key_tables(schema, schema["$defs"])})


def figures_page(text: str) -> str:
    """Return the page of figures with its tables written anew."""
    figures, records = _definitions(1), _definitions(0)
    tables = {
        "figures": "\n\n".join(_figure_tables(figures)),
        "series": "\n\n".join(_series_tables(records)),
    }
    return _with_tables(text, FIGURES_PAGE, tables)


def _with_tables(text: str, path: Path, tables: Mapping[str, str]) -> str:
    """Return a page whose marked places have the given texts."""
    for name, table in tables.items():
        begin = f"<!-- {name}: written by scripts/native_types.py -->"
        end = f"<!-- end of {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{path}: expected {begin!r} and {end!r}, once each")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end)[1]}"
    return text


def _definitions(place: int) -> Definitions:
    found: Definitions = json.loads(_native.result_schemas()[place])["$defs"]
    return found


def _kinds(definitions: Definitions) -> dict[str, str]:
    """Return the kinds of figures that have names, and the type of each."""
    return {
        kind: _name(of["additionalProperties"])
        for kind, of in _properties(definitions["Figures"]).items()
        if "additionalProperties" in of
    }


def _properties(schema: Schema) -> dict[str, Schema]:
    """Return the fields of a struct in its order, which ``required`` alone has kept."""
    return {key: schema["properties"][key] for key in schema["required"]}


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _classes(definitions: Definitions, roots: Iterable[str]) -> Iterator[str]:
    """Yield the roots and all that is part of one, parts first."""
    written: set[str] = set()

    def write(name: str) -> Iterator[str]:
        if name in written:
            return
        written.add(name)
        schema = definitions[name]
        words = words_of(schema)
        if "properties" not in schema:
            yield _alias(name, _choices(schema), words)
            return
        properties = _properties(schema)
        for part in re.findall(r'"#/\$defs/(\w+)"', json.dumps(properties)):
            yield from write(part)
        yield class_of(
            name, words, {key: (_type(of), words_of(of)) for key, of in properties.items()}
        )

    for name in roots:
        yield from write(name)


def _words_and_tables(definitions: Definitions) -> tuple[dict[str, str], list[str]]:
    """Return the types of a file's words and quantities by name, and of its tables, parts first."""
    words: dict[str, str] = {}
    tables: list[str] = []
    seen: set[str] = set()

    def write(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        schema = definitions[name]
        parts = re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema))
        for part in parts:
            write(part)
        schema = _with_prefix(schema, words)
        tables.extend(_one_key(name, each) for each in _variants(schema) if "properties" in each)
        if "properties" in schema:
            tables.append(_keys(name, words_of(schema), schema["properties"]))
        elif set(parts) <= set(words) and not any("properties" in of for of in _variants(schema)):
            words[name] = f"{name} = {_choice(name, definitions[name])}"
        else:
            tables.append(
                "\n".join([f"{name} = {_choice(name, schema)}", *_undented(words_of(schema))])
            )

    write("Description")
    return words, tables


def _with_prefix(schema: Schema, words: Iterable[str]) -> Schema:
    """Return a schema whose references to words say in which module these are."""
    names = "|".join(words)
    text = re.sub(rf'"#/\$defs/({names})"', r'"#/$defs/words.\1"', json.dumps(schema))
    found: Schema = json.loads(text)
    return found


def _variants(schema: Schema) -> list[Schema]:
    return list(schema.get("oneOf", schema.get("anyOf", [])))


def _one_key(name: str, variant: Schema) -> str:
    """Return the type of a table with one key, which says what the table is."""
    words = words_of(variant) or words_of(next(iter(variant["properties"].values())))
    return _keys(_variant_name(name, variant), words, variant["properties"])


def _variant_name(name: str, variant: Schema) -> str:
    (key,) = variant["properties"]
    return f"{name}{''.join(map(str.title, key.split('_')))}"


def _keys(name: str, words: str, properties: Mapping[str, Schema]) -> str:
    fields = {key: _any_type(of) for key, of in properties.items()}
    if any(map(keyword.iskeyword, fields)):
        lines = [f'    "{key}": {kind},' for key, kind in fields.items()]
        lines = [f"{name} = TypedDict(", f'    "{name}",', "    {", *lines, "    },"]
        return "\n".join([*lines, "    total=False,", ")", *_undented(words)])
    lines = [f"    {key}: {kind}" for key, kind in fields.items()]
    return "\n".join(["", f"class {name}(TypedDict, total=False):", *_doc(words), "", *lines, ""])


def _choice(name: str, schema: Schema) -> str:
    """Return the type of what is one of several things."""
    kinds: list[str] = []
    words = _choices(schema)
    if words:
        kinds.append(f"Literal[{', '.join(map(json.dumps, words))}]")
    for each in _variants(schema):
        if "properties" in each:
            kinds.append(_variant_name(name, each))
        elif "const" not in each and "enum" not in each:
            kinds.append(_any_type(each))
    return " | ".join(kinds or [_any_type(schema)])


def _any_type(schema: Schema) -> str:
    """Return the type of a value, of what may be one of several things too."""
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(_any_type, schema["anyOf"])))
    if schema.get("type") == "array":
        return f"list[{_any_type(schema['items'])}]"
    return _type(schema)


def _undented(words: str) -> list[str]:
    return [line.removeprefix("    ") for line in _doc(words)]


def class_of(name: str, words: str, fields: Mapping[str, tuple[str, str]]) -> str:
    """Return a TypedDict; each field has a type and what is said of it."""
    lines = ["", f"class {name}(TypedDict):", *_doc(words), ""]
    for key, (kind, meaning) in fields.items():
        lines.append(f"    {key}: {kind}")
        lines += _doc(meaning) if meaning else []
    return "\n".join(lines) + "\n"


def _figure_of(kinds: Mapping[str, str]) -> str:
    pairs = [f'tuple[Literal["{kind}"], {of.removesuffix("s")}]' for kind, of in kinds.items()]
    each = [f"    {pairs[0]}", *(f"    | {pair}" for pair in pairs[1:])]
    return "\n".join(["", "FigureOf = (", *each, ")", '"""A kind, and a figure of it."""', ""])


def _alias(name: str, choices: Iterable[str], words: str) -> str:
    lines = ["", f"{name} = Literal[", *(f'    "{choice}",' for choice in choices), "]"]
    if words:
        lines += _undented(words)
    return "\n".join(lines) + "\n"


def _doc(words: str) -> list[str]:
    """Return a docstring, indented, as lines."""
    wrapped = textwrap.wrap(f'"""{words}', _WIDTH - 7, break_on_hyphens=False)
    wrapped[-1] += '"""'
    return [f"    {line}" for line in wrapped]


def words_of(schema: Schema) -> str:
    """Return what a schema says of itself, on one line."""
    return " ".join(str(schema.get("description", "")).split())


def _choices(schema: Schema) -> list[str]:
    choices = list(schema.get("enum", []))
    for each in schema.get("oneOf", []):
        choices += [each["const"]] if "const" in each else each.get("enum", [])
    return [str(each) for each in choices]


def _type(schema: Schema) -> str:
    """Return a type as Python writes it."""
    if "$ref" in schema:
        return _name(schema)
    if "x-numpy" in schema:
        array = f"npt.NDArray[np.{schema['x-numpy']}]"
        return f"{array} | None" if "null" in schema["type"] else array
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(each) for each in schema['enum'])}]"
    if "additionalProperties" in schema:
        return f"dict[str, {_type(schema['additionalProperties'])}]"
    if schema["type"] == "array":
        return f"list[{_type(schema['items'])}]"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(_TYPES[kind] for kind in kinds)


def _figure_tables(definitions: Definitions) -> Iterator[str]:
    """Yield a table for each kind of figures."""
    for kind, of in _properties(definitions["Figures"]).items():
        named = of.get("additionalProperties", of)
        if "$ref" in named:
            figures = definitions[_name(named)]
            more = _more(words_of(of), words_of(figures))
            yield _table(f"`{kind}`", more, figures)


def _series_tables(definitions: Definitions) -> Iterator[str]:
    for table, of in (("flow_series", "FlowSeriesDict"), ("queue_series", "QueueSeriesDict")):
        yield _table(f"`{table}`", words_of(definitions[of]), definitions[of])


def _more(kind: str, figures: str) -> str:
    """Return what is said of a kind, and what its figures say beyond their first sentence."""
    rest = re.split(r"(?<=[.;]) ", figures, maxsplit=1)[1:]
    return " ".join([kind, *rest])


def _table(name: str, words: str, schema: Schema) -> str:
    rows = [f"| {name} | unit | {words} |", "|---|---|---|"]
    rows += [
        f"| `{key}` | {_unit(key)} | {words_of(of)} |" for key, of in _properties(schema).items()
    ]
    return "\n".join(rows)


def _unit(name: str) -> str:
    return _UNITS.get(name.rpartition("_")[2], "")


WRITTEN: Final[Mapping[Path, Callable[[], str]]] = {
    FIGURES: figures_module,
    WATCHED: monitored_module,
    RECORDS: records_module,
    WORDS: description_words_module,
    DESCRIPTION: description_module,
    KEYS_PAGE: lambda: keys_page(KEYS_PAGE.read_text("utf-8")),
    FIGURES_PAGE: lambda: figures_page(FIGURES_PAGE.read_text("utf-8")),
}
"""Each file, and what it is to have."""


if __name__ == "__main__":
    for path, content in WRITTEN.items():
        path.write_text(content(), "utf-8")
