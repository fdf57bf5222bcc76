"""Two diagnoses of one path: by how much what is felt has changed, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

from airqueue import text
from airqueue.diagnose.felt import Span, resampled, span
from airqueue.diagnose.records import Load, Records
from airqueue.diagnose.words import load_words


@dataclass(frozen=True, slots=True)
class Change:
    """What one load added to the median round trip, before and now, and the difference."""

    load: Load
    before: Span
    now: Span
    change: Span
    """Now less before: negative if it got better."""

    @property
    def word(self) -> str:
        """better, worse or unchanged, by the interval."""
        if self.change.high < 0:
            return "better"
        return "worse" if self.change.low > 0 else "unchanged"

    @property
    def says(self) -> str:
        """The change as a sentence."""
        was, is_now = text.seconds(self.before.value), text.seconds(self.now.value)
        return (
            f"During {load_words(self.load)} round trips grow by {is_now} now, by {was} before: "
            f"{self.word}, a change of {self.change.spoken}."
        )


def changes(before: Records, now: Records) -> list[Change]:
    """Compare the loads that both have, by site and direction."""
    found = []
    for load in now.loads:
        same = next((e for e in before.loads if load_key(e) == load_key(load)), None)
        change = None if same is None else _change(before, same, now, load)
        if change is not None:
            found.append(change)
    return found


def load_key(load: Load) -> tuple[str, str, str]:
    """Return what two loads have in common that can be compared: site, direction, kind."""
    return load.site, load.direction, load.kind


def _change(before: Records, then: Load, now: Records, load: Load) -> Change | None:
    legs = before.leg(then.site), now.leg(load.site)
    if legs[0] is None or legs[1] is None:
        return None
    # Seeds of their own: the two diagnoses have nothing in common.
    first = resampled(before, [legs[0]], then, seed=1)
    second = resampled(now, [legs[1]], load, seed=2)
    if first is None or second is None:
        return None
    number = min(len(first[1]), len(second[1]))
    difference = second[1][:number, 0] - first[1][:number, 0]
    return Change(
        load,
        span(first[0][0], first[1][:, 0]),
        span(second[0][0], second[1][:, 0]),
        span(second[0][0] - first[0][0], difference),
    )
