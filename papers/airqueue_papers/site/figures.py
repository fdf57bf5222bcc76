"""The figures of an item: files for print and for screens of any width."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from airqueue.runs import Store, Work, execute
from airqueue.runs.backend import Backend
from airqueue_papers import figure_work
from airqueue_papers.picture import PaperFigure
from airqueue_papers.reproduction import Reproduced
from airqueue_papers.site.runs import slug

DIRECTORY: Final = "figures"
_PIXELS_A_POINT: Final = 1.55
"""Scale on a wide screen: a figure's 8-point text is then as large as the page's small text."""
_NARROW: Final = "screen and (max-width: 44rem)"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture as files of the site."""

    picture: PaperFigure
    stem: str
    files: dict[str, bytes]
    """Path below the site -> content."""

    def html(self) -> str:
        """Return the figure, stacked where the screen is narrow, with links to its files."""
        title = escape(self.picture.title)
        links = " ".join(
            f'<a href="{escape(path)}">{name}</a>'
            for name, path in (("SVG", self._svg), ("PDF", self._pdf))
        )
        narrow = (
            f'<source media="{_NARROW}" srcset="{escape(self._narrow)}" '
            f"{_size(self.files[self._narrow])}>"
            if self._narrow in self.files
            else ""
        )
        return (
            f'<figure id="{escape(self.stem)}"><picture>{narrow}<img src="{escape(self._svg)}" '
            f'{_size(self.files[self._svg])} alt="{title}"></picture>'
            f'<figcaption>{title} <span class="files">{links}</span></figcaption></figure>'
        )

    @property
    def _svg(self) -> str:
        return f"{DIRECTORY}/{self.stem}.svg"

    @property
    def _pdf(self) -> str:
        return f"{DIRECTORY}/{self.stem}.pdf"

    @property
    def _narrow(self) -> str:
        return f"{DIRECTORY}/{self.stem}-narrow.svg"


def draw(
    reproduced: Sequence[Reproduced], store: Store | None = None, backend: Backend | None = None
) -> dict[str, list[Drawn]]:
    """Draw the pictures of all items, by the items' names.

    With a backend in its processes, except for pictures in the store; without a backend in this one.
    """
    wanted = [
        (each, picture, Work("figure", figure_work.inputs(picture), name=picture.name))
        for each in reproduced
        for picture in each.pictures
    ]
    works = [work for _, _, work in wanted]
    results = (
        execute(works, store, backend)
        if backend
        else {work.key: figure_work.figure(work.inputs) for work in works}
    )
    drawn: dict[str, list[Drawn]] = {each.chosen.name: [] for each in reproduced}
    for each, picture, work in wanted:
        stem = _stem(each, picture)
        drawn[each.chosen.name].append(Drawn(picture, stem, _files(stem, results[work.key])))
    return drawn


def _files(stem: str, result: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of a picture by their paths below the site."""
    files = {
        f"{DIRECTORY}/{stem}.svg": result["svg"].encode(),
        f"{DIRECTORY}/{stem}.pdf": base64.b64decode(result["pdf"]),
    }
    if "narrow" in result:
        files[f"{DIRECTORY}/{stem}-narrow.svg"] = result["narrow"].encode()
    return files


def _stem(each: Reproduced, picture: PaperFigure) -> str:
    """Return the name of a picture's files: its own, which begins with the paper's."""
    own, paper = slug(picture.name), each.chosen.paper
    return own if own.startswith(f"{paper}-") else f"{paper}-{slug(each.chosen.item.name)}-{own}"


def _size(svg: bytes) -> str:
    """Return the attributes that reserve room for a picture until it is loaded."""
    found = re.search(rb'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', svg)
    if found is None:
        raise ValueError("expected a picture of matplotlib, with a viewBox")
    width, height = (round(float(points) * _PIXELS_A_POINT) for points in found.groups())
    return f'width="{width}" height="{height}"'
