"""The virtual machine: boots an image, runs a script of bash in it, and switches it off."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from peers.install import UnavailableError, apt_install
from wifi_vm.image import Image

PROGRAM = "qemu-system-x86_64"
MEMORY_MB = 512
BOOTS = 3
"""An emulated processor that lacks time now and then lets Linux panic before it has begun."""
TOOLS = {
    "hostapd": "hostapd",
    "wpa_supplicant": "wpasupplicant",
    "iw": "iw",
    "ethtool": "ethtool",
    "ip": "iproute2",
    PROGRAM: "qemu-system-x86",
}
"""Programs and the packages of Debian that have them."""
SHARE = Path("/mnt/share")
"""The shared folder, as the machine sees it."""
_FIRST = f"""
export PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin HOME=/tmp LC_ALL=C.UTF-8
cd {SHARE}
mkdir -p /run/netns
bash script >output 2>&1 </dev/null
echo $? >code
"""
_KERNEL = (
    "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable random.trust_cpu=on mitigations=off"
)


class MachineFailedError(Exception):
    """The machine ended before the script did, or the script failed."""


@dataclass(frozen=True)
class Ran:
    """What became of a script."""

    output: str
    code: int
    wall_s: float
    folder: Path
    """The shared folder, with what the script left there."""


def install() -> None:
    """Install the programs that machines need, if permitted; else raise UnavailableError."""
    for program, package in TOOLS.items():
        if shutil.which(program) is None:
            apt_install(package)
    for program in TOOLS:
        if shutil.which(program) is None:
            raise UnavailableError(f"{program} is not on PATH")


def run(
    image: Image,
    script: str,
    folder: Path,
    files: Mapping[str, Path] | None = None,
    *,
    limit_s: float = 240,
) -> Ran:
    """Boot, run the script in ``folder``, which the machine sees as `SHARE`, and switch off.

    ``files`` are copied into the folder under their names beforehand. A kernel that panics before
    the script begins is booted again. Raises MachineFailedError with
    the end of the machine's output if the script did not end within ``limit_s``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in (files or {}).items():
        shutil.copy(path, folder / name)
    (folder / "script").write_text(script, "utf-8")
    (folder / "first").write_text(_FIRST, "utf-8")
    began = time.monotonic()
    console = folder / "console"
    for _ in range(BOOTS):
        _boot(_command(image, folder), console, limit_s)
        if (folder / "output").exists() or "Kernel panic" not in _read(console):
            break
    wall_s = time.monotonic() - began
    said = _read(folder / "output")
    if not (folder / "code").exists():
        shown = f"{_read(console)[-1000:]}\n{said[-2000:]}"
        raise MachineFailedError(f"the machine did not finish within {wall_s:.0f} s: {shown}")
    return Ran(said, int(_read(folder / "code")), wall_s, folder)


def _boot(command: list[str], console: Path, limit_s: float) -> None:
    """Run a machine until it switches off, ``limit_s`` at most."""
    with console.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.exists() else ""


def _command(image: Image, folder: Path) -> list[str]:
    processors = min(2, len(os.sched_getaffinity(0)))
    command = [PROGRAM, "-M", "pc", "-accel", "tcg,thread=multi", "-cpu", "max"]
    command += ["-smp", str(processors), "-m", str(MEMORY_MB), "-nodefaults", "-no-user-config"]
    command += ["-display", "none", "-serial", "stdio", "-no-reboot"]
    command += ["-kernel", str(image.kernel), "-initrd", str(image.files), "-append", _KERNEL]
    # A wired device whose driver has a ring.
    command += ["-netdev", "hubport,id=wire,hubid=0", "-device", "e1000,netdev=wire"]
    for name, path, rights in (("host", "/", ",readonly=on"), ("share", str(folder), "")):
        where = f"local,id={name},path={path},security_model=none,multidevs=remap{rights}"
        command += ["-fsdev", where, "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
    return command
