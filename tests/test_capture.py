"""Capture files: what was appended is there, whatever happened to the writer."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from airqueue.measure import capture
from airqueue.measure.capture import CaptureError, CaptureFile
from airqueue.measure.records import MISSING, HostReport, Run

HEADER = {"profile": "quick", "direction": "down", "sizes": [1500, 750], "target": "Gerät ☂"}
TIMES = ("scheduled_ns", "sent_ns", "kernel_tx_ns", "received_ns")
COLUMNS = (*TIMES, "flow", "size_bytes", "sent_class", "received_class")


def a_run(seed: int, n: int = 2000) -> Run:
    rng = np.random.default_rng(seed)
    scheduled = np.cumsum(rng.integers(0, 2_000_000, n)).astype(np.int64)
    sent = scheduled + rng.integers(0, 100_000, n)
    received = sent + rng.integers(-(10**15), 10**15, n)
    received[rng.random(n) < 0.2] = MISSING
    kernel_tx = np.where(rng.random(n) < 0.1, sent + 3000, MISSING)
    return Run(
        scheduled,
        sent,
        kernel_tx,
        received,
        rng.integers(0, 3, n).astype(np.uint8),
        rng.choice(np.array([750, 1500, 65535], np.uint16), n),
        HostReport(seed, 2, 3, 4, seed % 2 == 0),
        ("complete", "cancelled", "receiver_silent", "sender_silent")[seed % 4],
        {"kind": "session", "size_bytes": 1500, "index": seed, "phases": {"quiet": [0.0, 0.35]}},
        *classes(rng, received != MISSING, seed),
    )


def classes(rng: np.random.Generator, arrived, seed: int):
    """Traffic classes, which one run in three does not have."""
    if seed % 3 == 2:
        return None, None
    sent = rng.integers(0, 192, len(arrived)).astype(np.uint8)
    # Some are marked.
    return sent, np.where(arrived, sent | rng.choice([0, 3], len(arrived)), 0).astype(np.uint8)


def same(a: Run, b: Run) -> bool:
    columns = all(same_column(getattr(a, c), getattr(b, c)) for c in COLUMNS)
    return columns and (a.host, a.end, a.meta) == (b.host, b.end, b.meta)


def same_column(a, b) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b) and a.dtype == b.dtype


def written(path: Path, runs: int) -> list[Run]:
    made = [a_run(seed) for seed in range(runs)]
    with CaptureFile.create(path, HEADER) as file:
        for run in made:
            file.append(run)
    return made


def test_what_was_appended_is_read_back(tmp_path):
    path = tmp_path / "a.aqc"
    runs = written(path, 4)
    found = capture.load(path)
    assert found.header == HEADER
    assert not found.torn
    assert len(found.runs) == 4
    assert all(map(same, found.runs, runs))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.aqc"]


BEFORE_CLASSES = bytes.fromhex(
    "4151434150545552010100000014eb2327c47b2270726f66696c65223a2022717569636b227d020000003dd01c05"
    "64137b226b696e64223a202273657373696f6e227d000000000001030300d00fd00f030a00000001010e01018c01"
    "0101a01f0100dc0b0101ee050100dc0b"
)
"""A capture as the versions that did not know traffic classes wrote it."""


def test_a_capture_from_before_classes_has_none_also_when_it_grows(tmp_path):
    path = tmp_path / "a.aqc"
    path.write_bytes(BEFORE_CLASSES)
    found = capture.load(path)
    assert not found.torn
    assert found.header == {"profile": "quick"}
    (old,) = found.runs
    assert old.scheduled_ns.tolist() == [0, 1000, 2000]
    assert old.received_ns.tolist() == [70, MISSING, 2070]
    assert old.size_bytes.tolist() == [1500, 750, 1500]
    assert old.sent_class is old.received_class is None
    with CaptureFile.resume(path) as file:
        file.append(a_run(0))
    found = capture.load(path)
    assert same(found.runs[0], old)
    assert same(found.runs[1], a_run(0))


def test_a_capture_without_runs_and_a_run_without_packets_are_fine(tmp_path):
    path = tmp_path / "a.aqc"
    CaptureFile.create(path, {}).close()
    assert capture.load(path) == capture.Capture({}, [], False)
    empty = a_run(0, 0)
    with CaptureFile.resume(path) as file:
        file.append(empty)
    assert same(capture.load(path).runs[0], empty)


def test_a_torn_end_is_dropped_and_removed_by_the_next_append(tmp_path):
    path = tmp_path / "a.aqc"
    runs = written(path, 1)
    one = path.stat().st_size
    runs = written(path, 2)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for cut in {one + 1, len(whole) - 1, *map(int, rng.integers(one + 1, len(whole), 30))}:
        path.write_bytes(whole[:cut])
        found = capture.load(path)
        assert found.torn, cut
        assert len(found.runs) == 1
        assert same(found.runs[0], runs[0])
    with CaptureFile.resume(path) as file:
        file.append(a_run(7))
    found = capture.load(path)
    assert not found.torn
    assert [run.meta["index"] for run in found.runs] == [0, 7]
    assert found.header == HEADER


def test_damage_never_gives_a_wrong_run(tmp_path):
    path = tmp_path / "a.aqc"
    runs = written(path, 2)
    whole = path.read_bytes()
    rng = np.random.default_rng(2)
    for at in rng.integers(0, len(whole), 200):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(damaged)
        try:
            found = capture.load(path)
        except CaptureError as error:
            assert str(path) in str(error)
            continue
        assert all(map(same, found.runs, runs))
        assert len(found.runs) < 2 or found.header == HEADER


def test_a_killed_writer_leaves_whole_runs(tmp_path):
    path, first = tmp_path / "a.aqc", tmp_path / "first.aqc"
    with CaptureFile.create(first, HEADER) as file:
        file.append(a_run(0, 100_000))
    script = (
        "import sys, itertools; sys.path.insert(0, sys.argv[2])\n"
        "from test_capture import CaptureFile, HEADER, a_run\n"
        "file = CaptureFile.create(sys.argv[1], HEADER)\n"
        "for seed in itertools.count(): file.append(a_run(seed, 100_000))\n"
    )
    argv = [sys.executable, "-c", script, str(path), str(Path(__file__).parent)]
    with subprocess.Popen(argv) as child:
        deadline = time.monotonic() + 60
        # A kill while the first run is being written would leave none.
        while not path.exists() or path.stat().st_size <= first.stat().st_size:
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    found = capture.load(path)
    assert found.header == HEADER
    assert found.runs
    assert all(same(run, a_run(seed, 100_000)) for seed, run in enumerate(found.runs))


def test_a_full_disk_is_one_sentence_and_loses_nothing_that_was_there(tmp_path):
    path = tmp_path / "a.aqc"
    script = (
        "import resource, sys, itertools; sys.path.insert(0, sys.argv[2])\n"
        "from test_capture import CaptureError, CaptureFile, HEADER, a_run\n"
        "file = CaptureFile.create(sys.argv[1], HEADER)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "try:\n"
        "    for seed in itertools.count(): file.append(a_run(seed))\n"
        "except CaptureError as error: print(seed, error)\n"
    )
    argv = [sys.executable, "-c", script, str(path), str(Path(__file__).parent)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    count, _, text = done.stdout.partition(" ")
    assert "size limit" in text
    assert str(path) in text
    assert text.count("\n") == 1
    found = capture.load(path)
    assert not found.torn
    assert len(found.runs) == int(count) > 0
    assert all(same(run, a_run(seed)) for seed, run in enumerate(found.runs))


def test_a_disk_that_is_really_full(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        path = place / "a.aqc"
        with (
            CaptureFile.create(path, HEADER) as file,
            pytest.raises(CaptureError, match=r"the disk is full"),
        ):
            for seed in range(100):
                file.append(a_run(seed))
        assert not capture.load(path).torn
        with pytest.raises(CaptureError, match=r"cannot create .*the disk is full"):
            CaptureFile.create(place / "b.aqc", {"filler": "x" * 200_000})
        assert [entry.name for entry in place.iterdir()] == ["a.aqc"]
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("content", [b"", b"\x7fELF" + bytes(500), b'{"runs": []}', b"AQ"])
def test_other_files_are_named_and_refused(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    for attempt in (capture.load, CaptureFile.resume):
        with pytest.raises(CaptureError) as caught:
            attempt(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{\n  "verdict": "fifo"\n}\n', "but JSON; `airqueue compare`"),
        (b"\xd4\xc3\xb2\xa1" + bytes(20), "for Wireshark."),
        (b"\x0a\x0d\x0d\x0a" + bytes(20), "for Wireshark."),
        (b"duration = 1\n", "it is no capture of `airqueue measure --capture`."),
        (b"", "it is no capture of `airqueue measure --capture`."),
    ],
)
def test_what_another_file_is_is_said_in_words_of_users(tmp_path, content, says):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(CaptureError) as caught:
        capture.load(path)
    assert says in str(caught.value) and "magic" not in str(caught.value)


def test_places_that_cannot_hold_a_capture(tmp_path):
    for path, words in (
        (tmp_path / "no" / "such" / "a.aqc", "no such file"),
        (tmp_path, "not a regular file"),
        (Path("/dev/null"), "not a regular file"),
    ):
        with pytest.raises(CaptureError, match=words) as caught:
            CaptureFile.create(path, {})
        assert str(path) in str(caught.value)
    with pytest.raises(CaptureError, match="no such file"):
        capture.load(tmp_path / "absent.aqc")
    assert Path("/dev/null").is_char_device()


def test_a_link_is_followed_and_a_new_capture_replaces_the_old(tmp_path):
    target = tmp_path / "real.aqc"
    written(target, 2)
    link = tmp_path / "link.aqc"
    link.symlink_to(target)
    written(link, 1)
    assert link.is_symlink()
    assert len(capture.load(target).runs) == 1
