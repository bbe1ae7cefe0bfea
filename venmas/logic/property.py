"""Properties by kind: what a procedure has to be able to decide (design section 2b, S5, L3).

Three kinds are of branching time (CTL), one is of linear time (LTL). `Bounded` is the only kind that is unrolled. A
formula with an operator without a bound has no depth and no core form
(`Formula.depth` and `nnf` refuse it), so that what unrolls never works on one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, NoReturn, TypeAlias

from venmas.errors import FormulaError
from venmas.logic.formula import Formula, Globally, Quantifier, Until, Window, is_temporal, subformulas
from venmas.logic.paths import R, U, X
from venmas.logic.printing import to_text


@dataclass(frozen=True)
class Place:
    """Where the first operator without a bound stands in a text; line and column count from 1."""

    operator: str
    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Bounded:
    """Bounded CTL: what is asked lies within `formula.depth` steps. Raises `FormulaError` for another formula."""

    formula: Formula
    kind: ClassVar[str] = "bounded"

    def __post_init__(self) -> None:
        _ = self.formula.depth  # refuses an operator without a bound


@dataclass(frozen=True)
class Always:
    """``AG[start,*] invariant``: every state that is met from step `start` on satisfies a formula about one state."""

    start: int
    invariant: Formula
    place: Place | None = field(default=None, compare=False, repr=False)
    kind: ClassVar[str] = "always"

    @property
    def formula(self) -> Formula:
        """The property as a formula."""
        return Globally(Quantifier.ALL, self.start, None, self.invariant)


@dataclass(frozen=True)
class Unbounded:
    """CTL in which some operator has no bound, of another form than `Always`: nested, below AX, joined with others."""

    formula: Formula
    place: Place | None = field(default=None, compare=False, repr=False)
    kind: ClassVar[str] = "unbounded"


Deadlock: TypeAlias = Literal["error", "stutter"]
"""Of a state without successor: `error`, nothing is satisfied where one is reached; `stutter`, runs stay there."""


@dataclass(frozen=True)
class Linear:
    """LTL, for ever: every run on which each of `fair` holds infinitely often satisfies the formula."""

    formula: Formula
    fair: tuple[Formula, ...] = ()
    deadlock: Deadlock = "error"
    kind: ClassVar[str] = "linear"

    @property
    def text(self) -> str:
        """The formula as people write it."""
        return to_text(self.formula)


Branching: TypeAlias = Bounded | Always | Unbounded
"""Properties of CTL."""
Property: TypeAlias = Branching | Linear


def is_linear(formula: Formula) -> bool:
    """Does the formula have an operator of LTL?"""
    return any(isinstance(node, X | U | R) for node in subformulas(formula))


def classified(formula: Formula, place: Place | None = None) -> Branching:
    """The property that a formula of CTL states."""
    match formula:
        case Formula(horizon=int()):
            return Bounded(formula)
        case Globally(Quantifier.ALL, start, None, operand) if not is_temporal(operand):
            return Always(start, operand, place)
        case _:
            return Unbounded(formula, place)


def bounded(asked: Branching) -> Formula:
    """The formula of a bounded property. Raises `FormulaError` for the other kinds, which are not unrolled."""
    return asked.formula if isinstance(asked, Bounded) else _refuse(asked)


def _refuse(asked: Always | Unbounded) -> NoReturn:
    place = asked.place or Place(_operator(asked.formula), "", 0, 0)
    operator = place.operator
    instead = f"{operator}^5 p (steps 1 to 5) or {operator}[0,5] p (the present to step 5)"
    bounded_until = "p U^5 q (the present to step 5)"
    raise FormulaError(
        f"{operator} needs a bound: without one it speaks of all steps for ever, and only bounded formulas are "
        "unrolled (mode invariant, the default for others, decides them); "
        f"write {bounded_until if operator == 'U' else instead}",
        place.text,
        place.line,
        place.column,
    )


def _operator(formula: Formula) -> str:
    node = next(n for n in subformulas(formula) if isinstance(n, Window) and n.end is None)
    return "U" if isinstance(node, Until) else f"{node.quantifier.value}{type(node).__name__[0]}"
