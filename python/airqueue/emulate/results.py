"""What became of an emulation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import airqueue
from airqueue.emulate.plan import Node
from airqueue.emulate.verdict import Verdict, judge
from airqueue.records import EmulationDict


@dataclass(frozen=True, slots=True)
class EmulationResults:
    """Figures of an emulation so far; docs/emulate.md says what they mean."""

    scenario: str
    """The preset, or the file."""
    seed: int
    nodes: tuple[Node, ...]
    emulated: EmulationDict
    """What the emulator says of itself, and of the packets between each pair of nodes."""
    figures: Mapping[str, Any]
    """What `airqueue simulate` says of one replication; the real programs' packets are in those of
    queues, stations and the medium."""
    device_drops: Mapping[str, int]
    """By node: packets that the kernel dropped before the emulator could read them."""

    @property
    def verdict(self) -> Verdict:
        """Whether the delays can be trusted."""
        return judge(self.emulated, self.device_drops)

    def document(self) -> dict[str, Any]:
        """Return everything as one JSON object."""
        verdict = self.verdict
        return {
            "airqueue": airqueue.__version__,
            "scenario": self.scenario,
            "seed": self.seed,
            "trusted": verdict.trusted,
            "trusted_within_s": verdict.within_s,
            "verdict": verdict.sentence,
            "nodes": [
                {
                    "name": node.name,
                    "wired": node.wired,
                    "address": node.address,
                    "address6": node.address6,
                }
                for node in self.nodes
            ],
            "emulated": self.emulated,
            "device_drops": self.device_drops,
            "figures": self.figures,
        }

    def to_text(self, **more: object) -> str:
        """Return the document with ``more`` keys as text."""
        return json.dumps({**self.document(), **more}, indent=2, ensure_ascii=False) + "\n"
