"""Shells complete commands, options and names by the script that `airqueue completion` prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

AIRQUEUE = Path(sys.executable).with_name("airqueue")


def printed(shell):
    command = [AIRQUEUE, "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("airqueue simu", {"simulate"}),
        ("airqueue simulate --repo", {"--report"}),
        ("airqueue examples simulate/hidden", {"simulate/hidden-terminals"}),
    ],
)
def test_bash_completes(tmp_path, line, expected):
    (tmp_path / "completion").write_text(printed("bash"), "utf-8")
    words = line.split()
    script = (
        f"source completion; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        '_airqueue_completion airqueue; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{AIRQUEUE.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert expected <= set(done.stdout.split()), (done.stdout, done.stderr)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_their_own_script(shell):
    assert f"_AIRQUEUE_COMPLETE={shell}_complete" in printed(shell)


def test_an_unknown_shell_is_refused():
    done = subprocess.run(
        [AIRQUEUE, "completion", "cmd"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "'bash', 'zsh', 'fish'" in done.stderr
