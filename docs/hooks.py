"""What the site has besides the pages of this folder: help of commands, README files of scenarios, the changelog."""

from __future__ import annotations

from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from venmas.cli.main import main
from venmas.cli.panels import whole_help

ROOT = Path(__file__).resolve().parents[1]


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
            parts += [f"## venmas {name}\n", _shown(whole_help(context))]
    return "\n".join(parts)


def _shown(text: str) -> str:
    return f"```text\n{text}\n```\n"
