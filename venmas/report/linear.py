"""Results of LTL for people: what a proof rests on, ranks and obligations, the run of a violation, the automaton."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.engine.report import Report, Verdict
from venmas.errors import InputError
from venmas.formats.asked import read_asked
from venmas.logic import Linear
from venmas.model.show import state_columns
from venmas.model.system.system import System
from venmas.model.witness.tree import Value
from venmas.procedure import Subject
from venmas.report.tables import Table

if TYPE_CHECKING:
    from venmas.logic.automata.automaton import Automaton
    from venmas.model.witness.lasso import Run
    from venmas.report.graph_picture import Picture

_MOST_ROWS, _MOST_COLUMNS = 400, 24


def meaning(verdict: Verdict) -> str:
    """Meaning of a verdict about LTL."""
    match verdict:
        case Verdict.SATISFIED:
            return "Every run has the property, for ever: no run is one that the automaton accepts."
        case Verdict.VIOLATED:
            return "A run from an initial state does not have the property: it was simulated step by step."
    return "Neither a proof nor a run that breaks it was found. This is no evidence for the property, nor against it."


def basis(report: Report) -> tuple[str, ...]:
    """Basis of *satisfied* or *violated*."""
    if report.verdict is Verdict.VIOLATED:
        return ("It rests on the run alone, which was replayed.",)
    if report.verdict is not Verdict.SATISFIED or report.proof is None:
        return ()
    return tuple(_proved(report))


def _proved(report: Report) -> Iterator[str]:
    proof = report.proof or {}
    if report.basis == "solver":
        said = proof.get("said") or "an SMT solver"
        yield f"It rests on the word of {said}; --trust exact has each obligation proved."
    match proof.get("by"):
        case "enumeration":
            pairs = proof.get("states")
            yield f"All {pairs} pairs of a state and a state of the automaton that runs reach were looked at."
        case "derivation":
            yield "By bounded questions about sets of states, joined by rules."
        case "ranks":
            where = "the declared box" if proof.get("from") == "all" else "J, which no run leaves"
            yield f"By a rank that falls, from any state of {where}."
        case "ranking functions":
            begun = "the initial states" if proof.get("from") == "initial" else "every state"
            yield f"By ranking functions and invariants, of the runs from {begun}."
    if report.basis == "exact":
        yield "Each step of the proof is exact: no solver is trusted."
    if (within := proof.get("within")) is not None:
        yield f"Every run has shown it within {within} steps."


def proof_texts(report: Report) -> list[str]:
    """Ranks and invariants, a line each."""
    return [str(text) for text in (report.proof or {}).get("texts", ())]


def automaton_line(report: Report) -> str:
    """Size of the automaton, and registers on which the property depends."""
    sizes = ""
    if (one := report.automaton) is not None:
        sizes = f"{one.states} states, {one.edges} edges"
    if report.cone is not None:
        sizes += f"; bits that the property depends on: {report.cone['bits']}, registers: {report.cone['registers']}"
    return sizes


def obligation_table(report: Report) -> Table | None:
    """The obligations of ranks."""
    rows = []
    word = "the word of a solver" if report.basis == "solver" else "in the certificate"
    for one in (report.proof or {}).get("obligations", ())[:_MOST_ROWS]:
        clauses = one.get("clauses")
        rows.append((one["edge"], one["rank"], one["where"], f"{clauses} clauses, checked" if clauses else word))
    return Table("Obligations", ("edge", "the rank", "on every step where", "proof"), tuple(rows)) if rows else None


def run_table(run: Run, system: System | None, most: int = _MOST_ROWS) -> Table:
    """A run for ever, its first `most` steps at most. system: whose units and labels are shown, where it is known."""
    if run.branches:
        head, rows = _of_system(run, system, most)
    else:
        words = run.rows
        names = [name for name in words[0] if not name.startswith("#")][:_MOST_COLUMNS]
        head, rows = names, [[str(row[name]) for name in names] for row in words[:most]]
        if len(words[0]) > _MOST_COLUMNS:
            head = [*head, f"({len(words[0]) - _MOST_COLUMNS} more)"]
            rows = [[*row, ""] for row in rows]
    steps = [(f"{at} (loop)" if at == run.back else str(at), *row) for at, row in enumerate(rows)]
    left = len(run.states) - most
    more = f"{left} more steps, then " if left > 0 else "then "
    how = "replayed in exact numbers" if run.branches else "replayed by simulation"
    return Table("The run, step by step", ("step", *head), tuple(steps), 1, f"{more}{run.then}; {how}")


def _of_system(run: Run, system: System | None, most: int) -> tuple[list[str], list[list[str]]]:
    conditions = [name for name in run.conditions[0] if not name.startswith('"branch ')]
    rows = []
    if system is None:
        titles = list(run.states[0])
        cells = [[str(value) for value in state.values()] for state in run.states[:most]]
    else:
        declared = system.variables.values()
        columns = state_columns(declared)
        titles, cells = [column.title for column in columns], []
        for state in run.states[:most]:
            labels = {d.name: dict(d.labels).get(int(state[d.name]), "") for d in declared}
            values = {name: Value(name, Fraction(value), labels[name]) for name, value in state.items()}
            cells.append([column.show(values) for column in columns])
    for at, row in enumerate(cells):
        told = [str(int(run.conditions[at][name])) for name in conditions]
        rows.append([*row, *told, run.branches[at] or "stays"])
    return [*titles, *conditions, "branch"], rows


@dataclass(frozen=True)
class Shown:
    """Part of a page about a result of LTL. dot: for Graphviz; empty where the automaton is known by its text alone."""

    lasso: Table | None
    texts: list[str]
    obligations: Table | None
    picture: Picture | None
    edges: Table | None
    hoa: str
    dot: str


def shown(report: Report, subject: Subject | None) -> Shown | None:
    """The sections of a page; None for results of CTL."""
    if report.kind != Linear.kind:
        return None
    from venmas.logic.automata.hoa import to_dot
    from venmas.report.automaton_picture import automaton_picture

    system = subject if isinstance(subject, System) else None
    lasso = None if report.lasso is None else run_table(report.lasso, system)
    found = _automaton(report, subject)
    title = "The automaton of the runs that break the property"
    return Shown(
        lasso,
        proof_texts(report),
        obligation_table(report),
        None if found is None else automaton_picture(found, title),
        None if found is None else edges_table(found),
        "" if report.automaton is None else report.automaton.hoa,
        "" if found is None else to_dot(found),
    )


def facts(report: Report) -> list[tuple[str, str]]:
    """What was asked besides the formula, and what it depends on."""
    asked = report.asked
    found = [] if asked is None else [("fair", text) for text in asked.fair]
    if asked is not None and asked.initial:
        found.append(("initial states", asked.initial))
    if asked is not None and asked.deadlock != "error":
        found.append(("states without a successor", "runs stay there for ever"))
    return [*found, ("automaton", automaton_line(report))]


def edges_table(automaton: Automaton) -> Table:
    """The edges of an automaton, one by one."""
    rows = []
    for edge in automaton.edges[:_MOST_ROWS]:
        marks = ", ".join(str(i) for i in range(automaton.marks) if edge.marks >> i & 1)
        rows.append((str(edge.source), automaton.label_text(edge.label), str(edge.target), marks))
    left = len(automaton.edges) - _MOST_ROWS
    note = f"{left} edges are left out." if left > 0 else ""
    return Table("Edges", ("from", "where", "to", "acceptance sets"), tuple(rows), 1, note)


def _automaton(report: Report, subject: Subject | None) -> Automaton | None:
    """The automaton, where the subject is known and still has the names of the formula."""
    if subject is None or report.asked is None:
        return None
    from venmas.logic.automata.translate import refuting

    try:
        _, asked = read_asked(subject, report.formula, report.asked.fair, report.asked.deadlock)
        return refuting(asked.formula, asked.fair) if isinstance(asked, Linear) else None
    except InputError:
        return None
