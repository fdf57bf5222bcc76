"""Gymnasium environments: Gymnasium's own check, determinism, what steps observe, and an agent."""

from __future__ import annotations

import copy
import json
import pickle

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
        ({"settings": None}, "settings: nothing; expected a list of choices by name"),
        ({"settings": {"limit": LIMITS[0]}}, "settings.limit: a table of 2; expected a list"),
        ({"settings": {"limit": [None]}}, r"settings.limit\[0\]: nothing; expected a change"),
        ({"settings": {"limit": ["x"]}}, r"settings.limit\[0\]: 'x'; expected a change"),
        ({"settings": {"limit": [[]]}}, r"settings.limit\[0\]: no change"),
        ({"settings": {"limit": [[3]]}}, r"settings.limit\[0\]: 3; expected the keys"),
        (
            {"settings": {"any": [LIMITS[0], QUEUES[0]]}},
            r"settings.any\[1\]: another choice changes queue_limit of station=ap, this one does not",
        ),
        (
            {"settings": {"limit": LIMITS, "other": LIMITS[:1]}},
            "settings.other: settings.limit changes queue_limit of station=ap, too",
        ),
        (
            {
                "settings": {
                    "limit": [{"station": "ap", "flow": "download", "queue_limit": "9 packets"}],
                    "queue": QUEUES,
                }
            },
            r"settings.limit\[0\]: flow: ",
        ),
        ({"settings": {"limit": LIMITS}, "step_s": "1"}, "step_s is '1'; it must be a number"),
        ({"settings": {"limit": LIMITS}, "step_s": 1e-10}, "it must be at least 1e-09 s"),
        ({"settings": {"limit": LIMITS}, "reward": None}, "reward is nothing; it must be"),
        ({"settings": {"limit": LIMITS}, "vary": 3}, "vary is 3; it must be a function"),
        ({"settings": {"limit": LIMITS}, "step_s": 0}, "step_s is 0"),
        ({"settings": {"limit": LIMITS}, "observe": "all"}, "observe is 'all'"),
    ],
)
def test_settings_that_cannot_be_are_refused(arguments, says):
    with pytest.raises(ScenarioError, match=says):
        NetworkEnv(HOME, **arguments)


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        (None, "nothing is no scenario; expected"),
        ("", "'' is no scenario; expected"),
        ({**HOME, "flows": []}, "flows"),
    ],
)
def test_scenarios_that_cannot_be_observed_are_refused(scenario, says):
    with pytest.raises(ScenarioError, match=says):
        NetworkEnv(scenario, {"limit": LIMITS})


@pytest.mark.parametrize("name", ["stations", "windows"])
def test_a_cell_needs_stations_and_windows(name):
    with pytest.raises(ScenarioError, match=f"{name} is empty"):
        airqueue.gym.windows_env(**{name: []})


@pytest.mark.parametrize("reward", [None, float("nan"), "much"])
def test_a_reward_is_a_finite_number(reward):
    env = NetworkEnv(HOME, {"limit": LIMITS}, reward=lambda _step: reward)
    env.reset(seed=1)
    with pytest.raises(ScenarioError, match="reward returned"):
        env.step(np.array([0]))


# A queue that never empties, of one of two disciplines, with a limit that is a setting of its own.
FULL = {
    "duration": "3 s",
    "warm_up": "100 ms",
    "phy": {"standard": "802.11g", "rate": "6 Mb/s"},
    "stations": [{"name": "ap"}, {"name": "sta"}],
    "flows": [{"from": "ap", "to": "sta", "source": "cbr", "rate": "20 Mb/s", "size": "1500 B"}],
}
DROPS = [
    {"station": "ap", "queue": {"limit": "400 packets", "drop_from": end}}
    for end in ("tail", "head")
]
FEW = [{"station": "ap", "queue_limit": f"{n} packets"} for n in (5, 50)]


@pytest.mark.parametrize("first", ["queue", "limit"])
def test_an_action_means_one_network_whatever_was_before(first):
    settings = {"queue": DROPS, "limit": FEW}
    if first == "limit":
        settings = dict(reversed(settings.items()))
    env = NetworkEnv(FULL, settings, step_s=1.0)
    few = [0, 0]
    other = [1, 0] if first == "queue" else [0, 1]
    waiting = OBSERVED.index("waiting_packets")
    for actions in ([few] * 3, [few, other, other], [other, few, other]):
        seen = played(env, [np.array(action) for action in actions])
        # The limit of 5 is in force; the first step begins with the packets of the scenario's queue.
        assert all(4 < observation[waiting] < 5.1 for observation, *_ in seen[1:])


@pytest.mark.parametrize(("step_s", "steps"), [(1 / 3, 9), (0.1 / 3, 90), (0.7, 5), (5.0, 1)])
def test_steps_end_at_multiples_of_their_length_and_the_last_with_the_episode(step_s, steps):
    seen = played(NetworkEnv(FULL, {"limit": FEW}, step_s=step_s), [np.array([1])])
    seconds = [step.seconds for *_, step in seen]
    assert len(seen) == steps
    assert seconds[:-1] == pytest.approx([step_s] * (steps - 1), abs=2e-9)
    assert sum(seconds) == pytest.approx(3.0, abs=1e-9)
    assert min(reward for _, reward, _ in seen) > 1


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_plays_the_same_episodes(again):
    env = NetworkEnv(Scenario(FULL), {"limit": FEW}, step_s=0.5)
    first = played(env, [np.array([0])])
    env.reset(seed=5)
    other = again(env)
    assert other.scenario == env.scenario
    with pytest.raises(gymnasium.error.ResetNeeded):
        other.step(np.array([0]))
    assert played(other, [np.array([0])]) == first
    cell = again(airqueue.gym.windows_env(stations=[2], windows=np.array([15])))
    assert cell.reset(seed=1)[1] == {"step": None}


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
