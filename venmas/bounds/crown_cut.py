"""Contraction of boxes by open groups: interval constraint propagation with the linear forms that bound their goals.

Let a goal be at least ``lower + sum_i abs(a_i) abs(x_i - near_i)`` on a box, where near_i is the end of side i at which
the form is least, and `lower` its least value, as computed: both the affine form of a goal and the form that comes of
substitution backward are of this kind, with further terms that are not negative. At an answer every goal of some open
group is at most 0, so that for each i

    abs(x_i - near_i) <= -lower / abs(a_i).

A group keeps what all its goals leave, the box the hull of what its open groups keep. The quotient takes one rounding,
the end of the new side two more, and ``centre - radius`` one, each relative to what is added up: FEW covers them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.bounds.rounding import FEW, TINY, Bools, Floats


@dataclass(eq=False)
class Cut:
    """The part that one group keeps: low, high (B, m)."""

    low: Floats
    high: Floats


class Cuts:
    """The parts that all open groups keep of boxes ``centre +- radius`` (B, m)."""

    def __init__(self, centre: Floats, radius: Floats) -> None:
        self.centre, self.radius = centre, radius
        self.low, self.high = np.full_like(centre, np.inf), np.full_like(centre, -np.inf)

    def goals(self, forms: Floats, lower: Floats) -> Cut:
        """The part that the goals of a group keep: forms (B, k, R) in scaled sides, and their least values (B, k)."""
        m = self.centre.shape[1]
        cut = Cut(np.full_like(self.centre, -np.inf), np.full_like(self.centre, np.inf))
        for i in range(forms.shape[1]):
            self.form(cut, lower[:, i], forms[:, i, 1 : 1 + m], self.radius)
        return cut

    def form(self, cut: Cut, lower: Floats, slopes: Floats, scale: Floats | float = 1.0) -> None:
        """Cut by a form with these slopes (B, m), each of a side in units of `scale`."""
        reach = -lower[:, None] / np.abs(slopes) * scale
        reach = np.where(np.isfinite(reach) & (slopes != 0), np.maximum(reach, 0.0), np.inf)
        reach = reach * (1 + FEW) + FEW * (np.abs(self.centre) + self.radius) + TINY
        least, most = self.centre - self.radius, self.centre + self.radius
        cut.high = np.where(slopes > 0, np.minimum(cut.high, least + reach), cut.high)
        cut.low = np.where(slopes < 0, np.maximum(cut.low, most - reach), cut.low)

    def join(self, cut: Cut, opened: Bools) -> Bools:
        """Take up what a group keeps, in the boxes where it is open (B,): where it does keep something."""
        low, high = np.maximum(cut.low, self.centre - self.radius), np.minimum(cut.high, self.centre + self.radius)
        opened = np.array(opened & (low <= high).all(1))
        self.low = np.where(opened[:, None], np.minimum(self.low, low), self.low)
        self.high = np.where(opened[:, None], np.maximum(self.high, high), self.high)
        return opened

    def box(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The part of the boxes low, high that is kept; the whole of those of which nothing is."""
        kept = np.array((self.low <= self.high).all(1))[:, None]
        return np.where(kept, np.maximum(low, self.low), low), np.where(kept, np.minimum(high, self.high), high)
