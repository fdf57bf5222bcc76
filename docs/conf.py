"""The site: `make site` builds it offline, and any warning is an error.

Sphinx with MyST reads the Markdown that the repository shows, so that a page is one file in both
places. Sphinx and not MkDocs: MkDocs 1 has no releases since 2024, and its Material theme is in
maintenance mode.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import airqueue
from airqueue.models import catalogue

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import schema_page  # noqa: E402

PROJECT_PAGES = {
    "project/readme": "README.md",
    "project/architecture": "ARCHITECTURE.md",
    "project/contributing": "CONTRIBUTING.md",
    "project/changelog": "CHANGELOG.md",
}
"""Pages whose text is a file in the repository's root."""
GLOSSARY_MARK = "<!-- the glossary of ARCHITECTURE.md: shown here by the site -->"
MODELS_MARK = "<!-- the models: written when the site is built -->"
SCHEMAS_MARK = "<!-- the schemas: written when the site is built -->"

project = "airqueue"
author = "The airqueue developers"
release = airqueue.__version__
language = "en"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["**/.*"]
html_theme = "furo"
html_title = "airqueue"
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
myst_heading_anchors = 4
myst_links_external_new_tab = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
suppress_warnings = ["myst.header"]  # an included text may begin below the first level


def with_links_of(text: str, old: Path, new: Path) -> str:
    """Return a page's text as it has to be in another folder, with its links to the site's pages."""
    pages = {ROOT / path: f"{name}.md" for name, path in PROJECT_PAGES.items()}

    def link(found: re.Match[str]) -> str:
        path, _, anchor = found[1].partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        target = (old.parent / path).resolve()
        if target in pages:
            target = ROOT / "docs" / pages[target]
        shown = os.path.relpath(target, new.parent)
        return f"]({shown}{'#' if anchor else ''}{anchor})"

    # Not in listings: neither fences nor code spans have links.
    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(r"\]\(([^)\s]+)\)", link, part) for part in parts[::2]]
    return "".join(parts)


def read_page(app: object, docname: str, source: list[str]) -> None:
    """Give the project's pages the text of their files, and all pages links to these."""
    here = ROOT / "docs" / f"{docname}.md"
    there = ROOT / PROJECT_PAGES[docname] if docname in PROJECT_PAGES else here
    text = there.read_text("utf-8") if docname in PROJECT_PAGES else source[0]
    text = with_links_of(text, there, here)
    if docname == "index":
        text += contents(text)
    text = text.replace(GLOSSARY_MARK, glossary()).replace(MODELS_MARK, models())
    source[0] = text.replace(SCHEMAS_MARK, schema_page.schema_sections())


def contents(index: str) -> str:
    """Return Sphinx's tables of contents, from the links in the first column of the index."""
    lines = []
    for section in index.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        cells = re.findall(r"^\| ([^|]*\]\([^|]*) \|", text, re.MULTILINE) or [text]
        pages = re.findall(r"\]\(([\w/-]+)\.md\)", " ".join(cells))
        lines += ["", "```{toctree}", ":hidden:", f":caption: {title.partition(':')[0]}", ""]
        lines += [*pages, "```"]
    return "\n".join([*lines, ""])


def glossary() -> str:
    """Return the glossary's table, which ARCHITECTURE.md has."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    return text.partition("\n## Glossary\n")[2].partition("\n## ")[0]


def models() -> str:
    """Return the documentation of all models, from their docstrings."""
    lines = ["```{eval-rst}"]
    for module in catalogue.MODULES.values():
        lines += [f".. automodule:: airqueue.models.{module}", "   :members:", "   :no-index:", ""]
    return "\n".join([*lines, "```"])


def write_schemas(app: object, failed: Exception | None) -> None:
    """Put the schemas themselves beside the pages."""
    folder = Path(app.outdir) / "schemas"  # type: ignore[attr-defined]
    folder.mkdir(exist_ok=True)
    for name, text in schema_page.schema_files().items():
        (folder / name).write_text(text, "utf-8")


def setup(app: object) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("source-read", read_page)  # type: ignore[attr-defined]
    app.connect("build-finished", write_schemas)  # type: ignore[attr-defined]
