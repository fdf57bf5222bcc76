"""Scenarios that come with airqueue, to run programs in."""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path

from airqueue.emulate.errors import EmulationError
from airqueue.files import STANDARD_INPUT

_FOLDER = Path(str(resources.files("airqueue.emulate") / "presets"))


def names() -> list[str]:
    """Return the names of all presets."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def about(name: str) -> str:
    """Return the first line of a preset's comment."""
    first, _, _ = (_FOLDER / f"{name}.toml").read_text("utf-8").partition("\n")
    return first.removeprefix("# ")


def path(scenario: str) -> Path:
    """Return the file of a preset, or the file of that name.

    What ends in ``.toml`` or has a slash is a file. Raises EmulationError that lists the presets.
    """
    known = names()
    if scenario == STANDARD_INPUT:
        raise EmulationError("standard input is that of the command inside; name a scenario file")
    if scenario in known:
        return _FOLDER / f"{scenario}.toml"
    if scenario.endswith(".toml") or "/" in scenario or Path(scenario).is_file():
        return Path(scenario)
    near = difflib.get_close_matches(scenario, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"presets are {', '.join(known)}"
    raise EmulationError(f"{scenario!r} is not a preset and not a file; {hint}")
