"""Every command has a manual page, which `man` takes without warnings, with all of the help."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click
import pytest

from airqueue import cli
from scripts import man_pages

PAGES = man_pages.pages()
END = "ENDOFTHISPAGE"


def shown(texts: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return pages as `man` prints them, by name. Fails at a warning."""
    if shutil.which("man") is None:
        pytest.skip("there is no man")
    # Each start of `man` costs a tenth of a second: one call has all pages, each with a last line.
    paths = [folder / f"{name}.1" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(f"{text}.SH\n{END}\n", "utf-8")
    done = subprocess.run(
        ["man", "--warnings", "--local-file", *map(str, paths)],
        env={**os.environ, "MANWIDTH": "400", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    plain = re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)
    *bodies, _ = plain.split(END)
    return dict(zip(texts, bodies, strict=True))


def context_of(words: list[str]) -> click.Context:
    """Return the context of a command of `airqueue`."""
    context = click.Context(cli.main, info_name="airqueue")
    for word in words:
        assert isinstance(context.command, click.Group)
        command = context.command.get_command(context, word)
        assert command is not None
        context = click.Context(command, context, word)
    return context


def test_every_command_of_the_help_has_a_page() -> None:
    listed = click.Context(cli.main, info_name="airqueue")
    for name in cli._COMMANDS:
        command = cli.main.get_command(listed, name)
        assert f"airqueue-{name}" in PAGES
        if isinstance(command, click.Group):
            inner = command.list_commands(click.Context(command, listed, name))
            assert inner
            assert {f"airqueue-{name}-{each}" for each in inner} <= PAGES.keys()


def test_man_takes_every_page(tmp_path: Path) -> None:
    for name, text in shown(PAGES, tmp_path).items():
        assert re.search(rf"^ *{re.escape(name)} +- \w", text, re.MULTILINE), name
        assert "SYNOPSIS" in text, name


@pytest.mark.parametrize("words", [["measure"], ["size", "ap"], ["model", "bianchi"], ["emulate"]])
def test_a_page_has_every_word_of_the_help(words: list[str], tmp_path: Path) -> None:
    name = "-".join(["airqueue", *words])
    text = shown({name: PAGES[name]}, tmp_path)[name]
    help_text = context_of(words).get_help()
    assert re.search(r"(?<![\w-])--[a-z]", help_text)
    # Headings are in capitals there, and the usage has a heading of its own.
    wanted = {word.rstrip(":").lower() for word in help_text.split()} - {"usage"}
    assert wanted - {word.rstrip(":").lower() for word in text.split()} == set()
    for example in re.findall(r"^ +(airqueue .+)$", help_text, re.MULTILINE):
        assert example in text


def test_no_page_depends_on_what_else_is_installed() -> None:
    assert "Needs 'airqueue[papers]'" in PAGES["airqueue"].replace("\\(aq", "'")


def test_text_that_looks_like_requests_of_roff_is_shown(tmp_path: Path) -> None:
    @click.command(epilog=".SH is text\n\n'so is this\n\n\b\nC:\\new  -x `^~`\n.br")
    def command() -> None:
        """A command."""

    page = man_pages.page(click.Context(command, info_name="some"))
    text = shown({"some": page}, tmp_path)["some"]
    for wanted in (".SH is text", "'so is this", "C:\\new  -x `^~`", ".br"):
        assert wanted in text


def test_completion_is_where_shells_look_for_it(tmp_path: Path) -> None:
    man_pages.write(tmp_path)
    for shell, place in man_pages.COMPLETIONS.items():
        assert f"_AIRQUEUE_COMPLETE={shell}_complete" in (tmp_path / place).read_text("utf-8")
    assert (tmp_path / "man" / "man1" / "airqueue-model-bianchi.1").is_file()
