"""Uploads in simulated 802.11 cells, through the real endpoints, beside the cell's parameters."""

from __future__ import annotations

from typing import Any

import pytest

from airqueue.measure.simulated import SimulatedProber
from airqueue.uploads.method import measure
from airqueue.uploads.settings import Access, Settings, defaults

RATES = {
    "802.11b": ("11 Mb/s", "2 Mb/s"),
    "802.11g": ("54 Mb/s", "12 Mb/s"),
    "802.11n": ("HT-MCS7", "HT-MCS2"),
}


def table(access: Access) -> dict[str, Any]:
    return {
        "aifsn": access.aifsn,
        "cw_min": access.cw_min,
        "cw_max": access.cw_max,
        "txop": f"{access.txop_s * 1e6:.0f} us",
    }


def found(
    standard: str,
    true: Settings,
    category: Any,
    stated: Settings | None = None,
    line: str | None = None,
) -> Any:
    """Measure two stations of an access point that have these parameters.

    ``line``: rate of the wired link from the access point to the server.
    """
    names = ("here", "phone")
    stations: list[dict[str, Any]] = [{"name": "ap"}]
    flows: list[dict[str, Any]] = []
    end = "ap" if line is None else "server"
    for name, rate in zip(names, RATES[standard], strict=True):
        stations.append({"name": name, "rate": rate})
        flows.append({"name": f"to {name}", "from": end, "to": name, "source": "external"})
        flows.append({"name": f"from {name}", "from": name, "to": end, "source": "external"})
    scenario: dict[str, Any] = {
        "phy": {"standard": standard},
        "mac": {"access": "edca", "edca": {name: table(each) for name, each in true.items()}},
        "stations": stations,
        "flows": flows,
    }
    if line is not None:
        scenario["hosts"] = [{"name": "server", "link": "ap", "rate": line, "delay": "2 ms"}]
    first, second = ({"down": f"to {name}", "up": f"from {name}"} for name in names)
    config = {"flows": 3, "cell": {"scenario": scenario, **first, "others": [second]}}
    prober = SimulatedProber(config, seed=5, direction="up")
    return measure(prober, names, stated or true, [category])


@pytest.mark.parametrize("standard", list(RATES))
@pytest.mark.parametrize("category", ["bk", "vi"])
def test_the_engines_stations_obey(standard, category):
    result = found(standard, defaults(), category)
    assert result["obedience"] == "obeyed", result["categories"]
    assert result["equal"]["fairness"] == "equal"


def test_stations_whose_categories_are_alike_ignore_the_settings():
    alike = dict.fromkeys(defaults(), Access(3, 15, 1023, 0.0))
    result = found("802.11g", alike, "vo", defaults())
    assert result["obedience"] == "not_obeyed"
    assert result["categories"][0]["pairs"][0]["no_difference"]


@pytest.mark.parametrize("line", ["2 Mb/s", "5 Mb/s"])
@pytest.mark.parametrize("category", ["bk", "vo"])
def test_stations_in_front_of_a_slow_line_are_not_accused(line, category):
    result = found("802.11g", defaults(), category, line=line)
    assert (result["obedience"], result["equal"]) == ("undecided", None)
    assert "a line behind the access point" in result["categories"][0]["pairs"][0]["reason"]


def test_a_line_that_carries_all_changes_nothing():
    assert found("802.11g", defaults(), "bk", line="100 Mb/s")["obedience"] == "obeyed"


@pytest.mark.parametrize(
    ("true_s", "said"),
    [
        (3.008e-3, ["obeyed", "obeyed"]),
        # Of the slow station a single packet fits: there are no bursts to be seen.
        (1.504e-3, ["within", "undecided"]),
        (6.016e-3, ["exceeded", "exceeded"]),
    ],
)
def test_the_limit_of_a_txop(true_s, said):
    stated = defaults()
    true = {**stated, "vi": Access(2, 7, 15, true_s)}
    result = found("802.11g", true, "vi", stated)
    assert [b["limit"] for b in result["categories"][0]["bursts"]] == said
    assert result["obedience"] == "obeyed"


def test_aggregates_are_accesses_and_their_limits_are_not_judged():
    result = found("802.11n", defaults(), "vi")
    assert {b["limit"] for b in result["categories"][0]["bursts"]} == {"undecided"}
    assert min(result["equal"]["packets_per_access"]) > 4
