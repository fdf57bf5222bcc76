"""The document of a diagnosis: findings, recommendation, and the records that they rest on."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import jsonschema
import numpy as np

from airqueue import files
from airqueue.diagnose import records as recorded
from airqueue.diagnose.advice import Asking, Recommendation, recommend
from airqueue.diagnose.alternate import Alternated
from airqueue.diagnose.before import slow_gateway
from airqueue.diagnose.felt import Span, Trips, under, without_load
from airqueue.diagnose.losses import losses
from airqueue.diagnose.queue import Queue
from airqueue.diagnose.queue_advice import recommend_measured
from airqueue.diagnose.records import Records
from airqueue.diagnose.together import Together, together
from airqueue.diagnose.where import Finding, findings
from airqueue.diagnose.words import headline, what_it_does
from airqueue.measure import schema as measurement

FORMAT: Final = "airqueue-diagnosis"
VERSION: Final = 1
CREATED: Final = "%Y-%m-%dT%H:%M:%SZ"
"""Form of ``created``, UTC."""
MEASUREMENT: Final = "urn:airqueue:measurement"
"""By this name schema.json refers to the schema of a measurement."""
TOGETHER: Final = "both"
"""Direction of round trips under a download and an upload at once."""
_ADVICE: Final = "give a file written by `airqueue diagnose --json`"
LONGEST_S: Final = 86_400.0
"""A diagnosis of more than a day is a damaged file."""


class DiagnosisError(Exception):
    """A file is not a usable diagnosis; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the records say. ``felt``: trips of each load, in the order of ``findings``."""

    records: Records
    findings: tuple[Finding, ...]
    felt: tuple[Trips, ...]
    recommendation: Recommendation
    queue: Queue | None = None
    """None: it was not asked what the queue is."""
    together: tuple[Together, ...] = ()
    """Both directions at once."""
    alternated: Alternated | None = None
    """Diagnoses without and with a setting in turn, of which ``records`` are the last one in the
    state that was left."""

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return headline(self.findings, self.queue, losses(self.records))

    @property
    def effects(self) -> list[str]:
        """What waits before any load, what the longest wait does to calls and games, and losses."""
        slow = slow_gateway(self.records)
        does = what_it_does(self.findings, self.together)
        return [*([] if slow is None else [slow]), *does, *losses(self.records).says]

    def to_json(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Return the document; ``about`` has ``airqueue``, ``created``, ``target``, ``elapsed_s``."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **about,
            "headline": self.headline,
            "recommendation": {
                "do": self.recommendation.do,
                "says": self.recommendation.headline,
                "settings": [dataclasses.asdict(each) for each in self.recommendation.settings],
            },
            "findings": [_finding(each) for each in self.findings],
            "together": [_together(each) for each in self.together],
            "effects": self.effects,
            "round_trips": _round_trips(self.records),
            **({"queue": None, "queue_of": None} if self.queue is None else self.queue.to_json()),
            **({} if self.alternated is None else {"alternated": self.alternated.to_json()}),
            "records": recorded.to_json(self.records),
        }


def diagnosis(
    records: Records,
    asking: Asking | None = None,
    queue: Queue | None = None,
    alternated: Alternated | None = None,
) -> Diagnosis:
    """Judge records, and the measurement of the queue if there is one: a pure function."""
    found = findings(records)
    felt = []
    for each in found:
        leg = records.leg(each.load.site)
        felt.append(Trips(0, 0, None, None, None, None) if leg is None else under(leg, each.load))
    asked = asking or Asking()
    advice = None if queue is None else recommend_measured(found, felt, asked, queue)
    if advice is None:
        lost = losses(records)
        slow = slow_gateway(records)
        advice = recommend(found, felt, asked, lost, measured=queue is not None, slow=slow)
    at_once = tuple(together(records))
    return Diagnosis(records, tuple(found), tuple(felt), advice, queue, at_once, alternated)


def _finding(finding: Finding) -> dict[str, Any]:
    load = finding.load
    return {
        "site": load.site,
        "direction": load.direction,
        "load": load.kind,
        "place": finding.place,
        "says": finding.says,
        "carried_bps": load.carried_bps,
        "flood_rise_s": load.flood_rise_s,
        "waits": finding.waits,
        **_spans(
            rise_s=finding.rise,
            near_s=finding.near,
            beyond_s=finding.beyond,
            along_s=finding.along,
        ),
    }


def _together(found: Together) -> dict[str, Any]:
    return {
        "site": found.down.site,
        "says": found.says,
        "down_bps": found.down.carried_bps,
        "up_bps": found.up.carried_bps,
        **_spans(rise_s=found.rise, near_s=found.near),
    }


def _spans(**spans: Span | None) -> dict[str, Any]:
    return {
        name: None if span is None else dataclasses.asdict(span) for name, span in spans.items()
    }


def _round_trips(records: Records) -> list[dict[str, Any]]:
    """Return a row for each leg without load, and under each load."""
    rows = []
    for leg in records.legs:
        parts: list[tuple[str | None, str | None, Trips]]
        parts = [(None, None, without_load(records, leg))]
        loads = (load for load in records.loads if load.idle is None)
        parts += [(load.site, load.direction, under(leg, load)) for load in loads]
        parts += [
            (load.site, TOGETHER, under(leg, load))
            for load in records.together[::2]
            if load.idle is None
        ]
        for site, direction, trips in parts:
            rows.append(
                {
                    "leg": leg.name,
                    "load_site": site,
                    "load_direction": direction,
                    "sent": trips.sent,
                    "answered": trips.answered,
                    "p50_s": trips.p50_s,
                    "p95_s": trips.p95_s,
                    "p99_s": trips.p99_s,
                    "jitter_s": trips.jitter_s,
                    "round_trips_per_minute": trips.per_minute,
                }
            )
    return rows


@functools.cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a diagnosis, with that of the measurement it may have."""
    text = resources.files("airqueue.diagnose").joinpath("schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    part = measurement.schema() | {"$id": MEASUREMENT}
    return loaded | {"$defs": loaded.get("$defs", {}) | {"measurement": part}}


def validator() -> jsonschema.Draft202012Validator:
    """Return what checks a diagnosis."""
    return jsonschema.Draft202012Validator(schema())


def read_diagnosis(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read and check a file of `airqueue diagnose --json`, ``-``: standard input.

    Raises OSError or DiagnosisError.
    """
    data, path = files.read_bytes(path), files.named(path)
    try:
        loaded = files.parse_json(
            data, path, _ADVICE, parse_float=_finite, parse_int=_whole, parse_constant=_finite
        )
        # Half a surrogate pair would be refused by every file that the names get into.
        json.dumps(loaded, ensure_ascii=False).encode()
    except files.NotJsonError as error:
        raise DiagnosisError(f"{error}.") from error
    except (UnicodeEncodeError, RecursionError) as error:
        raise DiagnosisError(f"{path} has a name that is no text in UTF-8; {_ADVICE}.") from error
    if not isinstance(loaded, dict) or loaded.get("format") != FORMAT:
        raise DiagnosisError(f"{path} is not a diagnosis; {_ADVICE}.")
    if loaded.get("version") != VERSION:
        raise DiagnosisError(
            f"{path} has version {loaded.get('version')!r} of the format and this airqueue reads "
            f"version {VERSION}; use the airqueue that wrote it."
        )
    found = jsonschema.exceptions.best_match(validator().iter_errors(loaded))
    if found is not None:
        place = found.json_path.removeprefix("$").removeprefix(".") or "the top level"
        raise DiagnosisError(
            f"{path} is damaged or was edited, at {place}: {' '.join(found.message.split())[:150]}."
        )
    wrong = _contradiction(loaded)
    if wrong is not None:
        raise DiagnosisError(f"{path} is damaged or was edited: {wrong}.")
    return loaded


def created_at(created: str) -> datetime.datetime:
    """Return the time at which a document was made."""
    return datetime.datetime.strptime(created, CREATED).replace(tzinfo=datetime.UTC)


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise files.WrongNumberError(f"{literal[:20]} is no number that a result has")
    return value


def _whole(literal: str) -> int:
    _finite(literal)
    return int(literal)


def _contradiction(document: Mapping[str, Any]) -> str | None:
    """Say what the schema cannot: about the records' times, and about ``created``."""
    try:
        made = created_at(document["created"])
    except ValueError:
        return f"created is {document['created'][:40]!r}, not a time like 2026-01-31T12:00:00Z"
    if made.year < 1970:
        return f"created is {document['created']}, before 1970"
    of = document.get("queue_of")
    if document.get("queue") is not None and (
        of is None or of["site"] is None or of["direction"] != document["queue"]["direction"]
    ):
        return "the measured queue is not that of queue_of"
    halves = (document.get("alternated") or {}).get("halves", ())
    parts = [document["records"], *(half["records"] for half in halves)]
    return next((wrong for part in parts if (wrong := _impossible(part)) is not None), None)


def _impossible(records: Mapping[str, Any]) -> str | None:
    """Say what the schema cannot, about the records of one diagnosis."""
    names = [leg["name"] for leg in records["legs"]]
    if len({*names}) < len(names):
        return "two legs have one name"
    ways = [(load["site"], load["direction"]) for load in records["loads"]]
    if len({*ways}) < len(ways):
        return "two loads are to one site in one direction"
    at_once = records.get("together", [])
    if [each["direction"] for each in at_once] != ["down", "up"] * (len(at_once) // 2):
        return "loads that ran at once are not pairs of a download and an upload"
    for leg in records["legs"]:
        if len(leg["sent_s"]) != len(leg["round_trip_s"]):
            return f"the leg {leg['name'][:40]!r} has not as many round trips as probes"
        sent_s = np.array([0.0, *leg["sent_s"], LONGEST_S])
        if (np.diff(sent_s) < 0).any():
            return f"probes of the leg {leg['name'][:40]!r} are not in order of their times"
    loads = [*records["loads"], *at_once]
    for way in filter(None, (load.get("one_way") for load in loads)):
        if len(way["sent_s"]) != len(way["delay_s"]):
            return "packets beside a load have not as many delays as times"
        if not all(0 <= at_s <= LONGEST_S for at_s in (way["opened_s"], *way["sent_s"])):
            return "a packet beside a load is not within a diagnosis"
    times = [(load["began_s"], load["ended_s"]) for load in loads]
    times += [(begin, end) for load in loads for begin, end, _ in load["rates"]]
    for began_s, ended_s in (*times, *records["quiet"]):
        if not 0 <= began_s <= ended_s <= LONGEST_S:
            return f"a time from {began_s:g} s to {ended_s:g} s is none within a diagnosis"
    return None
