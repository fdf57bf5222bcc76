"""A claim of a paper: a number, a range or a statement, its place in the paper, and its tolerance.

A claim file (``claims/PAPER.toml``) has a table ``[[claims]]`` for each. Its keys are the fields of
`Claim`; the history of the file shows every change of a tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from typing import Any, Final

from airqueue import toml_text

PAPERS: Final = ("apq", "rdqm", "mesh", "edca", "http", "beyond")
"""Papers in the order of every list; the last is the page behind the five papers."""

KINDS: Final = (
    "table", "text", "figure-in-text", "figure", "qualitative", "parameter", "erratum",
)  # fmt: skip
UNJUDGED: Final = frozenset({"parameter", "erratum"})
"""Kinds that are not results: settings, and errors of print."""
SORTS: Final = {"ratio": "ratio", "absolute": "absolute value", "statement": "statement"}
"""Sort of a claim -> its name in the singular."""
COMPARATORS: Final = ("=", "<", "<=", ">", ">=", "range")

Number = int | float
Printed = Number | str | list[Number] | list[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """One cell of a table, one stated number, or one statement."""

    id: str
    """``paper.place.what``."""
    kind: str
    """One of `KINDS`."""
    place: str
    """Place in the paper."""
    quantity: str
    printed: Printed
    """As printed; the word ``qualitative`` where ``quantity`` says all."""
    item: str = ""
    """Item of the reproduction that answers the claim, as in ``airqueue reproduce mesh.table3``."""
    unit: str = ""
    conditions: str = ""
    comparator: str = "="
    """Relation of the quantity to the printed number; ``range``: between two numbers."""
    sort: str = "statement"
    """``ratio``: ratios and normalised values, ``absolute``: other numbers; else ``statement``."""
    tolerance: float = 0.0
    """Relative to the printed number."""
    because: str = ""
    """Reason for the tolerance."""
    not_testable: str = ""
    """Why no simulation or model can answer: the hardware that the claim is about."""
    by_construction: str = ""
    """Our input that is the answer; agreement by construction does not count."""
    uncertainty: str = ""
    """The paper's own wording, such as ``about``."""
    ci95: float | None = None
    """Printed half width of a 95 % confidence interval."""
    ci95_interval: list[float] | None = None
    std: float | None = None
    """Printed standard deviation."""
    jitter_ms: float | None = None
    note: str = ""
    check: str = ""
    """Value of the paper's own formulas when computed."""
    status: str = ""

    @property
    def judged(self) -> bool:
        """Whether the claim gets a verdict: settings and errors of print do not."""
        return self.kind not in UNJUDGED

    @property
    def numbers(self) -> list[Number] | None:
        """The printed numbers, or None for a statement."""
        printed = self.printed if isinstance(self.printed, list) else [self.printed]
        numbers = [each for each in printed if isinstance(each, int | float)]
        return numbers if len(numbers) == len(printed) else None


@dataclass(frozen=True, slots=True)
class ClaimFile:
    """A paper and its claims, in the order of its claim file."""

    paper: str
    title: str
    authors: str
    claims: Mapping[str, Claim]


_KEYS: Final = {field.name for field in fields(Claim)}


@cache
def load(paper: str) -> ClaimFile:
    """Return a paper's claims. Raises ValueError that names file, claim and key of an error."""
    place = f"claims/{paper}.toml"
    table = toml_text.parse(
        resources.files("airqueue_papers").joinpath("claims", f"{paper}.toml").read_text("utf-8")
    )
    default = table.get("because", {})
    claims: dict[str, Claim] = {}
    for entry in table.get("claims", ()):
        claim = made(place, paper, entry, default)
        if claim.id in claims:
            raise ValueError(f"{place}: {claim.id} is there twice")
        claims[claim.id] = claim
    return ClaimFile(paper, table["title"], table["authors"], claims)


def made(place: str, paper: str, entry: Mapping[str, Any], default: Mapping[str, str]) -> Claim:
    """Return the claim of an entry of the file ``place``, checked.

    ``default``: the file's reasons for tolerances, by sort. Raises ValueError, as `load`.
    """
    name = f"{place}: {entry.get('id', 'a claim without id')}"
    unknown = sorted(entry.keys() - _KEYS)
    if unknown:
        raise ValueError(f"{name}: unknown key {unknown[0]}")
    claim = Claim(**entry)
    if not claim.because:
        claim = replace(claim, because=default.get(claim.sort, ""))
    if not claim.id.startswith(f"{paper}."):
        raise ValueError(f"{name}: expected an id that begins with {paper}.")
    if claim.kind not in KINDS or claim.comparator not in COMPARATORS:
        raise ValueError(
            f"{name}: kind {claim.kind}, comparator {claim.comparator}: one is unknown"
        )
    if claim.judged and not claim.item:
        raise ValueError(f"{name}: no item answers it")
    if claim.sort not in SORTS:
        raise ValueError(f"{name}: sort {claim.sort}: expected one of {', '.join(SORTS)}")
    if claim.sort == "statement" and claim.tolerance:
        raise ValueError(f"{name}: a statement has no tolerance")
    if claim.sort != "statement" and (
        claim.numbers is None or claim.tolerance < 0.0 or not claim.because
    ):
        raise ValueError(f"{name}: a number needs a tolerance, and a reason for it")
    return claim
