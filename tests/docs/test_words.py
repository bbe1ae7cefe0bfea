"""What pages say of commands is what the commands are: how to install, where links lead, options and their order."""

from __future__ import annotations

from tests.needs import needs

needs("markdown_it")

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.docs.page_blocks import ROOT, extras
from tests.docs.test_blocks import PAGES
from venmas.cli.main import COMMANDS
from venmas.errors import install

pytestmark = pytest.mark.quick

SOURCES = [p for folder in ("venmas", "experiments", "scenarios") for p in sorted((ROOT / folder).rglob("*.py"))]
READMES = [*PAGES, *sorted(ROOT.glob("experiments/**/README.md"))]
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)


def test_nothing_is_installed_by_a_name_that_is_not_published() -> None:
    for path in [*READMES, *SOURCES, ROOT / "CHANGELOG.md"]:
        for line in path.read_text(encoding="utf-8").splitlines():
            if found := re.search(r"pip install\b[^`]*?[\s\"'=]venmas\b", line):
                raise AssertionError(f'{path}: {found[0]}: nothing is published; write pip install ".[extra]"')


def test_extras_that_pages_and_messages_name_exist() -> None:
    named = {}
    for path in [*READMES, *SOURCES]:
        text = path.read_text(encoding="utf-8")
        groups = [*re.findall(r"\"\.\[([\w,]+)\]\"", text), *re.findall(r"\binstall\([\"'](\w+)[\"']\)", text)]
        named |= {name: path for group in groups for name in group.split(",")}
    assert len(named) > 8
    assert not named.keys() - extras() - {"NAME"}
    assert install("plot").startswith('pip install ".[plot]"')


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as GitHub makes them."""
    plain = (re.sub(r"[^\w\- ]", "", title.replace("`", "")).strip() for title in HEADING.findall(page.read_text()))
    return {title.lower().replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", READMES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    """Read as they are, beside the site, whose build asks the same of its own pages."""
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), f"{page}: {target}"
        if anchor and not anchor.startswith("venmas."):  # made by the site, of docstrings
            assert anchor in anchors(file), f"{page}: {target}: {file.name} has no such heading"


def commands(command: click.Command) -> list[click.Command]:
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(c for found in inner for c in commands(found))]


@pytest.mark.parametrize("name", COMMANDS)
def test_choices_are_explained_in_the_order_in_which_they_are_listed(name: str) -> None:
    explained = 0
    for command in commands(import_module(COMMANDS[name]).command):
        for option in command.params:
            if isinstance(option, click.Option) and isinstance(option.type, click.Choice):
                told = re.findall(r"([\w-]+): ", (option.help or "").partition("[default")[0])
                if told:
                    assert told == list(option.type.choices), f"{name} {option.opts[0]}"
                    explained += 1
    assert explained >= 3 or name != "verify"
