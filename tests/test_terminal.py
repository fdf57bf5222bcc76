"""Terminals without UTF-8, files with byte order marks, and standard input in place of a file."""

from __future__ import annotations

import codecs
import io
import json
import os
import subprocess
import sys

import pytest

from airqueue.cli import main, terminal
from airqueue.emulate import EmulationError, catalogue
from airqueue.measure import schema
from airqueue.simulate import Scenario, ScenarioError

CELL = """# The café's cell
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


def run(*arguments, text="", **environment):
    return subprocess.run(
        [sys.executable, "-m", "airqueue", *arguments],
        input=text.encode(),
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize(
    "arguments",
    [("model",), ("model", "bianchi", "n=10"), ("simulate", "-"), ("emulate", "--list")],
)
def test_terminals_without_utf8_get_ascii(encoding, arguments):
    done = run(*arguments, text=CELL, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode(encoding).strip()
    assert b"Traceback" not in done.stderr


def test_errors_name_what_the_terminal_cannot_show():
    done = run("simulate", "漢.toml", PYTHONIOENCODING="cp1252")
    assert done.returncode == 1
    assert done.stderr == b"Error: \\u6f22.toml: No such file or directory.\n"


def test_signs_have_names():
    codecs.register_error("airqueue.plain", terminal.plain)
    shown = "τ ± 2.1 µs, 10⁻³ × x₁ → é 漢".encode("ascii", "airqueue.plain")
    assert shown == b"tau +- 2.1 us, 10-3 x x1 -> \\xe9 \\u6f22"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", "airqueue.plain")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks_are_no_part_of_the_text(tmp_path, encoding):
    file = tmp_path / "cell.toml"
    file.write_bytes(CELL.encode(encoding))
    assert Scenario.from_toml(file).description == Scenario.from_toml(_plain(tmp_path)).description
    result = tmp_path / "result.json"
    result.write_bytes(json.dumps({"format": "another"}).encode(encoding))
    with pytest.raises(schema.ResultError, match="not an airqueue measurement"):
        schema.read_result(result)


def _plain(folder):
    file = folder / "plain.toml"
    file.write_text(CELL, "utf-8")
    return file


def test_what_is_no_text_is_refused(tmp_path):
    file = tmp_path / "cell.toml"
    for data in (b"a = 1\nb = \xff", codecs.BOM_UTF16_LE + b"\x00\xd8"):
        file.write_bytes(data)
        with pytest.raises(ScenarioError, match=r"line [12] is not UTF-8"):
            Scenario.from_toml(file)


def test_standard_input_takes_the_place_of_a_file(runner, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CELL.encode("utf-8-sig"))))
    assert Scenario.from_toml("-").stations == ["ap", "phone"]
    for arguments in (["simulate", "-"], ["compare", "-", "-"], ["size", "mesh", "-"]):
        result = runner.invoke(main, arguments, input="a = = 3")
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: standard input"), result.stderr
    with pytest.raises(EmulationError, match="standard input is that of the command inside"):
        catalogue.path("-")
