"""The lines of docs/reproduction.md about the joint fit, from the file of what was evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from statistics import median
from typing import Final

import numpy as np

from airqueue import text
from validation import marked
from validation.joint_fit.parameters import Cell, Plan, Setting, error
from validation.joint_fit.search import DRAWN, FINAL, Evaluated

BEGIN: Final = "<!-- The next lines are written by `python -m validation.joint_fit`. -->\n"
END: Final = "<!-- End of what `python -m validation.joint_fit` writes. -->\n"
NEARLY: Final = 1.1
"""A setting with up to so many times the least error comes nearly as near."""
_SCHEMES: Final = {"fifo50": "50 packets", "tcpap": "TCP-AP", "sized": "sized buffers"}
_FIGURES: Final = {
    "goodput": "goodput, kb/s",
    "rtt": "round trip, ms",
    "delay": "delay of calls, ms",
}


def lines(plan: Plan, found: Sequence[Evaluated]) -> str:
    """Return the lines."""
    final = [each for each in found if each.stage == FINAL]
    fitted = [cell.claim for cell in plan.cells if cell.claim not in plan.held_out]
    usual = next(each for each in final if each.setting == plan.usual)
    best = min(final, key=lambda each: error(plan, each.cells, fitted))
    parts = [
        _counts(plan, found, len(fitted)),
        _outcome(plan, found, usual, best),
        _finals(plan, final, fitted),
        _agreement(plan, found, fitted),
        _parameters(plan, found, fitted, best.setting),
        _cells(plan, usual, best),
        "Left out: " + "; ".join(f"{what} ({why})" for what, why in plan.not_tried.items()) + ".",
    ]
    return f"{BEGIN}\n" + "\n\n".join(parts) + f"\n\n{END}"


def replaced(page: str, plan: Plan, found: Sequence[Evaluated]) -> str:
    """Return the text of the page with its lines written anew. Raises ValueError without a place."""
    return marked.replaced(page, BEGIN, END, lines(plan, found), "the joint fit")


def _counts(plan: Plan, found: Sequence[Evaluated], fitted: int) -> str:
    settings = len({each.setting for each in found})
    return (
        f"{len(plan.parameters)} parameters, {plan.combinations:,} combinations, of which "
        f"{settings} were simulated; {fitted} cells fitted, {len(plan.held_out)} held out. The "
        "error is the mean over cells of |ln(ours/printed)|, close to the mean relative deviation."
    )


def explained(plan: Plan, each: Evaluated) -> list[str]:
    """Return the tables that a setting explains."""
    return [
        table
        for table in plan.tables
        if all(_near(plan, each, cell) for cell in plan.cells if cell.table == table)
    ]


def _near(plan: Plan, each: Evaluated, cell: Cell) -> bool:
    return abs(each.cells[cell.claim] / cell.printed - 1) <= plan.explained


def _outcome(plan: Plan, found: Sequence[Evaluated], usual: Evaluated, best: Evaluated) -> str:
    """Return the answer: which one setting explains all tables, if any does."""
    all_of = {each.setting for each in found if len(explained(plan, each)) == len(plan.tables)}
    if all_of:
        said = f"**All tables are explained by {text.plural(len(all_of), 'setting')}.**"
    else:
        said = "**None of these settings explains all tables.**"
    most = max(len(explained(plan, each)) for each in found)
    by_table = [
        f"{_words(table)}: {len({e.setting for e in found if table in explained(plan, e)})}"
        for table in plan.tables
    ]
    return (
        f"{said} A setting explains a table if every cell is within "
        f"{100 * plan.explained:.0f} % of the print, fitted or not. Number of settings that "
        f"explain each table: {', '.join(by_table)}. No setting explains more than {most} of the "
        f"{len(plan.tables)} tables. {_fall(plan, usual, best)} The nearest setting explains "
        f"{_listed(explained(plan, best))}; the usual setting explains "
        f"{_listed(explained(plan, usual))}."
    )


def _fall(plan: Plan, usual: Evaluated, best: Evaluated) -> str:
    """Return what the fit gains, on cells that it has seen and on others."""
    fitted = [cell.claim for cell in plan.cells if cell.claim not in plan.held_out]
    seen, unseen = (
        f"from {error(plan, usual.cells, of):.3f} to {error(plan, best.cells, of):.3f}"
        for of in (fitted, plan.held_out)
    )
    return (
        "From the usual setting, that of `airqueue reproduce`, to the one nearest to the fitted "
        f"cells the error of the fitted cells goes {seen}, and the error of the held-out cells "
        f"{unseen}."
    )


def _listed(tables: Sequence[str]) -> str:
    return text.listed([_words(each) for each in tables]) if tables else "no table"


def _words(table: str) -> str:
    return f"Table {table.removeprefix('table')}"


def _finals(plan: Plan, final: Sequence[Evaluated], fitted: Collection[str]) -> str:
    """Return the settings of the longer runs with their errors."""
    rows = [
        "| setting, where it differs from the usual one "
        f"({plan.final.replications} replications of {plan.final.seconds} s) "
        "| error of fitted cells | error of held-out cells | cells within 10 % | within 25 % |",
        "|---|---:|---:|---:|---:|",
    ]
    for each in sorted(final, key=lambda each: error(plan, each.cells, fitted)):
        off = [abs(each.cells[cell.claim] / cell.printed - 1) for cell in plan.cells]
        rows.append(
            f"| {_described(plan, each.setting)} | {error(plan, each.cells, fitted):.3f} "
            f"| {error(plan, each.cells, plan.held_out):.3f} "
            f"| {sum(one <= 0.1 for one in off)} of {len(off)} "
            f"| {sum(one <= 0.25 for one in off)} of {len(off)} |"
        )
    return "\n".join(rows)


def _described(plan: Plan, setting: Setting) -> str:
    """Return how a setting differs from the usual one."""
    differing = [
        f"{of.words}: {value.words}"
        for of, value in zip(plan.parameters, plan.values(setting), strict=True)
        if value.name != of.values[0].name
    ]
    return "; ".join(differing) or "that of `airqueue reproduce`"


def _agreement(plan: Plan, found: Sequence[Evaluated], fitted: Collection[str]) -> str:
    """Return how far the held-out cells order settings as the fitted ones do."""
    drawn = [each for each in found if each.stage == DRAWN]
    seen = [error(plan, each.cells, fitted) for each in drawn]
    unseen = [error(plan, each.cells, plan.held_out) for each in drawn]
    # Spearman's: the correlation of ranks, which no two settings share.
    one, other = (np.argsort(np.argsort(errors)) for errors in (seen, unseen))
    rank = float(np.corrcoef(one, other)[0, 1])
    return (
        f"Over the {len(drawn)} drawn settings the errors of fitted and of held-out cells have a "
        f"rank correlation of {rank:.2f}, and medians of {median(seen):.2f} and {median(unseen):.2f}."
    )


def _parameters(
    plan: Plan, found: Sequence[Evaluated], fitted: Collection[str], best: Setting
) -> str:
    """Return the parameters, and which of their values the settings have that come nearly as near."""
    errors = {
        each.setting: error(plan, each.cells, fitted) for each in found if each.stage != FINAL
    }
    near = [each for each, off in errors.items() if off <= NEARLY * min(errors.values())]
    rows = [
        f"| parameter | nearest | in the {len(near)} settings whose fitted error is at most "
        f"{NEARLY:g} times the least | why it is open |",
        "|---|---|---|---|",
    ]
    for at, (of, value) in enumerate(zip(plan.parameters, plan.values(best), strict=True)):
        counts = Counter(each[at] for each in near)
        tried = ", ".join(f"{each.words}: {counts[each.name]}" for each in of.values)
        rows.append(f"| {of.words} | {value.words} | {tried} | {of.because} |")
    return "\n".join(rows)


def _cells(plan: Plan, usual: Evaluated, best: Evaluated) -> str:
    rows = [
        "| cell | printed | usual setting | nearest setting | in the search |",
        "|---|---:|---:|---:|---|",
    ]
    for cell in plan.cells:
        beside = [
            f"{each.cells[cell.claim]:.4g} ({each.cells[cell.claim] / cell.printed - 1:+.0%})"
            for each in (usual, best)
        ]
        part = "held out" if cell.claim in plan.held_out else "fitted"
        name = f"{_words(cell.table)}, {_SCHEMES[cell.scheme]}, {_FIGURES[cell.figure]}"
        rows.append(f"| {name} | {cell.printed:g} | {' | '.join(beside)} | {part} |")
    return "\n".join(rows)
