"""A report for people: the verdict, what it rests on, what it took, and the trace."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from venmas.engine.map.tree import StateMap
from venmas.engine.reach.sets import ReachSets
from venmas.engine.report import Report, Verdict
from venmas.model.show import precise
from venmas.report import linear
from venmas.report import map as maps
from venmas.report.assumptions import assumptions
from venmas.report.figures import PROCEDURES, figures, procedure_rows
from venmas.report.partial import how_far, next_questions
from venmas.report.reach import head, notes, table
from venmas.report.text_tables import again, print_table, print_trace
from venmas.report.words import basis, remedies, where

if TYPE_CHECKING:
    from rich.console import Console

    from venmas.model import Replay, System, Witness
    from venmas.model.witness.lasso import Run

_STYLES = {Verdict.SATISFIED: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNKNOWN: "bold yellow"}
_MOST_ATOMS = 6
_MOST_STEPS = 40
"""Steps of a run for ever that are printed; a file has them all."""
_WIDTH = 200
"""Columns of tables, as the command line has them in a file or a pipe, where no window limits them."""


def print_verdict(out: Console, report: Report) -> None:
    """One line."""
    from rich.text import Text

    line = Text(report.verdict.value, style=_STYLES[report.verdict])
    if report.verdict is Verdict.UNKNOWN:
        line.append(f" ({report.reason}): {report.message}", style="default not bold")
    out.print(line, soft_wrap=True)


def as_text(shown: Report | ReachSets | Witness) -> str:
    """What the command line prints of a report, of reach sets, or of a witness alone, into a file or a pipe."""
    from rich.console import Console

    lines = io.StringIO()
    out = Console(file=lines, markup=False, highlight=False, emoji=False, width=_WIDTH, force_terminal=False)
    if isinstance(shown, Report):
        print_report(out, shown, shown.model)
    elif isinstance(shown, ReachSets):
        print_reach(out, shown)
    else:
        print_trace(out, None, shown)
    return lines.getvalue().rstrip("\n")


def print_report(out: Console, report: Report, system: System | None, *, verbose: bool = False) -> None:
    """Everything; `verbose`: what the model assumes, and the procedures of a mode where one decided, too.

    system: None where there is none.
    """
    print_verdict(out, report)
    out.print(f"{report.formula}", soft_wrap=True)
    out.print(where(report), soft_wrap=True)
    if report.verdict is Verdict.SATISFIED:
        for sentence in basis(report, system):
            out.print(sentence, soft_wrap=True)
        for text in linear.proof_texts(report):
            out.print(text, soft_wrap=True)
    for note in report.notes:
        out.print(f"Note: {note}", soft_wrap=True)
    out.print()
    for name, text in figures(report):
        out.print(f"{name:<16} {text}", soft_wrap=True)
    if verbose and (obligations := linear.obligation_table(report)) is not None:
        out.print()
        print_table(out, obligations.head, obligations.rows, wrap=True)
    if verbose and (assumed := assumptions(report, system or report.model or report.circuit)):
        out.print("\nAssumptions of the model:")
        for name, text in assumed:
            out.print(f"{name:<17} {text}", soft_wrap=True)
    if report.procedures and (verbose or report.verdict is Verdict.UNKNOWN):
        out.print()
        print_table(out, PROCEDURES, procedure_rows(report), wrap=True)
    if report.verdict is Verdict.UNKNOWN:
        if told := how_far(report):
            out.print("\nHow far it got:")
            for text in told:
                out.print(f"- {text}", soft_wrap=True)
        out.print("\nWhat may help:")
        for text in (*next_questions(report), *remedies(report)):
            out.print(f"- {text}", soft_wrap=True)
    if report.witness is not None and report.replay is not None:
        out.print()
        print_witness(out, system, report.witness, report.replay)
    if report.deployed is not None and report.deployed.witness is not None and report.witness is None:
        out.print(f"\nA run that violates it as deployed ({report.deployed.runtime}, float32):", style="bold")
        print_trace(out, system, report.deployed.witness)
    if report.lasso is not None:
        out.print()
        print_run(out, report.lasso, system)


def print_run(out: Console, run: Run, system: System | None) -> None:
    """The run that breaks a property of LTL, its first steps."""
    shown = linear.run_table(run, system, _MOST_STEPS)
    out.print("A run that breaks it:", style="bold")
    print_table(out, shown.head, shown.rows)
    out.print(shown.note, soft_wrap=True)


def print_reach(out: Console, found: ReachSets) -> None:
    """The sets, step by step, and what is to be said of them."""
    out.print(head(found), soft_wrap=True)
    shown = table(found)
    print_table(out, shown.head, shown.rows, keys=shown.keys)
    for note in notes(found):
        out.print(note, soft_wrap=True)


def print_map(out: Console, shown: StateMap) -> None:
    """Shares of the volume by status, and notes."""
    out.print(maps.head(shown), soft_wrap=True)
    shares = maps.table(shown)
    print_table(out, shares.head, shares.rows, keys=shares.keys)
    for note in maps.notes(shown):
        out.print(note, soft_wrap=True)


def print_witness(out: Console, system: System | None, witness: Witness, replay: Replay) -> None:
    """The trace, the atoms that it shows, and the replay."""
    tree = witness.path is None
    title = "A tree of runs that violates it:" if tree else "A run that violates it:"
    if witness.stay:
        title = "An initial state that violates it:"
    if any(value.radius for value in witness.nodes[0].state):
        title = "From here no noise brings it about:"
    out.print(title, style="bold")
    numbers = print_trace(out, system, witness)
    if not tree and (loop := again(witness, len(witness.nodes) - 1, numbers)):
        out.print(f"The last state is that of step {loop[loop.index('#') + 1 : -1]}: the run goes on so for ever.")
    place = "state #" if tree else "step "
    measures = [
        (m.margin, numbers[i], m.atom) for i, node in enumerate(witness.nodes) if i in numbers for m in node.atoms
    ]
    nearest = sorted(sorted(measures)[:_MOST_ATOMS], key=lambda item: item[1])
    for margin, index, atom in nearest:
        out.print(f"At {place}{index}: {atom}, by {precise(margin)}", soft_wrap=True)
    if len(measures) > len(nearest):
        out.print(f"(the {len(nearest)} closest of {len(measures)} comparisons that show it)")
    print_replay(out, replay)


def print_replay(out: Console, replay: Replay) -> None:
    """What the exact and the float replay say."""
    if not replay.confirmed:
        out.print(f"It does not replay: {replay.reason}", soft_wrap=True)
    elif replay.derived:
        out.print(
            "Checked in exact numbers: violated for ever, by sets of states that runs do not leave", soft_wrap=True
        )
    elif replay.margin is not None:
        out.print(f"Replayed {replay.how}: violated, margin {precise(replay.margin)}", soft_wrap=True)
    else:
        out.print(f"Replayed {replay.how}: violated; no comparison is involved")
    for precision, run in (replay.floats or {}).items():
        said = "violated" if run.violated else "not violated"
        differ = f"states differ by at most {run.difference:.2g}"
        out.print(f"Replayed in {precision} ({run.runtime}): {said}, {differ}", soft_wrap=True)
