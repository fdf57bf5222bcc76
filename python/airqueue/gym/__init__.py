"""Gymnasium environments: an agent sets queues and channel access of a network, step by step.

>>> import gymnasium
>>> import airqueue.gym
>>> env = gymnasium.make("airqueue/Windows-v1")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

``airqueue/Network-v1`` takes any scenario and any settings (`NetworkEnv`); ``airqueue/Windows-v1``
is a cell with an unknown number of saturated stations, whose contention windows the agent sets
(`windows_env`). The extra ``gym`` has Gymnasium.
"""

from airqueue import lazy

lazy.required("gymnasium")

import gymnasium  # noqa: E402 - after the sentence on the extra

from airqueue.gym.network import NetworkEnv, log_rates, windows_env  # noqa: E402
from airqueue.gym.observed import FlowStep, Step  # noqa: E402

__all__ = ["FlowStep", "NetworkEnv", "Step", "log_rates", "windows_env"]

gymnasium.register("airqueue/Network-v1", entry_point="airqueue.gym:NetworkEnv")
gymnasium.register("airqueue/Windows-v1", entry_point="airqueue.gym:windows_env")
