"""Cells: boxes that cover the inputs of a query, by how far evaluations in float32 may be off on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.bounds.single import deployed
from venmas.budget import Budget
from venmas.engine.query.decide import shares
from venmas.formats.vnnlib.query import Box, Query
from venmas.nn import Network
from venmas.procedures.branch_and_bound.falsify import floats


class Cell(NamedTuple):
    """A box of a case, by its number, and the input to cut it by."""

    case: int
    box: Box
    axis: int = 0


_AT_ONCE = 64


def by_error(
    networks: Sequence[Network], cells: Sequence[Cell], budget: Budget
) -> Iterator[tuple[list[Cell], list[Fraction]]]:
    """Groups of cells of about the same error, least first, each with the greatest error of every output."""
    if not cells:
        return
    low, high = floats([cell.box for cell in cells])
    bounds = [_bounded(networks, low, high, at, budget) for at in range(0, len(cells), _AT_ONCE)]
    error, influence = (np.concatenate(parts) for parts in zip(*bounds, strict=True))
    axes = np.nan_to_num(np.where(high > low, influence + 1e-300, 0.0)).argmax(1).tolist()
    size = np.frexp(error.max(1))[1] // 2  # a factor of four
    size[np.isinf(error).any(1)] = 10**6
    for number in np.unique(size):
        at = np.flatnonzero(size == number)
        greatest = error[at].max(0).tolist()
        yield (
            [cells[i]._replace(axis=axes[i]) for i in at.tolist()],
            [Fraction(v) if np.isfinite(v) else v for v in greatest],
        )


def _bounded(networks: Sequence[Network], low: Floats, high: Floats, at: int, budget: Budget) -> tuple[Floats, Floats]:
    """Errors (B, out) and influences (B, n) of all networks, each over its part of some boxes."""
    budget()
    rows = slice(at, at + _AT_ONCE)
    parts = [deployed(network, low[rows, own], high[rows, own]) for network, own in shares(networks)]
    return np.concatenate([part.error for part in parts], 1), np.concatenate([part.influence for part in parts], 1)


def over(query: Query, cells: Sequence[Cell]) -> Query:
    """The query over cells only."""
    boxes: dict[int, list[Box]] = {}
    for number, box, _ in cells:
        boxes.setdefault(number, []).append(box)
    cases = tuple(replace(query.cases[number], boxes=tuple(own)) for number, own in boxes.items())
    return replace(query, cases=cases)


def halves(cells: Sequence[Cell]) -> list[Cell]:
    """Each cell cut in two by its axis; one that is a point there stays."""
    new: list[Cell] = []
    for cell in cells:
        number, box, axis = cell
        low, high = box[axis]
        middle = Fraction(float((low + high) / 2))
        sides = ((low, middle), (middle, high)) if low < middle < high else ((low, high),)
        new += [Cell(number, (*box[:axis], side, *box[axis + 1 :])) for side in sides]
    return new
