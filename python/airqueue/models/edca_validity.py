"""Limits of validity of models of EDCA classes, and the error beyond.

Markov chains of EDCA assume geometric runs of idle slots. A real run ends with the uniform backoff of
another station, so that it cannot be longer than that station's window: a class whose AIFS is longer
by ``CWmin`` slots or more never succeeds except after collisions, whereas the chain still gives the
class a share (EDCA paper, Fig. 4). The probability that another station transmits in a slot is not
constant either, but grows with the length of the run. The chains' counters move in busy slots too
(the EDCA rule); frozen counters do not, which starves the neighbours of stations with small windows.

These errors depend on every parameter. They are therefore not estimated but measured: a model's
shares are compared with a short run of the exact process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from airqueue.models.backoff import CW_MAX, CW_MIN
from airqueue.models.catalogue import Figure, Kind, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, choice, number, numbers
from airqueue.models.edca_classes import RETRIES, Classes, classes
from airqueue.models.edca_slots import RULES, slots
from airqueue.models.errors import ParameterError

TOLERANCE: Final = 0.1
"""Relative error of a share up to which a model counts as valid: the scatter of measurements."""
TRANSMISSIONS: Final = 200_000
_LEAST_SHARE: Final = 1e-12
"""Least share: a run cannot distinguish smaller shares from 0."""
_LOOKS: Final = 20_000_000
"""Most counters to visit in a run: with very many stations the run is shorter."""


@dataclass(frozen=True, slots=True)
class Validity:
    """Trust in a model's shares at one point; arrays have one element for each class."""

    share_error: FloatArray
    """(model - real) / model of the share of successes; above 0: the model gives the class too much,
    1: the class had no success in the run."""
    half_width: FloatArray
    """Half width of the 95 % confidence interval of share_error; without any success, the effect of
    3.7 successes (`airqueue.models.batch_means`)."""
    starved: NDArray[np.bool_]
    locked_out: NDArray[np.bool_]
    """As `strict_priority` has them."""
    rounded: bool
    """The run has whole numbers of stations in the place of others."""
    within: bool
    """No error is beyond the tolerance, and no class is starved."""
    tolerance: float

    @property
    def note(self) -> str:
        """One sentence on the class with the largest error; "" within validity."""
        if self.within:
            return ""
        use = "use the slot-level simulation, edca-slots"
        if self.rounded:
            use += ", with whole numbers of stations"
        if self.locked_out.any():
            return (
                f"class {np.argmax(self.locked_out)} never transmits: a class before it always ends "
                f"its backoff first (strict priority), and its share in the model is not real; {use}"
            )
        if self.starved.any():
            return (
                f"class {np.argmax(self.starved)} succeeds only after collisions of others, and "
                f"the model gives it too much; {use}"
            )
        # The largest error beyond its confidence interval, if there is one.
        sure = np.abs(self.share_error) - self.half_width
        worst = int(np.argmax(sure))
        if sure[worst] <= self.tolerance:
            open_ = int(np.argmax(np.abs(self.share_error)))
            return (
                f"the run is too short to tell whether the model's share of class {open_} holds; "
                f"{use}, with many transmissions"
            )
        error = float(self.share_error[worst])
        direction = "much" if error > 0 else "little"
        by = f"by {abs(error):.0%} of its share"
        if error < -1.0:
            by = f"it really gets {1.0 - error:.2g} times as much"
        return f"outside validity: the model gives class {worst} too {direction}, {by}; {use}"


def validity(
    model_share: Sequence[float] | FloatArray,
    stations: Numbers,
    aifs_slots: Numbers,
    cw_min: Numbers = CW_MIN,
    cw_max: Numbers = CW_MAX,
    *,
    retries: int | None = RETRIES,
    rule: str = "edca",
    tolerance: float = TOLERANCE,
    transmissions: int = TRANSMISSIONS,
    seed: int = 1,
) -> Validity:
    """Compare a model's shares of successes with a run of the exact process, at one point.

    model_share: of each class, from 0 to 1. The other parameters are those of
    `airqueue.models.edca_slots.slots`; rule is how real counters move. A number of stations that
    is not whole is rounded for the run, and the successes of one station of each class are compared.
    tolerance: relative error of a share up to which `Validity.within` is true. Takes some tens of
    milliseconds.

    Raises ParameterError, or ModelError if no station succeeds in the whole run.

    >>> validity([0.862, 0.138], [1, 1], [0, 20]).within
    False
    """
    bound = number("tolerance", tolerance, above=0)
    share = np.maximum(numbers("model_share", model_share, at_least=0, at_most=1), _LEAST_SHARE)
    given = classes(stations, aifs_slots, cw_min, cw_max, retries)
    if share.shape != given.stations.shape:
        raise ParameterError("model_share", "model_share must have one value for each class")
    starved, locked_out = strict_priority(given, choice("rule", rule, RULES))
    asked = number("transmissions", transmissions, at_least=1)
    whole = np.floor(given.stations + 0.5)
    rounded = bool(np.any(whole != given.stations))
    if rounded:
        # The shares of as many stations as the run has.
        of_run = share / given.stations * whole
        share = np.maximum(of_run * (share.sum() / of_run.sum()), _LEAST_SHARE)
    run = slots(
        whole,
        given.aifs_slots,
        given.w_min - 1.0,
        given.w_max - 1.0,
        retries=retries,
        rule=rule,
        transmissions=int(min(asked, max(_LOOKS // whole.sum(), 100.0))),
        seed=seed,
    )
    real = [run.success_share(i) for i in range(len(share))]
    mean = np.array([estimate.mean for estimate in real])
    width = np.array([estimate.half_width for estimate in real])
    error = 1.0 - mean / share
    return Validity(
        share_error=error,
        half_width=width / share,
        starved=starved,
        locked_out=locked_out,
        rounded=rounded,
        within=bool(np.all(np.abs(error) <= bound) and not np.any(starved | locked_out)),
        tolerance=bound,
    )


def strict_priority(
    given: Classes, rule: str = "edca"
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return (starved, locked out) of each class, from AIFS and windows alone.

    A backoff from 0 to CWmin after an AIFS offset D ends at D + CWmin at the latest. A
    class with D_i at or beyond that end is starved: at best it collides with the faster class, and
    it succeeds only after the faster class has collided. It is locked out, never to transmit in the
    long run, if the faster class is one station whose backoff ends before any other may start, so
    that it never collides. A frozen counter does not move in the slot of another's transmission
    either: under that rule a start in the very last slot is too late as well, unless the window has
    one value.

    >>> [flags.tolist() for flags in strict_priority(classes([1, 5], [0, 4], [3, 31], 1023))]
    [[False, True], [False, True]]
    """
    end = given.aifs_slots + given.w_min - 1.0
    first = np.argmin(end, axis=-1)[..., np.newaxis]
    later = np.arange(given.stations.shape[-1]) != first
    soonest_end = np.take_along_axis(end, first, -1)
    starved = later & (given.aifs_slots >= soonest_end)
    late = given.aifs_slots > soonest_end
    if rule == "freeze":
        late |= (given.aifs_slots == soonest_end) & (given.w_max > 1.0)
    single = np.take_along_axis(given.stations, first, -1) <= 1.0
    locked_out = later & single & np.all(late | ~later, axis=-1, keepdims=True)
    return starved, locked_out


RULE_PARAMETER = Parameter(
    "rule", "how real counters move, for share_error alone", "edca", Kind.CHOICE, RULES
)
VALIDITY_OUTPUTS = (
    Output("share_error", "(model - real)/model of success_share, by a short simulation"),
    Output("within_validity", "no share is off by more than a tenth, and no class is starved"),
    Output("note", "the error outside validity, and the model to use instead"),
)


def validity_figures(trust: Validity) -> Mapping[str, Figure]:
    """Return the figures of `VALIDITY_OUTPUTS`."""
    return {
        "share_error": trust.share_error.tolist(),
        "within_validity": trust.within,
        "note": trust.note,
    }
