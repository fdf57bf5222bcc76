"""`airqueue measure HOST --with STATION --uploads`: uploads of several stations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import click

from airqueue.cli.parameters import given_options
from airqueue.cli.stations import GOES_WITH, check_names
from airqueue.cli.together import Asked, Kind, analyze_together, check_goes_with, measure_together
from airqueue.measure.records import Run
from airqueue.measure.together import TogetherProber
from airqueue.units import UnitError, parse_duration
from airqueue.uploads.method import measure
from airqueue.uploads.plans import PROFILE
from airqueue.uploads.settings import (
    CATEGORIES,
    Access,
    Category,
    Settings,
    checked,
    defaults,
    to_dict,
)
from airqueue.uploads.verdict import judge
from airqueue.uploads.words import uploads_lines

EDCA = tuple[Category, Access]
Command = TypeVar("Command", bound=Callable[..., Any])
KIND: Final = Kind("uploads", ("stations", "settings"), judge, uploads_lines)
OWN: Final = frozenset({"uploads", "categories", "edca"})
"""Parameters of uploads alone."""


class _Edca(click.ParamType[EDCA]):
    """A category and its channel access, as in ``vo=2/3/7/1.504ms``."""

    name = "edca"

    def convert(self, value: Any, param: Any, ctx: Any) -> EDCA:
        """Parse the text; a pair passes."""
        if isinstance(value, tuple):
            return cast(EDCA, value)
        name, _, rest = str(value).partition("=")
        category, parts = name.strip().lower(), rest.split("/")
        if category not in CATEGORIES or len(parts) != 4:
            self.fail(
                f"{value!r} is not CATEGORY=AIFSN/CWMIN/CWMAX/TXOP, as in vo=2/3/7/1.504ms; "
                f"categories are {', '.join(CATEGORIES)}",
                param,
                ctx,
            )
        if not all(part.strip().isdecimal() for part in parts[:3]):
            self.fail(f"{value!r}: AIFSN, CWMIN and CWMAX are whole numbers", param, ctx)
        try:
            aifsn, cw_min, cw_max = (int(part) for part in parts[:3])
            txop = parts[3].strip()
            txop_s = 0.0 if txop == "0" else parse_duration(txop)
            return category, checked(Access(aifsn, cw_min, cw_max, txop_s))
        except (ValueError, UnitError) as error:
            self.fail(f"{value!r}: {error}", param, ctx)


def uploads_options(command: Command) -> Command:
    """Add the options of uploads to a command."""
    for option in (
        click.option(
            "--edca",
            type=_Edca(),
            multiple=True,
            metavar="CATEGORY=AIFSN/CWMIN/CWMAX/TXOP",
            help="With --uploads: what was set, e.g. vo=2/3/7/1.504ms. Default: those of the "
            "standard and hostapd for OFDM. Repeat for several categories.",
        ),
        click.option(
            "--category",
            "categories",
            type=click.Choice([c for c in CATEGORIES if c != "be"]),
            multiple=True,
            help="With --uploads: the category to compare with best effort; without this option "
            "those of --edca, or bk. Repeat for several.",
        ),
        click.option(
            "--uploads",
            is_flag=True,
            help="With --with: all stations upload, and it is measured whether they obey the "
            "settings of AIFS, windows and TXOP.",
        ),
    ):
        command = option(command)
    return command


def check_uploads(ctx: click.Context, stations: Sequence[str], *, uploads: bool) -> bool:
    """Whether uploads are measured; raise UsageError for options that do not go together."""
    for parameter in given_options(ctx):
        if parameter.name in OWN and not uploads:
            raise click.UsageError(f"{parameter.opts[-1]} goes with --uploads.")
    if not uploads:
        return False
    if not stations:
        raise click.UsageError("--uploads needs another station; name one by --with.")
    check_goes_with(ctx, GOES_WITH | OWN, "does not go with --uploads")
    check_names(stations)
    return True


def measure_uploads(
    asked: Asked, header: Mapping[str, Any], categories: Sequence[str], edca: Sequence[EDCA]
) -> None:
    """Measure, and write what was asked for; after Ctrl-C judge the finished runs."""
    stated = [category for category, _ in edca]
    if len(set(stated)) != len(stated):
        raise click.UsageError("--edca states a category twice; state each once.")
    settings: Settings = {**defaults(), **dict(edca)}
    about = {**header, "profile": PROFILE, "stations": asked.names, "settings": to_dict(settings)}
    compared = categories or [category for category in stated if category != "be"] or ["bk"]
    wanted = cast(Sequence[Category], list(dict.fromkeys(compared)))
    limits = asked.limits()
    measure_together(
        asked,
        lambda: TogetherProber(asked.host, asked.stations, asked.port, direction="up", **limits),
        about,
        lambda prober, on_event, on_run: measure(
            prober, asked.names, settings, wanted, on_event=on_event, on_run=on_run, header=about
        ),
        KIND,
    )


def analyze_uploads(
    ctx: click.Context, header: Mapping[str, Any], runs: Sequence[Run], json_path: str | None
) -> None:
    """Judge the runs of a capture again."""
    analyze_together(ctx, runs, header, KIND, json_path)
