"""What commands load before they answer: libraries that they do not need take longest."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airqueue import lazy

CELL = """
duration = "10 ms"
[phy]
standard = "802.11g"
[[stations]]
name = "ap"
[[stations]]
name = "phone"
[[flows]]
name = "upload"
from = "phone"
to = "ap"
source = "saturated"
size = "1500 B"
"""
TYPES = ("airqueue.description", "airqueue.figures", "airqueue.monitored", "airqueue.records")
PROCESSES = ("airqueue.runs.cluster", "airqueue.runs.local")
SWEEP = """
scenario = "cell.toml"
replications = 2
[parameters]
duration = ["10 ms", "11 ms"]
"""
OF_NUMBERS = ("numpy", "scipy", "pandas", "pyarrow", "matplotlib")


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (
            ["--help"],
            (
                "airqueue.models",
                "airqueue.report",
                "importlib.metadata",
                "airqueue.cli.console",
                *OF_NUMBERS,
            ),
        ),
        (["--version"], ("importlib.metadata", "airqueue.cli.console", *OF_NUMBERS)),
        (["simulate", "cell.toml"], ("importlib.metadata", *TYPES, *PROCESSES, *OF_NUMBERS)),
        (["sweep", "sweep.toml", "--out", "results"], ("scipy", "pandas", "matplotlib")),
        (["model", "bianchi", "n=10"], ("importlib.metadata", *OF_NUMBERS[1:])),
    ],
)
def test_a_command_loads_no_library_that_it_does_not_need(tmp_path, arguments, unneeded):
    (tmp_path / "cell.toml").write_text(CELL, "utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    code = (
        "import sys, airqueue.cli as c\n"
        f"c.main({arguments}, standalone_mode=False)\n"
        f"sys.exit([name for name in {unneeded} if name in sys.modules] or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_module_loads_at_its_first_use():
    absent = lazy.Module("no_such_module_of_ours")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_ours"):
        absent.anything  # noqa: B018
    found = lazy.Module("math")
    assert found.pi == 3.141592653589793
    with pytest.raises(AttributeError):
        found.tau_and_a_half  # noqa: B018
