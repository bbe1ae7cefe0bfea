"""What `venmas ltl` prints: verdict, networks, obligations, the table of a lasso."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from venmas.cli.output import printable

if TYPE_CHECKING:
    from rich.console import Console

    from venmas.budget import Progress
    from venmas.engine.ltl import LtlReport
    from venmas.ltl.decide import Satisfied
    from venmas.ltl.replay import Run

_MOST_SHOWN = 40
"""Rows of a lasso that are printed; a file has them all."""
_STYLES = {"satisfied": "bold green", "violated": "bold red", "unknown": "bold yellow"}


def describe(progress: Progress, left: float | None = None) -> str:
    """The line that moves while `venmas ltl` works."""
    from venmas.cli.progress import clock

    done = f"{progress.depth} networks tried, {progress.created} counterexamples, {progress.solved} queries"
    return f"{clock(progress.seconds)}  {done}"


def print_report(out: Console, report: LtlReport, *, quiet: bool, show: bool) -> None:
    """The report, for people; quiet: the verdict alone."""
    out.print(report.verdict.value, style=_STYLES[report.verdict.value])
    if quiet:
        return
    from venmas.ltl.decide import Satisfied

    work = report.work
    registers, bits = work.cone
    size = f"{work.automaton.states} states, {len(work.automaton.edges)} edges"
    _say(
        out,
        f"automaton of the negated property: {size}; bits that the property depends on: {bits}, registers: {registers}",
    )
    if show:
        from venmas.ltl.hoa import to_hoa

        _say(out, to_hoa(work.automaton).rstrip())
    if report.recalled:
        _say(out, report.recalled)
    elif isinstance(report.answer, Satisfied):
        _print_proof(out, report, report.answer, show)
    if report.lasso is not None:
        _print_run(out, report.lasso)
    elif not report.satisfied:
        _say(out, f"{report.reason}: {report.message}")
    if show or not (report.satisfied or report.violated):
        for line in work.figures.levels:
            _say(out, line)
    if (stored := report.stored) is not None:
        proofs = f"{stored.enumerated} enumerated, {stored.refuted} refuted"
        proofs += f", {stored.said} by a solver's word" if stored.said else ""
        _say(out, f"certificate: {stored.lines} lines, {stored.size} bytes; obligations: {proofs}")
    elif report.note is not None:
        _say(out, report.note)
    parts = ((name, value) for name, value in vars(report.seconds).items() if name != "total" and value >= 0.005)
    told = ", ".join(f"{name} {value:.2f}" for name, value in parts)
    _say(out, f"{report.seconds.total:.2f} s{f' ({told})' if told else ''}")


def _print_proof(out: Console, report: LtlReport, answer: Satisfied, show: bool) -> None:
    for one in answer.ranked:
        for state, rank in one.network.text().items():
            _say(out, f"V{state} = {rank}")
        for at, edge in enumerate(one.goal.edges if show else ()):
            kind = "falls" if edge in one.goal.strict else "does not rise"
            proof = f", proof of {one.steps[at]} clauses" if one.steps else ""
            label = report.work.automaton.label_text(edge.label)
            _say(out, f"  V{edge.source} -> V{edge.target} {kind} where {label}{proof}")
    if answer.enumerated is not None:
        _say(
            out,
            f"from initial states; {answer.enumerated} states of design and automaton enumerated, all that are reached",
        )
        return
    for state, holds in answer.invariant.text(answer.circuit).items():
        _say(out, f"J{state} = {holds}")
    steps = [*answer.kept, *(count for one in answer.ranked for count in one.steps)]
    proofs = f"obligations: {len(steps)}, proofs of {sum(steps)} clauses checked" if steps else "proofs written"
    begun = "the initial states" if answer.invariant.initial else "every state"
    _say(out, f"from {begun}; {f'by the word of {answer.solver}' if answer.solver else proofs}")
    if not answer.ranked and not answer.invariant.clauses:
        _say(out, "no run of the automaton is fair: the property holds of every word")


def _print_run(out: Console, run: Run) -> None:
    table = Table()
    table.add_column("step")
    rows = run.rows
    names = [name for name in rows[0] if not name.startswith("#")]
    for name in names:
        table.add_column(printable(name))
    for at, row in enumerate(rows[:_MOST_SHOWN]):
        table.add_row(f"{at} (loop)" if at == run.back else str(at), *(str(row[name]) for name in names))
    out.print(table)
    more = f"{len(rows) - _MOST_SHOWN} more steps, then " if len(rows) > _MOST_SHOWN else "then "
    then = "anything: the property is broken" if run.back is None else f"step {run.back} again, for ever"
    _say(out, f"{more}{then}; replayed by simulation")


def _say(out: Console, text: str) -> None:
    out.print(printable(text), soft_wrap=True)
