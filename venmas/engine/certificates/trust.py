"""Decisions with as much trust as is asked for: a solver's word, that of two, or proofs; and with certificates.

solver   the word of Bitwuzla
two      that of z3 or cvc5 besides, asked of the gates that the checker makes
exact    proofs that are checked; where a certificate is written, the proofs are those of its obligations
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from venmas.answer import Unknown
from venmas.budget import Budget, BudgetError
from venmas.engine.certificates.netlist import Stored, UnprovedError, certify
from venmas.engine.ltl_decide import Satisfied, Work, decide
from venmas.errors import InputError, Reason, SolverUnavailableError
from venmas.logic.formula import Formula
from venmas.model.circuit.nodes import Circuit
from venmas.model.witness.circuit import Run
from venmas.procedures.netlist.answers import Violated
from venmas.procedures.ranking.second import second_solver

Trust = Literal["solver", "two", "exact"]


@dataclass(frozen=True)
class Decided:
    """An answer, what was done, the certificate that was written, and, where none could be, why."""

    answer: Satisfied | Violated[Run] | Unknown
    work: Work
    stored: Stored | None = None
    note: str | None = None


def decide_trusted(
    circuit: Circuit,
    formula: Formula,
    budget: Budget,
    fair: Iterable[Formula] = (),
    trust: Trust = "exact",
    certificate: str | Path | None = None,
    learner: str = "auto",
    initial: bool = True,
) -> Decided:
    """`decide`, and the certificate of *satisfied*. Raises as `decide`; `InputError` for a file that is not written."""
    fair = list(fair)
    second = second_solver() if trust == "two" else None
    plain = trust == "exact" and certificate is None
    answer, work = decide(circuit, formula, budget, fair, plain, learner, initial)
    if not isinstance(answer, Satisfied) or plain or (certificate is None and second is None):
        return Decided(answer, work)
    if answer.enumerated is not None:
        told = "no certificate was written: all states were enumerated, and nothing ranked"
        return Decided(answer, work, note=told if certificate is not None else None)
    said = None if trust == "exact" else f"{answer.solver} and {second[0]}" if second else answer.solver
    try:
        asked, invariant = second and second[1], answer.invariant if answer.invariant.clauses else None
        stored = certify(circuit, formula, fair, answer, work, certificate, budget, said, asked, invariant)
    except UnprovedError as error:
        return Decided(Unknown(Reason.FAILURE, str(error)), work)
    except BudgetError as error:
        return Decided(Unknown(error.reason, f"a ranking function was found, but not proved: {error.message}"), work)
    except SolverUnavailableError:
        raise
    except InputError as error:
        note = f"no certificate was written: {error}"
        if trust == "solver":
            return Decided(answer, work, note=note)
        if trust == "two":
            return Decided(Unknown(Reason.FAILURE, f"{second[0] if second else ''} was not asked: {error}"), work)
        return Decided(*decide(circuit, formula, budget, fair, True, learner, initial), note=note)
    if certificate is not None and not stored.said:  # every obligation has a proof of its own
        said = None
    return Decided(replace(answer, solver=said), work, stored if certificate is not None else None)
