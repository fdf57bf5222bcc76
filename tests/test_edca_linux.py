"""The bench of EDCA's settings with real Linux TCP: valid networks, and the loop of the service."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

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


def every_case() -> list[tuple[int, int]]:
    numbers = range(1, edca_linux.MOST + 1)
    return [(uploads, downloads) for uploads in numbers for downloads in numbers]


def test_every_number_of_stations_has_a_valid_network_and_transfers() -> None:
    tasks = list(edca_linux.of_all(1, ["cubic"], 100, every_case(), counted=True))
    assert len(tasks) == 2 * edca_linux.MOST**2
    for task in tasks:
        uploads, downloads = task["case"]
        ways = {(each["station"], each["upload"]) for each in task["transfers"]}
        assert sorted(upload for _, upload in ways) == [False] * downloads + [True] * uploads
        assert task["counted"] is (task["settings"] == "loop")
        Scenario(task["scenario"])


def test_six_of_each_are_the_transfers_that_the_other_table_has() -> None:
    assert edca_linux.changing(3) == edca_linux.changing(3, edca_linux.MOST, edca_linux.MOST)


@pytest.mark.parametrize("text", ["", "3", "3,3,3", "0,1", "1,7", "a,b", "1;2"])
def test_cases_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="give two numbers of 1 to 6"):
        edca_linux.pair(text)


def test_a_network_runs_again_until_its_counts_ask_for_the_changes_it_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The counts depend on the changes, as they do in a network: they settle in the third run."""
    (task,) = (
        task
        for task in edca_linux.of_all(1, ["cubic"], 100, [(1, 2)], counted=True)
        if task["settings"] == "loop"
    )
    step_us = edca_linux.txop_us(2, size_edca(1, 1, packet_bytes=1500))
    seen: list[list[dict[str, str]]] = []

    def emulated(
        _task: object, described: dict[str, Any], _program: object
    ) -> tuple[list[Any], list[tuple[float, int]]]:
        seen.append(described["changes"])
        # With a TXOP from the fifth second on two downloads are active, later than without.
        with_txop = described["changes"] == [
            {"at": "5.0 s", "station": "ap", "txop": f"{step_us} us"}
        ]
        return [], [(4.0, 0), (5.0, 2), (6.0, 2)] if with_txop or len(seen) == 1 else [(5.0, 2)]

    monkeypatch.setattr(edca_linux, "emulated", emulated)
    found = edca_linux.once(task, Path("airqueued"))
    assert found["turns"] == [(5.0, 2)]
    assert found["rounds"] == len(seen) == 2
    # Of a run that is told what there is nothing is repeated.
    assert edca_linux.once(task) == {"transfers": []}
    assert len(seen) == 3


def test_counts_that_never_settle_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = edca_linux.of_all(1, ["cubic"], 100, [(1, 1)], counted=True)
    task = next(task for task in tasks if task["settings"] == "loop")
    runs = iter(range(100))
    monkeypatch.setattr(
        edca_linux, "emulated", lambda *_: ([], [(float(next(runs)), 2), (200.0, 1)])
    )
    with pytest.raises(SystemExit, match="still ask for other changes"):
        edca_linux.once(task, Path("airqueued"))


def test_the_matrix_has_each_index_in_its_place() -> None:
    def row(case: list[int], settings: str, rates: list[int]) -> dict[str, Any]:
        transfers = [
            {
                "upload": upload,
                "start_s": 0.0,
                "stop_s": 90.0,
                "bytes": [s * rate for s in range(91)],
            }
            for upload, rate in zip([True, False], rates, strict=True)
        ]
        for each in transfers:
            each["start_s"] = -1.0
        task = {"kind": "changing", "case": case, "settings": settings}
        return {"task": task, "transfers": transfers}

    rows = [row([2, 3], "defaults", [1000, 0]), row([2, 3], "loop", [1000, 1000])]
    lines = edca_linux.matrix(rows).splitlines()
    assert len(lines) == 2 + edca_linux.MOST
    cells = [cell.strip() for cell in lines[3].strip("|").split("|")]
    assert cells == ["2", "-, -", "-, -", "0.500, 1.000", "-, -", "-, -", "-, -"]
