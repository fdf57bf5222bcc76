"""Write docs/validation.md: `python -m validation --out docs`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from validation import ampdu, cells, dcf, edca, mesh, page, picture, radio, sleep, tcp, web
from validation.claim import Claim
from validation.linux import claims as disciplines

TRANSMISSIONS = 4_000_000
"""Transmissions of each Monte Carlo run: two standard errors of a ratio are a few tenths of 1 %."""
SECONDS = 20.0
"""Seconds of each simulated network, for each of five seeds, after a second of warm-up; half as much
with A-MPDUs."""


SUBJECTS: Mapping[str, Callable[[int], Sequence[Claim]]] = {
    "Frames and exchanges": lambda _: radio.claims(),
    "Saturated stations": dcf.claims,
    "EDCA": edca.claims,
    "TCP and the web": lambda _: web.claims(),
    "The engine": lambda _: cells.claims(SECONDS) + ampdu.claims(SECONDS / 2),
    "The engine with sleep": lambda _: sleep.claims(),
    "The engine with TCP": lambda _: tcp.claims(),
    "The engine over several hops": lambda _: mesh.claims(),
    "Queue disciplines": lambda _: disciplines.claims(),
}
"""The claims of each subject, in the order of the page, from the number of transmissions of a run."""


def generate(folder: Path, transmissions: int = TRANSMISSIONS) -> Mapping[str, Sequence[Claim]]:
    """Write the page and its figures into a folder; return the claims."""
    found = {subject: claims(transmissions) for subject, claims in SUBJECTS.items()}
    figures = folder / "validation"
    figures.mkdir(parents=True, exist_ok=True)
    for old in figures.glob("*.svg"):
        old.unlink()
    for claims in found.values():
        for claim in claims:
            if claim.figure:
                picture.draw(claim, figures / f"{claim.name}.svg")
    page.write(found, folder)
    return found


def main() -> None:
    """Read the arguments and generate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the page")
    parser.add_argument("--transmissions", type=int, default=TRANSMISSIONS, help="of each run")
    arguments = parser.parse_args()
    for subject, claims in generate(arguments.out, arguments.transmissions).items():
        for claim in claims:
            counts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(claim.counts.items()))
            said = "holds" if claim.holds else "DOES NOT HOLD"
            print(f"{said:14}{subject}: {claim.title} ({counts})")


if __name__ == "__main__":
    main()
