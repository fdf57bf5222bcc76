"""Pages of ours in a real browser, for tests; who imports this is skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the dev group")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("needs chromium on PATH", allow_module_level=True)

ARGUMENTS = (
    "--no-sandbox",  # root cannot have one
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PHONE, DESK = 360, 1280
"""Widths in CSS pixels."""

OUTSIDE = """
() => [...document.querySelectorAll('body *')].filter(element => {
  const box = element.getBoundingClientRect();
  const inside = element.closest('.scroll, .spoken, thead');
  return !inside && box.width > 0 && box.right > document.documentElement.clientWidth + 1;
}).map(element => element.outerHTML.slice(0, 120))
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


@contextmanager
def browser() -> Iterator[Any]:
    """A browser within the ``with`` statement."""
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield started
        started.close()
