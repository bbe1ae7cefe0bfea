"""Labels of automata: conjunctions of literals over numbered atoms, and what several of them cover together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from venmas.logic.automata.effort import Effort


class Label(NamedTuple):
    """The letters that agree with `value` on the atoms of `care`; both bits by number of atom, value within care."""

    care: int
    value: int

    def meets(self, letter: int) -> bool:
        """Does a letter, the bits of the atoms that are true, have this label?"""
        return not (letter ^ self.value) & self.care

    def within(self, other: Label) -> bool:
        """Has each letter of this label the other one?"""
        return not other.care & ~self.care and not (self.value ^ other.value) & other.care

    def __and__(self, other: Label) -> Label | None:
        """The letters of both, None where there are none."""
        if (self.value ^ other.value) & self.care & other.care:
            return None
        return Label(self.care | other.care, self.value | other.value)

    def literals(self) -> list[tuple[int, bool]]:
        """Number of atom and sign, in order."""
        return [(i, bool(self.value >> i & 1)) for i in range(self.care.bit_length()) if self.care >> i & 1]


TRUE = Label(0, 0)


def covered(label: Label, by: Sequence[Label], effort: Effort) -> bool:
    """Has each letter of a label one of the others?"""
    stack = [(label, by)]
    while stack:
        part, others = stack.pop()
        effort.spend(1 + len(others))
        near = [other for other in others if not (part.value ^ other.value) & part.care & other.care]
        if any(not other.care & ~part.care for other in near):
            continue
        if not near:
            return False
        open_ = near[0].care & ~part.care
        bit = open_ & -open_
        stack.append((Label(part.care | bit, part.value), near))
        stack.append((Label(part.care | bit, part.value | bit), near))
    return True


def cover(labels: Iterable[Label], effort: Effort) -> list[Label]:
    """Labels of the same letters, such that none can be widened and none left out; sorted."""
    whole = sorted(set(labels))
    if len(whole) < 2:
        return whole
    wide: list[Label] = []
    for label in whole:
        for i, _ in label.literals():
            wider = Label(label.care & ~(1 << i), label.value & ~(1 << i))
            if covered(wider, whole, effort):
                label = wider
        wide.append(label)
    wide = sorted(set(wide))
    for label in wide[::-1]:
        others = [other for other in wide if other != label]
        if covered(label, others, effort):
            wide = others
    return wide
