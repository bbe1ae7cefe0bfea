"""The page of a result of `venmas ltl`: verdict, automaton, networks and obligations, or the lasso."""

from __future__ import annotations

from venmas.engine.ltl import LtlReport
from venmas.engine.report import Verdict, machine, versions
from venmas.ltl.automaton import Automaton
from venmas.ltl.decide import Satisfied
from venmas.ltl.hoa import to_dot, to_hoa
from venmas.ltl.replay import Run
from venmas.report.automaton_picture import automaton_picture
from venmas.report.figures import Facts
from venmas.report.page import rendered
from venmas.report.tables import Table
from venmas.report.words import SIGNS

_MOST_ROWS, _MOST_COLUMNS = 400, 24


def ltl_page(report: LtlReport) -> str:
    """The page as HTML text that needs nothing else. Raises `UsageError` without jinja2."""
    automaton = report.work.automaton
    return rendered(
        "ltl.html",
        report=report,
        subject=report.design or "the system",
        verdict=report.verdict.value,
        sign=SIGNS[report.verdict],
        meaning=_meaning(report),
        basis=_basis(report),
        lasso=None if report.lasso is None else _lasso(report.lasso),
        picture=automaton_picture(automaton, "The automaton of the runs that break the property"),
        edges=edges_table(automaton),
        hoa=to_hoa(automaton),
        dot=to_dot(automaton),
        invariant=_invariant(report),
        networks=[[(f"V{state}", text) for state, text in one.network.text().items()] for one in report.ranked],
        obligations=_obligations(report),
        facts_=_facts(report),
        made=[*versions().items(), *machine().items()],
    )


def _meaning(report: LtlReport) -> str:
    match report.verdict:
        case Verdict.SATISFIED:
            return "Every run has the property, for ever: no run of the design is one that the automaton accepts."
        case Verdict.VIOLATED:
            return "A run from an initial state does not have the property: it was simulated, and goes on for ever."
    return "Neither a proof nor a run that breaks it was found. This is no evidence for the property, nor against it."


def _basis(report: LtlReport) -> str:
    if not isinstance(report.answer, Satisfied):
        return ""
    if report.recalled:
        return f"The proof is not here: {report.recalled}."
    if report.answer.solver:
        return f"It rests on the word of {report.answer.solver}; --trust exact has each obligation proved and checked."
    if report.answer.enumerated is not None:
        return (
            f"All {report.answer.enumerated} states of design and automaton that runs from initial states reach were "
            "looked at: no loop among them is accepting."
        )
    if report.stored is not None and report.stored.enumerated:
        return "Each obligation was refuted as gates, or by trying every value: no solver is trusted."
    return "Each obligation was refuted as gates, and the refutations checked: no solver is trusted."


def _invariant(report: LtlReport) -> Facts:
    if not isinstance(report.answer, Satisfied):
        return []
    return [(f"J{state}", text) for state, text in report.answer.invariant.text(report.answer.circuit).items()]


def _lasso(run: Run) -> Table:
    rows = run.rows
    names = list(rows[0])[:_MOST_COLUMNS]
    texts = [
        (f"{at} (loop)" if at == run.back else str(at), *(str(row[name]) for name in names))
        for at, row in enumerate(rows[:_MOST_ROWS])
    ]
    note = (
        f"After the last step, {len(rows) - 1}, the property is broken, whatever comes."
        if run.back is None
        else f"After the last step, {len(rows) - 1}, comes step {run.back} again, for ever."
    )
    if len(rows) > _MOST_ROWS:
        note += f" {len(rows) - _MOST_ROWS} steps are left out."
    if len(rows[0]) > _MOST_COLUMNS:
        note += f" {len(rows[0]) - _MOST_COLUMNS} signals are left out."
    return Table("The run, step by step", ("step", *names), tuple(texts), 1, note)


def edges_table(automaton: Automaton) -> Table:
    """The edges of an automaton, one by one."""
    rows = []
    for edge in automaton.edges[:_MOST_ROWS]:
        marks = ", ".join(str(i) for i in range(automaton.marks) if edge.marks >> i & 1)
        rows.append((str(edge.source), automaton.label_text(edge.label), str(edge.target), marks))
    left = len(automaton.edges) - _MOST_ROWS
    note = f"{left} edges are left out." if left > 0 else ""
    return Table("Edges", ("from", "where", "to", "acceptance sets"), tuple(rows), 1, note)


def _obligations(report: LtlReport) -> Table | None:
    rows, solver = [], report.answer.solver if isinstance(report.answer, Satisfied) else None
    word = f"the word of {solver}" if solver else "in the certificate"
    for one in report.ranked:
        for at, edge in enumerate(one.goal.edges):
            what = "falls" if edge in one.goal.strict else "does not rise"
            proof = f"{one.steps[at]} clauses, checked" if one.steps else word
            label = report.work.automaton.label_text(edge.label)
            rows.append((f"V{edge.source} to V{edge.target}", what, label, proof))
    if not rows:
        return None
    return Table("Obligations", ("edge", "the rank", "on every step where", "proof"), tuple(rows[:_MOST_ROWS]))


def _begun(report: LtlReport) -> Facts:
    """Of which runs a proof is, and what was written of it."""
    if not isinstance(report.answer, Satisfied) or report.recalled:
        return []
    initial = report.answer.invariant.initial or report.answer.enumerated is not None
    found = [("the proof is of runs from", "the initial states" if initial else "every state")]
    if (stored := report.stored) is not None:
        proofs = f"obligations enumerated: {stored.enumerated}, refuted: {stored.refuted}"
        proofs += f", by a solver's word: {stored.said}" if stored.said else ""
        found.append(("certificate", f"{stored.size} bytes, sha256 {stored.sha256}; {proofs}"))
    return found + ([("no certificate", report.note)] if report.note is not None else [])


def _facts(report: LtlReport) -> Facts:
    registers, bits = report.work.cone
    figures = report.work.figures
    found = [
        ("design", report.design or "made in Python"),
        ("property", report.formula),
        ("initial states", report.init or "what the netlist says"),
        *(("fair", text) for text in report.fair),
        ("depends on", f"bits: {bits}, registers: {registers}"),
        *_begun(report),
        ("networks tried", f"{figures.rounds}, on {figures.samples} counterexamples"),
        ("queries to the SMT solver", str(figures.queries)),
        *((f"seconds, {name}", f"{value:.3f}") for name, value in vars(report.seconds).items()),
        ("started", report.started),
    ]
    return [*found, *(("note", text) for text in (*figures.levels, report.recalled) if text)]
