"""Affine forms in integers: ``c + sum_i g_i s_i + r`` with symbols s_i in [-1, 1] and |r| <= e, in units of 2^-bits.

Every operation rounds outward: a coefficient that is floored makes e greater by one. So a form holds all values that
the operation has over the values of its operands, for the same symbols (Stolfi, de Figueiredo, *Self-Validated
Numerical Methods*, 1997, chapter 3). A product keeps half of the squares of symbols, which lie in [0, 1], in its
centre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import add, mul

from venmas.checker.flowpipes import rows
from venmas.checker.flowpipes.univariate import SLOPE_BITS, OutsideError, relaxed
from venmas.model.evaluation.elementary.function import Pair

_ONE = 1 << SLOPE_BITS
_RANGES = {"tanh": (-1, 1), "sin": (-1, 1), "cos": (-1, 1), "sigmoid": (0, 1)}
"""Closed ranges of functions."""
_NOT_NEGATIVE = ("sqrt", "exp")


@dataclass(slots=True, eq=False)
class Form:
    """Centre, coefficients of symbols (those that are missing at the end are 0), and radius; e >= 0. known: ends that
    all values are between besides. Nothing of a form is changed once it is made."""

    c: int
    g: Sequence[int] = ()
    e: int = 0
    known: Pair | None = None
    _size: int = field(default=-1, init=False, repr=False)

    @property
    def size(self) -> int:
        """How far values are from the centre, at most."""
        if self._size < 0:
            self._size = rows.total(self.g) + self.e
        return self._size

    @property
    def range(self) -> Pair:
        """Ends of all values."""
        size = self.size
        if self.known is None:
            return self.c - size, self.c + size
        return max(self.c - size, self.known[0]), min(self.c + size, self.known[1])


def floor_ratio(value: Fraction, bits: int) -> int:
    """A rational in units of 2^-bits, rounded down."""
    return (value.numerator << bits) // value.denominator


def between(low: int, high: int) -> Form:
    """All values from low to high, without a symbol."""
    middle = (low + high) >> 1
    return Form(middle, (), high - middle, (low, high))


def enclosing(low: Fraction, high: Fraction, bits: int) -> Form:
    """All rationals from low to high, in units of 2^-bits."""
    return between(floor_ratio(low, bits), -floor_ratio(-high, bits))


def not_negative(forms: Mapping[str, Form], guard: Form) -> dict[str, Form]:
    """The forms where another one over the same symbols is not negative.

    With values of the guard up to u, ``sign(g_i) s_i >= 1 - u / |g_i|``, as all others do their most at best. So with a
    p_i from ``u / (2 |g_i|)`` to 1, s_i is ``sign(g_i) (1 - p_i) + p_i t_i`` for a new symbol t_i.
    """
    top = max(guard.c + guard.size, 0)
    parts = [min(-(-(top << SLOPE_BITS) // (2 * abs(g))), _ONE) if g else _ONE for g in guard.g]
    shifts = [_ONE - p if g > 0 else p - _ONE for p, g in zip(parts, guard.g, strict=True)]
    made: dict[str, Form] = {}
    for name, form in forms.items():
        if not form.g:
            made[name] = form
            continue
        parted = list(zip(form.g, parts, shifts, strict=False))
        c = form.c + sum(g * shift >> SLOPE_BITS for g, _, shift in parted)
        kept = (*(g * part >> SLOPE_BITS for g, part, _ in parted), *form.g[len(parted) :])
        made[name] = Form(c, kept, form.e + sum(2 for g, part, _ in parted if g and part < _ONE), form.known)
    return made


class Forms:
    """The ring of forms in units of 2^-bits (`venmas.model.evaluation.jets.Ring`). symbols: how many there are so
    far."""

    def __init__(self, bits: int, symbols: int) -> None:
        self.bits, self.symbols = bits, symbols

    def constant(self, value: Fraction) -> Form:
        """A rational."""
        low, rest = divmod(value.numerator << self.bits, value.denominator)
        rounded = int(rest > 0)
        return Form(low, (), rounded, (low, low + rounded))

    def add(self, left: Form, right: Form) -> Form:
        """Sum, exactly."""
        g1, g2 = left.g, right.g
        g = rows.added(g1, g2) or (*map(add, g1, g2), *g1[len(g2) :], *g2[len(g1) :])
        known = None
        if left.known is not None and right.known is not None:
            known = left.known[0] + right.known[0], left.known[1] + right.known[1]
        return Form(left.c + right.c, g, left.e + right.e, known)

    def ends(self, value: Form, sign: int, constant: Fraction) -> Pair:
        """The range of ``sign value + constant``, sign 1 or -1: that of the sum, of which nothing else is made."""
        apart = self.constant(constant)
        c, size = apart.c + sign * value.c, value.size + apart.e
        if value.known is None or apart.known is None:
            return c - size, c + size
        low, high = value.known if sign > 0 else (-value.known[1], -value.known[0])
        return max(c - size, low + apart.known[0]), min(c + size, high + apart.known[1])

    def scale(self, value: Form, factor: Fraction) -> Form:
        """Multiple; each coefficient that is rounded is off by less than one."""
        p, q = factor.numerator, factor.denominator
        if p == q:
            return value
        known = None
        if value.known is not None:
            low, high = value.known if p >= 0 else value.known[::-1]
            known = low * p // q, -(-high * p // q)
        if q == 1:
            g = rows.multiple(value.g, p, 1) or tuple([x * p for x in value.g])
            return Form(value.c * p, g, value.e * abs(p), known)
        g = rows.multiple(value.g, p, q) or tuple([x * p // q for x in value.g])
        return Form(value.c * p // q, g, -(-value.e * abs(p) // q) + len(g) + 1, known)

    def multiply(self, left: Form, right: Form) -> Form:
        """Product; of one object with itself, its square, which is not negative."""
        found = self._long(left, right) or self.dot(((1, left, right),))
        return replace(found, known=(0, max(found.range[1], 0))) if left is right else found

    def dot(self, terms: Sequence[tuple[int, Form, Form]], divisor: int = 1) -> Form:
        """``sum n left right / divisor``, rounded once.

        Of each product, ``|c1| e2 + |c2| e1 + size1 size2 - sum |g1_i g2_i| / 2`` is what its coefficients do not say.
        """
        centre = twice = 0
        g: list[int] = []
        for n, left, right in terms:
            (c1, g1, e1), (c2, g2, e2) = (left.c, left.g, left.e), (right.c, right.g, right.e)
            both = list(map(mul, g1, g2))
            centre += n * (2 * c1 * c2 + sum(both))
            twice += n * (2 * (abs(c1) * e2 + abs(c2) * e1 + left.size * right.size) - sum(map(abs, both)))
            c1, c2 = n * c1, n * c2
            more = [c1 * b + c2 * a for a, b in zip(g1, g2, strict=False)]
            more += [c2 * a for a in g1[len(g2) :]] or [c1 * b for b in g2[len(g1) :]]
            g = [*map(add, g, more), *g[len(more) :], *more[len(g) :]]
        bits, unit = self.bits, 2 * divisor << self.bits
        g = [x >> bits for x in g] if divisor == 1 else [x // divisor >> bits for x in g]
        return Form(centre // unit, tuple(g), -(-twice // unit) + len(g) + 1)

    def _long(self, left: Form, right: Form) -> Form | None:
        """The same as `dot` has for one product, of forms with long rows."""
        crossed = rows.crossed(left.g, right.g)
        g = rows.combined(left.g, right.g, (right.c, left.c), self.bits)
        if crossed is None or g is None:
            return None
        centre = 2 * left.c * right.c + crossed[0]
        twice = 2 * (abs(left.c) * right.e + abs(right.c) * left.e + left.size * right.size) - crossed[1]
        return Form(centre >> self.bits + 1, g, -(-twice >> self.bits + 1) + len(g) + 1)

    def divide(self, left: Form, right: Form) -> Form:
        """Quotient. Raises `OutsideError` where the divisor may be 0."""
        return self.multiply(left, self.apply("reciprocal", right))

    def apply(self, function: str, value: Form) -> Form:
        """A function, within two lines of one slope. Raises `OutsideError` where it may have no value."""
        low, high = value.range
        if function == "relu" and low >= 0:
            return value
        slope, least, most = relaxed(function, low, high, self.bits)
        middle = (least + most) >> 1
        if slope:
            g = tuple([x * slope >> SLOPE_BITS for x in value.g])
            e = -(-value.e * abs(slope) >> SLOPE_BITS) + len(g) + 1
            enclosed = Form((value.c * slope >> SLOPE_BITS) + middle, g, e + most - middle)
        else:
            enclosed = Form(middle, (), most - middle)
        return replace(enclosed, known=self._known(function, (low, high), enclosed.range))

    def _known(self, function: str, operand: Pair, found: Pair) -> Pair:
        """Closed ends of a function's values, from those of the operand and those that were found."""
        if function == "relu":
            return max(operand[0], 0), max(operand[1], 0)
        if function in _NOT_NEGATIVE:
            return max(found[0], 0), max(found[1], 0)
        least, most = _RANGES.get(function, found)
        return (least << self.bits, most << self.bits) if function in _RANGES else (least, most)

    def fresh(self, value: Form) -> Form:
        """The form with its radius as a symbol of its own."""
        if not value.e:
            return value
        g = rows.followed(value.g, self.symbols, value.e)
        g = g or (*value.g, *(0,) * (self.symbols - len(value.g)), value.e)
        self.symbols += 1
        return Form(value.c, g, 0, value.known)

    def maximum(self, left: Form, right: Form) -> Form:
        """The greater one: ``right + max(left - right, 0)``."""
        (a, b), (c, d) = left.range, right.range
        if a >= d:
            return left
        if b <= c:
            return right
        found = self.add(right, self.apply("relu", self.add(left, self.scale(right, Fraction(-1)))))
        return replace(found, known=(max(a, c), max(b, d)))


__all__ = ["Form", "Forms", "OutsideError", "between", "enclosing", "floor_ratio", "not_negative"]
