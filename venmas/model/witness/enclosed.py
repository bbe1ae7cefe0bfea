"""Deciding formulas from an exact state of a system that is not piecewise linear, in balls of growing precision.

What a precision leaves open is not shown by it: core formulas are positive, so that what is shown holds. Where nothing
was open, what is not shown is refuted; where something stays open at 4096 bits, it is a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from venmas.errors import ModelError, VenmasError
from venmas.logic import Atom, Formula
from venmas.model.evaluation.balls import Ball, Balls, OpenValueError
from venmas.model.evaluation.enclosed import Real
from venmas.model.evaluation.steps import PRECISIONS, EnclosedStep, atom_value, rounded
from venmas.model.system.disturbances import NO_NOISE, Noise
from venmas.model.system.system import System
from venmas.model.witness.decide import Decider, Margin, Trail
from venmas.model.witness.tree import Node, Value, Witness
from venmas.nn.runtime import Runtime

_WIDE = 2
"""Precisions that are tried where noise stands for its range: more do not make it smaller."""


class UndecidedError(VenmasError):
    """The formula was not decided, neither shown nor refuted: a budget of states ran out, or there is a tie."""


class _States:
    """States that are reached, in balls of one precision; a key is a number. `open`: what the precision leaves open.
    runtime: what runs networks, in float32; none, they are the real functions."""

    def __init__(
        self, system: System, bits: int, tick: Callable[[], None] = lambda: None, runtime: Runtime | None = None
    ) -> None:
        self.system, self.bits, self.open = system, bits, ""
        self._tick, self._runtime = tick, runtime
        self._states: list[Mapping[str, Real]] = []
        self._numbers: dict[tuple[Real, ...], int] = {}
        self._steps: dict[int, EnclosedStep] = {}

    def number(self, state: Mapping[str, Real]) -> int:
        """The key of a state."""
        number = self._numbers.setdefault(tuple(state[name] for name in self.system.variables), len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def state(self, key: int) -> Mapping[str, Real]:
        """The state of a key."""
        return self._states[key]

    def step(self, key: int) -> EnclosedStep:
        """The step from a state."""
        if key not in self._steps:
            self._tick()
            self._steps[key] = EnclosedStep(self.system, self._states[key], self.bits, self._runtime)
        return self._steps[key]

    def atom(self, atom: Atom, key: int) -> Fraction:
        """A number for which an atom holds only if it holds at the state."""
        value, is_open = atom_value(atom, self._states[key], self.bits)
        if is_open:
            self.open = f"{atom.comparison} is open"
        return value


class Enclosing(_States):
    """The system itself, and why a formula holds in it (`venmas.model.witness.build.Reasons`)."""

    def __init__(
        self,
        system: System,
        bits: int,
        budget: int | None,
        tick: Callable[[], None],
        path: Sequence[str] = (),
        runtime: Runtime | None = None,
    ) -> None:
        super().__init__(system, bits, tick, runtime)
        self._budget, self._path = budget, path
        self.search = Decider(self)

    def value(self, atom: Atom, key: int) -> Margin:
        """See `Structure`."""
        return self.atom(atom, key)

    def some(self, key: int, trail: Trail, formula: Formula) -> Iterator[tuple[int, int]]:
        """See `Structure`."""
        step, branches = self._counted(key), self.system.branches
        first = self._path[trail.depth] if trail.depth < len(self._path) else ""
        for index in sorted(range(len(branches)), key=lambda i: branches[i].name != first):
            if (state := step.successor(index)) is not None:
                yield index, self.number(state)
        self.open = step.open or self.open

    def every(self, key: int, trail: Trail, formula: Formula) -> Iterable[tuple[int, int]] | None:
        """See `Structure`."""
        step = self._counted(key)
        found = [(index, self.number(state)) for index, state in step.successors()]
        self.open = step.open or self.open
        return None if step.open else found

    def _counted(self, key: int) -> EnclosedStep:
        if self._budget is not None and key not in self._steps and len(self._steps) >= self._budget:
            raise UndecidedError(f"not decided within the budget of {self._budget} evaluated states")
        return self.step(key)

    def chosen(self, formula: Formula, key: int) -> tuple[Formula, ...]:
        """The operands of And or Or that show it."""
        return self.search.chosen[formula, key]

    def followed(self, formula: Formula, key: int) -> tuple[tuple[int, int], ...]:
        """The steps of EX or AX that show it."""
        return self.search.followed[formula, key]


def explain_enclosed(
    system: System,
    formula: Formula,
    initial: Mapping[str, Fraction],
    budget: int | None,
    tick: Callable[[], None],
    path: Sequence[str] = (),
    noise: Noise = NO_NOISE,
    runtime: Runtime | None = None,
) -> Enclosing | None:
    """Why the core `formula` holds at an exact state, key 0, or None where it does not. path: branches to try first.
    noise: variables that stand for all of their ranges; then None says nothing, as a formula is shown of all at once.
    runtime: what runs networks, in float32.

    Raises `UndecidedError` for a tie, and where more than `budget` states are stepped from at one precision; and
    `ModelError` where a run leaves its box, or has no value.
    """
    why = ""
    for bits in PRECISIONS[:_WIDE] if noise else PRECISIONS:
        world = Enclosing(system, bits, budget, tick, path, runtime)
        root = world.number({**initial, **_whole(noise, bits)})
        if world.search.decide(formula, root) is not None:
            return world
        if not world.open:
            return None
        why = world.open
    if noise:
        return None
    raise UndecidedError(f"tie: with {PRECISIONS[-1]} bits {why}")


class Retraced(_States):
    """The runs of a stored witness, computed anew from its initial state. A key is a node, and the number of its state.

    problem: where they are not runs of the system, or not as it is told.
    """

    def __init__(self, system: System, witness: Witness, bits: int, noise: Noise) -> None:
        super().__init__(system, bits)
        self._witness = witness
        self._index = {branch.name: i for i, branch in enumerate(system.branches)}
        self._children: dict[tuple[int, int], list[tuple[int, tuple[int, int]]]] = {}
        self.problem = ""
        self.root = (0, self.number({**witness.initial, **_whole(noise, bits)}))

    def check(self) -> None:
        """Compare all that is stored with what is computed; leaves `problem` and `open`."""
        waiting, seen = [self.root], {self.root}
        while waiting and not self.problem:
            key = waiting.pop()
            node = self._witness.nodes[key[0]]
            if node.children or node.actions or node.deadlock:
                self._check_actions(key[0], node, self.step(key[1]))
                after = [child for _, child in self.children(key) if child not in seen]
                seen.update(after)
                waiting += after

    def _check_actions(self, number: int, node: Node, step: EnclosedStep) -> None:
        try:
            found = step.actions() if node.actions else {}
        except OpenValueError as error:
            self.open = str(error)
            return
        self._compare(f"state {number} of the witness: action", node.actions, found)
        if node.deadlock and step.enabled() != ():
            self.open = step.open or self.open
            if not step.open:
                self.problem = f"state {number} of the witness is said to have no successor, but it has one"

    def _compare(self, where: str, stored: tuple[Value, ...], computed: Mapping[str, Real]) -> None:
        if [v.name for v in stored] != list(computed):
            self.problem = f"{where}: expected values of {', '.join(computed)}"
            return
        for value in stored:
            at, radius = rounded(computed[value.name])
            exact = computed[value.name]
            low, high = (exact.low, exact.high) if isinstance(exact, Ball) else (exact, exact)
            if value.exact - value.radius <= low and high <= value.exact + value.radius:
                continue
            if high < value.exact - value.radius or low > value.exact + value.radius or not radius:
                told = f"{float(value.exact):.12g} (within {float(value.radius):.3g})"
                self.problem = f"{where} {value.name} is {told} in the witness and {float(at):.12g} in the system"
                return
            self.open = f"{value.name} is told more closely than it is found"

    def children(self, key: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
        """Branches of the witness that are taken, with where they lead."""
        if key not in self._children:
            found = []
            step = self.step(key[1])
            for branch, child in self._witness.nodes[key[0]].children:
                place = f"state {key[0]} of the witness"
                if branch not in self._index:
                    self.problem = f"{place}: the system has no branch {branch!r}"
                    continue
                state = step.successor(self._index[branch])
                if state is None:
                    self.open = step.open or self.open
                    self.problem = self.problem if step.open else f"{place}: branch {branch!r} is not enabled"
                    continue
                self._compare(f"{place}, after branch {branch!r}:", self._witness.nodes[child].state, state)
                found.append((self._index[branch], (child, self.number(state))))
            self._children[key] = found
        return self._children[key]

    def value(self, atom: Atom, key: tuple[int, int]) -> Margin:
        """See `Structure`."""
        return self.atom(atom, key[1])

    def some(self, key: tuple[int, int], trail: Trail, formula: Formula) -> Iterator[tuple[int, tuple[int, int]]]:
        """See `Structure`."""
        yield from self.children(key)

    def every(
        self, key: tuple[int, int], trail: Trail, formula: Formula
    ) -> Iterable[tuple[int, tuple[int, int]]] | None:
        """See `Structure`."""
        step, known = self.step(key[1]), dict(self.children(key))
        enabled = step.enabled()
        self.open = step.open or self.open
        return None if enabled is None or set(enabled) != set(known) else list(known.items())


def retrace(system: System, formula: Formula, witness: Witness, noise: Noise) -> tuple[str, Margin | None, int]:
    """What is wrong with the runs of a witness that starts in an exact state (empty: nothing), with what margin they
    show the core formula, in balls of growing precision, and its bits. Raises `ModelError` where a run leaves its box.

    noise: variables that stand for all of their ranges.
    """
    why = ""
    for bits in [b for b in PRECISIONS if b >= min(witness.bits, PRECISIONS[-1])]:
        tree = Retraced(system, witness, bits, noise)
        tree.check()
        if tree.problem:
            return tree.problem, None, bits
        margin = None if tree.open else Decider(tree).decide(formula, tree.root)
        if margin is not None or not tree.open:
            return "", margin, bits
        why = tree.open
    return f"tie: with {PRECISIONS[-1]} bits {why}", None, PRECISIONS[-1]


def _whole(noise: Noise, bits: int) -> dict[str, Ball]:
    """Balls around the ranges of noise."""
    ring = Balls(bits)
    return {n: ring.of((a * 2**bits).__floor__(), (b * 2**bits).__ceil__()) for n, (a, b) in noise.items()}


def run(system: System, start: Mapping[str, Fraction], orders: Sequence[Sequence[int]]) -> Witness:
    """A run from an exact state, by the first branch of each order that is enabled, until none is.

    States are enclosed to nine digits at least. Raises `ModelError` where it leaves its box, or stays open.
    """
    for bits in PRECISIONS:
        states = _States(system, bits)
        try:
            return Witness(_trace(states, start, orders), bits)
        except OpenValueError as error:
            states.open = str(error)
    raise ModelError(
        f"a run is not told with {PRECISIONS[-1]} bits: {states.open}; start elsewhere, or take fewer steps"
    )


def _trace(states: _States, start: Mapping[str, Real], orders: Sequence[Sequence[int]]) -> tuple[Node, ...]:
    nodes: list[Node] = []
    state, system = start, states.system
    for number, order in enumerate(orders):
        step = states.step(states.number(state))
        acted = tuple(told(a.name, v, a.labels) for a, v in zip(system.agents, step.actions().values(), strict=True))
        successor_state = None
        for index in order:
            successor_state = step.successor(index)
            if step.open:
                raise OpenValueError(step.open)
            if successor_state is not None:
                branch = system.branches[index].name
                break
        here = _told_state(system, state)
        if successor_state is None:
            others = [system.branches[i].name for i, _ in step.successors()]
            if others:
                name = system.branches[order[0]].name
                raise ModelError(f"step {number}: branch {name!r} is not enabled there; enabled: {', '.join(others)}")
            return (*nodes, Node(here, acted, deadlock=True))
        nodes.append(Node(here, acted, children=((branch, number + 1),)))
        state = successor_state
    return (*nodes, Node(_told_state(system, state)))


def _told_state(system: System, state: Mapping[str, Real]) -> tuple[Value, ...]:
    values = tuple(told(d.name, state[d.name], d.labels) for d in system.variables.values())
    for value in values:
        if value.radius * 10**9 > max(Fraction(1), abs(value.exact)):
            raise OpenValueError(f"{value.name} is not told to nine digits")
    return values


def told(name: str, value: Real, labels: tuple[tuple[int, str], ...]) -> Value:
    """A value as witnesses have it."""
    middle, radius = rounded(value)
    return Value(name, middle, next((text for number, text in labels if number == middle and not radius), ""), radius)
