"""No option is lost: each that there was is where it was, or at the one place that a table gives."""

from __future__ import annotations

import click
import pytest

from tests.cli.moved_options import BEFORE, MOVED
from venmas.cli.main import COMMANDS, main
from venmas.cli.table import TABLE
from venmas.engine.tuning import options
from venmas.formats.jani.settings import PREFIX, READING
from venmas.procedures.ranking.settings import OPTIONS as OF_RANKING

TUNE = {*options(), *(option.key for option in OF_RANKING)}
PARAMETERS = {PREFIX + parameter.name for parameter in READING}
OLD = [(command, option) for command, names in BEFORE.items() for option in names.split()]


def there(place: str) -> bool:
    """Is there such an option, key or parameter?"""
    where, name = place.split()
    if where == "--tune":
        return name in TUNE
    return name in PARAMETERS if where == "--set" else name in TABLE.get(where, {})


@pytest.mark.parametrize(("command", "option"), OLD, ids=lambda text: str(text))
def test_every_option_has_one_place(command: str, option: str) -> None:
    place = MOVED.get(command, {}).get(option)
    if command == "ltl" and "ltl" in COMMANDS:
        assert option in TABLE["ltl"] and place is not None
        return
    assert (option in TABLE.get(command, {})) is (place is None), f"{command} {option}: {place}"
    assert place is None or there(place), f"{command} {option}: there is no {place}"


def test_the_table_is_about_options_that_there_were() -> None:
    assert len(OLD) == len(set(OLD)) == 288
    for command, moved in MOVED.items():
        assert set(moved) <= set(BEFORE[command].split())


def test_every_command_that_there_was_is_there_or_all_of_its_options_moved() -> None:
    inner = main.get_command(click.Context(main), "export")
    assert isinstance(inner, click.Group)
    for command, names in BEFORE.items():
        assert command in {*COMMANDS, *inner.commands} or set(names.split()) == set(MOVED[command])


def test_nothing_that_was_moved_is_taken_at_its_old_place() -> None:
    """No aliases."""
    for command, moved in MOVED.items():
        if command in TABLE and command != "ltl":
            assert not set(moved) & set(TABLE[command])
