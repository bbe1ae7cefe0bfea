"""``venmas help``: what cannot be looked up in the options of a command, on one screen."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import click

from venmas.cli.table import Command
from venmas.errors import UsageError, did_you_mean

FORMULAS = """\
A formula is about every initial state. Bounds, as in AG^5, count steps.

  x > 2*y - 1.5       numbers, variables, + - * by numbers; < <= > >= == !=
  gear == low         labels of integers; alarm, safe: Booleans, propositions
  v[1] >= 0           components count from 1: v[0] of Python is v[1] here
  "two words" > 0     a name with other characters, in double quotes
  !p  p & q  p | q  p -> q  p <-> q  true  false    ! binds first, <-> last

  AG^5 p              in all runs, at each of the steps 1 to 5
  AG[0,5] p           at each of the steps 0 (the present) to 5; also AF EG EF
  AF^5 p              in all runs, at one of the steps 1 to 5
  EG^5 p  EF^5 p      as AG and AF, but in some run
  AX p  EX^3 p        after 1 step in all runs; after 3 in some run
  A(p U^5 q)          in all runs q within 5 steps, p until then; also E(...)
  AG p                without a bound: at every step, the present included

  AG^20 (gap > 0 & speed <= 40)       no run leaves it in 20 steps
  alarm -> AF^3 !alarm                an initial alarm ends within 3 steps
  EF^10 goal                          from every start, some run reaches goal

`venmas scenarios NAME` lists the names of a scenario. More: docs/semantics.md
"""


def tune() -> str:
    """Options of single procedures with their values, as the procedures declare them."""
    from venmas.engine.tuning import options

    rows = ["--tune PROCEDURE.OPTION=VALUE sets an option of a single procedure; in Python tune={...} of verify.", ""]
    for key, option in options().items():
        values = "|".join(option.values or ()) or ("N" if isinstance(option.default, int) else "TEXT")
        rows.append(f"  {key}={values}  [default: {option.default}]")
        rows += textwrap.wrap(option.help, 86, initial_indent="      ", subsequent_indent="      ")
    return "\n".join(rows) + "\n"


TOPICS: dict[str, Callable[[], str]] = {"formulas": lambda: FORMULAS, "tune": tune}


@click.command("help", cls=Command)
@click.argument("topic", required=False)
def command(topic: str | None) -> None:
    """Show how formulas are written, `venmas help formulas`, or the options of `--tune`, `venmas help tune`.

    Without a topic: the topics. Options of a command are shown by `venmas COMMAND --help`.
    """
    if topic is None:
        click.echo(f"Topics: {', '.join(f'venmas help {name}' for name in TOPICS)}\nCommands: venmas --help")
        return
    if topic not in TOPICS:
        hint = did_you_mean(topic, TOPICS)
        raise UsageError(
            f"there is no help on {topic[:60]!r}{hint}; there is {', '.join(TOPICS)}, and of commands COMMAND --help"
        )
    click.echo(TOPICS[topic](), nl=False)
