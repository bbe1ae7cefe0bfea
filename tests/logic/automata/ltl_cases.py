"""Random formulas of LTL, and all words of a shape at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from venmas.logic import FALSE, TRUE, And, Formula, Iff, Implies, Not, Or
from venmas.logic.lassos import Words
from venmas.logic.paths import Leaf, Proposition, R, U, X, finally_, globally, strong_release, weak_until

A, B, C = (Proposition(name) for name in "abc")


@cache
def shapes(atoms: tuple[Leaf, ...], longest: int) -> tuple[Words, ...]:
    """Every lasso of at most so many letters over the atoms: a `Words` for each length and position to go back to."""
    found = []
    for length in range(1, longest + 1):
        bits = length * len(atoms)
        count = 1 << bits
        every = (1 << count) - 1

        def column(bit: int, count: int = count) -> int:
            # the numbers 0 to count - 1 that have this bit, as bits
            block, width = ((1 << (1 << bit)) - 1) << (1 << bit), 2 << bit
            while width < count:
                block |= block << width
                width *= 2
            return block

        truth = {a: tuple(column(i * len(atoms) + k) for i in range(length)) for k, a in enumerate(atoms)}
        found += [Words(truth, length, back, every) for back in range(length)]
    return tuple(found)


def random_formula(draw: random.Random, size: int, atoms: tuple[Leaf, ...] = (A, B)) -> Formula:
    """A formula of about `size` nodes."""
    if size <= 1:
        return draw.choice((*atoms, *atoms, *atoms, *map(Not, atoms), TRUE, FALSE))
    if size == 2 or draw.random() < 0.45:
        unary = draw.choice((Not, X, X, finally_, globally, finally_, globally))
        return unary(random_formula(draw, size - 1, atoms))
    left = draw.randint(1, size - 2)
    p, q = random_formula(draw, left, atoms), random_formula(draw, size - 1 - left, atoms)
    kind = draw.choice(("and", "and", "or", "or", "implies", "iff", "U", "U", "R", "R", "W", "M"))
    match kind:
        case "and":
            return And((p, q))
        case "or":
            return Or((p, q))
        case "implies":
            return Implies(p, q)
        case "iff":
            return Iff(p, q)
        case "U":
            return U(p, q)
        case "R":
            return R(p, q)
        case "W":
            return weak_until(p, q)
        case _:
            return strong_release(p, q)


def random_formulas(seed: int, count: int, largest: int = 8) -> Iterator[Formula]:
    """Random formulas over two atoms."""
    draw = random.Random(seed)
    for _ in range(count):
        yield random_formula(draw, draw.randint(1, largest))
