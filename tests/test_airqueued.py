"""`airqueued` with disciplines that the host's kernel may lack: in user-mode Linux."""

from __future__ import annotations

import json
from typing import Any

import pytest

import queues_guest
from airqueue.linux.virtual import machine
from binaries import newest


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What plans did to every discipline, in one machine."""
    airqueued = newest("airqueued")
    folder = tmp_path_factory.mktemp("airqueued")
    try:
        kernel = machine.find(folder)
    except machine.MachineUnavailableError as reason:
        pytest.skip(f"no user-mode Linux: {reason}")
    machine.boot(kernel, ["queues_guest"], folder, seed=1, settings={"AIRQUEUED": str(airqueued)})
    return json.loads((folder / "found.json").read_text("utf-8"))


def options(found: Any, plan: str, kind: str) -> dict[str, Any]:
    """What tc tells of a discipline that a plan has set."""
    told = [each for each in found["plans"][plan]["during"] if isinstance(each, dict)]
    (only,) = [each["options"] for each in told if each["kind"] == kind]
    return only


@pytest.mark.parametrize("plan", queues_guest.PLANS)
def test_a_plan_is_set_as_often_as_it_is_asked_for_and_put_back(found: Any, plan: str) -> None:
    assert found["plans"][plan]["already"]
    assert found["plans"][plan]["restored"]


def test_tc_tells_what_plans_have_set(found: Any) -> None:
    fq_codel = options(found, "fq_codel", "fq_codel")
    assert fq_codel["limit"] == 600
    # The kernel counts times in 1024 ns.
    assert fq_codel["target"] == pytest.approx(7000, abs=2)
    assert fq_codel["interval"] == pytest.approx(140_000, abs=2)
    other = options(found, "fq_codel without ecn", "fq_codel")
    assert (other["flows"], other["quantum"], other["memory_limit"]) == (64, 300, 4 << 20)
    assert not other.get("ecn", False)
    cake = options(found, "cake", "cake")
    assert cake["bandwidth"] == 20_000_000 / 8
    assert (cake["flowmode"], cake["diffserv"]) == ("dual-dsthost", "diffserv4")
    assert (cake["nat"], cake["ack-filter"], cake["overhead"]) == (True, "enabled", 18)
    assert options(found, "tbf above fq_codel", "tbf")["rate"] == 8_000_000 / 8
    assert found["plans"]["tbf above fq_codel"]["words"].startswith("tbf at 8 Mb/s above fq_codel")


@pytest.mark.parametrize("tree", queues_guest.TREES)
def test_what_somebody_has_set_is_put_back_as_it_was(found: Any, tree: str) -> None:
    kinds = {"cake without a rate": "cake"}
    before = json.dumps(found["trees"][tree]["before"])
    assert f'"kind": "{kinds.get(tree, tree)}"' in before
    assert found["trees"][tree]["after"] == found["trees"][tree]["before"]


def test_a_discipline_that_could_not_be_put_back_is_named(found: Any) -> None:
    code, text = found["refused"]
    assert code == 3
    assert "va has the discipline pie 8" in text
