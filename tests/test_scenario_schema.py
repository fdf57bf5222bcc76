"""The schema that editors use says of a scenario what the check says of it."""

import copy
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from airqueue import _native

SCHEMA = json.loads(_native.scenario_schema())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

FULL: dict[str, Any] = {
    "behaviour": "ns3",
    "duration": "10 ms",
    "warm_up": "0 s",
    "phy": {"standard": "802.11g", "preamble": "long", "slot": "short", "basic_rates": ["6 Mb/s"]},
    "mac": {
        "access": "edca",
        "rts_threshold": "0 B",
        "experimental": True,
        "protection": "none",
        "edca": {"role": "station", "be": {"aifsn": 20, "cw_min": 10, "txop": "3 packets"}},
    },
    "queue": {"limit": "50 packets", "drop_from": "head", "ring": "1 packet"},
    "medium": {
        "path_loss": {"log_distance": {"exponent": 3, "reference_loss": "40 dB"}},
        "thresholds": {"decode": "-82 dBm"},
        "noise": "-95 dBm",
        "capture": {"sinr": {"threshold": "4 dB"}},
        "errors": "snr",
    },
    "stations": [
        {"name": "ap", "position": ["0 m", "0 m"], "power": "20 dBm"},
        {"name": "sta", "count": 3, "grid": {"columns": 2, "spacing": "5 m"}},
        {"name": "old", "position": ["-5 m", "0 m"], "mac": {"access": "dcf"}, "rate": "6 Mb/s"},
        {
            "name": "any",
            "count": 2,
            "random": {"area": ["5 m", "5 m"], "min_distance": "1 m", "seed": 2},
        },
    ],
    "routing": {"metric": "airtime", "connected": False},
    "links": [{"between": ["ap", "sta"], "rate": "24 Mb/s"}],
    "flows": [
        {"from": "sta", "to": "ap", "category": "vi", "size": "1 kB"},
        {"name": "calls", "from": "ap", "to": "old", "source": "cbr", "packet_rate": "50 packets/s"},
    ],
}  # fmt: skip

# What the check says of the form alone. What else it refuses (rates that a layer lacks, names that
# nobody has) no schema can know.
FORM = (
    "unknown key",
    "unknown word",
    "wrong type",
    "has a value",
    "has no unit",
    "has the unit",
    "is not a",
)

WORDS = ["x", "", "none", "dcf", "edca", "802.11b", "ns2", "sta", "vo", "saturated", "snr"]
QUANTITIES = [
    "5",
    "5 s",
    "5 Mb/s",
    "5 packets",
    "1.5 ms",
    "-5 dBm",
    "-3 m",
    "1e3 B",
    "+.5 dB",
    "7 X",
]
TABLES = [{}, {"x": 1}, {"frame": 0.5}, {"two_ray": {}}, {"margin": "9 dB"}, {"aifsn": 2}]
OTHERS = [5, 0, -1, 2.5, True, [], ["1 m", "1 m"], [1, 2, 3]]
VALUES = st.sampled_from([*WORDS, *QUANTITIES, *TABLES, *OTHERS])


def refusal(scenario: object) -> str | None:
    try:
        _native.Scenario(json.dumps(scenario))
    except ValueError as error:
        return str(error)
    return None


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key in it, of all that is within a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    here = [(value, key) for key, _ in items]
    inner = (value[key] for _, key in here)
    return here + [p for v in inner if isinstance(v, dict | list) for p in places(v)]


def test_both_accept_the_whole_scenario() -> None:
    assert refusal(FULL) is None
    VALIDATOR.validate(FULL)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_one_accepts_what_the_other_accepts(data: st.DataObject) -> None:
    scenario = copy.deepcopy(FULL)
    container, key = data.draw(st.sampled_from(places(scenario)))
    if isinstance(container, dict) and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(["count", "rate", "mac", "cw_min", "x", "links", "sinr"]))
    container[key] = data.draw(VALUES)
    said = refusal(scenario)
    assume(said is None or any(words in said for words in FORM))
    problems = [error.message for error in VALIDATOR.iter_errors(scenario)]
    assert (said is None) == (not problems), (said, problems)


@pytest.mark.parametrize("name", sorted(SCHEMA["$defs"]))
def test_everything_is_described(name: str) -> None:
    definition = SCHEMA["$defs"][name]
    assert definition["description"]
    for key, of in definition.get("properties", {}).items():
        assert of.get("description"), key


def test_a_run_in_steps_ends_where_it_should() -> None:
    scenario = _native.Scenario(json.dumps(FULL))
    run = scenario.start(3)
    steps = 0
    while not run.done:
        run.advance(0.003)
        steps += 1
    assert (steps, run.now_s, run.end_s) == (4, 0.01, 0.01)
    whole = scenario.start(3)
    whole.advance(1e9)
    assert whole.results() == run.results()
    with pytest.raises(_native.NativeError, match="seconds"):
        run.advance(-1.0)
