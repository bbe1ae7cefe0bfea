"""Random piecewise-linear systems for Hypothesis.

All numbers are small multiples of 1/4, so that float64 computes them without rounding: floats and rationals must agree
to the last bit, ties and equalities included. Successors are clipped into the declared box, so that no run leaves it.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from venmas.linear import Relation
from venmas.model import Condition, Expr, System, apply_network, argmax, clip, one_hot, switch, where
from venmas.model.expr import All, Any, compare
from venmas.model.functions import absolute, maximum, minimum
from venmas.nn import Network, relu_network

BOX = 4
"""Real variables lie in [-BOX, BOX]."""

MODES = 3
"""The integer variable takes values 0 to MODES - 1."""

quarters = st.integers(-8, 8).map(lambda n: Fraction(n, 4))
relations = st.sampled_from(list(Relation))


def _floats(draw: st.DrawFn, *shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(-4, 4), min_size=count, max_size=count))
    return np.array(values, dtype=float).reshape(shape) / 2


@st.composite
def networks(draw: st.DrawFn, sizes: tuple[int, ...] = (2, 4, 3)) -> Network:
    """A ReLU network of the given widths with small dyadic weights."""
    weights = [_floats(draw, m, n) for n, m in pairwise(sizes)]
    return relu_network(weights, [_floats(draw, m) for m in sizes[1:]], name="random")


@st.composite
def conditions(draw: st.DrawFn, atoms: tuple[Expr, ...], depth: int = 1) -> Condition:
    """A Boolean combination of comparisons over affine combinations of `atoms`."""
    if depth and draw(st.booleans()):
        parts = tuple(draw(st.lists(conditions(atoms, depth - 1), min_size=1, max_size=2)))
        return draw(st.sampled_from((All, Any)))(parts)
    condition = compare(draw(affine(atoms)), draw(relations), draw(quarters))
    return ~condition if draw(st.booleans()) else condition


@st.composite
def affine(draw: st.DrawFn, atoms: tuple[Expr, ...]) -> Expr:
    """A small affine combination of `atoms`."""
    total = atoms[0] * draw(quarters) + draw(quarters)
    for atom in atoms[1:]:
        total = total + atom * draw(quarters)
    return total


@st.composite
def expressions(
    draw: st.DrawFn, reals: tuple[Expr, ...], mode: Expr, depth: int = 2, nets: tuple[Network, ...] = ()
) -> Expr:
    """A random expression over two real variables and an integer one with values 0 .. MODES - 1."""
    if depth == 0:
        return draw(affine((*reals, mode)))
    parts = [draw(expressions(reals, mode, depth - 1, nets)) for _ in range(2)]
    kinds: dict[str, Callable[[], Expr]] = {
        "affine": lambda: draw(affine(tuple(parts))),
        "max": lambda: maximum(*parts, draw(quarters)),
        "min": lambda: minimum(*parts),
        "abs": lambda: absolute(parts[0]),
        "argmax": lambda: argmax((parts[0], draw(quarters), parts[1])),
        "switch": lambda: switch(mode, {k: (parts[k % 2] if k < 2 else draw(quarters)) for k in range(MODES)}),
        "where": lambda: where(draw(conditions((*reals, mode))), *parts),
        "network": lambda: apply_network(draw(st.sampled_from(nets)), parts)[draw(st.integers(0, 2))],
        "one_hot": lambda: sum(c * e for c, e in zip((1, -2, 3), one_hot(argmax((*parts, 0)), 3), strict=True)),
    }
    return kinds[draw(st.sampled_from([k for k in kinds if nets or k != "network"]))]()


@st.composite
def modes(draw: st.DrawFn, reals: tuple[Expr, ...], mode: Expr, nets: tuple[Network, ...]) -> Expr:
    """An expression with values in 0 .. MODES - 1, integral by its form."""
    kinds: dict[str, Callable[[], Expr]] = {
        "same": lambda: mode + 0,
        "argmax": lambda: argmax(apply_network(draw(st.sampled_from(nets)), reals)),
        "switch": lambda: switch(mode, {k: draw(st.integers(0, MODES - 1)) for k in range(MODES)}),
        "where": lambda: where(draw(conditions((*reals, mode))), mode, draw(st.integers(0, MODES - 1))),
        "min": lambda: minimum(mode + 1, MODES - 1),
    }
    return kinds[draw(st.sampled_from(list(kinds)))]()


@st.composite
def systems(draw: st.DrawFn, guards: bool = True, max_branches: int = 3, depth: int = 2) -> System:
    """Variables x, y (real) and m (integer); one or two agents; branches that may be guarded, so deadlocks occur."""
    system = System("random")
    x, y = system.real("x", -BOX, BOX), system.real("y", -BOX, BOX)
    m = system.integer("m", 0, MODES - 1)
    nets = tuple(draw(st.lists(networks(), min_size=1, max_size=2)))
    scores = apply_network(nets[0], (x / 2, y / 2))
    action = system.agent(argmax(scores), name="choice", labels={0: "zero", 1: "one", 2: "two"})
    force = system.agent(clip(scores[0], -1, 1), name="force", unit="N")
    for i in range(draw(st.integers(1, max_branches))):
        new_x = draw(expressions((x, y), m, depth, nets)) + force * draw(quarters)
        new_y = switch(action, {k: y * draw(quarters) + draw(quarters) for k in range(3)})
        guard = draw(conditions((x, y, m))) if guards and draw(st.integers(0, 2)) == 0 else True
        updates = {x: clip(new_x, -BOX, BOX), y: clip(new_y, -BOX, BOX)}
        if draw(st.booleans()):
            updates[m] = draw(modes((x, y), m, nets))
        system.branch(f"b{i}", updates, when=guard)
    for _ in range(draw(st.integers(1, 2))):
        system.initial(*draw(regions(x, y, m)))
    system.proposition("inside", (x > -1) & (x < 1))
    system.validate()
    return system


@st.composite
def regions(draw: st.DrawFn, x: Expr, y: Expr, m: Expr) -> list[Condition]:
    """A box or a polytope around a random point, which belongs to it; its faces may be strict or equalities."""
    at = [draw(quarters), draw(quarters)]
    found: list[Condition] = []
    for variable, value in zip((x, y), at, strict=True):
        width = draw(st.sampled_from((0, Fraction(1, 4), 1)))
        found += [variable >= value - width, variable <= value + width]
    a, b = draw(quarters), draw(quarters)
    row, value = a * x + b * y, a * at[0] + b * at[1]
    if isinstance(row, Expr) and (a or b):
        found += draw(st.sampled_from(([], [row <= value], [row == value], [row < value + 1], [row != value + 1])))
    if draw(st.booleans()):
        found.append(m == draw(st.integers(0, MODES - 1)))
    return found


@st.composite
def states(draw: st.DrawFn) -> dict[str, Fraction]:
    """Any state of a random system."""
    x, y = (draw(st.integers(-4 * BOX, 4 * BOX)) for _ in range(2))
    return {"x": Fraction(x, 4), "y": Fraction(y, 4), "m": Fraction(draw(st.integers(0, MODES - 1)))}
