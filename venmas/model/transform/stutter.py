"""Systems in which runs stay in a state without a successor (`--deadlock stutter`, L2 of docs/semantics.md)."""

from __future__ import annotations

from copy import copy

from venmas.model.expressions.conditions import conjunction
from venmas.model.system.memo import Memo
from venmas.model.system.parts import Branch
from venmas.model.system.system import System


def stuttering(system: System) -> System:
    """The system with one more branch, which changes nothing and is open where no other one is.

    Itself where some branch is always open. With disturbances a state may have a successor under some noise alone, and
    what runs do there is not said: the guard of the branch would have to be about the noise of a step.
    """
    if not system.may_deadlock:
        return system
    made = copy(system)
    made._memo = Memo()
    made.__dict__.pop("domains", None)
    taken = {branch.name for branch in system.branches}
    name = "stay"
    while name in taken:
        name += "_"
    made.branches = [*system.branches, Branch(name, (), conjunction(~branch.guard for branch in system.branches))]
    return made
