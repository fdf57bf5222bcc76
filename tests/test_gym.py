"""Gymnasium environments: Gymnasium's own check, determinism, what steps observe, and an agent."""

from __future__ import annotations

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import airqueue.gym
from airqueue import _native
from airqueue.gym import NetworkEnv, train
from airqueue.gym.observed import OBSERVED, between
from airqueue.simulate import Scenario, ScenarioError
from airqueue.simulate.reported import run_of

HOME = {
    "duration": "3 s",
    "warm_up": "500 ms",
    "phy": {"standard": "802.11g", "rate": "54 Mb/s"},
    "stations": [{"name": "phone"}, {"name": "tv"}, {"name": "ap"}],
    "hosts": [{"name": "server", "link": "ap", "rate": "200 Mb/s", "delay": "10 ms"}],
    "flows": [
        {"name": "download", "from": "server", "to": "tv", "source": "tcp"},
        {"name": "call", "from": "ap", "to": "phone", "source": "cbr", "rate": "100 kb/s"},
    ],
}
LIMITS = [{"station": "ap", "queue_limit": f"{n} packets"} for n in (5, 400)]
QUEUES = [
    {"station": "ap", "queue": "fq_codel"},
    [{"station": "ap", "queue": {"discipline": "codel", "codel": {"target": "2 ms"}}}],
]


def played(env, actions, seed=1):
    """Play an episode with these actions over and over; return observations and rewards."""
    observation, info = env.reset(seed=seed)
    assert info == {"step": None}
    assert not observation.any()
    seen, ended = [], False
    while not ended:
        observation, reward, terminated, ended, info = env.step(actions[len(seen) % len(actions)])
        assert not terminated
        assert env.observation_space.contains(observation)
        seen.append((observation.tolist(), reward, info["step"]))
    return seen


@pytest.mark.filterwarnings("ignore:.*maximum value is infinity.*")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("airqueue/Windows-v1", {"stations": [2, 3], "episode_s": 0.5}),
        ("airqueue/Network-v1", {"scenario": HOME, "settings": {"limit": LIMITS, "queue": QUEUES}}),
        (
            "airqueue/Network-v1",
            {"scenario": HOME, "settings": {"limit": LIMITS}, "observe": "flows"},
        ),
    ],
)
def test_gymnasium_accepts_the_environments(name, arguments):
    check_env(gymnasium.make(name, **arguments).unwrapped)


@pytest.mark.parametrize("step_s", [0.001, 0.01])
def test_shares_of_short_steps_are_shares(step_s):
    arguments = {"stations": [50], "windows": [15], "step_s": step_s, "episode_s": 0.2}
    env = gymnasium.make("airqueue/Windows-v1", **arguments).unwrapped
    seen = np.array([observation for observation, *_ in played(env, [[0]])])
    named = dict(zip(env.observation_names, seen.T, strict=True))
    assert max(named["collided_ratio"]) <= 1
    # The longest frame takes 0.25 ms, so steps have whole frames.
    assert 0 < max(named["data_airtime_ratio"]) <= 1 + 0.00025 / step_s


def test_actions_are_those_of_the_space():
    env = gymnasium.make("airqueue/Windows-v1", stations=[2], windows=[15, 31]).unwrapped
    env.reset(seed=0)
    for action in ([2], [-1], [0, 0]):
        with pytest.raises(gymnasium.error.InvalidAction, match="is not in MultiDiscrete"):
            env.step(action)


def test_several_at_once():
    envs = gymnasium.make_vec("airqueue/Windows-v1", num_envs=3, stations=[2])
    observations, _ = envs.reset(seed=4)
    observations, rewards, _, _, _ = envs.step(envs.action_space.sample())
    assert observations.shape == (3, len(OBSERVED))
    assert (rewards > 0).all()


def test_seed_and_actions_determine_an_episode():
    env = NetworkEnv(HOME, {"limit": LIMITS, "queue": QUEUES}, step_s=0.25)
    actions = [np.array(action) for action in ([0, 0], [1, 1], [1, 0])]
    first = played(env, actions)
    assert len(first) == 12
    assert played(env, actions) == first
    assert played(env, actions, seed=2) != first
    assert played(env, actions[:1]) != first


def test_a_choice_acts_from_its_step_on():
    env = NetworkEnv(HOME, {"limit": LIMITS}, step_s=0.5)
    few, many = (played(env, [np.array([choice])]) for choice in (0, 1))
    later = played(env, [np.array([0])] * 3 + [np.array([1])] * 3)
    assert [s[0] for s in later[:3]] == [s[0] for s in few[:3]]
    delay = OBSERVED.index("delay_s")
    assert max(s[0][delay] for s in few) < 0.015 < min(s[0][delay] for s in many[1:])
    assert later[5][0][delay] > 2 * later[2][0][delay]


def test_steps_add_up_to_the_figures_of_the_run():
    scenario = _native.Scenario(json.dumps(Scenario(HOME).description))
    run = scenario.start(7)
    run.advance(0.5)
    looks = [run_of(run.results())]
    steps = []
    while not run.done:
        run.advance(0.4)
        looks.append(run_of(run.results()))
        steps.append(between(looks[-2], looks[-1], run.now_s))
    whole = between(looks[0], looks[-1], run.now_s)
    figures = looks[-1]
    for name, flow in figures["flows"].items():
        assert whole.flows[name].throughput_bps == pytest.approx(flow["throughput_bps"])
        assert sum(s.flows[name].delivered_packets for s in steps) == flow["delivered_packets"]
        assert whole.flows[name].delay_s == pytest.approx(flow["delay_mean_s"], rel=1e-9)
    assert sum(step.seconds for step in steps) == pytest.approx(3.0)
    assert whole.collided_ratio == pytest.approx(figures["medium"]["collided_ratio"])
    assert whole.jain_index == pytest.approx(figures["medium"]["throughput_jain_index"])
    assert whole.data_airtime_ratio == pytest.approx(figures["medium"]["data_airtime_ratio"])
    mean = sum(step.waiting_packets * step.seconds for step in steps) / 3.0
    assert mean == pytest.approx(sum(q["length_mean_packets"] for q in figures["queues"].values()))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"settings": {}}, "settings: there is none"),
        ({"settings": {"limit": []}}, "settings.limit: there is no choice"),
        ({"settings": {"limit": [LIMITS[0], {"station": "pa"}]}}, r"settings.limit\[1\]: "),
        ({"settings": {"w": [{"station": "ap", "cw_min": 20, "cw_max": 31}]}}, "power of two"),
        ({"settings": {"limit": LIMITS}, "step_s": 0}, "step_s is 0"),
        ({"settings": {"limit": LIMITS}, "observe": "all"}, "observe is 'all'"),
    ],
)
def test_settings_that_cannot_be_are_refused(arguments, says):
    with pytest.raises(ScenarioError, match=says):
        NetworkEnv(HOME, **arguments)


def test_a_step_needs_an_episode_and_flows_that_are_observed_stay():
    env = airqueue.gym.windows_env(stations=[2])
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        env.step(np.array([0]))
    cell = airqueue.gym.windows_env().scenario
    varied = NetworkEnv(
        cell,
        {"window": [{"station": "sta", "cw_min": 15, "cw_max": 15}]},
        observe="flows",
        vary=lambda _random: {"stations.sta.count": 3},
    )
    with pytest.raises(ScenarioError, match="vary changes the flows"):
        varied.reset(seed=1)


@pytest.mark.long
def test_an_agent_beats_every_fixed_window():
    env = airqueue.gym.windows_env(windows=train.WINDOWS)
    table, curve = train.learn(env, 600)
    assert np.mean(curve[-100:]) > np.mean(curve[:100])
    for window, more in train.compare(env, table, range(1000, 1030)).items():
        assert more.low > 0, (window, more)


def test_the_training_prints_its_curve(capsys):
    train.main(["--episodes", "20", "--played", "2"])
    said = capsys.readouterr().out
    assert "episodes    1 to    2: reward 0." in said
    assert "beside window 1023: " in said
