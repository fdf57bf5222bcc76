"""The choices of each setting, and the changes of the network that an action makes.

One action always means one network, whatever the actions before it: each choice of a setting changes
the same keys, no two settings change one key, and limits of queues are set again after a queue was
replaced, which has the limits of its own description.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from airqueue import _native
from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.plain import plain
from airqueue.toml_text import found

Change: TypeAlias = Mapping[str, object]
"""The keys of an entry of ``changes`` in a scenario, without ``at``."""
Choice: TypeAlias = Change | Sequence[Change]

_TARGETS: Final = ("station", "link", "flow", "host", "category")
"""Keys that say what is changed; the others say how."""
_QUEUE: Final = "queue"
_LIMIT: Final = "queue_limit"
_MOST_PAIRS: Final = 400
"""Pairs of choices of two settings that are tried."""

_Key: TypeAlias = tuple[str, str]
"""What is changed, in words, and by which key."""


class Made(NamedTuple):
    """A change of the running network, and the choice that asks for it."""

    where: str
    change: str
    """As JSON."""


class _Setting:
    def __init__(self, name: str, choices: object) -> None:
        self.name = name
        where = f"settings.{name}"
        if isinstance(choices, str | Mapping) or not isinstance(choices, Sequence):
            raise ScenarioError(f"{where}: {found(choices)}; expected a list of choices")
        if not choices:
            raise ScenarioError(f"{where}: there is no choice; give at least one")
        self._choices = [
            _changes(choice, f"{where}[{place}]") for place, choice in enumerate(choices)
        ]
        every = [[key for change in changes for key in _keys(change)] for changes in self._choices]
        self.keys = dict.fromkeys(every[0])
        for place, keys in enumerate(every):
            both = dict.fromkeys([*self.keys, *keys])
            other = next((key for key in both if (key in keys) != (key in self.keys)), None)
            if other is not None:
                without = place if other in self.keys else 0
                raise ScenarioError(
                    f"{where}[{without}]: another choice changes {_words(other)}, this one does not, "
                    "so that the network would depend on earlier choices; give all choices of a "
                    "setting the same keys"
                )

    def __len__(self) -> int:
        return len(self._choices)

    def changes(self, key: str) -> bool:
        """Return whether the setting changes this key of anything."""
        return any(own == key for _, own in self.keys)

    def made(self, choice: int) -> Iterator[Made]:
        """Yield the changes of a choice."""
        for change in self._choices[choice]:
            yield Made(f"settings.{self.name}[{choice}]", json.dumps(change))


class Settings:
    """The settings of an environment.

    Raises ScenarioError that names the setting, and the choice, for what is no list of changes, and
    for choices after which one action could mean several networks.
    """

    def __init__(self, given: object) -> None:
        if not isinstance(given, Mapping):
            raise ScenarioError(f"settings: {found(given)}; expected a list of choices by name")
        if not given:
            raise ScenarioError("settings: there is none; an agent needs at least one")
        self._settings = [_Setting(str(name), choices) for name, choices in given.items()]
        self.sizes = [len(setting) for setting in self._settings]
        """How many choices each setting has, in their order."""
        # A queue that replaces another takes its limit away.
        self._order = sorted(
            range(len(self._settings)), key=lambda each: not self._settings[each].changes(_QUEUE)
        )
        for one, other in itertools.combinations(self._settings, 2):
            both = next((key for key in one.keys if key in other.keys), None)
            if both is not None:
                raise ScenarioError(
                    f"settings.{other.name}: settings.{one.name} changes {_words(both)}, too; "
                    "let one setting have it"
                )

    def made(self, before: Sequence[int | None], now: Sequence[int]) -> Iterator[Made]:
        """Yield the changes that make the network of the choices ``now`` from that ``before``."""
        replaced = False
        for each in self._order:
            setting = self._settings[each]
            if before[each] != now[each]:
                replaced = replaced or setting.changes(_QUEUE)
            elif not (replaced and setting.changes(_LIMIT)):
                continue
            yield from setting.made(now[each])

    def check(self, scenario: str) -> None:
        """Raise ScenarioError for a choice, or two of two settings, that a scenario cannot have."""
        network = _native.Scenario(scenario)

        def attempt(*changes: Made) -> None:
            run, live = network.start(0), _native.LiveChanges(scenario)
            for change in changes:
                apply(live, run, change)

        for setting in self._settings:
            for choice in range(len(setting)):
                attempt(*setting.made(choice))
        queues, limits = (
            [setting for setting in self._settings if setting.changes(key)]
            for key in (_QUEUE, _LIMIT)
        )
        for queue, limit in itertools.product(queues, limits):
            pairs = itertools.product(range(len(queue)), range(len(limit)))
            for first, second in itertools.islice(pairs, _MOST_PAIRS):
                if queue is not limit:
                    attempt(*queue.made(first), *limit.made(second))


def apply(live: _native.LiveChanges, run: _native.Run, made: Made) -> None:
    """Change a running network. Raises ScenarioError that names the choice."""
    try:
        live.apply(run, made.change)
    except ValueError as error:
        raise ScenarioError(f"{made.where}: {error}") from error


def _changes(choice: object, where: str) -> tuple[dict[str, Any], ...]:
    changes = [choice] if isinstance(choice, Mapping) else choice
    if isinstance(changes, str) or not isinstance(changes, Sequence):
        raise ScenarioError(f"{where}: {found(choice)}; expected a change, or a list of changes")
    if not changes:
        raise ScenarioError(f"{where}: no change; a choice needs at least one")
    for change in changes:
        if not isinstance(change, Mapping):
            raise ScenarioError(f"{where}: {found(change)}; expected the keys of a change")
    return tuple(cast("dict[str, Any]", plain(change, where)) for change in changes)


def _keys(change: Mapping[str, Any]) -> Iterator[_Key]:
    target = " ".join(f"{key}={_shown(change[key])}" for key in _TARGETS if key in change)
    yield from ((target, key) for key in change if key not in _TARGETS)


def _shown(value: object) -> str:
    # A link is one for both directions.
    return "-".join(sorted(map(str, value))) if isinstance(value, list) else str(value)


def _words(key: _Key) -> str:
    target, name = key
    return f"{name} of {target}" if target else name
