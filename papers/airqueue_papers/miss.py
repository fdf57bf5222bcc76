"""Why claims are missed: a sentence for each, beside the claims.

A file (``misses/PAPER.toml``) has a table ``[[misses]]`` for claims that one sentence explains. The
sentences are written after the runs, and change no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from airqueue import toml_text

FOLDER: Final = "misses"
UNEXPLAINED: Final = "unexplained"


@cache
def load(paper: str) -> Mapping[str, str]:
    """Return why claims of a paper are missed, by claim; nothing for a paper without a file.

    Raises ValueError for a claim that is named twice.
    """
    file = resources.files("airqueue_papers").joinpath(FOLDER, f"{paper}.toml")
    if not file.is_file():
        return {}
    found: dict[str, str] = {}
    for entry in toml_text.parse(file.read_text("utf-8"))["misses"]:
        for claim in entry["claims"]:
            if claim in found:
                raise ValueError(f"{FOLDER}/{paper}.toml: {claim} is there twice")
            found[claim] = entry["why"]
    return found


def why(claim: str) -> str:
    """Return why a claim is missed, or that nobody knows."""
    return load(claim.partition(".")[0]).get(claim, UNEXPLAINED)
