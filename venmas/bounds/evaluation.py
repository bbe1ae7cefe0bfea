"""Conditions over a batch of sets: where they certainly hold, and where they certainly do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from venmas.bounds.rounding import Bools, Floats
from venmas.logic.linear import Relation
from venmas.model.evaluation.evaluation import Evaluation, N, V
from venmas.model.expressions.expr import Compare

Decided: TypeAlias = tuple[Bools, Bools]
"""Where a condition certainly holds, and where it certainly does not: (B,) twice."""


class Bounding(Evaluation[V, Decided, N]):
    """Evaluation over a batch of `size` sets, in a domain whose values have ends."""

    size: int

    def _ends(self, value: V) -> tuple[Floats, Floats]:
        """The least and the greatest of a value, (B,) twice."""
        raise self._refusal("ends")

    def _known(self, value: bool) -> Decided:
        return np.full(self.size, value), np.full(self.size, not value)

    def _compare(self, node: Compare) -> Decided:
        return certain(self._ends(self.value(node.expr)), node.relation)

    def _every(self, truths: Iterable[Decided]) -> Decided:
        yes, no = zip(*truths, strict=True)
        return np.logical_and.reduce(yes), np.logical_or.reduce(no)

    def _some(self, truths: Iterable[Decided]) -> Decided:
        yes, no = zip(*truths, strict=True)
        return np.logical_or.reduce(yes), np.logical_and.reduce(no)


def certain(ends: tuple[Floats, Floats], relation: Relation) -> Decided:
    """Masks: everything between two ends compares so with 0; nothing does."""
    return relation.certain(*ends), relation.negated.certain(*ends)
