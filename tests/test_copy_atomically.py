"""Copies are whole or not there."""

from __future__ import annotations

import os

import pytest

from airqueue.files import copy_atomically


def test_a_copy_replaces_what_was_there_and_leaves_nothing_beside(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    content = os.urandom(3_000_000)
    source.write_bytes(content)
    target.write_bytes(b"older")
    copy_atomically(source, target)
    assert target.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


def test_what_was_there_stays_if_the_source_cannot_be_read(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"older")
    with pytest.raises(FileNotFoundError, match="target"):
        copy_atomically(tmp_path / "absent", target)
    assert target.read_bytes() == b"older"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_device_is_written_to(tmp_path):
    (tmp_path / "source").write_bytes(b"x")
    copy_atomically(tmp_path / "source", "/dev/null")
    with pytest.raises(OSError, match="/dev/full"):
        copy_atomically(tmp_path / "source", "/dev/full")
