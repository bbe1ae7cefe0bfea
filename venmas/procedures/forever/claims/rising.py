"""The search for values that rise in each step until a formula holds, as every run comes to it then (rule `rises`).

    S    what the initial states satisfy and no sampled step ends, by comparisons that are dropped one after the other
    V    what the formula and the initial states compare, and each variable, rising or falling
    d    half of the least rise of V in a sampled step; where that is next to nothing,
    g    half way from 1 to the least factor by which V becomes more

A ranking function for windows that are long, or that have no bound: x' = 2x from x > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.budget import Budget
from venmas.checker.forever import rules
from venmas.checker.forever.rising import BEFORE, Rises, bounded, remembering, rising
from venmas.checker.forever.sequents import INIT
from venmas.checker.format.numbers import write_number
from venmas.errors import ModelError
from venmas.logic import Atom, Formula, Not, conjunction, disjunction, nnf, subformulas
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.printing import to_text
from venmas.model.evaluation.regions import bounding_box, sample
from venmas.model.system.disturbances import drawn
from venmas.model.system.system import System
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.proof import Derivation, Inferred
from venmas.procedures.kinduction.runs import Runs

_POINTS = 200
_LEAST = 0.05
"""The least rise, as a part of the middle one, and what a factor is more than 1, that are thought to be so."""


@dataclass(frozen=True)
class Rise:
    """A value that becomes at least `factor` times itself and `step` more, as samples tell."""

    value: LinearExpr
    factor: Fraction
    step: Fraction


class Rising:
    """Values that rise. initial: the system with the states that `INIT` means."""

    def __init__(self, asking: Asking, initial: System) -> None:
        self._asking, self._initial = asking, initial

    def find(self, holds: Formula, budget: Budget) -> tuple[Formula, str, Callable[[Derivation], Derivation]] | None:
        """States that hold the initial ones, a rise in words, and how all runs come to what holds once they do."""
        asking, system, text = self._asking, self._asking.system, to_text(holds)
        if system.smooth:  # enclosures of a set do not tell what a value was
            return None
        if BEFORE in system.vocabulary.names or BEFORE in system.vocabulary.others:
            asking.left = asking.left or f"a name of the system is {BEFORE!r}, which values that rise use: take another"
            return None
        try:
            kept = budget.spend(asking.seconds, lambda part: self._kept(nnf(holds), part))
            if kept is None:
                return None
            states = asking.named(conjunction([kept[0], nnf(Not(holds))]))
            for rise in self._rises(nnf(holds), *kept[1:]):
                shown = self._shown(states, rise, holds, text, budget)
                if shown is not None:
                    return self._covered(states, asking.named(holds), text, *shown)
        except ModelError:  # a set that has no states, or too many parts; a value of too large a range
            return None
        return None

    def _covered(
        self, states: str, target: str, text: str, rule: Rises, risen: Derivation
    ) -> tuple[Formula, str, Callable[[Derivation], Derivation]]:
        window = rules.Window((), target, "here", "A", "true", text, 0)
        now = Inferred(window, (Inferred(rules.Itself((), target), ()),))
        cases = rules.Cases((), INIT, (states, target), f"AF ({text})")
        covered = disjunction([self._asking.sets[states], self._asking.sets[target]])
        return covered, rule.said, lambda lead: Inferred(cases, (risen, now, lead))

    def _kept(self, holds: Formula, budget: Budget) -> tuple[Formula, Floats, Floats] | None:
        """The comparisons of the initial states that sampled steps keep, and these steps: states and successors."""
        system, (region, *others) = self._asking.system, self._initial.regions
        atoms = [] if others else [Atom(comparison) for comparison in region]
        runs, rng = Runs(drawn(system, 1)), np.random.default_rng(0)
        names = list(runs.system.variables)
        while True:
            kept = conjunction(atoms)
            around = drawn(system.starting(conjunction([kept, nnf(Not(holds))])), 1)
            points: list[dict[str, Fraction]] = []
            for part in around.regions:
                for _ in range(_POINTS // len(around.regions) + 1):
                    budget()
                    points += sample(around, part, rng, 1)
            rows = np.array([[float(point[n]) for n in names] for point in points]).reshape(-1, len(names))
            before, after, _ = runs.steps(rows)
            open_ = ~runs.holds(holds, after)
            if not open_.any():
                return None
            lost = [atom for atom in atoms if not runs.holds(nnf(atom), after)[open_].all()]
            if not lost:
                return kept, before[open_], after[open_]
            atoms = [atom for atom in atoms if atom not in lost]

    def _rises(self, holds: Formula, before: Floats, after: Floats) -> Iterator[Rise]:
        system = self._asking.system
        columns = [i for i, name in enumerate(system.variables) if name not in system.disturbances]
        names = [[*system.variables][i] for i in columns]
        before, after = before[:, columns], after[:, columns]
        values = [LinearExpr(value.terms) for value in _compared(holds)]
        values += [value for region in self._initial.regions[:1] for value in map(_greater, region)]
        values += [sign for name in names for sign in (LinearExpr.variable(name), -LinearExpr.variable(name))]
        values.append(_fitted(names, before, after))
        for value in dict.fromkeys(values):
            factors = np.array([float(value.coefficients.get(name, 0)) for name in names])
            first, then = (side @ factors + float(value.constant) for side in (before, after))
            rises = then - first
            if rises.min() > _LEAST * np.median(rises) > 0:
                yield Rise(value, Fraction(1), _short(float(rises.min()) / 2))
            if (first > 0).all() and (ratio := float((then / first).min())) > 1 + _LEAST:
                yield Rise(value, 1 + _short((ratio - 1) / 2), Fraction(0))

    def _shown(
        self, states: str, rise: Rise, holds: Formula, text: str, budget: Budget
    ) -> tuple[Rises, Derivation] | None:
        asking = self._asking
        kept = asking.sets[states]
        parts = asking.system.starting(kept).regions
        most = max(rise.value.range_over(bounding_box(asking.system, part) or asking.system.box)[1] for part in parts)
        bound = asking.claim(states, bounded(rise.value, rise.factor, most), budget, self._initial)
        if bound is None:
            return None
        value = f"{rise.value} >= 0"
        more = rising(kept, rise.value, rise.factor, rise.step, holds)
        grown = asking.rising(states, value, remembering(asking.system, kept, rise.value), more, budget)
        rule = Rises((), states, value, write_number(rise.factor), write_number(rise.step), write_number(most), text)
        return None if grown is None else (rule, Inferred(rule, (grown, bound)))


def _compared(holds: Formula) -> list[LinearExpr]:
    """The values that a formula compares, those that are to be little negated."""
    return [_greater(node.comparison) for node in subformulas(holds) if isinstance(node, Atom)]


def _fitted(names: list[str], before: Floats, after: Floats) -> LinearExpr:
    """The value of few digits that comes nearest to rising by one number in all steps, by least squares."""
    scale = np.maximum(np.ptp(before, 0), 1e-9)
    weights = np.linalg.lstsq((after - before) / scale, np.ones(len(before)), rcond=None)[0] / scale
    weights = weights / max(float(np.abs(weights).max()), 1e-300)
    return LinearExpr.of(
        {n: Fraction(round(float(w), 3)).limit_denominator(1000) for n, w in zip(names, weights, strict=True)}
    )


def _greater(comparison: Comparison) -> LinearExpr:
    return comparison.expr if comparison.relation in (Relation.GE, Relation.GT) else -comparison.expr


def _short(value: float) -> Fraction:
    """A number of few digits that is no more."""
    digits = int(np.floor(np.log10(value)))
    scale = Fraction(10) ** (1 - digits)
    return Fraction(int(Fraction(value) * scale)) / scale
