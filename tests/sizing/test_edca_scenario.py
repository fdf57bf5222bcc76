"""What `airqueue size edca` prints for a scenario is one, and does there what was predicted."""

import tomllib

import pytest

from airqueue.simulate.scenario import Scenario
from airqueue.sizing.edca import size_edca
from airqueue.sizing.edca_advice import edca_advice

FLOWS = """
[[stations]]
name = "up"
count = {uploads}

[[stations]]
name = "down"
count = {downloads}

[[flows]]
name = "up"
from = "up"
to = "ap"

[[flows]]
name = "down"
from = "ap"
to = "down"
"""


def pasted(uploads, downloads):
    sized = size_edca(uploads, downloads)
    advice = edca_advice(sized, device="wlan0", radio="radio0", mark="dscp")
    (settings,) = (entry for entry in advice.settings if entry.target == "scenario")
    text = "\n".join(settings.lines) + FLOWS.format(uploads=uploads, downloads=downloads)
    phy = {"standard": "802.11b", "preamble": "short", "rate": "11 Mb/s"}
    times = {"duration": "60 s", "warm_up": "1 s", "phy": phy}
    return sized, Scenario(times | tomllib.loads(text))


def test_the_lines_are_the_papers_table():
    # EDCA paper, Table 2: AIFS above DIFS (aifsn is 2 more), CWmin in values (cw_min is one less).
    _, scenario = pasted(6, 6)
    description = scenario.description
    stations, ap = description["mac"]["edca"], description["stations"][0]["mac"]["edca"]
    rows = [(ap["vi"], 0, 4), (ap["be"], 4, 32), (stations["vi"], 0, 32), (stations["be"], 4, 32)]
    for row, aifs, cw_min in rows:
        assert (row["aifsn"], row["cw_min"]) == (2 + aifs, cw_min - 1)
    assert [row["txop"] for row, _, _ in rows if row is not ap["be"]] == ["0 us"] * 3


@pytest.mark.parametrize(("uploads", "downloads"), [(3, 3), (5, 2)])
@pytest.mark.parametrize("txop", [None, "flows"])
def test_data_are_shared_as_predicted(uploads, downloads, txop):
    sized, scenario = pasted(uploads, downloads)
    if txop is not None:
        scenario = scenario.changed({"stations.ap.mac.edca.be.txop": txop})
    flows = scenario.simulate(replications=20, seed=1).flows
    together = flows.groupby("replication")["throughput_bps"].transform("sum")
    # The standard error of the mean of a kind is half a per cent.
    shares = (flows["throughput_bps"] / together).groupby(flows["flow"].str.rstrip("0123456789"))
    predicted = {"up": sized.scheme.upload_share, "down": sized.scheme.download_share}
    for name, share in shares.mean().items():
        assert share == pytest.approx(float(predicted[name]), rel=0.02), name
