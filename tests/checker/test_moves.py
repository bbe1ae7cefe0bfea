"""Moves of a kind: what the exact simulator does in every state with these integers and outcomes."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from tests.checker.graphs import ladder, leaving, mixed, open_case, plane
from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build
from venmas.checker.exact.cell import fraction
from venmas.checker.exact.moves import NotAffineError, OpenChoiceError, behaviour
from venmas.checker.goals.lemmas import Book
from venmas.logic import TRUE
from venmas.model import System, load_scenario
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import ArgMax

MADE = {
    "ladder": ladder,
    "open case": open_case,
    "plane": plane,
    "mixed": mixed,
    "leaving": leaving,
    "vcas": lambda: load_scenario("vcas").system(climb0="-19.5"),
    **{f"pwl-{seed}": lambda seed=seed: build(pwl_case(seed).spec) for seed in range(8)},
}


def _state(rng: Random, system: System) -> dict[str, Fraction]:
    found = {}
    for name, decl in system.variables.items():
        low, high = decl.lower, decl.upper
        value = low + (high - low) * rng.choice((Fraction(rng.randint(0, 64), 64), Fraction(rng.randint(0, 4), 4)))
        found[name] = Fraction(round(value)) if decl.integral else value
    return found


@pytest.mark.parametrize("name", MADE)
def test_moves_are_those_of_the_simulator(name):
    system, rng, told = MADE[name](), Random(3), 0
    choices = Book(system, TRUE, "real").choices
    for _ in range(40):
        state = _state(rng, system)
        here = Exact(state)
        bits = []
        for node in choices:
            own = int(here.value(node)) if isinstance(node, ArgMax) else int(here.truth(node))
            bits.append((node, 1 << own))
        if bits and len(choices) < 12 and rng.random() < 0.5:  # another outcome is allowed for besides
            at = rng.randrange(len(bits))
            bits[at] = bits[at][0], 3 | bits[at][1]
        integers = [int(state[n]) for n, d in system.variables.items() if d.integral]
        try:
            made = behaviour(system, integers, bits)
        except (NotAffineError, OpenChoiceError):
            continue
        told += 1
        point = [state[n] for n, d in system.variables.items() if not d.integral]
        after = []
        for branch in system.branches:
            if here.truth(branch.guard):
                after.append(state | {n: here.value(e) for n, e in branch.updates})
        found = []
        for move in made.moves:
            numbers = iter(move.integers)
            pairs = [list(zip(form[1:], point, strict=True)) for form in move.forms]
            values = iter(
                fraction(f[0]) + sum(fraction(c) * v for c, v in p) for f, p in zip(move.forms, pairs, strict=True)
            )
            decls = system.variables.items()
            found.append({n: Fraction(next(numbers)) if d.integral else next(values) for n, d in decls})
        cases = [[found[m] for m in case] for case in made.cases]
        assert any(all(s in case for s in after) and all(s in after for s in case) for case in cases)
    assert told or name.startswith("pwl")


def test_what_has_to_be_known_is_asked_for():
    system = ladder()
    with pytest.raises(OpenChoiceError):
        behaviour(system, [0, 0], [])
    choices = Book(system, TRUE, "real").choices
    with pytest.raises(NotAffineError, match="combinations"):
        behaviour(system, [0, 0], [(n, 255) for n in choices])
