"""Scripts of the Debian package under dpkg; systemd's programs write down what they are asked.

In a mount namespace, where `/run` and `/var/lib` are empty: nothing of this machine is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

DEBIAN = Path(__file__).parent.parent / "packaging" / "debian"
SCRIPTS = ("postinst", "prerm", "postrm")
SERVICE = "airqueued.service"
ALONE = ["unshare", "--map-root-user", "--mount"] if os.geteuid() else ["unshare", "--mount"]
FILES = """
set -e
mount -t tmpfs none /run
mount -t tmpfs none /var/lib
mkdir -p /var/lib/airqueued "$1"
echo journal >/var/lib/airqueued/journal.json
shift
"$@"
ls /var/lib
"""
DPKG = """
dpkg() { command dpkg --admindir="$ADMIN" --log=/dev/null "$@" >/dev/null; echo "- $1 $?" >>"$TOLD"; }
dpkg --install "$PACKAGES/1.deb"
dpkg --install "$PACKAGES/2.deb"
dpkg --remove airqueued-scripts
echo "- kept $(ls /var/lib/airqueued)" >>"$TOLD"
ENABLED=1 dpkg --install "$PACKAGES/2.deb"
dpkg --purge airqueued-scripts
"""


def package(folder: Path, version: int) -> None:
    """Make a package of the scripts alone, without a file to install."""
    stage = folder / str(version)
    (stage / "DEBIAN").mkdir(parents=True)
    for name in SCRIPTS:
        shutil.copy(DEBIAN / name, stage / "DEBIAN" / name)
        (stage / "DEBIAN" / name).chmod(0o755)
    fields = ("Package: airqueued-scripts", f"Version: {version}", "Architecture: all")
    more = ("Maintainer: A test", "Description: the scripts of airqueued")
    (stage / "DEBIAN" / "control").write_text("\n".join((*fields, *more, "")), "utf-8")
    build = ["dpkg-deb", "--root-owner-group", "--build", stage, folder / f"{version}.deb"]
    subprocess.run(build, check=True, capture_output=True)


def told(folder: Path, *, systemd: bool) -> tuple[list[str], list[str]]:
    """Install, upgrade, remove, install again, purge; what systemd was asked, and what is left."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("there is no dpkg")
    if subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not have a mount namespace")
    for version in (1, 2):
        package(folder, version)
    programs = folder / "programs"
    programs.mkdir()
    answers = {"debian-installed": "${ENABLED:+true}", "was-enabled": "${ENABLED:+true}"}
    cases = "".join(f' *{word}*) [ -n "{answer}" ] || exit 1;;' for word, answer in answers.items())
    for name in ("systemctl", "deb-systemd-helper", "deb-systemd-invoke"):
        body = f'#!/bin/sh\necho "{name} $*" >>"$TOLD"\ncase "$*" in{cases} esac\n'
        (programs / name).write_text(body, "utf-8")
        (programs / name).chmod(0o755)
    admin = folder / "admin"
    (admin / "updates").mkdir(parents=True)
    (admin / "info").mkdir()
    (admin / "status").touch()
    there = "/run/systemd/system" if systemd else "/run/other"
    done = subprocess.run(
        [*ALONE, "sh", "-c", FILES, "sh", there, "sh", "-c", DPKG],
        env={
            "PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin",
            "TOLD": str(folder / "told"),
            "ADMIN": str(admin),
            "PACKAGES": str(folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return (folder / "told").read_text("utf-8").splitlines(), done.stdout.split()


RECORDED = f"deb-systemd-helper update-state {SERVICE}"
ASKED = f"deb-systemd-helper debian-installed {SERVICE}"
RELOADED = "systemctl --system daemon-reload"
ENABLED = [
    f"deb-systemd-helper --quiet was-enabled {SERVICE}",
    f"deb-systemd-helper enable {SERVICE}",
]
PURGED = f"deb-systemd-helper purge {SERVICE}"


def test_dpkg_has_systemd_told_of_every_step(tmp_path: Path) -> None:
    asked, left = told(tmp_path, systemd=True)
    assert asked == [
        *(ASKED, RECORDED, RELOADED, "- --install 0"),
        # The old package leaves, the new one comes: the service is not stopped between.
        *(RELOADED, ASKED, RECORDED, RELOADED),
        *(f"deb-systemd-invoke try-restart {SERVICE}", "- --install 0"),
        *(f"deb-systemd-invoke stop {SERVICE}", RELOADED, "- --remove 0", "- kept journal.json"),
        # Back again: the owner's choice counts.
        *(ASKED, *ENABLED, RECORDED, RELOADED, f"deb-systemd-invoke try-restart {SERVICE}"),
        *("- --install 0", f"deb-systemd-invoke stop {SERVICE}", RELOADED, PURGED, RELOADED),
        "- --purge 0",
    ]
    assert left == []


def test_without_systemd_the_state_alone_is_recorded(tmp_path: Path) -> None:
    asked, left = told(tmp_path, systemd=False)
    assert asked == [
        *(ASKED, RECORDED, "- --install 0", ASKED, RECORDED, "- --install 0"),
        *("- --remove 0", "- kept journal.json"),
        *(ASKED, *ENABLED, RECORDED, "- --install 0", PURGED, "- --purge 0"),
    ]
    assert left == []
