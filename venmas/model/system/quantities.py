"""Quantities: functions of the state that propositions compare, such as the value V(x) that a network gives a state.

A quantity is a variable that always equals its expression: each branch sets it to the expression after its other
updates. What it is in an initial state, a step of its own finds out, the branch ``measure``, which changes nothing
else. Formulas speak of the runs from there on: whoever reads one puts ``AX`` before it (`venmas.question.posed`), and
as every initial state has that one successor, ``EX`` would say the same. So a quantity is a variable like others to
all interpreters, bounds and certificates.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.errors import ModelError
from venmas.model.expressions.expr import (
    All,
    Any,
    Compare,
    Condition,
    Expr,
    Variable,
    as_expr,
    compare,
    conjunction,
    disjunction,
)
from venmas.model.expressions.expr import to_comparison as linear
from venmas.model.expressions.simplify import Simplifier
from venmas.model.expressions.walk import walk
from venmas.model.system.disturbances import check_undisturbed
from venmas.model.system.parts import Branch

if TYPE_CHECKING:
    from venmas.model.system.system import System

MEASURE, MEASURED = "measure", "measured"
"""Names of the branch, and of the Boolean variable that is 0 before it."""

DEFAULT_RANGE = 10**6


def declare_measured(system: System, name: str, value: Expr) -> Variable:
    """The variable that says whether quantities are measured. Raises `ModelError` for what cannot be one."""
    if system.initial_set.regions or any(b.name != MEASURE for b in system.branches):
        raise ModelError(
            f"{name!r} is a quantity: declare it, and propositions that compare networks, before branches and initial "
            "sets, which take notice of it"
        )
    if used := [n for n in _names(value) if n in system.quantities]:
        raise ModelError(f"quantity {name!r} is a function of the state, not of another quantity such as {used[0]!r}")
    if MEASURED in system.variables and not system.quantities:
        raise ModelError(f"a system with quantities cannot have a variable {MEASURED!r} of its own: rename it")
    return system[MEASURED] if system.quantities else system.boolean(MEASURED)


def measure(system: System, name: str, value: Expr, lower: object, upper: object, unit: str) -> Variable:
    """Declare a quantity (`System.quantity`). Raises `ModelError`."""
    measured = declare_measured(system, name, value)
    check_undisturbed(system, value, f"quantity {name!r}")
    node = system.real(name, lower, upper, unit)
    system.quantities[name] = value
    updates = ((measured.name, as_expr(1)), *system.quantities.items())
    system.branches = [Branch(MEASURE, updates, measured == 0)]
    return node


def with_quantities(
    system: System, where: str, updates: dict[str, Expr], guard: Condition
) -> tuple[dict[str, Expr], Condition]:
    """Updates and guard of a branch, with those of the quantities. Raises `ModelError` for what sets one itself."""
    if not system.quantities:
        return updates, guard
    for name in (*system.quantities, MEASURED):
        if name in updates:
            raise ModelError(f"{where} sets {name!r}, which is a quantity: it follows from the state")
    after = Simplifier(updates, folds=False)
    found = {name: after.expr(value) for name, value in system.quantities.items()}
    return {**updates, **found}, conjunction([system[MEASURED] == 1, guard])


def check_initial_names(system: System, condition: Condition) -> None:
    """Refuse initial sets that speak of quantities. Raises `ModelError`."""
    if used := [n for n in _names(condition) if n in system.quantities or n == MEASURED]:
        raise ModelError(
            f"the initial set compares the quantity {used[0]!r}, which is measured in the step after it: start in all "
            "states of the box and ask `inside -> ...` of a proposition"
        )


def unmeasured(system: System) -> list[Condition]:
    """What the quantities are in an initial state, where they are not measured yet: anything within their ranges."""
    if not system.quantities:
        return []
    ends = {name: (system.variables[name].lower, system.variables[name].upper) for name in system.quantities}
    return [system[MEASURED] == 0, *(system[n] == max(low, min(Fraction(0), high)) for n, (low, high) in ends.items())]


def linearised(system: System, name: str, condition: Condition) -> Condition:
    """A condition of a proposition, with a new quantity for every comparison that is not linear in the variables."""
    match condition:
        case Compare(expr, relation) if linear(condition) is None:
            taken = sum(q.startswith(f"{name}_value") for q in system.quantities)
            return compare(system.quantity(f"{name}_value{taken + 1 if taken else ''}", expr), relation, 0)
        case All(operands):
            return conjunction(linearised(system, name, c) for c in operands)
        case Any(operands):
            return disjunction(linearised(system, name, c) for c in operands)
    return condition


def _names(root: Expr | Condition) -> list[str]:
    return list(dict.fromkeys(node.name for node in walk([root]) if isinstance(node, Variable)))
