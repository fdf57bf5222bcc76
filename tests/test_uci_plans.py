"""Channel access that `airqueue size edca` plans for a router of OpenWrt: set, read back, taken back.

With the real `uci` where AIRQUEUE_UCI names it, else with one that is pretended; `wifi` keeps what
netifd's scripts would read.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.sizing import plans
from binaries import newest
from pretended_uci import read

INIT = Path(__file__).parent.parent / "packaging/openwrt/airqueued/files/airqueued.init"
WIRELESS = """
config wifi-device 'radio0'
\toption type 'mac80211'
\toption path 'pci0000:00/0000:00:00.0'
\toption band '2g'
\toption channel '6'
\toption htmode 'HT20'
\tlist hostapd_options 'bss_load_update_period=60'

config wifi-iface 'default_radio0'
\toption device 'radio0'
\toption network 'lan'
\toption mode 'ap'
\toption ssid 'it'\\''s home'
\toption encryption 'psk2'
\toption key 'a secret of home'

config wifi-iface
\toption device 'radio0'
\toption ssid 'without a name'
"""
"""As `wifi config` and LuCI write it."""
PATIENCE_S = 60.0
COMMAND = "size edca --uploads 6 --downloads 6 --no-simulate --plan-sets uci"


class Router:
    """The files and programs of a router of OpenWrt, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.airqueued = newest("airqueued")
        for name in ("config", "staged", "bin"):
            (folder / name).mkdir()
        (folder / "config" / "wireless").write_text(WIRELESS, "utf-8")
        real = os.environ.get("AIRQUEUE_UCI")
        pretended = Path(__file__).with_name("pretended_uci.py")
        at = shlex.quote(str(folder))
        uci = (
            f"{shlex.quote(sys.executable)} {shlex.quote(str(pretended))} {at}"
            if real is None
            else f"{shlex.quote(real)} -c {at}/config -t {at}/staged"
        )
        self.program("uci", f'exec {uci} "$@"')
        self.program("wifi", f"cp {at}/config/wireless {at}/started.$(ls {at} | grep -c started)")
        state = shlex.quote(str(folder / "state"))
        self.program("airqueued", f'exec {shlex.quote(str(self.airqueued))} "$@" --state {state}')
        self.environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}

    def program(self, name: str, body: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
        path.chmod(0o755)

    def run(self, *words: str) -> str:
        """Run airqueued, and return what it says."""
        done = subprocess.run(
            [self.folder / "bin" / "airqueued", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def wireless(self) -> list[Any]:
        return read((self.folder / "config" / "wireless").read_text("utf-8"))

    @property
    def journal(self) -> Path:
        return self.folder / "state" / "journal.json"

    def hostapds(self) -> list[dict[str, str]]:
        """What hostapd was given at each start, as netifd's scripts make it of the section."""
        found = []
        for path in sorted(self.folder.glob("started.*")):
            ((_, _, radio), *_) = read(path.read_text("utf-8"))
            options = radio["hostapd_options"]
            assert isinstance(options, list)
            given = dict(line.split("=", 1) for line in options)
            # Older releases append this line, and hostapd takes the last one.
            if "tx_burst" in radio:
                given["tx_queue_data2_burst"] = str(radio["tx_burst"])
            found.append(given)
        return found

    def guards(self) -> list[int]:
        """The processes that guard this router's plans."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_text("utf-8", errors="replace")
                if str(self.folder / "state") in words:
                    found.append(int(folder.name))
        return found

    def wait_for_guards(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while guards := self.guards():
            assert time.monotonic() < until, guards
            time.sleep(0.05)

    def lose_power(self) -> None:
        """End every process that guards, and leave the journal as a later start finds it."""
        # One that is killed has a successor, which calls for another one.
        while guards := self.guards():
            for process in guards:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
        text = self.journal.read_text("utf-8")
        assert boot in text
        self.journal.write_text(text.replace(boot, "the one before"), "utf-8")


@pytest.fixture
def router() -> Iterator[Router]:
    # Not the folder of temporary files, which may be memory: plans of UCI are refused there.
    folder = Path(tempfile.mkdtemp(prefix="router-", dir=newest("airqueued").parent))
    made = Router(folder)
    try:
        yield made
    finally:
        shutil.rmtree(folder)
        # A guard ends with the journal.
        made.wait_for_guards()


@pytest.fixture
def plan(router: Router) -> Path:
    path = router.folder / "plan.json"
    words = [*COMMAND.split(), "--drops-stations", "--plan", str(path)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return path


def advised() -> dict[str, str]:
    """What the same advice would have typed into hostapd.conf."""
    done = CliRunner().invoke(main, [*COMMAND.split()[:-2], "--for", "hostapd"])
    lines = [line for line in done.output.splitlines() if line.startswith(("wmm_ac_", "tx_queue_"))]
    assert len(lines) > 20, done.output
    return dict(line.split("=", 1) for line in lines)


def test_hostapd_gets_what_is_advised_and_then_what_it_had(router: Router, plan: Path) -> None:
    before = router.wireless
    assert "stations may lose" in router.run("apply", str(plan), "--dry-run")
    assert router.wireless == before
    router.run("apply", str(plan), "--confirm", "60s")
    (told,) = json.loads(router.run("status", "--json"))["settings"]
    assert told["waits"] and told["now"] == told["ours"] != told["before"]
    router.run("confirm")
    (_, *others), (kind, name, radio) = router.wireless, router.wireless[0]
    assert (others, kind, name) == (before[1:], "wifi-device", "radio0")
    assert {**radio, "hostapd_options": None, "tx_burst": None} == {
        **before[0][2],
        "hostapd_options": None,
        "tx_burst": None,
    }
    assert router.hostapds() == [advised()]
    assert "secret" not in router.journal.read_text("utf-8")
    router.run("restore")
    assert router.wireless == before
    assert router.hostapds()[1:] == [{"bss_load_update_period": "60"}]


@pytest.mark.parametrize("shell", [("dash",), ("busybox", "ash")])
def test_a_plan_that_nobody_confirmed_goes_back_when_the_router_starts_again(
    router: Router, plan: Path, shell: tuple[str, ...]
) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]}")
    before = router.wireless
    router.run("apply", str(plan), "--confirm", "1h")
    router.lose_power()
    assert router.wireless != before
    start = f'. {INIT}; PROG=airqueued; start() {{ echo "started"; }}; boot'
    said = subprocess.run(
        [*shell, "-c", start], env=router.environment, capture_output=True, text=True, check=True
    )
    assert (said.stdout, said.stderr) == ("started\n", "")
    until = time.monotonic() + PATIENCE_S
    while "the machine was restarted" not in router.run("status"):
        assert time.monotonic() < until, router.run("status")
        time.sleep(0.05)
    assert router.wireless == before


def test_without_consent_and_without_a_radio_nothing_is_planned_or_set(
    router: Router, plan: Path
) -> None:
    path = router.folder / "other.json"
    refused = CliRunner().invoke(main, [*COMMAND.split(), "--plan", str(path)])
    assert refused.exit_code == 2 and "add --drops-stations" in " ".join(refused.output.split())
    assert not path.exists()
    alone = CliRunner().invoke(main, [*COMMAND.split()[:-2], "--drops-stations"])
    assert alone.exit_code == 2 and "--plan-sets uci" in alone.output
    document = json.loads(plan.read_text("utf-8"))
    document["settings"][0]["set"][plans.UCI]["section"] = "radio7"
    path.write_text(json.dumps(document), "utf-8")
    done = subprocess.run(
        [router.folder / "bin" / "airqueued", "apply", path, "--confirm", "60s"],
        env=router.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3 and "radio7" in done.stderr
    assert router.hostapds() == []
