"""Digests of the code behind a result, so that results of different code are not mixed up.

The files are read once in a process: later edits are not part of the code that this process runs.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from pathlib import Path

import airqueue
from airqueue.runs.errors import RunError


@functools.cache
def fingerprint(parts: frozenset[str]) -> str:
    """Return a digest of the version, the native extension and these packages and modules.

    ``parts``: their full names, as ``airqueue.models``.
    """
    digests = [f"{part} {_digest(part)}" for part in sorted({"airqueue._native", *parts})]
    return hashlib.sha256("\n".join([airqueue.__version__, *digests]).encode()).hexdigest()


@functools.cache
def _digest(name: str) -> str:
    """Return the digest of a module's file, or of all sources of a package."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise RunError(f"there is no module {name}, which work depends on; install airqueue again")
    origin = Path(spec.origin)
    package = spec.submodule_search_locations is not None
    digest = hashlib.sha256()
    # C: the clock of user-mode Linux, which is compiled where it runs.
    sources = [path for path in origin.parent.rglob("*") if path.suffix in {".py", ".c"}]
    for path in sorted(sources) if package else [origin]:
        digest.update(f"{path.relative_to(origin.parent).as_posix()}\n".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
