"""Building a witness: decide exactly whether a state satisfies a core formula, and keep the tree that shows it.

To show that a system violates a formula, explain its negation: ``explain(system, nnf(formula, negate=True), state)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, Protocol, TypeAlias, TypeVar

from venmas.errors import ModelError
from venmas.logic import And, Atom, Formula, Or
from venmas.logic.linear import as_fraction
from venmas.model.evaluation.enclosed import Real
from venmas.model.evaluation.simulate import Step, Transition, misfit
from venmas.model.evaluation.steps import margin_at
from venmas.model.system.disturbances import NO_NOISE, Noise
from venmas.model.system.system import System
from venmas.model.witness.decide import Decider, Trail
from venmas.model.witness.enclosed import UndecidedError, explain_enclosed, told
from venmas.model.witness.replay import Replay, replay
from venmas.model.witness.tree import Measure, Node, Value, Witness
from venmas.nn.runtime import Runtime

__all__ = [
    "Hints",
    "Node",
    "Reasons",
    "Replay",
    "UndecidedError",
    "Value",
    "Witness",
    "collect",
    "explain",
    "replay",
    "satisfies",
]

Point: TypeAlias = tuple[Fraction, ...]
Possible: TypeAlias = Callable[[Formula, int, Mapping[str, Fraction]], bool]
"""May a formula hold in a state that is reached after so many steps? False only where it does not."""
Hints: TypeAlias = Mapping[tuple[int, ...], int] | Sequence[str]
"""Which branch EX should try first: by the indices of the branches taken so far, or the branch names of a path."""


def satisfies(system: System, formula: Formula, state: Mapping[str, Fraction]) -> bool:
    """Decide a core formula at an exact state. Raises `ModelError` when a run leaves the declared box (design S1)."""
    if system.smooth:
        return explain(system, formula, state) is not None
    world = _Exact(system)
    return Decider(world).decide(formula, world.number(_state(system, state))) is not None


def explain(
    system: System,
    formula: Formula,
    initial: Mapping[str, Fraction],
    hints: Hints | None = None,
    budget: int | None = None,
    tick: Callable[[], None] = lambda: None,
    possible: Possible | None = None,
    noise: Noise = NO_NOISE,
    runtime: Runtime | None = None,
) -> Witness | None:
    """The witness that `initial` satisfies the core `formula`, or None when it does not: both answers are exact.

    hints: branches that EX tries first, without effect on the answer.
    budget: the largest number of states in which the system may be stepped; `UndecidedError` is raised beyond it.
    tick: called in every such state; what it raises ends the search.
    possible: what is known already, so that it is not searched for what cannot be found.
    runtime: what runs networks, in float32; else they are the real functions.

    Where the system is not piecewise linear, states are enclosed, and `UndecidedError` is raised too where a comparison
    stays open at the greatest precision (a tie). So they are where `noise` are variables that stand for all of their
    ranges; then None says nothing. Whether `initial` is an initial state is not asked here: `replay` does. Raises
    `ModelError` when `initial` or a visited state does not fit the declared ranges (design S1).
    """
    start = _state(system, initial)
    if system.smooth or noise or runtime is not None:
        path = () if hints is None or isinstance(hints, Mapping) else hints
        found = explain_enclosed(system, formula, start, budget, tick, path, noise, runtime)
        return None if found is None else replace(collect(system, found, formula, 0), bits=found.bits)
    world = _Exact(system, hints, budget, tick, possible)
    root = world.number(start)
    search = Decider(world)
    return None if search.decide(formula, root) is None else collect(system, _Found(world, search), formula, root)


def _state(system: System, state: Mapping[str, Fraction]) -> dict[str, Fraction]:
    if missing := [name for name in system.variables if name not in state]:
        raise ModelError(f"the state gives no value for {missing[0]!r} of system {system.name!r}")
    point = {name: as_fraction(state[name]) for name in system.variables}
    if problem := misfit(system, point):
        raise ModelError(f"this is no state of system {system.name!r}: {problem}")
    return point


class _Hint:
    """Hints for the runs with one beginning: the branch to try first, and those for what comes after a branch."""

    __slots__ = ("first", "next")

    def __init__(self) -> None:
        self.first = 0
        self.next: dict[int, _Hint] = {}

    def at(self, path: Iterable[int]) -> _Hint:
        """The hints after a path, made where there are none."""
        here = self
        for branch in path:
            here = here.next.setdefault(branch, _Hint())
        return here


class _Exact:
    """The system itself, in exact numbers; a key is the number of a state, which is looked up by its value once."""

    def __init__(
        self,
        system: System,
        hints: Hints | None = None,
        budget: int | None = None,
        tick: Callable[[], None] = lambda: None,
        possible: Possible | None = None,
    ) -> None:
        self.system, self._tick, self._possible = system, tick, possible
        self._names = tuple(system.variables)
        self._states: list[dict[str, Fraction]] = []
        self._numbers: dict[Point, int] = {}
        self._steps: dict[int, Step] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._budget = budget
        self._hints = _Hint()
        if isinstance(hints, Mapping):
            for path, branch in hints.items():
                self._hints.at(path).first = branch
        elif hints:
            index = {branch.name: i for i, branch in enumerate(system.branches)}
            at = self._hints
            for branch in (index[name] for name in hints if name in index):
                at.first, at = branch, at.at((branch,))

    def number(self, state: dict[str, Fraction]) -> int:
        """The key of a state."""
        number = self._numbers.setdefault(tuple(state[name] for name in self._names), len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def state(self, key: int) -> Mapping[str, Fraction]:
        return self._states[key]

    def step(self, key: int) -> Step:
        if key not in self._steps:
            if self._budget is not None and len(self._steps) >= self._budget:
                raise UndecidedError(f"not decided within the budget of {self._budget} exactly evaluated states")
            self._tick()
            self._steps[key] = Step(self.system, self.state(key))
        return self._steps[key]

    def value(self, atom: Atom, key: int) -> Fraction:
        return atom.comparison.expr.evaluate(self.state(key))

    def _hint(self, trail: Trail) -> _Hint | None:
        """The hint for a trail, whose beginning has been here before."""
        if trail.before is None:
            trail.mark = self._hints
        elif isinstance(trail.before.mark, _Hint):
            trail.mark = trail.before.mark.next.get(trail.branch)
        return trail.mark if isinstance(trail.mark, _Hint) else None

    def _reached(self, key: int, found: Transition) -> int:
        """The key of a successor."""
        at = key, found.index
        if at not in self._after:
            self._after[at] = self.number(found.state)
        return self._after[at]

    def _excluded(self, formula: Formula, key: int, trail: Trail) -> bool:
        """Is it known that a formula does not hold in a successor of where the trail leads?"""
        return self._possible is not None and not self._possible(formula, trail.depth + 1, self._states[key])

    def some(self, key: int, trail: Trail, formula: Formula) -> Iterator[tuple[int, int]]:
        hint = self._hint(trail)
        first = 0 if hint is None else hint.first
        step = self.step(key)
        for index in sorted(range(len(self.system.branches)), key=lambda i: i != first):
            if (found := step.successor(index)) is not None:
                after = self._reached(key, found)
                if not self._excluded(formula, after, trail):
                    yield index, after

    def every(self, key: int, trail: Trail, formula: Formula) -> Iterable[tuple[int, int]] | None:
        self._hint(trail)
        found = ((found.index, self._reached(key, found)) for found in self.step(key).successors())
        if self._possible is None:
            return found
        known = list(found)
        return None if any(self._excluded(formula, after, trail) for _, after in known) else known


Key = TypeVar("Key")


class Acting(Protocol):
    """A step, as far as a witness tells of it."""

    def actions(self) -> Mapping[str, Real]:
        """What each agent does."""
        ...


class Reasons(Protocol[Key]):
    """Why a formula holds at states that keys name."""

    def state(self, key: Key) -> Mapping[str, Real]:
        """The state."""
        ...

    def step(self, key: Key) -> Acting:
        """The step from the state."""
        ...

    def chosen(self, formula: Formula, key: Key) -> tuple[Formula, ...]:
        """The operands of And or Or that show it."""
        ...

    def followed(self, formula: Formula, key: Key) -> tuple[tuple[int, Key], ...]:
        """The steps (branch, successor) of EX or AX that show it."""
        ...


class _Found:
    """Reasons that a search has left."""

    def __init__(self, world: _Exact, search: Decider[int]) -> None:
        self.state, self.step, self._search = world.state, world.step, search

    def chosen(self, formula: Formula, key: int) -> tuple[Formula, ...]:
        return self._search.chosen[formula, key]

    def followed(self, formula: Formula, key: int) -> tuple[tuple[int, int], ...]:
        return self._search.followed[formula, key]


def collect(system: System, reasons: Reasons[Key], formula: Formula, root: Key) -> Witness:
    """The tree of what was chosen and followed to show a core formula, without duplicates, parents before children."""
    return _Collector(system, reasons).collect(formula, root)


@dataclass(frozen=True)
class Place(Generic[Key]):
    """What a witness shows at a state: atoms, and steps by branch. stepped: were its successors looked at?"""

    atoms: tuple[Atom, ...]
    steps: Mapping[int, Key]
    stepped: bool


def draw(system: System, reasons: Reasons[Key], places: Mapping[Key, Place[Key]]) -> Witness:
    """The witness of a graph of states that may have loops, the initial state first in `places`.

    A step back leads to a node of its own without successors, whose state is the one that is met again
    (`venmas.model.witness.loops`).
    """
    collector = _Collector(system, reasons)
    index = {key: number for number, key in enumerate(places)}
    again: dict[Key, int] = {}
    nodes = []
    for number, (key, place) in enumerate(places.items()):
        children = []
        for branch, successor in sorted(place.steps.items()):
            at = index[successor]
            if at <= number:
                at = again.setdefault(successor, len(places) + len(again))
            children.append((system.branches[branch].name, at))
        nodes.append(collector.node(key, place.atoms, tuple(children), place.stepped))
    return Witness((*nodes, *(collector.node(key, (), (), False) for key in again)))


class _Collector(Generic[Key]):
    def __init__(self, system: System, reasons: Reasons[Key]) -> None:
        self.system, self.reasons = system, reasons
        self._states: dict[Key, tuple[Value, ...]] = {}
        self._actions: dict[Key, tuple[Value, ...]] = {}
        self._texts: dict[Atom, tuple[str, str]] = {}
        """Of an atom, what they are sorted by, and what is stored."""

    def collect(self, formula: Formula, root: Key) -> Witness:
        """Places (a state, and what is to be shown there) become nodes."""
        first = (root, frozenset([formula]))
        ready = {first: self._needs(*first)}
        stack, order = [(first, iter(ready[first][1].values()))], []
        while stack:
            place, rest = stack[-1]
            child = next((c for c in rest if c not in ready), None)
            if child is None:
                stack.pop()
                order.append(place)
            else:
                ready[child] = self._needs(*child)
                stack.append((child, iter(ready[child][1].values())))
        index = {place: len(order) - 1 - i for i, place in enumerate(order)}
        nodes = []
        for place in reversed(order):
            atoms, places, stepped = ready[place]
            children = tuple((self.system.branches[b].name, index[p]) for b, p in places.items())
            nodes.append(self.node(place[0], atoms, children, stepped))
        return Witness(tuple(nodes))

    def _needs(
        self, key: Key, formulas: frozenset[Formula]
    ) -> tuple[tuple[Atom, ...], dict[int, tuple[Key, frozenset[Formula]]], bool]:
        """The atoms shown at a place, the places that its steps lead to, and whether steps were looked at."""
        atoms: dict[Atom, None] = {}
        targets: dict[int, tuple[Key, set[Formula]]] = {}
        stepped = False
        stack, seen = list(formulas), set(formulas)
        while stack:
            formula = stack.pop()
            if isinstance(formula, Atom):
                atoms[formula] = None
            elif isinstance(formula, And | Or):
                new = [c for c in reversed(self.reasons.chosen(formula, key)) if c not in seen]
                seen.update(new)
                stack.extend(new)
            elif formula.depth:
                stepped = True
                for branch, successor in self.reasons.followed(formula, key):
                    targets.setdefault(branch, (successor, set()))[1].add(formula.children[0])
        places = {branch: (successor, frozenset(goals)) for branch, (successor, goals) in sorted(targets.items())}
        return tuple(atoms), places, stepped

    def node(self, key: Key, atoms: tuple[Atom, ...], children: tuple[tuple[str, int], ...], stepped: bool) -> Node:
        """What the nodes of one state have in common is stored once."""
        state = self.reasons.state(key) if atoms or key not in self._states else {}
        if key not in self._states:
            self._states[key] = tuple(told(d.name, state[d.name], d.labels) for d in self.system.variables.values())
        if stepped and key not in self._actions:
            values = self.reasons.step(key).actions()
            self._actions[key] = tuple(told(a.name, values[a.name], a.labels) for a in self.system.agents)
        return Node(
            state=self._states[key],
            actions=self._actions[key] if stepped else (),
            atoms=tuple(Measure(self._text(a)[1], abs(margin_at(a, state))) for a in sorted(atoms, key=self._text)),
            children=children,
            deadlock=stepped and not children,  # only AX is shown without a successor
        )

    def _text(self, atom: Atom) -> tuple[str, str]:
        if atom not in self._texts:
            self._texts[atom] = str(atom), str(atom.comparison)
        return self._texts[atom]
