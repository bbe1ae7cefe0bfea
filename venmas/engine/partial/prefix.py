"""The greatest number of steps for which AG^k p follows from enclosures of all runs, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from venmas.bounds.evaluation import certain
from venmas.budget import Budget, BudgetError
from venmas.errors import ModelError
from venmas.logic import AX, And, Atom, Formula, Globally, Or, Quantifier, Top, is_temporal, nnf, subformulas
from venmas.logic.formula import Next
from venmas.logic.linear import LinearExpr
from venmas.model.system.system import System
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.reach import Layer
from venmas.procedures.reach_registry import sources_for


@dataclass(frozen=True)
class Prefixes:
    """``AX^before AG[start,end] p``, and the same with other ends."""

    asked: Formula
    before: int
    window: Globally

    @staticmethod
    def of(asked: Formula) -> Prefixes | None:
        """None where the formula is of another form."""
        before, inner = 0, asked
        while isinstance(inner, AX | Next):
            if isinstance(inner, Next) and inner.quantifier is not Quantifier.ALL:
                return None
            before += inner.k if isinstance(inner, Next) else 1
            inner = inner.operand
        if not isinstance(inner, Globally) or inner.quantifier is not Quantifier.ALL or is_temporal(inner.operand):
            return None
        return Prefixes(asked, before, inner)

    @property
    def last(self) -> int | None:
        """The last step that is looked at; None: there is none."""
        return None if self.window.end is None else self.before + self.window.end

    @property
    def first(self) -> int:
        """The first step that is looked at."""
        return self.before + self.window.start

    def until(self, step: int) -> Formula:
        """The formula that looks at the steps up to this one."""
        if step == self.before:  # the present one there
            return self._within(self.asked, self.window.operand)
        return self._within(self.asked, replace(self.window, end=step - self.before))

    def _within(self, formula: Formula, window: Formula) -> Formula:
        if isinstance(formula, AX | Next):
            return replace(formula, operand=self._within(formula.operand, window))
        return window


def proved_until(system: System, prefixes: Prefixes, extra: int, last: int, budget: Budget) -> int:
    """The last step up to which p holds in every run, by enclosures of one source or another; first - 1 for none.

    system: without disturbances. extra: steps before those that are counted.
    """
    negated = nnf(prefixes.window.operand, negate=True)
    exprs = list({node.comparison.expr: None for node in subformulas(negated) if isinstance(node, Atom)})
    best = prefixes.first - 1
    for _, source in sources_for(system):
        try:
            if source.accepts(system) is not None:
                continue
            layers = source.layers(system, exprs, last + extra, 0, budget)
            for step, layer in enumerate(layers, -extra):
                if layer.may_leave:
                    break
                if step >= prefixes.first:
                    if not layer.empty and _possible(negated, layer, exprs):
                        break
                    best = max(best, step)
        except (ModelError, UnsuitableError, OverflowError, RecursionError):
            continue  # of this source
        except BudgetError:
            break
    return best


def _possible(negated: Formula, layer: Layer, exprs: list[LinearExpr]) -> bool:
    """May the negated p hold somewhere in a layer?"""
    ends: Mapping[LinearExpr, int] = {expr: i for i, expr in enumerate(exprs)}
    known: dict[Formula, bool] = {}
    for node in subformulas(negated):
        match node:
            case Atom(comparison):
                at = ends[comparison.expr]
                span = np.array([layer.low[at]]), np.array([layer.high[at]])
                known[node] = not bool(certain(span, comparison.relation)[1][0])
            case And(operands):
                known[node] = all(known[o] for o in operands)
            case Or(operands):
                known[node] = any(known[o] for o in operands)
            case _:
                known[node] = isinstance(node, Top)
    return known[negated]
