"""Fixtures for pytest, which finds them by itself where airqueue is installed.

Loaded at each start of pytest: whatever takes time is imported by the fixtures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airqueue.emulate import EmulatedNetwork
    from airqueue.emulate.exact import ExactRun
    from airqueue.emulate.network import Given


@pytest.fixture
def airqueue_emulate() -> Iterator[Callable[..., EmulatedNetwork]]:
    """Start a network in real time: ``net = airqueue_emulate("home-evening")``.

    The arguments are those of `airqueue.emulate.emulate`. The network and its programs end with the
    test. Needs root, or a user namespace.
    """
    from airqueue.emulate import emulate  # noqa: PLC0415

    with ExitStack() as networks:

        def start(scenario: Given, **options: Any) -> EmulatedNetwork:
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
    from airqueue.emulate import EmulationError, Order, Program, exact  # noqa: PLC0415
    from airqueue.emulate.nodes import program_words  # noqa: PLC0415

    def run(
        scenario: Given,
        node: str,
        argv: Sequence[str | os.PathLike[str]],
        *,
        others: Sequence[tuple[str, Sequence[str | os.PathLike[str]]]] = (),
        duration_s: float | None = None,
        **options: Any,
    ) -> ExactRun:
        for pair in others:
            if isinstance(pair, str) or len(pair) != 2:
                raise EmulationError(
                    f'others: {pair!r}; give pairs of a node and a program, as in ("server", '
                    '["iperf3", "-s"])'
                )
        started = tuple(Program(name, program_words(program)) for name, program in others)
        order = Order(Program(node, program_words(argv)), started, duration_s)
        done = exact.run(scenario, order, **options)
        sys.stdout.write(done.stdout.decode(errors="replace"))
        sys.stderr.write(done.stderr.decode(errors="replace"))
        return done

    return run
