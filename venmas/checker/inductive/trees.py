"""Trees of cuts: how a certificate divides a cell into parts on which a claim is closed at once.

A tree is a list of JSON values in preorder. ``-1`` is a leaf. The number of a variable, from 0, and a number c cut its
part in two: an integer variable, c being a JSON integer, at most c and at least c + 1; a real one, c being the text of
a number, at most and at least c. ``-2`` and a list of texts (c0, .., cn) cut it by the form: at least 0, and less than
0. The first part comes first. The parts cover what they were cut from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from venmas.checker.exact.cell import Cell, negative, rational
from venmas.checker.format import cuts
from venmas.checker.format.numbers import CheckError, read_form, read_number, read_texts

LEAF, FORM = -1, -2
MAX_PENDING = 10_000
"""Most parts of a tree that may wait."""
_MAX_CUT = 2**62


def leaves(line: int, tree: Sequence[object], cell: Cell) -> Iterator[Cell]:
    """The parts of a cell, those that are told to be empty left out. Raises `CheckError` for what is no tree."""
    tokens, size = iter(tree), len(cell.names)

    def parts(part: Cell | None, waiting: int) -> Sequence[Cell | None]:
        kind = _next(line, tokens)
        if type(kind) is not int or not FORM <= kind < size:
            raise CheckError(line, f"expected -1, -2 or a variable's number below {size}, got {str(kind)[:40]!r}")
        if kind == LEAF:
            return ()
        if waiting > MAX_PENDING:
            raise CheckError(line, f"more than {MAX_PENDING} parts of a tree wait")
        cut = _next(line, tokens)
        if kind == FORM:
            form = read_form(line, read_texts(line, cut, size + 1))
            return [part and part.cut(form), part and part.cut(negative(form), strict=True)]
        return _halves(line, part, kind, cut, cell.integral[kind])

    yield from (part for part in cuts.leaves(cast("Cell | None", cell), parts) if part is not None)
    if next(tokens, None) is not None:
        raise CheckError(line, "there is more after the end of a tree")


def _halves(line: int, part: Cell | None, at: int, cut: object, integral: bool) -> list[Cell | None]:
    if integral:
        if type(cut) is not int or abs(cut) > _MAX_CUT:
            raise CheckError(line, f"expected a whole number to cut an integer variable at, got {str(cut)[:40]!r}")
        below = rational(cut)
        above = below + 1
    else:
        below = above = rational(read_number(line, cut))
    if part is None:
        return [None, None]
    return [
        _narrowed(part, at, part.low[at], min(part.high[at], below)),
        _narrowed(part, at, max(part.low[at], above), part.high[at]),
    ]


def _narrowed(cell: Cell, at: int, low: Any, high: Any) -> Cell | None:
    if low > high:
        return None

    def put(ends: Sequence[Any], end: Any) -> tuple[Any, ...]:
        return (*ends[:at], end, *ends[at + 1 :])

    return replace(cell, low=put(cell.low, low), high=put(cell.high, high))


def _next(line: int, tokens: Iterator[object]) -> Any:
    for token in tokens:
        return token
    raise CheckError(line, "a tree ends before all of its parts do")
