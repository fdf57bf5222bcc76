"""Listings of the pages: where they are, what they are, and which are not run.

A fence in a page is a listing (``console``, ``sh``, ``python``), data (``toml``, ``json``,
``yaml``), or ``text``. A comment in the line before a listing says how it is checked:

- ``<!-- run -->``: a console whose output is compared, word by word;
- ``<!-- not run: REASON -->``: a listing that needs root, another machine or hardware;
- ``<!-- file: NAME -->``: data that later listings of the page read from this file;
- none: the listing is run, and fails with its first failing command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FENCE = re.compile(
    r"^(?P<indent> *)(?:<!-- (?P<mark>[^\n]*?) -->\n *)?```(?P<kind>[^\n]*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
LISTINGS = ("console", "sh", "python")
DATA = ("toml", "json", "yaml", "text", "{eval-rst}")


@dataclass(frozen=True)
class Fence:
    """A fence of a page."""

    page: Path
    line: int
    kind: str
    mark: str
    text: str

    @property
    def name(self) -> str:
        """Return where the fence is, for the names of tests."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def why_not_run(self) -> str:
        """Return the reason why a listing is not run; empty if the listing is run."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else ""

    @property
    def file(self) -> str:
        """Return the name of the file that the fence is; empty if it is none."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else ""

    def commands(self) -> list[str]:
        """Return the commands of a shell listing, each with its continuation lines."""
        text = re.sub(r"\\\n\s*", " ", self.text)
        lines = text.splitlines()
        if self.kind == "console":
            return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip() and not line.startswith("#")]


def pages() -> list[Path]:
    """Return all pages for users."""
    names = ("README.md", "CONTRIBUTING.md", "papers/README.md")
    return [*(ROOT / name for name in names), *sorted(ROOT.glob("docs/**/*.md"))]


def fences(page: Path) -> Iterator[Fence]:
    """Yield the fences of a page."""
    text = page.read_text("utf-8")
    for found in FENCE.finditer(text):
        line = text[: found.start()].count("\n") + 1
        yield Fence(page, line, found["kind"].strip(), found["mark"] or "", found["text"])


def all_fences() -> list[Fence]:
    """Return the fences of all pages."""
    return [fence for page in pages() for fence in fences(page)]


def calls_of_airqueue(command: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of ``airqueue`` in a line of shell."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|;&<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    for word in [*lexer, ";"]:
        if re.fullmatch(r"[|;&<>()]+", word):
            if words[:1] == ["airqueue"]:
                yield words[1:]
            words = []
        else:
            words.append(word)
