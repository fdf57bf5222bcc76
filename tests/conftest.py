"""Shared by all tests: Hypothesis without clock or chance, who runs commands, ``bed``, ``emulation``.

A test with one of these marks is skipped with the reason when the Host AP cannot be built, or real
programs cannot be run inside simulated networks.
"""

from __future__ import annotations

import functools
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from airqueue.cli.common import Results
from airqueue.linux import preflight, privileges
from airqueue.linux.errors import NamespaceError

# A shell that runs the tests in the background has them ignore Ctrl-C, and what they start
# inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile(
    "anew", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# The same examples each time: a change must not be refused for what it did not touch. With
# `--hypothesis-profile anew` examples are drawn anew, twice as many.
settings.register_profile(
    "patient", settings.get_profile("anew"), derandomize=True, max_examples=50
)
settings.load_profile("patient")


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Runs commands in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AIRQUEUE_KEY", raising=False)
    return CliRunner()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets results be shown as on a terminal without colours."""
    monkeypatch.setattr(Results, "is_terminal", True)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture(scope="session")
def user_mode_linux(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A kernel that runs as a process; a test that asks is skipped where there is none."""
    from peers.install import UnavailableError  # noqa: PLC0415 - most tests do without
    from validation.linux import kernel  # noqa: PLC0415

    try:
        return kernel.install(tmp_path_factory.mktemp("kernel"))
    except UnavailableError as reason:
        pytest.skip(f"no user-mode Linux: {reason}")


@functools.cache
def _why_no_bed() -> str:
    """Return why this process cannot build the bed, and what would; empty when it can."""
    reason = _why_no_namespaces(preflight.needed_tools(policer=True))
    return reason or next((check.problem for check in preflight.checks() if not check.ok), "")


@functools.cache
def _why_no_emulation() -> str:
    """Return why this process cannot emulate networks, and what would; empty when it can."""
    from airqueue.emulate.nodes import TOOLS  # noqa: PLC0415 - most tests do without

    return _why_no_namespaces(TOOLS)


def _why_no_namespaces(tools: Sequence[str]) -> str:
    absent = privileges.missing_tools(tools)
    if absent:
        return absent
    try:
        prefix = privileges.command_prefix()
    except NamespaceError as error:
        return str(error)
    return f"not root here: run the tests as '{' '.join(prefix)} pytest'" if prefix else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what rests on the wall clock: `make test-python` runs the others beside each other.

    Files with tests that boot machines come first: they take minutes, and one of them at the end
    would leave the other processors without work.
    """
    for item in items:
        if item.get_closest_marker("bed") or item.get_closest_marker("emulation"):
            item.add_marker(pytest.mark.wall_clock)
        if "user_mode_linux" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.boots)
    long = {item.path for item in items if item.get_closest_marker("boots") is not None}
    items.sort(key=lambda item: item.path not in long)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("bed") is not None and _why_no_bed():
        pytest.skip(_why_no_bed())
    if item.get_closest_marker("emulation") is not None and _why_no_emulation():
        pytest.skip(_why_no_emulation())
