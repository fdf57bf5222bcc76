"""Queue disciplines of the kernel: their names and parameters in tc."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Final, Literal

Unit = Literal["packets", "bytes"]

_LIMITED_IN: Final[dict[str, Unit]] = {
    "cake": "bytes",
    "choke": "packets",
    "codel": "packets",
    "drr": "packets",
    "fq": "packets",
    "fq_codel": "packets",
    "fq_pie": "packets",
    "hhf": "packets",
    "pie": "packets",
    "prio": "packets",
    "red": "bytes",
    "sfb": "packets",
    "sfq": "packets",
    "skbprio": "packets",
}
"""Disciplines that tc builds with one command, and drr, and the unit of their limits."""

NAMES: Final = tuple(sorted(_LIMITED_IN))
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,%+/-]*", re.ASCII)
_RED: Final = "avpkt bandwidth burst limit max min probability"
_PIE: Final = "alpha beta limit target tupdate"
_VALUED: Final[dict[str, str]] = {
    "cake": "bandwidth fwmark memlimit mpu overhead rtt",
    "choke": _RED,
    "codel": "ce_threshold interval limit target",
    "drr": "quantum",
    "fq": "bands buckets ce_threshold flow_limit horizon initial_quantum limit low_rate_threshold "
    "maxrate offload_horizon orphan_mask priomap quantum refill_delay timer_slack weights",
    "fq_codel": "ce_threshold ce_threshold_selector drop_batch flows interval limit memory_limit "
    "quantum target",
    "fq_pie": f"{_PIE} ecn_prob flows memory_limit quantum",
    "hhf": "admit_bytes evict_timeout hh_limit limit non_hh_weight quantum reset_timeout",
    "pie": _PIE,
    "prio": "bands priomap",
    "red": _RED,
    "sfb": "db decrement increment limit max penalty_burst penalty_rate rehash target",
    "sfq": "avpkt burst depth divisor flows limit max min perturb probability quantum redflowlimit",
    "skbprio": "limit",
}
"""Parameters with a value, or several, by tc's own names (``tc qdisc add dev lo root KIND help``).
Without RED's qevent, for which the bed has no block of filters."""
_PIE_WORDS: Final = "bytemode dq_rate_estimator ecn no_dq_rate_estimator nobytemode noecn"
_ALONE: Final[dict[str, str]] = {
    "cake": "ack-filter ack-filter-aggressive atm autorate-ingress besteffort bridged-llcsnap "
    "bridged-ptm bridged-vcmux conservative datacentre diffserv3 diffserv4 diffserv8 docsis "
    "dsthost dual-dsthost dual-srchost egress ether-vlan ethernet flowblind flows hosts ingress "
    "internet interplanetary ipoa-llcsnap ipoa-vcmux lan metro nat no-ack-filter no-split-gso "
    "noatm nonat nowash oceanic pppoa-llc pppoa-vcmux pppoe-llcsnap pppoe-ptm pppoe-vcmux "
    "precedence ptm raw regional satellite split-gso srchost triple-isolate unlimited "
    "via-ethernet wash",
    "choke": "ecn",
    "codel": "ecn noecn",
    "fq": "horizon_cap horizon_drop nopacing pacing",
    "fq_codel": "ecn noecn",
    "fq_pie": _PIE_WORDS,
    "pie": _PIE_WORDS,
    "prio": "multiqueue",
    "red": "adaptive ecn harddrop nodrop",
    "sfq": "ecn harddrop headdrop",
}
"""Parameters that are words alone."""
_SEVERAL: Final = ("priomap", "weights")
"""Parameters with several values, all numbers."""
_WITH_NUMBERS: Final = frozenset(
    {
        *("ce_threshold", "depth", "drop_batch", "flows", "interval", "limit", "max"),
        *("memory_limit", "min", "perturb", "quantum", "rtt", "target", "tupdate"),
    }
)
"""Parameters whose values begin with a digit, whatever the discipline."""
_MOST_WORDS = 40
_LONGEST_WORD = 40


def parameters(kind: str) -> list[str]:
    """Return the names of a discipline's parameters."""
    return [*_VALUED[kind].split(), *_ALONE.get(kind, "").split()]


class DisciplineError(ValueError):
    """Words that describe no discipline; the message is a sentence without its full stop."""


@dataclass(frozen=True, slots=True)
class Discipline:
    """A discipline other than a FIFO. ``parameters`` are tc's own words, which tc checks.

    That there are such parameters, and that numbers are numbers, is checked here too: the bed's
    commands can be shown where there is no tc.
    """

    kind: str
    parameters: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Discipline:
        """Return the discipline that words like those of tc describe.

        >>> Discipline.parse("codel target 50ms")
        Discipline(kind='codel', parameters=('target', '50ms'))
        """
        kind, *parameters = text.split() or [""]
        return cls(kind, tuple(parameters))

    def __post_init__(self) -> None:
        if self.kind not in _LIMITED_IN:
            raise DisciplineError(
                f"the test bed has no discipline {self.kind!r}; there are {', '.join(NAMES)}, and "
                "FIFOs: pfifo:100 (packets) and bfifo:150kB"
            )
        if len(self.parameters) > _MOST_WORDS:
            raise DisciplineError(f"{self.kind} has more than {_MOST_WORDS} words of parameters")
        for word in self.parameters:
            if len(word) > _LONGEST_WORD or not _PLAIN.fullmatch(word):
                raise DisciplineError(
                    f"{word[:_LONGEST_WORD]!r} is no word of tc's parameters for {self.kind}; "
                    "write for example 'codel target 50ms limit 1000'"
                )
        self._check_parameters()

    def _check_parameters(self) -> None:
        valued, known = _VALUED[self.kind].split(), parameters(self.kind)
        words = list(reversed(self.parameters))
        while words:
            name = words.pop()
            if name not in known:
                raise DisciplineError(self._unknown(name, known))
            if name not in valued:
                continue
            if not words:
                raise DisciplineError(f"{self.kind} has {name} without a value")
            value = words.pop()
            if name in _WITH_NUMBERS and not value[0].isdigit():
                raise DisciplineError(
                    f"{self.kind} has {name} {value}; expected a number, as in "
                    "'codel target 50ms limit 1000'"
                )
            while name in _SEVERAL and words and words[-1].isdigit():
                words.pop()

    def _unknown(self, name: str, known: list[str]) -> str:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known))}"
        return f"{self.kind} has no parameter {name!r}; {hint}"

    @property
    def counted_in(self) -> Unit:
        """The unit of the discipline's limit."""
        return _LIMITED_IN[self.kind]

    @property
    def words(self) -> tuple[str, ...]:
        """What tc is given."""
        return (self.kind, *self.parameters)

    def __str__(self) -> str:
        return " ".join(self.words)
