"""Fixtures for pytest, which finds them by itself where airqueue is installed.

Loaded at each start of pytest: whatever takes time is imported by the fixtures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airqueue.emulate import EmulatedNetwork
    from airqueue.emulate.exact import ExactRun


@pytest.fixture
def airqueue_emulate() -> Iterator[Callable[..., EmulatedNetwork]]:
    """Start a network in real time: ``net = airqueue_emulate("home-evening")``.

    The arguments are those of `airqueue.emulate.emulate`. The network and its programs end with the
    test. Needs root, or a user namespace.
    """
    from airqueue.emulate import emulate  # noqa: PLC0415

    with ExitStack() as networks:

        def start(scenario: str | Mapping[str, object], **options: Any) -> EmulatedNetwork:
            return networks.enter_context(emulate(scenario, **options))

        yield start


@pytest.fixture
def airqueue_exact() -> Callable[..., ExactRun]:
    """Run programs on a virtual clock: ``done = airqueue_exact("home-evening", "phone", argv)``.

    ``others``: pairs of a node and a program to be started before, such as ``("server", ["iperf3",
    "-s"])``. ``duration_s``: virtual time after which everything ends. Other options are those of
    `airqueue.emulate.exact.run`. What programs print is in the result, and printed. Needs user-mode
    Linux, and no rights.
    """
    from airqueue.emulate import Order, Program, exact  # noqa: PLC0415

    def run(
        scenario: str | Mapping[str, object],
        node: str,
        argv: Sequence[str],
        *,
        others: Sequence[tuple[str, Sequence[str]]] = (),
        duration_s: float | None = None,
        **options: Any,
    ) -> ExactRun:
        started = tuple(Program(name, tuple(program)) for name, program in others)
        order = Order(Program(node, tuple(argv)), started, duration_s)
        done = exact.run(scenario, order, **options)
        sys.stdout.write(done.stdout.decode(errors="replace"))
        sys.stderr.write(done.stderr.decode(errors="replace"))
        return done

    return run
