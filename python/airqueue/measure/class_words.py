"""How a device treats traffic classes, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from airqueue import text
from airqueue.measure.document import Changed, Classes, ClassWaits

NAMES: Final[Mapping[Literal["ef", "nqb", "cs1"], str]] = {"ef": "EF", "nqb": "NQB", "cs1": "CS1"}
ECN_FIELDS: Final = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
"""By the value of the field."""


def describe(classes: Classes) -> list[str]:
    """Return some sentences: marks, DSCPs, and what the path changes. None of what is undecided."""
    return [*_of_ecn(classes), *_of_dscp(classes["waits"]), *_of_changes(classes["changed"])]


def _of_ecn(classes: Classes) -> list[str]:
    said = []
    share, lost = classes["marked_share"], classes["lost_share"]
    if classes["ecn"] == "marks" and share is not None:
        said.append(
            f"In an overload it marked {text.percent(share)} of the ECN-capable packets and lost "
            f"{text.percent(lost.get('ect_0', 0.0))} of them, of others it lost "
            f"{text.percent(lost.get('not_ect', 0.0))}."
        )
    elif classes["ecn"] == "drops":
        said.append("ECN-capable packets are dropped, not marked.")
    if classes["l4s"] == "apart":
        said.append("ECT(1), which L4S uses, is treated apart from ECT(0).")
    return said


def _of_dscp(waits: ClassWaits) -> list[str]:
    by_kind: dict[str, list[str]] = {}
    for key, name in NAMES.items():
        by_kind.setdefault(waits[key], []).append(name)
    alike, less, more = (by_kind.get(kind, []) for kind in ("alike", "less", "more"))
    if len(alike) == len(NAMES):
        return ["The DSCP selects no queue: EF, NQB and CS1 packets wait as best effort does."]
    parts = [
        f"{text.listed(names)} packets wait {how} best effort does"
        for names, how in ((less, "less than"), (more, "longer than"), (alike, "as"))
        if names
    ]
    if not less and not more:
        return [f"{part}." for part in parts]
    return [f"The DSCP selects a queue: {text.listed(parts)}."]


def _of_changes(changed: Sequence[Changed]) -> list[str]:
    said = []
    for field, arrived in sorted({(of["field"], of["arrived"]) for of in changed}):
        values = [of["sent"] for of in changed if (of["field"], of["arrived"]) == (field, arrived)]
        if field == "ecn":
            sent = text.listed([ECN_FIELDS[value] for value in values])
            said.append(f"The path changes the ECN field {sent} to {ECN_FIELDS[arrived]}.")
        else:
            sent = text.listed([str(value) for value in values])
            said.append(f"The path changes DSCP {sent} to {arrived}.")
    return said
