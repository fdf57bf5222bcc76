"""The bench of emulators: rows of peers that are absent, and how programs of peers are started."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from airqueue.linux.netns import Namespace
from benches import emulate_peers
from peers import emulators
from peers.install import UnavailableError

ALL_IDS = ["0", "0", str(2**32 - 1)]
REAL_ROOT = pytest.mark.skipif(
    os.geteuid() != 0 or Path("/proc/self/uid_map").read_text("ascii").split() != ALL_IDS,
    reason="only the machine's root may take the ids of another user",
)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing was built and nothing is installed."""
    monkeypatch.setattr(emulators, "BUILD", tmp_path)
    monkeypatch.setattr(emulate_peers, "BUILD", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "how"), [("rattan", "cargo install rattan"), ("mahimahi", "--mahimahi DIR")]
)
def test_a_peer_that_is_not_here_has_a_row_that_says_how_to_get_it(
    name: str, how: str, bare: Path
) -> None:
    peer = next(peer for peer in emulate_peers.PEERS if peer.name == name)
    cells = emulate_peers.row(peer, 1, 1.0)
    assert cells[0] == name and not any(cells[1:-1])
    assert cells[-1].startswith(peer.has) and how in cells[-1]


def test_a_folder_without_the_sources_of_mahimahi_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="not mahimahi"):
        emulators.build_mahimahi(tmp_path)


@pytest.mark.emulation
def test_a_program_that_ends_without_a_word_is_named_by_its_complaint() -> None:
    complains = [sys.executable, "-c", "raise SystemExit('no network here')"]
    with (
        Namespace("empty") as namespace,
        emulate_peers._started(namespace, complains) as process,
        pytest.raises(UnavailableError, match="no network here"),
    ):
        emulate_peers._said(process)


@REAL_ROOT
@pytest.mark.emulation
def test_mahimahi_starts_with_the_ids_of_a_program_that_has_the_bit_setuid() -> None:
    shown = ("-c", "import os; print(os.getresuid()[:2], os.getresgid()[:2])")
    argv = emulate_peers._python(emulate_peers._AS_NOBODY, sys.executable, *shown)
    with Namespace("empty") as namespace, emulate_peers._started(namespace, argv) as process:
        assert emulate_peers._said(process) == "(65534, 0) (65534, 0)"
