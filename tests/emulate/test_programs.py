"""Real programs inside emulated networks: what they find, what they exchange, how they end.

Real time: behaviour is asserted, and times to an order of magnitude only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import airqueue
from airqueue.cli import schemas
from airqueue.emulate import EmulatedNetwork, EmulationError, devices, emulate
from airqueue.linux.errors import NamespaceError

pytestmark = pytest.mark.emulation

DEVICES = [
    pytest.param(
        "tun",
        marks=pytest.mark.skipif(bool(devices.why_no_tun()), reason=devices.why_no_tun() or "-"),
    ),
    "veth",
]
AIRQUEUE = [sys.executable, "-m", "airqueue", "emulate"]

ECHO = """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
s.bind(("::", 7))
while True:
    data, who = s.recvfrom(2000)
    s.sendto(data, who)
"""
ASK = """
import os, socket, time
for name in (os.environ["AIRQUEUE_PEER"], os.environ["AIRQUEUE_PEER6"], "peer", "server"):
    family, kind, _, _, address = socket.getaddrinfo(name, 7, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as s:
        s.settimeout(10)
        began = time.monotonic()
        s.sendto(name.encode(), address)
        assert s.recv(100) == name.encode()
        print(family.name, time.monotonic() - began)
"""
# Reports the type of service, with the ECN field, of the first packet of both versions.
SEE_TOS = """
import socket
for family, level, option, any_ in (
    (socket.AF_INET, socket.IPPROTO_IP, socket.IP_RECVTOS, "0.0.0.0"),
    (socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, "::"),
):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(level, option, 1)
    s.bind((any_, 7 + (family == socket.AF_INET6)))
    s.settimeout(20)
    _, control, _, _ = s.recvmsg(100, 100)
    print(family.name, hex(control[0][2][0]), flush=True)
"""
SEND_TOS = """
import os, socket
for family, level, option, to in (
    (socket.AF_INET, socket.IPPROTO_IP, socket.IP_TOS, (os.environ["AIRQUEUE_PEER"], 7)),
    (socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPV6_TCLASS, (os.environ["AIRQUEUE_PEER6"], 8)),
):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(level, option, 0xB9)
    s.sendto(b"x", to)
"""


def run(*arguments: str, timeout: float = 60, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [*AIRQUEUE, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, **options
    )


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def wait_for(host: Any, sockets: int) -> None:
    """Wait until so many sockets of a node wait for packets."""
    deadline = time.monotonic() + 60
    while host.listening() < sockets:
        assert time.monotonic() < deadline, "the program at the other end does not begin"
        time.sleep(0.02)


def echoes(net: EmulatedNetwork) -> list[str]:
    """Ask a program at the server from the phone; return the family and the duration of each echo."""
    net.host("server").popen(python(ECHO))
    wait_for(net.host("server"), 1)
    done = net.host("phone").run(python(ASK), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("device", DEVICES)
def test_both_families_reach_the_peer_by_address_and_by_name(device):
    with emulate("far-station", device=device) as net:
        lines = [line.split() for line in echoes(net)]
        assert {family for family, _ in lines} == {"AF_INET", "AF_INET6"}
        # Two times the line's 10 ms; a loopback takes a hundredth of it, seconds would be a fault.
        assert all(0.02 < float(seconds) < 5 for _, seconds in lines)
    emulated = net.report().emulated
    assert emulated["pairs"]["phone->server"]["delivered_packets"] == 4
    assert emulated["pairs"]["server->phone"]["delivered_packets"] == 4
    assert emulated["written_packets"] == 8
    # Nothing speaks but the programs: no solicitations, no reports of multicast groups.
    assert emulated["refused"] == {}
    assert net.report().device_drops == {"phone": 0, "server": 0}


def test_a_file_arrives_whole(tmp_path):
    content = os.urandom(1_000_000)
    (tmp_path / "file").write_bytes(content)
    server = f"{sys.executable} -m http.server 80 --directory {tmp_path}"
    done = run(
        *("far-station", "--run", f"server={server}", "--at", "phone", "--json", "result.json"),
        *("--", "curl", "--silent", "--show-error", "--fail", "-o", "copy", "http://peer/file"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy").read_bytes() == content
    assert "phone is 10.213.0.1 and fd61:6972:7175::1" in done.stderr
    assert "server → phone" in done.stderr
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert result["exit_code"] == 0
    assert result["emulated"]["pairs"]["server->phone"]["delivered_bytes"] > len(content)
    assert [node["name"] for node in result["nodes"]] == ["phone", "server"]
    assert [node["wired"] for node in result["nodes"]] == [False, True]
    assert "ap" in result["figures"]["stations"]
    assert isinstance(result["trusted"], bool)
    assert result["verdict"][1:] in done.stderr


@pytest.mark.parametrize("device", DEVICES)
def test_codepoints_and_ecn_arrive(device):
    with emulate("quiet-flat", device=device) as net:
        server = net.host("server").popen(python(SEE_TOS), stdout=subprocess.PIPE, text=True)
        wait_for(net.host("server"), 1)
        while server.poll() is None:
            assert net.host("phone").run(python(SEND_TOS)).returncode == 0
        assert server.stdout is not None
        assert server.stdout.read().split() == ["AF_INET", "0xb9", "AF_INET6", "0xb9"]


def test_the_full_fifo_of_a_simulated_download_delays_real_packets():
    with emulate("bloated-fifo") as net:
        echoes(net)
        pairs = net.report().emulated["pairs"]
    down, up = pairs["server->phone"], pairs["phone->server"]
    # In the network's own time, so that a busy machine does not matter.
    assert down["delay_p50_s"] is not None
    assert up["delay_p50_s"] is not None
    assert 0.1 < down["delay_p50_s"] < 1
    assert up["delay_p50_s"] < 0.1
    assert net.report().figures["flows"]["download"]["delivered_packets"] > 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)],
)
def test_the_exit_code_is_the_programs(code, expected):
    done = run("quiet-flat", "--quiet", "--", "sh", "-c", code)
    assert done.returncode == expected
    assert done.stderr == ""


def test_a_program_that_is_not_there_has_the_shells_exit_code():
    done = run("quiet-flat", "--quiet", "--", "no-such-program")
    assert done.returncode == 127
    assert done.stderr == "airqueue: there is no program no-such-program at server.\n"


def test_the_program_has_its_output_and_its_input_to_itself():
    done = run("quiet-flat", "--", "cat", input="as it is\n")
    assert done.returncode == 0
    assert done.stdout == "as it is\n"
    assert "Emulating quiet-flat: phone is" in done.stderr
    asked = run("quiet-flat", "--json", "-", "--at", "phone", "--", "printenv", "AIRQUEUE_NODE")
    found = json.loads(asked.stdout)
    assert found["exit_code"] == 0
    jsonschema.Draft202012Validator(schemas.schema("emulation")).validate(found)
    assert "phone\n" in asked.stderr


def test_the_main_program_runs_at_the_wired_host_and_the_others_end_with_it(tmp_path):
    mark = tmp_path / "ended"
    waits = f"trap 'echo > {mark}; exit 0' TERM; while true; do sleep 0.1; done"
    done = run("quiet-flat", "--run", f"phone={waits}", "--", "printenv", "AIRQUEUE_NODE")
    assert (done.returncode, done.stdout) == (0, "server\n")
    assert mark.exists(), "SIGTERM comes first, so that programs can finish"


def test_without_a_main_program_the_time_ends_the_run():
    began = time.monotonic()
    done = run("quiet-flat", "--duration", "1s", "--json", "-", "--run", "phone=sleep 100")
    assert done.returncode == 0
    assert 1 < time.monotonic() - began < 50
    assert json.loads(done.stdout)["emulated"]["duration_s"] >= 1


def test_the_end_of_the_time_ends_the_main_program_and_a_sentence_says_so():
    done = run("quiet-flat", "--duration", "500 ms", "--at", "phone", "--", "sleep", "100")
    assert done.returncode == 143
    assert "The run was over after 500 ms, and ended sleep 100 (exit code 143)." in done.stderr


def test_without_a_main_program_the_end_of_the_others_ends_the_run():
    done = run("quiet-flat", "--run", "phone=exit 5", "--run", "server=true")
    assert done.returncode == 5
    assert "What runs at phone (exit 5) has ended with exit code 5." in done.stderr


def test_a_shell_says_where_it_is():
    done = run(
        "quiet-flat",
        *("--shell", "phone"),
        input="echo at $AIRQUEUE_NODE, as $PS1\nexit 3\n",
        env={**os.environ, "SHELL": "/bin/sh"},
    )
    assert done.returncode == 3
    assert done.stdout == "at phone, as (phone) $\n"


def test_more_nodes_can_be_real_and_find_each_other():
    node = 'test -n "$AIRQUEUE_ADDRESS_TV" && getent hosts tv && getent hosts peer'
    done = run("bloated-fifo", "--real", "tv", "--quiet", "--at", "phone", "--", "sh", "-c", node)
    assert done.returncode == 0
    assert "tv" in done.stdout
    assert "server peer" in done.stdout


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_no_run_has_is_one_sentence(seed):
    with pytest.raises(EmulationError, match="expected a whole number from 0 to 4294967295"):
        emulate("quiet-flat", seed=seed)


def test_wrong_nodes_and_wrong_scenarios_are_one_sentence(tmp_path):
    for arguments, says in (
        (["quiet-flat", "--at", "cellar", "--", "true"], 'no station, host or group "cellar"'),
        (["quiet-flat", "--set", "phy.rate=3 Mb/s", "--", "true"], "phy.rate"),
        (["quiet-flat", "--set", "phy.rate", "--", "true"], "changes nothing"),
        (["absent.toml", "--", "true"], "absent.toml"),
        (["quiet-fla", "--", "true"], "did you mean quiet-flat"),
    ):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode in (1, 2)
        assert says in done.stderr
        assert "Traceback" not in done.stderr


# Sends packets that need 300 ms, and stops the emulator, the second process of the PID namespace, for
# longer: these packets are late by most of a second on any machine.
STOP_THE_EMULATOR = """
import os, signal, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20):
    s.sendto(b"x", (os.environ["AIRQUEUE_PEER"], 7))
time.sleep(0.1)
os.kill(2, signal.SIGSTOP)
time.sleep(1)
os.kill(2, signal.SIGCONT)
time.sleep(0.5)
"""


@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 3)])
def test_strict_has_an_exit_code_of_its_own_where_packets_were_late(strict, code):
    slow = ["--set", "hosts.server.delay=300 ms", "--at", "phone"]
    done = run("quiet-flat", *slow, *strict, "--", *python(STOP_THE_EMULATOR))
    assert done.returncode == code
    assert "more than 1 ms late" in done.stderr
    assert "o not trust the delays of this run" in done.stderr


@pytest.mark.parametrize("quiet", [["-q", "emulate"], ["emulate", "-q"]])
def test_nothing_is_said_of_a_run_that_went_well_wherever_quiet_stands(quiet):
    words = [*quiet, "quiet-flat", "--at", "phone", "--", "true"]
    argv = [sys.executable, "-m", "airqueue", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# The same while nothing is under way: the packets come while the emulator is stopped.
SEND_TO_THE_STOPPED = """
import os, signal, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
time.sleep(0.3)
os.kill(2, signal.SIGSTOP)
for _ in range(20):
    s.sendto(b"x", (os.environ["AIRQUEUE_PEER"], 7))
time.sleep(1)
os.kill(2, signal.SIGCONT)
time.sleep(0.5)
"""


def test_packets_that_come_while_the_emulator_is_stopped_are_late():
    done = run(
        *("quiet-flat", "--strict", "--json", "-", "--at", "phone", "--"),
        *python(SEND_TO_THE_STOPPED),
    )
    assert done.returncode == 3, done.stderr
    assert "o not trust the delays of this run" in done.stderr
    assert json.loads(done.stdout)["emulated"]["read_late_max_s"] > 0.8


def test_an_emulation_runs_once_and_is_over_after_the_with_statement(tmp_path):
    with emulate("quiet-flat") as net:
        with pytest.raises(EmulationError, match="not a real node; real nodes are phone, server"):
            net.host("cellar")
        left = net.host("phone").popen(["sleep", "1000"])
        # A process that has left its session and its parent.
        away = ["sh", "-c", f"setsid sleep 1000 & echo $! > {tmp_path}/pid"]
        net.host("server").run(away)
        orphan = int((tmp_path / "pid").read_text())
        assert runs(orphan)
    assert left.poll() is not None
    assert not runs(orphan)
    assert net.report().emulated["duration_s"] > 0
    with pytest.raises(EmulationError, match="not running"):
        net.host("phone")
    with pytest.raises(EmulationError, match="runs once"):
        net.start()


def test_a_program_that_takes_too_long_is_ended():
    with emulate("quiet-flat") as net:
        with pytest.raises(subprocess.TimeoutExpired):
            net.host("phone").run(["sleep", "1000"], timeout=0.5)
        with pytest.raises(subprocess.CalledProcessError):
            net.host("phone").run(["false"], check=True)


def test_without_rights_it_is_one_sentence(monkeypatch):
    monkeypatch.setattr("airqueue.linux.privileges.has_capabilities", lambda: False)
    with pytest.raises(NamespaceError, match="run as root"), EmulatedNetwork("quiet-flat"):
        pass


def test_an_interrupt_is_the_programs_to_handle(tmp_path):
    code = "trap 'exit 9' INT; echo ready; while true; do sleep 0.1; done"
    process = subprocess.Popen(
        [*AIRQUEUE, "quiet-flat", "--quiet", "--", "sh", "-c", code], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 9


def test_the_package_is_called_as_its_function():
    with airqueue.emulate("quiet-flat") as net:
        assert net.host("phone").run(["true"]).returncode == 0


@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_a_program_gets_an_interrupt_once(send):
    code = (
        "import signal, sys, time; got = []\n"
        "signal.signal(signal.SIGINT, lambda *of: (got.append(1), print('got', flush=True)))\n"
        "print('ready', flush=True); sys.stdin.readline(); sys.exit(10 + len(got))"
    )
    process = subprocess.Popen(
        [*AIRQUEUE, "quiet-flat", "--quiet", "--", sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    for count in range(1, 4):
        send(process.pid, signal.SIGINT)
        assert process.stdout.readline() == b"got\n"
        time.sleep(0.4)  # more of them would come now
        assert select.select([process.stdout], [], [], 0)[0] == [], count
    process.stdin.write(b"\n")
    process.stdin.close()
    assert process.wait(60) == 13


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_and_the_result_is_still_written(number, tmp_path):
    code = "echo ready; exec sleep 1000"
    result = tmp_path / "result.json"
    process = subprocess.Popen(
        [*AIRQUEUE, "quiet-flat", "--quiet", "--json", str(result), "--", "sh", "-c", code],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert json.loads(result.read_text("utf-8"))["exit_code"] == 128 + number


def test_ctrl_c_without_a_main_program_ends_the_run_with_its_result(tmp_path):
    result = tmp_path / "result.json"
    mark = tmp_path / "mark"
    program = f"phone=echo > {mark}; sleep 1000"
    process = subprocess.Popen(
        [*AIRQUEUE, "quiet-flat", "--quiet", "--json", str(result), "--run", program]
    )
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert Path(result).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_long_warm_up(number):
    process = subprocess.Popen(
        [*AIRQUEUE, "home-evening", "--set", "warm_up=1000000 s", "--", "true"],
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith(b"Emulating home-evening: ")
    time.sleep(0.5)
    process.send_signal(number)
    try:
        assert process.wait(60) == 128 + number
    finally:
        process.kill()
        process.stderr.close()
