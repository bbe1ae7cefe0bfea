"""Derivations: trees of rules over bounded claims that were answered, and their lines in a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeAlias

from venmas.answer import BASES, Answer, Basis, IncompleteError, Proved, Written
from venmas.budget import Budget
from venmas.checker.forever.cells import Cells
from venmas.checker.forever.later import Resume
from venmas.checker.forever.rules import Arrive, Bound, Cases, Chain, Close, Derived, Named, Recur, Replace, Stay
from venmas.checker.format.numbers import write_number
from venmas.checker.format.rule import End, Rule
from venmas.logic import Formula
from venmas.procedure import Run
from venmas.procedures.exact.session import ExactSession
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.procedures.kinduction.proof import proved_part
from venmas.question import Question


@dataclass(frozen=True, eq=False)
class Claimed:
    """A bounded claim about the states of a set, by its name, and its answers.

    parts: the question and its answer; where noise was chosen, of `choices`, also whether the box is left. before: the
    value that the formula speaks of as `before`, as the left side of a comparison; empty where it does not.
    """

    start: str
    formula: str
    parts: tuple[tuple[Question, Proved], ...]
    choices: tuple[tuple[Fraction, ...], ...] = ()
    before: str = ""


@dataclass(frozen=True, eq=False)
class Inferred:
    """Inference of a rule from the parts; the numbers of its sequents are not known yet."""

    rule: Derived
    parts: tuple[Derivation, ...]


Derivation: TypeAlias = Claimed | Inferred


def claims(derivation: Derivation) -> list[Derivation]:
    """All its parts once, each after what it rests on."""
    found: dict[Derivation, None] = {}

    def visit(node: Derivation) -> None:
        if node not in found:
            for part in node.parts if isinstance(node, Inferred) else ():
                visit(part)
            found[node] = None

    visit(derivation)
    return list(found)


def basis(derivation: Derivation) -> Basis:
    """The weakest of its parts."""
    answers = [a.basis for node in claims(derivation) if isinstance(node, Claimed) for _, a in node.parts]
    return max(answers, key=BASES.index, default=BASES[0])


@dataclass(frozen=True)
class DerivationProof:
    """A derivation of what is asked of the initial states. sets: by name.

    Its lines raise `IncompleteError` where a bounded claim is not proved in rationals.
    """

    derivation: Derivation
    sets: Mapping[str, Formula]
    kind: ClassVar[str] = "forever"

    def lines(self, question: object, tick: Callable[[], None]) -> Iterator[Rule]:
        """The sets that are used, and each sequent, bounded claims with their proofs."""
        parts = claims(self.derivation)
        used = {name for node in parts for name in _names(node)}
        yield Named(tuple((name, str(states)) for name, states in self.sets.items() if name in used))
        numbers = {node: number for number, node in enumerate(parts)}
        for node in parts:
            if isinstance(node, Claimed):
                proved = [proved_lines(*part, tick) for part in node.parts]
                kind = proved[0][0]
                if any(other != kind for other, _ in proved):
                    raise IncompleteError(f"the parts of a claim have proofs of several kinds: {node.formula}"[:500])
                choices = tuple(tuple(map(write_number, values)) for values in node.choices)
                yield Bound(node.start, node.formula, kind, choices, node.before)  # type: ignore[arg-type]
                for _, lines in proved:
                    yield from lines
                    yield End(len(lines) + 1)
            else:
                by = tuple(numbers[part] for part in node.parts)
                yield replace(node.rule, by=by)  # type: ignore[type-var]


def _names(node: Derivation) -> list[str]:
    if isinstance(node, Claimed):
        return [node.start]
    rule = node.rule
    return [
        rule.start,
        *([rule.set] if isinstance(rule, Arrive | Chain | Close | Recur | Resume | Stay | Replace) else []),
        *(rule.sets if isinstance(rule, Cases | Cells) else ()),
    ]


def proved_lines(question: Question, answer: Proved, tick: Callable[[], None]) -> tuple[str, list[Rule]]:
    """The kind and the lines of the proof of a bounded claim: the one that was found, else one in rationals."""
    if answer.proof is not None and answer.proof.kind in ("goals", "flowpipes"):
        try:
            return answer.proof.kind, list(answer.proof.lines(question, tick))
        except IncompleteError:
            if question.system.smooth:
                raise
    if question.system.smooth:
        raise IncompleteError(f"the procedure that decided a part writes no proof: {question.formula}"[:500])
    return "goals", proved_part(question, tick)[0]


def in_enclosures(question: Question, tick: Budget) -> Proved | None:
    """The answer that a question of few steps holds, with its proof by flowpipes; None without one."""
    certified, run = replace(question, certified=True), Run()
    if FLOWPIPES.accepts(certified, run) is not None:
        return None
    session = FLOWPIPES.start(certified, run)
    answer: Answer | None = None
    for _ in range(2):  # at first it looks at long questions alone
        answer = session.advance(tick)
        if isinstance(answer, Proved) and not answer.leaving:
            return answer
    return None


def in_rationals(question: Question, tick: Callable[[], None]) -> Proved | None:
    """The answer that a question holds, with its proof, by enclosures alone or by a search; None without one."""
    for whole in (True, False):
        lines: list[Rule] = []
        answer = ExactSession(replace(question, certified=True), lines.append, whole).advance(tick)
        if isinstance(answer, Proved) and not answer.leaving:
            return replace(answer, proof=Written("goals", tuple(lines)))
    return None
