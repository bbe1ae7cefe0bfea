"""Split trees as text: the boxes of their leaves, in order (docs/certificates.md).

    tree  = leaf | axis tree tree | "C" axis part tree tree          the lower side first
    leaf  = "L" | "M"                                                "M" takes the next weights
    axis  = one of 0..9 a..z: the number of an input, from 0         cut in the middle
    part  = one of DIGITS, from 1 to 63: cut after so many 64ths

    weights of a leaf = count, then so many times: group, group, a weight for each of its rows; one of DIGITS each, the
                        first of a group the higher one

A box [l, h] of integers is cut at l + floor((h - l) k / 64) in two that share this end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from venmas.checker.affine.definition import Weights
from venmas.checker.affine.scaled import ScaledProgram
from venmas.checker.format import cuts

LEAF, MIXED, CUT = "L", "M", "C"
AXES = "0123456789abcdefghijklmnopqrstuvwxyz"
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
MIDDLE = 32
MOST_GROUPS = len(DIGITS) ** 2
"""Groups that weights can name."""

Ends = list[int]


class BrokenTreeError(Exception):
    """A text that is no tree; the message says where."""


@dataclass(frozen=True)
class Leaf:
    """A box of integers, and the weights for its groups."""

    low: Ends
    high: Ends
    weights: Weights


def cut(low: int, high: int, part: int = MIDDLE) -> int:
    """The coordinate at which an edge is cut."""
    return low + ((high - low) * part >> 6)


def leaves(program: ScaledProgram, splits: str, weights: str) -> Iterator[Leaf]:
    """The leaves of a tree. Raises `BrokenTreeError`, also for what follows the last one."""
    reading, at = _Weights(program, weights), 0
    axes = {name: i for i, name in enumerate(AXES[: len(program.low)])}
    mixed = False

    def parts(box: tuple[Ends, Ends], _: int) -> Sequence[tuple[Ends, Ends]]:
        nonlocal at, mixed
        (low, high), token, part = box, splits[at : at + 1], MIDDLE
        if token in (LEAF, MIXED):
            at, mixed = at + 1, token == MIXED
            return ()
        if token == CUT:
            part = DIGITS.find(splits[at + 2 : at + 3])
            token, at = splits[at + 1 : at + 2], at + 2
        axis = axes.get(token)
        if axis is None or part < 1:
            raise BrokenTreeError(f"character {at} of the splits is no leaf and no cut of an input")
        at += 1
        middle = cut(low[axis], high[axis], part)
        if not low[axis] < middle < high[axis]:
            raise BrokenTreeError(f"character {at} of the splits cuts what is one unit wide")
        upper, lower = low.copy(), high.copy()
        upper[axis] = lower[axis] = middle
        return (low, lower), (upper, high)

    for low, high in cuts.leaves((list(program.low), list(program.high)), parts):
        yield Leaf(low, high, reading.next() if mixed else {})
    if at < len(splits):
        raise BrokenTreeError(f"the tree ends before character {at} of the splits")
    reading.end()


class _Weights:
    def __init__(self, program: ScaledProgram, text: str) -> None:
        self.program, self.text, self.at = program, text, 0

    def _digit(self) -> int:
        digit = DIGITS.find(self.text[self.at : self.at + 1]) if self.at < len(self.text) else -1
        if digit < 0:
            raise BrokenTreeError(f"character {self.at} of the weights is none of {DIGITS}, or missing")
        self.at += 1
        return digit

    def next(self) -> Weights:
        """Those of the next leaf."""
        made: dict[int, list[int]] = {}
        for _ in range(self._digit()):
            group = self._digit() * len(DIGITS) + self._digit()
            if group >= len(self.program.groups) or group in made:
                raise BrokenTreeError(f"the weights before character {self.at} are for a group that is not there")
            made[group] = [self._digit() for _ in self.program.groups[group].strict]
        return made

    def end(self) -> None:
        """Raise `BrokenTreeError` where some are left."""
        if self.at < len(self.text):
            raise BrokenTreeError(f"no leaf takes the weights after character {self.at}")


def written(weights: Weights) -> str:
    """The weights of one leaf as text, of at most 63 groups."""
    parts = [DIGITS[len(weights)]]
    for group, values in weights.items():
        parts += [DIGITS[group // len(DIGITS)], DIGITS[group % len(DIGITS)], *(DIGITS[v] for v in values)]
    return "".join(parts)
