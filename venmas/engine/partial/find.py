"""Finding out how far an open question came, from what its procedures left and a moment of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias, TypeVar

from venmas.answer import Remaining
from venmas.budget import Budget, BudgetError, limited
from venmas.engine.partial.closest import closest
from venmas.engine.partial.partial import Closest, Partial, kept
from venmas.engine.partial.prefix import Prefixes, proved_until
from venmas.errors import InputError
from venmas.logic import Always, Bounded, Formula, Globally, Property, Quantifier, nnf
from venmas.model.evaluation.regions import bounding_box
from venmas.model.system.disturbances import drawn
from venmas.model.system.system import System
from venmas.model.system.variables import Box, VariableDecl
from venmas.question import Question

_BEYOND = 0.25
"""Seconds beyond the limit, so that short ones leave something, too."""
_TEXT = 0.2
"""Seconds for writing formulas."""
_SAMPLING = 0.6
"""Part of the time for the closest run."""
_FOREVER = 50
"""Steps that are looked at where a property has no bound."""
_SHOWN = 256
"""Boxes that a report has."""

Decls: TypeAlias = Sequence[VariableDecl]
_Found = TypeVar("_Found")
_NOTHING: tuple[str, int | None, str] = ("", None, "")


def how_far(
    system: System, asked: Property, question: Question, remaining: Sequence[Remaining], timeout: float | None
) -> Partial:
    """Partial result of a question.

    system, asked: as they were written. question: about the system without disturbances. remaining: what procedures
    left of it. timeout: that was given; a part of it was kept.
    """
    budget = Budget(kept(timeout) + _BEYOND)
    with limited(budget):
        left = _within(lambda: _left(system, question, remaining), Partial())
        part = budget.within((1 - _SAMPLING) * (budget.left or 0.0))
        proved = _within(lambda: _proved(asked, question, remaining, part), _NOTHING)
        run = _within(lambda: _closest(system, asked, question, remaining, budget), None)
    leaving = {*left.leaving, *(name for r in remaining if proved[0] and r.steps is not None for name in r.leaving)}
    window = Prefixes.of(asked.formula)
    return replace(
        left,
        proved=proved[0],
        steps=proved[1],
        open=proved[2],
        closest=run,
        leaving=tuple(sorted(leaving)),
        before=0 if window is None else window.before,
        first=0 if window is None else window.first,
    )


def _within(work: Callable[[], _Found], otherwise: _Found) -> _Found:
    """Partial result within the time; nothing is claimed of the rest."""
    try:
        return work()
    except (BudgetError, InputError, OverflowError, RecursionError):  # formulas that are too large, too
        return otherwise


def _roots(system: System) -> list[Box]:
    return [box for region in system.regions if (box := bounding_box(system, region)) is not None]


def _left(written: System, question: Question, remaining: Sequence[Remaining]) -> Partial:
    """The share of the initial set that is proved, and the boxes that are open."""
    system, roots = question.system, _roots(question.system)
    names = [n for n in written.variables if n not in written.disturbances]
    decls = [system.variables[n] for n in names]
    if not roots:
        return Partial()
    around = _floats(names, _hull(roots))
    if not remaining:
        return Partial(around=around)
    left = min(remaining, key=lambda r: _volume(decls, r.boxes, roots))
    shown = sorted(left.boxes, key=lambda b: -_volume(decls, [b], roots))
    return Partial(
        share=_share(decls, roots, left.boxes),
        boxes=tuple(_floats(names, box) for box in shown[:_SHOWN]),
        count=len(shown),
        around=around,
        leaving=tuple(sorted(left.leaving)),
    )


def _closest(
    written: System, asked: Property, question: Question, remaining: Sequence[Remaining], budget: Budget
) -> Closest | None:
    """The closest run from what is open."""
    target = _target(asked, question)
    if target is None:
        return None
    system = drawn(question.system, target.depth)  # where there is no bound; others have the noise of all steps
    roots = _roots(system)
    left = min((r.boxes for r in remaining if r.boxes), key=len, default=())
    boxes = [{**_hull(roots), **box} for box in left] if roots else []
    return closest(system, target, (boxes or roots)[:64], written.disturbances, budget)


def _target(asked: Property, question: Question) -> Formula | None:
    """Target of a run; of a property without a bound, within some steps."""
    match asked:
        case Bounded():
            return question.target
        case Always(start, invariant):
            end = start + _FOREVER
            before = question.asked.start - start if isinstance(question.asked, Always) else 0
            return nnf(Globally(Quantifier.ALL, start + before, end + before, invariant), negate=True)
    return None


def _proved(
    asked: Property, question: Question, remaining: Sequence[Remaining], budget: Budget
) -> tuple[str, int | None, str]:
    """The formula with the most steps that is proved, their number, and the one with one step more."""
    prefixes, extra = Prefixes.of(asked.formula), 1 if question.system.quantities else 0
    if prefixes is None or question.chosen:
        return "", None, ""
    last = prefixes.last if prefixes.last is not None else prefixes.first + _FOREVER
    told = [r.steps - extra for r in remaining if r.steps is not None]
    best = max(told, default=prefixes.first - 1)
    if best < last and not (told and question.system.smooth):  # whose enclosures take longer
        best = max(best, _within(lambda: _enclosed(question.system, prefixes, extra, last, budget), best))
    with limited(Budget(_TEXT)):  # what is known is written, though the time of the search is over
        return _formulas(prefixes, best, last)


def _enclosed(system: System, prefixes: Prefixes, extra: int, last: int, budget: Budget) -> int:
    """The steps that enclosures prove, whatever procedures told."""
    with limited(budget):
        return proved_until(drawn(system, last + extra), prefixes, extra, last, budget)


def _formulas(prefixes: Prefixes, best: int, last: int) -> tuple[str, int | None, str]:
    if prefixes.last is not None and best >= last:  # whether runs stay in their box is what is open
        return str(prefixes.asked), last - prefixes.before, ""
    if best < prefixes.first:
        return "", None, str(prefixes.until(prefixes.first))
    return str(prefixes.until(best)), best - prefixes.before, str(prefixes.until(best + 1))


def _share(decls: Decls, roots: Sequence[Box], boxes: Sequence[Box]) -> float:
    """At least this part of the boxes is not in any of the others."""
    apart = all(_apart(decls, one, other) for one, other in combinations(roots, 2))
    whole = _volume(decls, roots, roots) if apart else max(_volume(decls, [root], roots) for root in roots)
    return max(0.0, 1 - _volume(decls, boxes, roots) / whole) if whole else 0.0


def _apart(decls: Decls, one: Box, other: Box) -> bool:
    """Do they have no volume in common?"""
    shared = ((d, max(one[d.name][0], other[d.name][0]), min(one[d.name][1], other[d.name][1])) for d in decls)
    return any(high < low or (high == low and not d.integral) for d, low, high in shared)


def _volume(decls: Decls, boxes: Iterable[Box], roots: Sequence[Box]) -> float:
    """At most the volume of the union, in the variables of the initial state that have a width in any of the roots."""
    wide = [d for d in decls if any(b[d.name][0] < b[d.name][1] for b in roots)]
    seen = {tuple(box[d.name] for d in wide) for box in boxes}
    total = 0.0
    for sides in seen:
        size = 1.0
        for decl, (low, high) in zip(wide, sides, strict=True):
            size *= _size(decl, low, high)
        total += size
    return total


def _size(decl: VariableDecl, low: Fraction, high: Fraction) -> float:
    return float(high - low + 1) if decl.integral else float(high - low)


def _hull(boxes: Sequence[Box]) -> Box:
    return {n: (min(b[n][0] for b in boxes), max(b[n][1] for b in boxes)) for n in boxes[0]}


def _floats(names: Sequence[str], box: Box) -> dict[str, tuple[float, float]]:
    """The sides of a box that have a width."""
    sides = {n: (float(box[n][0]), float(box[n][1])) for n in names}
    return {n: ends for n, ends in sides.items() if ends[0] < ends[1]} or sides
