"""The source distribution holds every file of the repository, so all that its pages name."""

from __future__ import annotations

import py_compile
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MATURIN = Path(sys.executable).with_name("maturin")
EXAMPLES = Path("python/airqueue/examples")


def repository() -> set[Path]:
    """Return the files of the repository that there are here."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git, which knows the files")
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = {Path(name) for name in done.stdout.split("\0") if name}
    return {path for path in paths if (ROOT / path).is_file()}


def test_the_source_distribution_holds_every_file_and_no_other(tmp_path: Path) -> None:
    wanted = repository()
    if not MATURIN.exists():
        pytest.skip("there is no maturin beside this interpreter")
    # Whether Python writes bytecode beside the sources depends on its environment.
    py_compile.compile(__file__)
    command = [MATURIN, "sdist", "--out", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("airqueue-*.tar.gz")
    with tarfile.open(archive) as files:
        assert all(member.isfile() or member.isdir() for member in files)
        held = {Path(*Path(each.name).parts[1:]) for each in files if each.isfile()}
    # Where the pages name them the archive has the examples again; in the repository that is a link.
    named = {
        Path("examples", path.relative_to(EXAMPLES))
        for path in wanted
        if path.is_relative_to(EXAMPLES)
    }
    assert named
    assert held - {Path("PKG-INFO")} == wanted | named
