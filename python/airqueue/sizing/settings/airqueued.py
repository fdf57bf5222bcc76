"""The configuration of `airqueued` as a service (docs/service.md), whose loops follow the network."""

from __future__ import annotations

from collections.abc import Sequence

from airqueue.sizing.advice import Settings
from airqueue.sizing.edca import EdcaSizing
from airqueue.sizing.edca_follow import AccessRow


def edca(device: str, sized: EdcaSizing, most_packets: int, rows: Sequence[AccessRow]) -> Settings:
    """Return the loop of an access point's channel access."""
    return Settings(
        target="airqueued",
        place="access point: FILE of airqueued --config, beside the plan that --plan wrote",
        lines=(
            "[[edca]]",
            f'interface = "{device}"',
            f'packet = "{round(sized.txop.step_s * 1e6, 3):g} us"',
            f'sifs = "{round(sized.cell.phy.sifs_s * 1e6, 3):g} us"',
            f"most_packets = {most_packets}",
            *(("access = [", *(f"  {_row(row)}," for row in rows), "]") if rows else ()),
        ),
        notes=_notes(most_packets, rows),
    )


def _row(row: AccessRow) -> str:
    values = (
        ("uploads", row.uploads),
        ("downloads", row.downloads),
        ("aifsn", row.aifsn),
        ("cw_min", row.cw_min),
        ("packets", row.packets),
    )
    return "{ " + ", ".join(f"{key} = {value}" for key, value in values) + " }"


def _notes(most_packets: int, rows: Sequence[AccessRow]) -> tuple[str, ...]:
    if not rows:
        return ("The TXOP alone follows the downloads: AIFS and CWmin stay those of the plan.",)
    least, most = (of(row.download_over_upload for row in rows) for of in (min, max))
    return (
        f"A TXOP of {most_packets} packets is too short from {rows[0].downloads} downloads on: there "
        "the access point wins more often by AIFS and CWmin. By the model a download then gets "
        f"{least:.2f} to {most:.2f} times as much as an upload.",
        "More flows than the last row has are treated as the last row.",
    )
