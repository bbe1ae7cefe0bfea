"""The target of a proof: no state of a set may meet it."""

from __future__ import annotations

from collections.abc import Generator

from venmas.checker.exact.initial import Box
from venmas.checker.flowpipes.forms import Form, enclosing
from venmas.checker.flowpipes.join import spread
from venmas.checker.flowpipes.state import States
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.checker.flowpipes.ways import ways
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.disturbances import ahead
from venmas.model.system.system import System
from venmas.nn.network import Semantics

_Looking = Generator[tuple[Formula, States], bool | None, bool]

BITS = range(40, 257)
"""The unit of values is 2^-bits."""
LIMITS = Fineness(order=20, substeps=256, slices=1024, symbols=4096, sets=4096)
"""The finest enclosure."""


class Target:
    """What no initial state may meet, in core form, looked at over sets of states."""

    def __init__(self, system: System, formula: Formula, semantics: Semantics = "real") -> None:
        self.system, self.formula, self._single = system, formula, semantics == "float32"

    def open_in(self, box: Box, bits: int, fine: Fineness) -> str | None:
        """Why a state of a box may meet the formula; None: none does."""
        try:
            states = states_of(self.system, box, bits, fine, self._single)
            if fine.sets:
                spread(states, self.formula.depth, fine.sets)
            found = self.refuted(states)
        except OutsideError as error:
            return str(error)
        return None if found else "a state may meet the negated formula, as far as its enclosures tell"

    def refuted(self, states: States) -> bool:
        """Does no state of the set meet the formula? Formulas may be nested more deeply than calls."""
        known: dict[tuple[int, int], bool] = {}
        asked, answer = [self._place(self.formula, states, known)], None
        while asked:
            try:
                place = asked[-1].send(answer)
            except StopIteration as stop:
                asked.pop()
                answer = stop.value
            else:
                asked.append(self._place(*place, known))
                answer = None
        return bool(answer)

    def _place(self, formula: Formula, states: States, known: dict[tuple[int, int], bool]) -> _Looking:
        """The same of a formula and a set, once for both. known: by identity, as both live meanwhile."""
        key = id(formula), id(states)
        if key not in known:
            known[key] = yield from self._look(formula, states)
        return known[key]

    def _look(self, formula: Formula, states: States) -> _Looking:
        """Asks about parts of the formula, and is sent the answers."""
        branches = self.system.branches
        match formula:
            case Top():
                return False
            case Bottom():
                return True
            case Atom():
                return _false(formula, states)
            case And(operands):
                for operand in operands:
                    if _false(operand, states) if isinstance(operand, Atom) else (yield operand, states):
                        return True
                return False
            case Or(operands):
                for operand in operands:
                    if not (_false(operand, states) if isinstance(operand, Atom) else (yield operand, states)):
                        return False
                return True
            case EX(operand):
                for branch in branches:
                    if states.truth(branch.guard) is False:
                        continue
                    for after in states.after(branch):
                        if not (yield operand, after):
                            return False
                return True
            case AX(operand):
                for group in ways(states, branches):
                    shown = False
                    for branch in group:
                        shown = True
                        for after in states.after(branch):
                            shown = shown and bool((yield operand, after))
                        if shown:
                            break
                    if not shown:  # nor where no branch can be taken, as AX is true there
                        return False
                return True
        raise TypeError(type(formula))


def _false(atom: Atom, states: States) -> bool:
    """Is a comparison false in all states of a set?"""
    return states.atom(atom.comparison) is False


def states_of(system: System, box: Box, bits: int, fine: Fineness, single: bool = False) -> States:
    """The states of a box: a symbol for each variable whose range is no point, but for noise of later steps."""
    forms: dict[str, Form] = {}
    count = 0
    for name, (low, high) in zip(system.variables, box, strict=True):
        whole = enclosing(low, high, bits)
        if whole.e and not ahead(name):
            whole = Form(whole.c, (*(0,) * count, whole.e), 0, whole.known)
            count += 1
        forms[name] = whole
    return States(system, forms, count, bits, fine, single=single)
