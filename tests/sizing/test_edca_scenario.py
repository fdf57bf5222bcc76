"""What `airqueue size edca` prints for a scenario is one, and does there what was predicted."""

import tomllib

import pytest

from airqueue.simulate.scenario import Scenario
from airqueue.sizing.edca import size_edca
from airqueue.sizing.edca_advice import edca_advice


def pasted(uploads, downloads):
    """Return the sizing, and the printed scenario as it is."""
    sized = size_edca(uploads, downloads)
    advice = edca_advice(sized, device="wlan0", radio="radio0", mark="dscp")
    (settings,) = (entry for entry in advice.settings if entry.target == "scenario")
    return sized, tomllib.loads("\n".join(settings.lines))


def saturated(description):
    """Return the scenario with stations that always have a packet, as predicted shares assume."""
    ends = {"upload": ("uploads", "ap"), "download": ("ap", "downloads")}
    flows = [{"name": name, "from": a, "to": b} for name, (a, b) in ends.items()]
    return Scenario({**description, "flows": flows, "hosts": []})


def test_the_lines_are_the_papers_table():
    # EDCA paper, Table 2: AIFS above DIFS (aifsn is 2 more), CWmin in values (cw_min is one less).
    _, description = pasted(6, 6)
    stations, ap = description["mac"]["edca"], description["stations"][0]["mac"]["edca"]
    rows = [(ap["vi"], 0, 4), (ap["be"], 4, 32), (stations["vi"], 0, 32), (stations["be"], 4, 32)]
    for row, aifs, cw_min in rows:
        assert (row["aifsn"], row["cw_min"]) == (2 + aifs, cw_min - 1)
    assert [row["txop"] for row, _, _ in rows if row is not ap["be"]] == ["0 us"] * 3


@pytest.mark.parametrize(("uploads", "downloads"), [(3, 3), (5, 2)])
@pytest.mark.parametrize("txop", [None, "flows"])
def test_data_are_shared_as_predicted(uploads, downloads, txop):
    sized, description = pasted(uploads, downloads)
    scenario = saturated(description)
    if txop is not None:
        scenario = scenario.changed({"stations.ap.mac.edca.be.txop": txop})
    flows = scenario.simulate(replications=20, seed=1).flows
    together = flows.groupby("replication")["throughput_bps"].transform("sum")
    # The standard error of the mean of a kind is half a per cent.
    shares = (flows["throughput_bps"] / together).groupby(flows["flow"].str.rstrip("0123456789"))
    predicted = {"upload": sized.scheme.upload_share, "download": sized.scheme.download_share}
    for name, share in shares.mean().items():
        assert share == pytest.approx(float(predicted[name]), rel=0.02), name
