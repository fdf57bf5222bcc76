"""Every command has a manual page, which `man` takes without warnings, with all of the help."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from airqueue import cli
from scripts import man_pages

PAGES = man_pages.pages()


def shown(text: str, folder: Path) -> str:
    """Return a page as `man` prints it. Fails at a warning."""
    if shutil.which("man") is None:
        pytest.skip("there is no man")
    path = folder / "page.1"
    path.write_text(text, "utf-8")
    done = subprocess.run(
        ["man", "--warnings", "--local-file", str(path)],
        env={**os.environ, "MANWIDTH": "400", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)


def test_every_command_of_the_help_has_a_page() -> None:
    listed = click.Context(cli.main, info_name="airqueue")
    for name in cli._COMMANDS:
        command = cli.main.get_command(listed, name)
        assert f"airqueue-{name}" in PAGES
        if isinstance(command, click.Group):
            inner = command.list_commands(click.Context(command, listed, name))
            assert inner
            assert {f"airqueue-{name}-{each}" for each in inner} <= PAGES.keys()


@pytest.mark.parametrize("name", PAGES)
def test_man_takes_the_page(name: str, tmp_path: Path) -> None:
    text = shown(PAGES[name], tmp_path)
    assert f"{name} - " in text
    assert "SYNOPSIS" in text


@pytest.mark.parametrize("words", [["measure"], ["size", "ap"], ["model", "bianchi"]])
def test_a_page_has_all_options_and_examples_of_the_help(words: list[str], tmp_path: Path) -> None:
    context = click.Context(cli.main, info_name="airqueue")
    for word in words:
        assert isinstance(context.command, click.Group)
        command = context.command.get_command(context, word)
        assert command is not None
        context = click.Context(command, context, word)
    text = shown(PAGES["-".join(["airqueue", *words])], tmp_path)
    help_text = context.command.get_help(context)
    options = re.findall(r"(?<![\w-])--[a-z][a-z-]+", help_text)
    examples = re.findall(r"^ +(airqueue .+)$", help_text, re.MULTILINE)
    assert options and examples
    for wanted in [*options, *examples]:
        assert wanted in text


def test_text_that_looks_like_requests_of_roff_is_shown(tmp_path: Path) -> None:
    @click.command(epilog=".SH is text\n\n'so is this\n\n\b\nC:\\new  -x\n.br")
    def command() -> None:
        """A command."""

    text = shown(man_pages.page(click.Context(command, info_name="some")), tmp_path)
    for wanted in (".SH is text", "'so is this", "C:\\new  -x", ".br"):
        assert wanted in text
