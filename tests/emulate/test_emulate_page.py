"""docs/emulate.md has every option, preset, variable and key of the result."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from airqueue.cli.emulate import NOT_TRUSTED, emulate
from airqueue.cli.talk import SHARED
from airqueue.emulate import catalogue
from airqueue.emulate.plan import DEVICE, PREFIX, PREFIX6, Plan
from airqueue.emulate.results import EmulationResults
from airqueue.records import EmulationDict

PAGE = (Path(__file__).parents[2] / "docs" / "emulate.md").read_text("utf-8")


@pytest.mark.parametrize("name", catalogue.names())
def test_every_preset_has_a_row(name):
    assert re.search(rf"^\| `{name}` \|", PAGE, re.MULTILINE)


def test_every_option_has_a_row():
    for parameter in emulate.params:
        for option in parameter.opts:
            if option.startswith("--") and option not in SHARED:
                assert re.search(rf"^\| `{option}\b", PAGE, re.MULTILINE), option
    assert f"exit code {NOT_TRUSTED} if" in PAGE


def test_every_variable_and_address_is_named():
    plan = Plan(["name"], [False], ipv6=True)
    two = Plan(["name", "other"], [False, True], ipv6=True)
    for variable in two.environment(two.nodes[0]):
        assert f"`{variable}`" in PAGE or variable == "AIRQUEUE_ADDRESS_OTHER"
    assert f"`{DEVICE}`" in PAGE
    assert f"{PREFIX[1]}, {PREFIX[2]}" in PAGE
    assert str(PREFIX6[1]) in PAGE
    assert plan.nodes[0].address == str(PREFIX[1])


def test_every_key_of_the_result_is_explained():
    report: dict[str, Any] = dict.fromkeys(EmulationDict.__annotations__)
    report |= {"pairs": {}, "refused": {}, "unwritten_packets": 0}
    results = EmulationResults("x", 1, (), cast("EmulationDict", report), {}, {}, {})
    explained = {*results.document(), *report, "exit_code"}
    # These repeat the command, or are counters that the text does not need.
    explained -= {"airqueue", "scenario", "seed", "written_packets", "held_packets"}
    for key in sorted(explained):
        assert f"`{key}`" in PAGE, key
