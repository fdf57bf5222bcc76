"""``python -m airqueue.gym.train``: an agent learns contention windows.

Tabular Q-learning: the state is the share of attempts that collided, in eight classes, and the
current window. The agent never knows the number of stations. After learning, the agent plays the
same episodes as each fixed window, without exploring.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airqueue.gym.network import NetworkEnv, windows_env
from airqueue.stats import Interval, t_interval

WINDOWS: Final = (15, 31, 63, 127, 255, 511, 1023)
COLLIDED: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Bounds of the classes of the share of attempts that collided."""
LEAST_RATE: Final = 0.02
"""Weight of a new reward in a value that was often visited; until then the mean so far."""
DISCOUNT: Final = 0.2
EXPLORE: Final = 0.5
"""Share of random choices at the beginning of learning; it falls to 0."""

Policy = Callable[[int, int], int]
"""From the class of collisions and the current window to the next window."""


class Table:
    """What the agent has learned: the value of each window, shape (classes, windows, windows)."""

    def __init__(self, seed: int) -> None:
        self.values = np.zeros((len(COLLIDED) + 1, len(WINDOWS), len(WINDOWS)))
        self._visits = np.zeros(self.values.shape)
        self._random = np.random.default_rng(seed)

    def best(self, collided: int, window: int) -> int:
        """Return the window with the greatest value."""
        return int(np.argmax(self.values[collided, window]))

    def play(self, env: NetworkEnv, explore: float, seed: int | None = None) -> float:
        """Learn from an episode; return its mean reward."""
        env.reset(seed=seed)
        state = (0, int(self._random.integers(len(WINDOWS))))
        rewards, ended = [], False
        while not ended:
            action = self.best(*state)
            if self._random.random() < explore:
                action = int(self._random.integers(len(WINDOWS)))
            observation, reward, _, ended, _ = env.step(np.array([action]))
            after = (_class(observation), action)
            aim = reward + DISCOUNT * self.values[after].max()
            self._visits[state][action] += 1
            rate = max(LEAST_RATE, 1 / self._visits[state][action])
            self.values[state][action] += rate * (aim - self.values[state][action])
            rewards.append(reward)
            state = after
        return float(np.mean(rewards))


def _class(observation: npt.NDArray[np.float32]) -> int:
    return int(np.searchsorted(COLLIDED, observation[4]))


def learn(env: NetworkEnv, episodes: int, seed: int = 1) -> tuple[Table, list[float]]:
    """Return what an agent has learned, and the mean reward of each episode."""
    table = Table(seed)
    curve = [
        table.play(env, EXPLORE * (1 - n / episodes), seed if n == 0 else None)
        for n in range(episodes)
    ]
    return table, curve


def score(env: NetworkEnv, policy: Policy, seeds: Sequence[int]) -> list[float]:
    """Return the mean reward of a policy in each of some episodes, the first step left out."""
    means = []
    for seed in seeds:
        env.reset(seed=seed)
        state, rewards, ended = (0, 0), [], False
        while not ended:
            action = policy(*state)
            observation, reward, _, ended, _ = env.step(np.array([action]))
            rewards.append(reward)
            state = (_class(observation), action)
        means.append(float(np.mean(rewards[1:])))
    return means


def _always(place: int) -> Policy:
    return lambda _collided, _window: place


def compare(env: NetworkEnv, table: Table, seeds: Sequence[int]) -> dict[int, Interval]:
    """Return by how much the agent beats each fixed window, in paired episodes, as an interval."""
    learned = score(env, table.best, seeds)
    differences = {}
    for place, window in enumerate(WINDOWS):
        fixed = score(env, _always(place), seeds)
        interval = t_interval([a - b for a, b in zip(learned, fixed, strict=True)])
        assert interval is not None
        differences[window] = interval
    return differences


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, and print the learning curve and the comparison."""
    parser = argparse.ArgumentParser(prog="python -m airqueue.gym.train", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000, help="episodes of learning; 1000")
    parser.add_argument("--played", type=int, default=50, help="episodes of the comparison; 50")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    env: Any = windows_env(windows=WINDOWS)
    table, curve = learn(env, asked.episodes, asked.seed)
    piece = max(1, asked.episodes // 10)
    for first in range(0, asked.episodes, piece):
        mean = float(np.mean(curve[first : first + piece]))
        print(
            f"episodes {first + 1:4} to {min(first + piece, asked.episodes):4}: reward {mean:.4f}"
        )
    seeds = [asked.seed + 1_000_000 + n for n in range(asked.played)]
    for window, more in compare(env, table, seeds).items():
        print(
            f"beside window {window:4}: {100 * more.mean:+.2f} points "
            f"[{100 * more.low:+.2f}, {100 * more.high:+.2f}] of 54 Mb/s"
        )


if __name__ == "__main__":
    main()
