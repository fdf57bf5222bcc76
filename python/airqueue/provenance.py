"""Where results come from: the program, the machine, the command and the date."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parent
_PATIENCE_S = 10.0
"""For git; a file system over the network may be slow, and results do not wait for it longer."""


def session() -> dict[str, Any]:
    """Return what is known of this process: the date, the command, Python and the platform."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


@functools.cache
def git_revision() -> str | None:
    """Return the commit of the checkout that airqueue runs from, ``-dirty`` behind it if changed.

    None for an installed package: a repository that merely has the environment in it is not ours.
    """
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(*arguments: str) -> str | None:
    """Return what git says in the package's directory; None if it refuses or is not there."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=_PACKAGE,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
