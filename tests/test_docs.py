"""What the pages show is what the commands do.

``tests/listings.py`` says how a listing is marked. A console after ``<!-- run -->`` is compared
word by word with what its commands print; ``python -m tests.test_docs`` writes what they print today
into the pages, to be read before it is committed. Python is run, page by page. Of every other
command the arguments are read as the command itself would, wherever the command would need root or
hardware too. Shell listings are run by ``make docs-check`` (the mark ``long``).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import airqueue
from airqueue.cli import main
from airqueue.cli.common import Results
from tests import listings
from tests.listings import ROOT, Fence

BLOCK = re.compile(r"(?<=^<!-- run -->\n```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
WIDTH = "100"
"""Of the terminal that the pages show."""
COMPARED = [fence for fence in listings.all_fences() if fence.mark == "run"]
SHELL = [fence for fence in listings.all_fences() if fence.kind in ("sh", "console")]
NEEDS = re.compile(r"does not exist|No such file|is not readable")


def commands(block: str) -> list[str]:
    """Return the commands of a block, without the ``$``."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def run(block: str) -> str:
    """Run a block's commands in the root of the repository and return the block as it should be."""
    shown = []
    for command in commands(block):
        # The pages show what a terminal shows, without its colours.
        program, *arguments = shlex.split(command)
        assert program == "airqueue", f"only airqueue is run, not {program}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Results, "is_terminal", True)
            patch.setenv("NO_COLOR", "1")
            result = CliRunner().invoke(main, arguments, env={"COLUMNS": WIDTH})
        assert result.exit_code == 0, result.output
        shown.append(f"$ {command}\n{result.output.rstrip()}")
    return "".join(re.sub(r" +$", "", text, flags=re.MULTILINE) + "\n" for text in shown)


@pytest.mark.parametrize("fence", COMPARED, ids=lambda fence: fence.name)
def test_the_page_shows_what_the_command_prints(fence: Fence, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert fence.kind == "console"
    assert commands(fence.text), "a block to run has a line '$ airqueue ...'"
    assert run(fence.text) == fence.text


def test_every_fence_says_what_it_is():
    for fence in listings.all_fences():
        assert fence.kind in (*listings.LISTINGS, *listings.DATA), fence.name
        assert not fence.mark or fence.mark == "run" or fence.why_not_run or fence.file, fence.name
        assert fence.kind != "console" or fence.mark, f"{fence.name}: run, or not run and why"


def read_only(arguments: list[str]) -> str:
    """Let the command read its arguments without acting; return what is wrong with them."""
    context = click.Context(main, info_name="airqueue")
    command: click.Command = main
    while isinstance(command, click.Group):
        rest = list(arguments)
        while rest and rest[0].startswith("-"):
            return ""  # options of a group alone, such as --version
        if not rest:
            return ""
        name, *arguments = rest
        found = command.get_command(context, name)
        if found is None:
            return f"there is no command {name}"
        command, context = found, click.Context(found, parent=context, info_name=name)
    try:
        command.make_context(context.info_name, list(arguments), parent=context.parent)
    except click.exceptions.Exit:
        return ""
    except click.ClickException as error:
        return "" if NEEDS.search(error.format_message()) else error.format_message()
    return ""


@pytest.mark.parametrize("fence", SHELL, ids=lambda fence: fence.name)
def test_the_commands_of_the_page_can_be_read(fence: Fence, monkeypatch):
    monkeypatch.chdir(ROOT)
    for command in fence.commands():
        for arguments in listings.calls_of_airqueue(command):
            assert not read_only(arguments), command


def test_a_wrong_option_would_be_found(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert "--seeds" in read_only(["simulate", "x.toml", "--seeds", "1"])
    assert "no command" in read_only(["simulat", "x.toml"])
    assert not read_only(["simulate", "x.toml", "--seed", "1"])
    assert list(listings.calls_of_airqueue("airqueue a 'b c' | airqueue d - > e  # f")) == [
        ["a", "b c"],
        ["d", "-"],
    ]


def python_pages() -> Iterator[Path]:
    for page in listings.pages():
        if any(each.kind == "python" and not each.why_not_run for each in listings.fences(page)):
            yield page


@pytest.mark.parametrize("page", [*python_pages()], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_the_page_runs(page: Path, tmp_path):
    """The listings of a page run one after the other, in a folder with the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "python" / "airqueue" / "examples")
    code = [
        f"# {each.name}\n{each.text}"
        for each in listings.fences(page)
        if each.kind == "python" and not each.why_not_run
    ]
    (tmp_path / "page.py").write_text("\n".join(code), "utf-8")
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def shell_pages() -> Iterator[Path]:
    for page in listings.pages():
        if any(each.kind == "sh" and not each.why_not_run for each in listings.fences(page)):
            yield page


@pytest.mark.long
@pytest.mark.parametrize("page", [*shell_pages()], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_shell_of_the_page_runs(page: Path, tmp_path):
    """The listings of a page run one after the other, in a folder with the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "python" / "airqueue" / "examples")
    code = []
    for each in listings.fences(page):
        if each.file:
            (tmp_path / each.file).write_text(each.text, "utf-8")
        elif each.kind == "sh" and not each.why_not_run:
            code.append(f"# {each.name}\n{each.text}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", "\n".join(code)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "COLUMNS": WIDTH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_first_scenario_shows_its_lesson():
    """A long queue harms the call behind a download, and a queue for each flow does not."""
    page = ROOT / "docs" / "tutorials" / "first-scenario.md"
    (home,) = (fence.text for fence in listings.fences(page) if fence.kind == "toml")
    found = {}
    for queue in ("pfifo:1000", "fq_codel"):
        scenario = tomllib.loads(home)
        scenario["stations"][0]["queue"] = queue
        results = airqueue.simulate(scenario, replications=5)
        hear = results.flows.query("flow == 'hear'")
        score = results.calls.query("flow == 'hear'")
        found[queue] = float(hear["delay_p95_s"].mean()), float(score["mos"].mean())
    assert "1000" in home
    assert found["pfifo:1000"][0] > 0.15 and found["pfifo:1000"][1] < 4.1
    assert found["fq_codel"][0] < 0.05 and found["fq_codel"][1] > 4.3


def test_the_reader_of_blocks_finds_commands_and_output(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = "<!-- run -->\n```console\n$ airqueue --version\nold\n```\n"
    found = BLOCK.findall(text)
    assert found == ["$ airqueue --version\nold\n"]
    assert run(found[0]).startswith("$ airqueue --version\nairqueue, version ")


if __name__ == "__main__":
    os.chdir(ROOT)
    for changed in listings.pages():
        content = changed.read_text("utf-8")
        changed.write_text(BLOCK.sub(lambda found: run(found[0]), content), "utf-8")
