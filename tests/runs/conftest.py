"""Kinds of work for tests, which processes know by the function's name."""

import deeds
import pytest

from airqueue.runs.kinds import KINDS, Kind


@pytest.fixture(autouse=True)
def _kinds_for_tests(monkeypatch):
    for name in ("square", "fragile", "wrong", "chatty", "infinite"):
        assert hasattr(deeds, name)
        monkeypatch.setitem(KINDS, name, Kind(f"deeds:{name}", ()))
