"""Kernels of Debian, downloaded by apt-get into a folder without a change of the system."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peers.install import UnavailableError, checked

SOURCES = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d"))
FIRST_WITH_TXQS = (6, 2)
"""From this kernel on mac80211 has TXQs for every driver, hwsim included."""
_LINE = re.compile(
    r"deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<address>\S+)\s+(?P<suite>\S+)\s+(?P<parts>.*)"
)


@dataclass(frozen=True)
class Source:
    """Where the system itself gets a suite of Debian."""

    address: str
    suite: str
    signed_by: str

    def line(self, suite: str) -> str:
        """The line of sources.list for a suite of the same archive."""
        options = f"[signed-by={self.signed_by}] " if self.signed_by else ""
        return f"deb {options}{self.address} {suite} main\n"


@dataclass(frozen=True)
class KernelPackage:
    """A kernel that can be downloaded."""

    name: str
    version: tuple[int, int]
    apt: Path
    """Settings of apt-get for the suite that has the package."""


def sources(texts: dict[str, str]) -> Iterator[Source]:
    """The sources in files of apt, by their names: lines, or paragraphs if they end in .sources."""
    for name, text in texts.items():
        if name.endswith(".sources"):
            yield from _paragraphs(text)
        else:
            for found in filter(None, map(_LINE.match, text.splitlines())):
                signed_by = dict(
                    option.split("=", 1)
                    for option in (found["options"] or "").split()
                    if "=" in option
                ).get("signed-by", "")
                if "main" in found["parts"].split():
                    yield Source(found["address"], found["suite"], signed_by)


def _paragraphs(text: str) -> Iterator[Source]:
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        fields = dict(line.split(":", 1) for line in lines if ":" in line and line[0] != " ")
        keys = {key.strip().lower(): value.strip() for key, value in fields.items()}
        if keys.get("enabled", "yes") == "no" or "main" not in keys.get("components", "").split():
            continue
        for address in keys.get("uris", "").split():
            for suite in keys.get("suites", "").split():
                yield Source(address, suite, keys.get("signed-by", ""))


def _system_source() -> Source:
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    files = [path for where in SOURCES for path in (where.glob("*") if where.is_dir() else [where])]
    names = [path for path in files if path.suffix in (".list", ".sources") and path.is_file()]
    texts = {path.name: path.read_text("utf-8", "replace") for path in names}
    for source in sources(texts):
        if source.suite == codename:
            return source
    raise UnavailableError(
        f"apt has no source with the component main of {codename or 'this system'}"
    )


def kernels(folder: Path) -> Iterator[KernelPackage]:
    """The kernels of this Debian release, the newest first: that of its backports, then its own."""
    if platform.machine() != "x86_64":
        raise UnavailableError("the machine's kernel is Debian's for x86-64, and this is none")
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise UnavailableError(
                f"kernels are packages of Debian, and there is no {program} here"
            )
    source = _system_source()
    problems = []
    for suite in (f"{source.suite}-backports", source.suite):
        try:
            yield _kernel(folder / suite, source.line(suite))
        except UnavailableError as error:
            problems.append(str(error))
    if len(problems) == 2:
        raise UnavailableError("; ".join(problems))


def _kernel(folder: Path, line: str) -> KernelPackage:
    """The kernel that a suite has at present, by lists of packages of our own."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(line, "utf-8")
    apt = folder / "apt.conf"
    apt.write_text(
        f'Dir::State::lists "{folder}/lists";\nDir::Cache "{folder}/cache";\n'
        f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "/nonexistent";\n',
        "utf-8",
    )
    checked(["env", f"APT_CONFIG={apt}", "apt-get", "-qq", "update"], "lists of kernels")
    told = checked(
        ["env", f"APT_CONFIG={apt}", "apt-cache", "depends", "linux-image-amd64"],
        "the kernel's name",
    )
    found = re.search(r"Depends: (linux-image-(\d+)\.(\d+)\S*)", told)
    if found is None:
        raise UnavailableError(f"no kernel is in {line.strip()}")
    return KernelPackage(found[1], (int(found[2]), int(found[3])), apt)


def unpack(package: str, apt: Path | None, folder: Path) -> Path:
    """Download a package and return the folder with its files, without installing it."""
    files = folder / "files"
    shutil.rmtree(folder, ignore_errors=True)
    files.mkdir(parents=True)
    settings = ["env", f"APT_CONFIG={apt}"] if apt else ["env"]
    # apt-get download writes into the present directory only.
    script = 'cd "$1" && shift && exec "$@"'
    command = [
        "sh",
        "-c",
        script,
        "sh",
        str(folder),
        *settings,
        "apt-get",
        "-qq",
        "download",
        package,
    ]
    checked(command, f"download of {package}")
    (archive,) = folder.glob("*.deb")
    checked(["dpkg-deb", "-x", str(archive), str(files)], f"unpacking {package}")
    archive.unlink()
    return files
