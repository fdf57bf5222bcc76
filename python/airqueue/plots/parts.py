"""What pictures of results share: formats, units, words, and how a figure becomes a file."""

from __future__ import annotations

import io
import textwrap
from typing import Any, Final

from matplotlib.figure import Figure

FORMATS: Final = ("svg", "pdf", "png")


def label(words: str, unit: str, characters: int) -> str:
    """Return the label of an axis."""
    return plain(f"{words} ({unit})" if unit else words, characters)


def plain(words: str, width: int) -> str:
    """Return words in lines of that many characters; a dollar sign begins no formula."""
    return textwrap.fill(words, width).replace("$", r"\$")


def saved(figure: Figure, file_format: str, title: str, description: str) -> bytes:
    """Return a figure as a file of one of `FORMATS`, the same bytes each time."""
    content = io.BytesIO()
    metadata = _metadata(file_format, title, description)
    figure.savefig(content, format=file_format, metadata=metadata)
    return content.getvalue()


def _metadata(file_format: str, title: str, description: str) -> dict[str, Any]:
    if file_format == "pdf":
        return {"Title": title, "Subject": description, "CreationDate": None}
    if file_format == "svg":
        return {"Title": title, "Description": description, "Date": None}
    return {"Title": title, "Description": description}
