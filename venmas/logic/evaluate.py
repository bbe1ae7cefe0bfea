"""Truth of CTL on a finite model, from the meaning of each operator over runs.

This is the oracle of the tests: it walks forward over the states that runs reach, and shares nothing with the
rewriting in `nnf` and `unroll`, which work backwards. A run is a path of successors; one that meets a deadlock ends.
Operators without a bound are fixpoints of one step (Clarke, Emerson 1981), in which a deadlock has AX true and EX
false as everywhere (design S4): EG, and the refutation of AF, need an infinite run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from venmas.errors import ModelError
from venmas.logic.formula import (
    AX,
    EX,
    And,
    Atom,
    Bottom,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Top,
    Until,
    Window,
    subformulas,
)

States = frozenset[int]


@dataclass(frozen=True)
class FiniteModel:
    """States ``0 .. states-1``, their successors (none in a deadlock), and the value of every variable in each.

    Raises `ModelError` when the lengths do not fit or a successor is no state.
    """

    states: int
    successors: tuple[tuple[int, ...], ...]
    valuations: tuple[Mapping[str, Fraction], ...]

    def __post_init__(self) -> None:
        if len(self.successors) != self.states or len(self.valuations) != self.states:
            raise ModelError(
                f"a model of {self.states} states needs as many successor lists and valuations, "
                f"got {len(self.successors)} and {len(self.valuations)}"
            )
        for state, targets in enumerate(self.successors):
            if strange := [target for target in targets if not 0 <= target < self.states]:
                raise ModelError(f"state {state} has successor {strange[0]}, states are 0..{self.states - 1}")

    def post(self, sources: Iterable[int]) -> States:
        """All successors of some states."""
        return frozenset(target for source in sources for target in self.successors[source])


def evaluate(formula: Formula, model: FiniteModel) -> States:
    """The states of the model that satisfy the formula."""
    every = frozenset(range(model.states))
    holds: dict[Formula, States] = {}
    for node in subformulas(formula):
        holds[node] = _states(node, [holds[child] for child in node.children], model, every)
    return holds[formula]


def _states(node: Formula, parts: list[States], model: FiniteModel, every: States) -> States:
    def where(test: Callable[[int], bool]) -> States:
        return frozenset(filter(test, every))

    match node:
        case Top():
            return every
        case Bottom():
            return frozenset()
        case Atom(comparison):
            return where(lambda s: comparison.holds(model.valuations[s]))
        case Not(_):
            return every - parts[0]
        case And(_):
            return every.intersection(*parts)
        case Or(_):
            return frozenset().union(*parts)
        case Implies(_, _):
            return where(lambda s: s not in parts[0] or s in parts[1])
        case Iff(_, _):
            return where(lambda s: (s in parts[0]) == (s in parts[1]))
        case AX(_):
            return where(lambda s: model.post((s,)) <= parts[0])
        case EX(_):
            return where(lambda s: not model.post((s,)).isdisjoint(parts[0]))
        case Window(end=None):
            return _forever(node, parts, model, every)
        case Next(Quantifier.ALL, k, _):
            return where(lambda s: next(_reached(model, s, k)) <= parts[0])
        case Next(Quantifier.EXISTS, k, _):
            return where(lambda s: not next(_reached(model, s, k)).isdisjoint(parts[0]))
        case Globally(Quantifier.ALL, start, int(end), _):
            return where(lambda s: all(met <= parts[0] for met in _reached(model, s, start, end)))
        case Finally(Quantifier.EXISTS, start, int(end), _):
            return where(lambda s: any(met & parts[0] for met in _reached(model, s, start, end)))
        case Globally(Quantifier.EXISTS, start, int(end), _):
            return where(lambda s: _keeps(model, s, start, end, parts[0]))
        case Finally(Quantifier.ALL, start, int(end), _):
            # No run of `end` steps avoids p at all of the steps.
            return where(lambda s: not _keeps(model, s, start, end, every - parts[0]))
        case Until(Quantifier.EXISTS, start, int(end), _, _):
            return where(lambda s: _some_until(model, s, start, end, parts[0], parts[1]))
        case Until(Quantifier.ALL, start, int(end), _, _):
            return where(lambda s: _every_until(model, s, start, end, parts[0], parts[1]))
        case _:
            raise TypeError(f"{type(node).__name__} is no node of a formula")


def _forever(node: Window, parts: list[States], model: FiniteModel, every: States) -> States:
    """The states that satisfy an operator without a bound."""
    match node:
        case Globally():  # !QG p = Q'F !p, where Q' is the other quantifier
            return every - _until(model, every, node.quantifier.dual, node.start, every, every - parts[0])
        case Finally():
            return _until(model, every, node.quantifier, node.start, every, parts[0])
        case _:
            return _until(model, every, node.quantifier, node.start, *parts)


def _until(
    model: FiniteModel, every: States, quantifier: Quantifier, start: int, left: States, right: States
) -> States:
    """The least Z with ``Z = right | (left & QX Z)``, and ``left & QX`` of it `start` times."""

    def before(goal: States) -> States:
        if quantifier is Quantifier.ALL:
            return left & frozenset(s for s in every if model.post((s,)) <= goal)
        return left & frozenset(s for s in every if not model.post((s,)).isdisjoint(goal))

    states, larger = right, right | before(right)
    while larger != states:
        states, larger = larger, larger | before(larger)
    for _ in range(start):
        states = before(states)
    return states


def _reached(model: FiniteModel, state: int, start: int, end: int | None = None) -> Iterator[States]:
    """For each of the steps `start` to `end`, the states at which a run from `state` can be then."""

    def walk() -> Iterator[States]:
        reached: States = frozenset((state,))
        while True:
            yield reached
            reached = model.post(reached)

    return islice(walk(), start, (start if end is None else end) + 1)


def _keeps(model: FiniteModel, state: int, start: int, end: int, good: States) -> bool:
    """Some run of `end` steps is in `good` at each of the steps `start` to `end`."""
    reached: States = frozenset((state,))
    for m in range(end + 1):
        reached = model.post(reached) if m else reached
        reached = reached & good if m >= start else reached
    return bool(reached)


def _some_until(model: FiniteModel, state: int, start: int, end: int, left: States, right: States) -> bool:
    """Some run is in `right` at a step of the window and in `left` at every step before."""
    reached: States = frozenset((state,))
    for m in range(end + 1):
        if m >= start and reached & right:
            return True
        reached = model.post(reached & left)
    return False


def _every_until(model: FiniteModel, state: int, start: int, end: int, left: States, right: States) -> bool:
    """No run leaves `left` before it has met `right` in the window, and none comes to step `end` without meeting it."""
    waiting: States = frozenset((state,))
    for m in range(end + 1):
        waiting = waiting - right if m >= start else waiting
        if not waiting <= left:
            return False
        if m < end:
            waiting = model.post(waiting)
    return not waiting
