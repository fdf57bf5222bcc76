"""What the guides show is what the commands print.

A block of a page in docs/ (or of the README) after a line ``<!-- run -->`` is run again and compared
word by word; each command is a line ``$ airqueue ...``, its output is what follows. Such commands are
fast, need no network, and print the same every time. ``python tests/test_docs.py`` writes what they
print today into the pages, to be read before it is committed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.cli.common import Results

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(?<=^<!-- run -->\n```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
WIDTH = "100"
"""Of the terminal that the pages show."""


def pages() -> list[Path]:
    """Return every page that has a block to run."""
    every = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [page for page in every if "<!-- run -->" in page.read_text("utf-8")]


def blocks() -> Iterator[tuple[str, str]]:
    """Yield (page and number, text) of every block to run."""
    for page in pages():
        for number, found in enumerate(BLOCK.finditer(page.read_text("utf-8")), start=1):
            yield f"{page.relative_to(ROOT)}:{number}", found[0]


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
            patch.setattr(Results, "_detect_color_system", lambda self: None)
            result = CliRunner().invoke(main, arguments, env={"COLUMNS": WIDTH})
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        shown.append(f"$ {command}\n{result.output.rstrip()}")
    return "".join(re.sub(r" +$", "", text, flags=re.MULTILINE) + "\n" for text in shown)


@pytest.mark.parametrize("block", [pytest.param(text, id=name) for name, text in blocks()])
def test_the_page_shows_what_the_command_prints(block, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert commands(block), "a block to run has a line '$ airqueue ...'"
    assert run(block) == block


def test_every_mark_is_followed_by_a_block():
    for page in pages():
        text = page.read_text("utf-8")
        assert text.count("<!-- run -->") == len(BLOCK.findall(text)), page


def test_the_reader_of_blocks_finds_commands_and_output(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = "<!-- run -->\n```console\n$ airqueue --version\nold\n```\n"
    found = BLOCK.findall(text)
    assert found == ["$ airqueue --version\nold\n"]
    assert run(found[0]).startswith("$ airqueue --version\nairqueue, version ")


if __name__ == "__main__":
    os.chdir(ROOT)
    for changed in pages():
        content = changed.read_text("utf-8")
        changed.write_text(BLOCK.sub(lambda found: run(found[0]), content), "utf-8")
