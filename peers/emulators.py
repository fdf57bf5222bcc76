"""Gets and builds emulators that `benches/emulate_peers.py` measures beside ours."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from .install import BUILD, HERE, UnavailableError, apt_install, checked, install_ns3_debian

TAP_SOURCE = HERE / "ns3" / "tap.cc"
TAP_MODULES = ("core", "network", "bridge", "mobility", "wifi", "propagation", "tap-bridge")
TAP_CREATOR = Path("/usr/libexec/ns3/ns3.37-tap-creator")
MAHIMAHI = "https://github.com/ravinet/mahimahi"
# The commands that its programs run, by the names of its configuration, and where they come from.
_MAHIMAHI_RUNS = {"IP": "iproute2", "IPTABLES": "iptables", "DNSMASQ": "dnsmasq-base"}


def install_ns3_tap() -> tuple[str, ...]:
    """The command that joins two TAP devices by a network of ns-3, built if need be."""
    BUILD.mkdir(parents=True, exist_ok=True)
    if not TAP_CREATOR.exists():
        apt_install("ns3")
    return str(install_ns3_debian(TAP_SOURCE, TAP_MODULES)), f"--creator={TAP_CREATOR}"


def find_mahimahi() -> Path:
    """Its `mm-delay`, of the machine or built earlier; the error says how to build it."""
    found = shutil.which("mm-delay") or BUILD / "bin" / "mm-delay"
    if not os.access(found, os.X_OK):
        raise UnavailableError(
            f"not in Debian 12: git clone {MAHIMAHI} DIR, "
            "and run this bench with --mahimahi DIR once"
        )
    return Path(found)


def build_mahimahi(sources: Path) -> Path:
    """`mm-delay` alone, without what its whole build asks for to record and to show pages.

    The program needs no rights of its own in the file system: the bench starts it with those of root.
    """
    source = sources.absolute() / "src"
    shell = [source / "frontend" / name for name in ("delayshell.cc", "delay_queue.cc")]
    parts = [path for part in ("util", "packet") for path in sorted((source / part).glob("*.cc"))]
    if not parts or not shell[0].exists():
        raise UnavailableError(f"{sources} has no src/frontend/delayshell.cc: not mahimahi")
    program = BUILD / "bin" / "mm-delay"
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        lines = [f'#define {name} "{_command(name)}"' for name in _MAHIMAHI_RUNS]
        Path(folder, "config.h").write_text("\n".join(lines) + "\n", "ascii")
        includes = [f"-I{path}" for path in (folder, source / "util", source / "packet")]
        # Addresses of 100.64.0.0/10, as its own build has by default.
        flags = ["-std=c++11", "-O2", "-pthread", "-D__ALT_CGNAT_SPACE__=1", *includes]
        files = [str(path) for path in (*parts, *shell)]
        checked(["g++", *flags, *files, "-o", str(program)], "compiling mm-delay")
    return program


def _command(name: str) -> str:
    path = "/usr/sbin:/sbin:/usr/bin:/bin"
    if shutil.which(name.lower(), path=path) is None:
        apt_install(_MAHIMAHI_RUNS[name])
    found = shutil.which(name.lower(), path=path)
    if found is None:
        raise UnavailableError(f"{_MAHIMAHI_RUNS[name]} is installed, but not {name.lower()}")
    return found
