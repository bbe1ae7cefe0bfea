"""What the site has besides the pages of this folder: help of commands, README files of scenarios, the changelog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from venmas.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
COMING = ("papers.md", "journal.md", "plots.md", "report.md", "vnnlib.md", "gym.md", "export.md", "clusters.md")
"""Pages that are listed as soon as they exist."""


def on_config(config: MkDocsConfig) -> None:
    """Leave out what is not written yet."""

    def kept(entries: list[Any]) -> Iterator[Any]:
        for entry in entries:
            ((title, target),) = entry.items()
            if isinstance(target, list):
                yield {title: list(kept(target))}
            elif target not in COMING or (Path(config.docs_dir) / target).is_file():
                yield entry

    config.nav = list(kept(config.nav or []))


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that are made of other files."""
    for readme in sorted(ROOT.glob("scenarios/*/README.md")):
        files.append(File.generated(config, f"scenarios/{readme.parent.name}.md", content=readme.read_text()))
    files.append(File.generated(config, "changelog.md", content=(ROOT / "CHANGELOG.md").read_text()))
    files.append(File.generated(config, "reference/commands.md", content=commands()))


def commands() -> str:
    """A page with the help of every command, as it prints it."""
    settings = {**main.context_settings, "terminal_width": 92}  # what fits beside the navigation
    top = click.Context(main, info_name="venmas", **settings)
    parts = ["# Command line\n", _shown(main.get_help(top))]
    for name in main.list_commands(top):
        command = main.get_command(top, name)
        if command is not None:
            context = click.Context(command, info_name=name, parent=top, **settings)
            parts += [f"## venmas {name}\n", _shown(command.get_help(context))]
    return "\n".join(parts)


def _shown(text: str) -> str:
    return f"```text\n{text}\n```\n"
