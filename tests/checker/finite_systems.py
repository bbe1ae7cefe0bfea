"""Random systems of a few integers with a network, and what is true of them, state by state, in exact numbers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from random import Random

import numpy as np

from venmas.logic import Formula, parse
from venmas.logic.linear import Comparison
from venmas.model import System, apply_network, argmax, conjunction, maximum, minimum, switch, where
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import Condition, Expr
from venmas.nn.network import Network, relu_network

State = tuple[int, ...]


def random_network(rng: Random, inputs: int, outputs: int, width: int = 4) -> Network:
    """Small weights in quarters, so that ties occur."""
    sizes = [inputs, *[width] * rng.randint(0, 2), outputs]

    def array(*shape: int) -> np.ndarray:
        return np.array([rng.randint(-4, 4) / 4 for _ in range(int(np.prod(shape)))]).reshape(shape)

    pairs = list(pairwise(sizes))
    return relu_network([array(o, i) for i, o in pairs], [array(o) for _, o in pairs])


def random_system(rng: Random, variables: int = 3, values: int = 4) -> System:
    """Variables a, b, c .. from 0; an agent that picks a label; branches with a guard and a label each, or more."""
    system = System("finite")
    named = [system.integer(n, 0, rng.randint(1, values - 1)) for n in "abcdefg"[: rng.randint(2, variables)]]
    labels = rng.randint(2, 4)
    scores = apply_network(random_network(rng, len(named), labels), named)

    def atom() -> Condition:
        left, right = rng.sample(named, 2) if rng.random() < 0.3 else (rng.choice(named), rng.randint(0, values - 1))
        return rng.choice([left >= right, left <= right, left == right, left != right, left + 1 < right])

    action = argmax(scores)
    if rng.random() < 0.3:  # only some labels compete: the first that may, and loses to no other that may
        among = [atom() for _ in range(labels)]
        for i in reversed(range(labels)):
            wins = [~among[j] | (scores[i] > scores[j] if j < i else scores[i] >= scores[j]) for j in range(labels)]
            action = where(conjunction([among[i], *(wins[:i] + wins[i + 1 :])]), i, action)
    action = system.agent(action)

    def value(old: Expr, top: int) -> Expr:
        other = rng.choice(named)
        kinds = [
            lambda: minimum(old + 1, top),
            lambda: maximum(old - 1, 0),
            lambda: rng.randint(0, top) + 0 * old,
            lambda: minimum(other, top),
            lambda: where(atom(), rng.randint(0, top), old),
            lambda: switch(action, {k: rng.randint(0, top) for k in range(labels)}),
            lambda: old + rng.choice((1, -1)),  # its guard may keep it inside, or not
        ]
        return rng.choice(kinds)()

    for i in range(rng.randint(1, 5)):
        guard: Condition | bool = True
        if rng.random() < 0.8:
            guard = action == rng.randrange(labels)
        for _ in range(rng.randint(0, 2)):
            guard = (guard & atom()) if rng.random() < 0.7 else (atom() | guard)
        updates = {}
        for node, decl in zip(named, system.variables.values(), strict=True):
            if rng.random() < 0.6:
                new, top = value(node, int(decl.upper)), int(decl.upper)
                updates[node] = new
                if rng.random() < 0.9:  # a guard of ranges
                    guard = guard & (new >= 0) & (new <= top)
        system.branch(f"b{i}", updates, when=guard)
    for _ in range(rng.randint(1, 2)):
        system.initial(
            *(
                n == rng.randint(0, int(d.upper)) if rng.random() < 0.8 else n <= 1
                for n, d in zip(named, system.variables.values(), strict=True)
            )
        )
    system.validate()
    return system


def all_states(system: System) -> Iterator[State]:
    """All states of the declared box."""
    return product(*(range(int(d.lower), int(d.upper) + 1) for d in system.variables.values()))


def successors(system: System, state: State) -> list[State]:
    """The states that branches lead to, outside the declared box, too."""
    names = tuple(system.variables)
    exact = Exact(dict(zip(names, map(Fraction, state), strict=True)))
    found = []
    for branch in system.branches:
        if exact.truth(branch.guard):
            new = {name: exact.value(expr) for name, expr in branch.updates}
            found.append(tuple(int(new.get(name, exact.state[name])) for name in names))
    return found


def initial(system: System) -> list[State]:
    """The initial states."""

    def holds(region: tuple[Comparison, ...], state: State) -> bool:
        point = dict(zip(system.variables, map(Fraction, state), strict=True))
        return all(c.holds(point) for c in region)

    return [s for s in all_states(system) if any(holds(r, s) for r in system.regions)]


def closure(system: System) -> tuple[set[State], bool]:
    """The states that runs reach within the declared box, and whether none leaves it."""
    box = set(all_states(system))
    found, stack, inside = set(), initial(system), True
    while stack:
        state = stack.pop()
        if state not in box:
            inside = False
        elif state not in found:
            found.add(state)
            stack += successors(system, state)
    return found, inside


def random_property(rng: Random, system: System) -> Formula:
    """A formula about one state."""
    parts = []
    for _ in range(rng.randint(1, 2)):
        name = rng.choice(list(system.variables))
        parts.append(f"{name} {rng.choice(['<=', '>=', '!=', '<'])} {rng.randint(0, 3)}")
    return parse(rng.choice([" | ", " & "]).join(parts), system.vocabulary)
