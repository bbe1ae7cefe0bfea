"""Partial evaluation: expressions rewritten for known values of variables and fixed outcomes of choices."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.model.expressions.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Output,
    Product,
    Quotient,
    Smooth,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
    add,
    as_expr,
    compare,
    conjunction,
    disjunction,
    divide,
    multiply,
    scale,
)
from venmas.model.expressions.functions import maximum
from venmas.model.expressions.smooth_functions import apply
from venmas.model.expressions.smooth_nodes import Apply

STAYS = -1
"""Outcome of a maximum that is left as an expression."""


class OpenError(Exception):
    """Simplification met a choice that is not fixed."""

    def __init__(self, node: ArgMax | Compare | Maximum) -> None:
        self.node = node


class Simplifier:
    """A partial evaluator for known values of variables and fixed choices; shared nodes stay shared.

    values: numbers, or expressions to put in the place of variables. fixed: by the id of a node, the index that an
    argmax or maximum picks, the truth of a comparison, the value of a case distinction.
    folds: networks of known inputs become numbers, those of the real function.
    """

    def __init__(
        self,
        values: Mapping[str, Fraction] | Mapping[str, Expr],
        fixed: Mapping[int, int] | None = None,
        folds: bool = True,
    ) -> None:
        self.values, self.fixed, self.folds = values, fixed, folds
        self._exprs: dict[int, Expr] = {}
        self._conditions: dict[int, Condition] = {}
        self._applications: dict[int, Application] = {}
        self._kept: list[object] = []

    def expr(self, node: Expr) -> Expr:
        """The rewritten expression; `OpenError` where choices are to be fixed and one that is needed is not."""
        key = id(node)
        if key not in self._exprs:
            self._kept.append(node)
            self._exprs[key] = self._rewrite(node)
        return self._exprs[key]

    def _rewrite(self, node: Expr) -> Expr:
        ask()
        match node:
            case Variable(name, _) if name in self.values:
                return as_expr(self.values[name])
            case Constant() | Variable():
                return node
            case Sum(terms, constant):
                total: Expr = Constant(constant)
                for factor, part in terms:
                    total = add(total, scale(self.expr(part), factor))
                return total
            case Output(application, index):
                return self._output(application, index)
            case Maximum(operands):
                winner = self._chosen(node)
                if winner is None:
                    self._open(node)
                if winner is None or winner == STAYS:
                    return maximum(*map(self.expr, operands))
                return self.expr(operands[winner])
            case ArgMax(scores):
                winner = self._chosen(node)
                if winner is not None:
                    return Constant(Fraction(winner))
                new = tuple(map(self.expr, scores))
                numbers = [s.value for s in new if isinstance(s, Constant)]
                if len(numbers) == len(new):
                    return Constant(Fraction(numbers.index(max(numbers))))
                self._open(node)
                return node if all(a is b for a, b in zip(new, scores, strict=True)) else ArgMax(new)
            case Switch(selector, cases):
                chosen = self.expr(selector)
                if isinstance(chosen, Constant):
                    return self.expr(next((e for k, e in cases if k == chosen.value), cases[0][1]))
                return Switch(chosen, tuple((k, self.expr(e)) for k, e in cases))
            case Where(condition, then, otherwise):
                if self.fixed is not None and id(node) in self.fixed:
                    return Constant(Fraction(self.fixed[id(node)]))
                test = self.condition(condition)
                if isinstance(test, Truth):
                    return self.expr(then if test.value else otherwise)
                return Where(test, self.expr(then), self.expr(otherwise))
            case Product(left, right):
                return multiply(self.expr(left), self.expr(right))
            case Quotient(left, right):
                return divide(self.expr(left), self.expr(right))
            case Apply(function, operand):
                return apply(function, self.expr(operand))
            case Smooth():
                raise ModelError("a flow is no function of one state: set a variable to its end in a branch")
        raise TypeError(type(node))

    def _chosen(self, node: ArgMax | Compare | Maximum) -> int | None:
        return None if self.fixed is None else self.fixed.get(id(node))

    def _open(self, node: ArgMax | Compare | Maximum) -> None:
        if self.fixed is not None:
            raise OpenError(node)

    def _output(self, application: Application, index: int) -> Expr:
        key = id(application)
        if key not in self._applications:
            self._kept.append(application)
            inputs = tuple(map(self.expr, application.inputs))
            same = all(a is b for a, b in zip(inputs, application.inputs, strict=True))
            self._applications[key] = application if same else Application(application.network, inputs)
        new = self._applications[key]
        point = [i.value for i in new.inputs if isinstance(i, Constant)]
        if self.folds and len(point) == len(new.inputs):
            return Constant(new.network.evaluate_exact(point)[index])
        return Output(new, index)

    def condition(self, node: Condition) -> Condition:
        """The rewritten condition; with fixed choices a `Truth`, or `OpenError` where an open choice decides."""
        key = id(node)
        if key not in self._conditions:
            self._kept.append(node)
            self._conditions[key] = self._judge(node)
        return self._conditions[key]

    def _judge(self, node: Condition) -> Condition:
        match node:
            case Compare(expr, relation):
                outcome = self._chosen(node)
                if outcome is not None:
                    return Truth(bool(outcome))
                new = compare(self.expr(expr), relation, 0)
                if isinstance(new, Compare):
                    self._open(node)
                    return node if new.expr is expr else new
                return new
            case All(operands) | Any(operands):
                settles = isinstance(node, Any)
                parts: list[Condition] = []
                waiting: OpenError | None = None
                for operand in operands:
                    try:
                        part = self.condition(operand)
                    except OpenError as error:
                        waiting = error
                        continue
                    if isinstance(part, Truth) and part.value is settles:
                        return part
                    parts.append(part)
                if waiting is not None:
                    raise waiting
                return disjunction(parts) if settles else conjunction(parts)
        return node
