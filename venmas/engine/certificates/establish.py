"""What a verdict rests on: proofs in exact rationals for what solvers left open or only believe, and certificates.

    answer                         trust exact, or float32     trust auto         trust solver
    violated                       that is enough              that is enough     that is enough
    proved by bounds or exactly    that is enough (*)          that is enough     that is enough
    proved by a solver             a proof, or unknown         a proof is tried   that is enough
    unknown to a solver            a proof, or unknown         a proof is tried   it stays open

(*) Bounds of programs speak of real networks: for float32 a proof is needed. Where a certificate is asked for, it is
tried in every row but the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from venmas.answer import Answer, BranchingAnswer, Broken, IncompleteError, Proved, Unknown, Violated
from venmas.budget import Budget, BudgetError, limited
from venmas.errors import Reason
from venmas.logic import TRUE, Bounded
from venmas.question import Question
from venmas.solvers.programs import Programs

if TYPE_CHECKING:
    from venmas.engine.certificates.kept import Certificate, Unwritten
    from venmas.procedures.milp.encoding import Task

PATIENCE = 10.0
"""Seconds that ``trust="auto"`` gives to a proof at least; it also gives as long again as the verdict took, thrice."""

_NO_ANSWER = (Reason.TOLERANCE, Reason.FAILURE, Reason.UNBOUNDED, Reason.LICENCE)
"""Why a solver leaves a question open that a proof, which needs no solver, may still answer."""


@dataclass
class Established:
    """An answer with what it rests on: the certificate that was written, and what to tell.

    proved: the answer is that of the search in rationals, not the one that was to be established.
    """

    answer: Answer
    certificate: Certificate | Unwritten | None
    notes: list[str]
    proved: bool = False


@dataclass
class Proofs:
    """What proofs are wanted of an answer.

    trust: auto, exact or solver. solvers: did solvers work on it? certificate: the file to write to. about: what its
    header says besides. programs: what the solvers counted. task: what they were asked.
    """

    trust: str
    solvers: bool
    certificate: str | Path | None
    about: dict[str, object]
    programs: Programs | None = None
    task: Task | None = None

    def asked(self, question: Question) -> bool:
        """Is nothing but a proof enough?"""
        return not self.solvers or self.trust == "exact" or question.semantics == "float32"

    def owed(self, question: Question, answer: BranchingAnswer) -> Literal["", "try", "must"]:
        """Is a proof in rationals needed, worth a try, or neither? The table above."""
        asked, wanted = self.asked(question), self.certificate is not None
        how: Literal["try", "must"] = "must" if asked else "try"
        match answer:
            case Violated():
                return ""
            case Proved(basis="exact") | Proved(basis="bounds") if not self.solvers or question.semantics == "real":
                return "try" if wanted else ""
            case Proved():
                believed = self.trust == "solver" and question.semantics == "real"
                return ("try" if wanted else "") if believed else how
            case Unknown(Reason.TIME, _):
                late = (asked and self.solvers) or wanted
                return how if late and (self.trust != "solver" or asked) else ""
            case Unknown(reason, _):
                able = reason in _NO_ANSWER if self.solvers else wanted
                return how if able and (self.trust != "solver" or asked) else ""


def establish(question: Question, answer: Answer, proofs: Proofs, budget: Budget) -> Established:
    """Prove what an answer only believes, where that is asked for, and write the certificate.

    Raises `BudgetError` when a limit is met and the proof was asked for.
    """
    assert not isinstance(answer, Broken)
    notes: list[str] = []
    if isinstance(answer, Proved) and answer.proof is not None and proofs.certificate is not None:
        from venmas.engine.certificates.file import write

        asked = question.boxed if answer.inside else question
        try:
            written = write(proofs.certificate, asked, answer.proof, budget, proofs.about)
            return Established(replace(answer, basis="exact"), written, notes)
        except (IncompleteError, OverflowError) as error:
            notes.append(f"the proof that was found has no certificate: {error}")
        except BudgetError as error:  # it is proved all the same
            return Established(answer, None, [*notes, f"not certified: {error.message}"])
    owed = proofs.owed(question, answer)
    if owed and question.system.initial_condition is not TRUE and (owed == "try" or isinstance(answer, Unknown)):
        notes.append("not certified: certificates are about initial sets that are unions of at most 1000 polytopes")
        owed = ""
    if owed and (question.system.smooth or question.chosen):  # a search in rationals chooses no noise
        told = [] if isinstance(answer, Unknown) else ["not certified: the procedure that decided wrote no certificate"]
        return Established(answer, None, notes or told)
    if not owed:
        return Established(answer, None, notes)
    if not isinstance(question.asked, Bounded):  # the search in rationals unrolls
        told = ["not certified: the procedure that decided wrote no certificate of this property"]
        return Established(answer, None, notes + (told if isinstance(answer, Proved) else []))
    try:
        patience = None if owed == "must" or proofs.certificate is not None else max(PATIENCE, 3 * budget.spent)
        part = budget.within(patience)
        with limited(part):
            bounded = answer.basis == "bounds" if isinstance(answer, Proved) else not proofs.solvers
            found = _by_enclosures(question, proofs, part) if bounded else None
            proved, stored = found or _prove(question, proofs, part)
    except BudgetError as error:
        if owed == "must":
            raise
        return Established(answer, None, [*notes, f"not certified: {error.message}"])
    if isinstance(proved, Violated):
        if isinstance(answer, Proved):
            notes += _contradiction(proofs, answer, proved, budget)
        return Established(proved, None, notes, proved=True)
    if isinstance(proved, Proved):
        return Established(proved, stored, notes, proved=True)
    if owed == "try":
        return Established(answer, None, [*notes, f"not certified: {proved.message}"])
    real = "it holds for the real function of the weights, but " if isinstance(answer, Proved) else ""
    single = question.semantics == "float32"
    return Established(Unknown(Reason.OPEN, (real if single else "") + proved.message), None, notes)


def _by_enclosures(
    question: Question, proofs: Proofs, budget: Budget
) -> tuple[BranchingAnswer, Certificate | Unwritten | None] | None:
    """Prove in rationals, for a limited time, what bounds have refuted: as they do, with nothing split."""
    left = inf if budget.left is None else budget.left / 4
    try:
        # nothing is split: it is soon at an end that stays open, if there is one
        found = budget.spend(min(PATIENCE, left), lambda part: _prove(question, proofs, part, whole=True))
    except (OverflowError, RecursionError):
        return None
    return found if found is not None and isinstance(found[0], Proved) else None


def _prove(
    question: Question, proofs: Proofs, budget: Budget, whole: bool = False
) -> tuple[BranchingAnswer, Certificate | Unwritten | None]:
    """The answer of a search in rationals, written down where a certificate is wanted."""
    from venmas.engine.certificates.goals import certify, searched

    if proofs.certificate is None:
        answer = searched(question, budget, whole).answer
        assert isinstance(answer, BranchingAnswer)
        return answer, None
    system, path, semantics = question.system, proofs.certificate, question.semantics
    proof, stored = certify(system, question.formula, path, proofs.about, budget, semantics, whole, question.inside)
    if proof.witness is not None:
        return Violated(proof.witness), None
    if stored:
        return Proved("exact"), stored
    single = "it is not shown for float32: " if question.semantics == "float32" else ""
    return Unknown(Reason.OPEN, single + proof.gaps[0]), None


def _contradiction(proofs: Proofs, answer: Proved, found: Violated, budget: Budget) -> list[str]:
    """What to tell of a refutation that a witness contradicts, the program saved where a solver was wrong."""
    programs = proofs.programs
    names = ", ".join(programs.solvers if programs else []) or "the bounds"
    notes = [f"{names} called this satisfied, wrongly: please report it with the whole command"]
    if answer.basis == "solver" and programs is not None and proofs.task is not None:
        from venmas.procedures.milp.contradiction import save_contradicted

        part = budget.within(max(PATIENCE, 3 * (programs.encode + programs.solve)))
        notes.append(save_contradicted(proofs.task, found.witness.initial, tuple(programs.solvers), part))
    return notes
