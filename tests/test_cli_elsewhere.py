"""Commands of other distributions: found by entry points, and named where they are absent."""

import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

import airqueue
from airqueue.cli import elsewhere, main
from airqueue_papers.command import reproduce_command

ROOT = Path(__file__).parent.parent


@click.command("hello", short_help="Greets.")
def hello():
    """Greet."""
    click.echo("hello there")


NO_COMMAND = "a string"


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Make so many entry points, name -> value, the only ones there are."""
    about = tmp_path / "greeter-1.0.dist-info"
    about.mkdir()
    monkeypatch.setattr(elsewhere, "sys", SimpleNamespace(path=["/none", str(tmp_path)]))

    def install(**values):
        lines = [f"{name} = {value}\n" for name, value in values.items()]
        others = "[console_scripts]\ngreet = greeter:main\n\n"
        text = f"{others}[{elsewhere.GROUP}]\n# one a line\n{''.join(lines)}\n[last]\nlast = a:b\n"
        (about / "entry_points.txt").write_text(text, "utf-8")
        elsewhere._installed.cache_clear()
        entries = metadata.EntryPoints(
            metadata.EntryPoint(name, value, elsewhere.GROUP) for name, value in values.items()
        )
        monkeypatch.setattr(metadata, "entry_points", entries.select)

    yield install
    elsewhere._installed.cache_clear()


def invoke(*arguments):
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("arguments", [(), ("--list",), ("mesh.table3", "--budget", "full", "-x")])
def test_without_its_distribution_reproduce_says_how_to_get_it(installed, arguments):
    installed()
    result = invoke("reproduce", *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line == (
        "Error: `airqueue reproduce` comes with airqueue-papers, which is not installed: "
        "pip install 'airqueue[papers]', or in a checkout pip install ./papers"
    )


def test_the_list_of_commands_names_what_could_be_installed(installed):
    installed()
    assert "Needs 'airqueue[papers]'" in " ".join(invoke("--help").output.split())
    shown = " ".join(invoke("reproduce", "--help").output.split())
    assert "pip install 'airqueue[papers]'" in shown
    installed(reproduce="airqueue_papers.command:reproduce_command")
    assert "Needs" not in invoke("--help").output
    assert invoke("reproduce", "--list").exit_code == 0


def test_any_distribution_may_add_a_command(installed):
    installed(hello=f"{__name__}:hello", measure=f"{__name__}:hello")
    assert invoke("hello").output == "hello there\n"
    assert "Greets." in invoke("--help").output
    assert "hello" not in invoke("measure", "--help").output  # ours are not replaced
    assert invoke("nothing").exit_code == 2


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no.such.module:hello", "cannot be loaded: No module named 'no'"),
        (f"{__name__}:goodbye", "cannot be loaded: "),
        (f"{__name__}:NO_COMMAND", "which is no click command"),
    ],
)
def test_a_command_that_cannot_be_loaded_is_told_in_one_line(installed, value, says):
    installed(hello=value)
    result = invoke("hello")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert says in line
    assert invoke("--help").exit_code == 0


def test_the_list_has_what_the_interpreter_finds():
    found = metadata.entry_points(group=elsewhere.GROUP).names
    assert set(elsewhere.names()) >= found
    assert elsewhere._installed() == found


def test_the_papers_are_released_with_the_library():
    papers = tomllib.loads((ROOT / "papers/pyproject.toml").read_text())["project"]
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert papers["version"] == airqueue.__version__
    assert f"airqueue[plots,tables]=={airqueue.__version__}" in papers["dependencies"]
    assert papers["name"] in ours["optional-dependencies"]["papers"]
    assert papers["requires-python"] == ours["requires-python"]
    (value,) = papers["entry-points"][elsewhere.GROUP].values()
    entry = metadata.EntryPoint("reproduce", value, elsewhere.GROUP)
    assert entry.load() is reproduce_command
    for name in papers["license-files"]:
        assert (ROOT / "papers" / name).read_bytes() == (ROOT / name).read_bytes()
