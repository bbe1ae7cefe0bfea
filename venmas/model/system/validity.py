"""What can be checked of a system without a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.errors import ModelError
from venmas.model.expressions.domain import is_integral
from venmas.model.expressions.expr import Condition, Expr, Output, Smooth, Switch, Variable
from venmas.model.expressions.limits import check_node, check_number
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Product, Quotient

if TYPE_CHECKING:
    from venmas.model.system.system import System


def check_system(system: System) -> None:
    """Check what can be checked without a state. Raises `ModelError` naming the place and the remedy."""
    if not system.variables:
        raise ModelError(f"system {system.name!r} has no variables")
    if not system.branches:
        raise ModelError(f"system {system.name!r} has no branches: add at least one with system.branch(...)")
    system.initial_set.check()
    for where, node in system.nodes():
        check_node(where, node)
        if isinstance(node, End | Extremum):
            check_number(node.flow.period, where)
        if isinstance(node, Variable) and system.nodes_by_name.get(node.name) is not node:
            raise ModelError(f"{where} uses variable {node.name!r} of another system")
        if isinstance(node, Switch):
            _check_switch(system, where, node)
    integral: set[int] = set()
    for b in system.branches:
        for name, expr in b.updates:
            if system.variables[name].integral and not is_integral(expr, integral):
                raise ModelError(
                    f"branch {b.name!r}: {name} is an integer and its new value may not be one; "
                    "build it from integers, argmax, switch or where with integer cases"
                )


def first_smooth(system: System) -> str:
    """Where the system is not piecewise linear, as far as it is found first; empty where it is."""
    for where, node in system.nodes():
        if what := smooth_in(node):
            return f"{where} has {what}"
    return ""


def smooth_in(node: Expr | Condition) -> str:
    """The part of a node itself that is not piecewise linear, in words; empty where there is none."""
    if isinstance(node, Smooth):
        return kind_of(node)
    if isinstance(node, Output) and node.application.network.smooth:
        return f"the network {node.application.network.name!r} with {node.application.network.smooth}"
    return ""


def kind_of(node: Smooth) -> str:
    """What a smooth node is, in words."""
    match node:
        case Apply(function, _):
            return f"the function {function}"
        case Extremum(_, _, greatest):
            return f"the {'greatest' if greatest else 'least'} value over a flow"
    return {Product: "a product of expressions", Quotient: "a quotient", End: "the end of a flow"}.get(
        type(node), "a value that is held"
    )


def _check_switch(system: System, where: str, node: Switch) -> None:
    values = system.domains.values(node.selector)
    if values is None:
        raise ModelError(f"{where}: a switch needs a selector of finitely many values (an integer, an argmax)")
    keys = {key for key, _ in node.cases}
    missing = [v for v in values if v.denominator != 1 or int(v) not in keys]
    if missing:
        raise ModelError(f"{where}: the switch has no case for the selector's value {missing[0]}; add one")
