"""Queries whose conditions multiply inputs or outputs (VNN-LIB 2.0), or whose networks have tanh or sigmoid units:
questions about a system of one step.

Each product is a variable of the system, which the step sets to the product of its factors; mode ``adaptive`` decides.
Disjuncts that no inputs and outputs within bounds meet, whatever the networks say, are left out before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite

import numpy as np

from venmas.bounds.rounding import float_beside
from venmas.bounds.single import deployed
from venmas.budget import Budget, BudgetError, limited
from venmas.engine.query.decide import QueryReport, confirm, decide_query, shares
from venmas.engine.query.relaxed import loose
from venmas.engine.verify import verify
from venmas.errors import ModelError
from venmas.formats.vnnlib.query import Case, Query, hull
from venmas.logic import AX, FALSE, And, Formula, Not, Or, conjunction, disjunction
from venmas.logic.formula import Atom, variables_of
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.products import possible
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.functions import apply_network
from venmas.model.system.system import System
from venmas.nn import Network

_ZERO = Fraction(0)
_LARGEST = 10**99
_FEW = 16
"""Disjuncts that are looked at one by one."""
_LINEAR, _LINEAR_SECONDS = 0.1, 5.0
"""Part of the time left for one of them, and seconds at most."""


def decide_products(
    networks: Sequence[Network], query: Query, *, timeout: float | None = None, errors: Sequence[Fraction] = ()
) -> QueryReport:
    """Decide a query with products about networks, in the order in which it declares them; the report as elsewhere.

    A ``sat`` is evaluated in exact rationals; with tanh or sigmoid units it was replayed in enclosures, and outputs are
    those in doubles. An ``unsat`` rests on bounds, or on what mode ``adaptive`` names. errors: by how much each output
    may be off; an ``unsat`` holds for all such outputs, and a ``sat`` need not hold for those of the real functions.
    """
    report, budget = QueryReport(basis="bounds"), Budget(timeout)
    report.verdict = "unsat"
    for case in query.cases:
        try:
            with limited(budget):
                condition = _left(networks, query, case, errors, budget)
            if condition == FALSE:
                continue
            system = _system(networks, query, case, errors)
            left = None if budget.left is None else max(0.01, budget.left)
            result = verify(system, AX(Not(condition)), mode="adaptive", timeout=left)
        except BudgetError:
            report.verdict, report.reason = "timeout", f"the time limit of {timeout:g} s was reached"
            break
        except ModelError as error:
            report.verdict, report.reason = "unknown", f"as a system of one step it is refused: {error}"
            break
        if result.satisfied:
            report.basis = result.basis if result.basis in ("exact", "solver") else report.basis
            continue
        if result.violated and result.witness is not None:
            report.inputs = tuple(Fraction(result.witness.initial[f"X_{i}"]) for i in range(query.inputs))
            report.outputs = outputs_of(networks, report.inputs)
            report.enclosed = any(network.smooth for network in networks)
            if not report.enclosed and not errors:
                confirm(query, report)
            report.verdict = "sat"
        else:
            report.verdict = "timeout" if result.reason == "time" else "unknown"
            report.reason = f"{result.reason}: {result.message}"
        break
    report.basis = report.basis if report.verdict == "unsat" else ""
    report.seconds = budget.spent
    return report


def outputs_of(networks: Sequence[Network], inputs: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The outputs of all networks, each at its part of the inputs; exactly, but for smooth units."""
    outputs: list[Fraction] = []
    for network, own in shares(networks):
        if network.smooth:
            outputs += map(Fraction, network.evaluate([float(v) for v in inputs[own]]).tolist())
        else:
            outputs += network.evaluate_exact(inputs[own])
    return tuple(outputs)


def _left(networks: Sequence[Network], query: Query, case: Case, errors: Sequence[Fraction], budget: Budget) -> Formula:
    """The condition of a case, without disjuncts that bounds of the outputs, or `errors` beside, rule out."""
    bounds = None if any(network.smooth for network in networks) else _bounds(networks, case, errors)
    if bounds is None:
        return case.condition
    condition = possible(case.condition, bounds, query.products)
    parts = condition.operands if isinstance(condition, Or) else (condition,)
    if len(networks) > 1 or len(parts) > _FEW:
        return condition
    kept, before = [], dict(bounds)
    for part in parts:
        linear = _linear(part, bounds)
        if not linear or not _excluded(networks[0], query, case, loose(conjunction(linear), errors), budget):
            kept.append(part)
        elif len(linear) == 1:
            _learn(linear[0].comparison, bounds)
    condition = disjunction(kept)
    return condition if bounds == before else possible(condition, bounds, query.products)


def _bounds(
    networks: Sequence[Network], case: Case, errors: Sequence[Fraction]
) -> dict[str, tuple[Fraction, Fraction]] | None:
    """Least and greatest X_i and Y_j; None where an output has none."""
    ends = hull(case.boxes)
    bounds = {f"X_{i}": pair for i, pair in enumerate(ends)}
    sides = [np.array([[float_beside(pair[k], 2 * k - 1) for pair in ends]]) for k in range(2)]
    number = 0
    for network, own in shares(networks):
        outputs = deployed(network, *(side[:, own] for side in sides))
        for low, high in zip(outputs.low[0].tolist(), outputs.high[0].tolist(), strict=True):
            if not (isfinite(low) and isfinite(high)):
                return None
            error = errors[number] if errors else 0
            bounds[f"Y_{number}"] = Fraction(low) - error, Fraction(high) + error
            number += 1
    return bounds


def _linear(part: Formula, bounds: Mapping[str, tuple[Fraction, Fraction]]) -> list[Atom]:
    """The comparisons of a disjunct without products, those left out that others imply; none without an output."""
    kept: dict[object, tuple[tuple[Fraction, bool], Atom]] = {}
    for atom in part.operands if isinstance(part, And) else (part,):
        if not isinstance(atom, Atom) or any(name.startswith("P_") for name in variables_of(atom)):
            continue
        expr, relation = atom.comparison.expr, atom.comparison.relation
        if relation in (Relation.EQ, Relation.NE) or len(expr.terms) > 1:
            kept[atom] = (_ZERO, False), atom
            continue
        name, below, end = _side(atom.comparison)
        if relation.decide(*sorted(expr.evaluate({name: v}) for v in bounds[name])):
            continue
        tight = (-end if below else end), relation.strict
        if (name, below) not in kept or tight > kept[name, below][0]:
            kept[name, below] = tight, atom
    atoms = [atom for _, atom in kept.values()]
    return atoms if any(name.startswith("Y_") for atom in atoms for name in variables_of(atom)) else []


def _side(comparison: Comparison) -> tuple[str, bool, Fraction]:
    """The variable of an inequality of one variable, is it bounded from above, and by what."""
    (name, factor), *_ = comparison.expr.terms
    below = (comparison.relation in (Relation.LE, Relation.LT)) == (factor > 0)
    return name, below, -comparison.expr.constant / factor


def _learn(comparison: Comparison, bounds: dict[str, tuple[Fraction, Fraction]]) -> None:
    """Bounds by an inequality of one variable that holds nowhere."""
    if comparison.relation in (Relation.EQ, Relation.NE) or len(comparison.expr.terms) > 1:
        return
    name, below, end = _side(comparison)
    low, high = bounds[name]
    bounds[name] = (max(low, end), high) if below else (low, min(high, end))


def _excluded(network: Network, query: Query, case: Case, condition: Formula, budget: Budget) -> bool:
    """Does branch and bound show that no input of the case meets a condition without products?

    A ReLU that clips has symbolic bounds as exact as its ends, which enclosures of products have not.
    """
    own = Query(query.inputs, query.outputs, condition, (Case(case.boxes, condition),))
    seconds = _LINEAR_SECONDS if budget.left is None else min(_LINEAR_SECONDS, _LINEAR * budget.left)
    report = decide_query(network, own, timeout=max(0.01, seconds))
    return report.verdict == "unsat" and report.basis != "solver"


def _system(networks: Sequence[Network], query: Query, case: Case, errors: Sequence[Fraction]) -> System:
    """A system that holds the inputs, and what outputs are off by, and takes one step to the outputs and products."""
    system = System("query")
    ends = hull(case.boxes)
    x = [system.real(f"X_{i}", low, high) for i, (low, high) in enumerate(ends)]
    off = [system.real(f"D_{i}", -error, error) if error else None for i, error in enumerate(errors)]
    known: dict[str, Expr] = {f"X_{i}": v for i, v in enumerate(x)}
    for network, own in shares(networks):
        outputs = apply_network(network, x[own])
        before = len(known) - query.inputs
        for j, value in enumerate(outputs, before):
            moved = off[j] if off else None
            known[f"Y_{j}"] = value if moved is None else value + moved
    for number, (left, right) in enumerate(query.products):
        known[f"P_{number}"] = _expression(left, known) * _expression(right, known)
    held = {name: system.real(name, -_LARGEST, _LARGEST) for name in known if not name.startswith("X_")}
    system.branch("step", {variable: known[name] for name, variable in held.items()})
    for box in case.boxes:
        sides = [(v >= low) & (v <= high) for v, (low, high) in zip(x, box, strict=True)]
        system.initial(*sides, *(v == 0 for v in held.values()))
    return system


def _expression(expr: LinearExpr, known: Mapping[str, Expr]) -> Expr:
    (name, factor), *rest = expr.terms
    total = known[name] * factor
    for name, factor in rest:
        total = total + known[name] * factor
    return total + expr.constant if expr.constant else total
