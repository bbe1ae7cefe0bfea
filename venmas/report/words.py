"""What a verdict means, what it rests on, and what to do about an unknown one: in sentences, for people."""

from __future__ import annotations

from collections.abc import Iterable

from venmas.engine.modes import DEFAULT, modes
from venmas.engine.report import Report, Verdict
from venmas.logic import Bounded, Linear
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.report import linear

SIGNS = {Verdict.SATISFIED: "✓", Verdict.VIOLATED: "✗", Verdict.UNKNOWN: "?"}

REASONS = {
    "open": "Every procedure of the mode ended, and none of them decided.",
    "licence": "The licence of a solver limits the size of programs.",
    "tie": "Candidates for a violation compare real numbers that are equal, or too near to tell with 4096 bits.",
    "tolerance": "A solver works with tolerances, and what it returned could not be confirmed in exact numbers.",
    "failure": "A solver or a worker process failed.",
    "unbounded": "A solver called a program unbounded, which it should not be.",
}
"""More about reasons whose message is brief."""


def meaning(verdict: Verdict, kind: str = Bounded.kind) -> str:
    """Meaning of the verdict for the system; kind: of the property."""
    if kind == Linear.kind:
        return linear.meaning(verdict)
    match verdict:
        case Verdict.SATISFIED:
            return "Every initial state has the property: there is no counterexample."
        case Verdict.VIOLATED:
            return "At least one initial state does not have the property: the counterexample starts in one."
    return "Neither a proof nor a counterexample was found. This is no evidence for the property, nor against it."


def where(report: Report) -> str:
    """Of which runs or states of what the property is."""
    settings = ", ".join(f"{n}={v}" for n, v in report.parameters.items())
    scope = "on every run" if report.kind == Linear.kind else "in every initial state"
    return f"{scope} of {report.scenario}" + (f" ({settings})" if settings else "")


def basis(report: Report, system: System | None = None) -> tuple[str, ...]:
    """What a verdict other than unknown rests on, and of which networks it speaks, where there are any."""
    if report.kind == Linear.kind:
        return linear.basis(report)
    if report.verdict is Verdict.VIOLATED:
        return ("It rests on the counterexample alone.",)
    if report.verdict is Verdict.UNKNOWN:
        return ()
    if report.semantics == "float32":
        networks = "Networks compute in single precision, in any order of operations; the environment is exact."
    else:
        networks = "Networks are the real functions of their stored weights; deployed float arithmetic may differ."
    counts = report.subproblems
    how = rests_on(report.basis, report.solvers, f"{counts.solved + counts.skipped} programs")
    if report.basis == "solver":
        how += f" Bounds refuted {counts.discarded} subproblems beforehand. "
        how += "Ask for --trust exact or --certificate FILE for a proof in rational numbers."
    described = system or report.model
    return (how,) if described is not None and not networks_of(described) else (how, networks)


def rests_on(basis: str, solvers: Iterable[str] = (), programs: str = "programs") -> str:
    """What a refutation of every counterexample rests on (`venmas.answer.Basis`); programs: that solvers answered."""
    match basis:
        case "bounds":
            return "Proved by rigorous bounds alone: nothing was left to a solver."
        case "exact":
            return "Proved in exact rational numbers where rigorous bounds do not suffice; no solver is trusted."
    names = " and ".join(solvers) or "a solver"
    return (
        f"It rests on {names} finding {programs} infeasible, up to the tolerance of the solver; this is no certificate."
    )


def remedies(report: Report) -> list[str]:
    """What may lead to a verdict next time."""
    mode, easier = report.mode, "Ask for less: fewer steps ahead, or a smaller initial set."
    if report.kind != Bounded.kind:
        easier = "Ask for less: a number of steps, as in AG^20 p, or a smaller initial set."
    solving = mode not in modes() or modes()[mode].solver
    other = f"Use mode {DEFAULT} (the default), which needs no solver." if solving else ""
    refused = {tried.name for tried in report.procedures if tried.why.startswith("does not take it")}
    able = [
        name
        for name, known in modes().items()
        if report.kind in known.kinds and name not in (mode, DEFAULT) and not known.procedures <= refused
    ]
    smooth = report.model is not None and bool(report.model.smooth)  # no other mode takes it
    others = f"Try another mode: --mode {' or '.join(able)}." if able and not smooth else ""
    match report.reason:
        case "time":
            limit = f" (it was {report.asked.timeout:g} s)" if report.asked and report.asked.timeout else ""
            first = f"Allow more time{limit}: --timeout."
            advice = [first, other, others if not other else "", easier]
        case "memory":
            limit = f" (it was {report.asked.memory} MB)" if report.asked and report.asked.memory else ""
            advice = [f"Allow more memory{limit}: --memory.", "Use fewer workers: --workers 1.", other, easier]
        case "licence":
            advice = ["Use a solver without a limit: --solver highs.", other]
        case "tolerance":
            advice = [
                "Use mode exact, which computes in rational numbers." if mode != "exact" else "",
                "Let it look for a proof: --trust exact." if report.trust != "exact" else "",
                other,
                "Choose units in which numbers of the model are neither huge nor tiny.",
            ]
        case "failure" | "unbounded":
            advice = [
                other,
                "Use another solver: `venmas solvers` lists them.",
                "Please report it with the result file: solvers that fail should be known.",
            ]
        case "open":
            advice = [
                other or others,
                easier,
                "Ask for a property with a margin: what is open lies close to a threshold.",
            ]
        case "tie":
            advice = [other, "Ask for a property with a margin: candidates meet its threshold exactly, or nearly so."]
        case "interrupted":
            advice = ["Run it again and let it finish.", easier]
        case _:
            advice = [easier]
    return [text for text in advice if text]
