"""Emulations on the virtual clock: repeatable to the byte, and without effect on the host."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from test_veth import SEGMENTS

from airqueue.cli import emulate_exact, main
from airqueue.emulate import EmulationError, Order, Program, catalogue, exact
from airqueue.linux.errors import MachineError
from airqueue.linux.virtual import machine
from airqueue.simulate import Scenario
from machines import machines, machines_left

AIRQUEUE = [sys.executable, "-m", "airqueue", "emulate"]

# Both write all packets of the node, with the kernel's time stamps, into a file.
CAPTURE = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
s.bind(("airqueue0", 3))
s.setsockopt(socket.SOL_SOCKET, 35, 1)
with open(sys.argv[1], "wb") as file:
    while True:
        data, control, _, _ = s.recvmsg(2000, 100)
        file.write(control[0][2] + data)
        file.flush()
"""
# UDP packets with random contents at random times, and TCP from the kernel.
TALK = """
import os, random, socket, time, urllib.request
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(100):
    s.sendto(os.urandom(random.randrange(1400)), (os.environ["AIRQUEUE_PEER"], 9))
    time.sleep(random.expovariate(500))
for _ in range(3):
    page = urllib.request.urlopen("http://peer:8000/page")
    print(len(page.read()), page.headers["Date"], time.time())
"""

# Receives the datagrams of both families that `SEGMENTS` sends to the port, until nothing comes.
RECEIVE = """
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", 7))
    s.settimeout(2)
    sizes = []
    try:
        while True:
            sizes.append(len(s.recv(65_536)))
    except TimeoutError:
        print(sizes)
"""

pytestmark = pytest.mark.usefixtures("user_mode_linux")


def phone(*argv: str, others: tuple[Program, ...] = (), **options: Any) -> Order:
    return Order(Program("phone", argv), others, **options)


def python(text: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text, *arguments)


def talk(folder: Path, seed: int) -> tuple[bytes, str, bytes]:
    """Return what the program printed, all figures, and the capture.

    The folder for files is the same each time: the result names the programs with their arguments.
    """
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    serve = f"exec '{sys.executable}' -m http.server 8000 --directory '{folder}'"
    capture = str(scratch / "capture")
    order = phone(
        *python(TALK),
        others=(
            Program("server", ("sh", "-c", serve)),
            Program("phone", python(CAPTURE, capture)),
        ),
    )
    # Homes with neighbours are compared to the byte in test_emulated_captures.py.
    done = exact.run("quiet-flat", order, seed=seed, scratch=scratch)
    assert done.exit_code == 0, done.stderr.decode()
    return done.stdout, done.results.to_text(), (scratch / "capture").read_bytes()


def test_one_seed_gives_the_same_bytes_and_another_does_not(tmp_path):
    page = tmp_path / "page"
    page.write_bytes(bytes(100_000))
    first = talk(tmp_path, 1)
    # The other load of the machine must change nothing.
    load = subprocess.Popen(python("while True: pass"))
    try:
        second = talk(tmp_path, 1)
    finally:
        load.kill()
        load.wait()
    assert first == second
    assert len(first[2]) > 300_000
    assert all(mine != other for mine, other in zip(first, talk(tmp_path, 2), strict=True))


@pytest.mark.parametrize(("sender", "receiver"), [("phone", "server"), ("server", "phone")])
def test_datagrams_of_one_call_are_packets_of_their_own(sender, receiver):
    # The program that sends starts a second after the one that receives.
    sends = Program(sender, ("sh", "-c", 'sleep 1; exec "$0" "$@"', *python(SEGMENTS)))
    order = Order(Program(receiver, python(RECEIVE)), (sends,))
    done = exact.run("quiet-flat", order)
    assert done.exit_code == 0, done.stderr.decode()
    assert done.stdout.decode() == f"{[1000] * 20}\n"
    pair = done.results.emulated["pairs"][f"{sender}->{receiver}"]
    assert pair["offered_packets"] == 20
    assert pair["offered_bytes"] == 10 * (1000 + 8 + 20) + 10 * (1000 + 8 + 40)


def test_programs_and_scenarios_have_several_forms(tmp_path):
    scenario = Scenario.from_toml(catalogue.path("quiet-flat"))
    order = Order(Program("phone", ("cat", tmp_path / "file")))
    (tmp_path / "file").write_text("read\n")
    done = exact.run(scenario, order)
    assert (done.exit_code, done.stdout) == (0, b"read\n")


def test_nothing_is_late_on_the_virtual_clock():
    done = exact.run("home-evening", phone("ping", "-c", "20", "-i", "0.1", "peer"))
    emulated = done.results.emulated
    assert done.exit_code == 0
    # A reading of the clock costs a nanosecond, and the kernel counts in steps of 256.
    assert emulated["late_max_s"] < 20e-6
    assert emulated["read_late_max_s"] < 20e-6
    # 19 intervals; then ping waits for the last reply or, where one is missing, for two of the
    # longest round trips.
    longest_s = float(done.stdout.decode().rpartition("mdev = ")[2].split("/")[2]) / 1e3
    assert 1.9 <= emulated["duration_s"] < 1.95 + 2 * longest_s
    assert done.results.exact
    assert done.results.verdict.trusted


def test_programs_write_anywhere_and_only_the_scratch_folder_stays(tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("as before", encoding="ascii")
    scratch = tmp_path / "scratch"
    script = f"""
        echo changed > '{mine}' && cat '{mine}'
        mkdir '{scratch}/below' && echo kept > '{scratch}/below/file'
        cat
        touch /etc/airqueue-was-here && test -e /etc/airqueue-was-here
        echo "to stderr" >&2
        exit 7
    """
    done = exact.run("quiet-flat", phone("sh", "-c", script), scratch=scratch)
    assert (done.exit_code, done.stdout, done.stderr) == (7, b"changed\n", b"to stderr\n")
    assert mine.read_text("ascii") == "as before"
    assert (scratch / "below" / "file").read_text("ascii") == "kept\n"
    assert not Path("/etc/airqueue-was-here").exists()


def test_programs_see_the_directory_the_environment_and_a_date(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_OWN", "it's here")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    script = 'pwd; echo "$MY_OWN $LD_PRELOAD"; date -u +%F; echo $AIRQUEUE_PEER'
    done = exact.run("quiet-flat", phone("sh", "-c", script))
    assert done.stdout.decode().splitlines() == [
        str(tmp_path.resolve()),
        "it's here ",
        "2001-09-09",
        "10.213.0.2",
    ]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_is_trapped_may_stand_at_the_end_of_a_page(tmp_path):
    # The page behind is not in memory. CPUID keeps rbx, which belongs to the caller.
    (tmp_path / "edge.c").write_text(
        """
        #include <stdio.h>
        #include <string.h>
        #include <sys/mman.h>
        static const char *codes[] = {
            "\\x53\\x0f\\xa2\\x5b\\xc3", "\\x0f\\x31\\xc3", "\\x0f\\x01\\xf9\\xc3"
        };
        int main(void)
        {
            int done = 0;
            for (int at = 0; at < 24; at++) {
                int rights = PROT_READ | PROT_WRITE | PROT_EXEC, kind = MAP_PRIVATE | MAP_ANONYMOUS;
                char *page = mmap(0, 8192, rights, kind, -1, 0);
                const char *code = codes[at % 3];
                char *begin = page + 4096 - at / 3 - strlen(code);
                memcpy(begin, code, strlen(code));
                ((void (*)(void))begin)();
                done++;
            }
            printf("%d", done);
        }
        """,
        encoding="ascii",
    )
    program = tmp_path / "edge"
    subprocess.run(["cc", str(tmp_path / "edge.c"), "-o", str(program)], check=True)
    done = exact.run("quiet-flat", phone(str(program)))
    assert (done.exit_code, done.stdout) == (0, b"24")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_processors_own_clock_and_random_numbers_are_virtual(tmp_path):
    (tmp_path / "own.c").write_text(
        """
        #include <cpuid.h>
        #include <stdio.h>
        #include <unistd.h>
        #include <x86intrin.h>
        int main(void)
        {
            unsigned a, b, c, d;
            unsigned long before = __rdtsc();
            sleep(3);
            printf("%lu", __rdtscp(&a) - before);
            __cpuid(1, a, b, c, d);
            printf(" %u", c >> 30 & 1);
            __cpuid_count(7, 0, a, b, c, d);
            printf(" %u", b >> 18 & 1);
        }
        """,
        encoding="ascii",
    )
    program = tmp_path / "own"
    subprocess.run(["cc", str(tmp_path / "own.c"), "-o", str(program)], check=True)
    done = exact.run("quiet-flat", phone(str(program)))
    counted, random, seed = map(int, done.stdout.split())
    assert counted == pytest.approx(3e9, rel=1e-4)
    if "cpuid_fault" in Path("/proc/cpuinfo").read_text("utf-8"):
        assert (random, seed) == (0, 0)


WAIT_FOR_TIME = """
import time
until = time.monotonic() + 0.05
while time.monotonic() < until: pass
"""
WAIT_FOR_PACKET = """
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((os.environ["AIRQUEUE_PEER"], 7))
s.setblocking(False)
s.send(b"x")
while True:
    try:
        s.recv(1)
        break
    except BlockingIOError:
        pass
    except ConnectionRefusedError:  # by ICMP, after the round trip
        break
"""


@pytest.mark.parametrize(
    "loop", [WAIT_FOR_TIME, pytest.param(WAIT_FOR_PACKET, marks=pytest.mark.long)]
)
def test_a_loop_that_waits_without_sleeping_ends(loop):
    assert exact.run("quiet-flat", phone(*python(loop))).exit_code == 0


@pytest.mark.long
def test_the_duration_is_virtual_time():
    done = exact.run("quiet-flat", phone("sleep", "1000000", duration_s=3600.0))
    assert done.exit_code == 128 + signal.SIGTERM
    assert done.results.emulated["duration_s"] == pytest.approx(3600, abs=1)
    assert done.wall_s < 1800


@pytest.mark.long
def test_what_fails_inside_is_one_sentence():
    with pytest.raises(EmulationError, match="'tablet' is not a real node"):
        exact.run("quiet-flat", Order(Program("tablet", ("true",))))
    with pytest.raises(
        EmulationError, match=r"quiet-flat\.toml, as changed: phy\.rate: there is no HT-MCS99"
    ):
        exact.run("quiet-flat", phone("true"), changes={"phy.rate": "HT-MCS99"})


@pytest.mark.long
def test_tcp_has_the_settings_that_are_given():
    show = ("cat", "/proc/sys/net/ipv4/tcp_congestion_control", "/proc/sys/net/ipv4/tcp_rmem")
    default = exact.run("quiet-flat", phone(*show)).stdout.decode().splitlines()
    assert default[0] == "cubic"
    given = {"tcp_congestion_control": "bbr", "tcp_rmem": "4096 10000 20000"}
    done = exact.run("quiet-flat", phone(*show), tcp=given)
    assert done.stdout.decode().split() == ["bbr", "4096", "10000", "20000"]
    with pytest.raises(EmulationError, match=r"tcp_congestion_control = vegas .* cubic"):
        exact.run("quiet-flat", phone(*show), tcp={"tcp_congestion_control": "vegas"})


@pytest.mark.parametrize("date", ["tomorrow", "-1", "1e9", "99999999999"])
def test_a_date_that_is_not_a_number_is_refused(monkeypatch, date):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", date)
    with pytest.raises(EmulationError, match="expected whole seconds since 1970"):
        exact.run("quiet-flat", phone("true"))


def test_memory_is_kept_where_there_is_enough_and_it_may_be_executed(tmp_path, monkeypatch):
    before = os.statvfs(tmp_path)
    assert machine._memory_folder(tmp_path, 1 << 40) == {"TMPDIR": str(tmp_path)}
    for flag, expected in ((0, {}), (os.ST_NOEXEC, {"TMPDIR": str(tmp_path)})):
        fields = list(before)
        fields[8] = flag
        found = os.statvfs_result((*fields, before.f_fsid))
        monkeypatch.setattr(machine.os, "statvfs", lambda path, found=found: found)
        assert machine._memory_folder(tmp_path, 1) == expected


def test_the_machine_has_the_modules_of_this_process(tmp_path, monkeypatch):
    """One that is found on a path of its own would else be another inside, or missing."""
    (tmp_path / "only_here.py").write_text(
        "from airqueue.linux.virtual import first_process\n"
        "first_process.first_process((), lambda: print('it was found'))\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    machine.boot(machine.find(folder), ["only_here"], folder, seed=1)
    assert (folder / "done").exists()


def test_a_machine_without_user_mode_linux_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    with pytest.raises(MachineError, match="apt-get install user-mode-linux"):
        machine.find(tmp_path)
    done = CliRunner().invoke(main, ["emulate", "quiet-flat", "--exact", "--", "true"])
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith("Error: user-mode Linux is not installed")


def test_the_command_prints_what_programs_print_and_ends_as_they_do(tmp_path):
    result = tmp_path / "result.json"
    command = [*AIRQUEUE, "quiet-flat", "--exact", "--json", str(result), "--at", "phone", "--"]
    # A pipe, longer than a pipe holds.
    given = "".join(f"line {number}\n" for number in range(20_000))
    script = "read first; echo $first; sort -r | tail -n 1; ping -qc 3 peer >&2; exit 5"
    command = [*command, "sh", "-c", script]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (5, "line 0\nline 1\n")
    assert "3 packets transmitted, 3 received" in done.stderr
    assert "of virtual time" in done.stderr
    assert '"exact": true' in result.read_text("utf-8")


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(pytest.param(n, marks=pytest.mark.long) for n in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_nothing_is_left_of_a_killed_run(tmp_path, number):
    folder = tmp_path / "temporary"
    folder.mkdir()
    script = "echo running; while :; do :; done"
    process = subprocess.Popen(
        [*AIRQUEUE, "quiet-flat", "--exact", "--", "sh", "-c", script],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"running\n"
    assert machines(folder)
    process.send_signal(number)
    process.wait(20)
    process.stdout.close()
    assert not machines_left(folder)
    if number != signal.SIGKILL:
        assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--exact", "--shell", "phone"], "leave out --exact"),
        (["--scratch", "x", "--", "true"], "--scratch is for --exact"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, says):
    done = CliRunner().invoke(main, ["emulate", "quiet-flat", *arguments])
    assert done.exit_code == 2
    assert says in done.stderr


def test_a_terminal_is_not_passed_on(monkeypatch, capsys):
    controller, terminal = pty.openpty()
    with os.fdopen(controller, "wb"), os.fdopen(terminal, encoding="utf-8") as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        assert emulate_exact._stdin(quiet=False) == b""
        assert (
            "is a terminal, which programs on a virtual clock do not get" in capsys.readouterr().err
        )
        assert emulate_exact._stdin(quiet=True) == b""
        assert capsys.readouterr().err == ""


def test_standard_input_is_read_to_its_end_and_bounded(monkeypatch, capsys):
    def given(text: bytes, wait_s: float = 0.0) -> bytes:
        reading, writing = os.pipe()

        def write() -> None:
            time.sleep(wait_s)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(text)

        with os.fdopen(reading, encoding="utf-8") as pipe:
            monkeypatch.setattr(sys, "stdin", pipe)
            writer = threading.Thread(target=write)
            writer.start()
            try:
                return emulate_exact._stdin(quiet=False)
            finally:
                writer.join()

    monkeypatch.setattr(emulate_exact, "MOST_STDIN_BYTES", 4 << 20)
    assert given(b"") == b""
    assert given(b"x" * (4 << 20)) == b"x" * (4 << 20)
    assert capsys.readouterr().err == ""
    with pytest.raises(click.UsageError, match=r"^Standard input has more than 4 MiB: let the"):
        given(b"x" * (4 << 20) + b"y")
    assert given(b"late", wait_s=1.5) == b"late"
    assert "read to its end before the run begins" in capsys.readouterr().err
