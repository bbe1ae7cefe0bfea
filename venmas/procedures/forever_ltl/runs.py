"""Exact runs of piecewise linear systems that break a property of LTL.

    runs in floats, closed to loops in rationals (`forever.lassos`)
    random walks in rationals, until a state is met again, or there is no successor
    a bounded question: a path after which the property is broken, whatever comes

Each run is replayed, the formula evaluated on its letters. Noise stays as it is at first, which is noise that may come.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from venmas.answer import Answer, Violated
from venmas.budget import Budget, ask
from venmas.checker.forever.linear import branching
from venmas.errors import InputError, ModelError
from venmas.logic import (
    AX,
    EX,
    TRUE,
    And,
    Bounded,
    Finally,
    Formula,
    Globally,
    Not,
    Or,
    Quantifier,
    Until,
    conjunction,
    disjunction,
    fixpoints,
    subformulas,
)
from venmas.model.evaluation.simulate import Step
from venmas.model.system.disturbances import drawn
from venmas.model.system.system import System
from venmas.model.witness.lasso import STAYS, Run, replayed
from venmas.procedure import LinearQuestion
from venmas.procedures.forever.lassos import loops
from venmas.procedures.forever.procedure import wanted
from venmas.procedures.forever.sets import points
from venmas.question import Question

State = Mapping[str, Fraction]
_WALKS, _STEPS, _MOST_BITS = 40, 40, 4000


class Runs:
    """Search for a run of a system that breaks the property of a question."""

    def __init__(self, question: LinearQuestion) -> None:
        assert isinstance(question.subject, System)
        self._noisy, self._formula = question.subject, question.formula
        self._system = drawn(question.subject, 1)
        self._stutter = question.asked.deadlock == "stutter"
        self.tried = 0

    def walked(self) -> Run | None:
        """One that a random walk meets. Raises `BudgetError`."""
        rng = random.Random(0)
        for first in self._starts(rng):
            if (run := self._walked(first, (), rng)) is not None:
                return run
        return None

    def closed(self) -> Run | None:
        """One that closes a loop beside a run in floats. Raises `BudgetError`."""
        kept = wanted(fixpoints(branching(Not(self._formula), Quantifier.ALL)))
        for states in dict.fromkeys((kept, TRUE)):
            for loop in loops(self._system, states):
                self.tried += 1
                if (run := self._replayed(loop.states[0], loop.branches, loop.back)) is not None:
                    return run
        return None

    def asked(self, steps: int, decide: Callable[[Question, Budget], Answer], budget: Budget) -> Run | None:
        """One that a bounded question about so many steps finds. Raises `BudgetError`."""
        weaker = _weaker(branching(self._formula, Quantifier.ALL), steps)
        if weaker is TRUE or self._noisy.disturbances:
            return None
        try:
            answer = decide(Question(self._system, Bounded(weaker)), budget)
        except InputError:
            return None
        path = answer.witness.path if isinstance(answer, Violated) else None
        if path is None:
            return None
        numbers = {branch.name: i for i, branch in enumerate(self._system.branches)}
        branches = [numbers[node.children[0][0]] for node in path[:-1]]
        rng = random.Random(steps)
        tries = (self._walked(path[0].point, branches, rng, len(branches) + more) for more in (1, 1, _STEPS, _STEPS))
        return next((run for run in tries if run is not None), None)

    def _starts(self, rng: random.Random) -> Iterator[State]:
        firsts = [{value.name: value.exact for value in point.values} for point in points(self._noisy)]
        ends = {name: self._noisy.variables[name] for name in self._noisy.disturbances}
        for number in range(_WALKS if firsts else 0):
            noise = {n: rng.choice((d.lower, (d.lower + d.upper) / 2, d.upper)) for n, d in ends.items()}
            yield {**firsts[number % len(firsts)], **noise}

    def _walked(self, first: State, branches: Sequence[int], rng: random.Random, most: int = _STEPS) -> Run | None:
        """A random run that begins with these branches, if it breaks the formula."""
        taken, state, seen = list[int](), dict(first), {tuple(first.values()): (0, 0)}
        while len(taken) < most:
            ask()
            try:
                open_ = {one.index: one.state for one in Step(self._system, state).successors()}
            except ModelError:
                return None
            if not open_:
                stays = self._stutter and not self._noisy.disturbances
                return self._replayed(first, [*taken, STAYS], len(taken)) if stays else None
            index = branches[len(taken)] if len(taken) < len(branches) else rng.choice(list(open_))
            if index not in open_:
                return None
            taken.append(index)
            state = dict(open_[index])
            key = tuple(state.values())
            for back in dict.fromkeys(seen.get(key, ())):  # the longest loop, and the shortest
                if (run := self._replayed(first, taken, back)) is not None:
                    return run
            seen[key] = seen.get(key, (len(taken),))[0], len(taken)
            if any(value.denominator.bit_length() > _MOST_BITS for value in key):
                break
        return self._replayed(first, taken, None)

    def _replayed(self, first: State, branches: Sequence[int], back: int | None) -> Run | None:
        try:
            return replayed(self._system, first, branches, back, self._formula)
        except ModelError:
            return None


def _weaker(formula: Formula, steps: int) -> Formula:
    """The part of a formula of all runs that so many steps can break."""
    done: dict[Formula, Formula] = {}
    for node in subformulas(formula):
        parts = [done[child] for child in node.children]
        match node:
            case And() | Or():
                done[node] = (conjunction if isinstance(node, And) else disjunction)(parts)
            case AX() | EX():
                done[node] = TRUE if parts[0] is TRUE else AX(parts[0])
            case Globally():
                done[node] = TRUE if parts[0] is TRUE else Globally(Quantifier.ALL, 0, steps, parts[0])
            case Finally():
                done[node] = TRUE
            case Until():
                left, right = parts
                neither = conjunction((Not(left), Not(right)))
                loose = TRUE in (left, right)
                done[node] = TRUE if loose else Not(Until(Quantifier.EXISTS, 0, steps, Not(right), neither))
            case _:
                done[node] = node
    return done[formula]
