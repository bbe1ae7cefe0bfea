"""The site builds without a warning, loads nothing from elsewhere, and has what it says; links of README files, too."""

from __future__ import annotations

from tests.needs import needs

needs("markdown_it", "mkdocs")

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import venmas
from tests.docs.page_blocks import ROOT
from venmas.cli.main import COMMANDS

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stdout + done.stderr
    return folder


class Loads(HTMLParser):
    """What a browser fetches when it opens a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if LOADED.get(tag) == name]


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        for address in Loads(page.read_text()).found:
            assert not re.match(r"(https?:)?//", address), f"{page.relative_to(site)} loads {address}"
            local = address.split("?")[0].split("#")[0]
            assert (page.parent / local).exists() or page.name == "404.html", f"{page}: {address} is missing"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text()), sheet


def test_every_command_is_on_the_page_of_commands(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text()
    for name in COMMANDS:
        assert f"venmas {name}</h2>" in re.sub(r"<a .*?</a>", "", text), name
    assert "--certificate FILE" in text


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    anchors = set()
    for page in (site / "reference").glob("*.html"):
        anchors |= set(re.findall(r'id="(venmas\.[\w.]+)"', page.read_text()))
    names = {anchor.rsplit(".", 1)[1] for anchor in anchors}
    public = set(venmas.__all__) - {"__version__"}
    from venmas import model, testing

    assert public <= names
    # results of building, which are not made by hand
    assert set(model.__all__) - {"Agent", "Branch", "Condition", "Expr", "Region", "VariableDecl", "Vector"} <= names
    assert set(testing.__all__) <= names


def test_every_page_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        address = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert f'href="{address}"' in home or address == "index.html", address


@pytest.mark.parametrize(
    "file",
    [*ROOT.glob("*.md"), *ROOT.glob("*/*/README.md")],
    ids=lambda file: str(file.relative_to(ROOT)),
)
def test_links_of_readme_files_lead_somewhere(file: Path) -> None:
    for block in MarkdownIt("commonmark").parse(file.read_text()):
        for token in block.children or []:
            address = str(token.attrGet("href") or token.attrGet("src") or "")
            if address and not re.match(r"https?:|#", address):
                assert (file.parent / address.split("#")[0]).exists(), f"{file}: {address}"
