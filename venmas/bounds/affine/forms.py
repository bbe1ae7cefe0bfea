"""Affine forms in floats over symbols that keep coming: the engine's quantities along smooth systems.

A quantity in B boxes is ``c + sum g_i s_i + r`` for symbols s in [-1, 1] and some ``|r| <= e``. Symbols are one for
each open initial value, and fresh ones for what networks and flows add (Singh et al., *Fast and effective robustness
certification*, NeurIPS 2018; Kühn, *Rigorously computed orbits of dynamical systems without the wrapping effect*,
Computing 61, 1998). Rounding errors are bounded a priori, for any order of summation (`venmas.bounds.rounding`), and go
into e. A row in which floats overflow has infinite ranges; one in which a function has no value is `Forms.broken`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from venmas.bounds.affine.univariate import CURVES, lines
from venmas.bounds.rounding import FEW, SMALLEST_NORMAL, TINY, Bools, Floats, Index, ball, gamma, outward

Ends: TypeAlias = tuple[Floats, Floats]
_EXACT = 2.0**52


class Form:
    """z: (B, 1+k), the constant first, of the first k symbols; e: (B,), not negative.

    mass: (B,), not below the sum of the absolute values of z and e, but for its own rounding: what errors are relative
    to. Sums add up those of their terms. known: ends that all values are known to be between, (B,) twice, which may be
    exact where those of the form are rounded, such as 0 of a square.
    """

    def __init__(self, z: Floats, e: Floats, mass: Floats | None = None, known: Ends | None = None) -> None:
        self.z, self.e, self.known = z, e, known
        self.mass = np.abs(z).sum(1) + e if mass is None else mass

    @cached_property
    def radius(self) -> Floats:
        """Radius around the constant, rounded up: (B,)."""
        total: Floats = (np.abs(self.z[:, 1:]).sum(1) + self.e) * (1 + gamma(self.z.shape[1])) + TINY
        return total if self.z.shape[1] > 1 or self.e.any() else np.zeros(len(self.e))

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The interval over all symbols, rounded outward, where it is in what is known: (B,) twice."""
        c, r = self.z[:, 0], self.radius
        if r.any():
            error = FEW * (np.abs(c) + r)
            low, high = outward(c - r - error, c + r + error)
        else:
            low, high = outward(c, c)
        if self.known is None:
            return low, high
        return np.fmax(low, self.known[0]), np.fmin(high, self.known[1])

    @property
    def size(self) -> Floats:
        """The greatest absolute value, rounded up: (B,); infinite where nothing is known."""
        lo, hi = self.ends
        return np.maximum(-lo, hi)

    def whole(self) -> bool:
        """Is it an integer in every box, and without an error?"""
        c = self.z[:, 0]
        return self.z.shape[1] == 1 and not self.e.any() and bool(np.all((np.rint(c) == c) & (np.abs(c) < _EXACT)))

    def rows(self, index: Index) -> Form:
        """The form in the boxes that `index` picks."""
        known = None if self.known is None else (self.known[0][index], self.known[1][index])
        form = Form(self.z[index], self.e[index], self.mass[index], known)
        if "ends" in self.__dict__:
            form.ends = self.ends[0][index], self.ends[1][index]
        return form

    def wide(self, symbols: int) -> Floats:
        """z with coefficients of so many symbols, which are not fewer: (B, 1+symbols)."""
        if self.z.shape[1] == 1 + symbols:
            return self.z
        z = np.zeros((len(self.e), 1 + symbols))
        z[:, : self.z.shape[1]] = self.z
        return z


class Forms:
    """The ring of forms of a batch (`venmas.model.evaluation.jets.Ring`)."""

    def __init__(self, size: int, symbols: int = 0) -> None:
        self.size, self.symbols = size, symbols
        self.broken: Bools = np.zeros(size, dtype=bool)
        """(B,): where something may have no value: a root of a negative number, a quotient by 0."""

    # -- what quantities are made of -----------------------------------------------------------------------------------

    def constant(self, value: Fraction) -> Form:
        """A rational."""
        near = float(value)
        z, e = np.full((self.size, 1), near), np.zeros(self.size)
        if Fraction(near) != value:
            e += FEW * abs(near) + TINY
            return Form(z, e, np.full(self.size, abs(near)) + e)
        return Form(z, e, np.full(self.size, abs(near)), (z[:, 0], z[:, 0]))

    def between(self, lo: Floats, hi: Floats) -> Form:
        """Anything in an interval, (B,) twice."""
        centre, radius = ball(lo, hi)
        return Form(centre[:, None], np.where(lo == hi, 0.0, radius))

    def symbol(self, lo: Floats, hi: Floats) -> Form:
        """Anything in an interval, which has a symbol of its own; its ends are exact, such as at that of a domain."""
        form = self.between(lo, hi)
        form.known = lo, hi
        return self.fresh(form)

    def fresh(self, form: Form) -> Form:
        """The form with a symbol of its own in place of its radius."""
        if not form.e.any():
            return form
        self.symbols += 1
        z = form.wide(self.symbols)  # a copy, as it is wider
        z[:, -1] = form.e
        return Form(z, np.zeros(self.size), known=form.known)

    # -- operations ----------------------------------------------------------------------------------------------------

    def add(self, left: Form, right: Form) -> Form:
        """Sum."""
        if left.z.shape[1] < right.z.shape[1]:
            left, right = right, left
        z = left.z.copy()
        z[:, : right.z.shape[1]] += right.z
        mass = left.mass + right.mass
        if left.whole() and right.whole():
            return Form(z, np.zeros(self.size), mass)
        return Form(z, left.e + right.e + (FEW * mass + TINY), mass * (1 + FEW) + TINY)

    def scale(self, value: Form, factor: Fraction) -> Form:
        """Multiple."""
        c = float(factor)
        if abs(factor) == 1:
            known = value.known if c > 0 or value.known is None else (-value.known[1], -value.known[0])
            return Form(c * value.z, value.e, value.mass, known)
        mass = max(abs(c), SMALLEST_NORMAL) * value.mass
        return Form(c * value.z, abs(c) * value.e + (FEW * mass + TINY), mass * (1 + 2 * FEW) + TINY)

    def combine(self, terms: Sequence[tuple[Fraction, Form]], constant: Fraction = Fraction(0)) -> Form:
        """``sum factor * form + constant``."""
        if len(terms) == 1 and not constant and abs(terms[0][0]) == 1:
            return self.scale(terms[0][1], terms[0][0])
        width = max((form.z.shape[1] for _, form in terms), default=1)
        z, e = np.zeros((self.size, width)), np.zeros(self.size)
        z[:, 0] = float(constant)
        mass = np.full(self.size, abs(float(constant)))
        for factor, form in terms:
            c = float(factor)
            z[:, : form.z.shape[1]] += c * form.z
            e += abs(c) * form.e
            mass += max(abs(c), SMALLEST_NORMAL) * form.mass
        integral = all(f.denominator == 1 for f in (constant, *(f for f, _ in terms)))
        if integral and all(form.whole() for _, form in terms) and bool(np.all(mass < _EXACT)):
            return Form(z, e, mass)  # no partial sum of integers is rounded
        return Form(z, e + (gamma(2 * len(terms) + 3) * mass + TINY), mass * (1 + 2 * gamma(2 * len(terms) + 3)) + TINY)

    def multiply(self, left: Form, right: Form) -> Form:
        """Product; of one object with itself, its square.

        The constant takes half of ``sum g_i h_i s_i**2``, since s_i**2 is in [0, 1]; what is left is at most
        ``R S - sum |g_i h_i| / 2`` for radii R, S. A square is nowhere negative: half of ``R**2`` on both sides.

        Rounding: every coefficient of z is a sum of three products at most, the constant one of k + 1, e one of k + 4;
        all of them are terms of the product of both masses, each at most twice.
        """
        if left.z.shape[1] < right.z.shape[1]:
            left, right = right, left
        width = right.z.shape[1]
        c, d = left.z[:, 0], right.z[:, 0]
        z = left.z * d[:, None]
        z[:, 1:width] += c[:, None] * right.z[:, 1:]
        r = left.radius * right.radius
        if left is right:
            z[:, 0] += 0.5 * r
            e = np.abs(c) * left.e * 2 + 0.5 * r
        else:
            both = left.z[:, 1:width] * right.z[:, 1:]
            z[:, 0] += 0.5 * both.sum(1)
            e = np.abs(c) * right.e + np.abs(d) * left.e + np.maximum(r - 0.5 * np.abs(both).sum(1), 0.0)
        # radii instead of the bounds of mass, which grow from sum to sum
        mass = (np.abs(c) + left.radius) * (np.abs(d) + right.radius)
        slack = 2 * gamma(left.z.shape[1] + 8)
        known = (np.zeros(self.size), np.full(self.size, np.inf)) if left is right else None
        return Form(z, e + (slack * mass + TINY), mass * (1 + 4 * slack) + TINY, known)

    def dot(self, terms: Sequence[tuple[int, Form, Form]], divisor: int = 1) -> Form:
        """``sum n left right / divisor``."""
        parts = [(Fraction(n, divisor), self.multiply(left, right)) for n, left, right in terms]
        return self.combine(parts)

    def divide(self, left: Form, right: Form) -> Form:
        """Quotient; broken where the divisor may be 0."""
        return self.multiply(left, self.apply("reciprocal", right))

    def apply(self, function: str, value: Form) -> Form:
        """A function of `venmas.bounds.affine.univariate`; broken where it may have no value."""
        rule = lines(function, *value.ends)
        if rule.wrong is not None:
            self.broken |= rule.wrong
        with np.errstate(invalid="ignore"):  # half a line has no centre
            centre, radius = ball(rule.lo, rule.hi)
        a = rule.slope
        flat = a == 0  # where nothing is known of the operand, the function may yet be bounded
        z = np.where(flat[:, None], 0.0, a[:, None] * value.z)
        z[:, 0] += centre
        mass = np.where(flat, 0.0, np.abs(a) * (np.abs(value.z[:, 0]) + value.radius)) + np.abs(centre)
        e = np.where(flat, 0.0, np.abs(a) * value.e) + radius + (FEW * mass + TINY)
        if function == "relu":
            known = tuple(np.maximum(end, 0.0) for end in value.ends)
        else:
            known = tuple(np.full(self.size, end) for end in CURVES[function].ends)
        return Form(z, e, (mass + radius) * (1 + 2 * FEW) + TINY, (known[0], known[1]))

    def rest_of(self, left: Form, right: Form) -> Form:
        """The difference of two forms."""
        return self.add(left, self.scale(right, Fraction(-1)))

    def along(self, slope: Floats, lo: Floats, hi: Floats) -> Form:
        """A linear part, (B, 1+k) with a constant of 0, plus something between lo and hi, (B,) each."""
        z = slope.copy()
        z[:, 0], e = ball(lo, hi)
        return Form(z, e)
