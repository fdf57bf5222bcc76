"""Prints what building our distributions needs, one requirement a line, from their pyproject.toml."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

for folder in (ROOT, ROOT / "papers"):
    with (folder / "pyproject.toml").open("rb") as file:
        print(*tomllib.load(file)["build-system"]["requires"], sep="\n")
