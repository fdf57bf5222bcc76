"""What guests of the benches share: networks of namespaces, and processes in them."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from airqueue.linux.virtual import first_process


def run(*command: str) -> str:
    """Run a command, and return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def ip(line: str) -> None:
    run("ip", *line.split())


def tc(where: str, line: str) -> None:
    run("ip", "netns", "exec", where, "tc", *line.split())


def inside(name: str, work: Any, *arguments: Any) -> int:
    """Do something in a process in a network namespace."""
    process = os.fork()
    if process == 0:
        with Path(f"/run/netns/{name}").open("rb") as space:
            first_process.LIBC.setns(space.fileno(), 0)
        work(*arguments)
        os._exit(0)
    return process


def in_child(work: Callable[[], int]) -> None:
    if first_process.in_child(work) != 0:
        raise RuntimeError("the work failed")


def quietly(work: Callable[..., None], *arguments: Any) -> None:
    """Do something in a thread, until its connection ends."""

    def go() -> None:
        with suppress(OSError):
            work(*arguments)

    threading.Thread(target=go, daemon=True).start()


def feed(connection: socket.socket) -> None:
    """Always have data to send."""
    while True:
        connection.sendall(bytes(65536))
