"""Strategies for systems that are hard on floating-point arithmetic and on the edges of the semantics."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from venmas.model import Condition, Expr, System, Vector, apply_network, argmax, clip, switch, where
from venmas.model.expressions.expr import Variable, compare
from venmas.testing.networks import adversarial_networks
from venmas.testing.systems import MODES, affine, conditions, quarters, regions, relations

SCALES = (1, 1, 1, 10**6, 10**9, 2**53)
"""Sizes of the range of x."""

LIMITS = (Fraction(0), Fraction(1, 2), Fraction(-1, 3), Fraction(1, 10), Fraction(5, 10**324))
"""Limits of guards: such that floats hold exactly and such that they do not."""


@st.composite
def adversarial_systems(
    draw: st.DrawFn, guards: bool = True, max_branches: int = 3, kinds: tuple[str, ...] = ()
) -> System:
    """A system around a hard network.

    Variables: x (real, of a small or a huge range), y (real, sometimes of a single value), m (integer with labels,
    sometimes of a single value), alarm (Boolean). One or two agents; branches whose guards meet at an edge, overlap in
    it, leave it out (a deadlock), or repeat each other; initial sets with strict faces, equalities and unions.
    Runs stay in the box. kinds: twists of the network, names of `venmas.testing.TWISTS`.
    """
    system = System("adversarial")
    scale = draw(st.sampled_from(SCALES))
    x = system.real("x", -4 * scale, 4 * scale, unit="ft")
    still = draw(st.integers(0, 4)) == 0
    y = system.real("y", -1, -1) if still else system.real("y", -4, 4)
    single = draw(st.integers(0, 3)) == 0
    m = system.integer("m", 1, 1) if single else system.integer("m", 0, MODES - 1, labels={0: "LOW", 2: "HIGH"})
    alarm = system.boolean("alarm")
    net = draw(adversarial_networks(2, MODES, kinds))
    scores = apply_network(net, (x / scale, y))
    action = system.agent(argmax(scores), name="choice", labels={0: "zero", 1: "one", 2: "two"})
    if draw(st.booleans()):
        system.agent(scores[0], name="score")
    for i, guard in enumerate(draw(_guards((x / scale, y, m), scores, guards, max_branches))):
        new_x = draw(_values((x / scale, y), scores, action)) * scale
        updates: dict[Variable | Vector, Expr | Vector] = {x: clip(new_x, -4 * scale, 4 * scale)}
        if not still and draw(st.booleans()):
            updates[y] = clip(draw(_values((y, x / scale), scores, action)), -4, 4)
        if not single and draw(st.booleans()):
            updates[m] = action + 0
        if draw(st.booleans()):
            updates[alarm] = where(draw(_edge((x / scale, y, m), scores)), 1, 0)
        system.branch(f"b{i}", updates, when=guard)
    for _ in range(draw(st.integers(1, 2))):
        if still:
            facets = [x == 0] if draw(st.booleans()) else [x > -scale, x <= scale]
        else:
            facets = draw(regions(x, y, None if single else m, scale))
        system.initial(*facets, *([alarm == 0] if draw(st.booleans()) else []))
    system.proposition("inside", (x > -scale) & (x < scale))
    system.validate()
    return system


@st.composite
def _values(draw: st.DrawFn, parts: tuple[Expr, ...], scores: Vector, action: Expr) -> Expr:
    """A new value, of the size of the first part."""
    match draw(st.sampled_from(("move", "score", "difference", "switch", "where", "stay"))):
        case "move":
            return parts[0] + draw(quarters)
        case "score":
            return scores[draw(st.integers(0, MODES - 1))] * draw(
                st.sampled_from((Fraction(1), Fraction(1, 2), Fraction(-1)))
            )
        case "difference":
            return scores[0] - scores[1] + parts[0]
        case "switch":
            return switch(action, {k: parts[0] * draw(quarters) + draw(quarters) for k in range(MODES)})
        case "where":
            return where(draw(_edge(parts, scores)), parts[0] + draw(quarters), scores[0])
        case _:
            return parts[0] + 0


@st.composite
def _edge(draw: st.DrawFn, parts: tuple[Expr, ...], scores: Vector) -> Condition:
    """A comparison of a state, or of what the network gives."""
    return compare(draw(_measured(parts, scores)), draw(relations), draw(st.sampled_from(LIMITS)))


@st.composite
def _measured(draw: st.DrawFn, parts: tuple[Expr, ...], scores: Vector) -> Expr:
    return scores[0] - scores[1] if draw(st.integers(0, 2)) == 0 else draw(affine(parts))


@st.composite
def _guards(
    draw: st.DrawFn, parts: tuple[Expr, ...], scores: Vector, guards: bool, most: int
) -> tuple[Condition | bool, ...]:
    """Guards of one to `most` branches."""
    if not guards:
        return (True,) * draw(st.integers(1, most))
    e, limit = draw(_measured(parts, scores)), draw(st.sampled_from(LIMITS))
    guarded: tuple[Condition | bool, ...]
    match draw(st.sampled_from(("none", "meet", "overlap", "gap", "point", "again", "any"))):
        case "none":
            guarded = (True, True)
        case "meet":
            guarded = (e < limit, e >= limit)
        case "overlap":
            guarded = (e <= limit, e >= limit)
        case "gap":
            guarded = (e < limit, e > limit)
        case "point":
            guarded = (e == limit, e != limit)
        case "again":
            guarded = (e <= limit, True, e <= limit)
        case _:
            guarded = (draw(conditions(parts)), True)
    return guarded[: draw(st.integers(1, most))]
