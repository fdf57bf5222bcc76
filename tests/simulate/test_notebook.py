"""Scenarios and results in notebooks and at the prompt."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser

from airqueue import toml_text
from airqueue.simulate import Scenario, cell


class Tables(HTMLParser):
    """The cells of each table of a page."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.text, self._open = [], "", []
        self.feed(page)
        assert not self._open, "a tag is not closed"

    def handle_starttag(self, tag, attrs):
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self._open[-1:] in (["td"], ["th"]):
            self.tables[-1][-1].append(data)


def test_a_scenario_is_short_at_the_prompt_and_whole_in_a_notebook():
    scenario = cell("802.11g", stations=3, duration="2 s")
    assert repr(scenario) == "<Scenario: 802.11g, 4 stations, 3 flows, 2 s>"
    page = Tables(scenario._repr_html_())
    assert toml_text.parse(page.text) == scenario.description


def test_results_are_short_at_the_prompt_and_tables_in_a_notebook():
    results = cell("802.11b", stations=60, duration="100 ms").simulate(replications=2)
    assert repr(results).startswith("<Results: 2 of 2 replications of 0.1 s, seed 1, ")
    assert repr(results).endswith(" Mb/s>")
    page = Tables(results._repr_html_())
    flows = page.tables[0]
    assert flows[0][:2] == ["flow", "throughput kb/s"]
    assert len(flows) == 1 + 50
    assert "10 more" in page.text
    assert flows[1][0] == "up1"
    assert {"station", "queue"} <= {table[0][0] for table in page.tables}


def test_nothing_that_a_name_has_becomes_markup():
    scenario = cell("802.11b", stations=1, duration="100 ms")
    named = Scenario(
        {
            **scenario.description,
            "flows": [
                {"name": "<b>up", "from": "sta1", "to": "ap"},
            ],
            "stations": [{"name": "ap"}, {"name": "sta1"}],
        }
    )
    results = named.simulate(replications=1)
    assert "<b>up" not in results._repr_html_()
    assert Tables(results._repr_html_()).tables[0][1][0] == "<b>up"


def test_results_without_a_run():
    results = cell("802.11b", stations=1, duration="100 ms").simulate(replications=1)
    none = dataclasses.replace(results, runs={})
    assert repr(none) == "<Results: 0 of 1 replications, seed 1>"
    assert not Tables(none._repr_html_()).tables
