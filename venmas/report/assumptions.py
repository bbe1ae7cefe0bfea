"""Trust base of a verdict: who decided, what it rests on, what the model assumes, and what is outside of the claim."""

from __future__ import annotations

from collections.abc import Iterator

from venmas.engine.report import Report, Verdict
from venmas.errors import FormulaError
from venmas.model.circuit.nodes import Circuit
from venmas.model.expressions.smooth_nodes import End, Extremum
from venmas.model.show import number
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.procedure import Subject
from venmas.question import read_property
from venmas.report.figures import Facts
from venmas.report.words import basis

_MOST = 12
"""Ranges and disturbances that are listed."""


def trusted(report: Report, system: System | None) -> Facts:
    """Who decided, what the verdict rests on, and which proof of it there is."""
    if report.verdict is Verdict.UNKNOWN:
        return [("decided by", "nobody: no procedure found a proof or a counterexample")]
    others = "no single procedure" if report.procedures else "an earlier run, whose verdict was kept"
    facts = [("decided by", report.decided_by or others)]
    rests = basis(report, system)
    if report.verdict is Verdict.VIOLATED:
        how = f"The counterexample alone, replayed {report.replay.how}." if report.replay else " ".join(rests)
        return [*facts, ("basis", how)]
    facts += [("basis", rests[0].strip())] if rests else []
    if report.certificate is not None:
        facts.append(("can be checked", f"{report.certificate.path}, by `venmas check`, without code of the search"))
    else:
        facts.append(("can be checked", "no: no certificate was written; the search has to be believed"))
    return facts


def assumptions(report: Report, subject: Subject | None) -> Facts:
    """Assumptions of the verdict, by topic; subject: None where it is not known, and nothing is said of it."""
    if subject is None:
        return []
    return list(_assumed(report, subject) if isinstance(subject, System) else _of_circuit(report, subject))


def _of_circuit(report: Report, circuit: Circuit) -> Iterator[tuple[str, str]]:
    yield "arithmetic", "Words of bits, as the netlist has them; sums of the formula do not wrap around."
    if report.parameters:
        yield "parameters", ", ".join(f"{name} = {value}" for name, value in report.parameters.items())
    begun = report.proof.get("from") if report.proof is not None else ""
    given = f", with {report.asked.initial}" if report.asked is not None and report.asked.initial else ""
    yield "initial states", "None: the proof is of runs from every state." if begun == "all" else f"As declared{given}."
    yield "inputs", "Any value at every step; bits that a design leaves undefined, too."
    if many := len(circuit.constraints):
        yield "constraints", f"Runs meet {many} conditions at every step; of a machine, the ranges that were proved."
    if report.asked is not None and report.asked.fair:
        yield "fairness", f"Only runs count that meet {' and '.join(report.asked.fair)} infinitely often."
    yield "time", "A step is a tick of the clock; what happens between two is not in it. Runs go on for ever."
    yield "outside the claim", "Whether the netlist is the circuit: synthesis, timing, and several clocks."


def _assumed(report: Report, system: System) -> Iterator[tuple[str, str]]:
    exact = "exact reals, enclosed where they are no rationals" if system.smooth else "exact rationals"
    yield "arithmetic", f"The environment computes in {exact}: nothing is rounded (S2)."
    if not networks_of(system):
        yield "networks", "None is applied."
    elif report.semantics == "float32":
        yield "networks", "Single precision, in any order of operations; not TF32, bfloat16, int8, flush-to-zero."
    else:
        yield "networks", "The real functions of their stored weights; float arithmetic in use may differ near ties."
    if report.parameters:
        yield "parameters", ", ".join(f"{name} = {value}" for name, value in report.parameters.items())
    noise = [system.variables[name] for name in system.disturbances]
    state = [one for name, one in system.variables.items() if name not in system.disturbances]
    ranges = _listed([f"{one.name} in {number(one.lower)} .. {number(one.upper)}" for one in state])
    yield "ranges", f"{ranges}. A state outside is an error of the model, and never part of what is satisfied (S1)."
    yield "initial states", "Those that the system declares; nothing is said of runs that begin elsewhere."
    yield "choices", _choices(system)
    if system.may_deadlock:
        yield "deadlocks", "A run may end where no guard holds: AX is true there, EX is false (S4)."
    drawn = _listed([f"{one.name} in {number(one.lower)} .. {number(one.upper)}" for one in noise])
    yield "noise", f"{drawn}: any value, chosen anew in each step." if noise else "None is declared."
    yield "time", _time(report, system)
    yield (
        "outside the claim",
        "Whether the model is the world; code of the environment and of networks as they are deployed; what the "
        "branches leave out.",
    )


def _choices(system: System) -> str:
    count = len(system.branches)
    if count == 1:
        return "One branch: a state has one successor at most for each value of the noise."
    return f"{count} branches: each whose guard holds may be taken, in every step, whatever was taken before."


def _time(report: Report, system: System) -> str:
    flows = [node for _, node in system.nodes() if isinstance(node, End | Extremum)]
    periods = sorted({node.flow.period for node in flows})
    text = "Formulas speak of the states at the steps"
    if periods:
        text += f", which follow each other after {' or '.join(map(number, periods))} units of time"
        inside = any(isinstance(node, Extremum) for node in flows)
        text += "; between them, of the least and greatest values alone that flows record" if inside else ""
    else:
        text += "; how long a step takes is for the model to say, and what happens between them is not in it"
    try:
        horizon = read_property(system, report.formula).formula.horizon
    except FormulaError:
        return f"{text}."
    return f"{text}. " + ("Runs go on for ever." if horizon is None else f"Steps after number {horizon} do not count.")


def _listed(texts: list[str]) -> str:
    left = len(texts) - _MOST
    return ", ".join(texts[:_MOST]) + (f", and {left} more" if left > 0 else "")
