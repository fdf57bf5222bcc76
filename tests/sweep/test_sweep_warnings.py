"""A sweep warns once of points at which queues drop acknowledgements, or flows are silent."""

import json

import pytest
from here import Here

from airqueue.simulate import Scenario
from airqueue.sweep import Sweep
from airqueue.sweep.errors import SweepError

DOWNLOADS = {
    "duration": "4 s",
    "warm_up": "1 s",
    "phy": {"standard": "802.11g"},
    "stations": [{"name": "ap", "queue": "pfifo:500"}, {"name": "phone"}],
    "flows": [{"name": f"down{n}", "from": "ap", "to": "phone", "source": "tcp"} for n in range(8)]
    + [{"name": "up", "from": "phone", "to": "ap"}],
}
LIMIT = "stations.phone.queue"


def swept(tmp_path, *queues):
    parameters = {LIMIT: list(queues)}
    described = {
        "scenario": DOWNLOADS,
        "parameters": parameters,
        "replications": {"least": 1, "most": 1},
    }
    return Sweep(described).run(tmp_path, Here())


def test_the_worst_point_is_named_in_the_words_of_a_simulation(tmp_path):
    results = swept(tmp_path, "pfifo:500", "pfifo:4", "pfifo:2")
    (warning,) = results.warnings
    alone = Scenario(DOWNLOADS).changed({LIMIT: "pfifo:2"}).simulate(replications=1)
    (of_simulation,) = alone.warnings
    where = f" at point 2 ({LIMIT}=pfifo:2), and likewise at 1 more point"
    assert warning.replace(where, "") == of_simulation
    assert where in warning
    assert json.loads(results.to_text())["warnings"] == [warning]


def test_points_with_room_are_not_warned_of(tmp_path):
    assert swept(tmp_path, "pfifo:500", "pfifo:400").warnings == ()


def test_points_at_which_a_flow_sends_nothing_are_warned_of(tmp_path):
    described = {
        "scenario": {**DOWNLOADS, "flows": [{"name": "up", "from": "phone", "to": "ap"}]},
        "parameters": {"flows.up.start": ["0 s", "100 s", "200 s"]},
        "replications": {"least": 1, "most": 1},
    }
    (warning,) = Sweep(described).run(tmp_path, Here()).warnings
    assert warning.startswith(
        "No packet of up is sent in the time that is counted at point 1 (flows.up.start=100 s), and "
        "likewise at 1 more point: the flow starts too late"
    )


def test_results_are_one_line_and_know_their_tables(tmp_path):
    results = swept(tmp_path, "pfifo:500", "pfifo:400")
    assert repr(results) == f"<SweepResults: 2 points, 2 replications, in {tmp_path}>"
    for name in ("nope", "../flows"):
        for read in (results.to_pandas, results.to_arrow):
            with pytest.raises(
                SweepError, match=r"there is no table .*; there are points, summary"
            ):
                read(name)
