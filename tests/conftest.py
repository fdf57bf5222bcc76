"""Shared by all tests: Hypothesis without a clock, who runs commands, and the ``bed`` marker.

A test of the bed is skipped with the reason when the Host AP cannot be built.
"""

from __future__ import annotations

import functools
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from airqueue.linux import preflight, privileges
from airqueue.linux.errors import NamespaceError

# A shell that runs the tests in the background has them ignore Ctrl-C, and what they start
# inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile(
    "patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Runs commands in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AIRQUEUE_KEY", raising=False)
    return CliRunner()


@functools.cache
def _why_no_bed() -> str:
    """Return why this process cannot build the bed, and what would; empty when it can."""
    absent = privileges.missing_tools(preflight.needed_tools(policer=True))
    if absent:
        return absent
    try:
        prefix = privileges.command_prefix()
    except NamespaceError as error:
        return str(error)
    if prefix:
        return f"not root here: run the tests as '{' '.join(prefix)} pytest'"
    return next((check.problem for check in preflight.checks() if not check.ok), "")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("bed") is not None and _why_no_bed():
        pytest.skip(_why_no_bed())
