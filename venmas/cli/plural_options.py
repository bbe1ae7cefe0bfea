"""Options of `venmas verify` that ask several questions, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
_NAMES = ("formula_lists", "least", "most", "sweeps", "csv", "latex", "junit", "batch")


@dataclass(frozen=True)
class Plural:
    """Several questions: formulas as they were given, files of formulas, the search, sweeps, and files to write."""

    formulas: tuple[str, ...]
    formula_lists: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    sweeps: tuple[str, ...] = ()
    csv: str | None = None
    latex: str | None = None
    junit: str | None = None
    batch: str | None = None


def plural_options(command: _Command) -> _Command:
    """`--formulas`, `--least`, `--most`, `--sweep`, `--batch`, `--csv`, `--latex`, `--junit`."""
    bound = click.IntRange(1)
    for option in (
        click.option("--junit", metavar="FILE|-", help="Several formulas: write JUnit XML, a test case for each."),
        click.option("--latex", metavar="FILE|-", help="Several formulas: write the table for LaTeX."),
        click.option("--csv", metavar="FILE|-", help="Several formulas: write the table as CSV."),
        click.option(
            "--batch",
            metavar="FILE.csv",
            help="Ask a question a line, of many models: columns scenario, formula, networks, and parameters.",
        ),
        click.option(
            "--sweep",
            "sweeps",
            metavar="NAME=LOW..HIGH:STEP|A,B",
            multiple=True,
            help="Verify for each value of a parameter; repeated: for each combination.",
        ),
        click.option(
            "--most",
            type=bound,
            metavar="K",
            help="Find the greatest k, up to K, such that a formula like AG^k safe holds at every bound up to k.",
        ),
        click.option(
            "--least", type=bound, metavar="K", help="Find the least k, up to K, at which a formula like AF^k p holds."
        ),
        click.option(
            "--formulas",
            "formula_lists",
            metavar="FILE",
            multiple=True,
            help="A file of formulas, one a line; lines that begin with # are left out.",
        ),
    ):
        command = option(command)
    return command


def take_plural(options: dict[str, Any], formulas: tuple[str, ...]) -> Plural | None:
    """What was given of these options, which leave `options`; None where a single question is asked."""
    given = {name: options.pop(name) for name in _NAMES}
    if len(formulas) < 2 and not any(given.values()):
        return None
    return Plural(formulas, **given)
