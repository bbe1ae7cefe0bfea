"""Systems and formulas that are small to write and long to decide: whatever a loop's length may depend on is large.

Every kind is made from a seed; numbers are random, sizes hardly are, so that each case is long for some mode.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np

from venmas.logic import AX, EX, And, Atom, Formula, Globally, Or, Quantifier
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model import Condition, Expr, System, apply_network, argmax, clip, switch, where
from venmas.model.expressions.expr import Sum
from venmas.model.expressions.functions import absolute, maximum, minimum
from venmas.nn import Layer, Network

Case = tuple[System, str | Formula]


def _network(rng: Random, *sizes: int) -> Network:
    numbers = np.random.default_rng(rng.randrange(2**32))
    layers = []
    for i, (n, m) in enumerate(pairwise(sizes)):
        weight = np.round(numbers.normal(0, 1.5 / n**0.5, (m, n)), 4)
        layers.append(Layer(weight, np.round(numbers.normal(0, 0.1, m), 4), "relu" if i < len(sizes) - 2 else "linear"))
    return Network(tuple(layers))


def _number(rng: Random, size: int = 4) -> Fraction:
    return Fraction(rng.randint(-100 * size, 100 * size), 100)


def _plane(rng: Random, name: str = "costly") -> tuple[System, list[Expr]]:
    system = System(name)
    return system, [system.real("x", -10, 10), system.real("y", -10, 10)]


def _affine(rng: Random, parts: list[Expr]) -> Expr:
    return Sum(tuple((_number(rng, 1) or Fraction(1), part) for part in parts), _number(rng, 1))


def _condition(rng: Random, parts: list[Expr], depth: int = 2) -> Condition:
    if depth == 0:
        made = _affine(rng, parts)
        return made <= _number(rng) if rng.random() < 0.7 else made != _number(rng)
    left, right = (_condition(rng, parts, depth - 1) for _ in range(2))
    return left & right if rng.random() < 0.5 else left | right


def _nested(rng: Random, parts: list[Expr], depth: int) -> Expr:
    made = _affine(rng, parts)
    for _ in range(depth):
        other = _affine(rng, parts)
        match rng.randrange(4):
            case 0:
                made = where(_condition(rng, [*parts, made], 1), made, other)
            case 1:
                made = switch(argmax((made, other, _number(rng))), {0: made, 1: other, 2: made + other})
            case 2:
                made = maximum(made, other, absolute(made - other) / 2)
            case _:
                made = minimum(made + argmax((other, made)), other)
    return clip(made, -10, 10)


def branches(rng: Random) -> Case:
    """Branches whose guards and values hang on integers and reals."""
    system, reals = _plane(rng)
    modes = [system.integer(f"m{i}", 0, 9) for i in range(2)]
    every = [*reals, *modes]
    for i in range(rng.randint(8, 14)):
        system.branch(
            f"b{i}",
            {v: _nested(rng, every, 3) for v in reals}
            | {
                m: clip(where(_condition(rng, every), m + rng.randint(1, 3), argmax((reals[0], reals[1]))), 0, 9)
                for m in modes
            },
            when=_condition(rng, every),
        )
    system.initial(reals[0] >= -1, reals[0] <= 1, reals[1] >= -1, reals[1] <= 1)
    return system, f"AG^{rng.randint(3, 12)} (x + y < 19.5)"


def nested(rng: Random) -> Case:
    """Choices inside choices, many levels deep."""
    system, reals = _plane(rng)
    system.branch("b", {v: _nested(rng, reals, rng.randint(10, 35)) for v in reals})
    system.initial(reals[0] >= -5, reals[0] <= 5, reals[1] >= -5, reals[1] <= 5)
    return system, f"AG^{rng.randint(2, 8)} (x < 9.99)"


def wide_switch(rng: Random) -> Case:
    """A switch of a thousand cases, its selector an integer that moves, or an argmax of a thousand scores."""
    system, reals = _plane(rng)
    size = 1000
    m = system.integer("m", 0, size - 1)
    scores = [_affine(rng, reals) for _ in range(size)]
    chosen = argmax(scores)
    table = {k: _affine(rng, reals) for k in range(size)}
    system.branch("a", {reals[0]: clip(switch(m, table), -10, 10), m: chosen})
    system.branch("b", {reals[1]: clip(switch(chosen, table), -10, 10), m: clip(m + 1, 0, size - 1)})
    system.initial(reals[0] >= -1, reals[0] <= 1, reals[1] >= -1, reals[1] <= 1)
    return system, f"AG^{rng.randint(2, 6)} (x < 9.99)"


def _looped(rng: Random, net: Network, horizon: int) -> Case:
    system, reals = _plane(rng)
    out = apply_network(net, reals)
    system.branch("b", {v: clip(v / 2 + out[i], -10, 10) for i, v in enumerate(reals)})
    system.initial(reals[0] >= -1, reals[0] <= 1, reals[1] >= -1, reals[1] <= 1)
    return system, f"AG^{horizon} (x + y < 19)"


def wide_network(rng: Random) -> Case:
    """Layers of hundreds of units."""
    return _looped(
        rng, _network(rng, 2, *rng.choice(((400, 400), (2000,), (1000, 1000), (50, 50, 50))), 2), rng.randint(1, 10)
    )


def deep_network(rng: Random) -> Case:
    """Dozens of layers."""
    return _looped(rng, _network(rng, 2, *rng.choice(([20] * 60, [6] * 300, [60] * 30)), 2), rng.randint(1, 10))


def integers(rng: Random) -> Case:
    """Integers of large ranges: states one by one are many, and so are the initial ones."""
    system = System("costly")
    a, b = system.integer("a", 0, 10**6), system.integer("b", 0, 10**6)
    for i in range(3):
        guard = 3 * a - 7 * b != rng.randint(-99, 99)
        system.branch(f"b{i}", {a: clip(a + b - rng.randint(0, 9), 0, 10**6), b: clip(2 * b - a, 0, 10**6)}, when=guard)
    top = rng.choice((100, 1000, 10**6))
    system.initial(a <= top, b <= top, a + b >= 3, 5 * a - 3 * b != 7)
    return system, f"AG^{rng.randint(3, 30)} (a + b < 1999999)"


def variables(rng: Random) -> Case:
    """Hundreds of variables, each moved by all."""
    system = System("costly")
    size = rng.choice((100, 300))
    every: list[Expr] = [system.real(f"v{i}", -10, 10) for i in range(size)]
    system.branch("b", {v: clip(_affine(rng, every) / size, -10, 10) for v in every})
    system.initial(*(v >= -1 for v in every), *(v <= 1 for v in every))
    return system, f"AG^{rng.randint(2, 9)} (v0 + v1 < 19)"


def chain(rng: Random) -> Case:
    """Expressions that share their parts, so that written out they would be exponentially long."""
    system, reals = _plane(rng)
    made = list(reals)
    for i in range(rng.randint(15, 30)):
        made = [clip(_affine(rng, made), -10, 10), maximum(_affine(rng, made), made[i % 2]) / 2]
    system.branch("b", {v: clip(e, -10, 10) for v, e in zip(reals, made, strict=True)})
    system.initial(reals[0] >= -1, reals[0] <= 1, reals[1] >= -1, reals[1] <= 1)
    return system, f"AG^{rng.randint(3, 20)} (x + y < 19.9)"


def _simple(rng: Random) -> tuple[System, list[Expr]]:
    system, reals = _plane(rng)
    x, y = reals
    m = system.integer("m", 0, 5)
    system.branch(
        "a", {x: clip(x / 2 + y / 4, -10, 10), y: clip(y - x / 10, -10, 10), m: where(x > 0, clip(m + 1, 0, 5), m)}
    )
    system.branch("b", {x: clip(x - y, -10, 10), m: 0}, when=x + y != 1)
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1, m == 0)
    return system, [x, y, m]


def _atom(rng: Random) -> Formula:
    terms = {"x": _number(rng, 1), "y": _number(rng, 1), "m": Fraction(rng.randint(0, 2))}
    return Atom(Comparison(LinearExpr.of(terms, _number(rng, 9)), rng.choice(list(Relation))))


def flat(rng: Random) -> Case:
    """Thousands of operands side by side, some of them looking ahead."""
    system, _ = _simple(rng)
    kinds: list[Callable[[Formula], Formula]] = [
        lambda p: p,
        AX,
        EX,
        lambda p: Globally(Quantifier.ALL, 1, 3, p),
        lambda p: Globally(Quantifier.EXISTS, 1, 3, p),
    ]
    few = rng.sample(kinds, rng.randint(1, 3))
    operands = tuple(rng.choice(few)(_atom(rng)) for _ in range(8000))
    return system, rng.choice((And, Or))(operands)


def flat_text(rng: Random) -> Case:
    """The same as text, as long as a text may be."""
    system, _ = _simple(rng)
    before = rng.choice(("", "AX ", "EX ", "AG^2 "))
    sign = rng.choice(("&", "|"))
    return system, sign.join(f"{before}({rng.randint(1, 99)}*x<{rng.randint(0, 99)})" for _ in range(8200))


def alternating(rng: Random) -> Case:
    """Conjunctions and disjunctions inside each other, with steps between."""
    system, _ = _simple(rng)
    made = _atom(rng)
    for i in range(180):
        parts = (made, _atom(rng), AX(_atom(rng)) if i % 3 else _atom(rng))
        made = (And if i % 2 else Or)(parts)
        if i % 30 == 0:
            made = (AX if i % 60 else EX)(made)
    return system, made


def horizon(rng: Random) -> Case:
    """A thousand steps, one inside the other."""
    system, _ = _simple(rng)
    return system, rng.choice(("AG^1000 (x + y < 30)", "AF^1000 (x > 20)", "A(y < 9 U^300 E(x < 9 U^300 m > 4))"))


def regions(rng: Random) -> Case:
    """Hundreds of initial sets."""
    system, reals = _plane(rng)
    m = system.integer("m", 0, 99)
    system.branch("b", {v: _nested(rng, reals, 2) for v in reals} | {m: clip(m + argmax(reals), 0, 99)})
    for i in range(500):
        at = _number(rng)
        system.initial(reals[0] >= at, reals[0] + reals[1] <= at + 1, reals[1] >= at - 1, m == i % 100)
    return system, f"AG^{rng.randint(3, 30)} (x + y < 19.9)"


def unequal(rng: Random) -> Case:
    """Comparisons by ``!=``, each of which cuts its surroundings in two."""
    system, reals = _plane(rng)
    every = list(reals)
    guards = [_affine(rng, every) != _number(rng) for _ in range(30)]
    for i in range(3):
        values = [where(guards[(7 * i + j) % 30], _affine(rng, every), every[j % 2]) for j in range(10)]
        guard = guards[10 * i]
        for other in guards[10 * i : 10 * i + 10]:
            guard = guard & other
        system.branch(
            f"b{i}", {reals[0]: clip(maximum(*values), -10, 10), reals[1]: clip(values[0] / 2, -10, 10)}, when=guard
        )
    nine = [reals[0] + k * reals[1] != 1 for k in range(1, 10)]
    system.initial(reals[0] >= -1, reals[0] <= 1, reals[1] >= -1, reals[1] <= 1, *nine)
    return system, f"AG^{rng.randint(2, 9)} (x + y < 19.9)"


def counters(rng: Random) -> Case:
    """Integers alone, a hundred thousand states of them, and a formula of thousands of operands."""
    system = System("costly")
    every = [system.integer(f"c{i}", 0, 9) for i in range(5)]
    for i in range(4):
        moved = every[i] + (every[i + 1] if i % 2 else 1)
        system.branch(f"b{i}", {every[i]: where(moved > 9, moved - 10, moved)}, when=every[i] != every[i + 1] + 1)
    system.initial(*(c <= rng.choice((1, 9)) for c in every))
    operands = []
    for _ in range(rng.choice((30, 3000))):
        terms = {f"c{i}": Fraction(rng.randint(-5, 5)) for i in range(5)}
        operands.append(Atom(Comparison(LinearExpr.of(terms, rng.randint(-5, 99)), Relation.GT)))
    return system, Globally(Quantifier.ALL, 1, rng.randint(3, 40), rng.choice((And, Or))(tuple(operands)))


def query(rng: Random) -> Case:
    """One step of a network, and a condition of hundreds of parts about it."""
    system = System("costly")
    every = [system.real(f"x{i}", -10, 10) for i in range(5)]
    out = apply_network(_network(rng, 5, *rng.choice(((50, 50, 50), (400, 400), (1000, 1000))), 5), every)
    system.branch("b", {v: out[i] / 10 for i, v in enumerate(every)})
    system.initial(*(v >= -1 for v in every), *(v <= 1 for v in every))
    terms = [{f"x{i}": _number(rng, 1) for i in range(5)} for _ in range(600)]
    atoms = [Atom(Comparison(LinearExpr.of(t, 9 + _number(rng)), Relation.GT)) for t in terms]
    parts = tuple(Or(tuple(atoms[i : i + 3])) for i in range(0, 600, 3))
    return system, AX(And(parts))


def outputs(rng: Random) -> Case:
    """The greatest of hundreds of outputs of a network."""
    system, reals = _plane(rng)
    m = system.integer("m", 0, 299)
    chosen = argmax(apply_network(_network(rng, 2, 30, 300), reals))
    moved = switch(chosen, {k: reals[0] * _number(rng, 1) + _number(rng, 1) for k in range(300)})
    system.branch("b", {reals[0]: clip(moved, -10, 10), reals[1]: clip(reals[1] - m / 100, -10, 10), m: chosen})
    system.initial(reals[0] >= -1, reals[0] <= 1, reals[1] >= -1, reals[1] <= 1)
    return system, f"AG^{rng.randint(2, 9)} (x < 9.99)"


KINDS: tuple[Callable[[Random], Case], ...] = (
    branches,
    nested,
    wide_switch,
    wide_network,
    deep_network,
    integers,
    variables,
    chain,
    flat,
    flat_text,
    alternating,
    horizon,
    regions,
    unequal,
    counters,
    query,
    outputs,
)


def costly(number: int) -> Case:
    """The case of a number: kinds in turn, each time with other random numbers."""
    return KINDS[number % len(KINDS)](Random(number))
