"""The states of a closed abstract graph as an inductive set: boxes of intervals, merged, as words over predicates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Ints
from venmas.model.invariant import Invariant
from venmas.model.system.boxes import merged_boxes
from venmas.procedures.predicate_abstraction.states.cells import Cells, States
from venmas.procedures.predicate_abstraction.states.predicates import Predicate


def invariant_of(cells: Cells, states: States, also: Sequence[tuple[Predicate, bool]] = ()) -> Invariant:
    """The union of abstract states; predicates are the ends of the boxes that they merge to.

    also: predicates with truths that hold in all of them besides.
    """
    first, last = merged_boxes(states, states)
    rows: dict[Predicate, NDArray[np.str_]] = {}

    def say(p: Predicate, which: Bools, truth: str) -> None:
        rows.setdefault(p, np.full(len(first), "-"))[which] = truth

    for p, truth in also:
        say(p, np.ones(len(first), bool), str(int(truth)))
    for v in cells.cut.tolist():
        for i in np.unique(first[:, v]).tolist():
            if i > 0:
                say(Predicate(((v, 1),), int(cells.begin[v][i])), first[:, v] == i, "1")
        for i in np.unique(last[:, v]).tolist():
            if i < len(cells.cuts[v]):
                say(Predicate(((v, 1),), int(cells.begin[v][i + 1])), last[:, v] == i, "0")
    for j, p in enumerate(cells.relational, cells.width):
        for i in (0, 1):
            if (which := (first[:, j] == i) & (last[:, j] == i)).any():
                say(p, which, str(i))
    words = np.stack(list(rows.values()), 1).tolist() if rows else [[""]] * len(first)
    return Invariant(tuple(p.row(cells.width) for p in rows), tuple(dict.fromkeys("".join(word) for word in words)))


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
