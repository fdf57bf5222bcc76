"""Captures of what real nodes send and receive: which are asked for, and what became of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airqueue.emulate.errors import EmulationError
from airqueue.emulate.plan import Plan
from airqueue.files import check_writable


@dataclass(frozen=True, slots=True)
class Capture:
    """A file with what a node has sent and received."""

    node: str
    file: str
    packets: int
    """Packets that the node has sent and received."""
    problem: str | None
    """Why the file ends early; None if it does not."""

    @property
    def sentence(self) -> str:
        """What became of the capture."""
        if self.problem is None:
            return f"{self.file} has {self.packets} packets of {self.node}."
        return f"{self.file} ends early: it could not be written ({self.problem})."


def check(pcap: Mapping[str, str | os.PathLike[str]], plan: Plan) -> None:
    """Raise EmulationError or OSError with one sentence for what cannot be captured or written."""
    files: dict[str, str] = {}
    for node, file in pcap.items():
        if plan.node(node) is None:
            known = ", ".join(each.name for each in plan.nodes)
            raise EmulationError(
                f"{node!r} cannot be captured: it is not a real node; real nodes are {known}"
            )
        check_writable(file)
        other = files.setdefault(os.path.realpath(file), node)
        if other != node:
            raise EmulationError(
                f"{Path(file)} cannot have the captures of both {other} and {node}: name two files"
            )
