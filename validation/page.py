"""docs/validation.md from the claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from validation.claim import Claim, Point, Verdict

HEAD = """# Where each model holds

`make validation` computes this page. {counts}

A claim is a model, a range and a tolerance, compared with an independent reference: a Monte Carlo of
the same random process, slot by slot, or another simulator. A setting **agrees** when |model -
reference| is at most the tolerance, and two standard errors are at most the tolerance too. A setting
**differs** when |model - reference| is more than the tolerance and two standard errors together. All
other settings are **too noisy to tell**: their random errors are as large as what would be to find,
and they count for nothing. A claim holds where settings agree and none differs. Settings outside the
range are shown too (grey in the figures, in brackets in the tables): a wider claim would fail there.
A range states where the model was found to hold, without proof.

The simulator is on this page too: its three behaviours are compared with ns-2, with ns-3 and with
kernels that have neither frames nor stations. The two standard errors are then those of the
difference. Queue disciplines are compared with those of a real kernel
([method](linux-disciplines.md)).

Models that are not on this page (of meshes, mixed rates, buffers, voice) have no independent
simulator to compare with: tests compare them with worked numbers, exact evaluations and laws.
`airqueue model NAME --help` states the range of each model.

"""


def write(subjects: Mapping[str, Sequence[Claim]], folder: Path) -> None:
    """Write ``validation.md`` into the folder; the figures are beside it in ``validation/``."""
    text = HEAD.format(counts=_counted(subjects)) + _summary(subjects)
    for subject, claims in subjects.items():
        text += f"## {subject}\n\n" + "".join(section(claim) for claim in claims)
    (folder / "validation.md").write_text(text.rstrip() + "\n", encoding="utf-8")


def _counted(subjects: Mapping[str, Sequence[Claim]]) -> str:
    """Return the counts of settings and claims, in sentences."""
    claims = [claim for of_subject in subjects.values() for claim in of_subject]
    counts = sum((claim.counts for claim in claims), Counter[Verdict]())
    agree, differ, noisy = (counts[verdict] for verdict in Verdict)
    return (
        f"Of {agree + differ} settings that can be told {agree} agree with their reference and "
        f"{differ} differ. Apart from these, {noisy} settings are too noisy to tell. "
        f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold."
    )


def _summary(subjects: Mapping[str, Sequence[Claim]]) -> str:
    lines = [
        "| claim | tolerance | largest difference | agree | differ | too noisy | holds |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for claims in subjects.values():
        for claim in claims:
            counts = " | ".join(str(claim.counts[verdict] or "") for verdict in Verdict)
            lines.append(
                f"| [{claim.title}](#{_anchor(claim.title)}) | {_percent(claim.tolerance)} "
                f"| {_largest(claim)} | {counts} | {_holds(claim)} |"
            )
    return "\n".join(lines) + "\n\n"


def _largest(claim: Claim) -> str:
    """Return the largest difference that can be told, in the unit of the quantity if the tolerance
    has one.
    """
    told = [point for point in claim.covered if claim.judge(point) is not Verdict.TOO_NOISY]
    if not told:
        return "-"
    if claim.absolute:
        return f"{max((p.model - p.reference for p in told), key=abs):+.2g}"
    return f"{max((point.difference for point in told), key=abs):+.2%}"


def section(claim: Claim) -> str:
    """Return what the page says of a claim."""
    text = f"### {claim.title}\n\n{claim.statement}\n\n"
    least = f", or {claim.absolute:g} where that is more" if claim.absolute else ""
    text += f"Reference: {claim.reference}. Tolerance: {_percent(claim.tolerance)}{least}. "
    text += f"**{_agreeing(claim)}**\n\n"
    if claim.figure:
        text += f"![{claim.quantity}: model and reference](validation/{claim.name}.svg)\n\n"
    text += f"| {claim.axis} | model | reference | ± 2 s.e. | difference | |\n"
    text += "|---|---|---|---|---|---|\n"
    return text + "".join(_row(point, claim) for point in claim.points) + "\n"


def _agreeing(claim: Claim) -> str:
    counts = claim.counts
    noisy = counts[Verdict.TOO_NOISY]
    told = len(claim.covered) - noisy
    said = [f"{counts[Verdict.AGREES]} of {told} settings agree."] * bool(told)
    said += [f"{noisy} {'are' if noisy > 1 else 'is'} too noisy to tell."] * bool(noisy)
    return " ".join(said)


def _row(point: Point, claim: Claim) -> str:
    difference = f"{point.difference:+.2%}" if math.isfinite(point.difference) else "-"
    if point.inside:
        verdict = claim.judge(point)
        mark = f"**{verdict}**" if verdict is Verdict.DIFFERS else verdict.value
    else:
        difference, mark = f"({difference})", "outside"
    error = f"{2 * point.standard_error:.2g}" if point.standard_error else "-"
    return (
        f"| {point.setting} | {point.model:.4g} | {point.reference:.4g} | {error} "
        f"| {difference} | {mark} |\n"
    )


def _holds(claim: Claim) -> str:
    if claim.counts[Verdict.DIFFERS]:
        return "**no**"
    return "yes" if claim.holds else "cannot be told"


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _percent(part: float) -> str:
    return f"{100 * part:g} %"
