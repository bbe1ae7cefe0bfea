"""The states of a closed abstract graph as an inductive set: boxes of intervals, merged, as words over predicates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from venmas.abstraction.states.cells import Cells, States
from venmas.abstraction.states.predicates import Predicate
from venmas.bounds.rounding import Ints
from venmas.model.boxes import merged_boxes
from venmas.model.invariant import Invariant


def invariant_of(cells: Cells, states: States, also: Sequence[tuple[Predicate, bool]] = ()) -> Invariant:
    """The union of abstract states; predicates are the ends of the boxes that they merge to.

    also: predicates with truths that hold in all of them besides.
    """
    first, last = merged_boxes(states, states)
    number: dict[Predicate, int] = {}
    literals: list[list[tuple[int, str]]] = []
    for a, b in zip(first, last, strict=True):
        found = [(number.setdefault(p, len(number)), str(int(truth))) for p, truth in also]
        for v in cells.cut.tolist():
            if a[v] > 0:
                p = Predicate(((v, 1),), int(cells.begin[v][a[v]]))
                found.append((number.setdefault(p, len(number)), "1"))
            if b[v] < len(cells.cuts[v]):
                p = Predicate(((v, 1),), int(cells.begin[v][b[v] + 1]))
                found.append((number.setdefault(p, len(number)), "0"))
        for j, p in enumerate(cells.relational):
            if a[cells.width + j] == b[cells.width + j]:
                found.append((number.setdefault(p, len(number)), str(int(a[cells.width + j]))))
        literals.append(found)
    rows = tuple(p.row(cells.width) for p in number)
    words = []
    for found in literals:
        word = ["-"] * len(number)
        for place, truth in found:
            word[place] = truth
        words.append("".join(word))
    return Invariant(rows, tuple(dict.fromkeys(words)))


def widened(invariant: Invariant, columns: Ints, width: int) -> Invariant:
    """The same over more variables, in which those of the set are at `columns` (k,) of `width`."""
    rows = []
    for row in invariant.predicates:
        wide = [Fraction(0)] * (width + 1)
        wide[0] = row[0]
        for place, c in zip(columns.tolist(), row[1:], strict=True):
            wide[place + 1] = c
        rows.append(tuple(wide))
    return Invariant(tuple(rows), invariant.words)


def narrowed(invariant: Invariant, width: int) -> Invariant:
    """The part of a set where the variables from `width` on are 0, which every word says; over those before."""
    kept = [i for i, row in enumerate(invariant.predicates) if not any(row[width + 1 :])]
    rows = tuple(invariant.predicates[i][: width + 1] for i in kept)
    return Invariant(rows, tuple(dict.fromkeys("".join(word[i] for i in kept) for word in invariant.words)))
