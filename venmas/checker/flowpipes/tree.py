"""Certificates of bounded formulas about systems that are not piecewise linear: a tree of cuts of each initial set.

Lines, each initial set's tree in prefix order, ``cut`` with the part below it first:

    {"rule": "cut", "variable": number, "at": "p/q"}
    {"rule": "choose", "values": ["p/q", ..]}, before a part of a goal that noise is to bring about
    {"rule": "tube", "order": p, "substeps": q, "slices": s, "symbols": k, "sets": m}, the last one where it is not 0
    {"rule": "end", "lines": number of this line}

A cut covers: the parts are ``x <= at`` and ``x >= at``, of an integer ``x <= at`` and ``x >= at + 1``. A leaf encloses
the states from its box for as many steps as the target has, and shows that none meets it. A choice leaves of the box
what has these values of noise: enough where the target has no EX (`venmas.question.chosen_for`). After the trees of one
goal come those of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import product
from typing import Any

from venmas.checker.exact.cell import Q
from venmas.checker.flowpipes.forms import Form, between
from venmas.checker.flowpipes.join import spread
from venmas.checker.flowpipes.state import States
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.checker.flowpipes.ways import ways
from venmas.checker.format.numbers import CheckError, read_index, read_number, read_texts
from venmas.checker.format.rule import Line
from venmas.checker.goals.check import Checked
from venmas.checker.goals.initial import cut_by, declared_cell
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.disturbances import Noise
from venmas.model.system.system import System
from venmas.model.system.variables import Region

_Looking = Generator[tuple[Formula, States], bool | None, bool]
Box = tuple[tuple[Fraction, Fraction], ...]
"""Closed ranges of all variables, in the order of the system."""

BITS = range(40, 257)
"""The unit of values is 2^-bits."""
LIMITS = Fineness(order=20, substeps=256, slices=1024, symbols=4096, sets=4096)
"""The finest leaf."""
MAX_DEPTH = 200
"""Cuts above a leaf, at most."""


class Target:
    """What no initial state may meet, in core form, looked at over sets of states."""

    def __init__(self, system: System, formula: Formula) -> None:
        self.system, self.formula = system, formula

    def open_in(self, box: Box, bits: int, fine: Fineness) -> str | None:
        """Why a state of a box may meet the formula; None: none does."""
        try:
            states = states_of(self.system, box, bits, fine)
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
            case Atom(comparison):
                return states.atom(comparison) is False
            case And(operands):
                for operand in operands:
                    if (yield operand, states):
                        return True
                return False
            case Or(operands):
                for operand in operands:
                    if not (yield operand, states):
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


def initial_box(system: System, region: Region) -> Box | None:
    """A box around an initial set, None where it is empty."""
    cell = cut_by(declared_cell(system), region)
    if cell is None:
        return None
    return tuple((_fraction(a), _fraction(b)) for a, b in zip(cell.low, cell.high, strict=True))


def _fraction(value: Q) -> Fraction:
    return Fraction(int(value.numerator), int(value.denominator))


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


def states_of(system: System, box: Box, bits: int, fine: Fineness) -> States:
    """The states of a box: a symbol for each variable whose range is no point."""
    forms: dict[str, Form] = {}
    count = 0
    for name, (low, high) in zip(system.variables, box, strict=True):
        ends = (low.numerator << bits) // low.denominator, -((-high.numerator << bits) // high.denominator)
        whole = between(*ends)
        if whole.e:
            whole = Form(whole.c, (*(0,) * count, whole.e))
            count += 1
        forms[name] = whole
    return States(system, forms, count, bits, fine)


@dataclass
class _Reader:
    """The lines of a certificate, one after the other."""

    lines: Iterator[tuple[int, Line]]
    tick: Callable[[int], None]
    number: int = 0

    def next(self) -> Line:
        found = next(self.lines, None)
        if found is None:
            raise CheckError(self.number + 1, "the certificate ends before its proof does")
        self.number, line = found
        self.tick(self.number)
        return line


def check_trees(
    system: System,
    goals: Sequence[tuple[Formula, Noise]],
    bits: int,
    lines: Iterator[tuple[int, Line]],
    tick: Callable[[int], None],
) -> Checked:
    """Check that no initial state of the system meets a target, in core form, of one of the `goals`, each with noise
    that may be chosen (`venmas.question.goals`). Raises `CheckError`."""
    reader, leaves = _Reader(lines, tick), 0
    for (target, chosen), region in product(goals, system.regions):
        about, first = Target(system, target), initial_box(system, region)
        stack = [] if first is None else [(first, 0)]
        while stack:
            box, depth = stack.pop()
            line = reader.next()
            if (cut := _cut(line, reader.number, system)) is not None:
                if depth == MAX_DEPTH:
                    raise CheckError(reader.number, f"more than {MAX_DEPTH} cuts above each other")
                variable, at = cut
                if not box[variable][0] <= at <= box[variable][1]:
                    raise CheckError(reader.number, "a cut outside of its box")
                low, high = halves(box, system, variable, at)
                stack += [(high, depth + 1), (low, depth + 1)]
                continue
            if line.get("rule") == "choose":
                box = choice(box, system, _values(line, reader.number, chosen))
                line = reader.next()
            why = about.open_in(box, bits, _fineness(line, reader.number))
            if why is not None:
                raise CheckError(reader.number, f"a leaf is not shown free: {why}")
            leaves += 1
    if reader.next() != {"rule": "end", "lines": reader.number}:
        raise CheckError(reader.number, "expected the last line, with its own number")
    if next(reader.lines, None) is not None:
        raise CheckError(reader.number + 1, "there is more after the end of the proof")
    return Checked(lines=reader.number, leaves=leaves)


def read_bits(data: object) -> int:
    """The unit of values from the header. Raises `CheckError`."""
    if isinstance(data, dict) and data.keys() == {"domain", "bits"} and data["domain"] == "affine":
        bits = data["bits"]
        if type(bits) is int and bits in BITS:
            return bits
    raise CheckError(0, f"the header does not give enclosures as affine forms with {BITS[0]} to {BITS[-1]} bits")


def _cut(line: Line, number: int, system: System) -> tuple[int, Fraction] | None:
    if line.get("rule") != "cut":
        return None
    if line.keys() != {"rule", "variable", "at"}:
        raise CheckError(number, "expected a cut of a variable at a number")
    return read_index(number, line["variable"], len(system.variables)), read_number(number, line["at"])


def _values(line: Line, number: int, chosen: Noise) -> dict[str, Fraction]:
    if not chosen:
        raise CheckError(number, "a choice of noise in a proof that is about all noise")
    if line.keys() != {"rule", "values"}:
        raise CheckError(number, "expected values of noise")
    texts = read_texts(number, line["values"], len(chosen))
    values = {name: read_number(number, text) for name, text in zip(chosen, texts, strict=True)}
    if any(not low <= values[name] <= high for name, (low, high) in chosen.items()):
        raise CheckError(number, "noise that is chosen outside of its range")
    return values


def _fineness(line: Mapping[str, Any], number: int) -> Fineness:
    limits = {f.name: getattr(LIMITS, f.name) for f in fields(Fineness) if f.name != "sets" or "sets" in line}
    if line.get("rule") != "tube" or line.keys() != {"rule", *limits}:
        raise CheckError(number, "expected a cut or a tube")
    for name, most in limits.items():
        if type(line[name]) is not int or not 1 <= line[name] <= most:
            raise CheckError(number, f"expected a whole number from 1 to {most} as {name}")
    return Fineness(**{name: line[name] for name in limits})
