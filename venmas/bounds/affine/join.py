"""Joins of affine forms: sets of one box that are near each other become one, which has the states of all of them.

The sets are told apart as a k-d tree tells points apart (Bentley, CACM 1975): the group of greatest spread is halved,
across the variable in which it is widest as a part of what all of them reach. So sets in different modes stay apart the
longest. A group has the middle of every coefficient; symbols may be named as one likes in a union of sets, so that any
choice would be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.rounding import TINY, Floats, Index, gamma


def near(forms: Mapping[str, Form], boxes: Index, most: int) -> list[Index]:
    """Groups of rows, at most so many from each box; a row from a box that has not more is alone. boxes: (B,)."""
    centres = np.nan_to_num(np.stack([form.z[:, 0] for form in forms.values()], 1))
    radii = np.nan_to_num(np.stack([form.radius for form in forms.values()], 1))
    groups: list[Index] = []
    for box in np.unique(boxes):
        rows = np.flatnonzero(boxes == box)
        groups += (
            [rows[i : i + 1] for i in range(len(rows))] if len(rows) <= most else _halved(centres, radii, rows, most)
        )
    return groups


def _halved(centres: Floats, radii: Floats, rows: Index, most: int) -> list[Index]:
    """So many groups of the rows of a box, or fewer where that tells all centres apart."""
    with np.errstate(over="ignore"):
        whole = (centres + radii)[rows].max(0) - (centres - radii)[rows].min(0)
    scaled = centres / np.where(whole > 0, whole, 1.0)
    groups: list[tuple[float, int, Index]] = []

    def add(part: Index) -> None:
        heappush(groups, (-float(np.ptp(scaled[part], axis=0).max()), int(part[0]), part))

    add(rows)
    while len(groups) < most and groups[0][0] < 0:
        _, _, part = heappop(groups)
        at = scaled[part][:, np.ptp(scaled[part], axis=0).argmax()]
        above = at > 0.5 * (at.min() + at.max())
        if above.all() or not above.any():  # rounding, or an overflow
            heappush(groups, (0.0, int(part[0]), part))
            continue
        add(part[above])
        add(part[~above])
    return [part for _, _, part in groups]


def joined(ring: Forms, forms: Mapping[str, Form], groups: Sequence[Index]) -> tuple[Forms, dict[str, Form]]:
    """A row for each group, in a ring of their own: every value of a row of it, for some value of its symbols."""
    rows = np.concatenate(groups)
    sizes = np.array([len(group) for group in groups])
    starts, group = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(groups)), sizes)
    result = Forms(len(groups), ring.symbols)
    result.broken = np.logical_or.reduceat(ring.broken[rows], starts)
    made: dict[str, Form] = {}
    with np.errstate(all="ignore"):  # what overflows says nothing
        for name, form in forms.items():
            z, count = form.z[rows], form.z.shape[1]
            middle = 0.5 * np.minimum.reduceat(z, starts) + 0.5 * np.maximum.reduceat(z, starts)
            off = np.maximum.reduceat(np.abs(z - middle[group]).sum(1) + form.e[rows], starts)
            low, high = (end[rows] for end in form.ends)
            known = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
            off = np.where(off == 0, 0.0, off * (1 + gamma(count + 2)) + TINY)
            made[name] = result.fresh(Form(middle, off, known=known))
    return result, made
