"""`airqueue emulate --control`, `--metrics`, `--live`: a run seen and changed while it lasts."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from airqueue.emulate.network import EmulatedNetwork
    from airqueue.emulate.session import Order
    from airqueue.linux.noted import NotedSignals

_LOOPBACK: Final = "127.0.0.1"


class _Address(click.ParamType[tuple[str, int]]):
    """``[ADDRESS:]PORT``; the address is numeric, and loopback by default."""

    name = "address"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, int]:
        """Split the text; a pair passes."""
        if isinstance(value, tuple):
            return value
        host, colon, port = str(value).rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if colon else _LOOPBACK
        number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else -1
        try:
            ipaddress.ip_address(host)
        except ValueError:
            number = -1
        if not 0 <= number <= 65_535:
            self.fail(
                f"{value!r} is not [ADDRESS:]PORT, as in 9100, 192.0.2.1:9100 or [::1]:9100",
                param,
                ctx,
            )
        return host, number


@dataclass(frozen=True, slots=True)
class Watched:
    """How a run is seen and changed from watched."""

    control: Path | None
    """Path of the control socket."""
    metrics: tuple[str, int] | None
    """Address and port of the counters for Prometheus."""
    live: bool
    """Whether stderr, a terminal, has the figures of the last seconds."""

    def check(self, *, exact: bool, twins: bool, shell: bool, quiet: bool) -> None:
        """Raise UsageError for options that do not go together."""
        names = {"--control": self.control, "--metrics": self.metrics, "--live": self.live or None}
        given = [name for name, value in names.items() if value is not None]
        if exact and given:
            raise click.UsageError(
                f"{given[0]} is for real time: on a virtual clock a run has no present to look at "
                "or to change; leave out --exact."
            )
        if twins and self.control is not None:
            raise click.UsageError(
                "--control is not for --twins, which would not have the changes of the run."
            )
        if self.live and (shell or quiet):
            other = "--shell" if shell else "--quiet"
            raise click.UsageError(
                f"--live and {other} do not go together; use --control PATH, and elsewhere "
                "airqueue ctl --control PATH show --watch."
            )
        if self.live and not sys.stderr.isatty():
            raise click.UsageError("--live needs a terminal on stderr.")


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options ``control``, ``metrics`` and ``live``."""
    for option in (
        click.option(
            "--live", is_flag=True, help="Show the figures of the last seconds on stderr."
        ),
        click.option(
            "--metrics",
            type=_Address(),
            metavar="[ADDRESS:]PORT",
            help="Serve counters for Prometheus at /metrics; by default for this machine only.",
        ),
        click.option(
            "--control",
            type=click.Path(path_type=Path),
            metavar="PATH",
            help="Make a socket for airqueue ctl, which shows and changes the running network.",
        ),
    ):
        command = option(command)
    return command


def run(
    network: EmulatedNetwork,
    order: Order,
    say: Callable[[str], None],
    watched: Watched,
    noted: NotedSignals,
) -> int:
    """Carry out an order in real time, seen and changed from outside; return the exit code.

    ``noted`` notes signals from before to after this.
    Raises what `Session.run` raises, and EmulationError or OSError for a socket.
    """
    from airqueue.cli.emulate_view import Screen  # noqa: PLC0415 - loads numpy, which starts threads
    from airqueue.emulate import control, metrics  # noqa: PLC0415
    from airqueue.emulate.live import Live  # noqa: PLC0415
    from airqueue.emulate.session import Session  # noqa: PLC0415

    watched_now = watched.control is not None or watched.live
    live = Live(network, network.series, shown=watched_now)
    screen = Screen(live.figures) if watched.live else None
    path = None if watched.control is None else watched.control.absolute()

    @contextmanager
    def alongside() -> Iterator[None]:
        with ExitStack() as stack:
            if watched_now or network.series is not None:
                stack.enter_context(live)
            if path is not None:
                stack.enter_context(control.serve(path, network, live))
            if watched.metrics is not None:
                url = stack.enter_context(metrics.serve(watched.metrics, network))
                say(f"Counters for Prometheus are at {url}.")
            if screen is not None:
                stack.enter_context(screen)
            yield

    session = Session(
        network,
        order,
        say,
        streams=(1, 2) if screen is None else screen.streams,
        environment=None if path is None else {control.VARIABLE: str(path)},
        noted=noted,
    )
    return session.run(alongside())
