"""Affine forms of many sets at once, in 64-bit integers: ``c + sum_i g_i s_i + r`` in each, with |r| <= e.

As in `venmas.checker.flowpipes.forms`, of which this is the counterpart: units are 2^-bits, symbols s_i lie in [-1, 1],
every operation rounds outward, and a coefficient that is floored makes e greater by one. Each form has a bound, which
no |c| + sum |g_i| + e of it is beyond, nor any known end; results that may be at 2^58 or more are not computed, and
raise `BeyondError`. So nothing wraps: sums of two stay below 2^59, operands of `floor_product` below 2^60.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from venmas.checker.affine.products import floor_product, scaled_down
from venmas.checker.flowpipes.curves import ONE, BeyondError, lines, sloped
from venmas.checker.flowpipes.univariate import SLOPE_BITS

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Ends = tuple[Ints, Ints]

_LIMIT, _ROOM = 1 << 58, 1 << 62
"""What is less than each form is, and than each result of 64-bit arithmetic before it is looked at."""
_LEFT = 59
"""Bits of a factor of products that 64 bits do not hold."""
_RANGES = {"tanh": (-1, 1), "sin": (-1, 1), "cos": (-1, 1), "sigmoid": (0, 1)}


class Form:
    """z: (B, 1+k), the centre first, coefficients of further symbols are 0; e: (B,), not negative.

    bound: see above. known: ends that all values are between besides, (B,) twice. Nothing of a form is changed once it
    is made, but for its bound, which may become less. Raises `BeyondError`.
    """

    __slots__ = ("_ends", "_size", "bound", "e", "known", "z")

    def __init__(self, z: Ints, e: Ints, bound: int, known: Ends | None = None) -> None:
        """bound: below 2^62."""
        self.z, self.e, self.known, self.bound = z, e, known, bound
        self._size: Ints | None = None
        self._ends: Ends | None = None
        if bound >= _LIMIT:
            self.tight()

    def tight(self) -> int:
        """The least bound."""
        if self.bound >= _ROOM:
            raise BeyondError("integers are too large")
        ends = () if self.known is None else self.known
        most = (self.size + np.abs(self.z[:, 0]), *map(np.abs, ends))
        self.bound = max(int(part.max(initial=0)) for part in most)
        if self.bound >= _LIMIT:
            raise BeyondError("integers are too large")
        return self.bound

    @property
    def size(self) -> Ints:
        """The greatest distance of values from the centre: (B,)."""
        if self._size is None:
            self._size = np.asarray(np.abs(self.z[:, 1:]).sum(1) + self.e)
        return self._size

    @property
    def ends(self) -> Ends:
        """Ends of all values: (B,) twice. Of no values they are any, but in order."""
        if self._ends is None:
            c, size = self.z[:, 0], self.size
            low, high = c - size, c + size
            if self.known is not None:
                low = np.maximum(low, self.known[0])
                high = np.maximum(np.minimum(high, self.known[1]), low)
            self._ends = low, high
        return self._ends

    def rows(self, rows: Ints) -> Form:
        """The form of some of the sets."""
        known = None if self.known is None else (self.known[0][rows], self.known[1][rows])
        return Form(self.z[rows], self.e[rows], self.bound, known)

    def wide(self, symbols: int) -> Ints:
        """z with coefficients of so many symbols, which are not fewer: (B, 1+symbols)."""
        if self.z.shape[1] == 1 + symbols:
            return self.z
        z = np.zeros((len(self.z), 1 + symbols), dtype=np.int64)
        z[:, : self.z.shape[1]] = self.z
        return z


def between(low: Ints, high: Ints) -> Form:
    """All values from low to high, (B,) twice, without a symbol."""
    middle = (low + high) >> 1
    most = max(int(np.abs(low).max(initial=0)), int(np.abs(high).max(initial=0)))
    return Form(middle[:, None], high - middle, 3 * most + 2, (low, high))


def multiples(x: Ints, factor: Fraction, bound: int) -> tuple[Ints, Ints | bool, int]:
    """``floor(x factor)``, where it is rounded, and what all entries of a row may be off by besides.

    x: of any shape; the sizes of the entries of a row have a sum of at most `bound`, below 2^60. A factor that is too
    long is rounded down to a multiple of 2^-s, which all entries together are off by less than bound 2^-s + 1 for.
    """
    p, q = factor.numerator, factor.denominator
    if max(bound, 1) * abs(p) < _ROOM:
        made = x if p == 1 else x * p
        if q == 1:
            return made, False, 0
        if q >= _ROOM:  # all of them are less than 1
            return made >> 63, made != 0, 0
        floored = made // q
        return floored, made != floored * q, 0
    if bound >= 1 << 60 or bound * abs(p) // q + 2 >= _ROOM:
        raise BeyondError("integers are too large")
    s, more = min(60, _LEFT - (abs(p) // q).bit_length()), 0
    if s < 30:  # entries are small, and have room for a part of the factor
        more = 30 - s
        x, bound, s = x << more, bound << more, 30
        if bound >= 1 << 60 or more > s:
            raise BeyondError("integers are too large")
    return floor_product(x, np.asarray((p << s - more) // q), s), True, (bound >> s) + 1


class Forms:
    """The ring of forms of a batch of sets, in units of 2^-bits (`venmas.model.evaluation.jets.Ring`).

    symbols: how many there are so far.
    """

    def __init__(self, size: int, bits: int, symbols: int) -> None:
        self.size, self.bits, self.symbols = size, bits, symbols

    def constant(self, value: Fraction) -> Form:
        """A rational."""
        return self.enclosing(value, value)

    def enclosing(self, low: Fraction, high: Fraction) -> Form:
        """All rationals from low to high."""
        first = (low.numerator << self.bits) // low.denominator
        last = -((-high.numerator << self.bits) // high.denominator)
        if max(abs(first), abs(last)) >= _LIMIT:
            raise BeyondError("integers are too large")
        return between(np.full(self.size, first), np.full(self.size, last))

    def combine(self, terms: Sequence[tuple[Fraction, Form]], constant: Fraction = Fraction(0)) -> Form:
        """``sum factor form + constant``, rounded once where it may be."""
        if len(terms) == 1 and terms[0][0] == 1 and not constant:
            return terms[0][1]
        parts = list(terms)
        if constant or not parts:
            parts.insert(0, (Fraction(1), self.constant(constant)))
        q = lcm(*(factor.denominator for factor, _ in parts))
        factors = [factor.numerator * (q // factor.denominator) for factor, _ in parts]
        if sum(abs(p) * max(form.bound, 1) for p, (_, form) in zip(factors, parts, strict=True)) >= _ROOM:
            total = self._sum([form if factor == 1 else self._scaled(form, factor) for factor, form in parts])
            return Form(total.z, total.e, total.bound, total.known)
        whole = [form if p == 1 else self._whole(form, p) for p, (_, form) in zip(factors, parts, strict=True)]
        total = whole[0] if len(whole) == 1 else self._sum(whole)
        if q == 1:
            return Form(total.z, total.e, total.bound, total.known)
        return self._scaled(total, Fraction(1, q))

    def _sum(self, forms: Sequence[Form]) -> Form:
        """The sum, exactly."""
        z = np.zeros((self.size, max(form.z.shape[1] for form in forms)), dtype=np.int64)
        bound = sum(form.bound for form in forms)
        if bound >= _ROOM:
            bound = sum(form.tight() for form in forms)
        if bound >= _ROOM:
            raise BeyondError("integers are too large")
        for form in forms:
            z[:, : form.z.shape[1]] += form.z
        e = np.asarray(sum(form.e for form in forms))
        known = [form.known for form in forms if form.known is not None]
        ends = None
        if len(known) == len(forms):
            ends = np.asarray(sum(low for low, _ in known)), np.asarray(sum(high for _, high in known))
        return _unlimited(z, e, bound, ends)

    def _whole(self, form: Form, p: int) -> Form:
        """A multiple by an integer, which has room."""
        known = None
        if form.known is not None:
            known = (form.known[0] * p, form.known[1] * p)[:: 1 if p >= 0 else -1]
        return _unlimited(form.z * p, form.e * abs(p), form.bound * abs(p), (known[0], known[1]) if known else None)

    def _scaled(self, form: Form, factor: Fraction) -> Form:
        """A multiple, each coefficient rounded."""
        z, rounded, more = multiples(form.z, factor, form.bound)
        e = -multiples(-form.e, abs(factor), form.bound)[0]
        e = e + (more + (z.shape[1] if rounded is True else rounded.sum(1) if isinstance(rounded, np.ndarray) else 0))
        known = None
        if form.known is not None:
            low, high = form.known if factor >= 0 else form.known[::-1]
            (a, _, off), (b, _, _) = multiples(low, factor, form.bound), multiples(-high, factor, form.bound)
            known = a - off, off - b
        bound = form.bound * abs(factor.numerator) // factor.denominator + 2 * (more + z.shape[1] + 2)
        return Form(z, e, bound, known)

    def add(self, left: Form, right: Form) -> Form:
        """Sum."""
        return self.combine([(Fraction(1), left), (Fraction(1), right)])

    def scale(self, value: Form, factor: Fraction) -> Form:
        """Multiple."""
        return self.combine([(factor, value)])

    def dot(self, terms: Sequence[tuple[int, Form, Form]], divisor: int = 1) -> Form:
        """``sum n left right / divisor``."""
        return self.combine([(Fraction(n, divisor), self.multiply(left, right)) for n, left, right in terms])

    def difference(self, left: Form, right: Form) -> Form:
        """``left - right``."""
        return self.combine([(Fraction(1), left), (Fraction(-1), right)])

    def multiply(self, left: Form, right: Form) -> Form:
        """Product; of one object with itself, its square, which is not negative.

        Of a product, ``|c1| e2 + |c2| e1 + size1 size2 - sum |g1_i g2_i| / 2`` is what its coefficients do not say,
        half of its squares being in its centre. Each product of integers is floored, and off by less than one: two of
        each coefficient, and those of the centre and of its k squares.
        """
        bits = self.bits
        if left.bound * right.bound >> bits >= _LIMIT and left.tight() * right.tight() >> bits >= _LIMIT:
            raise BeyondError("integers are too large")
        if left.z.shape[1] < right.z.shape[1]:
            left, right = right, left
        k = right.z.shape[1] - 1
        c1, c2 = left.z[:, 0], right.z[:, 0]
        z = floor_product(left.z, c2[:, None], bits)
        z[:, 1 : 1 + k] += floor_product(c1[:, None], right.z[:, 1:], bits)
        both = floor_product(left.z[:, 1 : 1 + k], right.z[:, 1:], bits)
        z[:, 0] += both.sum(1) >> 1
        e = floor_product(left.size, right.size, bits) - (np.maximum(np.abs(both).sum(1) - k, 0) >> 1)
        for c, other in ((c1, right.e), (c2, left.e)):
            if other.any():
                e += floor_product(np.abs(c), other, bits) + 1
        e += left.z.shape[1] + 2 * k + 3
        known = None
        bound = 4 * (left.bound * right.bound >> bits) + 16 * left.z.shape[1] + 16
        if left is right:
            made = Form(z, e, bound)
            known = np.zeros(self.size, dtype=np.int64), np.maximum(made.ends[1], 0)
        return Form(z, e, bound, known)

    def divide(self, left: Form, right: Form) -> Form:
        """Quotient. Raises `BeyondError` where the divisor may be 0."""
        return self.multiply(left, self.apply("reciprocal", right))

    def apply(self, function: str, value: Form) -> Form:
        """A function, within two lines of one slope. Raises `BeyondError` where it may have no value."""
        low, high = value.ends
        if function == "relu" and bool((low >= 0).all()):
            return value
        slope, least, most = lines(function, low, high, self.bits)
        steepest = int(np.abs(slope).max(initial=0))
        largest = max(int(np.abs(least).max(initial=0)), int(np.abs(most).max(initial=0)))
        bound = (value.bound * steepest >> SLOPE_BITS) + 4 * (largest + value.z.shape[1] + 2)
        bound = max(bound, value.bound, 1 << self.bits)  # what is known of it besides
        if bound >= _ROOM or steepest >= 1 << 43:
            raise BeyondError("a function is too steep")
        middle = (least + most) >> 1
        z = sloped(value.z, slope[:, None])
        z[:, 0] += middle
        rounded = (slope != 0) & (slope != ONE)
        e = -sloped(-value.e, np.abs(slope)) + (most - middle) + rounded * z.shape[1]
        made = Form(z, e, bound)
        return Form(z, e, bound, self._known(function, (low, high), made.ends))

    def _known(self, function: str, operand: Ends, found: Ends) -> Ends:
        """Closed ends of a function's values, from those of the operand and those that were found."""
        low, high = operand if function == "relu" else found
        if function in ("relu", "sqrt", "exp"):
            return np.maximum(low, 0), np.maximum(high, 0)
        if function in _RANGES:
            least, most = _RANGES[function]
            return np.full(self.size, least << self.bits), np.full(self.size, most << self.bits)
        return found

    def fresh(self, form: Form) -> Form:
        """The form with its radius as a symbol of its own."""
        if not form.e.any():
            return form
        self.symbols += 1
        z = form.wide(self.symbols)  # a copy, as it is wider
        z[:, -1] = form.e
        return Form(z, np.zeros_like(form.e), form.bound, form.known)

    def maximum(self, left: Form, right: Form) -> Form:
        """The greater one: ``right + max(left - right, 0)`` where both may be."""
        (a, b), (c, d) = left.ends, right.ends
        first, second = a >= d, b <= c
        if first.all():
            return left
        if second.all():
            return right
        made = self.combine([(Fraction(1), right), (Fraction(1), self.apply("relu", self.difference(left, right)))])
        made = Form(made.z, made.e, made.bound, (np.maximum(a, c), np.maximum(b, d)))
        return self.chosen(np.where(first, 1, np.where(second, 2, 0)), [made, left, right])

    def chosen(self, places: Ints, forms: Sequence[Form]) -> Form:
        """In each set one of several forms, (B,) of their places."""
        width = max(form.z.shape[1] for form in forms) - 1
        rows = np.arange(self.size)
        z = np.stack([form.wide(width) for form in forms])[places, rows]
        e = np.stack([form.e for form in forms])[places, rows]
        known = tuple(np.stack([_known(form)[end] for form in forms])[places, rows] for end in (0, 1))
        return Form(z, e, max(form.bound for form in forms), (known[0], known[1]))


def not_negative(forms: Mapping[str, Form], guard: Form) -> dict[str, Form]:
    """The forms where another one over the same symbols is not negative.

    With values of the guard up to u, s_i is ``sign(g_i) (1 - p_i) + p_i t_i`` for a new symbol t_i, and p_i of
    ``u / (2 |g_i|)`` to 1: only symbols with 2 |g_i| > u change. Both floors are off by less than one.
    """
    top = np.maximum(guard.z[:, 0] + guard.size, 0)
    sizes = np.abs(guard.z[:, 1:])
    rows, at = np.nonzero(2 * sizes > top[:, None])
    if not len(rows):
        return dict(forms)
    down = max(int(top.max()).bit_length() - 45, 0)
    above, below = -(-top[rows] >> down), 2 * sizes[rows, at] >> down  # a part is rounded up
    part = np.minimum(-(-(above << SLOPE_BITS) // np.maximum(below, 1)), ONE)
    sign, at = np.sign(guard.z[rows, 1 + at]), 1 + at
    made: dict[str, Form] = {}
    for name, form in forms.items():
        here = np.flatnonzero(at < form.z.shape[1])
        g = form.z[rows[here], at[here]]
        moved = here[g != 0]
        g = g[g != 0]
        if not len(moved):
            made[name] = form
            continue
        z, e, r = form.z.copy(), form.e.copy(), rows[moved]
        np.add.at(z[:, 0], r, scaled_down(g * sign[moved], ONE - part[moved], 0, SLOPE_BITS))
        z[r, at[moved]] = scaled_down(g, part[moved], 0, SLOPE_BITS)
        np.add.at(e, r, 2)
        made[name] = Form(z, e, form.bound + 4 * form.z.shape[1], form.known)
    return made


def together(forms: Sequence[Form]) -> Form:
    """The forms of several batches, one after the other."""
    if len(forms) == 1:
        return forms[0]
    width = max(form.z.shape[1] for form in forms) - 1
    ends = [_known(form) for form in forms]
    known = None
    if any(form.known is not None for form in forms):
        known = np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])
    z = np.concatenate([form.wide(width) for form in forms])
    return Form(z, np.concatenate([form.e for form in forms]), max(form.bound for form in forms), known)


def _known(form: Form) -> Ends:
    return form.ends if form.known is None else form.known


def _unlimited(z: Ints, e: Ints, bound: int, known: Ends | None) -> Form:
    """A form that is scaled down next, or looked at: its bound is below 2^62."""
    made = Form.__new__(Form)
    made.z, made.e, made.known, made.bound, made._size, made._ends = z, e, known, bound, None, None
    return made
