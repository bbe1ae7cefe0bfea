"""Random expressions, conditions and formulas; every draw comes from one `random.Random`: a seed repeats a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from random import Random

from tests.corpus.spec import Node
from venmas.logic import (
    AX,
    EX,
    FALSE,
    TRUE,
    And,
    Atom,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Until,
)
from venmas.logic.linear import Comparison, LinearExpr, Relation

Number = Callable[[Random], Fraction]


def integers(rng: Random) -> Fraction:
    return Fraction(rng.randint(-2, 2))


def quarters(rng: Random) -> Fraction:
    return Fraction(rng.randint(-8, 8), 4)


def decimals(rng: Random) -> Fraction:
    return Fraction(rng.randint(-20, 20), 10)


def network(rng: Random, sizes: Sequence[int], number: Number) -> list[tuple[list[list[Fraction]], list[Fraction]]]:
    """Layers of (weights, biases); the numbers must be floats exactly, since weights are stored as floats."""
    return [
        ([[number(rng) for _ in range(n)] for _ in range(m)], [number(rng) for _ in range(m)])
        for n, m in pairwise(sizes)
    ]


def affine(rng: Random, parts: Sequence[Node], number: Number) -> Node:
    chosen = rng.sample(list(parts), rng.randint(1, len(parts)))
    return ("lin", [(number(rng) or Fraction(1), p) for p in chosen], number(rng))


def condition(rng: Random, parts: Sequence[Node], number: Number, depth: int = 1) -> Node:
    if depth and rng.random() < 0.4:
        several = [condition(rng, parts, number, depth - 1) for _ in range(2)]
        return (rng.choice(("and", "or")), several)
    found: Node = ("cmp", affine(rng, parts, number), rng.choice(("<", "<=", ">", ">=", "==", "!=")), number(rng))
    return ("not", found) if rng.random() < 0.2 else found


def expression(rng: Random, parts: Sequence[Node], number: Number, nets: Sequence[list], depth: int) -> Node:
    """A piecewise-linear expression, integral where the parts and the numbers are and it holds no network."""
    if depth == 0:
        return rng.choice((*parts, affine(rng, parts, number)))

    def inner() -> Node:
        return expression(rng, parts, number, nets, depth - 1)

    kinds = ["lin", "max", "min", "abs", "clip", "argmax", "where", "netmax"]
    match rng.choice(kinds):
        case "lin":
            return affine(rng, [inner(), inner()], number)
        case "max":
            return ("max", [inner(), inner(), ("const", number(rng))])
        case "min":
            return ("min", [inner(), inner()])
        case "abs":
            return ("abs", inner())
        case "clip":
            low = number(rng)
            return ("clip", inner(), low, low + abs(number(rng)))
        case "argmax":
            scores = [inner(), ("const", number(rng)), inner()]
            if rng.random() < 0.3:
                return ("among", scores, [condition(rng, parts, number) for _ in scores])
            return ("argmax", scores)
        case "where":
            return ("where", condition(rng, parts, number), inner(), inner())
        case _:
            if not nets:
                return inner()
            layers = rng.choice(nets)
            width = len(layers[0][0][0])
            inputs = [rng.choice(list(parts)) for _ in range(width)]
            scores = [("net", layers, inputs, i) for i in range(len(layers[-1][1]))]
            move: Node = ("argmax", scores)
            return ("switch", move, {i: inner() if i < 2 else ("const", number(rng)) for i in range(len(scores))})


def formula(rng: Random, atom: Callable[[Random], Formula], depth: int, size: int = 4) -> Formula:
    """A random formula that looks at most `depth` steps ahead."""
    if size <= 0 or rng.random() < 0.15:
        return atom(rng) if rng.random() < 0.93 else rng.choice((TRUE, FALSE))

    def inner(below: int = depth) -> Formula:
        return formula(rng, atom, below, size - rng.randint(1, 2))

    plain: list[Callable[[], Formula]] = [
        lambda: Not(inner()),
        lambda: And((inner(), inner())),
        lambda: Or((inner(), inner())),
        lambda: Implies(inner(), inner()),
        lambda: Iff(inner(), inner()),
    ]
    if depth < 1:
        return rng.choice(plain)()
    q = rng.choice((Quantifier.ALL, Quantifier.EXISTS))
    end = rng.randint(1, depth)
    start = rng.randint(0, end)
    rest = depth - end
    temporal: list[Callable[[], Formula]] = [
        lambda: AX(inner(depth - 1)),
        lambda: EX(inner(depth - 1)),
        lambda: Next(q, end, inner(rest)),
        lambda: Globally(q, start, end, inner(rest)),
        lambda: Finally(q, start, end, inner(rest)),
        lambda: Until(q, start, end, inner(rest), inner(rest)),
    ]
    return rng.choice(temporal if rng.random() < 0.65 else plain)()


def linear_atom(rng: Random, names: Sequence[str], number: Number) -> Formula:
    chosen = rng.sample(list(names), rng.randint(1, min(2, len(names))))
    terms = {name: number(rng) or Fraction(1) for name in chosen}
    return Atom(Comparison(LinearExpr.of(terms, number(rng)), rng.choice(list(Relation))))
