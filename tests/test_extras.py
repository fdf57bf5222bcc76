"""Without the libraries of extras airqueue works, and names the one that an output needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airqueue import lazy
from tests.test_start import CELL

SWEEP = """
scenario = "cell.toml"
replications = 2
[parameters]
"flows.upload.size" = ["100 B", "1500 B"]
"""


def without(libraries, arguments, folder):
    """Run a command where these libraries are not installed."""
    (folder / "cell.toml").write_text(CELL, "utf-8")
    (folder / "sweep.toml").write_text(SWEEP, "utf-8")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({libraries}))\n"
        f"import airqueue.cli as c; c.main({arguments})"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "library", "extra"),
    [
        (["simulate", "cell.toml", "--plot", "cell.svg"], "matplotlib", "plots"),
        (["simulate", "cell.toml", "--map", "cell.svg"], "matplotlib", "plots"),
        (["simulate", "cell.toml", "--out", "kept"], "pyarrow", "tables"),
        (["sweep", "sweep.toml"], "pyarrow", "tables"),
        (["model", "bianchi", "n=1..3", "--plot", "n.svg"], "matplotlib", "plots"),
    ],
)
def test_what_needs_an_extra_says_so_before_it_works(tmp_path, arguments, library, extra):
    done = without([library], arguments, tmp_path)
    assert done.returncode == 1
    advice = f"Error: {library} is not installed: pip install 'airqueue[{extra}]'."
    assert done.stderr.strip() == advice
    assert done.stdout == ""
    assert not (tmp_path / "kept" / "scenario.toml").exists()


def test_figures_and_their_files_need_no_extra(tmp_path):
    arguments = ["simulate", "cell.toml", "--csv", "csv", "--json", "cell.json"]
    done = without(["matplotlib", "pandas", "pyarrow", "distributed"], arguments, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "csv" / "flows.csv").read_text("utf-8").startswith("replication,flow,")
    assert (tmp_path / "cell.json").exists()


def test_nothing_needs_scipy():
    code = (
        "import sys, pkgutil, importlib, airqueue; sys.modules['scipy'] = None\n"
        "for module in pkgutil.walk_packages(airqueue.__path__, 'airqueue.'):\n"
        "    if not module.name.endswith(('__main__', 'testing.plugin')):\n"
        "        importlib.import_module(module.name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_broken_library_is_no_missing_extra(tmp_path, monkeypatch):
    (tmp_path / "pyarrow.py").write_text("import a_module_that_is_nowhere", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pyarrow", raising=False)
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_nowhere"):
        lazy.required("pyarrow")
