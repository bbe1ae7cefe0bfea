"""Proofs in exact rationals, written to certificates (docs/certificates.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from venmas.answer import Proof as ProofOf
from venmas.answer import Refuted
from venmas.engine.certificates.always import certify_inductive, certify_phases
from venmas.engine.certificates.file import Certificate, CertificateFile, Unwritten, header
from venmas.engine.certificates.flowpipes import certify_tubes
from venmas.logic import Bounded, Formula
from venmas.model.evaluation.cuts import Trees
from venmas.model.invariant import Invariant, Phases
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedures.exact.search import Proof
from venmas.procedures.exact.session import RationalSession
from venmas.question import Question

__all__ = ["Certificate", "Unwritten", "certify", "certify_inductive", "certify_phases", "prove", "write_certificate"]


def write_certificate(
    path: str | Path,
    question: Question,
    about: Mapping[str, object],
    proof: ProofOf,
    tick: Callable[[], None] = lambda: None,
) -> Certificate | Unwritten:
    """Write a proof to a file, nothing where it raises `IncompleteError`. about: what the header says besides."""
    if isinstance(proof, Invariant):
        return certify_inductive(question, proof, path, about, tick)
    if isinstance(proof, Phases):
        return certify_phases(question, proof, path, about, tick)
    if isinstance(proof, Trees):
        return certify_tubes(question, proof, path, about, tick)
    with CertificateFile(path) as file:
        file.add(header(question, about))
        proof(file.write)
        return file.keep()


def prove(
    system: System, formula: Formula, tick: Callable[[], None] = lambda: None, semantics: Semantics = "real"
) -> Proof:
    """Search for a proof in exact rationals that every initial state satisfies `formula`, or for a witness."""
    question = Question(system, Bounded(formula), semantics)
    for asked in (question, question.boxed):
        session = RationalSession(asked)
        answer = session.advance(tick)
        if not (isinstance(answer, Refuted) and answer.leaving):
            break
    return session.figures.proof


def certify(
    system: System,
    formula: Formula,
    path: str | Path,
    about: Mapping[str, object],
    tick: Callable[[], None] = lambda: None,
    semantics: Semantics = "real",
    whole: bool = False,
    inside: bool = False,
) -> tuple[Proof, Certificate | Unwritten | None]:
    """The same, and write the certificate to `path` when the proof is complete. about: what the header says besides.

    whole: by enclosures alone, which is quick where bounds are known to refute the negation. inside: prove in any case
    that no state leaves the declared box.
    """
    question = Question(system, Bounded(formula), semantics, certified=True)
    for asked in (question, question.boxed)[inside:]:
        with CertificateFile(path) as file:
            file.add(header(asked, about))
            session = RationalSession(asked, file.write, whole)
            answer, proof = session.advance(tick), session.figures.proof
            if isinstance(answer, Refuted) and answer.leaving:
                continue  # prove with it that no state leaves the declared box
            if not isinstance(answer, Refuted):
                return proof, None
            return proof, file.keep()
    raise AssertionError("the second round ends")
