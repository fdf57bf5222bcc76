"""What a command prints into a pipe, read as docs/commands.md says."""

from __future__ import annotations


def tables_of(text: str) -> list[list[list[str]]]:
    """Return the tables of an output: lines of cells, headings first."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    blocks = "\n".join(lines).split("\n\n")
    return [
        [line.split("\t") for line in block.strip("\n").split("\n")]
        for block in blocks
        if block.strip("\n")
    ]


def tables_alone(text: str) -> list[list[list[str]]]:
    """Return the tables, and see to it that the rest are comments: that every block is a table."""
    found = tables_of(text)
    for heads, *rows in found:
        assert rows, heads
        # A sentence that is no comment would be a table of one column.
        assert len(heads) > 1 and all(heads) and len(set(heads)) == len(heads), heads
        assert {len(row) for row in rows} == {len(heads)}, (heads, rows)
    return found
