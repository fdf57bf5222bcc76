"""What became of an emulation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import airqueue
from airqueue.emulate.captures import Capture
from airqueue.emulate.plan import Node, Router
from airqueue.emulate.verdict import Verdict, judge

if TYPE_CHECKING:
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
    without_back_pressure: Mapping[str, str]
    """Stations whose programs do not feel that the station's queue is full, and why not."""
    exact: bool = False
    """Whether the clock was a virtual one."""
    routers: tuple[Router, ...] = ()
    """Routers between the real nodes that are not real."""
    captures: tuple[Capture, ...] = ()
    changes: tuple[Mapping[str, Any], ...] = ()
    """What `EmulatedNetwork.change` has changed: ``at_s`` since real time began, and ``change``."""
    device: str | None = None
    """Kind of the nodes' devices: ``tun`` or ``veth``."""
    outside: Mapping[str, Any] | None = None
    """The way to networks outside, if there is one."""
    programs: tuple[Mapping[str, Any], ...] = ()
    """What ran: ``node``, ``command``, and ``exit_code``, None of what never ended."""
    congestion_control: Mapping[str, str] = field(default_factory=dict)
    """By node: the congestion control of TCP sockets whose programs choose none."""
    series: Mapping[str, Any] | None = None
    """Figures over time, as `airqueue.emulate.series.Series.document` has them."""
    offload: bool = False
    """Whether the nodes' devices have segmentation offload."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> EmulationResults:
        """Return the results of which `document` has made this."""
        return cls(
            document["scenario"],
            document["seed"],
            tuple(Node(**node) for node in document["nodes"]),
            document["emulated"],
            document["figures"],
            document["device_drops"],
            document["without_back_pressure"],
            document["exact"],
            tuple(Router(**router) for router in document["routers"]),
            tuple(Capture(**capture) for capture in document["captures"]),
            tuple(document["changes"]),
            document["device"],
            document["outside"],
            tuple(document["programs"]),
            document["congestion_control"],
            document["series"],
            document["offload"],
        )

    @property
    def verdict(self) -> Verdict:
        """Whether the delays can be trusted."""
        return judge(self.emulated, self.device_drops)

    def rate_bps(self, pair: str) -> float | None:
        """Return the rate at which a pair such as ``"phone->server"`` got IP packets."""
        duration_s = self.emulated["duration_s"]
        delivered = self.emulated["pairs"][pair]["delivered_bytes"]
        return 8 * delivered / duration_s if duration_s else None

    def document(self) -> dict[str, Any]:
        """Return everything as one JSON object."""
        verdict = self.verdict
        return {
            "airqueue": airqueue.__version__,
            "scenario": self.scenario,
            "seed": self.seed,
            "exact": self.exact,
            "device": self.device,
            "offload": self.offload,
            "outside": self.outside,
            "trusted": verdict.trusted,
            "trusted_within_s": verdict.within_s,
            "verdict": verdict.sentence,
            "nodes": [asdict(node) for node in self.nodes],
            "routers": [asdict(router) for router in self.routers],
            "emulated": self.emulated,
            "device_drops": self.device_drops,
            "without_back_pressure": self.without_back_pressure,
            "captures": [asdict(capture) for capture in self.captures],
            "changes": list(self.changes),
            "programs": list(self.programs),
            "congestion_control": dict(self.congestion_control),
            "series": self.series,
            "figures": self.figures,
        }

    def to_text(self, **more: object) -> str:
        """Return the document with ``more`` keys as text."""
        return json.dumps({**self.document(), **more}, indent=2, ensure_ascii=False) + "\n"
