"""Folders for temporary files: they go with their process, or with the next folder."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airqueue import scratch

_HOLDS = """
import time
from airqueue import scratch
with scratch.folder() as folder:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_text("text")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def files_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's folder for temporary files is that of the test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def _holder() -> tuple[subprocess.Popen[str], Path]:
    """Return a process with a folder, and the folder."""
    process = subprocess.Popen([sys.executable, "-c", _HOLDS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def _kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_folder_is_empty_but_for_its_mark_and_goes_at_the_end(tmp_path: Path) -> None:
    """Also after an error."""
    with pytest.raises(KeyError), scratch.folder() as folder:
        assert [each.name for each in folder.iterdir()] == [scratch.MARK]
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("text")
        raise KeyError
    assert not any(tmp_path.iterdir())


def test_the_next_folder_removes_those_of_killed_processes_alone(tmp_path: Path) -> None:
    """Folders in use stay, and folders of that name that somebody else made."""
    killed, left = _holder()
    living, used = _holder()
    foreign = tmp_path / f"{scratch.PREFIX}mine"
    foreign.mkdir()
    (foreign / "file").write_text("mine")
    link = tmp_path / f"{scratch.PREFIX}link"
    link.symlink_to(used)
    try:
        _kill(killed)
        assert left.is_dir(), "nobody was there to remove the folder"
        with scratch.folder() as folder:
            assert not left.exists()
            assert (used / "deep" / "file").read_text() == "text"
            assert (foreign / "file").read_text() == "mine"
            assert link.is_symlink()
            with scratch.folder():
                assert folder.is_dir(), "a process may have several"
    finally:
        _kill(living)
    with scratch.folder():
        assert not used.exists()
