"""Input splitting by compiled code, where what is open is the argmax of a network and signs of affine expressions.

This is what most time goes to when initial sets are wide; `step.classify` does it for any choices.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.compiled.load import compiled
from venmas.bounds.rounding import Floats, Index, Ints
from venmas.bounds.zonotope_stacked import stack
from venmas.budget import ask
from venmas.logic.linear import Comparison, Relation
from venmas.logic.stages import Stage
from venmas.model.expressions.expr import Application, ArgMax, Condition, Constant, Expr, children, to_linear
from venmas.model.expressions.walk import walk
from venmas.model.transform.cases import MAX_CASES, Case, Location, Sign, UnsuitableError
from venmas.procedures.hybrid.boxes import Boxes, check_count, present
from venmas.procedures.hybrid.frames import Row
from venmas.procedures.hybrid.view import Space

if TYPE_CHECKING:
    from venmas.bounds.compiled.cutting import Undecided

_WATCHED = {
    Relation.LE: "AT_MOST",
    Relation.GT: "AT_MOST",
    Relation.LT: "BELOW",
    Relation.GE: "BELOW",
    Relation.EQ: "EQUAL",
    Relation.NE: "EQUAL",
}
_KEPT = 2048
"""What compiled code is asked, kept by step, atoms and locations: a few MB."""
_BATCH = 8192
"""Boxes that are cut between two looks at the clock: some 0.1 s, by what `bounds.compiled.cutting` allows a call."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """The parts of a layer's boxes on which choices are decided, or too small to be cut further."""

    boxes: Boxes
    node: Index
    """Which box of the layer each is part of."""
    case_list: list[tuple[Case, ...]]
    kind: Index
    """Position in `case_list` of each piece's cases."""


class Cases:
    """The cases that were met, each tuple with a number."""

    def __init__(self) -> None:
        self.listed: list[tuple[Case, ...]] = []
        self._numbers: dict[tuple[Case, ...], int] = {}

    def number(self, cases: tuple[Case, ...]) -> int:
        """The position in `listed`."""
        if cases not in self._numbers:
            self._numbers[cases] = len(self.listed)
            self.listed.append(cases)
        return self._numbers[cases]


def too_many_cases() -> UnsuitableError:
    """A region that cannot be cut has too many cases."""
    return UnsuitableError(f"more than {MAX_CASES} cases are possible in a region too small to be cut")


def undecided(space: Space, atoms: Sequence[Comparison], numbers: Index, step: int) -> Undecided | None:
    """What is open in some locations; None where it is not one argmax of a network and signs of affine expressions."""
    from venmas.bounds.compiled import zonotope_kernel as lanes
    from venmas.bounds.compiled.cutting import MOST_OUTCOMES, Undecided

    places = [_network(space.locations[number]) for number in numbers]
    networks = tuple(dict.fromkeys(p.network for p in places if p is not None))
    found = stack(networks) if all(p is not None for p in places) else None
    if found is None:
        return None
    inputs, lines, most = [], [], 0
    for number, place in zip(numbers, places, strict=True):
        assert place is not None
        exprs = [to_linear(e) for e in place.inputs]
        signs = [to_linear(c.expr) for c in _signs(space.locations[number])]
        most = max(most, len(signs))
        rows = [(lanes.SIGN, space.row(e, step)) for e in signs if e is not None]
        rows += [(getattr(lanes, _WATCHED[c.relation]), space.atom_row(c, number, step)) for c in atoms]
        if None in (*exprs, *signs) or any(row.big for _, row in rows):
            return None
        inputs.append([space.row(e, step) for e in exprs if e is not None])
        lines.append(rows)
    if (1 << found.outputs + 3 * most) * len(numbers) > MOST_OUTCOMES:
        return None
    return Undecided(
        found,
        np.array([networks.index(p.network) for p in places if p is not None], dtype=np.intp),
        *_nearest(inputs),
        _packed(lines, len(space.reals), lanes.NONE),
        1 << found.outputs + 3 * most,
    )


def _nearest(inputs: list[list[Row]]) -> tuple[Floats, Floats]:
    """Rows of several locations in floats: weights (G, k, n) and constants (G, k)."""
    weights = [[[float(Fraction(int(w), r.scale)) for w in r.plus + r.minus] for r in rows] for rows in inputs]
    return np.array(weights), np.array([[float(Fraction(r.constant, r.scale)) for r in rows] for rows in inputs])


def _packed(lines: list[list[tuple[int, Row]]], size: int, none: int) -> tuple[Ints, Ints, Ints]:
    """Rows of several locations as arrays: weights (G, R, size), constants (G, R), and what they are for (G, R).

    none: what no row is there for.
    """
    groups, longest = len(lines), max(map(len, lines))
    weights, constants = np.zeros((groups, longest, size), np.int64), np.zeros((groups, longest), np.int64)
    kinds = np.full((groups, longest), none)
    for g, rows in enumerate(lines):
        for i, (kind, row) in enumerate(rows):
            weights[g, i], constants[g, i] = row.plus + row.minus, row.constant
            kinds[g, i] = kind
    return weights, constants, kinds


def _table(space: Space, numbers: Index, outcomes: int) -> NDArray[np.uint8]:
    """What outcomes are known to do in some locations."""
    for number in numbers.tolist():
        old = space.tables.get(number, np.zeros(0, np.uint8))
        if len(old) < outcomes:
            space.tables[number] = np.concatenate([old, np.zeros(outcomes - len(old), np.uint8)])
    return np.stack([space.tables[number][:outcomes] for number in numbers.tolist()])


def _network(location: Location) -> Application | None:
    """The network whose argmax is a choice of a location, where all others are signs."""
    argmaxes = [c for c in location.choices if not isinstance(c, Sign)]
    return argmaxes[0].whole if len(argmaxes) == 1 and isinstance(argmaxes[0], ArgMax) else None


def _signs(location: Location) -> list[Sign]:
    """Choices by signs which the winner of the argmax does not settle."""
    return [c for c in location.choices if isinstance(c, Sign) and not _follows(c.expr)]


def _follows(node: Expr | Condition) -> bool:
    """Does an expression hang on argmaxes alone? Then its sign is no choice once they are settled."""
    below = walk([node], lambda part: not isinstance(part, ArgMax))
    return all(isinstance(part, ArgMax | Constant) or children(part) for part in below)


def _signature(location: Location, outcome: int, outputs: int) -> tuple[int, ...]:
    """What a number in the table stands for, choice by choice."""
    bits, signs = outcome & ((1 << outputs) - 1), outcome >> outputs
    found, own = [], _signs(location)
    for choice in location.choices:
        if not isinstance(choice, Sign):
            found.append(bits)
        elif choice in own:
            found.append(signs & 7)
            signs >>= 3
        else:
            found.append(7)
    return tuple(found)


def cut_compiled(
    space: Space, stage: Stage, met: Cases, boxes: Boxes, step: int, least: Ints, join: bool
) -> Generator[None, None, tuple[Boxes, Index, Index] | None]:
    """Parts of boxes (B,), cut until all that matters is decided or their sides are at most `least` (n,), with pauses.

    join: parts that were cut in vain are one again; bounds alone do not show then what was found of them.

    Returns the parts, the box that each is of, and the numbers of their cases; None where `undecided` has no words for
    what is open, or compiled code cannot be loaded.
    """
    cutting = compiled("venmas.bounds.compiled.cutting")
    if cutting is None:
        return None
    from venmas.bounds.compiled.zonotope_kernel import SETTLED, SEVERAL, UNKNOWN

    numbers = present(boxes.location)
    atoms = tuple(stage.atoms) if any(f.depth for f in stage.formulas) else ()
    key = (step, atoms, *numbers.tolist())
    if key not in space.undecided:
        if len(space.undecided) >= _KEPT:
            space.undecided.clear()
        space.undecided[key] = undecided(space, atoms, numbers, step)
    asked = space.undecided[key]
    if asked is None:
        return None
    table = _table(space, numbers, asked.outcomes)
    place = np.zeros(int(numbers[-1]) + 1, dtype=np.intp)
    place[numbers] = np.arange(len(numbers))
    group = place[boxes.location]
    source: Index = np.argsort(group, kind="stable")
    low, high = boxes.low[source], boxes.high[source]
    size = asked.outcomes
    several, kinds = np.zeros(table.size, dtype=bool), np.full(table.size, -1, dtype=np.intp)
    done: list[tuple[Index, Ints, Ints, Index]] = []
    total = 0
    while len(source):
        yield
        parts = cutting.cut_boxes(
            asked, table, group[source[:_BATCH]], low[:_BATCH], high[:_BATCH], least, space.workers, join
        )
        origin = source[:_BATCH][parts.source]
        swept = parts.outcomes >= 0
        at = group[origin] * size + parts.outcomes
        again = ~swept
        for one in np.unique(at[swept]).tolist():
            g, outcome = divmod(one, size)
            ask()
            if kinds[one] < 0:
                location = space.locations[numbers[g]]
                cases = location.cases(_signature(location, outcome, asked.found.outputs))
                kinds[one] = -1 if cases is None else met.number(cases)
                several[one] = cases is None or len(cases) > 1
            if table[g, outcome] == UNKNOWN:
                table[g, outcome] = SEVERAL if several[one] else SETTLED
                space.tables[int(numbers[g])][outcome] = table[g, outcome]
                if several[one]:
                    again |= (at == one) & swept
        again &= ~swept | (parts.high - parts.low > np.maximum(least, 1)).any(1)
        keep = ~again
        kind = kinds[at[keep]]
        if (kind < 0).any():
            raise too_many_cases()
        done.append((origin[keep], parts.low[keep], parts.high[keep], kind))
        total += len(kind)
        source = np.concatenate([origin[again], source[_BATCH:]])
        low, high = (np.concatenate([a[again], b[_BATCH:]]) for a, b in ((parts.low, low), (parts.high, high)))
        check_count(total + len(source), low.shape[1])
    origin, low, high, kind = (np.concatenate(column) for column in zip(*done, strict=True))
    return Boxes(boxes.location[origin], low, high, boxes.wanted[origin]), origin, kind
