"""Measuring a Host AP: both endpoints in their namespaces, disturbances on the wall clock."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airqueue.linux.config import HostApConfig
from airqueue.linux.discipline import Discipline
from airqueue.linux.disturbance import Disturber
from airqueue.linux.errors import NamespaceError
from airqueue.linux.host_ap import HostAp
from airqueue.measure.prober import ProbeError, Prober

SERVER_PORT = 5860
"""The server is alone in its namespace, so the port is always free."""


@contextmanager
def host_ap_prober(config: HostApConfig) -> Iterator[Prober]:
    """Build a Host AP and yield a prober through it, disturbed as configured.

    Raises ProbeError when the bed cannot be built, a disturbance fails or the endpoints cannot talk.
    """
    with _as_path_that_fails(), HostAp(config) as bed, prober_through(bed) as prober:
        yield prober


@contextmanager
def prober_through(bed: HostAp) -> Iterator[Prober]:
    """Yield a prober through a Host AP that has been built, disturbed as configured."""
    with _as_path_that_fails(), _server(bed), _client(bed) as prober, _disturber(bed):
        yield prober


@contextmanager
def _as_path_that_fails() -> Iterator[None]:
    # Measurements before a disturbance failed are kept, as with any other failing path.
    try:
        yield
    except NamespaceError as error:
        raise ProbeError(f"{error}.") from error


def _disturber(bed: HostAp) -> Disturber:
    queue = bed.config.queue
    # Of no use to a discipline, whose limit no disturbance changes.
    limit = 1 if isinstance(queue, Discipline) else queue.limit
    return Disturber(bed, bed.config.disturbances, limit)


@contextmanager
def _server(bed: HostAp) -> Iterator[None]:
    # Loaded here: building and showing a bed does without the native module.
    native: Any = importlib.import_module("airqueue._native")
    server = native.Server(bind=bed.server_address, port=SERVER_PORT, netns=bed.server_ns)
    try:
        yield
    finally:
        server.stop()


def _client(bed: HostAp) -> Any:
    live: Any = importlib.import_module("airqueue.measure.live")
    return live.LiveProber(
        bed.server_address,
        SERVER_PORT,
        direction=bed.config.direction,
        netns=bed.client_ns,
        local_ports=list(bed.flow_ports),
    )
