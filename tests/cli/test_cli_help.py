"""``venmas help``: one screen, every formula on it is one, and what it says of binding and steps is so."""

import re

import pytest
from click.testing import CliRunner

from venmas.cli.help_command import FORMULAS, command
from venmas.cli.main import main
from venmas.logic import parse_property
from venmas.model import System

pytestmark = pytest.mark.quick


def vocabulary():
    """The names on the screen."""
    s = System("s")
    for name in ("x", "y", "gap", "speed"):
        s.real(name, -99, 99)
    s.reals("v", 2, -9, 9)
    s.integer("gear", 1, 2, labels={1: "low", 2: "two words"})
    for name in ("p", "q", "r", "t", "alarm", "safe", "goal"):
        s.boolean(name)
    return s.vocabulary


def examples():
    """What stands before the explanation of a line."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in FORMULAS.splitlines() if line.startswith("  ")]
    return [text for parts in lines for text in parts[:-1]]


def test_it_is_one_screen():
    lines = FORMULAS.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert CliRunner().invoke(command, ["formulas"]).output == FORMULAS


@pytest.mark.parametrize("formula", examples())
def test_every_formula_on_it_is_one(formula):
    assert parse_property(formula, vocabulary())


def test_operators_bind_in_the_order_shown():
    known = vocabulary()
    assert parse_property("!p & q | r -> t <-> safe", known) == parse_property(
        "(((((!p) & q) | r) -> t) <-> safe)", known
    )
    assert parse_property("AG[1,5] p", known) == parse_property("AG^5 p", known)
    assert len(examples()) >= 20


def test_topics_that_are_not_there_are_refused(capsys):
    for arguments, told in ([["help", "formula"], "did you mean 'formulas'?"], [["hlep"], "did you mean 'help'?"]):
        with pytest.raises(SystemExit) as done:
            main(arguments)
        assert done.value.code == 2 and told in capsys.readouterr().err
    assert "venmas help formulas" in CliRunner().invoke(command, []).output
