"""Why a formula holds in a state of a labelled graph, as a witness: runs to where it shows, and loops for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from venmas.logic import AX, EX, And, Atom, Fixpoint, Formula, Or, Quantifier
from venmas.model.evaluation.simulate import Step
from venmas.model.witness.build import Place, collect, draw
from venmas.model.witness.tree import Witness
from venmas.procedures.explicit.graph.labels import Labels

MAX_STATES = 20_000
"""States of a witness."""


class TooLargeError(Exception):
    """A witness would have more than `MAX_STATES` states."""


class Shown:
    """What a formula needs that holds in a state: `draw` takes it as reasons, with numbers of states as keys."""

    def __init__(self, labels: Labels, tick: Callable[[], None]) -> None:
        self.labels, self.graph, self._tick = labels, labels.graph, tick

    def state(self, key: int) -> dict[str, Fraction]:
        """A state."""
        return self.graph.state(key)

    def step(self, key: int) -> Step:
        """The exact step from a state."""
        return Step(self.graph.system, self.graph.state(key))

    def chosen(self, formula: Formula, key: int) -> tuple[Formula, ...]:
        """The operands of And and Or that show it."""
        return tuple(need for need, _, _ in self._needs(formula, key, {}))

    def followed(self, formula: Formula, key: int) -> tuple[tuple[int, int], ...]:
        """The steps (branch, successor) of EX and AX that show it."""
        return tuple((branch, target) for _, branch, target in self._needs(formula, key, {}) if branch is not None)

    def witness(self, formula: Formula, initial: int) -> Witness:
        """The witness that the state satisfies the formula. Raises `TooLargeError`."""
        if formula.horizon is not None:  # what has no bound was trivial
            return collect(self.graph.system, self, formula, initial)
        shown: dict[int, dict[Formula, None]] = {initial: {}}
        steps: dict[int, dict[int, int]] = {initial: {}}
        stepped: set[int] = set()
        waiting, seen = [(formula, initial)], {(formula, initial)}
        for part, key in waiting:  # breadth first, so that most steps lead on
            self._tick()
            if isinstance(part, Atom):
                shown[key][part] = None
            for need, branch, successor in self._needs(part, key, steps):
                if branch is not None:
                    stepped.add(key)
                    steps[key][branch] = successor
                    shown.setdefault(successor, {})
                    steps.setdefault(successor, {})
                if (need, successor) not in seen:
                    seen.add((need, successor))
                    waiting.append((need, successor))
            if self._looks_on(part, key):
                stepped.add(key)
            if len(steps) > MAX_STATES:
                raise TooLargeError
        places = {
            key: Place(tuple(f for f in shown[key] if isinstance(f, Atom)), steps[key], key in stepped) for key in steps
        }
        return draw(self.graph.system, self, places)

    def _looks_on(self, part: Formula, key: int) -> bool:
        """Is a step looked at, though there may be none?"""
        if isinstance(part, Fixpoint):
            return not self._ends(part, key)
        return isinstance(part, AX | EX)

    def _ends(self, part: Fixpoint, key: int) -> bool:
        """Is the fixpoint shown without a step?"""
        truth = self.labels.truth
        return bool(truth[part.right][key]) and (part.least or bool(truth[part.left][key]))

    def _needs(
        self, part: Formula, key: int, known: dict[int, dict[int, int]]
    ) -> Iterator[tuple[Formula, int | None, int]]:
        """What shows the formula in a state: formulas that hold in it, or after a branch in a successor."""
        truth = self.labels.truth
        match part:
            case And(operands):
                yield from ((operand, None, key) for operand in operands)
            case Or(operands):
                yield min((o for o in operands if truth[o][key]), key=lambda o: self._cost(o, key)), None, key
            case EX(operand) | AX(operand):
                yield from self._steps(operand, key, isinstance(part, AX), known)
            case Fixpoint(least, quantifier, left, right):
                if truth[right][key]:
                    yield right, None, key
                if not least and truth[left][key]:
                    yield left, None, key
                if self._ends(part, key):
                    return
                if least:
                    yield left, None, key
                yield from self._steps(part, key, quantifier is Quantifier.ALL, known)

    def _steps(
        self, goal: Formula, key: int, every: bool, known: dict[int, dict[int, int]]
    ) -> Iterator[tuple[Formula, int, int]]:
        """All steps, or the one that shows the goal soonest: where there is no sooner, one to a state met before."""
        labels = self.labels
        span = range(int(labels.starts[key]), int(labels.starts[key + 1]))
        steps = [(int(labels.branches[i]), int(labels.targets[i])) for i in span]
        if not every:
            good = [step for step in steps if step[1] >= 0 and labels.truth[goal][step[1]]]
            steps = [min(good, key=lambda step: (self._cost(goal, step[1]), step[1] not in known))]
        yield from ((goal, branch, target) for branch, target in steps)

    def _cost(self, formula: Formula, key: int) -> tuple[bool, int]:
        """Atoms are shown at once, least fixpoints in as many steps as their rank."""
        if formula in self.labels.ranks:
            return True, int(self.labels.ranks[formula][key])
        return not isinstance(formula, Atom), 0
