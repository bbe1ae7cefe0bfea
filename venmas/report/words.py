"""What a verdict means, what it rests on, and what to do about an unknown one: in sentences, for people."""

from __future__ import annotations

from venmas.engine.report import Report, Verdict

SIGNS = {Verdict.SATISFIED: "✓", Verdict.VIOLATED: "✗", Verdict.UNKNOWN: "?"}

REASONS = {
    "licence": "The licence of a solver limits the size of programs.",
    "tolerance": "A solver works with tolerances, and what it returned could not be confirmed in exact numbers.",
    "failure": "A solver or a worker process failed.",
    "unbounded": "A solver called a program unbounded, which it should not be.",
}
"""More about reasons whose message is brief."""


def meaning(verdict: Verdict) -> str:
    """What the verdict says about the system."""
    match verdict:
        case Verdict.SATISFIED:
            return "Every initial state has the property: there is no counterexample."
        case Verdict.VIOLATED:
            return "At least one initial state does not have the property: the counterexample starts in one."
    return "Neither a proof nor a counterexample was found. This is no evidence for the property, nor against it."


def basis(report: Report) -> str:
    """What a verdict other than unknown rests on."""
    if report.verdict is Verdict.VIOLATED:
        return "It rests on the counterexample alone."
    if report.verdict is Verdict.UNKNOWN:
        return ""
    if report.semantics == "float32":
        networks = "Networks compute in single precision, in any order of operations; the environment is exact."
    else:
        networks = "Networks are the real functions of their stored weights; deployed float arithmetic may differ."
    if report.basis == "bounds":
        how = "Proved by rigorous bounds alone: nothing was left to a solver."
    elif report.basis == "exact":
        how = "Proved in exact rational numbers; no solver is trusted."
    else:
        names, counts = " and ".join(report.solvers) or "a solver", report.subproblems
        how = (
            f"It rests on {names} finding {counts.solved + counts.skipped} programs infeasible, up to the tolerance of "
            f"the solver; this is no certificate. Bounds refuted {counts.discarded} subproblems beforehand. "
            "Ask for --trust exact or --certificate FILE for a proof in rational numbers."
        )
    return f"{how} {networks}"


def remedies(report: Report) -> list[str]:
    """What may lead to a verdict next time."""
    mode, easier = report.mode, "Ask for less: fewer steps ahead, or a smaller initial set."
    other = "Use mode adaptive (the default), which needs no solver." if mode not in ("adaptive", "exact") else ""
    match report.reason:
        case "time":
            limit = f" (it was {report.asked.timeout:g} s)" if report.asked and report.asked.timeout else ""
            first = f"Allow more time{limit}: --timeout."
            found = [first, other, "Try another mode: --mode exact or comp-par." if not other else "", easier]
        case "memory":
            limit = f" (it was {report.asked.memory} MB)" if report.asked and report.asked.memory else ""
            found = [f"Allow more memory{limit}: --memory.", "Use fewer workers: --workers 1.", other, easier]
        case "licence":
            found = ["Use a solver without a limit: --solver highs.", other]
        case "tolerance":
            found = [
                "Use mode exact, which computes in rational numbers." if mode != "exact" else "",
                "Let it look for a proof: --trust exact." if report.trust != "exact" else "",
                other,
                "Choose units in which numbers of the model are neither huge nor tiny.",
            ]
        case "failure" | "unbounded":
            found = [
                other,
                "Use another solver: `venmas solvers` lists them.",
                "Please report it with the result file: solvers that fail should be known.",
            ]
        case "interrupted":
            found = ["Run it again and let it finish.", easier]
        case _:
            found = [easier]
    return [text for text in found if text]
