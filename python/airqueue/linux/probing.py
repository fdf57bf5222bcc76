"""Measuring a Host AP: both endpoints in their namespaces, disturbances on the wall clock."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airqueue.linux.config import HostApConfig
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
    try:
        with (
            HostAp(config) as bed,
            _server(bed),
            _client(bed) as prober,
            Disturber(bed, config.disturbances, config.queue.limit),
        ):
            yield prober
    except NamespaceError as error:
        # Measurements before a disturbance failed are kept, as with any other failing path.
        raise ProbeError(f"{error}.") from error


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
