"""Shared by the tests of `airqueue simulate`: a short scenario, and the command beside it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from airqueue.cli import main

CELL = """
duration = "100 ms"
warm_up = "20 ms"
[phy]
standard = "802.11b"
[[stations]]
name = "ap"
[[stations]]
name = "sta"
count = 3
[[flows]]
name = "up"
from = "sta"
to = "ap"
"""


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run the command where ``cell.toml`` is a short scenario."""
    monkeypatch.chdir(tmp_path)
    Path("cell.toml").write_text(CELL)
    return lambda *arguments: CliRunner().invoke(main, ["simulate", *arguments])
