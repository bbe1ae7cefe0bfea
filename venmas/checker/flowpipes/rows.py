"""Long rows of integers below 2^60, in numpy: sums and products of forms over many symbols, exactly.

What is made of them is what Python's integers would give, to the last bit; where 64 bits might not hold a result, there
is none, and the caller takes Python's integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, final, overload

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LONG = 48
"""Entries from which on numpy is faster than tuples."""
_LIMIT = 1 << 60
_HALF, _LIMB = 30, 20
"""Bits of a half of an entry, and of one of its three limbs, whose products have sums below 2^62."""
_MOST = 1 << 22
"""Entries, so that this holds."""


@final
class Row(Sequence[int]):
    """Integers up to `most` in size, below 2^60, which do not change.

    It is told by its type, as `isinstance` of an abstract class takes as long as a short sum.
    """

    def __init__(self, array: Ints, most: int) -> None:
        self.array, self.most = array, most

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...
    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        return tuple(self.array[at].tolist()) if isinstance(at, slice) else int(self.array[at])

    @cached_property
    def size(self) -> int:
        """The sum of all sizes."""
        sizes = np.abs(self.array)
        if self.most * len(sizes) < 1 << 62:
            return int(sizes.sum())
        return int((sizes & _mask(_HALF)).sum()) + (int((sizes >> _HALF).sum()) << _HALF)

    @cached_property
    def limbs(self) -> Ints:
        """The sizes in limbs, (3, n), lowest first."""
        size = np.abs(self.array)
        return np.stack([size & _mask(_LIMB), (size >> _LIMB) & _mask(_LIMB), size >> 2 * _LIMB])


def row(array: NDArray[Any], most: int = _LIMIT) -> Sequence[int]:
    """The entries of an array, which are at most `most` in size where that is below 2^60."""
    if LONG <= len(array) < _MOST:
        if most >= _LIMIT:
            most = max(-int(array.min()), int(array.max()))
        if most < _LIMIT:
            return Row(np.asarray(array, dtype=np.int64), most)
    return tuple(array.tolist())


def total(given: Sequence[int]) -> int:
    """The sum of all sizes."""
    return given.size if type(given) is Row else sum(map(abs, given))


def most(given: Sequence[int]) -> int:
    """A number that no entry of a `Row` is larger than; of others nothing is known but the limit."""
    return given.most if type(given) is Row else _LIMIT


def added(left: Sequence[int], right: Sequence[int]) -> Sequence[int] | None:
    """The sums of two rows, the shorter one followed by zeros; none where one of them is no `Row`."""
    if type(left) is not Row or type(right) is not Row:
        return (left or right) if not left or not right else None
    short, long = (left, right) if len(left) < len(right) else (right, left)
    made = long.array.copy()
    made[: len(short)] += short.array
    return row(made, left.most + right.most)


def multiple(given: Sequence[int], p: int, q: int) -> Sequence[int] | None:
    """``floor(p x / q)`` by entry, q > 0; none where it is no `Row` or 64 bits might not hold a product."""
    if type(given) is not Row or abs(p) > 4 or q >= _LIMIT:
        return None
    made = given.array * p
    return row(made if q == 1 else made // q, given.most * abs(p) // q + 1)


def followed(given: Sequence[int], count: int, last: int) -> Sequence[int] | None:
    """A row, zeros up to a number of entries, and one more; none where it is no `Row`."""
    if type(given) is not Row or abs(last) >= _LIMIT:
        return None
    made = np.zeros(count + 1, dtype=np.int64)
    made[: len(given)], made[count] = given.array, last
    return row(made, max(given.most, abs(last)))


def shifted(array: Ints, bits: int) -> Sequence[int]:
    """The entries of an array times 2^bits."""
    size = int(np.abs(array).max(initial=0))
    if bits < 63 and size >> (62 - bits) == 0:
        return row(array << bits, size << bits)
    return tuple([x << bits for x in array.tolist()])


def crossed(left: Sequence[int], right: Sequence[int]) -> tuple[int, int] | None:
    """``sum left_i right_i``, and the sum of the sizes of these products; none where one of them is no `Row`."""
    if type(left) is not Row or type(right) is not Row:
        return None
    n = min(len(left), len(right))
    one, other = left.limbs[:, :n], right.limbs[:, :n]
    sign = np.sign(left.array[:n]) * np.sign(right.array[:n])
    return _whole((one * sign) @ other.T), _whole(one @ other.T)


def combined(left: Sequence[int], right: Sequence[int], factors: tuple[int, int], bits: int) -> Sequence[int] | None:
    """``floor((a left + b right) / 2^bits)`` by entry, for factors a and b; none where 64 bits might not hold them.

    A factor is q 2^60 + r with 0 <= r < 2^60: products by q are exact, and of those by r, in halves of 30 bits, what is
    carried is floored twice.
    """
    if type(left) is not Row or type(right) is not Row or not _HALF <= bits <= 2 * _HALF:
        return None
    sizes = sum(abs(f) * r.most for f, r in zip(factors, (left, right), strict=True))
    if sizes >> bits >= 1 << 61 or any(abs(f) >> 2 * _HALF >= 1 << 20 for f in factors):
        return None
    count = max(len(left), len(right))
    low, middle, high = np.zeros((3, count), dtype=np.int64)
    for factor, part in zip(factors, (left, right), strict=True):
        entries, n = part.array, len(part)
        rest = factor & _mask(2 * _HALF)
        below, above = rest & _mask(_HALF), rest >> _HALF
        first, second = entries & _mask(_HALF), entries >> _HALF
        low[:n] += below * first
        middle[:n] += below * second + above * first
        high[:n] += above * second + (factor >> 2 * _HALF) * entries
    middle += low >> _HALF
    return row((middle >> (bits - _HALF)) + (high << (2 * _HALF - bits)), (sizes >> bits) + 1)


def table(rows: Sequence[Sequence[int]], count: int) -> NDArray[Any]:
    """Rows with zeros up to a number of entries, (rows, count); Python's integers where one is too large."""
    small = all(type(r) is Row or not r or (min(r) > -_LIMIT and max(r) < _LIMIT) for r in rows)
    made = np.zeros((len(rows), count), dtype=np.int64 if small else object)
    for out, given in zip(made, rows, strict=True):
        out[: len(given)] = given.array if type(given) is Row else given
    return made


def _mask(bits: int) -> int:
    return (1 << bits) - 1


def _whole(products: Ints) -> int:
    """The number that sums of products of limbs, (3, 3), make up."""
    return sum(value << _LIMB * (i + j) for i, line in enumerate(products.tolist()) for j, value in enumerate(line))
