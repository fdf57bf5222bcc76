"""The control socket of an emulation, and `airqueue ctl`: what they change, and hostile clients."""

from __future__ import annotations

import errno
import importlib
import json
import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.emulate import EmulationError, control, emulate
from airqueue.emulate.live import Live
from airqueue.emulate.serving import Server
from airqueue.simulate import ScenarioError

COMMAND = [sys.executable, "-m", "airqueue"]
SHOW = b'{"version": 1, "do": "show"}\n'


class Network:
    """Stands in for a network: keeps what it is asked to change."""

    name = "a network"

    def __init__(self) -> None:
        self.changes: list[Any] = []

    def change(self, change: Any) -> float:
        if change.get("station") == "nobody":
            raise ScenarioError("the change is refused: station: there is no station")
        self.changes.append(change)
        return 1.5


class Figures:
    """Stands in for the figures of the last seconds; ``size`` makes answers long."""

    def __init__(self, size: int = 0) -> None:
        self.size = size

    def figures(self) -> Any:
        return {"duration_s": 3.0, "pairs": {"x" * self.size: {}}}


def service(size: int = 0) -> control.Control:
    return control.Control(Network(), Figures(size))  # type: ignore[arg-type]


@contextmanager
def served(path: Path, of: control.Control | None = None) -> Iterator[Path]:
    listener, _ = control.listen(path)
    with Server(listener, of or service(), "test"):
        yield path


def connect(path: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(20)
    client.connect(str(path))
    return client


def read_all(client: socket.socket) -> bytes:
    found = bytearray()
    while data := client.recv(65_536):
        found += data
    return bytes(found)


def answers(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"", "a JSON object"),
        (b"\xff\xfe", "a JSON object"),
        (b"[1]", "a JSON object"),
        (b"[" * 60_000, "a JSON object"),
        (b"1" * 60_000, "a JSON object"),
        (b"{}", "version 1"),
        (b'{"version": 2, "do": "show"}', "version 1"),
        (b'{"version": 1}', '"do" is one of show, change, report'),
        (b'{"version": 1, "do": []}', '"do" is one of'),
        (b'{"version": 1, "do": "exit"}', '"do" is one of'),
        (b'{"version": 1, "do": "show", "more": 1}', "unknown key 'more'"),
        (b'{"version": 1, "do": "change"}', '"change" is an object'),
        (b'{"version": 1, "do": "change", "change": 1}', '"change" is an object'),
        (b'{"version": 1, "do": "change", "change": {"station": "nobody"}}', "no station"),
        (b'{"version": 1, "do": "report"}', "the request failed"),
    ],
)
def test_a_wrong_request_gets_one_sentence(line, says):
    buffer = bytearray(line + b"\nrest")
    answer = service().answer(buffer)
    assert answer is not None
    text, stays = answer
    (reply,) = answers(text)
    assert (reply["version"], reply["ok"], stays) == (1, False, True)
    assert says in reply["error"]
    assert buffer == b"rest"


def test_the_page_has_every_request_and_limit():
    page = (Path(__file__).parents[2] / "docs" / "emulate.md").read_text("utf-8")
    for do in service()._does:
        assert f"| `{do}` |" in page
    assert f'"version": {control.VERSION}' in page
    assert f"at most {control.MOST_BYTES} bytes" in page
    assert f"`{control.VARIABLE}`" in page
    commands = importlib.import_module("airqueue.cli.ctl").ctl.commands
    for command in commands:
        assert re.search(rf"^\| .*`{command}\b", page, re.MULTILINE), command


def test_requests_are_answered_in_order(tmp_path):
    with served(tmp_path / "s") as path, connect(path) as client:
        change = b'{"version": 1, "do": "change", "change": {"host": "server", "loss": 0.5}}\n'
        client.sendall(SHOW + b"nonsense\n" + change + SHOW[:5])
        client.sendall(SHOW[5:])
        client.shutdown(socket.SHUT_WR)
        replies = answers(read_all(client))
    assert [each["ok"] for each in replies] == [True, False, True, True]
    assert replies[0]["result"]["scenario"] == "a network"
    assert replies[2]["result"] == {"at_s": 1.5}


def test_the_socket_is_the_users_alone_and_goes_with_the_emulation(tmp_path):
    path = tmp_path / "s"
    with control.serve(path, Network(), Figures()):  # type: ignore[arg-type]
        mode = path.lstat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
        assert [each.name for each in tmp_path.iterdir()] == ["s"]
    assert not path.exists()


def test_a_dead_socket_is_replaced_and_a_live_one_is_not(tmp_path):
    path = tmp_path / "s"
    listener, _ = control.listen(path)
    with pytest.raises(EmulationError, match=r"another emulation listens at .*/s: choose another"):
        control.listen(path)
    listener.close()
    assert path.exists()  # as after SIGKILL
    with served(path):
        assert control.ask(path, "show")["duration_s"] == 3.0


def test_what_cannot_be_a_socket_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(EmulationError, match="is no socket"):
        control.listen(file)
    assert file.read_text() == "precious"
    with pytest.raises(EmulationError, match="at most 107 bytes"):
        control.listen(tmp_path / ("x" * 120))
    with pytest.raises(FileNotFoundError, match="absent/s"):
        control.listen(tmp_path / "absent" / "s")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_socket_of_another_emulation_is_left(tmp_path):
    path = tmp_path / "s"
    with control.serve(path, Network(), Figures()):  # type: ignore[arg-type]
        path.unlink()
        other, _ = control.listen(path)
    assert path.exists()
    other.close()


def test_a_line_without_end_is_refused(tmp_path):
    with served(tmp_path / "s") as path, connect(path) as client:
        client.sendall(b"x" * (control.MOST_BYTES + 1))
        assert "at most 65536 bytes" in answers(read_all(client))[0]["error"]
        assert control.ask(path, "show")


def test_a_client_too_many_is_told_so_and_the_others_stay(tmp_path):
    with served(tmp_path / "s") as path:
        clients = [connect(path) for _ in range(8)]
        clients[0].sendall(SHOW)
        assert clients[0].recv(65_536)
        with connect(path) as extra:
            assert "too many clients" in answers(read_all(extra))[0]["error"]
        for client in clients:
            client.sendall(SHOW)
            assert answers(client.recv(65_536))[0]["ok"]
            client.close()
        deadline = time.monotonic() + 60
        while True:
            try:
                assert control.ask(path, "show")
                break
            except EmulationError:
                assert time.monotonic() < deadline, "places of clients that left stay taken"


def test_a_client_that_does_not_read_blocks_nobody(tmp_path):
    with served(tmp_path / "s", service(size=1_000_000)) as path, connect(path) as slow:
        for _ in range(50):
            slow.sendall(SHOW)
        for _ in range(3):
            assert control.ask(path, "show")
        # And it gets all its answers when it reads.
        slow.shutdown(socket.SHUT_WR)
        assert len(read_all(slow).splitlines()) == 50


def test_a_client_that_says_nothing_is_closed(tmp_path):
    of = service()
    of.patience_s = 0.2
    with served(tmp_path / "s", of) as path, connect(path) as silent:
        assert read_all(silent) == b""


def test_noise_ends_nothing(tmp_path):
    rng = random.Random(1)
    with served(tmp_path / "s") as path:
        for _ in range(40):
            with connect(path) as client:
                client.sendall(rng.randbytes(rng.randrange(3000)) + b"\n" * rng.randrange(3))
                if rng.random() < 0.5:
                    client.shutdown(socket.SHUT_WR)
                    read_all(client)
        deadline = time.monotonic() + 60
        while True:
            try:
                assert control.ask(path, "show")
                break
            except EmulationError as error:
                assert "too many" in str(error) and time.monotonic() < deadline


def test_asking_where_nobody_answers_is_one_sentence(tmp_path):
    with pytest.raises(EmulationError, match="no emulation listens at"):
        control.ask(tmp_path / "s", "show")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "mute"))
    listener.listen()
    with pytest.raises(EmulationError, match="does not answer"):
        control.ask(tmp_path / "mute", "show", timeout_s=0.1)
    listener.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show"], "Say which emulation"),
        (["--control", "s", "set"], "Missing argument"),
        (["--control", "s", "set", "rate"], "changes nothing"),
        (["--control", "s", "set", "loss=1", "loss=0"], "given twice"),
        (["--control", "s", "pause"], "Missing argument"),
        (["--control", "s", "show", "--json", "--watch"], "leave one of them out"),
    ],
)
def test_wrong_usage_of_ctl_is_one_sentence(arguments, says):
    result = CliRunner().invoke(main, ["ctl", *arguments], env={control.VARIABLE: ""})
    assert result.exit_code == 2
    assert says in result.stderr


def test_ctl_speaks_the_protocol(tmp_path):
    network = Network()
    of = control.Control(network, Figures())  # type: ignore[arg-type]

    def ctl(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["ctl", "--control", str(path), *arguments])
        return done.exit_code, done.stdout + done.stderr

    with served(tmp_path / "s", of) as path:
        assert ctl("set", "host=server", "rate=2 Mb/s", "loss=0.5") == (
            0,
            "Changed 1.500 s after the beginning.\n",
        )
        assert ctl("set", 'link=["ap", "phone"]', "rate=HT-MCS0")[0] == 0
        assert ctl("pause", "phone")[0] == ctl("resume", "phone")[0] == 0
        assert network.changes == [
            {"host": "server", "rate": "2 Mb/s", "loss": 0.5},
            {"link": ["ap", "phone"], "rate": "HT-MCS0"},
            {"station": "phone", "away": True},
            {"station": "phone", "away": False},
        ]
        code, said = ctl("pause", "nobody")
        assert (code, said) == (
            1,
            "Error: the change is refused: station: there is no station.\n",
        )
        assert json.loads(ctl("show", "--json")[1])["duration_s"] == 3.0
    code, said = ctl("show")
    assert code == 1
    assert said.startswith("Error: no emulation listens at")


def pings(net: Any) -> int:
    """Return how many of ten pings from the phone are answered."""
    argv = ["ping", "-q", "-c", "10", "-i", "0.02", "-W", "1", "peer"]
    done = net.host("phone").run(argv, capture_output=True, text=True)
    return int(done.stdout.partition(" packets transmitted, ")[2].split()[0])


@pytest.mark.emulation
def test_a_running_network_changes():
    net = emulate("quiet-flat")
    with pytest.raises(EmulationError, match="is not running"):
        net.change({"station": "phone", "away": True})
    with net, Live(net) as live:
        assert pings(net) == 10
        for change, back in (
            ({"host": "server", "loss": 1.0}, {"host": "server", "loss": 0.0}),
            ({"station": "phone", "away": True}, {"station": "phone", "away": False}),
        ):
            at_s = net.change(change)
            assert pings(net) == 0
            assert net.change(back) > at_s > 0
            # Pings that waited at the phone may be answered late, and are not these.
            assert pings(net) == 10
        net.change({"station": "phone", "away": True})
        assert live.figures()["stations"]["phone"]["away"]
        before = net.report()
        for wrong, says in (
            ({"station": "nobody", "away": True}, "station: there is no station"),
            (
                {"host": "server", "loss": float("nan")},
                "refused: loss: found nan, expected a finite",
            ),
            ({"station": {1}}, "the change is refused"),
            ({}, "it changes nothing"),
        ):
            with pytest.raises(ScenarioError, match=says):
                net.change(wrong)
    report = net.report()
    assert len(report.changes) == len(before.changes) == 5
    assert report.document()["changes"][0]["change"] == {"host": "server", "loss": 1.0}
    with pytest.raises(EmulationError, match="is not running"):
        net.change({"station": "phone", "away": True})


def contenders() -> dict[str, Any]:
    """Two stations that always have a frame for the access point, with equal parameters."""
    names = ("one", "other")
    return {
        "duration": "30 s",
        "warm_up": "1 s",
        "phy": {"standard": "802.11g", "rate": "54 Mb/s"},
        "mac": {"access": "edca"},
        "stations": [
            {"name": "ap"},
            {"name": "phone", "real": True},
            *({"name": n} for n in names),
        ],
        "hosts": [{"name": "server", "link": "ap", "rate": "250 Mb/s", "real": True}],
        "flows": [{"name": n, "from": n, "to": "ap", "source": "saturated"} for n in names],
    }


@pytest.mark.emulation
def test_a_stations_txop_changes_while_traffic_runs(tmp_path):
    """Equal contenders win equally often: their air times are as the frames of their TXOPs.

    In 3 s of simulated time each wins about 1300 times, or 800 with one longer TXOP. The ratio of
    two such counts has a standard deviation of 5 % if accesses are independent; a fifth is four.
    """

    def ratio(net: Any) -> float:
        """Return the air time of one to that of the other in the next 3 s."""
        before = net.moment()
        while (figures := net.moment().since(before))["duration_s"] < 3:
            time.sleep(0.05)
        airtimes = figures["stations"]
        return airtimes["one"]["airtime_ratio"] / airtimes["other"]["airtime_ratio"]

    def ctl(path: Path, *arguments: str) -> None:
        done = CliRunner().invoke(main, ["ctl", "--control", str(path), "set", *arguments])
        assert done.exit_code == 0, done.stderr

    with (
        emulate(contenders()) as net,
        Live(net) as live,
        served(tmp_path / "s", control.Control(net, live)) as path,
    ):
        assert ratio(net) == pytest.approx(1, rel=0.2)
        ctl(path, "station=one", "txop=3 packets")
        assert ratio(net) == pytest.approx(3, rel=0.2)
        ctl(path, "station=other", "txop=3 packets")
        assert ratio(net) == pytest.approx(1, rel=0.2)
    changes = [each["change"] for each in net.report().document()["changes"]]
    assert [change["station"] for change in changes] == ["one", "other"]


@pytest.mark.emulation
def test_figures_are_those_of_the_last_seconds():
    with emulate("quiet-flat") as net, Live(net) as live:
        assert pings(net) == 10
        deadline = time.monotonic() + 60
        while (figures := live.figures())["duration_s"] < 2.5 or figures["pairs"]["phone->server"][
            "delivered_packets"
        ]:
            assert time.monotonic() < deadline, "old packets stay in the figures"
            time.sleep(0.1)
        pair = figures["pairs"]["phone->server"]
        assert (pair["delivered_bps"], pair["delay_p50_s"]) == (0.0, None)
        earlier = net.moment()
        assert pings(net) == 10
        pair = net.moment().since(earlier)["pairs"]["phone->server"]
        assert pair["delivered_packets"] == pair["offered_packets"] == 10
        # 84 bytes each; a hop over the air and a line of 10 ms.
        assert 0 < pair["delay_p50_s"] < 5
        totals = net.moment().totals()
        assert totals["pairs"]["phone->server"]["delivered_packets"] == 20
        assert totals["stations"]["phone"]["airtime_s"] > 0


@pytest.mark.emulation
def test_a_program_controls_the_network_that_it_is_in(tmp_path):
    ctl = f"{sys.executable} -m airqueue ctl"
    script = f"""
        set -e
        ping -q -c 3 -i 0.02 peer
        {ctl} pause phone
        ! ping -q -c 3 -i 0.02 -W 1 peer
        {ctl} show | grep away
        {ctl} resume phone
        {ctl} set host=server delay='1 ms' rate='5 Mb/s'
        ping -q -c 3 -i 0.02 peer
        {ctl} report | grep -c at_s
        ! {ctl} pause nobody
    """
    path, result = tmp_path / "s", tmp_path / "result.json"
    done = subprocess.run(
        [
            *(*COMMAND, "emulate", "quiet-flat", "--control", path, "--json", result),
            *("--at", "phone", "--", "sh", "-c", script),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Error: the change is refused: station: there is no station" in done.stderr
    changed = [each["change"] for each in json.loads(result.read_text())["changes"]]
    assert changed == [
        {"station": "phone", "away": True},
        {"station": "phone", "away": False},
        {"host": "server", "delay": "1 ms", "rate": "5 Mb/s"},
    ]
    assert not path.exists()


@contextmanager
def running(path: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [
            *(*before, *COMMAND, "emulate", "quiet-flat", "--control", str(path), "--metrics", "0"),
            *("--at", "phone", "--", "sh", "-c", "echo ready; exec sleep 100"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def wait_until_dead(path: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == errno.ECONNREFUSED:
                return
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.emulation
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_socket_goes_also_when_the_command_is_killed(tmp_path, number):
    path = tmp_path / "s"
    with running(path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        assert control.ask(path, "show")["pairs"]
        process.send_signal(number)
        process.wait(60)
    # What SIGKILL leaves is dead as soon as the kernel has ended all processes, and is replaced.
    assert path.exists() == (number == signal.SIGKILL)
    if path.exists():
        wait_until_dead(path)
        with served(path):
            assert control.ask(path, "show")


@pytest.mark.emulation
def test_a_second_emulation_at_the_same_path_is_refused(tmp_path):
    path = tmp_path / "s"
    with running(path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        done = subprocess.run(
            [*COMMAND, "emulate", "quiet-flat", "--control", path, "--", "true"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1
        assert "another emulation listens at" in done.stderr
        assert control.ask(path, "show")["pairs"]


@pytest.mark.emulation
def test_socket_and_port_are_reachable_from_outside_without_root(tmp_path):
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (Debian package util-linux) is not installed")
    # As in test_emulate_life.py: the command goes on in a user namespace.
    drop = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"]
    path = tmp_path / "s"
    with running(path, *drop) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        assert control.ask(path, "show")["pairs"]
        said = process.stderr.readline() + process.stderr.readline()
        port = int(said.partition("127.0.0.1:")[2].partition("/metrics")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"airqueue_station_airtime_seconds_total" in read_all(client)


def test_programs_find_the_variable_of_the_library():
    from airqueue.cli import ctl  # noqa: PLC0415

    assert ctl._VARIABLE == control.VARIABLE
    assert os.environ.get(control.VARIABLE) is None
