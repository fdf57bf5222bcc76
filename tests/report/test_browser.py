"""The site of a reproduction in a real browser: nothing complains, everything is there and fits."""

from __future__ import annotations

import shutil

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the dev group")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH")

ARGUMENTS = (
    "--no-sandbox",  # root cannot have one
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PAGES = ("index.html", "mesh.html", "http.html")
PHONE, DESK = 360, 1280
"""Widths in CSS pixels."""

OUTSIDE = """
() => [...document.querySelectorAll('body *')].filter(element => {
  const box = element.getBoundingClientRect();
  const inside = element.closest('.scroll, .spoken, thead');
  return !inside && box.width > 0 && box.right > document.documentElement.clientWidth + 1;
}).map(element => element.outerHTML.slice(0, 120))
"""
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
CONTRASTS = """
() => {
  const levels = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const page = light(levels(getComputedStyle(document.body).backgroundColor));
  return [...document.querySelectorAll('.chip, .sign, small, p, td b, a')].map(element => {
    const own = light(levels(getComputedStyle(element).color));
    return [element.className || element.tagName,
            (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05)];
  });
}
"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield started
        started.close()


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
