"""Certificates of ``AG p`` for ever in two phases: two bounded proofs, from the initial states and from a set, joined.

The first shows that runs from an initial state are in the set after `into` steps, the second that runs from the set are
in it again after `again` steps, and both that p holds on the way. By induction every state of every run lies on such a
way: runs are in the set at the steps into, into + again, into + 2 again and so on, as far as they are so long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from venmas.checker.format.about import About
from venmas.checker.format.fields import Count, Limit
from venmas.checker.format.lines import Lines
from venmas.checker.format.rule import Rule, rule
from venmas.checker.goals.check import Checked, check
from venmas.logic import Formula, Vocabulary, parse
from venmas.logic.formula import is_temporal
from venmas.model.invariant import Phases
from venmas.model.system.system import System
from venmas.nn.network import Semantics


@rule("phases")
@dataclass(frozen=True, slots=True)
class Stated(Rule):
    """Runs are in a set after `into` steps, and from it again after `again` steps; two proofs follow.

    set: a formula about one state. inside: whether the claim of each proof says besides that runs stay in the box.
    """

    set: str
    into: Count
    again: Annotated[int, Limit(least=1)]
    inside: tuple[bool, bool]

    @classmethod
    def of(cls, phases: Phases, inside: tuple[bool, bool]) -> Self:
        """The line."""
        return cls(str(phases.reached), phases.into, phases.again, inside)

    def read_at(self, lines: Lines, vocabulary: Vocabulary) -> Phases:
        """Its statement. Raises `CheckError`, and `FormulaError` for a set that is none."""
        reached = parse(self.set, vocabulary)
        if is_temporal(reached):
            raise lines.refused("the set is a formula about one state")
        return Phases(reached, self.into, self.again)


def check_phases(system: System, holds: Formula, lines: Lines, semantics: Semantics = "real") -> Checked:
    """Check the line and the two proofs, one after the other. Raises `CheckError`.

    Accepted, they show that every state of every run of the valid `system` satisfies `holds`, a formula about one
    state, and that no run leaves the declared box.
    """
    with lines.refusing():
        stated = lines.next(Stated)
        phases, done = stated.read_at(lines, system.vocabulary), Checked()
        for (part, formula), box in zip(phases.parts(system, holds), stated.inside, strict=True):
            with lines.part() as proof:
                step = check(part, formula, box, proof, semantics)
            done = Checked(0, done.refuted + step.refuted, done.shared + step.shared, done.leaves + step.leaves)
        lines.end()
        done.lines = lines.number
        return done


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind two-phase. Raises `CheckError`."""
    return check_phases(about.system, about.invariant, lines, about.claim.semantics)
