"""Where results come from."""

import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from airqueue import provenance

revision_now = provenance.git_revision.__wrapped__


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository that has a copy of the module, and the command to work on it."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def git(*arguments):
        author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *author, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    shutil.copy(provenance.__file__, tmp_path)
    monkeypatch.setattr(provenance, "_PACKAGE", tmp_path)
    return git


def test_a_session_is_this_process_now():
    session = provenance.session()
    assert abs(datetime.now(UTC) - datetime.fromisoformat(session["date"])) < timedelta(minutes=1)
    assert session["command"] == sys.argv
    assert session["python"] == ".".join(map(str, sys.version_info[:3]))
    assert session["platform"]


def test_the_revision_is_the_checkouts(repository, tmp_path):
    repository("add", "provenance.py")
    repository("commit", "--message", "first")
    revision = revision_now()
    assert re.fullmatch("[0-9a-f]{40}", revision)
    (tmp_path / "provenance.py").write_text("")
    assert revision_now() == f"{revision}-dirty"


def test_a_repository_that_has_not_our_sources_is_not_ours(repository, tmp_path):
    (tmp_path / "other").write_text("")
    repository("add", "other")
    repository("commit", "--message", "first")
    assert revision_now() is None


def test_without_git_there_is_no_revision(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision_now() is None
