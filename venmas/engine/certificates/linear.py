"""Trust in a *satisfied* of LTL: proofs of obligations, the word of solvers, and certificates.

    trust      of a circuit
    exact      obligations are proved gate by gate; where a certificate is written, the proofs are those of its lines
    two        the word of Bitwuzla, and that of z3 or cvc5 besides, asked of the gates that the checker makes
    solver     the word of Bitwuzla

Of systems, and of circuits all states of which are enumerated, every proof is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from venmas.answer import Answer, IncompleteError, Proved, Unknown
from venmas.budget import Budget, BudgetError, limited
from venmas.engine.certificates.establish import Established, Proofs
from venmas.engine.certificates.file import write
from venmas.errors import InputError, Reason, SolverUnavailableError
from venmas.model.circuit.smt import solver_name
from venmas.procedure import LinearQuestion
from venmas.procedures.linear.claim import NetlistClaim
from venmas.procedures.linear.netlist import NetlistProof, Opinion, UnprovedError


def establish_linear(
    question: LinearQuestion,
    answer: Answer,
    proofs: Proofs,
    second: tuple[str, Opinion] | None,
    budget: Budget,
    again: Callable[[], Established],
) -> Established:
    """The answer with as much trust as is asked for, and its certificate.

    second: name of a second solver, and how to ask it. again: decides anew with each obligation proved by itself.
    Raises `SolverUnavailableError`.
    """
    path, trust = proofs.certificate, proofs.trust
    if not isinstance(answer, Proved) or answer.proof is None:
        return Established(answer, None, [])
    proof = answer.proof
    if not isinstance(proof, NetlistProof) or answer.basis == "exact":
        if path is None:
            return Established(answer, None, [])
        try:
            with limited(budget):
                stored = write(path, question, proof, budget, proofs.about)
            return Established(replace(answer, basis="exact"), stored, [])
        except (IncompleteError, InputError) as error:
            return Established(answer, None, [f"not certified: {error}"])
        except BudgetError as error:
            return Established(answer, None, [f"not certified: {error.message}"])
    words = solver_name() if second is None else f"{solver_name()} and {second[0]}"
    if path is None and trust == "solver":
        return Established(replace(answer, proof=replace(proof, said=words)), None, [])
    said = None if trust in ("auto", "exact") else words
    proof = replace(proof, said=said, second=second[1] if second else None)
    try:
        with limited(budget):
            if path is None:
                written = None
                for _ in proof.lines(NetlistClaim(question, proof.initial), budget):
                    pass
            else:
                written = write(path, question, proof, budget, proofs.about)
    except UnprovedError as error:
        return Established(Unknown(Reason.FAILURE, str(error)), None, [])
    except BudgetError as error:
        message = f"a ranking function was found, but not proved: {error.message}"
        return Established(Unknown(error.reason, message), None, [])
    except SolverUnavailableError:
        raise
    except InputError as error:
        note = f"not certified: {error}"
        if trust == "solver":
            return Established(replace(answer, proof=proof), None, [note])
        if trust == "two":
            name = second[0] if second else ""
            return Established(Unknown(Reason.FAILURE, f"{name} was not asked: {error}"), None, [])
        found = again()
        return replace(found, notes=[*found.notes, note])
    if not proof.counts["solver"]:  # every obligation has a proof of its own
        return Established(replace(answer, basis="exact", proof=replace(proof, said=None)), written, [])
    return Established(replace(answer, proof=proof), written, [])
