"""The site of a reproduction: whole, self-contained, true to the records and safe against them."""

from __future__ import annotations

import json
from html import escape

import pytest
import reproduced as made_up
from pages import parsed

from airqueue import toml_text
from airqueue.runs import Local, Store
from airqueue.simulate import Scenario
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Simulation
from airqueue_papers.reproduction import Chosen, Reproduced
from airqueue_papers.site import Origin, figures, write_site
from airqueue_papers.site.claims import claim_table, printed, usual_tolerance
from airqueue_papers.site.runs import scenario_files
from airqueue_papers.site.verdicts import LOOKS
from airqueue_papers.verdict import KINDS, Verdict, counts, judge

PAGES = ("index.html", "mesh.html", "http.html")


@pytest.fixture(scope="module")
def pages(made_up_site):
    return {name: parsed((made_up_site / name).read_text("utf-8")) for name in PAGES}


def test_every_link_has_its_file_and_its_place(made_up_site, pages):
    for page in pages.values():
        assert page.references
        for reference in page.references:
            path, _, place = reference.partition("#")
            if place:
                assert place in (pages[path] if path else page).ids, reference
            assert (made_up_site / path).is_file() or not path, reference


def test_every_file_is_linked_to(made_up_site, pages):
    linked = {
        reference.partition("#")[0] for page in pages.values() for reference in page.references
    }
    files = {
        str(path.relative_to(made_up_site)) for path in made_up_site.rglob("*") if path.is_file()
    }
    assert files == linked - {""}


def test_no_place_has_two_claims(pages):
    for page in pages.values():
        assert len(set(page.ids)) == len(page.ids)


def test_no_page_loads_anything_from_elsewhere(made_up_site):
    for name in PAGES:
        text = (made_up_site / name).read_text("utf-8")
        assert "default-src 'none'" in text
        assert "<script" not in text
        assert "url(" not in text and "@import" not in text


def test_names_and_reasons_are_shown_as_they_stand(made_up_site, pages):
    assert made_up.HOSTILE in " ".join(pages["mesh.html"].text)
    for name in PAGES:
        assert made_up.HOSTILE not in (made_up_site / name).read_text("utf-8")
    assert escape(made_up.HOSTILE) in (made_up_site / "mesh.html").read_text("utf-8")


def test_each_miss_tells_why_and_settings_have_their_counts(made_up_site, pages):
    text = (made_up_site / "mesh.html").read_text("utf-8")
    missed = [record for record in made_up.records() if record.missed]
    assert text.count("Why missed: unexplained.") == len(missed) > 0
    shown = " ".join(" ".join(pages["mesh.html"].text).split())
    for row in made_up.TRIED:
        assert (
            " ".join(f"{row.setting} {' '.join(str(n or '') for n in row.counts)}".split()) in shown
        )
    assert f"Of 6 numbers 1 is reproduced as judged, and 4 {made_up.TRIED[1].setting}." in shown


def test_every_claim_has_its_verdict_as_a_word_and_a_sign(made_up_site, pages):
    text = " ".join(" ".join(pages["mesh.html"].text).split())
    for record in made_up.records():
        assert record.claim.id in pages["mesh.html"].ids
        assert record.reason in text
    for kind, look in LOOKS.items():
        assert f"{look.sign} {kind}" in text


def test_whatever_a_claim_counts_as_has_a_look_of_its_own():
    assert tuple(LOOKS) == KINDS
    assert {record.counted_as for record in made_up.records()} == set(KINDS)
    assert len({look.sign for look in LOOKS.values()}) == len(LOOKS)


def test_what_is_by_construction_is_set_apart():
    records = made_up.records()
    counted = counts(records)
    assert sum(counted.values()) == len(records)
    assert counted["by construction"] == 1
    reproduced = [r for r in records if r.verdict is Verdict.REPRODUCED]
    # One each is by construction, not read, stands without its mechanism, is about none, and not
    # challenged.
    assert counted["reproduced"] == len(reproduced) - 5
    hardware = made_up.claim("both", by_construction="a setting", not_testable="hardware")
    assert judge(hardware, None).counted_as == "not testable here"


def test_a_print_that_nobody_read_is_set_apart_with_its_verdict(pages):
    assert counts(made_up.records())["print not read"] == 1
    text = " ".join(" ".join(pages["mesh.html"].text).split())
    assert "print not read as remembered; reproduced" in text


def test_the_first_page_has_what_is_not_met_and_nothing_else(pages):
    missed = [r for r in made_up.records() if r.counts and not r.met]
    assert {r.claim.id for r in missed} == {"mesh.each", "mesh.below", "mesh.never"}
    claims = {name for name in pages["index.html"].ids if "." in name}
    assert claims == {r.claim.id for r in missed}


def test_a_site_without_a_miss_says_so(tmp_path):
    write_site(tmp_path, made_up.reproduced()[2:], made_up.ORIGIN)
    text = (tmp_path / "index.html").read_text("utf-8")
    assert "all claims that count are met" in text
    assert not (tmp_path / "mesh.html").exists()


def test_it_says_where_it_comes_from(pages):
    text = " ".join(pages["index.html"].text)
    for fact in ("1.2.3", "22 November 2026", "Linux, two cores", "0123abc", "quick", "61.00 s"):
        assert fact in text
    assert "airqueue reproduce mesh http --budget quick" in text
    known = Origin(
        Budget.FULL, "1", "today", "a machine", command="airqueue reproduce --budget full"
    )
    assert "revision" not in known.facts() and "time it took" not in known.facts()


def test_commands_name_item_and_budget_or_exact_runs(pages):
    text = " ".join(pages["mesh.html"].text)
    assert "airqueue reproduce mesh.table3 --budget quick" in text
    assert "airqueue reproduce mesh.alloc --exact" in text


def test_scenario_files_are_the_scenarios_that_ran(made_up_site):
    each = made_up.reproduced()[0]
    files = scenario_files(each)
    assert [file.run for file in files] == ["sized buffers", made_up.HOSTILE]
    for file in files:
        content = (made_up_site / file.path).read_text("utf-8")
        assert toml_text.parse(content) == file.of.scenario
        Scenario(toml_text.parse(content))
        assert content.startswith(f"# {file.command}\n")
    assert files[1].command.endswith(".toml --seed 7 --replications 1")


def test_runs_whose_names_are_written_alike_have_files_of_their_own():
    runs = {name: Simulation(made_up.SCENARIO, 1) for name in ("A b", "a-b", "a b 2", "-")}
    each = Reproduced(Chosen("mesh", Item("x", "X", lambda _: [])), runs, [], ())
    assert len({file.path for file in scenario_files(each)}) == 4


def test_the_claims_are_there_as_data(made_up_site):
    data = json.loads((made_up_site / "claims.json").read_text("utf-8"))
    records = [record for each in made_up.reproduced() for record in each.records]
    assert [each["id"] for each in data["claims"]] == [record.claim.id for record in records]


def test_the_same_records_give_the_same_files(tmp_path):
    for name in ("one", "two"):
        write_site(tmp_path / name, made_up.reproduced()[1:], made_up.ORIGIN)
    files = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) > len(PAGES)
    for path in files:
        again = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert again.read_bytes() == path.read_bytes()


def test_processes_draw_the_same_figures_once(tmp_path, made_up_site):
    store = Store(tmp_path / "runs")
    for _ in range(2):
        write_site(tmp_path / "site", made_up.reproduced()[1:], made_up.ORIGIN, store, Local(1))
    kept = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert len(kept) == 1
    figures_drawn = sorted((tmp_path / "site" / "figures").iterdir())
    assert len(figures_drawn) == 2
    for path in figures_drawn:
        assert path.read_bytes() == (made_up_site / "figures" / path.name).read_bytes()


def test_a_broken_off_write_leaves_the_old_pages(tmp_path, monkeypatch):
    write_site(tmp_path, made_up.reproduced()[2:], made_up.ORIGIN)
    old = {path: path.read_bytes() for path in tmp_path.glob("*.html")}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(figures, "draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_site(tmp_path, made_up.reproduced(), made_up.ORIGIN)
    assert {path: path.read_bytes() for path in tmp_path.glob("*.html")} == old
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_directory_that_cannot_be_is_named(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.raises(OSError, match="file") as caught:
        write_site(taken, made_up.reproduced()[2:], made_up.ORIGIN)
    assert str(taken) in str(caught.value.filename)


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({}, "<b>0.94</b>"),
        ({"printed": 1250, "unit": "kb/s"}, "<b>1,250</b> kb/s"),
        ({"printed": 5, "unit": "percent"}, "<b>5</b> %"),
        ({"printed": -2}, "<b>−2</b>"),
        ({"printed": 2e-06, "unit": "s"}, "<b>2 × 10⁻⁶</b> s"),
        ({"printed": [2, 6], "comparator": "range"}, "<b>2 to 6</b>"),
        ({"printed": [2, 6]}, "<b>2, 6</b>"),
        ({"printed": 700, "comparator": "<="}, "<b>≤ 700</b>"),
        ({"printed": 700, "comparator": "<"}, "<b>&lt; 700</b>"),
        ({"printed": 316, "std": 68}, "<b>316</b><small>std. dev. 68</small>"),
        ({"printed": 65.0, "ci95": 1.1}, "<b>65.0</b><small>± 1.1 (95 %)</small>"),
        ({"printed": 1, "ci95_interval": [0.9, 1.1]}, "<b>1</b><small>95 %: 0.9 to 1.1</small>"),
        ({"printed": 187, "jitter_ms": 30}, "<b>187</b><small>jitter 30 ms</small>"),
        ({"printed": 15, "uncertainty": "about"}, "<b>15</b><small>about</small>"),
        ({"printed": "qualitative", "sort": "statement"}, ""),
        ({"printed": ["64 KB", "1 MB"], "sort": "statement"}, "64 KB, 1 MB"),
    ],
)  # fmt: skip
def test_what_is_printed_is_shown_as_printed(changed, shown):
    assert printed(made_up.claim("x", **changed)) == shown


def row(ours, ns2=None, **changed):
    claim = made_up.claim("x", **changed)
    return claim_table([judge(claim, Finding("x", "so", ours, ns2=ns2))], 0.25)


def test_ours_is_as_precise_as_the_print_and_says_how_far_off_it_is():
    assert "<b>0.1150</b>" in row((Value(0.115),), printed=0.1099)
    assert '<span class="off">+5 %</span>' in row((Value(0.115),), printed=0.1099)
    assert '<span class="off">−50 %</span>' in row((Value(1.0),), printed=2.0)
    assert '<span class="off">±0 %</span>' in row((Value(-2.0),), printed=-2.0)
    assert "95 %: 1.50 to 2.50" in row((Value(2.0, 1.5, 2.5),), printed=2.0)
    assert "off" not in row((Value(650.0),), printed=700, comparator="<")


def test_a_gauge_has_ours_where_it_is_and_an_arrow_where_it_is_off():
    assert '<circle class="ours" cx="66.0"' in row((Value(2.0),), printed=2.0)
    assert '<path class="ours" d="M132' in row((Value(20.0),), printed=2.0)
    assert '<path class="ours" d="M0' in row((Value(-20.0),), printed=2.0)
    assert row((Value(1.0), Value(2.0)), printed=[1.0, 2.0]).count('class="ours"') == 2
    assert "gauge" not in row((Value(0.0),), printed=0.0)
    assert "gauge" not in row((Value(1.0),), tolerance=0.0, printed=1.0)


def test_ns2_has_a_column_where_it_was_asked():
    assert "ns-2" not in row((Value(2.0),), printed=2.0)
    table = row((Value(4.0),), printed=2.0, ns2=4.2)
    assert "ours is near it" in table
    assert "met: ns-2 is off the print too" in table


def test_statements_alone_have_no_empty_columns():
    statement = made_up.claim("s", sort="statement", printed="qualitative")
    table = claim_table([judge(statement, Finding("s", "see `this`", holds=True))], 0.25)
    assert "printed" not in table and "ours" not in table
    assert "see <code>this</code>" in table


def test_only_an_unusual_tolerance_is_said_again():
    records = [*made_up.records(), judge(made_up.claim("n", tolerance=0.5), Finding("n", "so"))]
    assert usual_tolerance(records) == 0.25
    table = claim_table(records, 0.25)
    assert table.count("near: within") == 1
    assert "near: within 50 %" in table
    assert usual_tolerance([]) == 0.0
