"""Random loops for covers, and runs of them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from venmas import System
from venmas.bounds.rounding import Floats
from venmas.checker.covers.grid import Axes
from venmas.logic import FALSE
from venmas.model import argmax, clip, maximum, sin, switch, tanh, where
from venmas.model.expressions.expr import Expr, Variable
from venmas.procedures.covers.following import Task
from venmas.procedures.covers.sampled import sampled


def loop(seed: int, smooth: bool = False, noisy: bool = True) -> System:
    """A loop of two or three real variables that stays near 0, with choices of every kind."""
    rng = np.random.default_rng(seed)

    def number(size: float) -> Fraction:
        return Fraction(int(rng.integers(-64, 65)), 64) * Fraction(size)

    count = int(rng.integers(1, 4))
    system = System("random")
    v = [system.real(f"x{i}", -9, 9) for i in range(count)]
    w = system.disturbance("w", "-0.1", "0.1") if noisy else Fraction(0)
    shift = v[rng.integers(count)] * number(0.5)
    best = argmax(tuple(v[rng.integers(count)] * number(1) + number(1) for _ in range(3)))
    kinds = [
        lambda: maximum(v[rng.integers(count)] * number(0.5), shift + number(1)),
        lambda: where(shift >= number(0.25), shift + number(1), v[0] * number(0.5)),
        lambda: switch(system.agent(best, name="choice"), {k: number(1) for k in range(3)}),
        lambda: clip(shift * 3, -1, 1),
    ]
    curves = [lambda: sin(shift * 2), lambda: tanh(v[rng.integers(count)]), lambda: shift * v[0] / 4]
    extra = kinds[rng.integers(len(kinds))]()
    for branch in range(int(rng.integers(1, 3))):
        updates = {}
        for name in v:
            linear = sum((other * number(0.5) for other in v), number(0.25))
            bent = curves[rng.integers(3)]() if smooth else kinds[rng.choice([0, 1, 3])]()
            updates[name] = clip(linear + bent + extra / 4 + w, -8, 8)
        system.branch(f"b{branch}", updates, when=v[0] <= 2 if branch and rng.integers(2) else True)
    corner = [number(1) for _ in v]
    wide = [Fraction(int(rng.integers(0, 2)), 2) for _ in v]
    system.initial(*(c for n, a, d in zip(v, corner, wide, strict=True) for c in (n >= a, n <= a + d)))
    return system


def chain(seed: int, ranges: Mapping[str, tuple[Fraction, Fraction]] | None = None) -> System:
    """Two to four variables, each of which reads some before it, with noise, choices, and guards that read the first.

    c never changes and has one value or several, by region; no branch has to change all, nor has one to be open.
    """
    rng = np.random.default_rng(seed)

    def number(size: float) -> Fraction:
        return Fraction(int(rng.integers(-16, 17)), 16) * Fraction(size)

    system = System("chain")
    v = [
        system.real(f"x{i}", *(ranges or {}).get(f"x{i}", (Fraction(-9), Fraction(9))))
        for i in range(rng.integers(2, 5))
    ]
    c, w = system.real("c", -2, 2), system.disturbance("w", "-1/8", "1/8")
    guards = [v[0] <= number(1), c + v[0] >= number(1), v[0] + v[1] / 4 >= number(1), w * 4 <= v[0] + number(0.5)]
    share = (Fraction(0), Fraction(1, 8), Fraction(1))[rng.integers(3)]
    for branch in range(rng.integers(1, 4)):
        updates: dict[Variable, Expr] = {}
        for i, x in enumerate(v):
            one = v[rng.integers(i + 1 + (i == 0))]  # the first two may read each other
            other = (v[max(0, i - 1)], c, w)[rng.integers(3)]
            chosen = argmax((one * number(1), other, number(0.5)))
            bent = (
                maximum(one * number(0.5), x * number(0.25) + number(0.5)),
                where(other >= number(0.5), one / 2, number(0.5)),
                switch(chosen, {k: number(1) for k in range(3)}),
                maximum(one, other, 0) / 4,
            )[rng.integers(4)]
            driven = v[i - 1] * number(1) if i else Fraction(int(rng.integers(-1, 2)))
            updates[x] = clip(x * number(0.5) + driven + bent * share + w * share, -8, 8)
        kept = {x: e for x, e in updates.items() if rng.integers(6)} or updates
        system.branch(f"b{branch}", kept, when=True if rng.integers(3) else guards[rng.integers(4)])
    same = number(1)
    for _ in range(rng.integers(1, 4)):
        at, wide = [number(0.25) for _ in v], [Fraction(int(rng.integers(3)), 8) for _ in v]
        rows = [row for x, a, d in zip(v, at, wide, strict=True) for row in (x >= a, x <= a + d)]
        related = [v[0] + v[-1] <= at[0] + at[-1] + Fraction(1, 8)] if not rng.integers(3) else []
        system.initial(*rows, *related, c == (same if rng.integers(4) else same / 2))
    return system


def task(system: System, first: int, last: int) -> Task:
    """What says nothing about states, so that covers go on to the end."""
    return Task(Axes(system), first, last, FALSE, False)


def runs(asked: Task, seed: int, steps: int) -> Floats:
    """States (steps + 1, runs, names), noise at ends of its range and between."""
    found = sampled(asked.system, asked.axes.names, asked.axes.noise, steps)
    return np.zeros((1, 2, len(asked.axes.names))) if found is None else found
