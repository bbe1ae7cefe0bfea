"""Steps of a system from one state in balls: successors, and the comparisons that stay open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic import Atom
from venmas.logic.linear import Relation
from venmas.model.evaluation.balls import Ball, OpenValueError
from venmas.model.evaluation.enclosed import Enclosed, Real, decided
from venmas.model.system.variables import VariableDecl
from venmas.nn.runtime import Runtime

if TYPE_CHECKING:
    from venmas.model.system.system import System

PRECISIONS = (64, 128, 256, 512, 1024, 2048, 4096)
"""Bits that are tried one after the other, until everything that is needed is decided."""
_DIGITS = 30


class EnclosedStep:
    """The answers of the environment in one enclosed state, as they are asked for; `open` where one is not decided."""

    def __init__(self, system: System, state: Mapping[str, Real], bits: int, runtime: Runtime | None = None) -> None:
        self._system, self._at = system, Enclosed(state, bits, runtime)
        self._found: dict[int, dict[str, Real] | None] = {}
        self.open = ""

    def actions(self) -> dict[str, Real]:
        """Actions of the agents by name. Raises `OpenValueError`."""
        return {a.name: self._at.value(a.expr) for a in self._system.agents}

    def enabled(self) -> tuple[int, ...] | None:
        """The branches whose guards hold, None where a guard is open."""
        truths = [self._at.truth(branch.guard) for branch in self._system.branches]
        if None in truths:
            self.open = f"the guard of branch {self._system.branches[truths.index(None)].name!r} is open"
            return None
        return tuple(i for i, holds in enumerate(truths) if holds)

    def successor(self, index: int) -> dict[str, Real] | None:
        """The successor by branch `index`; None where its guard does not hold, or something is `open`.

        Raises `ModelError` when it leaves the declared box (design S1), or has no value (S1b).
        """
        if index not in self._found:
            try:
                self._found[index] = self._compute(index)
            except OpenValueError as error:
                self._found[index], self.open = None, str(error)
        return self._found[index]

    def successors(self) -> Iterator[tuple[int, dict[str, Real]]]:
        """All that are decided, in the order of branches."""
        for index in range(len(self._system.branches)):
            if (successor := self.successor(index)) is not None:
                yield index, successor

    def _compute(self, index: int) -> dict[str, Real] | None:
        ask()
        branch = self._system.branches[index]
        if not self._at.holds(branch.guard):
            return None
        where = f"branch {branch.name!r} of system {self._system.name!r}"
        new = dict(self._at.state)
        for name, expr in branch.updates:
            try:
                new[name] = self._at.value(expr)
            except ModelError as error:
                raise ModelError(f"{where}, new value of {name}: {error}") from error
            _check(self._system.variables[name], new[name], where)
        return new


def _check(decl: VariableDecl, value: Real, where: str) -> None:
    """Raises `ModelError` for a value outside of the range, `OpenValueError` for one that may be."""
    inside = [
        decided(relation, _less(value, end)) for relation, end in ((Relation.GE, decl.lower), (Relation.LE, decl.upper))
    ]
    if False in inside:
        shown = f"{float(value if isinstance(value, Fraction) else value.low):.12g}"
        raise ModelError(
            f"{where} leaves the declared box: {decl.name} = {shown} is outside its range "
            f"[{float(decl.lower):.12g}, {float(decl.upper):.12g}]. Widen the range of the variable, guard the branch, "
            "or look fewer steps ahead"
        )
    if None in inside:
        raise OpenValueError(f"{decl.name} may leave its range")
    if decl.integral and isinstance(value, Ball):
        raise OpenValueError(f"the integer {decl.name} is not exact")


def _less(value: Real, end: Fraction) -> Real:
    """``value - end``."""
    if isinstance(value, Fraction):
        return value - end
    scaled = end * (1 << value.bits)
    return Ball(value.mid - scaled.__floor__(), value.rad + (scaled.denominator > 1), value.bits)


def atom_value(atom: Atom, state: Mapping[str, Real], bits: int) -> tuple[Fraction, bool]:
    """A number that the atom's comparison holds for only if it holds for the value at a state, and: is it open?

    It is the end of the enclosure that is nearest to 0 where that decides, else one for which the comparison fails.
    """
    relation = atom.comparison.relation
    value = Enclosed(state, bits).linear(atom.comparison.expr)
    if isinstance(value, Fraction):
        return value, False
    truth = decided(relation, value)
    if truth is None:
        return {Relation.NE: Fraction(0), Relation.GE: Fraction(-1), Relation.GT: Fraction(-1)}.get(
            relation, Fraction(1)
        ), True
    return _toward_zero(value.low if value.mid > 0 else value.high), False


def _toward_zero(value: Fraction) -> Fraction:
    """A decimal of ten digits, of the same sign and not further from 0."""
    digits, size = 0, abs(value)
    while size and size * 10**digits < 10**9:
        digits += 1
    decimal = Fraction(int(size * 10**digits), 10**digits)
    return -decimal if value < 0 else decimal


def margin_at(atom: Atom, state: Mapping[str, Real]) -> Fraction:
    """Least signed distance of a state from where the atom's comparison fails; exact for exact states."""
    bits = max((v.bits for v in state.values() if isinstance(v, Ball)), default=PRECISIONS[0])
    return atom_value(atom, state, bits)[0]


def rounded(value: Real) -> tuple[Fraction, Fraction]:
    """A decimal and a radius that enclose a value, of at most 30 digits behind the point; 0 for exact ones."""
    if isinstance(value, Fraction):
        return value, Fraction(0)
    middle, radius = Fraction(value.mid, 1 << value.bits), Fraction(value.rad, 1 << value.bits)
    digits = 2
    while digits < _DIGITS and 10**digits * radius < 10:
        digits += 1
    decimal = Fraction(round(middle * 10**digits), 10**digits)
    return decimal, Fraction(ceil((radius + abs(middle - decimal)) * 10**digits), 10**digits)
