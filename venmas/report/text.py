"""A report for people: the verdict, what it rests on, what it took, and the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.engine.report import Report, Verdict
from venmas.report import linear
from venmas.report.assumptions import assumptions
from venmas.report.figures import PROCEDURES, figures, procedure_rows
from venmas.report.partial import how_far, next_questions
from venmas.report.text_tables import print_table, print_trace
from venmas.report.text_witness import print_witness
from venmas.report.words import basis, remedies, where

if TYPE_CHECKING:
    from rich.console import Console

    from venmas.model import System
    from venmas.model.witness.lasso import Run

_STYLES = {Verdict.SATISFIED: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNKNOWN: "bold yellow"}
_MOST_STEPS = 40
"""Steps of a run for ever that are printed; a file has them all."""


def print_verdict(out: Console, report: Report) -> None:
    """One line."""
    from rich.text import Text

    line = Text(report.verdict.value, style=_STYLES[report.verdict])
    if report.verdict is Verdict.UNKNOWN:
        line.append(f" ({report.reason}): {report.message}", style="default not bold")
    out.print(line, soft_wrap=True)


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
