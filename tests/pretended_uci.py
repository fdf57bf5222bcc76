"""A program that behaves as OpenWrt's `uci` does with the commands that `airqueued` gives.

Written by the program's manual, without our code. Changes are staged until `commit`, as copies of
whole configurations: who looks at the files sees committed values alone.

    python pretended_uci.py FOLDER COMMAND [ARGUMENT]
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

Option = str | list[str]


def read(text: str) -> list[tuple[str, str | None, dict[str, Option]]]:
    """Return the sections of a configuration: type, name and options."""
    sections: list[tuple[str, str | None, dict[str, Option]]] = []
    for word, *rest in filter(None, (shlex.split(line) for line in text.splitlines())):
        if word == "config":
            sections.append((rest[0], rest[1] if len(rest) > 1 else None, {}))
        elif word == "option":
            sections[-1][2][rest[0]] = rest[1]
        elif word == "list":
            entries = sections[-1][2].setdefault(rest[0], [])
            assert isinstance(entries, list)
            entries.append(rest[1])
    return sections


def lines(package: str, sections: list[tuple[str, str | None, dict[str, Option]]]) -> Iterator[str]:
    """Return the lines of `uci export`."""

    def quoted(value: str) -> str:
        return "'" + value.replace("'", "'\\''") + "'"

    yield f"package {package}"
    for kind, name, options in sections:
        yield ""
        yield f"config {kind}" + ("" if name is None else f" {quoted(name)}")
        for option, value in options.items():
            if isinstance(value, str):
                yield f"\toption {option} {quoted(value)}"
            else:
                yield from (f"\tlist {option} {quoted(entry)}" for entry in value)
    yield ""


def change(sections: list[tuple[str, str | None, dict[str, Option]]], word: str, at: str) -> None:
    """Carry out `set`, `add_list` or `delete`."""
    path, _, value = at.partition("=")
    _, name, *option = path.split(".")
    found = [section for section in sections if section[1] == name]
    if not option:
        if word == "delete":
            sections.remove(*found)
        elif not found:
            sections.append((value, name, {}))
        return
    ((_, _, options),) = found
    if word == "delete":
        del options[option[0]]
    elif word == "set":
        options[option[0]] = value
    else:
        entries = options.setdefault(option[0], [])
        assert isinstance(entries, list)
        entries.append(value)


def main(folder: Path, word: str, argument: str) -> None:
    """Carry out a command."""
    package = argument.partition(".")[0]
    committed, staged = folder / "config" / package, folder / "staged" / package
    if word == "revert":
        staged.unlink(missing_ok=True)
        return
    if word == "changes":
        print(end=f"{package} is staged\n" if staged.exists() else "")
        return
    if word == "commit":
        if staged.exists():
            staged.rename(committed)
        return
    text = (staged if staged.exists() else committed).read_text("utf-8")
    sections = read(text)
    if word == "export":
        print("\n".join(lines(package, sections)))
        return
    change(sections, word, argument)
    staged.write_text("\n".join(lines(package, sections)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
