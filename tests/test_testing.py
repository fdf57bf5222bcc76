"""The fixtures that other projects' tests get."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def inner(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as another project does, in a folder of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_fixtures_are_found_and_say_what_they_do(tmp_path):
    done = inner(tmp_path, "--fixtures")
    assert "airqueue_exact" in done.stdout
    assert "airqueue_emulate" in done.stdout
    # Each start of pytest loads the plugin, which must not load what takes long.
    loaded = "import sys, airqueue.testing.plugin; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0


@pytest.mark.long
@pytest.mark.usefixtures("user_mode_linux")
def test_the_example_passes_and_fails_where_the_page_is_too_slow(tmp_path):
    text = (ROOT / "examples" / "emulate" / "test_page.py").read_text("utf-8")
    (tmp_path / "test_page.py").write_text(text, encoding="utf-8")
    passed = inner(tmp_path)
    assert passed.returncode == 0, passed.stdout
    slow = text.replace("home-evening", "far-station").replace("< 3", "< 0.3")
    (tmp_path / "test_page.py").write_text(slow, encoding="utf-8")
    failed = inner(tmp_path)
    assert failed.returncode == 1
    # What the program printed helps to find out why.
    assert "Captured stdout call" in failed.stdout
    assert "500000" in failed.stdout


@pytest.mark.emulation
def test_a_network_in_real_time_ends_with_the_test(tmp_path):
    (tmp_path / "test_it.py").write_text(
        """
kept = []

def test_a_ping(airqueue_emulate):
    net = airqueue_emulate("quiet-flat", seed=3)
    kept.append(net)
    assert net.host("phone").run(["ping", "-c", "2", "-i", "0.1", "peer"]).returncode == 0

def test_the_network_has_ended():
    assert kept[0].ended
    assert kept[0].report().emulated["pairs"]["phone->server"]["delivered_packets"] == 2
""",
        encoding="utf-8",
    )
    done = inner(tmp_path)
    assert done.returncode == 0, done.stdout
