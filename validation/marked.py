"""Lines of a page that a program writes, between two comments that mark their place."""

from __future__ import annotations


def replaced(page: str, begin: str, end: str, lines: str, what: str) -> str:
    """Return the text of docs/reproduction.md with the lines from ``begin`` to ``end`` written anew.

    ``lines`` include both. Raises ValueError, with the words ``what``, for a page without them.
    """
    before, begins, rest = page.partition(begin)
    _, ends, after = rest.partition(end)
    if not begins or not ends:
        raise ValueError(
            f"docs/reproduction.md has no place for {what}: two comments mark it, "
            f"{begin.strip()} and {end.strip()}"
        )
    return before + lines + after
