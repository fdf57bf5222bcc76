"""The site's page of JSON Schemas, written when the site is built (docs/conf.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from airqueue.cli import schemas

Schema = Mapping[str, Any]


def schema_sections() -> str:
    """Return a section for each schema: what it is of, its fields, and where the whole is."""
    return "\n\n".join(_section(name, of) for name, of in schemas.names().items())


def schema_files() -> dict[str, str]:
    """Return the name and the text of a file for each schema."""
    return {
        f"{name}.schema.json": json.dumps(schemas.schema(name), indent=2, ensure_ascii=False)
        for name in schemas.names()
    }


def _section(name: str, of: str) -> str:
    schema = schemas.schema(name)
    lines = [f"## {name}", "", f"Of `{of}`." if of.startswith("airqueue") else f"Of {of}."]
    lines.append(_words(schema))
    lines.append(f'<a href="../schemas/{name}.schema.json">The whole schema</a>,')
    lines.append(f"or `airqueue schema {name}`.")
    rows = list(_rows(schema))
    if rows:
        lines += ["", "| field | type | meaning |", "|---|---|---|", *rows]
    return "\n".join(lines)


def _rows(schema: Schema) -> Iterator[str]:
    required = schema.get("required", [])
    for field, of in schema.get("properties", {}).items():
        optional = "" if field in required else ", optional"
        meaning = _words(of).replace("|", "\\|").replace("*", "\\*")
        yield f"| `{field}` | {_type(of)}{optional} | {meaning} |"


def _type(schema: Schema) -> str:
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    for either in ("anyOf", "oneOf"):
        if either in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[either]))
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        return f"array of {_type(schema['items'])}"
    kinds = schema.get("type", "any")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)


def _words(schema: Schema) -> str:
    return " ".join(str(schema.get("description", "")).split())
