"""The box of the initial states of a system, and its parts."""

from __future__ import annotations

import hashlib

from venmas.engine.map.tree import MAX_AXES, Axis, Sides
from venmas.errors import ModelError, UsageError
from venmas.logic import TRUE, Formula
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.printing import to_text
from venmas.model.canonical.canonical import system_digest
from venmas.model.canonical.writer import canonical_text
from venmas.model.evaluation.regions import bounding_box
from venmas.model.system.quantities import MEASURED
from venmas.model.system.system import System


def axes_of(system: System) -> tuple[Axis, ...]:
    """The variables of the state with their initial intervals.

    Raises `UsageError` where the initial states are not the states of one closed box: an interval of each variable, or
    a single value.
    """
    if system.initial_condition is not TRUE or len(system.initial_set.regions) != 1:
        count = "a condition of many cases" if system.initial_condition is not TRUE else "a union of several sets"
        raise _refused(system, f"its initial states are {count}", "choose parameters that leave one box")
    (region,) = system.regions
    for row in region:
        if len(row.expr.terms) != 1:
            raise _refused(system, f"{row} relates variables", "give each variable an interval of its own")
        decl = system.variables[row.expr.terms[0][0]]
        if row.relation is Relation.NE or (row.relation.strict and not decl.integral):
            raise _refused(system, f"{row} leaves out a face", "write <= or >=")
    box = bounding_box(system, region)
    if box is None:
        raise _refused(system, "it has no initial states", "change the bounds of the initial set")
    hidden = {*system.disturbances, *system.quantities, *((MEASURED,) if system.quantities else ())}
    axes = tuple(
        Axis(d.name, *box[d.name], d.integral, d.unit) for d in system.variables.values() if d.name not in hidden
    )
    if len(axes) > MAX_AXES:
        raise _refused(system, f"its states have {len(axes)} variables", f"at most {MAX_AXES} are possible")
    return axes


def _refused(system: System, why: str, remedy: str) -> UsageError:
    return UsageError(f"a map is of one box of initial states, and of system {system.name!r} {why}: {remedy}")


def question_digest(system: System, formula: Formula) -> str:
    """A digest of all that the verdicts depend on but the code. Raises `UsageError` for systems without a digest."""
    try:
        about = [system_digest(system), to_text(formula)]
    except ModelError as error:
        raise UsageError(f"no map can be kept of this system: {error}") from error
    return hashlib.sha256(canonical_text(about).encode()).hexdigest()


def starting_in(system: System, axes: tuple[Axis, ...], box: Sides) -> System:
    """The system whose initial states are those of a part of the box."""
    rows = list(system.regions[0])
    for axis, (low, high) in zip(axes, box, strict=True):
        if axis.wide:
            value = LinearExpr.variable(axis.name)
            if low == high:
                rows.append(Comparison(value - LinearExpr((), low), Relation.EQ))
                continue
            rows.append(Comparison(value - LinearExpr((), low), Relation.GE))
            rows.append(Comparison(value - LinearExpr((), high), Relation.LE))
    return system.with_regions([tuple(rows)])
