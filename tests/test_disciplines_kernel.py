"""Names of the kernel's own disciplines, in user-mode Linux: real sockets, no noise."""

from __future__ import annotations

import pytest

from airqueue.linux import uml_measure
from airqueue.linux.config import HostApConfig, parse_queue
from airqueue.measure.disciplines import codel
from airqueue.measure.disciplines.observed import Step
from airqueue.measure.disciplines.steps import STEP
from airqueue.measure.session import Session

pytestmark = pytest.mark.usefixtures("user_mode_linux")


def measured(queue: str) -> uml_measure.Measured:
    return uml_measure.measure(HostApConfig(parse_queue(queue), 8_000_000), seed=5)


@pytest.mark.long
def test_codel_with_the_arithmetic_of_linux():
    """Its second gap is half of the first, where the square root would have it 1.41 times shorter."""
    found = measured("codel target 20ms interval 120ms noecn")
    discipline = found.document["discipline"]
    assert found.document["capacity"] is None
    assert discipline["name"] == "codel"
    low, high = discipline["parameters"]["target_s"]["ci95"]
    assert low <= 0.02 <= high
    steps = [Step.of(Session(run)) for run in found.runs if run.meta["kind"] == STEP]
    law = codel.fit([step for step in steps if step is not None], None)
    assert law is not None
    assert law.law.begin == "linux"
    assert law.interval_s[0] == pytest.approx(0.12, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("queue", "name", "parameter", "truth"),
    [
        ("pie target 40ms", "pie", "target_s", 0.04),
        ("fq_codel noecn", "fq_codel", "interval_s", 0.1),
    ],
)
def test_other_disciplines_of_the_kernel(queue, name, parameter, truth):
    found = measured(queue).document
    assert found["capacity"] is None
    assert found["discipline"]["name"] == name
    low, high = found["discipline"]["parameters"][parameter]["ci95"]
    assert low <= truth <= high
