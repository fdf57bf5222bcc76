"""A hundred wrong inputs over all commands: one sentence each, the right exit code, no traceback.

Each is tried in a process whose locale is C and whose streams take ASCII alone, too.
"""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from airqueue.cli import elsewhere, examples, main
from tests.simulate.test_devices import CELL

FAILED, USAGE = 1, 2

FILES: dict[str, str | bytes] = {
    "cell.toml": CELL,
    "empty.toml": "",
    "mark.toml": codecs.BOM_UTF8 + CELL.replace("802.11g", "802.11q").encode(),
    "wide.toml": CELL.replace("802.11g", "802.11q").encode("utf-16"),
    "latin.toml": "name = 'Café'".encode("latin-1"),
    "zeros.toml": bytes(64),
    "no.toml": "= 1",
    "twice.toml": "a = 1\na = 2\n",
    "open.toml": 'a = "1',
    "large.toml": b"#" * (1 << 20) + b"##",
    "deep.toml": "a = " + "[" * 4000 + "]" * 4000,
    "dots.toml": ".".join("a" * 60) + " = 1",
    "word.toml": CELL.replace("802.11g", "802.11é漢"),
    "unit.toml": CELL.replace("200 ms", "200"),
    "name.toml": CELL.replace('"phone"', '"ph one"'),
    "date.toml": CELL.replace('"200 ms"', "2020-01-01"),
    "nan.toml": CELL.replace('"200 ms"', "nan"),
    "huge.toml": CELL.replace('"200 ms"', '"1e300 s"'),
    "none.toml": CELL.replace('"200 ms"', '"0 s"'),
    "like.toml": CELL.replace('name = "ap"', 'name = "ap"\nlike = "openwrt"'),
    "many.toml": CELL.replace('name = "ap"', 'name = "ap"\ncount = 1000000'),
    "flow.toml": CELL.replace('to = "ap"', 'to = "app"'),
    "queue.toml": CELL.replace('name = "ap"', 'name = "ap"\nqueue = "pfifo:many"'),
    "sweep.toml": 'scenario = "cell.toml"\n[parameters]\n"phy.standard" = ["802.11q"]\n',
    "sweep-none.toml": 'scenario = "cell.toml"\n',
    "sweep-far.toml": 'scenario = "there/is/none.toml"\n[parameters]\nduration = ["1 s"]\n',
    "sweep-key.toml": 'scenario = "cell.toml"\nparamters = 3\n',
    "sweep-until.toml": (
        'scenario = "cell.toml"\n[parameters]\nduration = ["1 s"]\n[until]\n"flows.up.none" = 0.1\n'
    ),
    "mesh.toml": "[[nodes]]\n",
    "result.json": "{",
    "other.json": '{"format": "something else"}',
    "list.json": "[]",
    "empty.json": "",
    "not.capture": b"AIRQ" + bytes(40),
    "empty.capture": b"",
    "log.txt": "this is no log\n",
    "key": b"",
    "roof.iw": "nothing of iw",
    "chain.toml": Path(examples.FOLDER, "mesh", "chain.toml").read_bytes(),
    "deep.json": "[" * 100_000 + "]" * 100_000,
}

CASES: list[tuple[int, str]] = [
    # The command itself.
    (USAGE, "simulat"),
    (USAGE, "--colour"),
    # simulate
    (USAGE, "simulate"),
    (FAILED, "simulate there-is-none.toml"),
    (FAILED, "simulate ."),
    (FAILED, "simulate cell.toml/more"),
    *(
        (FAILED, f"simulate {name}")
        for name in FILES
        if name.endswith(".toml")
        and name.partition("-")[0]
        not in ("sweep.toml", "sweep", "cell.toml", "mesh.toml", "chain.toml")
    ),
    (FAILED, "simulate -"),
    (USAGE, "simulate cell.toml --seed -1"),
    (USAGE, "simulate cell.toml --seed x"),
    (USAGE, "simulate cell.toml --replications 0"),
    (USAGE, "simulate cell.toml --workers none"),
    (USAGE, "simulate cell.toml --set nothing"),
    (USAGE, "simulate cell.toml --set duration=1..5"),
    (FAILED, "simulate cell.toml --set phy.standrad=802.11n"),
    (FAILED, "simulate cell.toml --set stations.fon.count=3"),
    (FAILED, "simulate cell.toml --set duration=1parsec"),
    (USAGE, "simulate cell.toml --series 1s"),
    (USAGE, "simulate cell.toml --csv rows --series soon"),
    (USAGE, "simulate cell.toml --force"),
    (USAGE, "simulate cell.toml --pcap-station ap"),
    (USAGE, "simulate cell.toml --pcap x.pcap --pcap-station nobody"),
    (FAILED, "simulate cell.toml --pcap no/such/folder.pcap"),
    (FAILED, "simulate cell.toml --json no/such/folder.json"),
    (FAILED, "simulate cell.toml --report ."),
    (FAILED, "simulate cell.toml --out cell.toml"),
    (FAILED, "simulate cell.toml --trace nobody=x"),
    (FAILED, "simulate cell.toml --trace nobody:ap=x.mahi"),
    # sweep
    (USAGE, "sweep"),
    (FAILED, "sweep there-is-none.toml"),
    (FAILED, "sweep sweep.toml"),
    (FAILED, "sweep sweep-none.toml"),
    (FAILED, "sweep sweep-far.toml"),
    (FAILED, "sweep sweep-key.toml"),
    (FAILED, "sweep sweep-until.toml"),
    (FAILED, "sweep latin.toml"),
    (FAILED, "sweep -"),
    (USAGE, "sweep sweep.toml --show nothing"),
    (USAGE, "sweep sweep.toml --workers 2 --cluster tcp://127.0.0.1:1"),
    # model
    (USAGE, "model bianci"),
    (USAGE, "model bianchi n"),
    (USAGE, "model bianchi n=many"),
    (USAGE, "model bianchi m=3"),
    (USAGE, "model bianchi n=1..1e9"),
    (USAGE, "model bianchi n=-1"),
    (FAILED, "model bianchi n=10 --json no/such/folder.json"),
    # size
    (USAGE, "size mes"),
    (USAGE, "size ap"),
    (USAGE, "size ap --rate fast --rtt 20ms"),
    (USAGE, "size ap --rate 54mbit --rtt -1ms"),
    (FAILED, "size ap result.json"),
    (FAILED, "size ap other.json"),
    (FAILED, "size ap there-is-none.json"),
    (FAILED, "size ap not.capture"),
    (FAILED, "size ap deep.json"),
    (FAILED, "size ap empty.json"),
    (USAGE, "size ap --rate 54mbit --rtt 20ms --phy nonsense"),
    (USAGE, "size ap --rate 55mbit --rtt 20ms"),
    (USAGE, "size edca --uploads 0 --downloads 0"),
    (USAGE, "size edca --uploads 1 --downloads 1 --rate 7mbit"),
    (USAGE, "size edca --uploads 1 --downloads 1 --plan p --plan-sets uci"),
    (USAGE, "size edca --uploads 1 --downloads 1 --most-packets 3"),
    (FAILED, "size mesh empty.toml"),
    (USAGE, "size mesh chain.toml --radio nonsense"),
    (FAILED, "size mesh mesh.toml"),
    (FAILED, "size mesh zeros.toml"),
    (FAILED, "size mesh word.toml"),
    (FAILED, "size mesh-file roof.iw --flow roof,tower"),
    (FAILED, "size mesh-file - --flow roof,tower"),
    (USAGE, "size mesh-file"),
    # measurements
    (FAILED, "analyze not.capture"),
    (FAILED, "analyze empty.capture"),
    (FAILED, "analyze there-is-none.capture"),
    (FAILED, "analyze --format mgen log.txt"),
    (FAILED, "analyze --format mgen zeros.toml"),
    (USAGE, "analyze not.capture not.capture"),
    (USAGE, "analyze"),
    (FAILED, "compare result.json other.json"),
    (FAILED, "compare list.json empty.json"),
    (USAGE, "compare result.json"),
    (FAILED, "compare - -"),
    (USAGE, "measure"),
    (USAGE, "measure host --port 99999"),
    (USAGE, "measure host --sizes 1500,1500"),
    (USAGE, "measure host --max-wait soon"),
    (FAILED, "measure 127.0.0.1 --key-file key"),
    (FAILED, "measure 127.0.0.1 --key-file there-is-none"),
    (FAILED, "measure 127.0.0.1 --capture no/such/folder.capture"),
    (USAGE, "server --max-rate fast"),
    (FAILED, "server --key-file key"),
    (FAILED, "diagnose --from result.json"),
    (FAILED, "diagnose --from list.json"),
    (USAGE, "diagnose --for never"),
    (USAGE, "testbed measure --queue fifo:5"),
    (USAGE, "testbed measure --rate 1"),
    # emulations
    (USAGE, "emulate"),
    (FAILED, "emulate home-evenin -- true"),
    (FAILED, "emulate - -- true"),
    (FAILED, "emulate word.toml -- true"),
    (FAILED, "ctl --control there-is-none show"),
    (USAGE, "ctl set"),
    # what comes with airqueue
    (USAGE, "examples hidden-terminal"),
    (USAGE, "examples --path"),
    (USAGE, "schema measurment"),
    (USAGE, "completion tcsh"),
    (USAGE, "reproduce --budget huge"),
    (USAGE, "reproduce http.none --list"),
    (FAILED, "apply there-is-none.json"),
]


def commands() -> set[str]:
    return {text.split()[0] for _, text in CASES}


def test_there_are_a_hundred_and_all_commands_have_some():
    assert len(CASES) == len(set(CASES)) >= 100
    passed_on = {"confirm", "restore", "status", "places", "watch", "flows"}
    assert set(main.list_commands(None)) - passed_on <= commands()  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bad")
    for name, content in FILES.items():
        data = content if isinstance(content, bytes) else content.encode()
        (made / name).write_bytes(data)
    return made


PROGRAM = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from airqueue.cli import main

class Stream(io.TextIOWrapper):
    pass

answers = []
for text in json.load(open(sys.argv[1])):
    out, err = (Stream(io.BytesIO(), sys.stdout.encoding, write_through=True) for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"= 1"))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(text.split(), prog_name="airqueue")
            code = 0
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            code = f"{type(error).__name__}: {error}"
    answers.append((code, err.buffer.getvalue().decode("latin-1")))
sys.__stdout__.write(json.dumps(answers))
"""


@pytest.fixture(scope="module", params=["utf-8", "ascii"])
def answers(request, folder, tmp_path_factory) -> dict[str, tuple[int, str]]:
    """Exit code and stderr of each case, in a process with this encoding."""
    cases = tmp_path_factory.mktemp("cases") / "cases.json"
    asked = [text for _, text in CASES if text != "apply there-is-none.json"]
    cases.write_text(json.dumps(asked), "utf-8")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    env |= {"XDG_CACHE_HOME": str(folder / "cache")}
    env.pop("AIRQUEUE_KEY", None)
    if request.param == "ascii":
        env |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    else:
        env |= {"PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(cases)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return dict(zip(asked, map(tuple, json.loads(done.stdout)), strict=True))


@pytest.mark.parametrize(
    ("code", "text"),
    [case for case in CASES if case[1] != "apply there-is-none.json"],
    ids=[text for _, text in CASES if text != "apply there-is-none.json"],
)
def test_a_wrong_input_gets_one_sentence(answers, code, text):
    if text.startswith("reproduce") and not elsewhere._installed() & {"reproduce"}:
        pytest.skip("airqueue-papers is not installed")
    got, said = answers[text]
    assert got == code, said
    assert "Traceback" not in said
    errors = [line for line in said.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, said
    # Of wrong usage the lines above say how the command is used; nothing follows the sentence, but
    # for several errors of a file a line each.
    following = said.splitlines()[said.splitlines().index(errors[0]) + 1 :]
    several = errors[0].endswith(":")
    assert bool(following) == several, said
    assert all(line.endswith((".", "?")) for line in following)
    assert said.isascii() or code == USAGE or "\\x" not in said
    assert several or errors[0].endswith((".", "?", "!", "?)")), said
    assert len(errors[0]) < 700


def test_commands_of_the_daemon_answer_as_it_does(folder):
    done = subprocess.run(
        [sys.executable, "-m", "airqueue", "apply", "--dry-run", "there-is-none.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in (1, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
