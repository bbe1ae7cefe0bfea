"""Deciding by programs: what the answers of solvers and the bounds before them say of a formula."""

from __future__ import annotations

from dataclasses import replace

from venmas.encoding import Task
from venmas.engine.deadlocks import deadlock, deadlocked, note
from venmas.engine.report import Report, Verdict
from venmas.engine.search import Search, StopSearchError
from venmas.errors import ModelError, Reason
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import Atom, Formula, Globally, Quantifier, conjunction, nnf
from venmas.model.system import System


def decide_by_programs(formula: Formula, search: Search, report: Report, base: Task) -> None:
    """Decide a formula into `report` by the programs of `base`, whose target is its negation.

    Raises `ModelError` where a run leaves the declared box, `StopSearchError` and what mappers raise.
    """
    system = base.system
    result = search.run(base)
    if result.found is None and result.inconclusive and base.strategy == "monolithic":
        # a point that does not replay says nothing: ask again path by path, where exact bounds decide more
        report.notes.append("the monolithic program was inconclusive; decided compositionally")
        result = search.run(replace(base, strategy="compositional"))
    if result.found is not None:
        report.verdict, report.witness, report.replay = Verdict.VIOLATED, result.found.witness, result.found.replay
        return
    if result.may_leave_box or result.left_box:
        # the bounds could not exclude that a state leaves its box: decide it before anything is called satisfied
        names = sorted(result.may_leave_box) or list(system.variables)
        inside = nnf(_inside(system, names, formula.depth), negate=True)
        check = search.run(replace(base, target=inside), left_box_ends=True)
        if check.left_box:
            raise ModelError(check.left_box)
        result.undecided += check.undecided
        result.solved += check.solved
    if result.undecided:
        worst = min(result.undecided, key=lambda u: _SEVERITY.index(u.reason))
        leave_open(report, worst.reason, f"{worst.message} ({len(result.undecided)} subproblems undecided)")
        return
    report.verdict = Verdict.SATISFIED
    report.basis = "solver" if result.solved else "bounds"
    if result.may_deadlock:
        report.notes += _deadlocks(search, base, formula.depth)


_SEVERITY = (
    Reason.INTERRUPTED,
    Reason.MEMORY,
    Reason.TIME,
    Reason.LICENCE,
    Reason.FAILURE,
    Reason.UNBOUNDED,
    Reason.TOLERANCE,
)


def _inside(system: System, names: list[str], depth: int) -> Formula:
    """AG^depth: the variables stay in their declared ranges."""
    atoms: list[Formula] = []
    for name in names:
        decl = system.variables[name]
        value = LinearExpr.variable(name)
        atoms.append(Atom(Comparison(value - LinearExpr((), decl.lower), Relation.GE)))
        atoms.append(Atom(Comparison(value - LinearExpr((), decl.upper), Relation.LE)))
    return Globally(Quantifier.ALL, 1, max(1, depth), conjunction(atoms))


def _deadlocks(search: Search, base: Task, depth: int) -> list[str]:
    """Is a state without successor reachable before the last step that the formula looks at? (design S4)"""
    try:
        result = search.run(replace(base, target=deadlock(depth)))
    except StopSearchError as stop:
        return [f"a deadlock may be reachable: {stop.message} before it was decided"]
    if result.found is not None:
        return [note(base.system, deadlocked(result.found.witness))]
    if result.undecided:
        return [f"a deadlock may be reachable: {result.undecided[0].message}"]
    return []


def leave_open(report: Report, reason: Reason, message: str) -> None:
    """Write down that the verdict is unknown, and why."""
    report.verdict, report.reason, report.message = Verdict.UNKNOWN, reason.value, message
    report.witness = report.replay = None
    report.basis = ""
