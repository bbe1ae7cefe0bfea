"""Help in panels: few options at first, all of them on demand, and commands in groups."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner

from venmas.cli.main import COMMANDS, main
from venmas.cli.panels import GROUPS, PANELS
from venmas.cli.table import TABLE

SHOWN = "--scenario --set --networks --formula --mode --trust --certificate --timeout --json --witness --journal --tune"
SHOWN += " --quiet --verbose --help --help-all"


def told(*words: str) -> str:
    found = CliRunner().invoke(main, list(words))
    assert found.exit_code == 0, found.output
    return found.stdout


def options(text: str) -> set[str]:
    """Long names of the options that a help describes, a line each."""
    return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text.partition("More options:")[0], re.MULTILINE))


def in_panels(command: str) -> dict[str, set[str]]:
    """Options that the command has, by panel."""
    return {panel: set(names.split()) & set(TABLE[command]) for panel, (_, names) in PANELS[command].items()}


def test_verify_shows_what_most_need() -> None:
    found = options(told("verify", "--help"))
    assert found == options(told("verify", "-h")) == set(SHOWN.split())


def test_panels_and_what_is_shown_are_all_options() -> None:
    for command in PANELS:
        first, panels = options(told(command, "--help")), in_panels(command)
        assert first - {"--help", "--help-all"} == set(TABLE[command]) - set().union(*panels.values())
        assert sum(map(len, panels.values())) == len(set().union(*panels.values()))
        for panel, names in panels.items():
            assert options(told(command, "--help", panel)) == names
            assert options(told(command, f"--help={panel}")) == names
        assert options(told(command, "--help-all")) == first.union(*panels.values())


def test_help_names_the_panels_with_their_options() -> None:
    rest = " ".join(told("verify", "--help").partition("More options:")[2].split())
    for panel, names in in_panels("verify").items():
        assert f"--help {panel}" in rest and all(name in rest for name in names)


def test_another_panel_is_refused() -> None:
    found = CliRunner().invoke(main, ["verify", "--help", "machine"])
    assert found.exit_code == 2
    assert "there is no panel 'machine' (did you mean 'machines'?)" in found.stderr


@pytest.mark.parametrize("words", [(), ("reach",), ("export", "programs")])
def test_commands_without_panels_show_everything(words: tuple[str, ...]) -> None:
    found = told(*words, "--help")
    assert "More options" not in found and "--help-all" not in found


def test_commands_are_in_groups() -> None:
    text = told("--help")
    placed = [name for names in GROUPS.values() for name in names.split() if name in COMMANDS]
    assert sorted(placed) == sorted(COMMANDS)
    at = [text.index(f"\n{title}:\n") for title in GROUPS]
    assert at == sorted(at) and "More:" not in text
    for title, names in GROUPS.items():
        section = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert re.findall(r"^  (\w+)  ", section, re.MULTILINE) == [n for n in names.split() if n in COMMANDS]


def test_the_page_of_commands_has_all_options() -> None:
    from venmas.cli.panels import whole_help

    command = main.get_command(click.Context(main), "verify")
    assert command is not None
    assert set(TABLE["verify"]) <= options(whole_help(click.Context(command, info_name="verify")))
