"""Declarations of variables: which names, ranges and labels a system takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.errors import ModelError
from venmas.model.arguments import read_text
from venmas.model.disturbances import AHEAD, ahead
from venmas.model.expr import Constant, Expr, Variable
from venmas.model.limits import MAX_VARIABLES, check_count, check_number
from venmas.model.quantities import MEASURE
from venmas.model.variables import VariableDecl

if TYPE_CHECKING:
    from venmas.model.system import System

KEYWORDS = {"A", "E", "U", "true", "false", "not", "and", "or", *(q + o for q in "AE" for o in "XGF")}
"""Words of formulas, which name neither variables nor propositions."""


def declare(system: System, decl: VariableDecl, drawn: bool = False) -> Variable:
    """Declare a variable of a system; drawn: its name may be that of noise of a later step. Raises `ModelError`."""
    base, _, later = read_text(decl.name, "the name of a variable", "x").partition(AHEAD)
    base = base.split("[")[0]
    if not base.isidentifier() or base in KEYWORDS or (ahead(decl.name) and not (drawn and later.isdecimal())):
        raise ModelError(
            f"{decl.name!r} can not name a variable: use letters, digits and _, and no keyword of formulas"
        )
    check_count(len(system.variables) + 1, MAX_VARIABLES, f"variables of system {system.name!r}")
    for end in (decl.lower, decl.upper):
        check_number(end, f"the range of variable {decl.name!r}")
    if decl.name in system.variables or decl.name in system.still:
        raise ModelError(f"variable {decl.name!r} is declared twice")
    if decl.lower > decl.upper:
        raise ModelError(f"variable {decl.name!r} has an empty range [{decl.lower}, {decl.upper}]")
    for value, text in decl.labels:
        for number, other in system.labelled.get(text, {}).items():
            if number != value:
                raise ModelError(f"label {text!r} of {decl.name!r} names another value of {other!r}; rename one")
    for value, text in decl.labels:
        system.labelled.setdefault(text, {}).setdefault(value, decl.name)
    system.variables[decl.name] = decl
    system.nodes_by_name[decl.name] = Variable(decl.name, decl.integral)
    system.__dict__.pop("domains", None)
    return system.nodes_by_name[decl.name]


def declare_noise(system: System, name: str, lower: object, upper: object, unit: str) -> Expr:
    """Declare a disturbance of a system. One of a single value is that number, and no variable. Raises `ModelError`."""
    if any(b.name != MEASURE for b in system.branches):
        raise ModelError(f"disturbance {name!r} is declared after a branch: declare disturbances before branches")
    node = system.real(name, lower, upper, unit)
    decl = system.variables[name]
    if decl.lower == decl.upper:
        del system.variables[name], system.nodes_by_name[name]
        system.still[name] = decl.lower
        return Constant(decl.lower)
    system.disturbances = (*system.disturbances, name)
    return node
