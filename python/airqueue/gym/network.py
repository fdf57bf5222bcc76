"""The environment: any scenario, any of the changes that a running network can have."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from airqueue import _native
from airqueue.gym.observed import OBSERVED, OBSERVED_OF_FLOW, Step, between
from airqueue.gym.settings import Choice, Settings, apply
from airqueue.simulate import Scenario, ScenarioError
from airqueue.simulate.reported import run_of
from airqueue.toml_text import found

if TYPE_CHECKING:
    from airqueue.simulate.report_types import Run

_LEAST_STEP_S: Final = 1e-9
_SLIVER: Final = 1e-6
"""A rest of an episode that is below this part of a step belongs to the last step."""

Observation: TypeAlias = npt.NDArray[np.float32]
Action: TypeAlias = npt.NDArray[np.int64]


def log_rates(step: Step) -> float:
    """Return the mean over the flows of ln(1 + Mbit/s): proportional fairness, the default reward."""
    rates = [flow.throughput_bps for flow in step.flows.values()]
    return sum(math.log1p(rate / 1e6) for rate in rates) / len(rates)


class NetworkEnv(gymnasium.Env[Observation, Action]):
    """A network whose settings an agent chooses anew in each step of simulated time.

    scenario: a `Scenario`, the path of a file, or a dictionary. The scenario's warm-up passes before
    the first observation; its duration is the length of an episode. settings: the choices of each
    setting. A choice is one or several changes of the running network, with the keys of an entry of
    ``changes`` in a scenario, without ``at``: queue limits, whole queues with discipline and
    parameters, TXOP, AIFSN, windows, rates. All choices of a setting change the same keys, and no
    other setting does, so that an action means one network. An action is the index of a choice for
    each setting, in the order of ``settings`` (`spaces.MultiDiscrete`).

    step_s: simulated time of a step; the last step of an episode ends with it. reward: a function of
    the `Step`, by default `log_rates`.
    observe: "network", the values of `OBSERVED`, or "flows", after these the values of
    `OBSERVED_OF_FLOW` of each flow; ``observation_names`` names the values. vary: a function of a
    random generator that returns overrides of the scenario for an episode (`Scenario.changed`); with
    "flows" the flows must not change. ``info["step"]`` is the `Step`, after a reset None.

    The seed of ``reset`` and the actions determine an episode. Raises ScenarioError for
    settings that the scenario cannot have.

    >>> import gymnasium, airqueue.gym
    >>> queue = [{"station": "ap", "queue_limit": f"{n} packets"} for n in (5, 50, 500)]
    >>> env = gymnasium.make(
    ...     "airqueue/Network-v1", scenario="home.toml", settings={"queue": queue}, step_s=0.5
    ... )  # doctest: +SKIP
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - so it is in Gymnasium
        "render_modes": []
    }

    def __init__(
        self,
        scenario: Scenario | str | os.PathLike[str] | Mapping[str, object],
        settings: Mapping[str, Sequence[Choice]],
        *,
        step_s: float = 0.1,
        reward: Callable[[Step], float] = log_rates,
        observe: str = "network",
        vary: Callable[[np.random.Generator], Mapping[str, object]] | None = None,
    ) -> None:
        self.render_mode = None
        self._step_s = _seconds_of_step(step_s)
        if observe not in {"network", "flows"}:
            raise ScenarioError(f'observe is {observe!r}; it must be "network" or "flows"')
        for name, function in (("reward", reward), ("vary", vary)):
            if not callable(function) and not (name == "vary" and function is None):
                raise ScenarioError(f"{name} is {found(function)}; it must be a function")
        self._scenario = Scenario.of(scenario)
        if self._scenario.description.get("buffers") is not None:
            raise ScenarioError(
                "buffers: this table sets queue limits during the run; leave the table out"
            )
        if not self._scenario.flows:
            raise ScenarioError("flows: there is none; what an agent observes is flows")
        self._reward, self._vary = reward, vary
        self._settings = Settings(settings)
        self._settings.check(json.dumps(self._scenario.description))
        self._flows = tuple(self._scenario.flows) if observe == "flows" else ()
        self.observation_names = (
            *OBSERVED,
            *(f"{flow}.{name}" for flow in self._flows for name in OBSERVED_OF_FLOW),
        )
        self.action_space = spaces.MultiDiscrete(self._settings.sizes)
        shape = (len(self.observation_names),)
        self.observation_space = spaces.Box(0.0, np.inf, shape, dtype=np.float32)
        self._run: _native.Run | None = None
        self._seen: Run
        self._chosen: Sequence[int | None] = ()

    @property
    def scenario(self) -> Scenario:
        """The scenario, before ``vary`` changes it."""
        return self._scenario

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, with overrides from ``vary`` and new random numbers."""
        super().reset(seed=seed, options=options)
        scenario = self._scenario
        if self._vary is not None:
            scenario = scenario.changed(self._vary(self.np_random))
            if self._flows and tuple(scenario.flows) != self._flows:
                raise ScenarioError(
                    'vary changes the flows, which observe = "flows" does not allow'
                )
        self._begin(scenario, int(self.np_random.integers(2**63)))
        return np.zeros(self.observation_space.shape or (), dtype=np.float32), {"step": None}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Make the chosen changes, simulate a step, and observe it."""
        if self._run is None:
            raise gymnasium.error.ResetNeeded("no episode is running; call reset() before step()")
        if not self.action_space.contains(np.asarray(action)):
            raise gymnasium.error.InvalidAction(f"{action!r} is not in {self.action_space}")
        chosen = np.asarray(action).tolist()
        for made in self._settings.made(self._chosen, chosen):
            apply(self._live, self._run, made)
        self._chosen = chosen
        self._advance(self._run)
        seen = _figures(self._run)
        step, self._seen = between(self._seen, seen, self._run.now_s), seen
        truncated = self._run.done
        if truncated:
            self._run = None
        values = step.of_network() + (step.of_flows() if self._flows else [])
        observation = np.array(values, dtype=np.float32)
        return observation, self._rewarded(step), False, truncated, {"step": step}

    def close(self) -> None:
        """Forget the episode."""
        self._run = None

    def _begin(self, scenario: Scenario, seed: int) -> None:
        text = json.dumps(scenario.description)
        self._run = _native.Scenario(text).start(seed)
        self._live = _native.LiveChanges(text)
        self._chosen = [None] * len(self._settings.sizes)
        self._run.advance(scenario.warm_up_s)
        self._began_s, self._steps = self._run.now_s, 0
        self._seen = _figures(self._run)

    def _advance(self, run: _native.Run) -> None:
        """Simulate a step. Ends are counted from the beginning: roundings do not add up."""
        self._steps += 1
        left_s = run.end_s - self._began_s - self._steps * self._step_s
        ends_s = self._began_s + self._steps * self._step_s
        last = left_s < _SLIVER * self._step_s
        run.advance((run.end_s if last else ends_s) - run.now_s)

    def _rewarded(self, step: Step) -> float:
        reward = self._reward(step)
        try:
            value = float(reward)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise ScenarioError(f"reward returned {found(reward)}; it must return a finite number")
        return value

    def __getstate__(self) -> dict[str, Any]:
        """Return the environment without its episode, which a copy begins anew with ``reset``."""
        return {key: value for key, value in vars(self).items() if key not in {"_run", "_live"}}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take what `__getstate__` has returned."""
        vars(self).update(state, _run=None)


def windows_env(
    *,
    stations: Sequence[int] = (2, 5, 10, 20, 50),
    windows: Sequence[int] = (15, 31, 63, 127, 255, 511, 1023),
    step_s: float = 0.1,
    episode_s: float = 2.0,
) -> NetworkEnv:
    """Return a cell of 802.11a whose saturated stations all have the window that the agent chooses.

    The number of stations is drawn for each episode from ``stations``; the agent does not know the
    number. ``windows``: CWmin and CWmax, the largest value of a backoff. The reward is the throughput
    of all stations together as a share of the PHY rate. Raises ScenarioError for an empty list.
    """
    for name, given in (("stations", stations), ("windows", windows)):
        if not len(given):
            raise ScenarioError(f"{name} is empty; give at least one number")
    scenario = {
        "duration": f"{episode_s} s",
        "warm_up": "100 ms",
        "phy": {"standard": "802.11a", "rate": "54 Mb/s"},
        "stations": [{"name": "sta", "count": 2}, {"name": "ap"}],
        "flows": [
            {"name": "up", "from": "sta", "to": "ap", "source": "saturated", "size": "1500 B"}
        ],
    }
    return NetworkEnv(
        scenario,
        {"window": [{"station": "sta", "cw_min": cw, "cw_max": cw} for cw in windows]},
        step_s=step_s,
        reward=_share_of_54_mbps,
        vary=_Stations(tuple(map(int, stations))),
    )


@dataclass(frozen=True, slots=True)
class _Stations:
    """Draws the number of stations; no closure, so that the environment can be pickled."""

    numbers: tuple[int, ...]

    def __call__(self, random: np.random.Generator) -> dict[str, object]:
        return {"stations.sta.count": int(random.choice(self.numbers))}


def _share_of_54_mbps(step: Step) -> float:
    return step.throughput_bps / 54e6


def _seconds_of_step(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, Real):
        raise ScenarioError(f"step_s is {found(given)}; it must be a number of seconds")
    seconds = float(given)
    if not 0 < seconds < math.inf:
        raise ScenarioError(f"step_s is {given}; it must be above 0 s and finite")
    if seconds < _LEAST_STEP_S:
        raise ScenarioError(f"step_s is {given}; it must be at least {_LEAST_STEP_S} s")
    return seconds


def _figures(run: _native.Run) -> Run:
    return run_of(run.results())
