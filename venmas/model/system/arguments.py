"""What the methods of a system are given, read so that each mistake has a message of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from fractions import Fraction
from numbers import Integral

import numpy as np

from venmas.errors import InputError, ModelError, did_you_mean
from venmas.logic.linear import as_fraction
from venmas.model.expressions.expr import Condition, Expr, Scalar, Variable, as_condition, as_expr
from venmas.model.expressions.refusals import shortened
from venmas.model.expressions.vector import Vector, components


def read_text(value: object, what: str, example: str) -> str:
    """Text, such as a name. Raises `ModelError` for anything else."""
    if not isinstance(value, str):
        raise ModelError(f"{what} is text such as {example!r}, got {shortened(value)}")
    return value


def read_end(value: object, what: str) -> Fraction:
    """An end of a range."""
    try:
        return as_fraction(value)
    except InputError as error:
        raise ModelError(f"{what}: {error}") from error


def read_unit(value: object, what: str) -> str:
    """A unit, which is for the reader."""
    return read_text(value, f"the unit of {what} (labels are given as labels={{1: 'low'}})", "m/s")


def read_labels(labels: Mapping[int, str] | None, what: str) -> tuple[tuple[int, str], ...]:
    """Names of integers, by rising integer. Raises `ModelError` where two integers have one name."""
    given = {} if labels is None else labels
    if not isinstance(given, Mapping):
        raise ModelError(f"the labels of {what} name integers, {{0: 'left', 1: 'right'}}, got {shortened(given)}")
    seen: dict[str, object] = {}
    for value, text in given.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ModelError(f"the labels of {what} name integers, {{0: 'left', 1: 'right'}}, got {shortened(value)}")
        if read_text(text, f"label {value} of {what}", "left") in seen:
            raise ModelError(f"label {text!r} of {what} names {seen[text]} and {value}; rename one")
        seen[text] = value
    return tuple(sorted((int(value), text) for value, text in given.items()))


def read_conditions(conditions: Sequence[object], where: str) -> tuple[Condition, ...]:
    """Conditions on the state. Raises `ModelError` for anything else, True and False included.

    Python finds these by comparing objects (``[x, y] != [0, 0, 0]``, ``x is not None``), and a condition would be lost.
    """
    found = []
    for i, condition in enumerate(conditions, 1):
        try:
            found.append(as_condition(condition, literal=False))
        except ModelError as error:
            place = f"{where}, condition {i}" if len(conditions) > 1 else where
            raise ModelError(f"{place}: {error}") from error
    return tuple(found)


def read_action(action: Scalar, name: str) -> Expr:
    """What an agent does."""
    try:
        return as_expr(action)
    except ModelError as error:
        raise ModelError(
            f"agent {name!r}: {error} (an action is one number; several are several agents, each with a name)"
        ) from error


def read_updates(
    where: str,
    nodes: Mapping[str, Variable],
    listing: str,
    updates: Mapping[Variable | Vector, Scalar | Vector] | None,
    named: Mapping[str, object],
) -> dict[str, Expr]:
    """New values by variable name.

    nodes: the variables of the system; `listing` names them. updates: new values by variable or group. named: those
    given by keyword. Raises `ModelError` for what is no variable, given twice, or does not fit.
    """
    given: Mapping[object, object] = {} if updates is None else updates  # type: ignore[assignment]
    if not isinstance(given, Mapping):
        raise ModelError(
            f"{where}: new values are given as {{variable: value}} or variable=value, and a guard as when=; "
            f"got {shortened(given)}"
        )
    found: dict[str, Expr] = {}
    for target, value in (*given.items(), *named.items()):
        target = _named(where, nodes, listing, target) if isinstance(target, str) else target
        target = Vector(target) if isinstance(target, tuple) else target
        targets = list(target) if isinstance(target, Vector) else [target]
        for variable, new in zip(targets, _values(where, target, value, len(targets)), strict=True):
            if not isinstance(variable, Variable) or nodes.get(variable.name) is not variable:
                raise ModelError(f"{where} updates {shortened(variable)}, which is no variable of {listing}")
            if variable.name in found:
                raise ModelError(f"{where} updates {variable.name!r} twice")
            try:
                found[variable.name] = as_expr(new)
            except ModelError as error:
                raise ModelError(f"{where}, new value of {variable.name}: {error}") from error
    return found


def _named(where: str, nodes: Mapping[str, Variable], listing: str, name: str) -> Variable | Vector:
    """The variable of a name, or the group whose members are ``name[1] .. name[n]``."""
    if name in nodes:
        return nodes[name]
    members = [known for known in nodes if known.startswith(f"{name}[")]
    if members and members == [f"{name}[{i}]" for i in range(1, len(members) + 1)]:
        return Vector(nodes[member] for member in members)
    hint = did_you_mean(name, {known.partition("[")[0] for known in nodes})
    raise ModelError(f"{where} updates {name}, which is no variable of {listing}{hint}")


def _values(where: str, target: object, value: object, count: int) -> list[object]:
    several = isinstance(value, Vector | list | tuple | Mapping | Set) or (isinstance(value, np.ndarray) and value.ndim)
    if not isinstance(target, Vector):
        if several:
            raise ModelError(f"{where}: {shortened(target)} is one variable and got several values; give it one")
        return [value]
    if not several:
        raise ModelError(
            f"{where}: {shortened(target)} has {count} components and got one value; write Vector([a, b, ...]), "
            f"or Vector([a] * {count}) for the same in each"
        )
    try:
        values = components(value, "a group")
    except ModelError as error:
        raise ModelError(f"{where}, new values of {shortened(target)}: {error}") from error
    if len(values) != count:
        raise ModelError(
            f"{where}: {len(values)} new values for the {count} components of {shortened(target)}; give {count}"
        )
    return list(values)
