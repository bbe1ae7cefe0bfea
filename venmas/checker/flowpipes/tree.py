"""Certificates of bounded formulas about systems that are not piecewise linear: a tree of cuts of each initial set.

First stands the unit of values (`Enclosures`), then each initial set's tree in prefix order: `Cut`, with the part below
it first, and leaves (`Tube`), before which `Choose` may stand where noise is to bring a goal about.

A cut covers: the parts are ``x <= at`` and ``x >= at``, of an integer ``x <= at`` and ``x >= at + 1``. A leaf encloses
the states from its box for as many steps as the target has, and shows that none meets it. A choice leaves of the box
what has these values of noise: enough where the target has no EX (`venmas.question.chosen_for`). After the trees of one
goal come those of the next.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Annotated

from venmas.checker.exact.initial import Box, initial_box
from venmas.checker.flowpipes.forms import Form, between
from venmas.checker.flowpipes.join import spread
from venmas.checker.flowpipes.state import States
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.checker.flowpipes.ways import ways
from venmas.checker.format.about import About
from venmas.checker.format.cuts import leaves
from venmas.checker.format.fields import Count, Limit, Number
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import read_index, read_number
from venmas.checker.format.rule import Rule, rule
from venmas.checker.goals.check import Checked
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.disturbances import Noise, ahead
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.question import goals

_Looking = Generator[tuple[Formula, States], bool | None, bool]

BITS = range(40, 257)
"""The unit of values is 2^-bits."""
LIMITS = Fineness(order=20, substeps=256, slices=1024, symbols=4096, sets=4096)
"""The finest leaf."""
MAX_DEPTH = 200
"""Cuts above a leaf, at most."""


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
            found = self._refuted(states)
        except OutsideError as error:
            return str(error)
        return None if found else "a state may meet the negated formula, as far as its enclosures tell"

    def _refuted(self, states: States) -> bool:
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


def halves(box: Box, system: System, variable: int, at: Fraction) -> tuple[Box, Box]:
    """The parts of a box that a cut makes, which cover its states."""
    low, high = box[variable]
    integral = list(system.variables.values())[variable].integral
    if integral:
        at = Fraction(at.numerator // at.denominator)
    first, second = (low, at), (at + 1 if integral else at, high)
    return (*box[:variable], first, *box[variable + 1 :]), (*box[:variable], second, *box[variable + 1 :])


def choice(box: Box, system: System, values: Mapping[str, Fraction]) -> Box:
    """The part of a box with these values of noise."""
    ends = zip(system.variables, box, strict=True)
    return tuple((values[name], values[name]) if name in values else end for name, end in ends)


def states_of(system: System, box: Box, bits: int, fine: Fineness, single: bool = False) -> States:
    """The states of a box: a symbol for each variable whose range is no point, but for noise of later steps."""
    forms: dict[str, Form] = {}
    count = 0
    for name, (low, high) in zip(system.variables, box, strict=True):
        ends = (low.numerator << bits) // low.denominator, -((-high.numerator << bits) // high.denominator)
        whole = between(*ends)
        if whole.e and not ahead(name):
            whole = Form(whole.c, (*(0,) * count, whole.e), 0, whole.known)
            count += 1
        forms[name] = whole
    return States(system, forms, count, bits, fine, single=single)


@rule("enclosures")
@dataclass(frozen=True, slots=True)
class Enclosures(Rule):
    """The unit of the affine forms that enclose states, ``2**-bits``."""

    bits: Annotated[int, Limit(BITS[0], BITS[-1])]


@rule("cut")
@dataclass(frozen=True, slots=True)
class Cut(Rule):
    """The parts of a box where a variable, by number, is at most a number, and at least; they follow."""

    variable: Count
    at: Number


@rule("choose")
@dataclass(frozen=True, slots=True)
class Choose(Rule):
    """The values of chosen noise to which the box of the next leaf is cut."""

    values: tuple[Number, ...]


@rule("tube")
@dataclass(frozen=True, slots=True)
class Tube(Rule):
    """A leaf: no state of the box meets the target, as its enclosure, so fine, shows."""

    order: Annotated[int, Limit(1, LIMITS.order)]
    substeps: Annotated[int, Limit(1, LIMITS.substeps)]
    slices: Annotated[int, Limit(1, LIMITS.slices)]
    symbols: Annotated[int, Limit(1, LIMITS.symbols)]
    sets: Annotated[int, Limit(1, LIMITS.sets)] = 0


def check_trees(
    system: System, goals: Sequence[tuple[Formula, Noise]], lines: Lines, semantics: Semantics = "real"
) -> Checked:
    """Check that no initial state of the system meets a target, in core form, of one of the `goals`, each with noise
    that may be chosen (`venmas.question.goals`). semantics: of networks. Raises `CheckError`."""
    with lines.refusing():
        bits, count = lines.next(Enclosures).bits, 0
        for (target, chosen), region in product(goals, system.regions):
            about, first = Target(system, target, semantics), initial_box(system, region)
            if first is not None:
                for _ in leaves((first, 0), partial(_node, about, chosen, bits, lines)):
                    count += 1
        lines.end()
        return Checked(lines=lines.number, leaves=count)


def _node(
    about: Target, chosen: Noise, bits: int, lines: Lines, node: tuple[Box, int], waiting: int
) -> Sequence[tuple[Box, int]]:
    """The parts of a box that is cut, with their depth; none where it is a leaf that is shown free."""
    box, depth = node
    found = lines.next(Cut, Choose, Tube)
    if isinstance(found, Cut):
        if depth == MAX_DEPTH:
            raise lines.refused(f"more than {MAX_DEPTH} cuts above each other")
        variable = read_index(lines.number, found.variable, len(about.system.variables))
        at = read_number(lines.number, found.at)
        if not box[variable][0] <= at <= box[variable][1]:
            raise lines.refused("a cut outside of its box")
        low, high = halves(box, about.system, variable, at)
        return (low, depth + 1), (high, depth + 1)
    if isinstance(found, Choose):
        box = choice(box, about.system, _values(found, lines, chosen))
        found = lines.next(Tube)
    assert isinstance(found, Tube)
    why = about.open_in(box, bits, Fineness(found.order, found.substeps, found.slices, found.symbols, found.sets))
    if why is not None:
        raise lines.refused(f"a leaf is not shown free: {why}")
    return ()


def _values(found: Choose, lines: Lines, chosen: Noise) -> dict[str, Fraction]:
    if not chosen:
        raise lines.refused("a choice of noise in a proof that is about all noise")
    if len(found.values) != len(chosen):
        raise lines.refused(f"expected {len(chosen)} values of noise")
    values = {name: read_number(lines.number, text) for name, text in zip(chosen, found.values, strict=True)}
    if any(not low <= values[name] <= high for name, (low, high) in chosen.items()):
        raise lines.refused("noise that is chosen outside of its range")
    return values


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind flowpipes. Raises `CheckError`."""
    claimed = goals(about.system, about.bounded, about.chosen)
    return check_trees(about.system, claimed, lines, about.claim.semantics)
