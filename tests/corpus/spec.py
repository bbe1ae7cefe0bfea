"""Systems as plain data, read twice: built with `venmas.model`, and interpreted here by a few lines of plain Python.

Nothing of the interpreter below comes from venmas: it is what the tool is compared with. Expressions are tuples:
("const", c), ("var", name), ("lin", [(c, e)], c0), ("max", [e]), ("min", [e]), ("abs", e), ("clip", e, lo, hi),
("argmax", [e]), ("among", [e], [cond]), ("net", layers, [e], i), ("switch", e, {k: e}), ("where", cond, e, e);
conditions are ("cmp", e, relation, c), ("and", [cond]), ("or", [cond]), ("not", cond).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

from venmas.logic import FiniteModel, Formula, evaluate
from venmas.model import System, absolute, apply_network, argmax, clip, maximum, minimum, switch, where
from venmas.nn.network import relu_network

Node = tuple[Any, ...]
State = dict[str, Fraction]

RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Spec:
    """Variables (name -> kind, least, greatest), branches (guard or None, updates), initial sets, and noise."""

    variables: Mapping[str, tuple[str, Fraction, Fraction]]
    branches: tuple[tuple[Node | None, Mapping[str, Node]], ...]
    initial: tuple[Node, ...]
    noise: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)


# -- interpretation ----------------------------------------------------------------------------------------------------


def value(e: Node, s: Mapping[str, Fraction]) -> Fraction:
    """The exact value of an expression."""
    match e:
        case ("const", c):
            return Fraction(c)
        case ("var", name):
            return s[name]
        case ("lin", terms, c):
            return Fraction(c) + sum(Fraction(k) * value(t, s) for k, t in terms)
        case ("max", parts):
            return max(value(p, s) for p in parts)
        case ("min", parts):
            return min(value(p, s) for p in parts)
        case ("abs", part):
            return abs(value(part, s))
        case ("clip", part, low, high):
            return min(max(value(part, s), Fraction(low)), Fraction(high))
        case ("argmax", parts):
            found = [value(p, s) for p in parts]
            return Fraction(found.index(max(found)))
        case ("among", parts, conditions):
            able = [i for i, c in enumerate(conditions) if truth(c, s)] or list(range(len(parts)))
            return Fraction(max(able, key=lambda i: (value(parts[i], s), -i)))
        case ("net", layers, inputs, index):
            x = [value(i, s) for i in inputs]
            for number, (weights, biases) in enumerate(layers):
                x = [
                    sum((Fraction(w) * v for w, v in zip(row, x, strict=True)), Fraction(b))
                    for row, b in zip(weights, biases, strict=True)
                ]
                if number < len(layers) - 1:
                    x = [max(v, Fraction(0)) for v in x]
            return x[index]
        case ("switch", selector, cases):
            return value(cases[int(value(selector, s))], s)
        case ("where", condition, then, otherwise):
            return value(then if truth(condition, s) else otherwise, s)
    raise ValueError(e)


def truth(c: Node, s: Mapping[str, Fraction]) -> bool:
    """The truth of a condition."""
    match c:
        case ("cmp", e, relation, threshold):
            return bool(RELATIONS[relation](value(e, s), Fraction(threshold)))
        case ("and", parts):
            return all(truth(p, s) for p in parts)
        case ("or", parts):
            return any(truth(p, s) for p in parts)
        case ("not", part):
            return not truth(part, s)
    raise ValueError(c)


def step(spec: Spec, s: State) -> list[State | None]:
    """The successor by each branch, None where its guard does not hold."""
    return [
        None if guard is not None and not truth(guard, s) else s | {name: value(e, s) for name, e in updates.items()}
        for guard, updates in spec.branches
    ]


def inside(spec: Spec, s: State) -> bool:
    """Is it a state at all?"""
    return all(
        low <= s[name] <= high and (kind == "real" or s[name].denominator == 1)
        for name, (kind, low, high) in spec.variables.items()
    )


def starts(spec: Spec, s: State) -> bool:
    """Is it an initial state?"""
    return inside(spec, s) and any(truth(c, s) for c in spec.initial)


def unrolled(spec: Spec, s: State, depth: int) -> FiniteModel:
    """What is reached from a state (number 0) in up to `depth` steps; there the model ends."""
    names = list(spec.variables)
    index = {tuple(s.values()): 0}
    states, successors, level = [s], [], [s]
    for _ in range(depth):
        following = []
        for here in level:
            targets = []
            for new in step(spec, here):
                if new is None:
                    continue
                assert inside(spec, new), f"{new} after {here}: the generator must keep systems in their box"
                key = tuple(new[n] for n in names)
                if key not in index:
                    index[key] = len(states)
                    states.append(new)
                    following.append(new)
                targets.append(index[key])
            successors.append(tuple(targets))
        level = following
    successors += [()] * (len(states) - len(successors))
    return FiniteModel(len(states), tuple(successors), tuple(states))


def holds(spec: Spec, formula: Formula, s: State) -> bool:
    """Truth of a formula in a state, by the oracle of `venmas.logic.evaluate` on what is reached from it."""
    return 0 in evaluate(formula, unrolled(spec, s, max(formula.depth, 1)))


# -- building ----------------------------------------------------------------------------------------------------------


def build(spec: Spec) -> System:
    """The same system for the tool."""
    system = System("random")
    for name, (kind, low, high) in spec.variables.items():
        match kind:
            case "real":
                system.real(name, low, high)
            case "integer":
                system.integer(name, int(low), int(high))
            case "boolean":
                system.boolean(name)
    for name, (low, high) in spec.noise.items():
        system.disturbance(name, low, high)
    made: dict[int, Any] = {}
    nets: dict[int, Any] = {}

    def expression(e: Node) -> Any:
        if id(e) not in made:  # what the data share, the graph shares
            made[id(e)] = fresh(e)
        return made[id(e)]

    def fresh(e: Node) -> Any:
        match e:
            case ("const", c):
                return Fraction(c)
            case ("var", name):
                return system[name]
            case ("lin", terms, c):
                return sum((Fraction(k) * expression(t) for k, t in terms), Fraction(c))
            case ("max", parts):
                return maximum(*map(expression, parts))
            case ("min", parts):
                return minimum(*map(expression, parts))
            case ("abs", part):
                return absolute(expression(part))
            case ("clip", part, low, high):
                return clip(expression(part), low, high)
            case ("argmax", parts):
                return argmax([expression(p) for p in parts])
            case ("among", parts, conditions):
                return argmax([expression(p) for p in parts], among=[condition(c) for c in conditions])
            case ("net", layers, inputs, index):
                key = id(layers), *(id(i) for i in inputs)
                if key not in nets:
                    floats = [[[float(w) for w in row] for row in weights] for weights, _ in layers]
                    net = relu_network(floats, [[float(b) for b in biases] for _, biases in layers])
                    nets[key] = apply_network(net, [expression(i) for i in inputs])
                return nets[key][index]
            case ("switch", selector, cases):
                return switch(expression(selector), {k: expression(c) for k, c in cases.items()})
            case ("where", test, then, otherwise):
                return where(condition(test), expression(then), expression(otherwise))
        raise ValueError(e)

    def condition(c: Node) -> Any:
        match c:
            case ("cmp", e, relation, threshold):
                left = expression(e)
                return RELATIONS[relation](left, Fraction(threshold))
            case ("and", parts):
                return reduce(operator.and_, map(condition, parts))
            case ("or", parts):
                return reduce(operator.or_, map(condition, parts))
            case ("not", part):
                return ~condition(part)
        raise ValueError(c)

    for i, (guard, updates) in enumerate(spec.branches):
        system.branch(
            f"b{i}",
            {system[name]: expression(e) for name, e in updates.items()},
            when=True if guard is None else condition(guard),
        )
    for c in spec.initial:
        system.initial(condition(c))
    system.validate()
    return system
