"""Explicit states: what can be reached is found once, the formula is decided backward, as bounded CTL labelling
(Clarke, Emerson, Sistla, TOPLAS 1986) of states by the steps that are left.

    states := reachable within depth(target), breadth first      (`reach`, on columns of integers: `vectorised`)
    for subformulas of the target, operands first: label states  (`evaluate`)
    an initial state labelled with the target is a witness; none: refuted
"""

from __future__ import annotations

from dataclasses import dataclass

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.model.system.networks import networks_of
from venmas.procedure import Run
from venmas.question import Question

_WRITING = 2.0
"""Seconds for all states that are ever reached, where a certificate is asked for."""


@dataclass
class StateCounts:
    """States that were found, and those that were stepped from."""

    found: int = 0
    expanded: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("states", f"{self.found} found, {self.expanded} stepped from")]


class Explicit:
    """The procedure."""

    name = "explicit"
    help = "States one by one, where they are finitely many."
    conditions = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """Only integers; and networks, if any, are real functions, as those of exact states are."""
        system = question.system
        real = [d.name for d in system.variables.values() if not d.integral]
        if real:
            return f"variable {real[0]} is real, so that states are not finitely many"
        if question.semantics != "real" and networks_of(system):
            return "states are exact, and networks compute in float32"
        return None

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        return _Session(question)


class _Session:
    def __init__(self, question: Question) -> None:
        self.question, self.figures = question, StateCounts()

    def advance(self, budget: Budget) -> Answer:
        from venmas.procedures.explicit import labelled  # real variables, which are declined, need none of it

        question = self.question
        explored = labelled.explore(question.system, question.target, budget)
        if explored is None:
            return Unknown(Reason.OPEN, "there are too many states, or numbers too large, to take them one by one")
        self.figures = StateCounts(explored.states, explored.expanded)
        witness = explored.witness()
        if witness is not None:
            return Violated(witness)
        proof = None
        if question.certified and not question.inside:  # proofs of parts of the initial set are joined by goals
            proof = budget.spend(_WRITING, lambda part: labelled.bounded_proof(question, part))
        return Proved("bounds", deadlock=explored.may_deadlock, inside=proof is not None, proof=proof)


EXPLICIT = Explicit()
