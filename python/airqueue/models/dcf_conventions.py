"""Three fixed points of DCF side by side, which differ in how they count the slots of a backoff.

Bianchi counts the slot of the transmission in the backoff, Tay and Chua half of it, the HTTP model of
Miorandi, Kherani and Altman nothing; see `airqueue.models.kumar`. The spread is the
model error to expect from this choice alone.
"""

from __future__ import annotations

from airqueue.models.backoff import CW_MAX, CW_MIN, EXTRA_SLOTS
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.kumar import kumar


def _evaluate(n: float, cw_min: float, cw_max: float, retries: int | None) -> dict[str, float]:
    solved = {
        convention: float(
            kumar(n, cw_min, cw_max, retries, convention=convention).collision_probability
        )
        for convention in EXTRA_SLOTS
    }
    spread = solved["http"] - solved["bianchi"]
    return {
        **{f"{convention.replace('-', '_')}_p": p for convention, p in solved.items()},
        "relative_spread": spread / solved["tay-chua"] if spread else 0.0,
    }


MODEL = Model(
    name="dcf-conventions",
    summary="Collision probability by the slot counts of Bianchi, Tay and Chua, and the HTTP model.",
    parameters=(
        Parameter("n", "saturated stations, may be fractional"),
        Parameter("cw_min", "CWmin, the largest value of the first backoff, at least 2", CW_MIN),
        Parameter("cw_max", "CWmax, the largest value of any backoff", CW_MAX),
        Parameter("retries", "retransmissions before giving up; none: never", None, Kind.WHOLE),
    ),
    outputs=(
        Output("bianchi_p", "an attempt collides; a backoff is (w+1)/2 slots"),
        Output("tay_chua_p", "an attempt collides; a backoff is w/2 slots"),
        Output("http_p", "an attempt collides; a backoff is (w-1)/2 slots"),
        Output("relative_spread", "(http - bianchi) / tay-chua"),
    ),
    evaluate=_evaluate,
    example="n=2..50",
    valid=(
        "As the models compared: saturated stations that all hear each other. A slot-by-slot "
        "simulation lies between tay-chua and http for two stations from cw_min 15 on; with smaller "
        "windows all three are too high if counters freeze."
    ),
)
