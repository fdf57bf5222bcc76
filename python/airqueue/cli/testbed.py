"""`airqueue testbed`: a Host AP of kernel queues, whose answer is known."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, Literal, TypeVar, cast

import click

import airqueue
from airqueue.cli.common import json_option, report_option, stdout
from airqueue.cli.errors import INTERRUPTED
from airqueue.cli.measure import Job, carry_out, kept
from airqueue.cli.output import Outputs
from airqueue.cli.parameters import DURATION, RATE, SIZES, Share, Whole
from airqueue.cli.progress import Display
from airqueue.cli.signals import signals_end
from airqueue.linux import preflight, truth, uml_bed
from airqueue.linux.config import FRAME_BYTES, ConfigError, HostApConfig, Shaper, parse_queue
from airqueue.linux.disturbance import Disturbance, Kind
from airqueue.linux.errors import NamespaceError
from airqueue.linux.host_ap import script
from airqueue.linux.probing import host_ap_prober
from airqueue.linux.uml_measure import CREATED
from airqueue.linux.uml_measure import measure as measure_in_uml
from airqueue.linux.uml_measure import target as uml_target
from airqueue.measure import api
from airqueue.measure.document import Document, Truth
from airqueue.measure.prober import Prober
from airqueue.units import UnitError, parse_burst, parse_size

Command = TypeVar("Command", bound=Callable[..., Any])
Kernel = Literal["host", "uml"]


class _Parsed(click.ParamType[Any]):
    """A value read by a function that says in one sentence what is wrong with it."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Parse text; what is parsed already passes."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except (ConfigError, UnitError) as error:
            self.fail(str(error), param, ctx)


def _disturbance(kind: Kind) -> _Parsed:
    return _Parsed("disturbance", lambda text: Disturbance.parse(kind, text))


_BED_OPTIONS = (
    click.option(
        "--queue",
        type=_Parsed("queue", parse_queue),
        default="pfifo:100",
        show_default=True,
        metavar="QUEUE",
        help="pfifo:100, bfifo:150kB or pfifo_head_drop:100: a FIFO and the most that waits. Or a "
        "discipline in tc's words: fq_codel, 'codel target 50ms limit 1000', cake.",
    ),
    click.option(
        "--rate",
        "rate_bps",
        type=RATE,
        default="7mbit",
        show_default=True,
        metavar="RATE",
        help="Rate of the shaper, e.g. 500kbit, 7mbit, 100mbit.",
    ),
    click.option(
        "--shaper",
        type=click.Choice(["tbf", "htb", "own"]),
        help="Token bucket: tbf (default) or htb. own: the rate of cake, its default.",
    ),
    click.option(
        "--burst",
        "burst_bytes",
        type=_Parsed("burst", lambda text: parse_burst(text, FRAME_BYTES)),
        metavar="BURST",
        help="Bucket in bytes (64kB) or full packets (64p); default: a packet and 1 ms of the rate.",
    ),
    click.option(
        "--mpu",
        "mpu_bytes",
        type=_Parsed("size", parse_size),
        default="0B",
        metavar="SIZE",
        help="Shape packets as if at least so large, e.g. 590B: a ceiling of packets per second.",
    ),
    click.option(
        "--policer",
        type=click.Choice(["none", "nft", "nft-packets"]),
        default="none",
        show_default=True,
        help="Drop what exceeds the rate, queue nothing.",
    ),
    click.option("--isolate", is_flag=True, help="A queue for each flow (htb)."),
    click.option(
        "--stall",
        "stalls",
        type=_disturbance("stall"),
        multiple=True,
        metavar="EVERY:LENGTH",
        help="Serve nothing for a while, again and again, e.g. 10s:2s.",
    ),
    click.option(
        "--swing",
        "swings",
        type=_disturbance("swing"),
        multiple=True,
        metavar="EVERY:FACTOR",
        help="Change the rate to a multiple and back, e.g. 10s:0.5.",
    ),
    click.option(
        "--limit-swing",
        "limit_swings",
        type=_disturbance("limit"),
        multiple=True,
        metavar="EVERY:FACTOR",
        help="Change the queue's limit to a multiple and back.",
    ),
    click.option(
        "--delay",
        "delay_s",
        type=DURATION,
        default=0.0,
        metavar="TIME",
        help="Delay of the wires each way, by netem, e.g. 10ms.",
    ),
    click.option(
        "--loss",
        type=Share(),
        default="0",
        metavar="SHARE",
        help="Packets lost on the wires each way, by netem, e.g. 1%.",
    ),
    click.option("--ipv6", is_flag=True, help="IPv6 instead of IPv4."),
    click.option(
        "--direction",
        type=click.Choice(["down", "up"]),
        default="down",
        show_default=True,
        help="down: the wireless machine receives; up: it sends.",
    ),
)


def testbed_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that describe a bed; it gets them as ``config``."""

    @wraps(command)
    def with_config(**options: Any) -> Any:
        names = ("queue", "rate_bps", "shaper", "burst_bytes", "mpu_bytes", "policer", "isolate")
        wires = ("delay_s", "loss", "ipv6", "direction")
        bed = {name: options.pop(name) for name in (*names, *wires)}
        disturbances = [options.pop(name) for name in ("stalls", "swings", "limit_swings")]
        bed["rate_bps"] = round(bed["rate_bps"])
        bed["shaper"] = bed["shaper"] or _usual_shaper(bed)
        try:
            config = HostApConfig(**bed, disturbances=tuple(d for ds in disturbances for d in ds))
        except ConfigError as error:
            raise click.UsageError(f"{error}.") from error
        return command(config=config, **options)

    for option in reversed(_BED_OPTIONS):
        with_config = option(with_config)
    return with_config


def _usual_shaper(bed: Mapping[str, Any]) -> Shaper:
    # Only htb can isolate, so a user who asks for isolation need not name htb.
    if bed["isolate"]:
        return "htb"
    return "own" if bed["queue"].kind == "cake" and bed["policer"] == "none" else "tbf"


@contextmanager
def _bed_errors() -> Iterator[None]:
    """Turn an error of the test bed into a sentence and exit code 1."""
    try:
        yield
    except NamespaceError as error:
        raise click.ClickException(f"{error}.") from error


@click.group(short_help="Measure kernel queues of known capacity.")
def testbed() -> None:
    """Build an access point out of kernel queues and measure it: the answer is known.

    Runs as root, or without root in a user namespace. Nothing is left behind.
    """


@testbed.command()
def check() -> None:
    """Say whether this machine can build the test bed, and what is missing."""
    with _bed_errors():
        preflight.ensure_privileges()
        problems = list(_show_checks())
    if problems:
        raise click.exceptions.Exit(1)


def _show_checks() -> Iterator[str]:
    """Print the results of the checks and yield the problems that prevent any measurement."""
    console = stdout(comments=False)
    for found in (*preflight.checks(), uml_bed.requirement()):
        needed = f" (only for {found.needed_for})" if found.needed_for else ""
        console.print(f"{'ok     ' if found.ok else 'MISSING'} {found.name}{needed}")
        if not found.ok:
            console.print(f"        {found.problem}.", soft_wrap=True)
            if not found.needed_for:
                yield found.problem


@testbed.command()
@testbed_options
def show(config: HostApConfig) -> None:
    """Print the commands that build the bed, to read or to run by hand as root."""
    for line in script(config):
        click.echo(line)


@testbed.command()
@testbed_options
@click.option(
    "--kernel",
    type=click.Choice(["host", "uml"]),
    default="host",
    show_default=True,
    help="uml: user-mode Linux on a virtual clock, without root, equal with equal seeds.",
)
@click.option(
    "--seed",
    type=Whole(0, 2**63 - 1),
    metavar="N",
    help="Random numbers of --kernel uml; default 1.",
)
@click.option(
    "--profile",
    type=click.Choice(sorted(api.PROFILES, reverse=True)),
    default="quick",
    show_default=True,
)
@click.option("--sizes", type=SIZES, default="1500,750", show_default=True)
@json_option
@report_option
@click.option("--capture", "capture_path", metavar="FILE", help="Store every packet record.")
@click.option(
    "--max-time", type=DURATION, metavar="TIME", help="Stop after, e.g. 90s, by the bed's clock."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def measure(
    *,
    config: HostApConfig,
    kernel: Kernel,
    seed: int | None,
    profile: str,
    sizes: tuple[int, ...],
    json_path: str | None,
    report_path: str | None,
    capture_path: str | None,
    max_time: float | None,
    quiet: bool,
) -> None:
    """Build the bed, measure it through real sockets, show estimate beside truth.

    \b
    Examples:
      airqueue testbed measure
      airqueue testbed measure --queue bfifo:150kB --shaper htb --json -
      airqueue testbed measure --queue pfifo:500 --rate 100mbit --burst 64p
      airqueue testbed measure --stall 9s:2s --swing 5s:0.5 --report bed.html
      airqueue testbed measure --queue fq_codel --kernel uml --rate 20mbit
    """
    if kernel == "host" and seed is not None:
        raise click.UsageError("--seed is for --kernel uml: the host's own clock has none.")
    outputs = Outputs(json_path, report_path)
    outputs.check(capture_path=capture_path)
    header = _header(config, kernel, profile, sizes)
    job = Job(header, capture_path, max_time_s=max_time)
    if kernel == "uml":
        result = _in_uml(config, job, 1 if seed is None else seed, quiet=quiet)
    else:
        result = _on_host(config, job, quiet=quiet)
    outputs.emit(result, job.runs)
    if result["interrupted"]:
        raise click.exceptions.Exit(INTERRUPTED)


def _header(
    config: HostApConfig, kernel: Kernel, profile: str, sizes: Sequence[int]
) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "target": f"Host AP, {config.describe()}" if kernel == "host" else uml_target(config),
        "profile": profile,
        "direction": config.direction,
        "sizes": list(sizes),
        "airqueue": airqueue.__version__,
        "created": now if kernel == "host" else CREATED,
    }


def _on_host(config: HostApConfig, job: Job, *, quiet: bool) -> Document:
    def connect() -> AbstractContextManager[Prober]:
        return host_ap_prober(config)

    with _bed_errors():
        preflight.ensure_privileges(policer=config.policer != "none")
        result = carry_out(job, connect, quiet=quiet)
    result["truth"] = cast("Truth", truth.of(config))
    return result


def _in_uml(config: HostApConfig, job: Job, seed: int, *, quiet: bool) -> Document:
    uml_bed.check(config)

    def measured(display: Display) -> Document:
        with job.capturing():
            return measure_in_uml(
                config,
                profile=job.header["profile"],
                sizes=job.header["sizes"],
                max_time_s=job.max_time_s,
                seed=seed,
                on_event=display.on_event,
                on_run=job.on_run,
            ).document

    with signals_end():
        result = kept(job, measured, quiet=quiet)
    # An interrupted measurement has the truth without the kernel's own settings.
    result.setdefault("truth", cast("Truth", truth.of(config)))
    return result
