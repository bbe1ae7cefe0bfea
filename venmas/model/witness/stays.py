"""Witnesses whose runs do not repeat: one initial state, and a derivation that the negated property holds there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from venmas.logic import Atom, Formula, conjunction
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import misfit
from venmas.model.system.initial import equation
from venmas.model.system.system import System
from venmas.model.witness.tree import Witness

Staying: TypeAlias = Callable[[System, Formula, Sequence[dict[str, Any]]], str]
"""Why lines do not show that the initial states of a system satisfy a core formula; empty where they do."""


def stay_problem(system: System, formula: Formula, witness: Witness, staying: Staying | None) -> str:
    """Why a witness with a derivation does not show the core `formula`; empty where it does.

    The derivation has to be about the one state of the witness, which is an initial one of the system, and about the
    formula: neither is read from it.
    """
    if len(witness.nodes) > 1:
        return "a derivation is about the one initial state of its witness, which has no steps"
    if any(v.radius for v in witness.nodes[0].state):
        return "the initial state of the witness is an interval; a witness starts in one exact state"
    noise = {name: system.variables[name].lower for name in system.disturbances}
    point = {name: value for name, value in witness.nodes[0].point.items() if name not in noise}
    state = {**noise, **point}
    if set(state) != set(system.variables) or misfit(system, state) or not is_initial(system, state):
        return "the initial state is not in the initial set of the system"
    if staying is None:
        return "nothing here checks the derivation of the witness"
    atoms = (Atom(equation(name, value)) for name, value in point.items())
    problem = staying(system.starting(conjunction(atoms)), formula, witness.stay)
    return problem and f"the derivation does not show the violation: {problem}"
