"""Covers in parts of random chains of variables: what runs refute is refused, in whatever parts and on any grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.checker.test_covers_check import FINE
from tests.procedures.covers.systems import chain
from tests.slow import some_examples
from venmas import System
from venmas.budget import Budget, BudgetError
from venmas.checker.covers import check as checks
from venmas.checker.covers.grid import Cut, Finer, Grid
from venmas.checker.covers.parts import Hull, Loop, Part, Ranges, change
from venmas.checker.exact.initial import initial_box
from venmas.checker.file import KINDS
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End
from venmas.model.evaluation.regions import contains
from venmas.model.evaluation.simulate import Exact

Parts = Sequence[tuple[Sequence[str], Grid]]
STEPS, RUNS = 6, 12
MARGINS = [Fraction(-1), Fraction(-1, 4), Fraction(-1, 50), Fraction(-1, 10**7), Fraction(1, 2)]


def passed(system: System, seed: int) -> list[list[dict[str, Fraction]]]:
    """States of random runs by step, exactly, with what the step to each has changed."""
    rng, made = np.random.default_rng(seed), list[list[dict[str, Fraction]]]()
    layer = []
    for region in system.regions * RUNS:
        box = initial_box(system, region) or ()
        shares = [Fraction(int(rng.choice([0, 0, 1, 2, 2])), 2) for _ in box]
        point = {n: a + (b - a) * s for n, (a, b), s in zip(system.variables, box, shares, strict=True)}
        layer += [point] if contains(region, point) else []
    while layer and len(made) <= STEPS:
        made.append(layer)
        layer, before = [], layer
        for state in before:
            at = Exact({**state, "w": Fraction(int(rng.choice([-8, -8, 3, 8, 8])), 64)})
            if ways := [branch for branch in system.branches if at.truth(branch.guard)]:
                updates = dict(ways[rng.integers(len(ways))].updates)
                after = {n: at.value(updates[n]) if n in updates and n != "w" else state[n] for n in system.variables}
                layer.append(after | {change(n): after[n] - state[n] for n in after})
    return made


def drawn_parts(system: System, states: Sequence[Sequence[Mapping[str, Fraction]]], rng: np.random.Generator) -> Parts:
    """The variables in parts, mostly in the order in which they read each other, with a random grid of each; some have
    what they read of others again."""
    loop, made, before = Loop(system), list[tuple[Sequence[str], Grid]](), set[str]()
    names = [n for n in system.variables if n in loop.moved]
    ends = sorted({0, len(names), *(min(int(k), len(names)) for k in rng.integers(2, 6, size=2))})
    parts = [names[a:b] for a, b in pairwise(ends)]
    for new in parts if rng.integers(8) else rng.permutation(np.array(parts, dtype=object)).tolist():
        again = loop.read_by(new) & before if rng.integers(2) else frozenset[str]()
        part = [*sorted(again), *new]
        before |= {*new}
        n, along, stride = len(part), int(rng.integers(2, 7)), int(rng.integers(1, 4))
        wide = np.array([max(float(max(v) - min(v)), 0.05) for v in ([s[x] for t in states for s in t] for x in part)])
        skew = (np.eye(n) + (rng.normal(size=(n, n)) * 0.3 if rng.integers(2) else 0)) * 8 * along / wide
        rows = tuple(tuple(str(Fraction(float(c)).limit_denominator(1000)) for c in row) for row in skew)
        finer = (Finer(int(rng.integers(1, 5)), (1,) * n),) if rng.integers(2) else ()
        cells = tuple((0, *(int(k) for k in rng.integers(-2, 3, size=n))) for _ in range(3))
        cuts = (Cut(2, cells),) if rng.integers(2) else ()
        turned = tuple(map(tuple, rng.integers(-3, 4, size=(rng.integers(4), n)).tolist())) if not finer + cuts else ()
        fine = FINE | {"symbols": int(rng.choice([3, 20]))}
        made.append((part, Grid(rows, finer, cuts, stride, 600, **fine, directions=turned)))
    return made


def check(system: System, text: str, parts: Parts, forever: bool, inside: bool) -> bool:
    """Is it accepted?"""
    lines = [line.to_json() for names, grid in parts for line in (Part(tuple(names)), grid)]
    claim, budget = Claim(text, "always" if forever else "bounded", "real", inside), Budget(0.6)
    rows = [*lines, End(len(lines) + 1).to_json()]
    try:
        KINDS["covers"].check(About(claim, system, {}), Lines(rows, lambda _: budget()))
    except (BudgetError, CheckError):
        return False
    return True


def attack(seed: int, margin: Fraction, forever: bool, alone: bool, begin: int, inside: bool) -> bool:
    """Is a claim accepted, about a limit or declared ranges that differ so much from what runs reach?

    Ranges that are shown, and what is claimed, have to hold of all runs.
    """
    rng, system, hulls = np.random.default_rng(seed), chain(seed), list[Hull]()
    states, first = passed(system, seed), 0 if forever or inside else begin
    if len(states) <= first:
        return False
    parts = drawn_parts(system, states, rng)
    part = parts[-int(rng.integers(1, len(parts) + 1))][0]
    one, other, sign = part[-1], part[0], int(rng.choice([-1, 1]))
    factor = Fraction(int(rng.integers(1, 5)), 4) if other != one else Fraction(0)
    reached = max(sign * s[one] + factor * s[other] for step in states[first:] for s in step)
    below, true = f"{'-' if sign < 0 else ''}{one} + {factor} * {other} <= {reached + margin}", True
    if inside:
        values = [[s[one] for s in step] for step in states]
        least, most = min(map(min, values)), max(map(max, values))
        low, high = min(*values[0], least - margin), max(*values[0], most + margin)
        system, below, true = chain(seed, {one: (low, high)}), f"{one} <= 9", low <= least <= most <= high
    text = f"AG ({below})" if forever else f"{f'AX^{first} ' if first else ''}AG[0,{STEPS - first}] ({below})"

    def kept(ranges: Ranges) -> Hull:
        hulls.append(Hull(ranges))
        return hulls[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "_FEW", 10**9 if alone else 2)
        patch.setattr(checks, "Hull", kept)
        shown = check(system, text, parts, forever, inside)
    for hull in hulls if shown else hulls[:-1]:
        for name, (low, high) in hull.ranges.items():
            assert all(low <= s[name] <= high for step in states for s in step if name in s)
    assert not shown or (true if inside else margin >= 0)
    return shown


@some_examples(
    16,
    50,
    st.integers(0, 2**24),
    st.sampled_from(MARGINS),
    st.booleans(),
    st.booleans(),
    st.integers(0, 4),
    st.booleans(),
)
def test_no_parts_show_what_runs_refute(
    seed: int, margin: Fraction, forever: bool, alone: bool, begin: int, inside: bool
) -> None:
    """Limits, or declared ranges, at, below and above what runs reach; in batches and one by one."""
    attack(seed, margin, forever, alone, begin, inside)


def test_many_are_accepted() -> None:
    """Else nothing is said."""
    assert sum(attack(seed, Fraction(1), seed % 2 > 0, seed % 4 > 2, 1, seed % 3 > 1) for seed in range(12)) >= 4


Step = tuple[dict[str, Fraction], str, dict[str, Fraction]]


def steps(system: System, seed: int) -> list[Step]:
    """Steps of random runs, exactly: the state with the noise, the branch, and the state after."""
    rng, made = np.random.default_rng(seed), list[Step]()
    for state in passed(system, seed)[0] * 4:
        for _ in range(STEPS):
            before = {n: state[n] for n in system.variables} | {"w": Fraction(int(rng.choice([-8, 3, 8])), 64)}
            at = Exact(before)
            ways = [branch for branch in system.branches if at.truth(branch.guard)]
            if not ways:
                break
            branch = ways[rng.integers(len(ways))]
            updates = {n: e for n, e in branch.updates if n != "w"}
            state = {n: at.value(updates[n]) if n in updates else before[n] for n in before}
            made.append((before, branch.name, state))
    return made


@some_examples(33, 100, st.integers(0, 2**24), st.integers(1, 3))
def test_steps_of_a_loop_are_steps_of_its_parts(seed: int, first: int) -> None:
    """With the values and changes of others for noise, a part does what the loop does, and tells what it changes."""
    system = chain(seed)
    loop, made = Loop(system), steps(system, seed)
    names = [n for n in system.variables if n in loop.moved]
    new = names[first:]
    if not new or not made:
        return
    known = dict(loop.unmoved)
    for n in names[:first]:
        values, changes = [s[n] for a, _, b in made for s in (a, b)], [b[n] - a[n] for a, _, b in made]
        known |= {n: (min(values), max(values)), change(n): (min(changes), max(changes))}
    own = [*sorted(loop.read_by(new) & {*names[:first]}), *new]
    axes = loop.part(own, known)
    assert {*axes.names} <= {*own, *loop.unmoved} and {*axes.changes} <= {*map(change, new)}
    branches = {branch.name: branch for branch in axes.system.branches}
    for before, name, after in made:
        values = before | {change(n): after[n] - before[n] for n in names}
        assert all(low <= values[n] <= high for n, (low, high) in axes.noise.items())
        at = Exact({n: values[n] for n in axes.system.variables if n not in axes.changes})
        assert at.truth(branches[name].guard)
        met = {n: at.value(e) for n, e in branches[name].updates}
        assert all(met.get(n, before[n]) == after[n] for n in own)
        assert all(met[n] == values[n] for n in axes.changes)
