"""The search: settings drawn at random, then climbs one parameter at a time, then longer runs.

Only fitted cells choose. The order of steps, and with the seeds of ``parameters.toml`` every number,
is the same on any machine and for any number of workers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airqueue.runs import Store, execute
from airqueue.runs.backend import Backend
from validation.joint_fit import networks
from validation.joint_fit.parameters import Length, Plan, Setting, error

FILE: Final = Path(__file__).with_name("evaluated.csv")
DRAWN, CLIMB, FINAL = "drawn", "climb", "final"
_BATCH: Final = 25
"""Settings whose runs are carried out together: their figures are in memory until all have ended."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A setting with our number for each cell, by claim."""

    stage: str
    setting: Setting
    cells: dict[str, float]


class Search:
    """Evaluates settings, each once for a length of runs."""

    def __init__(self, plan: Plan, store: Store, backend: Backend, say: Say) -> None:
        """Take a plan, what keeps runs and what executes them, and what tells of progress."""
        self._plan = plan
        self._store = store
        self._backend = backend
        self._say = say
        self._cells: dict[tuple[Setting, Length], dict[str, float]] = {}
        self._fitted = [c.claim for c in plan.cells if c.claim not in plan.held_out]
        self.found: list[Evaluated] = []

    def run(self) -> list[Evaluated]:
        """Carry out the whole search and return what was evaluated, in its order."""
        plan, cells = self._plan, self._cells
        self._evaluate(DRAWN, plan.drawn(), plan.search)
        starts = sorted(plan.drawn(), key=self._error)[: plan.climbs]
        for number, start in enumerate(starts, 1):
            self._climb(f"climb {number} of {len(starts)}", start)
        every = [setting for setting, length in cells if length == plan.search]
        best = sorted(every, key=self._error)[: plan.finalists]
        self._evaluate(FINAL, [plan.usual, *(s for s in best if s != plan.usual)], plan.final)
        return self.found

    def _climb(self, words: str, at: Setting) -> None:
        """Go to the best of the neighbours until none is better."""
        step = 0
        while True:
            step += 1
            near = [*self._plan.neighbours(at)]
            self._evaluate(CLIMB, near, self._plan.search, f"{words}, step {step}")
            better = min(near, key=self._error)
            if self._error(better) >= self._error(at):
                return
            at = better

    def _error(self, setting: Setting) -> float:
        return error(self._plan, self._cells[setting, self._plan.search], self._fitted)

    def _evaluate(
        self, stage: str, settings: Sequence[Setting], length: Length, words: str = ""
    ) -> None:
        new = [setting for setting in settings if (setting, length) not in self._cells]
        for at in range(0, len(new), _BATCH):
            batch = new[at : at + _BATCH]
            self._say(f"{words or stage}: {at} of {len(new)} settings")
            for setting, cells in zip(batch, self._simulated(batch, length), strict=True):
                self._cells[setting, length] = cells
                self.found.append(Evaluated(stage, setting, cells))

    def _simulated(self, settings: Iterable[Setting], length: Length) -> Iterator[dict[str, float]]:
        runs = {setting: networks.runs(self._plan, setting, length) for setting in settings}
        works = [w for of in runs.values() for each in of.values() for w in each.works()]
        done = execute(works, self._store, self._backend)
        for setting, of in runs.items():
            outcomes = {
                name: each.outcome([done[work.key] for work in each.works()])
                for name, each in of.items()
            }
            yield networks.numbers(self._plan, setting, outcomes)


def written(plan: Plan, found: Iterable[Evaluated]) -> str:
    """Return the text of the file, with five digits of each number."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    claims = [cell.claim for cell in plan.cells]
    writer.writerow(["stage", *(of.name for of in plan.parameters), *claims])
    for each in found:
        numbers = (f"{each.cells[claim]:.5g}" for claim in claims)
        writer.writerow([each.stage, *each.setting, *numbers])
    return text.getvalue()


def read(plan: Plan, text: str) -> list[Evaluated]:
    """Return what a file has. Raises KeyError for a file of other parameters or cells."""
    return [
        Evaluated(
            row["stage"],
            tuple(row[of.name] for of in plan.parameters),
            {cell.claim: float(row[cell.claim]) for cell in plan.cells},
        )
        for row in csv.DictReader(text.splitlines())
    ]
