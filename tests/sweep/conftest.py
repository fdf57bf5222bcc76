"""The command where ``cell.toml`` is a short scenario and ``sweep.toml`` a sweep of it."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from here import CELL

from airqueue.cli import main

SWEEP = """
scenario = "cell.toml"
replications = 2
[parameters]
stations.sta.count = [1, 3]
phy.rate = ["2 Mb/s", "11 Mb/s"]
"""


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cell.toml").write_text(CELL)
    Path("sweep.toml").write_text(SWEEP)
    return lambda *arguments: CliRunner().invoke(
        main, ["sweep", *arguments], env={"COLUMNS": "120"}
    )
