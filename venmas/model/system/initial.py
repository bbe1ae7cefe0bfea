"""The initial set of a system: a union of regions, or the points of one region where a condition holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from venmas.errors import ModelError
from venmas.logic import TRUE, And, Atom, Bottom, Formula, Or, Top, conjunction, disjunction, nnf
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.expr import All, Any, Compare, Condition, Truth, to_comparison
from venmas.model.expressions.limits import MAX_REGIONS, check_count
from venmas.model.system.emptiness import has_point
from venmas.model.system.propagation import check_inside
from venmas.model.system.starts import cases, common_part, regions_of
from venmas.model.system.variables import Region, VariableDecl

_FIRST = 300_000
"""Parts of formulas that are looked at for a first state: a second, where there is none."""


class InitialSet:
    """States of one of the `regions` where `condition` holds, which is true where `MAX_REGIONS` regions will do."""

    def __init__(self, system: str, variables: Mapping[str, VariableDecl]) -> None:
        self.regions: list[Region] = []
        self.condition: Formula = TRUE
        self._system, self._variables = system, variables

    @property
    def formula(self) -> Formula:
        """The set as one formula."""
        return conjunction((disjunction(map(_all_of, self.regions)), self.condition))

    def add_product(self, formula: Formula) -> None:
        """Add the states of a formula by its disjunctive normal form. Raises `ModelError` where that is too large."""
        if self.condition is TRUE:
            self.regions.extend(_regions(nnf(formula)))
            check_count(len(self.regions), MAX_REGIONS, f"parts of the initial set of system {self._system!r}")
        else:
            self._widen((formula,))

    def add(self, formula: Formula) -> None:
        """Add the states of a formula, as disjoint regions where they are few."""
        if self.condition is TRUE:
            found = regions_of(self._variables, formula, MAX_REGIONS - len(self.regions))
            if found is not None:
                self.regions.extend(found)
                return
        self._widen((formula,))

    def add_points(self, states: Sequence[Mapping[str, Fraction]]) -> None:
        """Add single states, which have a value of every variable."""
        points = dict.fromkeys(tuple(equation(n, state[n]) for n in self._variables) for state in states)
        if self.condition is TRUE and len(self.regions) + len(points) <= MAX_REGIONS:
            self.regions.extend(points)
        else:
            self._widen(map(_all_of, points))

    def _widen(self, formulas: Iterable[Formula]) -> None:
        """Add the states of formulas by a condition; what all states have in common becomes their region."""
        found = common_part(self._variables, disjunction((self.formula, *formulas)))
        self.regions, self.condition = ([], TRUE) if found is None else ([found[0]], found[1])

    def check(self) -> None:
        """Raise `ModelError` where it is empty, or reaches outside of the declared ranges (design S1)."""
        if not self.regions:
            raise ModelError(f"system {self._system!r} has no initial states: add a set with system.initial(...)")
        check_inside(self._system, self._variables, self.regions)
        if self._empty(self.regions):
            shown = " & ".join(map(str, self.regions[0]))
            raise ModelError(
                f"system {self._system!r} has no initial states: nothing satisfies {shown}; change its bounds"
            )
        if self.condition is not TRUE and self._empty(self.cases(_FIRST)):
            raise ModelError(f"system {self._system!r} has no initial states: nothing satisfies their condition")

    def _empty(self, regions: Iterable[Region | None]) -> bool:
        return all(region is not None and has_point(self._variables, region) is False for region in regions)

    def cases(self, work: int) -> Iterator[Region | None]:
        """Disjoint regions that make up the set, None as the last where they take more than so much work."""
        return cases(self._variables, self.formula, work=work)


def equation(name: str, value: Fraction) -> Comparison:
    """Comparison that a variable has a value."""
    return Comparison(LinearExpr.variable(name) - LinearExpr((), value), Relation.EQ)


def _all_of(region: Region) -> Formula:
    return conjunction(map(Atom, region))


def _regions(formula: Formula) -> list[Region]:
    """Disjunctive normal form of a formula without temporal operators; ``!=`` is split into ``<`` and ``>``."""
    match formula:
        case Top():
            return [()]
        case Bottom():
            return []
        case Atom(comparison) if comparison.relation is Relation.NE:
            return [(Comparison(comparison.expr, r),) for r in (Relation.LT, Relation.GT)]
        case Atom(comparison):
            return [(comparison,)]
        case Or(operands):
            return [region for o in operands for region in _regions(o)]
        case And(operands):
            product: list[Region] = [()]
            for o in operands:
                factors = _regions(o)
                check_count(len(product) * len(factors), MAX_REGIONS, "parts of an initial set, whose cases multiply")
                product = [left + right for left in product for right in factors]
            return product
    raise ModelError(f"an initial set can not contain {formula}")


def to_formula(condition: Condition, where: str) -> Formula:
    """A condition over variables as a formula. Raises `ModelError` where it is not linear in the variables."""
    match condition:
        case Truth(value):
            return Top() if value else Bottom()
        case Compare():
            comparison = to_comparison(condition)
            if comparison is None:
                raise ModelError(f"{where} must compare affine expressions of the state variables")
            return Atom(comparison)
        case All(operands):
            return conjunction(to_formula(c, where) for c in operands)
        case Any(operands):
            return disjunction(to_formula(c, where) for c in operands)
    raise TypeError(type(condition))
