"""Changing single values of a scenario, and what happens where there is no place for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.simulate import ScenarioError, overrides

BASE = {
    "phy": {"standard": "802.11b"},
    "stations": [{"name": "ap"}, {"name": "sta", "count": 3}],
    "flows": [{"name": "up", "from": "sta"}, {"from": "ap"}, {"name": "1", "from": "x"}],
    "medium": {"links": []},
}


@pytest.mark.parametrize(
    ("assignment", "path", "value"),
    [
        ("phy.rate=11 Mb/s", "phy.rate", "11 Mb/s"),
        ('phy.rate="11 Mb/s"', "phy.rate", "11 Mb/s"),
        (" duration = 30 s ", "duration", "30 s"),
        ("stations.0.count=20", "stations.0.count", 20),
        ("a=-1.5e3", "a", -1500.0),
        ("a=true", "a", True),
        ("a=[1, 2]", "a", [1, 2]),
        ('a={b = "c"}', "a", {"b": "c"}),
        ("a=saturated", "a", "saturated"),
        ("a=x=y", "a", "x=y"),
        # One value is set, whatever else is in the text.
        ("a=1\nb=2", "a", "1\nb=2"),
        ("a=1\nvalue=2", "a", "1\nvalue=2"),
        ("a=[", "a", "["),
    ],
)
def test_values_are_toml_or_text(assignment, path, value):
    assert overrides.read(assignment) == (path, value)


@pytest.mark.parametrize("assignment", ["", "phy.rate", "=3", " =3", "phy.rate=", "a= "])
def test_what_changes_nothing_is_refused(assignment):
    with pytest.raises(ScenarioError, match=r"changes nothing; write for example phy\.rate="):
        overrides.read(assignment)


@given(st.text(max_size=40))
def test_no_text_is_worse_than_a_sentence(text):
    try:
        path, _ = overrides.read(text)
        overrides.apply(BASE, {path: 1})
    except ScenarioError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("phy.standard", lambda d: d["phy"]["standard"]),
        ("duration", lambda d: d["duration"]),
        ("mac.edca.be.aifsn", lambda d: d["mac"]["edca"]["be"]["aifsn"]),
        ("stations.1.count", lambda d: d["stations"][1]["count"]),
        ("stations[1].count", lambda d: d["stations"][1]["count"]),
        ("stations.sta.count", lambda d: d["stations"][1]["count"]),
        ("stations.sta", lambda d: d["stations"][1]),
        ("flows.up.rate", lambda d: d["flows"][0]["rate"]),
        # A name goes before a place.
        ("flows.1.rate", lambda d: d["flows"][2]["rate"]),
    ],
)
def test_a_value_is_put_where_the_path_leads(path, where):
    before = repr(BASE)
    assert where(overrides.apply(BASE, {path: "new"})) == "new"
    assert repr(BASE) == before


def test_later_changes_see_earlier_ones():
    changed = overrides.apply(BASE, {"flows.up.name": "down", "flows.down.rate": "1 Mb/s"})
    assert changed["flows"][0] == {"name": "down", "from": "sta", "rate": "1 Mb/s"}


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (
            "stations.2.rate",
            "stations.2.rate: there is no '2' in a list of 2; expected a place from 0 to 1, or a "
            "name such as ap or sta",
        ),
        ("flows.-1.rate", "there is no '-1' in a list of 3"),
        ("flows.²", "there is no '²' in a list of 3"),
        ("medium.links.0", "there is no '0' in an empty list; expected it to have an element"),
        ("phy.standard.x", "phy.standard is '802.11b'; expected a table or a list there"),
        ("phy.standard.x.y", "phy.standard is '802.11b'; expected a table or a list there"),
        ("phy..rate", "phy..rate: an empty key; expected keys joined by dots"),
        (".", "an empty key"),
    ],
)
def test_a_path_to_nowhere_is_explained(path, says):
    with pytest.raises(ScenarioError) as caught:
        overrides.apply(BASE, {path: 1})
    assert says in str(caught.value)
