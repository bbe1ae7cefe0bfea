"""Stays: initial states with derivations of what holds in them for ever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from venmas.answer import IncompleteError
from venmas.logic import Atom, conjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.system.system import System
from venmas.model.witness.enclosed import told
from venmas.model.witness.tree import Node, Value, Witness
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.proof import Derivation, DerivationProof


@dataclass(frozen=True)
class Point:
    """An initial state, and the system that starts there alone."""

    values: tuple[Value, ...]
    system: System


def point(system: System, known: Mapping[str, Fraction]) -> Point:
    """An initial state: values of all variables but disturbances."""
    noise = {n: system.variables[n].lower for n in system.disturbances}  # it stands for all: a state has none
    shown = {n: {**noise, **known}[n] for n in system.variables}
    values = tuple(told(n, v, system.variables[n].labels) for n, v in shown.items())
    atoms = (Comparison(LinearExpr.variable(n) - LinearExpr((), v), Relation.EQ) for n, v in known.items())
    return Point(values, system.starting(conjunction(map(Atom, atoms))))


def stay(start: Point, derivation: Derivation, asking: Asking, tick: Callable[[], None]) -> Witness | None:
    """An initial state with the lines of a derivation; None where a part is not proved in rationals."""
    try:
        lines = [rule.to_json() for rule in DerivationProof(derivation, asking.sets).lines(None, tick)]
    except IncompleteError:
        return None
    return Witness((Node(start.values),), stay=(*lines, {"rule": "end", "lines": len(lines) + 1}))
