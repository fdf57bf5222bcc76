"""A measurement in the test bed inside user-mode Linux: real sockets on a virtual clock."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from airqueue import scratch
from airqueue.linux import uml_bed
from airqueue.linux.config import HostApConfig
from airqueue.linux.errors import NamespaceError
from airqueue.linux.probing import prober_through
from airqueue.measure.events import Event
from airqueue.measure.prober import ProbeError, RunProgress

if TYPE_CHECKING:
    from airqueue.linux.uml_guest import Inside
    from airqueue.measure.document import Document, Truth
    from airqueue.measure.records import Run

CREATED: Final = datetime.datetime.fromtimestamp(uml_bed.BEGINNING_S, datetime.UTC).strftime(
    "%Y-%m-%dT%H:%M:%SZ"
)
"""When all of these measurements were made, by the clock inside: captures must be the same."""
_CAPTURE: Final = "runs.capture"
_INSIDE: Final = f"{__name__}:inside"


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement and its packet records."""

    document: Document
    """As `airqueue testbed measure` writes it, with ``truth``."""
    runs: list[Run]
    wall_s: float


def measure(
    config: HostApConfig,
    *,
    profile: str = "quick",
    sizes: Sequence[int] = (1500, 750),
    max_time_s: float | None = None,
    seed: int = 1,
    on_event: Callable[[Event], None] = lambda event: None,
    on_run: Callable[[Run], None] = lambda run: None,
    watch: Callable[[float, float], None] = lambda virtual_s, stalled_s: None,
) -> Measured:
    """Build a bed in user-mode Linux, and measure its queue.

    The arguments are those of `airqueue.measure.api.measure` and `uml_bed.run`. ``on_run`` gets the
    runs at the end, also if the measurement fails or is interrupted: those that are complete.

    Raises what `uml_bed.run` does, and ProbeError if the bed cannot be built or measured.
    """
    arguments = {
        "profile": profile,
        "sizes": list(sizes),
        "max_time_s": max_time_s,
        "header": {"target": target(config)},
    }
    runs: list[Run] = []
    with scratch.folder() as files:
        try:
            ran = uml_bed.run(
                config,
                _INSIDE,
                arguments,
                seed=seed,
                hear=lambda said: on_event(_event(said)),
                watch=watch,
                files=files,
            )
        except NamespaceError as error:
            says = str(error)
            raise ProbeError(says if says.endswith(".") else f"{says}.") from error
        finally:
            runs += _runs_in(files / _CAPTURE)
            for run in runs:
                on_run(run)
    document = cast("Document", ran.result)
    document["truth"] = cast("Truth", ran.truth)
    document["created"] = CREATED
    return Measured(document, runs, ran.wall_s)


def target(config: HostApConfig) -> str:
    """Return what is measured, in words."""
    return f"Host AP in user-mode Linux, {config.describe()}"


def inside(at: Inside, arguments: Mapping[str, Any]) -> Any:
    """Measure the bed from inside the machine."""
    # Loaded there only: what measures takes a while to load.
    api: Any = importlib.import_module("airqueue.measure.api")
    capture: Any = importlib.import_module("airqueue.measure.capture")
    with (
        prober_through(at.bed) as prober,
        capture.CaptureFile.create(at.files / _CAPTURE, {}) as kept,
    ):
        measured = api.measure(
            prober,
            **arguments,
            on_event=lambda event: at.say(dataclasses.asdict(event)),
            on_run=kept.append,
        )
    return measured.to_json()


def _event(said: Mapping[str, Any]) -> Event:
    progress = said["progress"]
    return Event(**{**said, "progress": None if progress is None else RunProgress(**progress)})


def _runs_in(path: Path) -> list[Run]:
    """Return the runs in a capture; none of one that ended before its first run."""
    capture: Any = importlib.import_module("airqueue.measure.capture")
    try:
        return list(capture.load(path).runs)
    except (OSError, capture.CaptureError):
        return []
