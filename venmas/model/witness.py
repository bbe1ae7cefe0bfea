"""Building a witness: decide exactly whether a state satisfies a core formula, and keep the tree that shows it.

To show that a system violates a formula, explain its negation: ``explain(system, nnf(formula, negate=True), state)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from venmas.errors import ModelError, VenmasError
from venmas.linear import as_fraction
from venmas.logic import And, Atom, Formula, Or
from venmas.model.decide import Search
from venmas.model.replay import Replay, replay
from venmas.model.simulate import Step, misfit
from venmas.model.system import System
from venmas.model.trace import Measure, Node, Value, Witness

__all__ = ["Hints", "Node", "Replay", "UndecidedError", "Value", "Witness", "explain", "replay", "satisfies"]

Point: TypeAlias = tuple[Fraction, ...]
Hints: TypeAlias = Mapping[tuple[int, ...], int] | Sequence[str]
"""Which branch EX should try first: by the indices of the branches taken so far, or the branch names of a path."""


class UndecidedError(VenmasError):
    """The budget of states ran out before the formula was decided: neither shown nor refuted."""


def satisfies(system: System, formula: Formula, state: Mapping[str, Fraction]) -> bool:
    """Decide a core formula at an exact state. Raises `ModelError` when a run leaves the declared box (design S1)."""
    return Search(_Exact(system, None, None)).decide(formula, _point(system, state)) is not None


def explain(
    system: System,
    formula: Formula,
    initial: Mapping[str, Fraction],
    hints: Hints | None = None,
    budget: int | None = None,
) -> Witness | None:
    """The witness that `initial` satisfies the core `formula`, or None when it does not: both answers are exact.

    hints: branches that EX tries first, without effect on the answer.
    budget: the largest number of states in which the system may be stepped; `UndecidedError` is raised beyond it.

    Whether `initial` is an initial state is not asked here: `replay` does. Raises `ModelError` when `initial` or a
    visited state does not fit the declared ranges (design S1).
    """
    world = _Exact(system, hints, budget)
    root = _point(system, initial)
    search = Search(world)
    return None if search.decide(formula, root) is None else _collect(world, search, formula, root)


def _point(system: System, state: Mapping[str, Fraction]) -> Point:
    if missing := [name for name in system.variables if name not in state]:
        raise ModelError(f"the state gives no value for {missing[0]!r} of system {system.name!r}")
    point = {name: as_fraction(state[name]) for name in system.variables}
    if problem := misfit(system, point):
        raise ModelError(f"this is no state of system {system.name!r}: {problem}")
    return tuple(point.values())


class _Exact:
    """The system itself, in exact numbers; a key is the state."""

    def __init__(self, system: System, hints: Hints | None, budget: int | None) -> None:
        self.system = system
        self._names = tuple(system.variables)
        self._steps: dict[Point, Step] = {}
        self._budget = budget
        self._hints: dict[tuple[int, ...], int] = {}
        if isinstance(hints, Mapping):
            self._hints = dict(hints)
        elif hints:
            index = {branch.name: i for i, branch in enumerate(system.branches)}
            followed = [index[name] for name in hints if name in index]
            self._hints = {tuple(followed[:i]): branch for i, branch in enumerate(followed)}

    def state(self, key: Point) -> dict[str, Fraction]:
        return dict(zip(self._names, key, strict=True))

    def step(self, key: Point) -> Step:
        if key not in self._steps:
            if self._budget is not None and len(self._steps) >= self._budget:
                raise UndecidedError(f"not decided within the budget of {self._budget} exactly evaluated states")
            self._steps[key] = Step(self.system, self.state(key))
        return self._steps[key]

    def value(self, atom: Atom, key: Point) -> Fraction:
        return atom.comparison.expr.evaluate(self.state(key))

    def some(self, key: Point, path: tuple[int, ...]) -> Iterator[tuple[int, Point]]:
        first = self._hints.get(path, 0)
        step = self.step(key)
        for index in sorted(range(len(self.system.branches)), key=lambda i: i != first):
            if (found := step.successor(index)) is not None:
                yield index, tuple(found.state[name] for name in self._names)

    def every(self, key: Point, path: tuple[int, ...]) -> Iterable[tuple[int, Point]]:
        for found in self.step(key).successors():
            yield found.index, tuple(found.state[name] for name in self._names)


_Place: TypeAlias = tuple[Point, frozenset[Formula]]  # a state, and what is to be shown there


def _collect(world: _Exact, search: Search[Point], formula: Formula, root: Point) -> Witness:
    """The tree of what was chosen and followed, without duplicates, parents before children."""
    first: _Place = (root, frozenset([formula]))
    ready: dict[_Place, tuple[tuple[Atom, ...], dict[int, _Place], bool]] = {first: _needs(search, first)}
    stack, order = [(first, iter(ready[first][1].values()))], []
    while stack:
        place, rest = stack[-1]
        child = next((c for c in rest if c not in ready), None)
        if child is None:
            stack.pop()
            order.append(place)
        else:
            ready[child] = _needs(search, child)
            stack.append((child, iter(ready[child][1].values())))
    index = {place: len(order) - 1 - i for i, place in enumerate(order)}
    return Witness(tuple(_node(world, place[0], *ready[place], index) for place in reversed(order)))


def _needs(search: Search[Point], place: _Place) -> tuple[tuple[Atom, ...], dict[int, _Place], bool]:
    """The atoms shown at a place, the places that its steps lead to, and whether steps were looked at."""
    key, formulas = place
    atoms: dict[Atom, None] = {}
    targets: dict[int, tuple[Point, set[Formula]]] = {}
    stepped = False
    stack, seen = list(formulas), set(formulas)
    while stack:
        formula = stack.pop()
        if isinstance(formula, Atom):
            atoms[formula] = None
        elif isinstance(formula, And | Or):
            new = [c for c in reversed(search.chosen[formula, key]) if c not in seen]
            seen.update(new)
            stack.extend(new)
        elif formula.depth:
            stepped = True
            for branch, successor in search.followed[formula, key]:
                targets.setdefault(branch, (successor, set()))[1].add(formula.children[0])
    places = {branch: (successor, frozenset(goals)) for branch, (successor, goals) in sorted(targets.items())}
    return tuple(atoms), places, stepped


def _node(
    world: _Exact,
    key: Point,
    atoms: tuple[Atom, ...],
    places: Mapping[int, _Place],
    stepped: bool,
    index: Mapping[_Place, int],
) -> Node:
    system, state = world.system, world.state(key)
    actions: tuple[Value, ...] = ()
    if stepped:
        values = world.step(key).actions()
        actions = tuple(Value(a.name, values[a.name], _label(a.labels, values[a.name])) for a in system.agents)
    return Node(
        state=tuple(Value(d.name, state[d.name], _label(d.labels, state[d.name])) for d in system.variables.values()),
        actions=actions,
        atoms=tuple(Measure(str(a.comparison), abs(a.comparison.expr.evaluate(state))) for a in sorted(atoms, key=str)),
        children=tuple((system.branches[b].name, index[place]) for b, place in places.items()),
        deadlock=stepped and not places,  # only AX is shown without a successor
    )


def _label(labels: tuple[tuple[int, str], ...], value: Fraction) -> str:
    return dict(labels).get(value.numerator, "") if value.denominator == 1 else ""
