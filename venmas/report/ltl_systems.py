"""The page of a result of `venmas ltl --scenario`: verdict, the run that breaks the property, automaton, proof."""

from __future__ import annotations

from venmas.engine.ltl_systems import SystemLtlReport
from venmas.engine.report import Verdict, machine, versions
from venmas.logic.automata.hoa import to_dot, to_hoa
from venmas.model.system.system import System
from venmas.report.automaton_picture import automaton_picture
from venmas.report.figures import Facts
from venmas.report.ltl import edges_table
from venmas.report.page import rendered
from venmas.report.runs import run_table
from venmas.report.words import SIGNS

_MOST_ROWS = 400


def ltl_system_page(report: SystemLtlReport, system: System) -> str:
    """The page as HTML text that needs nothing else. Raises `UsageError` without jinja2."""
    automaton = report.work.automaton
    return rendered(
        "ltl.html",
        report=report,
        subject=report.scenario,
        verdict=report.verdict.value,
        sign=SIGNS[report.verdict],
        meaning=_MEANINGS[report.verdict],
        basis=_basis(report),
        lasso=None if report.lasso is None else run_table(report.lasso, system, _MOST_ROWS),
        picture=automaton_picture(automaton, "The automaton of the runs that break the property"),
        edges=edges_table(automaton),
        hoa=to_hoa(automaton),
        dot=to_dot(automaton),
        invariant=(),
        networks=(),
        obligations=None,
        facts_=_facts(report),
        made=[*versions().items(), *machine().items()],
    )


_MEANINGS = {
    Verdict.SATISFIED: "Every run has the property, for ever: no run of the system is one that the automaton accepts.",
    Verdict.VIOLATED: "A run from an initial state does not have the property: it was simulated in exact numbers, and "
    "goes on for ever.",
    Verdict.UNKNOWN: "Neither a proof nor a run that breaks it was found. This is no evidence for the property, nor "
    "against it.",
}


def _basis(report: SystemLtlReport) -> str:
    if report.ranks is not None:
        where = "the declared box" if report.everywhere else "J, which no run leaves"
        found = f"By a rank that falls, from any state of {where}: {'; '.join(report.ranks)}."
        return found + ("" if report.within is None else f" Every run has shown it within {report.within} steps.")
    found = f"All {report.work.pairs} pairs of a state and a state of the automaton that runs reach were looked at."
    if report.within is not None:
        found += f" Every run has shown it within {report.within} steps."
    if report.certificate is not None:
        found += f" The proof is in {report.certificate.path}: venmas check re-derives the automaton and each step."
    return found


def _facts(report: SystemLtlReport) -> Facts:
    stays = {"error": "nothing is satisfied where one is reached", "stutter": "runs stay there for ever"}
    return [
        ("scenario", report.scenario),
        *((f"parameter {name}", value) for name, value in report.parameters.items()),
        ("property", report.formula),
        *(("fair", text) for text in report.fair),
        ("states without a successor", stays[report.deadlock]),
        ("states reached", str(report.work.states)),
        ("pairs with the automaton", str(report.work.pairs)),
        *(("certificate", f"{one.path}, {one.size} bytes") for one in (report.certificate,) if one),
        *(("note", text) for text in (report.unwritten, report.recalled) if text),
        ("seconds", f"{report.seconds:.3f}"),
        ("started", report.started),
    ]
