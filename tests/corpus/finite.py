"""Random finite systems with the truth by enumeration: integers and Booleans, kept in their ranges by construction."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random

from tests.corpus.random_parts import condition, expression, formula, integers, linear_atom, network
from tests.corpus.spec import Node, Spec, State, starts, step
from venmas.logic import FiniteModel, Formula, evaluate


@dataclass(frozen=True)
class FiniteCase:
    """A system, a formula, and whether every initial state satisfies it."""

    spec: Spec
    formula: Formula
    truth: bool


def model(spec: Spec) -> tuple[FiniteModel, list[int]]:
    """All states of the box with their successors, and which of them are initial."""
    names = list(spec.variables)
    ranges = [range(int(low), int(high) + 1) for _, low, high in spec.variables.values()]
    states: list[State] = [dict(zip(names, map(Fraction, point), strict=True)) for point in product(*ranges)]
    number = {tuple(s.values()): i for i, s in enumerate(states)}
    successors = [tuple(number[tuple(t[n] for n in names)] for t in step(spec, s) if t is not None) for s in states]
    return FiniteModel(len(states), tuple(successors), tuple(states)), [
        i for i, s in enumerate(states) if starts(spec, s)
    ]


def finite_spec(rng: Random) -> Spec:
    """One to three variables, one to three branches; guards, so deadlocks too; networks behind argmax."""
    variables: dict[str, tuple[str, Fraction, Fraction]] = {}
    for name in ("m", "n", "k")[: rng.randint(1, 3)]:
        if rng.random() < 0.3:
            variables[name] = ("boolean", Fraction(0), Fraction(1))
        else:
            low = rng.randint(-2, 1)
            variables[name] = ("integer", Fraction(low), Fraction(low + rng.randint(1, 4)))
    parts: list[Node] = [("var", name) for name in variables]
    nets = [network(rng, (len(parts), 4, 3), integers) for _ in range(rng.randint(0, 2))]
    branches = []
    for _ in range(rng.randint(1, 3)):
        updates = {n: _update(rng, variables, n, parts, nets) for n in variables if rng.random() < 0.8}
        guard = condition(rng, parts, integers) if rng.random() < 0.5 else None
        branches.append((guard, updates))
    initial = []
    for _ in range(rng.randint(1, 2)):
        if rng.random() < 0.5:  # a point
            at = [rng.randint(int(low), int(high)) for _, low, high in variables.values()]
            initial.append(("and", [("cmp", p, "==", v) for p, v in zip(parts, at, strict=True)]))
        else:
            ranges = [
                ("cmp", ("var", n), s, b)
                for n, (_, *ends) in variables.items()
                for s, b in zip((">=", "<="), ends, strict=True)
            ]
            initial.append(("and", [*ranges, condition(rng, parts, integers)]))
    return Spec(variables, tuple(branches), tuple(initial))


def _update(rng: Random, variables: dict, name: str, parts: list[Node], nets: list) -> Node:
    kind, low, high = variables[name]
    if rng.random() < 0.4:  # a table over a variable
        other = rng.choice(list(variables))
        keys = range(int(variables[other][1]), int(variables[other][2]) + 1)
        return ("switch", ("var", other), {k: ("const", rng.randint(int(low), int(high))) for k in keys})
    if rng.random() < 0.2 and kind == "boolean":
        return ("lin", [(Fraction(-1), ("var", name))], Fraction(1))
    return ("clip", expression(rng, parts, integers, nets, rng.randint(0, 2)), low, high)


def finite_case(seed: int) -> FiniteCase:
    """The case of a seed; systems without initial states are drawn again."""
    rng = Random(f"finite {seed}")
    while True:
        spec = finite_spec(rng)
        explicit, initial = model(spec)
        if not initial:
            continue
        atom = partial(linear_atom, names=tuple(spec.variables), number=integers)
        question = formula(rng, lambda r, atom=atom: atom(r), rng.choice((1, 2, 2, 3, 4)), rng.randint(3, 7))
        return FiniteCase(spec, question, set(initial) <= evaluate(question, explicit))
