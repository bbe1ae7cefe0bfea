"""Cells: boxes that cover the inputs of a query, by how far evaluations in float32 may be off on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.bounds.single import deployed
from venmas.budget import Budget
from venmas.formats.vnnlib.reader import Box, Query, hull
from venmas.nn import Network
from venmas.procedures.branch_and_bound.falsify import floats

Cell: TypeAlias = tuple[int, Box]
"""The number of a case, and a box of it."""

_AT_ONCE = 64
_ZERO = Fraction(0)


def by_error(
    networks: Sequence[Network], cells: Sequence[Cell], budget: Budget
) -> Iterator[tuple[list[Cell], list[Fraction]]]:
    """Groups of cells of about the same error, least first, each with the greatest error of every output."""
    if not cells:
        return
    low, high = floats([box for _, box in cells])
    error = np.concatenate([_bounded(networks, low, high, at, budget) for at in range(0, len(cells), _AT_ONCE)])
    size = np.frexp(error.max(1))[1] // 2  # a factor of four
    size[np.isinf(error).any(1)] = 10**6
    for number in np.unique(size):
        at = np.flatnonzero(size == number)
        greatest = error[at].max(0).tolist()
        yield [cells[i] for i in at.tolist()], [Fraction(v) if np.isfinite(v) else v for v in greatest]


def _bounded(networks: Sequence[Network], low: Floats, high: Floats, at: int, budget: Budget) -> Floats:
    """Errors (B, out) of all networks, each over its part of some boxes."""
    budget()
    parts, first = [], 0
    for network in networks:
        own = slice(at, at + _AT_ONCE), slice(first, first + network.input_size)
        first += network.input_size
        parts.append(deployed(network, low[own], high[own]).error)
    return np.concatenate(parts, 1)


def over(query: Query, cells: Sequence[Cell]) -> Query:
    """The query over cells only."""
    boxes: dict[int, list[Box]] = {}
    for number, box in cells:
        boxes.setdefault(number, []).append(box)
    cases = tuple(replace(query.cases[number], boxes=tuple(own)) for number, own in boxes.items())
    return replace(query, cases=cases)


def extent(cells: Sequence[Cell]) -> list[Fraction]:
    """The size of the least box that holds all cells, by input."""
    return [high - low for low, high in hull([box for _, box in cells])] if cells else []


def halves(cells: Sequence[Cell], whole: Sequence[Fraction]) -> list[Cell]:
    """Each cell cut where it is longest, compared with the whole; one that is a point stays."""
    new: list[Cell] = []
    for number, box in cells:
        part = [(high - low) / size if size else _ZERO for (low, high), size in zip(box, whole, strict=True)]
        axis = max(range(len(box)), key=part.__getitem__)
        low, high = box[axis]
        middle = Fraction(float((low + high) / 2))
        if low < middle < high:
            sides = (low, middle), (middle, high)
            new += [(number, (*box[:axis], side, *box[axis + 1 :])) for side in sides]
        else:
            new.append((number, box))
    return new
