"""Files of packages for routers, tried with the shells that there are."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parent.parent / "packaging"
OPENWRT = PACKAGING / "openwrt" / "airqueued"
SHELLS = [("dash",), ("busybox", "ash")]

PRETENDED = """
config_load() { echo "load $1"; }
config_get_bool() { eval "$1=$ENABLED"; }
config_get() { eval "$1=$CONFIG"; }
logger() { shift 4; echo "log $*"; }
for call in procd_open_instance procd_set_param procd_close_instance procd_add_reload_trigger; do
    eval "$call() { echo $call \\"\\$@\\"; }"
done
. "$INIT"
start_service
echo "ended $?"
"""
"""What procd's shell library and UCI's would do."""


def started(shell: tuple[str, ...], *, enabled: int, config: Path) -> list[str]:
    """What the init script asks of procd."""
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]}")
    done = subprocess.run(
        [*shell, "-c", PRETENDED],
        env={
            "ENABLED": str(enabled),
            "CONFIG": str(config),
            "INIT": str(OPENWRT / "files" / "airqueued.init"),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_service_of_openwrt_starts_when_it_is_enabled(tmp_path, shell):
    config = tmp_path / "airqueued.toml"
    config.write_text("config = 1\n", "utf-8")
    lines = started(shell, enabled=1, config=config)
    command = f"/usr/sbin/airqueued --config {config}"
    assert f"procd_set_param command {command}" in lines
    assert (lines[1], lines[-2:]) == ("procd_open_instance", ["procd_close_instance", "ended 0"])
    assert started(shell, enabled=0, config=config) == ["load airqueued", "ended 0"]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_configuration_that_is_missing_is_told(tmp_path, shell):
    lines = started(shell, enabled=1, config=tmp_path / "none.toml")
    assert lines[1].startswith("log no configuration") and lines[-1] == "ended 1"


def asked(
    shell: tuple[str, ...], folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """What rpcd's plugin answers; `airqueued` is a program that prints its arguments as JSON."""
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]}")
    program = folder / "airqueued"
    program.write_text('#!/bin/sh\nprintf \'{"asked": "%s"}\\n\' "$*"\n', "utf-8")
    program.chmod(0o755)
    return subprocess.run(
        [*shell, str(OPENWRT / "files" / "airqueued.rpcd"), *arguments],
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_ubus_has_the_methods_that_the_plugin_lists(tmp_path, shell):
    methods = json.loads(asked(shell, tmp_path, "list").stdout)
    answers = {method: asked(shell, tmp_path, "call", method) for method in methods}
    said = {method: json.loads(answer.stdout)["asked"] for method, answer in answers.items()}
    # Of the journal that the service has, too: neither names another one.
    assert said == {
        "status": "status --json",
        "stations": "watch --json --every 6s --count 2 --last",
    }
    assert asked(shell, tmp_path, "call", "reboot").returncode == 1
    acl = json.loads((OPENWRT / "files" / "airqueued.acl.json").read_text("utf-8"))
    assert sorted(acl["airqueued"]["read"]["ubus"]["airqueue"]) == sorted(methods)


def test_the_package_installs_the_files_that_there_are():
    text = (OPENWRT / "Makefile").read_text("utf-8")
    installed = {word for word in text.split() if word.startswith("./files/")}
    assert {Path(word).name for word in installed} == {
        path.name for path in (OPENWRT / "files").iterdir()
    }
    (kept,) = (OPENWRT / "files" / "airqueued.keep").read_text("utf-8").split()
    arguments = PACKAGING.parent / "crates" / "airqueued" / "src" / "commands" / "args.rs"
    assert f'OPENWRT_STATE: &str = "{kept.rstrip("/")}";' in arguments.read_text("utf-8")
    cargo = (PACKAGING.parent / "Cargo.toml").read_text("utf-8")
    version = cargo.split('version = "', 1)[1].split('"', 1)[0]
    assert f"PKG_VERSION:={version}\n" in text
