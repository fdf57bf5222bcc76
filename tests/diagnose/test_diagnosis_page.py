"""The report of a diagnosis in a real browser, on a phone and on a desk, light and dark."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from recorded import imagined

import browsing
from airqueue.diagnose.again import changes
from airqueue.diagnose.queue import Queue
from airqueue.diagnose.records import GATEWAY, SERVER, WIRE, Records
from airqueue.diagnose.result import diagnosis
from airqueue.measure.api import measure
from airqueue.measure.simulated import SimulatedProber
from airqueue.report.diagnosis import render
from browsing import CONTRASTS, DESK, OUTSIDE, PHONE

ABOUT = {
    "airqueue": "0",
    "created": "2026-01-01T00:00:00Z",
    "target": "a-rather-long-name-of-a-server.example.org",
    "elapsed_s": 55.0,
    "interrupted": False,
}
# Of the picture that is shown: heights of words in CSS pixels, and boxes of the names of loads.
WORDS = """
() => [...document.querySelectorAll('svg text')].filter(text => text.getClientRects().length)
  .map(text => [parseFloat(getComputedStyle(text).fontSize), text.getScreenCTM()])
  .map(([size, matrix]) => size * Math.hypot(matrix.b, matrix.d))
"""
NAMES = """
() => [...document.querySelectorAll('svg text.note')].map(text => text.getBoundingClientRect())
  .filter(box => box.width).map(box => [box.left, box.right])
"""
SCROLLED = """
() => [...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)
  .map(box => box.textContent)
"""


def four_loads() -> Records:
    """Both servers, both directions, as far apart as in a real diagnosis; lines to paste are long."""
    records = imagined({GATEWAY: 0.0, SERVER: 0.2}, lost=0.1, carried_bps=20e6)
    gateway, server = records.legs
    wire = dataclasses.replace(gateway, name=WIRE)
    loads = tuple(
        dataclasses.replace(
            records.loads[0], site=site, direction=way, began_s=began_s, ended_s=began_s + 2
        )
        for began_s, site, way in (
            (2.0, WIRE, "down"),
            # Within the time in which the records' round trips to the server are long.
            (6.0, SERVER, "down"),
            (10.0, WIRE, "up"),
            (14.0, SERVER, "up"),
        )
    )
    return dataclasses.replace(records, legs=(gateway, wire, server), loads=loads)


@pytest.fixture(scope="module")
def page_at(tmp_path_factory):
    """Give a function that opens the report; whatever the page complains of fails the test."""
    records = four_loads()
    prober = SimulatedProber({"queue": "pfifo:250", "rate_bps": 7e6}, seed=4)
    found = diagnosis(records, queue=Queue(SERVER, "down", measure(prober).to_json(), None))
    said = [{"says": each.says} for each in changes(records, records)]
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(found, found.to_json(ABOUT) | {"changes": said}), "utf-8")
    complaints: list[str] = []
    with browsing.browser() as browser:

        def show(width: int, scheme: str = "light"):
            context = browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme=scheme
            )
            page = context.new_page()
            page.on("console", lambda message: complaints.append(message.text))
            page.goto(path.as_uri())
            return page

        yield show
    assert complaints == []


@pytest.mark.parametrize("width", [PHONE, 390, DESK])
def test_the_page_fits_and_its_picture_can_be_read(page_at, width):
    page = page_at(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(OUTSIDE) == []
    words = page.evaluate(WORDS)
    assert len(words) > 10 and min(words) >= 9
    names = sorted(page.evaluate(NAMES))
    assert len(names) == 4
    apart = (left[1] <= right[0] for left, right in itertools.pairwise(names))
    assert all(apart), "names of loads lie on each other"
    assert page.locator("pre", has_text="tc qdisc replace").first.is_visible()
    assert page.locator("h2", has_text="The queue").is_visible()
    assert page.locator("h1", has_text="where the queue is a FIFO of 250 packets").is_visible()


def test_no_table_needs_scrolling_on_a_phone(page_at):
    assert page_at(390).evaluate(SCROLLED) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_page(page_at, scheme):
    page = page_at(390, scheme)
    backgrounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == backgrounds[scheme]
    # WCAG 2.2, 1.4.3: at least 4.5 to 1.
    contrasts = page.evaluate(CONTRASTS)
    assert contrasts and all(contrast >= 4.5 for _, contrast in contrasts)


def test_the_page_prints_with_one_picture(page_at):
    page = page_at(DESK)
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    shown = [box.is_visible() for box in page.locator("figure .charts > div").all()]
    assert shown == [True, False]
