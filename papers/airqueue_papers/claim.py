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

PAPERS: Final = ("apq", "rdqm", "mesh", "edca", "http", "anomaly", "beyond")
"""Papers in the order of every list; the last is the page behind the papers."""

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
    """Share of the printed number, or with ``against`` of the effect where that is the smaller."""
    against: str | Number = ""
    """What the number is compared with, a claim of the same paper or a number such as 100 for a
    percentage of all: the effect is the distance between the two."""
    effects: tuple[float, ...] = ()
    """Computed from ``against``, for each printed number."""
    reading: float = 0.0
    """Error with which the print can be read: half the last digit, or of a drawn curve."""
    because: str = ""
    """Reason for the tolerance."""
    not_testable: str = ""
    """Why no simulation or model can answer: the hardware that the claim is about."""
    by_construction: str = ""
    """Our input that is the answer; agreement by construction does not count."""
    unread: str = ""
    """Where the number is from if its place in the paper could not be read: ``as remembered``. It is
    compared with ours, and does not count."""
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

    @property
    def margins(self) -> list[float]:
        """The tolerance of each printed number, in its unit."""
        sizes = [abs(float(each)) for each in self.numbers or []]
        if self.effects:
            sizes = [min(pair) for pair in zip(sizes, self.effects, strict=True)]
        return [self.tolerance * size for size in sizes]

    @property
    def print_error(self) -> float:
        """The print's own error: of reading, the half width of an interval, or the spread of runs."""
        low, high = self.ci95_interval or (0.0, 0.0)
        return max(self.reading, self.ci95 or 0.0, (high - low) / 2, self.std or 0.0)


@dataclass(frozen=True, slots=True)
class ClaimFile:
    """A paper and its claims, in the order of its claim file."""

    paper: str
    title: str
    authors: str
    claims: Mapping[str, Claim]


_KEYS: Final = {field.name for field in fields(Claim)} - {"effects"}


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
    compared = {name: _compared(place, each, claims) for name, each in claims.items()}
    return ClaimFile(paper, table["title"], table["authors"], compared)


def _compared(place: str, claim: Claim, claims: Mapping[str, Claim]) -> Claim:
    """Return the claim with the effects that it is about. Raises ValueError, as `load`."""
    if claim.against == "":
        return claim
    base: Number | None = None
    if not isinstance(claim.against, str):
        base = claim.against
    elif claim.against in claims:
        base = next(iter(claims[claim.against].numbers or ()), None)
    if base is None or claim.numbers is None:
        raise ValueError(f"{place}: {claim.id}: against {claim.against}: this has no number")
    return replace(claim, effects=tuple(abs(float(each) - base) for each in claim.numbers))


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
