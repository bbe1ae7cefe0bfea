"""Strategies for expressions, regions, states, and random piecewise-linear systems.

All numbers are small multiples of 1/4, so that float64 computes them without rounding: floats and rationals must agree
to the last bit, ties and equalities included. Successors are clipped into the declared box, so that no run leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, ulp

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from venmas.logic.linear import Relation
from venmas.model import Condition, Expr, System, apply_network, argmax, clip, one_hot, switch, where
from venmas.model.evaluation.regions import bounding_box, sample, snap
from venmas.model.expressions.expr import All, Any, Variable, compare
from venmas.model.expressions.functions import absolute, maximum, minimum
from venmas.model.expressions.vector import Vector
from venmas.model.system.variables import Box
from venmas.nn import Network
from venmas.testing.networks import networks

BOX = 4
"""Real variables of `systems` lie in [-BOX, BOX]."""

MODES = 3
"""The integer variable of `systems` takes values 0 to MODES - 1."""

quarters: st.SearchStrategy[Fraction] = st.integers(-8, 8).map(lambda n: Fraction(n, 4))
relations = st.sampled_from(list(Relation))


@st.composite
def conditions(draw: st.DrawFn, atoms: tuple[Expr, ...], depth: int = 1) -> Condition:
    """A Boolean combination of comparisons over affine combinations of `atoms`."""
    if depth and draw(st.booleans()):
        parts = tuple(draw(st.lists(conditions(atoms, depth - 1), min_size=1, max_size=2)))
        return All(parts) if draw(st.booleans()) else Any(parts)
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

    def position() -> Expr:
        hot = one_hot(argmax((*parts, 0)), 3)
        return 1 * hot[0] - 2 * hot[1] + 3 * hot[2]

    def output() -> Expr:
        net = draw(st.sampled_from(nets))
        return apply_network(net, parts)[draw(st.integers(0, net.output_size - 1))]

    kinds: dict[str, Callable[[], Expr]] = {
        "affine": lambda: draw(affine(tuple(parts))),
        "max": lambda: maximum(*parts, draw(quarters)),
        "min": lambda: minimum(*parts),
        "abs": lambda: absolute(parts[0]),
        "argmax": lambda: argmax((parts[0], draw(quarters), parts[1])),
        "switch": lambda: switch(mode, {k: (parts[k % 2] if k < 2 else draw(quarters)) for k in range(MODES)}),
        "where": lambda: where(draw(conditions((*reals, mode))), *parts),
        "network": output,
        "one_hot": position,
    }
    return kinds[draw(st.sampled_from([k for k in kinds if nets or k != "network"]))]()


@st.composite
def modes(draw: st.DrawFn, reals: tuple[Expr, ...], mode: Expr, nets: tuple[Network, ...]) -> Expr:
    """An expression with values in 0 .. MODES - 1, integral by its form; the networks have MODES outputs."""
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
    """Variables x, y (real) and m (integer); two agents; branches that may be guarded, so deadlocks occur."""
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
        updates: dict[Variable | Vector, Expr | Vector] = {x: clip(new_x, -BOX, BOX), y: clip(new_y, -BOX, BOX)}
        if draw(st.booleans()):
            updates[m] = draw(modes((x, y), m, nets))
        system.branch(f"b{i}", updates, when=guard)
    for _ in range(draw(st.integers(1, 2))):
        system.initial(*draw(regions(x, y, m)))
    system.proposition("inside", (x > -1) & (x < 1))
    system.validate()
    return system


@st.composite
def regions(draw: st.DrawFn, x: Expr, y: Expr, m: Expr | None = None, scale: int = 1) -> list[Condition]:
    """A box or a polytope around a random point, which belongs to it; its faces may be strict or equalities.

    x and y: real variables whose ranges contain [-3 * scale, 3 * scale] and [-3, 3]; m: takes 0 .. MODES - 1, or is
    left out.
    """
    at = [draw(quarters) * scale, draw(quarters)]
    conditions: list[Condition] = []
    for variable, value, unit in zip((x, y), at, (scale, 1), strict=True):
        width = draw(st.sampled_from((Fraction(0), Fraction(1, 4), Fraction(1)))) * unit
        strict = width and draw(st.integers(0, 5)) == 0
        conditions += (
            [variable > value - width, variable < value + width]
            if strict
            else [variable >= value - width, variable <= value + width]
        )
    a, b = draw(quarters) / scale, draw(quarters)
    row, limit = a * x + b * y, a * at[0] + b * at[1]
    if a or b:
        rows: tuple[list[Condition], ...] = (
            [],
            [row <= limit],
            [row == limit],
            [row < limit + 1],
            [row != limit + 1],
        )
        conditions += rows[draw(st.integers(0, len(rows) - 1))]
    if m is not None and draw(st.booleans()):
        conditions.append(m == draw(st.integers(0, MODES - 1)))
    return conditions


@st.composite
def boxes(draw: st.DrawFn, system: System) -> Box:
    """A box inside the declared one: each side whole, a point, a few units in the last place, tiny, or a part.

    Sides of integers end at integers.
    """
    found: Box = {}
    for name, (low, high) in system.box.items():
        integral = system.variables[name].integral
        at = low + (high - low) * Fraction(draw(st.integers(0, 16)), 16)
        at = Fraction(floor(at)) if integral else at
        kind = draw(st.sampled_from(("whole", "point", "last place", "tiny", "part")))
        reach = {
            "whole": high - low,
            "point": Fraction(0),
            "last place": Fraction(ulp(float(at))),
            "tiny": (high - low) / 10**9,
            "part": (high - low) * Fraction(draw(st.integers(1, 8)), 16),
        }[kind]
        reach = Fraction(floor(reach)) if integral else reach
        found[name] = max(low, at - reach), min(high, at + reach)
    return found


@st.composite
def states(draw: st.DrawFn) -> dict[str, Fraction]:
    """Any state of `systems`."""
    x, y = (draw(st.integers(-4 * BOX, 4 * BOX)) for _ in range(2))
    return {"x": Fraction(x, 4), "y": Fraction(y, 4), "m": Fraction(draw(st.integers(0, MODES - 1)))}


@st.composite
def states_of(draw: st.DrawFn, system: System, box: Box | None = None) -> dict[str, Fraction]:
    """Any state of a system: exact, within `box` (the declared ranges by default), often at an end of a side."""
    found: dict[str, Fraction] = {}
    for name, (low, high) in (system.box if box is None else box).items():
        if system.variables[name].integral:
            found[name] = Fraction(draw(st.integers(ceil(low), floor(high))))
        else:
            part = draw(st.sampled_from((Fraction(0), Fraction(1), Fraction(1, 2))) | st.fractions(0, 1))
            found[name] = low + (high - low) * part
    return found


@st.composite
def initial_states(draw: st.DrawFn, system: System) -> dict[str, Fraction]:
    """An exact initial state: near a corner or the middle of one of the initial sets, or anywhere in it."""
    region = draw(st.sampled_from(system.regions))
    box = bounding_box(system, region)
    assume(box is not None)
    assert box is not None
    parts = [draw(st.sampled_from((0.0, 1.0, 0.5)) | st.floats(0, 1)) for _ in box]
    near = {n: float(low) + p * float(high - low) for (n, (low, high)), p in zip(box.items(), parts, strict=True)}
    point = snap(system, region, near)
    if point is None:
        point = next(iter(sample(system, region, np.random.default_rng(draw(st.integers(0, 999))), 1)), None)
    assume(point is not None)
    assert point is not None
    return point
