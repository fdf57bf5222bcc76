"""`airqueue server`."""

from __future__ import annotations

import ipaddress
import signal
import time
from typing import Any

import click

from airqueue._native import Server
from airqueue.cli.parameters import DURATION, RATE, Whole, read_key
from airqueue.cli.talk import note

POLL_S = 0.2
"""Interval of the foreground's checks of the server, whose work is in its own thread."""


class _Address(click.ParamType[str]):
    """An IP address: names may have several, and others tomorrow."""

    name = "address"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the text as it is."""
        try:
            ipaddress.ip_address(value)
        except ValueError:
            self.fail(f"{value!r} is no IP address, such as 192.0.2.1", param, ctx)
        return str(value)


_ADDRESS = _Address()


@click.command(short_help="Be the other end of measurements.")
@click.option(
    "--bind", type=_ADDRESS, metavar="ADDRESS", help="Listen on this address only (default: all)."
)
@click.option("--port", default=5860, show_default=True, type=Whole(0, 65535))
@click.option(
    "--no-tcp",
    is_flag=True,
    help="Offer no load by TCP connections, which use the same port number.",
)
@click.option(
    "--attend",
    type=_ADDRESS,
    metavar="ADDRESS",
    multiple=True,
    help="IP address of another server that may flood this machine, when a client measures several "
    "stations with it. Repeat for several.",
)
@click.option(
    "--key-file",
    metavar="FILE",
    help="Serve only clients that know this shared key (or AIRQUEUE_KEY).",
)
@click.option(
    "--max-rate",
    type=RATE,
    metavar="RATE",
    default="1gbit",
    show_default=True,
    help="Most traffic, all sessions together.",
)
@click.option(
    "--max-run",
    type=DURATION,
    metavar="TIME",
    default="180s",
    show_default=True,
    help="Longest single run.",
)
@click.option("--max-sessions", type=Whole(1, 1000), default=16, show_default=True)
@click.option("--max-sessions-per-address", type=Whole(1, 1000), default=4, show_default=True)
def server(
    *,
    bind: str | None,
    port: int,
    no_tcp: bool,
    attend: tuple[str, ...],
    key_file: str | None,
    max_rate: float,
    max_run: float,
    max_sessions: int,
    max_sessions_per_address: int,
) -> None:
    """Be the other end of `airqueue measure`, until Ctrl-C.

    A flood goes only to an address that has proved that it receives, and within the limits. On a
    network that others reach, set a key.

    \b
    Examples:
      airqueue server
      airqueue server --bind 192.0.2.1 --key-file lab.key --max-rate 300mbit
      airqueue server --attend 192.0.2.1
    """
    running = Server(
        bind=bind,
        port=port,
        key=read_key(key_file),
        max_bits_per_s=int(max_rate),
        max_run_s=max_run,
        max_sessions=max_sessions,
        max_sessions_per_address=max_sessions_per_address,
        tcp=not no_tcp,
        attend=list(attend),
    )
    # Handle signals also if a shell started the server in the background (SIGINT ignored) or a
    # service manager stops the server.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        without = "" if running.no_tcp is None else f" No TCP load: {running.no_tcp}."
        note(f"Listening on {running.address}, Ctrl-C ends it.{without}")
        while (failure := running.failure()) is None:
            time.sleep(POLL_S)
        raise click.ClickException(failure)
    except KeyboardInterrupt:
        note("Stopped.")
    finally:
        running.stop()
