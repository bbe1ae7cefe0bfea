"""Queries whose conditions multiply inputs or outputs (VNN-LIB 2.0): questions about a system of one step.

Each product is a variable of the system, which the step sets to the product of its factors; mode ``adaptive`` decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from venmas.budget import Budget
from venmas.engine.query import QueryReport, confirm
from venmas.engine.verify import verify
from venmas.errors import ModelError
from venmas.formats.vnnlib.reader import Case, Query
from venmas.logic import AX, Not
from venmas.logic.linear import LinearExpr
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.functions import apply_network
from venmas.model.system.system import System
from venmas.nn import Network

_LARGEST = 10**99


def decide_products(networks: Sequence[Network], query: Query, *, timeout: float | None = None) -> QueryReport:
    """Decide a query with products about networks, in the order in which it declares them; the report as elsewhere.

    A ``sat`` is evaluated in exact rationals; with tanh or sigmoid units it was replayed in enclosures, and outputs are
    those in doubles. An ``unsat`` rests on bounds, or on what mode ``adaptive`` names.
    """
    report, budget = QueryReport(basis="bounds"), Budget(timeout)
    report.verdict = "unsat"
    for case in query.cases:
        left = None if budget.left is None else max(0.01, budget.left)
        try:
            result = verify(_system(networks, query, case), AX(Not(case.condition)), mode="adaptive", timeout=left)
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
            if not report.enclosed:
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
    first = 0
    for network in networks:
        own = inputs[first : first + network.input_size]
        if network.smooth:
            outputs += map(Fraction, network.evaluate([float(v) for v in own]).tolist())
        else:
            outputs += network.evaluate_exact(own)
        first += network.input_size
    return tuple(outputs)


def _system(networks: Sequence[Network], query: Query, case: Case) -> System:
    """A system that holds the inputs and takes one step to the outputs and the products."""
    system = System("query")
    ends = [(min(b[i][0] for b in case.boxes), max(b[i][1] for b in case.boxes)) for i in range(query.inputs)]
    x = [system.real(f"X_{i}", low, high) for i, (low, high) in enumerate(ends)]
    known: dict[str, Expr] = {f"X_{i}": v for i, v in enumerate(x)}
    first = 0
    for network in networks:
        outputs = apply_network(network, x[first : first + network.input_size])
        first += network.input_size
        before = len(known) - query.inputs
        known |= {f"Y_{before + j}": value for j, value in enumerate(outputs)}
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
