"""Prints what building the package needs, one requirement a line, from pyproject.toml."""

import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"

with PYPROJECT.open("rb") as file:
    print(*tomllib.load(file)["build-system"]["requires"], sep="\n")
