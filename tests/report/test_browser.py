"""The site of a reproduction in a real browser: nothing complains, everything is there and fits."""

from __future__ import annotations

import pytest

import browsing
from browsing import CONTRASTS, DESK, OUTSIDE, PHONE

PAGES = ("index.html", "mesh.html", "http.html")
CRAMPED = """
() => [...document.querySelectorAll('.claims td, .claims th, .cards > div, pre, figcaption, li')]
  .filter(element => element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 1)
  .map(element => element.outerHTML.slice(0, 120))
"""
PICTURES = """
() => [...document.querySelectorAll('img, svg')].map(element => {
  const box = element.getBoundingClientRect();
  const drawn = element.tagName !== 'IMG' || (element.complete && element.naturalWidth > 0);
  return [element.currentSrc || 'svg', drawn, box.width, box.height];
})
"""


@pytest.fixture(scope="module")
def browser():
    with browsing.browser() as started:
        yield started


@pytest.fixture
def opened(made_up_site, browser):
    """Give a function that opens a page of the site; whatever a page complains of fails the test."""
    contexts, complaints = [], []

    def show(path, width=DESK, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto((made_up_site / path).as_uri())
        return page

    yield show
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_and_its_figures_are_visible(opened, path, width):
    page = opened(path, width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(CRAMPED) == []
    for source, drawn, shown_width, shown_height in page.evaluate(PICTURES):
        assert drawn and shown_width > 10 and shown_height > 5, source


def test_a_narrow_screen_has_panels_below_each_other(opened):
    def first_box(width):
        return opened("mesh.html", width).locator("figure img").first.bounding_box()

    wide, narrow = first_box(DESK), first_box(PHONE)
    assert wide["width"] > wide["height"]
    assert narrow["height"] > narrow["width"]


def test_links_lead_to_pages_and_places(opened):
    first = opened("index.html")
    inside = first.eval_on_selector_all(
        "a[href*='.html']", "links => [...new Set(links.map(a => a.href))]"
    )
    assert len(inside) > len(PAGES)
    for url in inside:
        first.goto(url)
        assert first.locator("h1").is_visible()
        if "#" in url:
            assert first.locator(":target").is_visible(), url


def test_a_link_in_a_page_scrolls_to_its_place(opened):
    page = opened("mesh.html", PHONE)
    page.locator(".contents a").last.click()
    assert page.evaluate("window.scrollY") > 400
    assert page.locator(":target").is_visible()


def test_files_of_scenarios_and_figures_open(opened, made_up_site):
    page = opened("mesh.html")
    links = page.eval_on_selector_all("main a", "links => links.map(a => a.getAttribute('href'))")
    files = {link for link in links if "#" not in link and not link.endswith(".html")}
    assert {link.rpartition(".")[2] for link in files} == {"toml", "svg", "pdf"}
    for link in files:
        assert (made_up_site / link).stat().st_size > 100
    page.goto((made_up_site / next(link for link in files if link.endswith(".svg"))).as_uri())
    assert page.locator("svg").first.bounding_box()["width"] > 100


@pytest.mark.parametrize("path", PAGES)
def test_a_page_prints(opened, path):
    page = opened(path)
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    assert len(document) > 10_000
    page.emulate_media(media="print")
    for source, drawn, width, height in page.evaluate(PICTURES):
        assert drawn and width > 10 and height > 5, source
    assert page.locator("nav").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_page(opened, scheme):
    # WCAG 2.2, 1.4.3: at least 4.5 to 1.
    page = opened("mesh.html", color_scheme=scheme)
    for what, contrast in page.evaluate(CONTRASTS):
        assert contrast >= 4.5, what
