"""Reading HTML pages of ours: tags are closed, nothing is executed, nothing comes from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input", "path", "rect", "source"}
REFERENCES = ("src", "srcset", "href")


class Page(HTMLParser):
    """Follows the tags: what is opened is closed, scripts are data, links are collected."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.headings = [], [], []
        self.svgs = 0
        self.references, self.ids = [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name, value)
            if name in REFERENCES:
                assert ":" not in value and not value.startswith("/"), (tag, name, value)
                self.references.append(value)
            if name == "id":
                self.ids.append(value)
        if tag == "script":
            assert dict(attrs)["type"] == "application/json"
        self.svgs += tag == "svg" and not any(t == "svg" for t in self.open)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)
        if self.open and self.open[-1] in ("h1", "h2", "b"):
            self.headings.append(data)


def parsed(html):
    """Return a page whose tags are in order."""
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == []
    return page
