"""What the medium gave to a link, as traces that other emulators of links replay.

An *opportunity* is 1500 bytes of IP packets: each time at which the sum of the bytes that frames
delivered over the link passed a multiple of 1500. A trace is true only of times in which packets
waited for the link; of other times it guesses.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from airqueue import lazy, text
from airqueue.files import write_atomically

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = lazy.Module("numpy")

BYTES: Final = 1500
"""Bytes of IP packets of an opportunity."""
MOST_GUESSED: Final = 0.5
"""A trace that guesses more than this share of its time is not made."""
INTERVAL_S: Final = 0.1
"""Interval of the rates of a script."""
_LEAST_BPS: Final = 8_000.0
"""Rate in intervals without an opportunity: zero means no limit to tc, or is refused."""
WARNING: Final = (
    "A trace does not react to load: it has what the medium gave this link beside this traffic. "
    "Other traffic on the link would have had other frames, collisions and rates."
)


class TraceError(Exception):
    """No trace can be made; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Opportunities:
    """The opportunities of a link, in ns from the beginning."""

    link: str
    """As the user named it: ``ap:phone``, or ``ap`` for all that a station sends."""
    at_ns: npt.NDArray[np.int64]
    idle_ns: npt.NDArray[np.int64]
    """Times without a waiting packet: a row with beginning and end for each."""
    duration_ns: int

    @classmethod
    def of(cls, link: str, found: Mapping[str, Any]) -> Opportunities:
        """Return the opportunities that the engine has kept."""
        begin = found["from_ns"]
        ends = (np.asarray(found[f"idle_{end}_ns"], np.int64) for end in ("from", "to"))
        at = np.asarray(found["at_ns"], np.int64) - begin
        return cls(link, at, np.column_stack(list(ends)) - begin, found["until_ns"] - begin)

    @classmethod
    def from_json(cls, text: str) -> Opportunities:
        """Return the opportunities of which `to_json` has made this."""
        of = json.loads(text)
        idle = np.array(of["idle_ns"], np.int64).reshape(-1, 2)
        return cls(of["link"], np.array(of["at_ns"], np.int64), idle, of["duration_ns"])

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(
            {
                "link": self.link,
                "at_ns": self.at_ns.tolist(),
                "idle_ns": self.idle_ns.tolist(),
                "duration_ns": self.duration_ns,
            }
        )

    @property
    def guessed(self) -> float:
        """Share of the time in which no packet waited."""
        idle = int((self.idle_ns[:, 1] - self.idle_ns[:, 0]).sum())
        return idle / self.duration_ns if self.duration_ns else 1.0

    @property
    def rate_bps(self) -> float:
        """Mean rate while packets waited."""
        waited_s = self.duration_ns * 1e-9 * (1.0 - self.guessed)
        seen = len(self.at_ns) - int(self._in_idle().sum())
        return 8 * BYTES * seen / waited_s if waited_s > 0 else 0.0

    def filled(self) -> npt.NDArray[np.int64]:
        """Return the opportunities with guesses: idle times get the mean rate of the others.

        Raises TraceError where there is too little to go by.
        """
        if self.guessed > MOST_GUESSED:
            raise TraceError(
                f"no trace of {self.link} was written: for {text.percent(self.guessed)} of the time "
                "no packet waited for the link, so the capacity is unknown then; keep the link "
                "loaded, for example with iperf3 or a saturated flow"
            )
        if self.rate_bps <= 0:
            raise TraceError(
                f"no trace of {self.link} was written: while packets waited for it the link "
                f"delivered less than one opportunity, which is {BYTES} bytes; keep the link loaded, "
                "for example with iperf3 or a saturated flow"
            )
        step_ns = 8e9 * BYTES / self.rate_bps
        seen = np.bincount(self._idle_of()[self._in_idle()], minlength=len(self.idle_ns))
        owed, guesses = 0.0, [self.at_ns]
        for (begin, end), had in zip(self.idle_ns.tolist(), seen.tolist(), strict=True):
            owed += (end - begin) / step_ns - had
            count = int(max(owed, 0.0))
            owed -= count
            places = begin + (np.arange(count) + 0.5) * (end - begin) / max(count, 1)
            guesses.append(places.astype(np.int64))
        return np.sort(np.concatenate(guesses))

    def _idle_of(self) -> npt.NDArray[np.intp]:
        """Return for each opportunity the idle time that began last before it; -1 for none."""
        return np.searchsorted(self.idle_ns[:, 0], self.at_ns, side="left") - 1

    def _in_idle(self) -> npt.NDArray[np.bool_]:
        last = self._idle_of()
        if not len(self.idle_ns):
            return np.zeros(len(self.at_ns), bool)
        ends = self.idle_ns[np.maximum(last, 0), 1]
        return np.asarray((last >= 0) & (self.at_ns <= ends), bool)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a user must know of the trace."""
        guess = "Packets waited for the link all the time."
        if self.guessed >= 0.0005:
            guess = (
                f"For {text.percent(self.guessed)} of the time the trace is a guess, the mean rate: "
                "no packet waited then."
            )
        return guess, WARNING


def write(path: str | os.PathLike[str], of: Opportunities) -> None:
    """Write a trace: a script of tc if the name ends in ``.sh``, otherwise one of mahimahi.

    Raises TraceError, and OSError that names the path.
    """
    is_script = os.fspath(path).endswith(".sh")
    write_atomically(path, script(of) if is_script else mahimahi(of))


def mahimahi(of: Opportunities) -> str:
    """Return a trace for mm-link: a line with whole milliseconds for each opportunity, from zero.

    mm-link begins again after the last line, which is the trace's length.
    """
    ms = of.filled() // 1_000_000
    # The last line is the period: at least 1 ms.
    return "".join(f"{at}\n" for at in [*ms[:-1].tolist(), max(int(ms[-1]), 1)])


def rates(of: Opportunities) -> list[float]:
    """Return the rate of each interval of `INTERVAL_S`, in bit/s of IP packets."""
    width_ns = round(INTERVAL_S * 1e9)
    count = max(1, of.duration_ns // width_ns)
    seen = np.bincount(of.filled() // width_ns, minlength=count)[:count]
    return [max(_LEAST_BPS, float(n) * 8 * BYTES / INTERVAL_S) for n in seen.tolist()]


def script(of: Opportunities) -> str:
    """Return a shell script that gives a device the rates of the trace, again and again."""
    lines = "".join(f"{rate:.0f}\n" for rate in rates(of))
    comments = "".join(f"# {each}\n" for each in of.sentences)
    return _SCRIPT.format(
        # A name may have a line break, which would end the comment.
        link=shlex.quote(of.link).replace("\n", " "),
        comments=comments,
        interval=INTERVAL_S,
        rates=lines,
    )


# tbf and not netem's rate: netem computes when a packet leaves as the packet comes, so that a new
# rate does not change packets that wait (net/sched/sch_netem.c, netem_enqueue).
_SCRIPT: Final = """\
#!/bin/sh
# Rates of {link} in a simulated network, one for each {interval} s, in bit/s of IP packets.
{comments}# Use: sh FILE DEVICE [QUEUE_BYTES]     as root; Ctrl-C removes the limit.
device=${{1:?name the device, as in: sh FILE eth0}}
queue=${{2:-150000}}
trap 'tc qdisc del dev "$device" root; exit' INT TERM
verb=add
while :; do
  while read -r rate; do
    # A bucket as tc needs it for a rate with 100 timer interrupts a second, of two frames at least.
    burst=$((rate / 800)); [ "$burst" -ge 3028 ] || burst=3028
    tc qdisc $verb dev "$device" root tbf rate "$rate" burst "$burst" limit "$queue" || exit
    verb=change
    sleep {interval}
  done <<'RATES'
{rates}RATES
done
"""
