"""Reads captures and checks their contents, since a file from elsewhere may hold anything."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeGuard

from airqueue.measure import api, bucket, capture
from airqueue.measure.disciplines import classes
from airqueue.measure.disciplines.steps import STEP, TWO_FLOODS
from airqueue.measure.records import Run
from airqueue.measure.schema import ResultError
from airqueue.measure.stations.plans import PROFILE
from airqueue.measure.stations.plans import fits as fits_stations
from airqueue.uploads import plans as uploads
from airqueue.uploads.settings import from_dict

MAX_RUN_S = 86_400.0
"""No run lasts a day."""
_FLOODS = ("session", "exploration", STEP, classes.KIND, bucket.KIND)
"""Kinds of runs with a quiet path before a flood, and after it."""


def read_capture(path: str) -> tuple[dict[str, Any], list[Run]]:
    """Return the header and the complete runs of a capture.

    The header says in ``interrupted`` whether the measurement was cut short.

    Raises CaptureError, or ResultError for contents that no measurement writes.
    """
    loaded = capture.load(path)
    for number, run in enumerate(loaded.runs, start=1):
        check_meta(path, number, run.meta)
    header = check_header(path, loaded.header)
    # A resumed measurement ends with a complete run, even after an interrupted run.
    cut_short = loaded.torn or (bool(loaded.runs) and loaded.runs[-1].end == "cancelled")
    return {**header, "interrupted": cut_short}, list(loaded.runs)


def unnamed_capture() -> str:
    """Return the name of a capture for which the user has named no file."""
    return f"airqueue-{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}.capture"


def where_kept(path: str, *, resumable: bool) -> str:
    """Say where records are that were measured before the end came."""
    go_on = f", go on with `--resume {path}`" if resumable else ""
    return (
        f"The packet records until then are in {path}: evaluate them with "
        f"`airqueue analyze {path}`{go_on}."
    )


def check_header(path: str, header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header fields that analyses use; raise ResultError if a field is not valid."""
    expected: dict[str, Callable[[Any], bool]] = {
        "profile": lambda value: (
            isinstance(value, str) and value in (*api.PROFILES, PROFILE, uploads.PROFILE)
        ),
        "settings": _settings,
        "stations": lambda value: (
            isinstance(value, list) and len(value) > 1 and all(isinstance(v, str) for v in value)
        ),
        "direction": lambda value: value in ("down", "up"),
        "sizes": lambda value: isinstance(value, list) and all(map(_packet_size, value)),
        "created": lambda value: isinstance(value, str),
        "target": lambda value: isinstance(value, str),
    }
    for name, fits in expected.items():
        if name in header and not fits(header[name]):
            raise ResultError(
                f"{path}: its header has {name} {header[name]!r}; it was not written by "
                "`airqueue measure`."
            )
    return {name: header[name] for name in expected if name in header}


def check_meta(path: str, number: int, meta: Mapping[str, Any]) -> None:
    """Raise ResultError if the fields of a stored run are not those that analyses rely on."""

    def refuse(what: str) -> NoReturn:
        raise ResultError(
            f"{path}: run {number} has {what}; it was not written by `airqueue measure`."
        )

    kind, size, index = meta.get("kind"), meta.get("size_bytes"), meta.get("index", 0)
    if not isinstance(kind, str):
        refuse(f"kind {kind!r} where a name is expected")
    if not _packet_size(size):
        refuse(f"size_bytes {size!r} where a packet size is expected")
    if not _whole(index) or index < 0:
        refuse(f"index {index!r} where a count is expected")
    phases = meta.get("phases", {})
    if not isinstance(phases, dict) or not all(map(_span, phases.values())):
        refuse("phases that are no pairs of times")
    if kind == "search" and not (
        _span(meta.get("flood_s")) and _number(meta.get("agreed_pps", 0.0))
    ):
        refuse("no flood_s or no number of agreed_pps")
    wanted = meta.get("sizes_wanted")
    if kind == "path_mtu" and not (
        isinstance(wanted, list) and wanted and all(map(_packet_size, wanted))
    ):
        refuse("no sizes_wanted")
    if kind in _FLOODS and not {"quiet", "hold", "after"} <= phases.keys():
        refuse("no phases quiet, hold and after")
    block_s = meta.get("block_s")
    if kind == classes.KIND and not (_number(block_s) and 0 < block_s <= MAX_RUN_S):
        refuse(f"block_s {block_s!r} where a length of time is expected")
    if kind == TWO_FLOODS and not {"quiet", "uneven", "after"} <= phases.keys():
        refuse("no phases quiet, uneven and after")
    if kind == "standing" and not {"quiet", "control", "stand", "after"} <= phases.keys():
        refuse("no phases quiet, control, stand and after")
    if meta.get("profile") == PROFILE and not fits_stations(meta):
        refuse("no description of floods to stations")
    if meta.get("profile") == uploads.PROFILE and not uploads.fits(meta):
        refuse("no description of uploads")


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _settings(value: object) -> bool:
    try:
        from_dict(value)
    except ValueError:
        return False
    return True


def _number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _packet_size(value: object) -> bool:
    return _whole(value) and 1 <= value <= 65535


def _span(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(isinstance(v, int | float) for v in value)
        and 0 <= value[0] <= value[1] <= MAX_RUN_S
    )
