"""Explicit closure: all states that are ever reached, one by one, after slicing.

    keep := variables of p                                                             for AG p, p about one state
    repeat
        part := cone of influence of keep                                              (`cone`)
        reach the states of the part, breadth first, until one violates p              (`graph`)
        none: refuted, the states are an inductive set
        run its path in the whole system; it runs: witnessed
        keep := keep and what the guard reads that blocked it

    other properties: label the states of an exact cone with fixpoints of one step     (`labels`, `reasons`)

The part of `AG p` has more runs than the whole, so that refining it is abstraction refinement on variables (cone of
influence and localisation reduction: Kurshan, 1994). States are exact, argmax included (`search.explicit.vectorised`).
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from venmas.answer import Answer, Open
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.logic import Always, Bounded, nnf, variables_of
from venmas.model.canonical import networks_of
from venmas.question import Question
from venmas.search.closure.cone import Cones
from venmas.search.closure.graph import StateGraph
from venmas.search.closure.searches import Steps, always, deadlock, labelled
from venmas.search.explicit.vectorised import NotExplicitError
from venmas.search.procedure import Run


@dataclass
class ClosureCounts:
    """What was found of the part that was closed last: its variables, of how many; and states."""

    kept: int = 0
    variables: int = 0
    states: int = 0
    initial: int = 0
    expanded: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        found = [("states", f"{self.states} found, {self.initial} of them initial, {self.expanded} stepped from")]
        if self.kept < self.variables:
            found.append(("slice", f"{self.kept} of {self.variables} variables"))
        return found


class Closure:
    """The procedure."""

    name = "closure"
    help = "All states that are ever reached, where they are finitely many."
    conditions = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """Properties without a bound; what they depend on is integral; and networks are real functions."""
        if isinstance(question.asked, Bounded):
            return "the property has a bound"
        if question.inductive is not None:
            return "it is to be proved by the set that was given"
        system = question.system
        if question.semantics != "real" and networks_of(system):
            return "states are exact, and networks compute in float32"
        kept = _cones(question, run).kept(variables_of(question.shown), exact=not _sliceable(question))
        real = [name for name in system.variables if name in kept and not system.variables[name].integral]
        if real:
            return f"it depends on variable {real[0]}, which is real, so that states are not finitely many"
        return None

    def eager(self, question: Question, run: Run) -> bool:
        """It opens a portfolio."""
        return True

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        return _Session(question, _cones(question, run))


def _cones(question: Question, run: Run) -> Cones:
    """The cones of the question's system, which procedures share."""
    return run.once(("cones", question.system), lambda: nullcontext(Cones(question.system)))


def _sliceable(question: Question) -> bool:
    """Does the property say of every state that is reached that it satisfies a formula about it alone?"""
    return isinstance(question.asked, Always) and question.asked.start == 0


class _Session:
    """Goes on where it was when its time was over."""

    struggling = False

    def __init__(self, question: Question, cones: Cones) -> None:
        self._steps = _search(question, cones)
        self._graph: StateGraph | None = None
        self._variables = len(question.system.variables)

    @property
    def figures(self) -> ClosureCounts:
        """Of the part that was closed last."""
        graph = self._graph
        if graph is None:
            return ClosureCounts(variables=self._variables)
        return ClosureCounts(len(graph.system.variables), self._variables, graph.count, graph.initial, graph.expanded)

    def advance(self, budget: Budget) -> Answer:
        try:
            while True:
                budget()
                self._graph = next(self._steps)
        except StopIteration as done:
            answer: Answer = done.value
            return answer
        except NotExplicitError:
            return Open(Reason.OPEN, "there are too many states, or numbers too large, to take them one by one")


def _search(question: Question, cones: Cones) -> Steps:
    if question.about == "deadlock":
        return deadlock(cones)
    if isinstance(question.asked, Always) and _sliceable(question):
        return always(question, cones, nnf(question.asked.invariant))
    return labelled(question, cones)


CLOSURE = Closure()
