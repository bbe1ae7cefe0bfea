"""Small systems of integers with a neural policy, at random, and what is true of them by looking at every state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from venmas.logic import Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import Condition, Expr
from venmas.model.expressions.functions import apply_network, argmax, where
from venmas.model.system.system import System
from venmas.nn import relu_network

State = tuple[int, ...]
_NAMED = {0: "zero", 1: "one"}


def random_system(rng: np.random.Generator, may_leave: bool = False, masking: bool = False) -> System:
    """Two to four variables of 2 to 5 values, 1 to 4 labels, random guards and affine updates, a proposition "bad".

    may_leave: updates may leave the ranges, where guards do not keep them. masking: the policy chooses among labels
    that random conditions let compete.
    """
    system = System("random")
    n, labels = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    lows = rng.integers(-2, 2, n)
    sizes = rng.integers(1, 5, n)
    v = [
        system.integer(f"v{i}", int(a), int(a + s), labels=_NAMED if (i, a, s) == (0, 0, 1) else None)
        for i, (a, s) in enumerate(zip(lows, sizes, strict=True))
    ]
    inputs = [v[i] for i in sorted(rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist())]
    width = int(rng.integers(1, 6))
    scale = 2.0 if rng.random() < 0.5 else 1.0  # small halves make ties
    weights = [rng.integers(-3, 4, (width, len(inputs))) / scale, rng.integers(-3, 4, (labels, width)) / scale]
    biases = [rng.integers(-2, 3, width) / scale, rng.integers(-2, 3, labels) / scale]
    among = [random_condition(rng, v) if rng.random() < 0.8 else True for _ in range(labels)] if masking else None
    action = system.agent(argmax(apply_network(relu_network(weights, biases, name="policy"), inputs), among=among))
    for k in range(int(rng.integers(1, 6))):
        guard = random_condition(rng, v)
        updates: dict[Expr, Expr | int] = {}
        for i in rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist():
            low, high = int(lows[i]), int(lows[i] + sizes[i])
            new = _update(rng, v, i, low, high)
            updates[v[i]] = new
            if not may_leave and not isinstance(new, int):
                guard = guard & (new >= low) & (new <= high)
        if rng.random() < 0.8:
            guard = guard & (action == int(rng.integers(0, labels)))
        system.branch(f"b{k}", updates, when=guard)  # type: ignore[arg-type]
    for _ in range(int(rng.integers(1, 3))):
        start = [x == int(rng.integers(a, a + s + 1)) for x, a, s in zip(v, lows, sizes, strict=True)]
        system.initial(*[c for c in start if rng.random() < 0.8])
    system.proposition("bad", random_condition(rng, v) & random_condition(rng, v))
    return system


def _update(rng: np.random.Generator, v: Sequence[Expr], i: int, low: int, high: int) -> Expr | int:
    kind = rng.random()
    other = v[int(rng.integers(0, len(v)))]
    if kind < 0.3:
        return int(rng.integers(low, high + 1))
    if kind < 0.6:
        return v[i] + int(rng.choice([-1, 1]))
    if kind < 0.75:
        return other * int(rng.choice([-1, 1])) + int(rng.integers(-1, 2))
    if kind < 0.9:
        return v[i] + other * int(rng.choice([-1, 1]))
    return where(other >= int(rng.integers(low, high + 1)), v[i], v[i] * -1)


def random_condition(rng: np.random.Generator, v: Sequence[Expr]) -> Condition:
    """A comparison, of one variable mostly; or two of them, joined."""
    if rng.random() < 0.25:
        left, right = random_condition(rng, v), random_condition(rng, v)
        return left & right if rng.random() < 0.5 else left | right
    left_side: Expr = v[int(rng.integers(0, len(v)))]
    if rng.random() < 0.3:
        left_side = left_side * int(rng.choice([1, 2])) + v[int(rng.integers(0, len(v)))] * int(rng.choice([-1, 1, -3]))
    bound = int(rng.integers(-2, 4))
    relation = rng.integers(0, 5)
    if relation == 0:
        return left_side == bound
    if relation == 1:
        return left_side != bound
    return left_side >= bound if relation < 4 else left_side < bound


def random_predicates(rng: np.random.Generator, system: System, count: int) -> list[Formula]:
    """Comparisons over one or two variables."""
    names = list(system.variables)
    found: list[Formula] = []
    for _ in range(count):
        terms = {names[int(rng.integers(0, len(names)))]: Fraction(int(rng.choice([1, 1, -1, 2])))}
        if rng.random() < 0.35:
            terms[names[int(rng.integers(0, len(names)))]] = Fraction(int(rng.choice([1, -1, -2])))
        relation = list(Relation)[int(rng.integers(0, 6))]
        found.append(Atom(Comparison(LinearExpr.of(terms, int(rng.integers(-3, 4))), relation)))
    return found


def all_states(system: System) -> list[State]:
    """Every state of the box."""
    return list(product(*(range(int(d.lower), int(d.upper) + 1) for d in system.variables.values())))


def holds(system: System, formula: Formula, state: State) -> bool:
    """The truth of a condition in a state."""
    point = {name: Fraction(x) for name, x in zip(system.variables, state, strict=True)}

    def truth(node: Formula) -> bool:
        if isinstance(node, Atom):
            return node.comparison.holds(point)
        parts = [truth(child) for child in node.children] if node.children else []
        operands = [truth(o) for o in getattr(node, "operands", ())]
        match type(node).__name__:
            case "And":
                return all(operands)
            case "Or":
                return any(operands)
            case "Not":
                return not parts[0]
            case name:
                return name == "Top"

    return truth(formula)


def initial_states(system: System) -> list[State]:
    """All states of the initial sets."""
    starts = disjunction(conjunction(Atom(c) for c in region) for region in system.regions)
    return [s for s in all_states(system) if holds(system, starts, s)]


def successors(system: System, state: State) -> Iterator[tuple[int, State | None]]:
    """The branches that can be taken and what follows; None: it leaves the box."""
    at = Exact({name: Fraction(x) for name, x in zip(system.variables, state, strict=True)})
    for i, branch in enumerate(system.branches):
        if not at.truth(branch.guard):
            continue
        updates = dict(branch.updates)
        after = tuple(
            int(at.value(updates[name])) if name in updates else x
            for name, x in zip(system.variables, state, strict=True)
        )
        box = zip(after, system.variables.values(), strict=True)
        yield i, after if all(d.lower <= x <= d.upper for x, d in box) else None


def verdict(system: System, bad: Formula) -> str:
    """``safe``, or what is reached first on the way, ``unsafe`` or ``outside``, or ``both``; nothing follows unsafe."""
    seen, waiting, found = set(initial_states(system)), initial_states(system), set[str]()
    while waiting:
        state = waiting.pop()
        if holds(system, bad, state):
            found.add("unsafe")
            continue
        for _, after in successors(system, state):
            if after is None:
                found.add("outside")
            elif after not in seen:
                seen.add(after)
                waiting.append(after)
    return "both" if len(found) == 2 else next(iter(found), "safe")
