"""A processor of one's own for each machine that runs at the same time."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

_NAME = "airqueue-processor"


@contextmanager
def reserved() -> Iterator[int]:
    """Yield a processor that no other machine has, or any if all have one.

    An abstract socket with the processor's number stands for it: the kernel lets one process bind
    the name, and frees the name however that process ends.
    """
    allowed = sorted(os.sched_getaffinity(0))
    # Not all begin at the first: other work of this machine may be there.
    first = os.getpid() % len(allowed)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sign:
        for processor in (*allowed[first:], *allowed[:first]):
            try:
                sign.bind(f"\0{_NAME}-{processor}")
            except OSError:
                continue
            yield processor
            return
        yield allowed[first]
