"""Scenario files and commands that run an item again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from airqueue import text, toml_text
from airqueue_papers.emulation import Emulation
from airqueue_papers.item import Budget, Calculation, Simulation
from airqueue_papers.reproduction import Reproduced

DIRECTORY: Final = "scenarios"
_SHOWN_AT_ONCE: Final = 4
"""Most rows of a list that is open at first."""


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """The scenario of a run as a file."""

    run: str
    """Name of the run in the item."""
    path: str
    """Path below the site."""
    of: Simulation | Emulation

    @property
    def command(self) -> str:
        """The command that runs the file in the directory of the site; programs are the reader's."""
        if isinstance(self.of, Emulation):
            ends = dict.fromkeys(
                end for of in self.of.transfers for end in (of.sender, of.receiver)
            )
            at, *others = ends
            real = "".join(f" --real {node}" for node in others)
            return f"airqueue emulate {self.path} --exact{real} --at {at} -- PROGRAM"
        return (
            f"airqueue simulate {self.path} --seed {self.of.seed} "
            f"--replications {self.of.replications}"
        )

    @property
    def runs(self) -> int:
        """Number of replications or seeds."""
        return self.of.seeds if isinstance(self.of, Emulation) else self.of.replications

    @property
    def content(self) -> str:
        """The file: the command as a comment, and the scenario."""
        return f"# {self.command}\n\n{toml_text.render(self.of.scenario)}"


def slug(words: str) -> str:
    """Return words as a part of a file name.

    >>> slug("Table 3: 4 hops, sized")
    'table-3-4-hops-sized'
    """
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "unnamed"


def scenario_files(each: Reproduced) -> list[ScenarioFile]:
    """Return a file with a unique name for each run of a scenario."""
    files: list[ScenarioFile] = []
    taken: set[str] = set()
    for name, run in each.runs.items():
        if isinstance(run, Simulation | Emulation):
            stem = f"{each.chosen.paper}-{slug(each.chosen.item.name)}-{slug(name)}"
            free = next(tried for tried in _numbered(stem) if tried not in taken)
            taken.add(free)
            files.append(ScenarioFile(name, f"{DIRECTORY}/{free}.toml", run))
    return files


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 1
    while True:
        number += 1
        yield f"{stem}-{number}"


def again(each: Reproduced, budget: Budget) -> str:
    """Return the command that runs an item again, and its scenarios and calculations one by one."""
    item = each.chosen.item
    options = "--exact" if item.exact else f"--budget {budget.value}"
    command = f"airqueue reproduce {each.chosen.name} {options}"
    parts = [f"<h3>Run it again</h3><pre><code>{escape(command)}</code></pre>"]
    files = scenario_files(each)
    if files:
        runs = sum(file.runs for file in files)
        said = f"{text.plural(len(files), 'scenario file')}, {text.plural(runs, 'run')}"
        parts.append(_details(said, [_scenario(file) for file in files]))
    calculations = [
        _calculation(name, run) for name, run in each.runs.items() if isinstance(run, Calculation)
    ]
    if calculations:
        said = text.plural(len(calculations), "calculation")
        parts.append(_details(said, calculations, most_shown=0))
    return "".join(parts)


def _details(said: str, rows: Sequence[str], most_shown: int = _SHOWN_AT_ONCE) -> str:
    """Return rows that open on demand, or are open if they are few."""
    opened = " open" if len(rows) <= most_shown else ""
    listed = "".join(f"<li>{row}</li>" for row in rows)
    return f'<details{opened}><summary>{said}</summary><ul class="runs">{listed}</ul></details>'


def _scenario(file: ScenarioFile) -> str:
    link = f'<a href="{escape(file.path)}">{escape(file.run)}</a>'
    return f"{link}<code>{escape(file.command)}</code>"


def _calculation(name: str, run: Calculation) -> str:
    """Return the kind of the calculation and its inputs."""
    inputs = json.dumps(dict(run.work.inputs), ensure_ascii=False, sort_keys=True)
    return f"<span>{escape(name)}</span><code>{escape(run.work.kind)} {escape(inputs)}</code>"
