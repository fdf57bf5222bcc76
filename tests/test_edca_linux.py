"""The bench of EDCA's settings with real Linux TCP: valid networks, and the loop of the service."""

from __future__ import annotations

from itertools import pairwise

import pytest

from airqueue.simulate import Scenario
from airqueue.sizing.edca import size_edca
from benches import edca_linux


@pytest.mark.parametrize("settings", edca_linux.SETTINGS)
def test_networks_of_all_runs_are_valid(settings: str) -> None:
    tasks = [each for each in edca_linux.tasks(1, ["cubic"], 100) if each["settings"] == settings]
    assert len(tasks) == 1 + len(edca_linux.CASES)
    for task in tasks:
        Scenario(task["scenario"])


def test_a_txop_is_that_of_the_loop() -> None:
    # The loop's own test has these numbers for packets of 1270 us (airqueue-control, steer/txop.rs).
    sized = size_edca(1, 6, packet_bytes=1500)
    step_us = round(sized.txop.step_s * 1e6)
    for downloads in range(2, 31):
        txop_us = edca_linux.txop_us(downloads, sized)
        assert txop_us % 32 == 0
        assert 0 <= txop_us - (downloads * step_us - 10) < 32
    assert [edca_linux.txop_us(downloads, sized) for downloads in (0, 1)] == [0, 0]


def test_the_loop_follows_at_its_pace() -> None:
    transfer = edca_linux.Transfer
    transfers = [
        transfer("down1", False, 0.2, 5.0),
        transfer("down2", False, 2.6, 60.0),
        transfer("down3", False, 4.4, 12.4),
        transfer("up1", True, 1.0, 60.0),
    ]
    # At 3 s the second download had less than half of the second, so that two count at 4 s. Then the
    # next change may come at 14 s, when there is one again.
    assert list(edca_linux.followed(transfers, 40.0)) == [(4, 2), (14, 1)]
    assert all(
        later[0] - earlier[0] >= edca_linux.AT_MOST_EVERY_S
        for seed in range(20)
        for steps in [list(edca_linux.followed(edca_linux.changing(seed), 90.0))]
        for earlier, later in pairwise(steps)
    )
