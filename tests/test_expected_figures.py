"""The examples show what their headers promise, and a header that promises nothing fails."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.simulate import Scenario
from tests import expected
from tests.expected import Command, HeaderError

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "examples").glob("*/*.toml"))
SIMULATED = [path for path in FILES if path.parent.name == "simulate"]

HEADER = """\
# What does a queue cost?
#
#     airqueue simulate examples/simulate/call.toml
#       expect flows.call.delay_mean_s    20 ms to 40 ms     up to ten packets of 4 ms
#       expect medium.throughput_bps      1.5 Mb/s to 2 Mb/s  as one station alone
#     airqueue simulate examples/simulate/call.toml --set queue.discipline=drr \\
#         --set "queue.limit=3 packets"
#       expect flows.call.delay_mean_s    4 ms to 9 ms       its own packet, behind one of 4 ms

duration = "3 s"  # expect no header here
"""


def commands(path: Path) -> list[Command]:
    return expected.commands(path.read_text("utf-8"), path.name)


def promises() -> Iterator[Any]:
    """Yield each command with expected figures; a wrong header is another test's failure."""
    for path in FILES:
        try:
            told = [command for command in commands(path) if command.rows]
        except HeaderError:
            continue
        for number, command in enumerate(told):
            yield pytest.param(command, id=f"{path.stem}-{number}")


def scenario(command: Command) -> Scenario:
    return Scenario.from_toml(ROOT / command.file, command.changes)


def simulated(command: Command) -> Callable[[str], float | None]:
    """Return the figures of the first replication with seed 1."""
    summary = scenario(command).simulate(replications=1, workers=1).summary
    return functools.partial(expected.summarised, summary)


def sized(command: Command) -> Callable[[str], float | None]:
    """Return the figures of an advice."""
    words = [str(ROOT / word) if word == command.file else word for word in command.words[1:]]
    done = CliRunner().invoke(main, [*words, "--json", "-"])
    assert done.exit_code == 0, done.output
    return functools.partial(expected.advised, json.loads(done.stdout))


RUNS = {"simulate": simulated, "size": sized}


# ---- the examples


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_header_has_expected_figures(path):
    assert any(command.rows for command in commands(path)), expected.without_figures(path.name)


@pytest.mark.parametrize("path", SIMULATED, ids=lambda path: path.stem)
def test_every_scenario_shows_a_contrast(path):
    wrong = expected.lacks(commands(path), path.name)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_simulation_of_a_header_is_refused(path):
    """Those without expected figures, too."""
    for command in commands(path):
        if command.words[1] == "simulate":
            assert scenario(command).stations


@pytest.mark.parametrize("command", list(promises()))
def test_the_figures_are_as_the_header_says(command):
    wrong = command.misses(RUNS[command.words[1]](command))
    assert not wrong, "\n".join(wrong)


def test_figures_of_a_changed_network_are_missed():
    plain, changed, *_ = commands(ROOT / "examples" / "simulate" / "overloaded-ap.toml")
    (wrong,) = plain.misses(simulated(changed))
    row = next(row for row in plain.rows if row.key == "flows.call.delay_mean_s")
    assert wrong.startswith(f"{row.where}: {row.key} is 0.0")
    assert wrong.endswith(f", expected {row.written}")


# ---- how a header is read


def test_a_header_has_commands_with_figures_and_changes():
    plain, changed = expected.commands(HEADER, "call.toml")
    assert plain.file == "examples/simulate/call.toml"
    assert (plain.changes, [(row.low, row.high) for row in plain.rows]) == (
        {},
        [(0.02, 0.04), (1.5e6, 2e6)],
    )
    assert changed.changes == {"queue.discipline": "drr", "queue.limit": "3 packets"}
    assert [row.where for row in (*plain.rows, *changed.rows)] == [
        "call.toml:4",
        "call.toml:5",
        "call.toml:8",
    ]
    assert not expected.lacks([plain, changed], "call.toml")


@pytest.mark.parametrize(
    ("found", "misses"),
    [(0.02, 0), (0.04, 0), (0.0199, 1), (0.0401, 1), (None, 1), (float("nan"), 1)],
)
def test_a_value_outside_its_range_is_missed(found, misses):
    plain, _ = expected.commands(HEADER, "call.toml")
    assert (
        len(plain.misses({"flows.call.delay_mean_s": found, "medium.throughput_bps": 2e6}.get))
        == misses
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "flows.call.delay_mean_s 20 ms to 40 ms  why",
            "expected a figure, a range and the reason",
        ),
        ("flows.call.delay_mean_s  20 ms to 40 ms", "expected a figure, a range and the reason"),
        ("flows.call.delay_mean_s  about 20 ms  why", "expected as in `1 ms to 20 ms`"),
        ("flows.call.delay_mean_s  40 ms to 20 ms  why", "the smaller value first"),
        ("flows.call.delay_mean_s  20 to 40 ms  why", "'20'; expected a number and a unit"),
        (
            "flows.call.delay_mean_s  2 Mb/s to 4 Mb/s  why",
            "'2 Mb/s'; expected a number and a unit",
        ),
        ("flows.call.loss_ratio  0 % to 3 %  why", "'0 %'; expected a number alone"),
        ("flows.call.loss_ratio  nan to 3  why", "'nan'; expected a number alone"),
    ],
)
def test_a_wrong_line_is_named(line, message):
    text = f"# Why?\n#\n#     airqueue simulate examples/simulate/a.toml\n#       expect {line}\n"
    with pytest.raises(HeaderError, match=r"a\.toml:4: ") as raised:
        expected.commands(text, "a.toml")
    assert message in str(raised.value)


def test_figures_need_a_command_and_an_existing_name():
    with pytest.raises(HeaderError, match=r"a\.toml:1: `expect` without a command above"):
        expected.commands("# expect medium.throughput_bps  1 Mb/s to 2 Mb/s  why\n", "a.toml")
    with pytest.raises(HeaderError, match=r"flows\.cal\.delay_mean_s: the results have no 'cal'"):
        expected.summarised({"flows": {}}, "flows.cal.delay_mean_s")
    with pytest.raises(HeaderError, match=r"figures\.delay: the advice has 0 figures of that name"):
        expected.advised({"figures": []}, "figures.delay")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("expect ", "shows ", "call.toml: no line `expect ...` beneath"),
        (" --set ", " ", "call.toml: no command with `--set` has a line `expect ...`"),
        ("4 ms to 9 ms", "9 ms to 25 ms", "overlaps that of call.toml:4"),
        ("delay_mean_s    4 ms", "delay_p95_s    4 ms", "none of its figures is expected"),
    ],
)
def test_a_header_without_a_contrast_is_named(old, new, message):
    (wrong,) = expected.lacks(expected.commands(HEADER.replace(old, new), "call.toml"), "call.toml")
    assert message in wrong
