"""`airqueue model`: tables that lose nothing, files, pictures, and no argument that crashes."""

import contextlib
import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import time
import types

import jsonschema
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from airqueue import text
from airqueue.cli import main
from airqueue.cli import model as command
from airqueue.models import catalogue, sweep
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.errors import ParameterError

FEW = ("--outputs", "delay_s,share_bps,form_used,stable,limit")
MANY = tuple(f"figure_{k}_with_a_long_name_s" for k in range(7))


def _evaluate(n, rate, shares, form):
    if n == 13:
        raise ParameterError("n", "n is 13; it must be another")
    if n == 99:
        raise KeyboardInterrupt
    return {
        "delay_s": n / rate * 1500,
        "share_bps": [share * rate for share in shares],
        "form_used": form,
        "stable": n < 5,
        "limit": None if n < 3 else 100.0 / n,
        **{name: n * 10.0 ** (k - 9) for k, name in enumerate(MANY)},
    }


FAKE = Model(
    name="fake",
    summary="A model for tests (Nobody 2026).",
    parameters=(
        Parameter("n", "stations"),
        Parameter("rate", "rate of the cell", 54e6, Kind.RATE),
        Parameter("shares", "share of each", (0.25, 0.75), Kind.NUMBERS),
        Parameter("form", "which equations", "new", Kind.CHOICE, ("new", "old")),
    ),
    outputs=(
        Output("delay_s", "D: delay of a packet"),
        Output("share_bps", "share of each"),
        Output("form_used", "the form"),
        Output("stable", "whether it is stable"),
        Output("limit", "what limits it, with a $ in its help and another $ too"),
        *(Output(name, "something that takes a long time to explain") for name in MANY),
    ),
    evaluate=_evaluate,
    example="n=1..5",
    valid="Only in tests.",
)


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run the command with the fake model known."""
    monkeypatch.chdir(tmp_path)
    with known():
        yield lambda *arguments: CliRunner().invoke(main, ["model", *arguments])


def known():
    """The fake model in the catalogue, as a context manager."""
    patch = pytest.MonkeyPatch.context()

    class _Known:
        def __enter__(self):
            monkeypatch = patch.__enter__()
            module = types.ModuleType("airqueue.models.fake")
            module.MODEL = FAKE
            monkeypatch.setitem(sys.modules, "airqueue.models.fake", module)
            names = {"fake": "fake", "tay-chua": "tay_chua"}
            monkeypatch.setattr(catalogue, "MODULES", names)
            monkeypatch.setattr(command, "MODULES", names)

        def __exit__(self, *error):
            patch.__exit__(*error)

    return _Known()


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([], []),
        ([0.0, 3.0, 54e6], ["0", "3", "54,000,000"]),
        ([0.25, 31.4159], ["0.25000", "31.41590"]),
        ([0.5, 0.0], ["0.50000", "0.00000"]),
        ([1e-9, 12345678.9], ["1.0000e-09", "12,345,679"]),
        ([0.00005], ["0.000050000"]),
        ([1e-7], ["1.0000e-07"]),
        ([1e300, 1e-300], ["1.0000e+300", "1.0000e-300"]),
        ([-1234.5, 2.25], ["-1,234.5000", "2.2500"]),
    ],
)
def test_numbers_are_shown_to_five_digits(values, shown):
    assert text.significant(values) == shown


def words(shown):
    """The text without the lines of tables and the breaks that they bring."""
    return re.sub(r"[\s\u2500-\u257f]+", " ", shown)


@pytest.mark.parametrize("arguments", [(), ("--list",)])
def test_the_list_explains_each_model(invoke, arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0
    assert "fake A model for tests (Nobody 2026). tay-chua" in words(result.stdout)


def test_the_list_as_json(invoke, tmp_path):
    result = invoke("--list", "--json", "-")
    listed = json.loads(result.stdout)
    jsonschema.validate(listed, sweep.schema("catalogue"))
    assert listed["models"][0]["valid"] == "Only in tests."
    assert invoke("--json", "list.json").exit_code == 0
    assert json.loads((tmp_path / "list.json").read_text()) == listed


def test_help_is_made_from_the_model(invoke):
    shown = words(invoke("fake", "--help").stdout)
    for part in (
        "A model for tests (Nobody 2026). Only in tests.",
        "n stations [required]",
        "rate rate of the cell [rate, default 54mbit]",
        "shares share of each [numbers, comma-separated, default 0.25,0.75]",
        "form which equations [one of new, old; default new]",
        "delay_s D: delay of a packet",
        "airqueue model fake n=1..5",
        "n=2..64*2",
    ):
        assert part in shown
    assert "fake, tay-chua" in invoke("--help").stdout


def test_one_point_is_a_line_per_output(invoke):
    result = invoke("fake", "n=2", "rate=6mbit")
    assert result.exit_code == 0
    shown = words(result.stdout)
    assert "With n=2 rate=6mbit shares=0.25,0.75 form=new" in shown
    assert "delay_s 0.00050000 D: delay of a packet" in shown
    assert "share_bps 1,500,000; 4,500,000 share of each" in shown
    assert "stable yes" in shown
    assert "limit – what" in shown
    assert "form_used new" in shown


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("width", ["80", "40", "200"])
def test_a_sweep_is_a_row_per_point_and_nothing_is_lost(invoke, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    result = invoke("fake", "n=1..12", "form=new,old")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= int(width)
    assert len([line for line in lines if re.match(r"│\s*12 │\s*old │", line)]) >= 1
    joined = re.sub(r"[\s\u2500-\u257f]+", "", result.stdout)
    for output in FAKE.outputs:
        assert output.name in joined
    if width == "80":
        # Tables are cut between columns, so each number stands whole, in the column's decimals.
        assert "0.00033333" in result.stdout
        assert "13,500,000; 40,500,000" in result.stdout
        assert "0.000000001" in result.stdout or "1.0000e-09" in result.stdout


def test_outputs_limit_everything(invoke, tmp_path):
    arguments = ("fake", "n=1..3", "--outputs", "limit,delay_s", "--json", "a.json", "--csv")
    result = invoke(*arguments, "a.csv")
    assert result.exit_code == 0
    assert "share_bps" not in result.stdout
    content = json.loads((tmp_path / "a.json").read_text())
    assert list(content["columns"]) == ["n", "limit", "delay_s"]
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "n,limit,delay_s"


def test_json_and_csv_say_the_same(invoke):
    shown = invoke("fake", "n=1..3", "shares=1/0.5,0.5", "--json", "-")
    content = json.loads(shown.stdout, parse_constant=pytest.fail)
    jsonschema.validate(content, sweep.schema("sweep"))
    rows = list(
        csv.DictReader(
            io.StringIO(invoke("fake", "n=1..3", "shares=1/0.5,0.5", "--csv", "-").stdout)
        )
    )
    assert len(rows) == len(content["rows"]) == 6
    for cells, row in zip(rows, content["rows"], strict=True):
        assert list(cells) == list(row)
        assert float(cells["delay_s"]) == row["delay_s"]
        assert [float(share) for share in cells["share_bps"].split(";")] == row["share_bps"]
        assert cells["stable"] == str(row["stable"]).lower()
        assert (cells["limit"] == "") is (row["limit"] is None)


@pytest.mark.usefixtures("terminal")
def test_many_rows_are_shown_from_both_ends(invoke):
    result = invoke("fake", "n=1..2:0.0003", "--outputs", "delay_s")
    assert "first 1,000 and the last 1,000 of 3,334 rows" in words(result.stdout)
    assert len(re.findall(r"^│ +[12]", result.stdout, re.MULTILINE)) == 2000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fak"], "no model 'fak'; did you mean 'fake'? there are fake, tay-chua."),
        (["fake"], "fake needs n=..."),
        (["fake", "n"], "'n' is not key=value"),
        (["fake", "n=13"], "Error: n is 13; it must be another."),
        (["fake", "n=1", "n=2"], "n is given twice"),
        (["fake", "m=1"], "fake has no parameter 'm'; it has n, rate, shares, form."),
        (["fake", "n=1..5:-1"], "goes down and the range up"),
        (["fake", "n=1..1000", "rate=1bit..1000bit:1bit"], "the limit is 100,000"),
        (["fake", "n=1", "--outputs", "dely_s"], "did you mean 'delay_s'?"),
        (["fake", "n=1", "--plot", "a.svg"], "a plot needs a swept parameter"),
        (["fake", "n=1..2", "--plot", "a.jpg"], "a plot is SVG, PDF or PNG"),
        (["fake", "n=1..2", "--plot", "-"], "a plot is SVG, PDF or PNG"),
        (
            ["fake", "n=1,2", "rate=1bit,2bit", "form=new,old", "--plot", "a.svg"],
            "there are n, rate and form; fix all but two of them.",
        ),
        (
            ["fake", "n=1,2", "rate=1bit..13bit:1bit", "--plot", "a.svg"],
            "13 values of rate are too many",
        ),
        (["fake", "n=1", "--json", "-", "--csv", "-"], "Only one of --json and --csv"),
        (["--list", "fake", "n=1"], "after the name of the model"),
        (["--json", "-", "fake", "n=1"], "after the name of the model"),
        (["fake", "-5"], "No such option"),
    ],
)
def test_wrong_usage_is_exit_code_2(invoke, tmp_path, arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_too_many_outputs_for_a_plot(invoke, monkeypatch):
    monkeypatch.setattr("airqueue.plots.model_picture.MOST_PANELS", 3)
    result = invoke("fake", "n=1..2", "--plot", "a.svg")
    assert result.exit_code == 2
    assert "12 outputs are too many for a plot; choose up to 3" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fake", "n=12..20"], "Error: stopped after 1 of 9 points: at n=13: n is 13;"),
        (["fake", "n=1", "--json", "missing/a.json"], "no directory"),
        (["fake", "n=1..2", "--plot", "missing/a.svg"], "no directory"),
        (["fake", "n=1", "--csv", "."], "Is a directory"),
        (["--list", "--json", "."], "Is a directory"),
        (
            ["fake", "n=1..2", "--outputs", "form_used", "--plot", "a.svg"],
            "no number to draw",
        ),
        (["fake", "n=1..2", "shares=" + "1," * 12 + "1", "--plot", "a.svg"], "13 lines of share"),
    ],
)
def test_what_cannot_be_done_is_exit_code_1(invoke, arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_full_disk_does_not_lose_the_table(invoke):
    result = invoke("fake", "n=2", "--json", "/dev/full")
    assert result.exit_code == 1
    assert "No space left" in result.stderr
    assert "delay_s" in result.stdout


@pytest.mark.usefixtures("terminal")
def test_an_interrupt_keeps_what_was_finished(invoke, tmp_path):
    files = ("--json", "a.json", "--csv", "a.csv", "--plot", "a.svg")
    result = invoke("fake", "form=new,old", "n=97..100", *files)
    assert result.exit_code == 130
    assert result.stderr.endswith("Interrupted after 2 of 8 points.\n")
    assert re.search(r"│ +new │ 98 │", result.stdout)
    content = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(content, sweep.schema("sweep"))
    assert content["complete"] is False
    assert len(content["rows"]) == 2
    assert (tmp_path / "a.svg").exists()


@pytest.mark.usefixtures("terminal")
def test_a_point_without_an_answer_keeps_what_was_finished(invoke, tmp_path):
    result = invoke("fake", "form=new,old", "n=11..14", "--json", "a.json", "--csv", "a.csv")
    assert result.exit_code == 1
    assert result.stderr.endswith(
        "Error: stopped after 2 of 8 points: at form=new, n=13: n is 13; it must be another.\n"
    )
    assert re.search(r"│ +new │ 12 │", result.stdout)
    content = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(content, sweep.schema("sweep"))
    assert content["complete"] is False
    assert [row["n"] for row in content["rows"]] == [11, 12]
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 3
    first = invoke("fake", "n=13..15", "--json", "b.json")
    assert first.exit_code == 1
    assert first.stderr == "Error: at n=13: n is 13; it must be another.\n"
    assert not (tmp_path / "b.json").exists()


def test_an_interrupt_at_once_writes_nothing(invoke, tmp_path):
    result = invoke("fake", "n=99", "--json", "a.json")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted after 0 of 1 points.\n"
    assert list(tmp_path.iterdir()) == []


def test_pictures_are_the_same_each_time(invoke, tmp_path):
    arguments = ("fake", "n=14..40", "rate=6mbit,54mbit", *FEW, "--plot")
    for name in ("a.svg", "b.svg", "a.pdf", "b.pdf", "a.PNG", "b.png"):
        result = invoke(*arguments, name)
        assert result.exit_code == 0, result.output
        assert "Not drawn, as it is no number: form_used, stable." in result.stderr
    for first, second in (("a.svg", "b.svg"), ("a.pdf", "b.pdf"), ("a.PNG", "b.png")):
        assert (tmp_path / first).read_bytes() == (tmp_path / second).read_bytes()
    drawn = (tmp_path / "a.svg").read_text()
    assert "<dc:date>" not in drawn
    assert "fake: A model for tests (Nobody 2026)." in drawn
    assert "shares=0.25,0.75 form=new" in drawn
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments",
    [
        ["n=2..64*2"],
        ["n=14..80"],
        ["n=5,1,3"],
        ["n=1,2", "rate=10mbit..54mbit:4mbit", "shares=1"],
        ["n=3", "form=new,old"],
        ["form=new,old", "n=1..5"],
        ["n=1..5", "shares=1/0.5,0.5/0.2,0.3,0.5"],
        ["shares=1/0.5,0.5", "n=3"],
        ["n=1..1"],
        ["n=1e-300,1e300"],
    ],
)
@pytest.mark.filterwarnings("error")
def test_every_kind_of_sweep_can_be_drawn(invoke, tmp_path, arguments):
    result = invoke("fake", *arguments, *FEW, "--plot", "a.svg")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "a.svg").stat().st_size > 1000


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_only_a_plot_loads_matplotlib():
    code = (
        "import sys; from airqueue.cli import main;"
        "main(['model', 'tay-chua', 'n=1..3'], standalone_mode=False);"
        "assert 'matplotlib' not in sys.modules"
    )
    assert "collision" in run(code).stdout


SLOW = """
import dataclasses, sys, time
from pathlib import Path
from airqueue.cli import main, model
from airqueue.models import tay_chua

model._REFRESH_S = 0.05
evaluate, points, end = tay_chua.MODEL.evaluate, [], time.monotonic() + 60

def slow(**parameters):
    points.append(parameters)
    time.sleep(0.1)
    # At a terminal the fourth point waits until progress has been seen.
    while len(points) == 4 and sys.argv[1:] and not Path(sys.argv[1]).exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    return evaluate(**parameters)

tay_chua.MODEL = dataclasses.replace(tay_chua.MODEL, evaluate=slow)
main(["model", "tay-chua", "n=1..8", "--json", "-"])
"""


def test_progress_shows_on_a_terminal_only(tmp_path):
    assert run(SLOW).stderr == ""
    seen, shown = tmp_path / "seen", ""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, str(seen)], stdout=subprocess.PIPE, stderr=follower, text=True
    ) as process:
        os.close(follower)
        with contextlib.suppress(OSError):  # the end of a terminal
            while chunk := os.read(leader, 1 << 16):
                shown += chunk.decode(errors="replace")
                if "s left" in shown:
                    seen.touch()
        assert len(json.loads(process.stdout.read())["rows"]) == 8
    os.close(leader)
    assert re.search(r"tay-chua: \d of 8 points", shown)
    assert "s left" in shown


def test_a_shell_completes_names_keys_and_choices(invoke):
    def completions(args, incomplete):
        completion = ShellComplete(main, {}, "airqueue", "_AIRQUEUE_COMPLETE")
        return [item.value for item in completion.get_completions(args, incomplete)]

    assert completions(["model"], "fa") == ["fake"]
    assert completions(["model", "fake"], "") == ["n=", "rate=", "shares=", "form="]
    assert completions(["model", "fake", "n=1"], "form=") == ["form=new", "form=old"]


KEYS = [f"{parameter.name}=" for parameter in FAKE.parameters]
VALUES = ["1", "5", "..", ":", "*", ",", "/", "-", "0", "1e300", "mbit", "new", "none", "nan", " "]
OPTIONS = ["--json", "--list", "--outputs", "--help", "limit", "é"]
PIECES = st.sampled_from([*KEYS, *VALUES, *OPTIONS])


@settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(PIECES).map("".join) | st.text(), max_size=5))
@example(["fake", "n=1", "--outputs", ""])
@example(["fake", "\ud800=1"])
def test_no_argument_ends_in_a_traceback(tmp_path_factory, arguments):
    # "--plot" and files are left out: hypothesis would name files anywhere.
    arguments = [a for a in arguments if not a.startswith(("--p", "--c", "--j"))]
    with known():
        began = time.monotonic()
        result = CliRunner().invoke(main, ["model", "fake", *arguments])
        again = CliRunner().invoke(main, ["model", *arguments])
    for done in (result, again):
        assert done.exit_code in (0, 1, 2, 130)
        assert isinstance(done.exception, type(None) | SystemExit), repr(done.exception)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("argument", "warned"),
    [("cw_min=32", True), ("cw_min=15,32", True), ("cw_min=31", False), ("cw_min=4..64*2", False)],
)
def test_a_window_that_looks_like_a_count_is_said_to_be_none(argument, warned):
    result = CliRunner().invoke(main, ["model", "tay-chua", "n=5", argument])
    assert result.exit_code == 0
    said = "cw_min=32 is a window of 33 values, 0 to 32: windows are counted as in the standard"
    assert (said in result.stderr) is warned
