"""The stable functions have docstrings in numpydoc form, which name all parameters."""

from __future__ import annotations

import inspect
import re

import pytest

from airqueue.measure import api
from airqueue.models.bianchi import bianchi
from airqueue.models.kumar import kumar
from airqueue.models.tay_chua import tay_chua
from airqueue.simulate import Results, Scenario, cell, mesh, shaped, simulate
from airqueue.sweep import Sweep, SweepResults

SECTIONS = ["Parameters", "Returns", "Raises", "Notes", "Examples"]
PUBLIC = [
    simulate,
    cell,
    shaped,
    Scenario,
    Scenario.from_toml,
    Scenario.changed,
    Scenario.simulate,
    Scenario.replicate,
    Results.to_pandas,
    Results.to_arrow,
    Results.to_xarray,
    Results.series_frame,
    Results.save,
    Results.load,
    mesh.chain,
    mesh.parking_lot,
    mesh.cross,
    mesh.grid,
    mesh.random,
    Sweep,
    Sweep.from_toml,
    Sweep.run,
    SweepResults.to_pandas,
    SweepResults.to_arrow,
    api.measure,
    api.analyze,
    bianchi,
    tay_chua,
    kumar,
]


def sections(text: str) -> dict[str, str]:
    """Return the parts of a docstring by their headings, in order."""
    parts = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__qualname__)
def test_the_docstring_is_numpydoc_and_names_all_parameters(function):
    text = inspect.getdoc(function)
    first, blank, *_ = text.splitlines()
    assert first.endswith((".", "..."))
    assert blank == ""
    found = sections(text)
    assert list(found) == [name for name in SECTIONS if name in found]
    named = [
        name
        for line in re.findall(r"^(\S.*?)(?: :.*)?$", found.get("Parameters", ""), re.MULTILINE)
        for name in re.split(r", ", line)
    ]
    there = inspect.signature(function).parameters.values()
    expected = [
        f"**{each.name}" if each.kind is each.VAR_KEYWORD else each.name
        for each in there
        if each.name not in ("self", "cls")
    ]
    assert named == expected
    is_class = inspect.isclass(function)
    nothing = is_class or inspect.signature(function).return_annotation in (None, "None")
    assert ("Returns" in found) != nothing


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__qualname__)
def test_what_is_raised_is_an_exception(function):
    raised = sections(inspect.getdoc(function)).get("Raises", "")
    names = re.findall(r"^(\S.*)$", raised, re.MULTILINE)
    assert all(re.fullmatch(r"[A-Z]\w+|KeyboardInterrupt", name) for name in names), names
