"""The examples show what their headers promise, and a header that promises nothing fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.simulate import Scenario
from tests import expected
from tests.expected import HOW, Command, HeaderError

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def commands(path: Path) -> list[Command]:
    return expected.commands(path.read_text("utf-8"), path.name)


def scenario(command: Command) -> Scenario:
    return Scenario.from_toml(ROOT / command.file, command.changes)


def simulated(command: Command) -> Callable[[str], float | None]:
    """Return the figures of a simulation: its first replication with seed 1."""
    summary = scenario(command).simulate(replications=1, workers=1).summary
    return lambda key: expected.summarised(summary, key)


def sized(command: Command) -> Callable[[str], float | None]:
    """Return the figures of an advice."""
    words = [str(ROOT / word) if word == command.file else word for word in command.words[1:]]
    done = CliRunner().invoke(main, [*words, "--json", "-"])
    assert done.exit_code == 0, done.output
    advice = json.loads(done.stdout)
    return lambda key: expected.advised(advice, key)


RUNS = {"simulate": simulated, "size": sized}
FILES = [path for kind in ("simulate", "sweep", "mesh") for path in sorted((EXAMPLES / kind).iterdir())]
PROMISES = [
    pytest.param(command, id=f"{path.stem}-{number}")
    for path in FILES
    for number, command in enumerate(commands(path))
    if command.rows
]


@pytest.mark.parametrize("command", PROMISES)
def test_the_figures_are_as_the_header_says(command):
    wrong = command.misses(RUNS[command.words[1]](command))
    assert not wrong, "\n".join(wrong)
