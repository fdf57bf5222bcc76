"""What claims rest on: mechanisms that can be switched off, and predictions that need none.

A claim whose verdict stands when its mechanism is off shows nothing about the paper. A file
(``mechanisms/PAPER.toml``) has a table ``[[mechanisms]]`` for each mechanism and the claims that
rest on it, written before any run without it; ``[[nulls]]`` has, for claims about a value and no
mechanism, what a constant or the best simpler model predicts. Every claim that can be tested and
whose answer is not an input of ours is in one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from airqueue import toml_text
from airqueue_papers.claim import Claim, Number

FOLDER: Final = "mechanisms"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """What the sentences of some claims are about."""

    paper: str
    name: str
    about: str
    """The mechanism, in a clause."""
    off: str
    """What is switched off, everything else equal."""
    claims: tuple[str, ...]

    @property
    def full_name(self) -> str:
        """As in results: ``http.delayed-acks``."""
        return f"{self.paper}.{self.name}"


@dataclass(frozen=True, slots=True)
class Null:
    """A prediction without a mechanism."""

    claims: tuple[str, ...]
    because: str
    """The constant or the simpler model."""
    prediction: tuple[Number, ...] = ()
    """In the unit of the claim; empty for a statement."""
    holds: bool | None = None
    """Of a statement: whether it holds by the prediction."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """The mechanisms and predictions of a paper."""

    mechanisms: tuple[Mechanism, ...]
    nulls: tuple[Null, ...]

    @property
    def by_claim(self) -> Mapping[str, Mechanism | Null]:
        """What each claim rests on."""
        every: tuple[Mechanism | Null, ...] = (*self.mechanisms, *self.nulls)
        return {claim: each for each in every for claim in each.claims}


def needs_grounds(claim: Claim) -> bool:
    """Return whether a claim must rest on something: testable, read, and not an input of ours."""
    return claim.judged and not (claim.not_testable or claim.by_construction or claim.unread)


@cache
def load(paper: str) -> Grounds:
    """Return what the claims of a paper rest on; nothing for a page without claims.

    Raises ValueError for a claim that is named twice.
    """
    file = resources.files("airqueue_papers").joinpath(FOLDER, f"{paper}.toml")
    if not file.is_file():
        return Grounds((), ())
    table = toml_text.parse(file.read_text("utf-8"))
    mechanisms = [Mechanism(paper, **_tuples(each)) for each in table.get("mechanisms", ())]
    nulls = [Null(**_tuples(each)) for each in table.get("nulls", ())]
    grounds = Grounds(tuple(mechanisms), tuple(nulls))
    names = [claim for of in mechanisms for claim in of.claims]
    names += [claim for of in nulls for claim in of.claims]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{FOLDER}/{paper}.toml: {min(twice)} is there twice")
    return grounds


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}
