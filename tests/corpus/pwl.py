"""Random piecewise-linear systems over reals, checked by exact runs from many initial states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from random import Random
from types import MappingProxyType

from tests.corpus.random_parts import affine, condition, decimals, expression, formula, linear_atom, network, quarters
from tests.corpus.spec import Node, Spec, State, starts, step, value
from venmas.logic import Atom, Formula
from venmas.logic.linear import Comparison, LinearExpr, Relation

BOX = Fraction(4)


@dataclass(frozen=True)
class PwlCase:
    """A system, a formula, and some of its initial states: corners of the initial sets first."""

    spec: Spec
    formula: Formula
    points: tuple[State, ...]


def pwl_spec(
    rng: Random, noise: Mapping[str, tuple[Fraction, Fraction]] = MappingProxyType({})
) -> tuple[Spec, list[list[Node]]]:
    """Reals x, y, sometimes an integer m; one or two branches; also the initial sets as lists of comparisons.

    noise: disturbances by name, which updates, guards and networks may read.
    """
    number = rng.choice((quarters, decimals))
    variables = {"x": ("real", -BOX, BOX), "y": ("real", -BOX, BOX)}
    parts: list[Node] = [("var", "x"), ("var", "y")]
    if rng.random() < 0.4:
        variables["m"] = ("integer", Fraction(0), Fraction(2))
        parts.append(("var", "m"))
    states = list(parts)
    parts += [("var", name) for name in noise]
    inputs = [("var", "x"), ("var", "y")]
    if noise:  # what a sensor adds
        inputs[0] = ("lin", [(Fraction(1), inputs[0]), (Fraction(1), ("var", rng.choice(list(noise))))], Fraction(0))
    sizes = rng.choice(((2, 4, 3), (2, 4, 3), (2, 6, 6, 2)))
    layers = network(rng, sizes, lambda r: Fraction(r.randint(-4, 4), 4))
    outputs: list[Node] = [("net", layers, inputs, i) for i in range(sizes[-1])]
    action: Node = ("argmax", outputs)
    branches = []
    for _ in range(rng.randint(1, 2)):
        updates: dict[str, Node] = {}
        for name in ("x", "y"):
            if rng.random() < 0.85:
                updates[name] = ("clip", _update(rng, parts, outputs, action, number), -BOX, BOX)
        if "m" in variables and rng.random() < 0.7:
            updates["m"] = rng.choice(
                (
                    ("clip", ("lin", [(Fraction(1), ("var", "m"))], Fraction(rng.choice((-1, 1)))), 0, 2),
                    ("where", condition(rng, parts, number), ("const", 1), ("var", "m")),
                    ("argmax", [*inputs, ("const", number(rng))]),
                )
            )
        guard = condition(rng, parts, number) if rng.random() < 0.35 else None
        branches.append((guard, updates))
    regions = [_region(rng, states, number) for _ in range(rng.choice((1, 1, 2)))]
    return Spec(variables, tuple(branches), tuple(("and", r) for r in regions), noise), regions


def _update(rng: Random, parts: list[Node], outputs: list[Node], action: Node, number) -> Node:
    match rng.randint(0, 4):
        case 0:
            return affine(rng, parts, number)
        case 1:
            return ("lin", [(Fraction(1, 2), rng.choice(outputs)), (Fraction(1, 2), rng.choice(parts))], number(rng))
        case 2:
            return ("switch", action, {i: affine(rng, parts, number) for i in range(len(outputs))})
        case 3:
            return ("lin", [(Fraction(1), rng.choice(outputs)), (number(rng), rng.choice(outputs))], Fraction(0))
        case _:
            return expression(rng, parts, number, [], rng.randint(1, 2))


def _region(rng: Random, parts: list[Node], number) -> list[Node]:
    """A box, a polytope or a segment around a point, which belongs to it."""
    at = {"x": number(rng), "y": number(rng), "m": Fraction(rng.randint(0, 2))}
    found: list[Node] = []
    for name in ("x", "y"):
        width = rng.choice((Fraction(0), Fraction(1, 4), Fraction(1), Fraction(2)))
        sides = (">", "<") if width and rng.random() < 0.15 else (">=", "<=")
        found += [("cmp", ("var", name), s, at[name] + d) for s, d in zip(sides, (-width, width), strict=True)]
    if rng.random() < 0.5:
        row = affine(rng, parts[:2], number)
        here = value(row, at)
        found.append(
            ("cmp", row, *rng.choice((("<=", here), ("==", here), (">=", here), ("<", here + 1), ("<=", here + 1))))
        )
    if len(parts) > 2 and rng.random() < 0.5:
        found.append(("cmp", ("var", "m"), "==", at["m"]))
    return found


def points(rng: Random, spec: Spec, region: list[Node], count: int) -> list[State]:
    """Corners of a region in the plane (where two of its lines meet), and points between them, all of them exact."""
    lines = [("cmp", ("var", n), "==", b) for n in ("x", "y") for b in (-BOX, BOX)] + region
    rows = []
    for _, e, _, threshold in lines:
        zero = {"x": Fraction(0), "y": Fraction(0), "m": Fraction(0)}
        c = value(e, zero)
        a, b = value(e, zero | {"x": Fraction(1)}) - c, value(e, zero | {"y": Fraction(1)}) - c
        rows.append((a, b, Fraction(threshold) - c))
    corners = []
    for (a, b, e), (c, d, f) in combinations(rows, 2):
        if det := a * d - b * c:
            corners.append({"x": (e * d - b * f) / det, "y": (a * f - e * c) / det})
    several = [Fraction(i) for i in range(3)] if "m" in spec.variables else [None]
    closed = [("cmp", e, {"<": "<=", ">": ">="}.get(r, r), t) for _, e, r, t in region]
    whole = [s for p in corners for m in several if _member(spec, closed, s := p if m is None else p | {"m": m})]
    found = [s for s in whole if starts(spec, s)]
    for _ in range(count if whole else 0):
        chosen = rng.choices(whole, k=3)
        weights = [Fraction(rng.randint(1 if len(chosen) == 3 else 0, 16)) for _ in chosen]
        mixed = {n: sum(w * p[n] for w, p in zip(weights, chosen, strict=True)) / sum(weights) for n in ("x", "y")}
        s = mixed if several[0] is None else mixed | {"m": chosen[0]["m"]}
        if starts(spec, s):
            found.append(s)
    return list({tuple(s.values()): s for s in found}.values())


def _member(spec: Spec, region: list[Node], s: State) -> bool:
    return starts(Spec(spec.variables, (), (("and", region),)), s)


def touching_atom(rng: Random, spec: Spec, runs: list[State]) -> Formula:
    """A comparison whose limit is met exactly, or nearly, by a state that a run comes to."""
    names = list(spec.variables)
    terms = {n: Fraction(rng.choice((-2, -1, 1, 2))) for n in rng.sample(names, rng.randint(1, 2))}
    at = rng.choice(runs)
    limit = sum(c * at[n] for n, c in terms.items()) + rng.choice(
        (0, 0, Fraction(1, 8), Fraction(-1, 8), Fraction(1, 1000))
    )
    return Atom(Comparison(LinearExpr.of(terms, -limit), rng.choice(list(Relation))))


def pwl_case(seed: int, count: int = 120) -> PwlCase:
    """The case of a seed."""
    rng = Random(f"pwl {seed}")
    while True:
        spec, regions = pwl_spec(rng)
        found = [s for r in regions for s in points(rng, spec, r, count)]
        if not found:
            continue
        runs = list(found[:4])
        for s in runs[:4]:
            for t in step(spec, s):
                runs += [] if t is None else [t]
        plain = partial(linear_atom, names=tuple(spec.variables), number=quarters)

        def atom(r: Random, spec: Spec = spec, runs: list[State] = runs, plain=plain) -> Formula:
            return touching_atom(r, spec, runs) if r.random() < 0.5 else plain(r)

        question = formula(rng, atom, rng.choice((1, 1, 2, 2, 3)), rng.randint(2, 5))
        return PwlCase(spec, question, tuple(found))
