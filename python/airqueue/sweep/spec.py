"""The content of a sweep file, checked key by key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airqueue.files import STANDARD_INPUT, named
from airqueue.simulate import recorded, renamed
from airqueue.simulate.errors import ScenarioError, check_whole
from airqueue.simulate.plain import plain
from airqueue.simulate.replications import MOST_REPLICATIONS, MOST_SEED
from airqueue.simulate.scenario import Scenario, read_file
from airqueue.sweep import values
from airqueue.sweep.errors import SweepError
from airqueue.sweep.figures import Pattern
from airqueue.sweep.points import MOST_POINTS
from airqueue.sweep.until import Rule, Width
from airqueue.sweep.values import Listed, Span
from airqueue.toml_text import found

_KEYS: Final = ("scenario", "parameters", "zip", "sample", "seed", "replications", "until")
_REPLICATIONS: Final = 5


@dataclass(frozen=True)
class Spec:
    """A sweep as written; all keys are checked, the scenarios are not."""

    description: Mapping[str, Any]
    """The keys of the file without the scenario."""
    scenario: Mapping[str, Any]
    """The description that the parameters change."""
    source: str
    """The scenario's file, or ""."""
    parameters: tuple[Listed | Span, ...]
    zipped: tuple[tuple[str, ...], ...]
    samples: int | None
    sample_seed: int
    seed: int
    rule: Rule

    @property
    def records(self) -> list[str]:
        """Files of records that the scenario names."""
        return recorded.named(self.scenario)


def read(description: Mapping[str, Any], folder: Path) -> Spec:
    """Read the table of a sweep file; paths in the table are relative to ``folder``.

    Raises SweepError that names the key, OSError for an unreadable scenario.
    """
    if "scenario" not in description and "phy" in description:
        raise SweepError(
            "this is a scenario, not a sweep; `airqueue simulate FILE` simulates it, and a sweep "
            "names it: scenario = FILE"
        )
    for key in description:
        if key not in _KEYS:
            raise SweepError(f"{key}: unknown key of a sweep; expected {', '.join(_KEYS)}")
    scenario, source = _scenario(description.get("scenario"), folder)
    rest = {key: each for key, each in description.items() if key != "scenario"}
    try:
        rest = plain(rest)
        parameters = _parameters(rest.get("parameters", {}))
        samples, sample_seed = _sample(rest.get("sample"))
        return Spec(
            description=rest,
            scenario=scenario,
            source=source,
            parameters=parameters,
            zipped=_zipped(rest.get("zip", []), parameters),
            samples=samples,
            sample_seed=sample_seed,
            seed=_whole("seed", rest.get("seed", 1), 0, MOST_SEED),
            rule=_rule(rest.get("replications"), rest.get("until", {})),
        )
    except ScenarioError as error:
        raise SweepError(str(error)) from error


def _scenario(given: Any, folder: Path) -> tuple[Mapping[str, object], str]:
    """Return the description of the scenario to be changed, and its file."""
    if isinstance(given, Scenario):
        return given.description, ""
    if isinstance(given, Mapping):
        try:
            return renamed.current(plain(given)), ""
        except ScenarioError as error:
            raise SweepError(f"scenario: {error}") from error
    if not isinstance(given, str):
        at = "missing key scenario" if given is None else f"scenario: {found(given)}"
        raise SweepError(
            f"{at}; expected the name of a scenario file, as seen from this one, or a table"
        )
    path = given if given == STANDARD_INPUT else folder / given
    try:
        return renamed.current(read_file(path)), given
    except FileNotFoundError as error:
        raise SweepError(
            f"scenario: there is no file {path}; name one, seen from this file"
        ) from error
    except ScenarioError as error:
        raise SweepError(f"scenario: {named(path)}: {error}") from error


def _parameters(given: Any) -> tuple[Listed | Span, ...]:
    if not isinstance(given, Mapping) or not given:
        raise SweepError(
            f"parameters: {found(given)}; expected a table of what to change, as in "
            '"stations.sta.count" = [1, 2, 5]'
        )
    read: dict[str, Listed | Span] = {}
    for path, value in _flat(given):
        if path in read:
            raise SweepError(f"parameters.{path}: is there twice")
        read[path] = values.read(path, value)
    return tuple(read.values())


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield paths and values: a key without quotes, ``mac.rts_threshold``, makes tables in TOML."""
    for key, value in table.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, Mapping) and value and not _is_range(value):
            yield from _flat(value, path)
        else:
            yield path, value


def _is_range(table: Mapping[str, Any]) -> bool:
    """Whether a table is a range, and not a table made by dots in a key."""
    if "points" in table or "scale" in table:
        return True
    # `flows.up.from` and `.to` are keys of scenarios, too, with lists in a sweep.
    ends = [table[key] for key in ("from", "to") if key in table]
    return bool(ends) and not any(isinstance(end, list | Mapping) for end in ends)


def _zipped(given: Any, parameters: Sequence[Listed | Span]) -> tuple[tuple[str, ...], ...]:
    listed = {each.path: each for each in parameters if isinstance(each, Listed)}
    drawn = {each.path for each in parameters if isinstance(each, Span)}
    if not isinstance(given, list) or not all(isinstance(group, list) for group in given):
        raise SweepError(
            f"zip: {found(given)}; expected a list of lists of parameters that go together, as in "
            '[["phy.standard", "phy.rate"]]'
        )
    seen: set[str] = set()
    for number, group in enumerate(given):
        where = f"zip[{number}]"
        for path in group:
            if path in drawn:
                raise SweepError(f"{where}: {path} is drawn; only listed values go together")
            if not isinstance(path, str) or path not in listed:
                raise SweepError(f"{where}: {found(path)}; expected one of {', '.join(listed)}")
            if path in seen:
                raise SweepError(f"{where}: {path} is there twice")
            seen.add(path)
        counts = {path: len(listed[path].values) for path in group}
        if len(group) < 2 or len(set(counts.values())) > 1:
            have = ", ".join(f"{path} has {count}" for path, count in counts.items())
            raise SweepError(
                f"{where}: {have or 'it is empty'}; expected two parameters or more with as many "
                "values each"
            )
    return tuple(tuple(group) for group in given)


def _sample(given: Any) -> tuple[int | None, int]:
    if given is None:
        return None, 0
    table = given if isinstance(given, Mapping) else {"points": given}
    for key in table:
        if key not in ("points", "seed"):
            raise SweepError(f"sample.{key}: unknown key; expected points and seed")
    points = _whole("sample.points", table.get("points"), 1, MOST_POINTS)
    return points, _whole("sample.seed", table.get("seed", 1), 0, MOST_SEED)


def _rule(replications: Any, until: Any) -> Rule:
    given = _REPLICATIONS if replications is None else replications
    if not isinstance(given, Mapping):
        given = {"least": given, "most": given}
    for key in given:
        if key not in ("least", "most"):
            raise SweepError(f"replications.{key}: unknown key; expected least and most")
    least = _whole("replications.least", given.get("least", _REPLICATIONS), 1, MOST_REPLICATIONS)
    most = _whole("replications.most", given.get("most", least), 1, MOST_REPLICATIONS)
    if not isinstance(until, Mapping):
        raise SweepError(
            f'until: {found(until)}; expected a table, as in "flows.*.loss_ratio" = 0.1'
        )
    widths = tuple(_width(key, value) for key, value in until.items())
    if most < least:
        raise SweepError(f"replications: at most {most}, and at least {least}; exchange them")
    if widths and (least < 2 or most == least):
        raise SweepError(
            "replications: intervals decide how many there are, so give a table, as in "
            "{least = 5, most = 100}; least is 2 or more, for one has no interval"
        )
    if most > least and not widths:
        raise SweepError(
            "replications.most: without the table `until` a point has no precision to reach; add "
            "[until], or give replications as one number"
        )
    return Rule(least, most, widths)


def _width(key: str, given: Any) -> tuple[Pattern, Width]:
    where = f"until.{key}"
    try:
        pattern = Pattern.read(key)
    except SweepError as error:
        raise SweepError(f"until.{error}") from error
    table = given if isinstance(given, Mapping) else {"relative": given}
    for each in table:
        if each not in ("relative", "absolute"):
            raise SweepError(f"{where}.{each}: unknown key; expected relative or absolute")
    if not table:
        raise SweepError(f"{where}: an empty table; expected relative or absolute")
    return pattern, Width(
        _above_zero(f"{where}.relative", table.get("relative"), ""),
        _above_zero(f"{where}.absolute", table.get("absolute"), key.rpartition("_")[2]),
    )


def _above_zero(where: str, given: Any, unit: str) -> float | None:
    """Return a number, or a quantity in the unit that a figure's name ends with."""
    if given is None:
        return None
    known = values.quantity(given)
    if known is None or known[1] not in ("", unit) or not (0 < known[0] < math.inf):
        example = "0.05 for 5 % of the mean" if not unit else "a number in the figure's unit"
        raise SweepError(f"{where}: {found(given)}; expected {example}")
    return float(known[0])


def _whole(name: str, value: Any, least: int, most: int) -> int:
    check_whole(name, value, least, most)
    return int(value)
