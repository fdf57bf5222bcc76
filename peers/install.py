"""Gets the simulators and builds their programs, each once; says what is not to be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILD = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").absolute() / "peers"
PEERS = ("ns2", "ns3-wheel", "ns3-debian")
NS3_SOURCE = HERE / "ns3" / "cell.cc"
NS3_MODULES = ("core", "network", "internet", "mobility", "traffic-control", "wifi", "propagation")

NS3_BUILD = "NS3_BUILD"
"""The environment variable that names a build of ns-3's sources."""
WIFI_MODULES = ("core", "network", "mobility", "wifi", "propagation")


class UnavailableError(Exception):
    """A peer that cannot be had on this machine, and why."""


def install(peer: str) -> Path:
    """The program that runs a cell in ``peer``, installed and compiled if it was not yet."""
    BUILD.mkdir(parents=True, exist_ok=True)
    if peer == "ns2":
        return install_ns2()
    if peer == "ns3-wheel":
        return install_ns3_wheel()
    if peer == "ns3-debian":
        return install_ns3_debian()
    raise UnavailableError(f"{peer} is none of {', '.join(PEERS)}")


def install_ns2() -> Path:
    if shutil.which("ns") is None:
        apt_install("ns2")
    found = shutil.which("ns")
    if found is None:
        raise UnavailableError("ns2 is installed, but there is no command `ns`")
    return Path(found)


def install_ns3_wheel() -> Path:
    """The `ns3` package in a virtual environment of its own; its libraries are linked by path."""
    venv = BUILD / "ns3-wheel"
    if not list(venv.glob("lib/python*/site-packages/ns3")):
        checked([sys.executable, "-m", "venv", str(venv)], "a virtual environment")
        checked([str(venv / "bin/pip"), "install", "--quiet", "ns3"], "the package ns3")
    package = next(venv.glob("lib/python*/site-packages/ns3"))
    libraries = package / "lib64"
    version = next(libraries.glob("libns3.*-core.so")).name.split("ns")[1].split("-")[0]
    return compile_ns3(
        NS3_SOURCE,
        BUILD / "ns3-wheel-cell",
        version,
        [f"-I{package / 'include'}", f"-L{libraries}", f"-Wl,-rpath,{libraries}"],
        [f"-lns{version}-{module}" for module in NS3_MODULES],
    )


def install_ns3_debian(source: Path = NS3_SOURCE, modules: tuple[str, ...] = NS3_MODULES) -> Path:
    """A program of ``peers/ns3``, by its source, against the libraries that Debian has."""
    header = Path("/usr/include/ns3/core-module.h")
    if not header.exists():
        apt_install("libns3-dev")
    version = checked(["pkg-config", "--modversion", "ns3-core"], "the version of libns3-dev")
    program = BUILD / f"ns3-debian-{source.stem}"
    return compile_ns3(source, program, version.strip(), [], [f"-lns3-{m}" for m in modules])


def install_ns3_built(source: Path) -> Path:
    """A program of ``peers/ns3`` against a build of ns-3's sources, of which there is no package."""
    folder = os.environ.get(NS3_BUILD)
    if not folder:
        raise UnavailableError(
            f"{source.name} needs a build of ns-3's sources, 3.48 or newer (docs/peers.md says how): "
            f"set {NS3_BUILD} to the folder with include/ and lib/"
        )
    build = Path(folder).absolute()
    cores = list((build / "lib").glob("libns3*-core.so"))
    if not cores:
        raise UnavailableError(
            f"{NS3_BUILD}: {build / 'lib'} has no libns3*-core.so; build ns-3 first (docs/peers.md)"
        )
    BUILD.mkdir(parents=True, exist_ok=True)
    version = cores[0].name.removeprefix("libns").split("-")[0]
    return compile_ns3(
        source,
        BUILD / f"ns{version}-{source.stem}",
        version,
        [f"-I{build / 'include'}", f"-L{build / 'lib'}", f"-Wl,-rpath,{build / 'lib'}"],
        [f"-lns{version}-{module}" for module in WIFI_MODULES],
    )


def compile_ns3(
    source: Path, program: Path, version: str, paths: list[str], libraries: list[str]
) -> Path:
    """In the language that the release was written in: headers of 3.37 are no C++20."""
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    define = f'-DNS3_VERSION="{version}"'
    language = "c++17" if version < "3.42" else "c++20" if version < "3.46" else "c++23"
    command = [
        "g++",
        f"-std={language}",
        "-O3",
        define,
        *paths,
        str(source),
        "-o",
        str(program),
    ]
    checked(command + libraries, f"compiling {source.name} against ns-{version}")
    return program


def apt_install(package: str) -> None:
    if shutil.which("apt-get") is None:
        raise UnavailableError(f"{package} is a Debian package and there is no apt-get here")
    if os.geteuid() != 0:
        raise UnavailableError(f"{package} is missing: sudo apt-get install {package}")
    checked(["apt-get", "-qq", "update"], "apt-get update")
    checked(["apt-get", "-qq", "install", "--no-install-recommends", "-y", package], package)


def checked(command: list[str], what: str) -> str:
    """Standard output of a command; if it fails, the end of its complaints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise UnavailableError(f"{what}: there is no {command[0]}") from error
    if done.returncode:
        last = " ".join(done.stderr.split())[-400:]
        raise UnavailableError(f"{what}: {command[0]} ended with code {done.returncode}: {last}")
    return done.stdout
