"""Tables never break values: lines on a terminal, lines for values on a narrow one, TSV elsewhere."""

from __future__ import annotations

import io
import re
import shlex

import pytest

from airqueue.cli import common, main, sweep_tables, talk
from airqueue.cli.console import Console, colours_alone
from airqueue.cli.live import Live
from airqueue.cli.table import Table
from tests.listings import ROOT
from tests.piped import tables_alone, tables_of
from tests.simulate.test_devices import CELL

VALUES = ["5.10 ± 0.25", "10,240", "sta1.be", "1.50 × 10⁻⁵ s"]


def table() -> Table:
    made = Table(
        "name", "throughput\nMb/s", "queue.\ndropped_\npackets", "why", title="What is held"
    )
    made.add_row(
        VALUES[2], VALUES[0], VALUES[1], "a sentence with a tab\tin it that is long enough to wrap"
    )
    made.add_row("–", VALUES[3], "0", "")
    return made


def shown(monkeypatch, width: int) -> str:
    monkeypatch.setattr(common.Results, "is_terminal", True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    console = common.stdout()
    console.file = io.StringIO()
    console.print(table())
    return console.file.getvalue()


def test_elsewhere_a_row_is_a_line_of_tab_separated_values(capsys):
    common.stdout().print("before", table(), table(), "after")
    held = (
        "# What is held\n"
        "name\tthroughput Mb/s\tqueue.dropped_packets\twhy\n"
        f"{VALUES[2]}\t{VALUES[0]}\t{VALUES[1]}\ta sentence with a tab in it that is long enough to "
        "wrap\n"
        f"–\t{VALUES[3]}\t0\t\n"
    )
    assert capsys.readouterr().out == f"# before\n{held}\n{held}# after\n"


@pytest.mark.parametrize("width", [200, 80, 60, 50, 30, 16])
def test_no_value_breaks_at_any_width(monkeypatch, width):
    text = shown(monkeypatch, width)
    for value in VALUES:
        assert value in text
    assert "…" not in text
    assert ("┃" in text) == (width >= 50)


def test_lists_of_sentences_keep_their_dashes(capsys):
    console = common.stdout()
    common.bullets(console, ["one [b]", "two"])
    assert capsys.readouterr().out == "# - one [b]\n# - two\n"
    common.bullets(common.stdout(comments=False), ["one [b]"])
    assert capsys.readouterr().out == "- one [b]\n"


def test_tables_stand_apart_and_a_name_is_no_comment(capsys):
    one = Table("a", "b", title="#1")
    one.add_row("# name", "#")
    console = common.stdout()
    console.print(one)
    console.print(one)
    console.print("a note\n\nand another")
    console.print()
    console.print(one)
    shown = "# #1\na\tb\n # name\t#\n"
    printed = capsys.readouterr().out
    assert printed == f"{shown}\n{shown}# a note\n\n# and another\n\n{shown}"
    assert tables_of(printed) == [[["a", "b"], [" # name", "#"]]] * 3


def test_on_stderr_sentences_stay_sentences(capsys):
    common.Results(stderr=True).print("a sentence")
    assert capsys.readouterr().err == "a sentence\n"


EXAMPLES = "python/airqueue/examples"
COMMANDS = {
    f"simulate {EXAMPLES}/simulate/saturated-cell.toml --set duration='200 ms' --replications 2": 5,
    f"sweep {EXAMPLES}/sweep/buffer-size.toml --list": 1,
    "simulate --devices": 4,
    "model": 1,
    "model bianchi n=10": 1,
    "model bianchi n=5,10": 2,
    "examples": 5,
    "schema": 1,
    "emulate --list": 1,
    "reproduce --list": 1,
}
"""Commands, and how many tables each prints at least."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_nothing_but_tables_and_comments(runner, monkeypatch, command):
    monkeypatch.chdir(ROOT)
    done = runner.invoke(main, shlex.split(command))
    assert done.exit_code == 0, done.output
    assert len(tables_alone(done.stdout)) >= COMMANDS[command]


def test_advice_has_its_tables_before_the_lines_to_paste(runner):
    done = runner.invoke(main, shlex.split("size ap --rate 54mbit --rtt 100ms --for tc"))
    found, simulated, rules, *pasted = tables_of(done.stdout)
    assert found[0] == ["what", "value", "why"]
    assert simulated[0][:3] == ["queue", "packets", "TCP gets"]
    assert rules[0] == ["rule", "packets", "bytes", "full delay", "in use, by the rule"]
    assert "\n# Rules of thumb\nrule\t" in done.stdout
    assert pasted and all(len(row) == 1 for block in pasted for row in block)


def test_a_long_value_of_a_sweep_is_whole_elsewhere(monkeypatch):
    for terminal, longest in ((False, None), (True, 40)):
        monkeypatch.setattr(common.Results, "is_terminal", terminal)
        limit = sweep_tables._longest(common.stdout())
        assert limit == longest
        written = sweep_tables._written("x" * 60, limit)
        assert len(written) == (longest or 60)


@pytest.fixture
def cell(tmp_path):
    (tmp_path / "cell.toml").write_text(
        CELL.replace("[[flows]]", "[tcp]\nlike = 'linux'\n[[flows]]"), "utf-8"
    )
    return ["simulate", "cell.toml", "--replications", "1"]


def test_quiet_is_silent_on_stderr_but_for_errors(runner, cell):
    said = runner.invoke(main, cell)
    assert said.stderr.startswith("Warning: tcp.like is now called tcp.stack")
    for asked in ([*cell, "-q"], ["--quiet", *cell]):
        quiet = runner.invoke(main, asked)
        assert (quiet.exit_code, quiet.stderr, quiet.stdout) == (0, "", said.stdout)
    assert runner.invoke(main, cell).stderr == said.stderr, (
        "only the command that is asked is quiet"
    )
    assert runner.invoke(main, ["simulate", "none.toml", "-q"]).stderr.startswith(
        "Error: none.toml"
    )


def test_verbose_says_what_is_read_and_written(runner, cell):
    said = runner.invoke(main, [*cell, "-v", "--json", "out.json"]).stderr
    assert re.search(r"^ +0\.\d+ s  airqueue \S+, Python \S+\.$", said, re.MULTILINE)
    for words in ("reading cell.toml", "wrote out.json", "done"):
        assert re.search(rf"^ +\d+\.\d+ s  {words}\.$", said, re.MULTILINE), said
    assert said.count("done.") == 1


def every_command(group, context, above=()):
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if (
            name in ("apply", "confirm", "restore", "status", "places", "watch", "flows")
            and not above
        ):
            continue
        yield " ".join((*above, name)), command
        if hasattr(command, "commands") and command.commands:
            yield from every_command(command, context, (*above, name))


def test_every_command_has_the_options_with_one_meaning():
    found = dict(every_command(main, main.make_context("airqueue", ["schema"])))
    assert {"simulate", "size ap", "testbed measure", "ctl set"} <= set(found)
    for name, command in found.items():
        options = {word: param for param in command.params for word in param.opts}
        assert {*talk.SHARED} <= set(options), name
        assert options["-q"] is options["--quiet"], name
        assert options["-q"].help == "On stderr errors alone.", name


def test_no_progress_shows_none(monkeypatch):
    from airqueue.cli import progress  # noqa: PLC0415 - reads what is asked when it is made

    monkeypatch.setattr(Console, "is_terminal", True)
    try:
        assert progress.Display()._live
        talk.talk.progress = False
        assert not progress.Display()._live
    finally:
        talk.begin()


def test_colours_follow_no_color(monkeypatch):
    def colours() -> str:
        console = common.stdout()
        console.file = io.StringIO()
        console.print("text", style="red")
        return console.file.getvalue()

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31m" in colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in colours()


def test_prose_wraps_in_its_column_and_values_stay_whole():
    made = Table("what", "why")
    made.add_row("10,240 packets", "one two three four five six seven eight nine ten")
    made.add_section()
    made.add_row("基地", "short")
    assert [line.text for line in made.lines(40)] == [
        "┏━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━┓",
        "┃ what           ┃ why                 ┃",
        "┡━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━┩",
        "│ 10,240 packets │ one two three four  │",
        "│                │ five six seven      │",
        "│                │ eight nine ten      │",
        "├────────────────┼─────────────────────┤",
        "│ 基地           │ short               │",
        "└────────────────┴─────────────────────┘",
    ]
    # "10,240 packets" and "three", in a frame of seven.
    assert made.fits(14 + 5 + 7)
    assert not made.fits(14 + 5 + 6)


def test_lines_are_ascii_where_the_stream_is():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    made = Table("name")
    made.add_row("ap")
    Console(file=stream, width=80).print(made)
    stream.seek(0)
    assert stream.read() == "+------+\n| name |\n+------+\n| ap   |\n+------+\n"


def test_programs_keep_their_colours_and_do_not_move_the_cursor():
    assert colours_alone("10 %\r\x1b[2K20 %\r") == "20 %"
    assert colours_alone("\x1b[1;31mred\x1b[3A\x07!") == "\x1b[1;31mred!\x1b[0m"
    assert colours_alone("\x1b]0;title\x07text") == "text"


def test_live_lines_are_erased_as_far_as_they_were_drawn(monkeypatch):
    monkeypatch.setenv("LINES", "5")
    stream = io.StringIO()
    console = Console(file=stream, width=10)
    with Live(console, lambda: ["first", "a line that is too long", "3", "4", "5"]) as live:
        live.print_above(["stays"])
    text = stream.getvalue()
    assert "a line tha\n" in text
    assert "5" not in text.replace("\x1b[?25", "")
    # Of five lines one is the cursor's.
    assert "\x1b[4A\r\x1b[Jstays\nfirst\n" in text
    assert text.endswith("\x1b[4A\r\x1b[J\x1b[?25h")
