"""Batched affine forms with a radius: the bounds of the reachability graph.

A quantity in B boxes is ``z . (1, s) + r`` for roots s in [-1, 1]^m and some |r| <= e: one linear part and an interval,
not one form below and one above as in `linear_forms`, which costs a third. This is affine arithmetic, or a zonotope
whose symbols beyond the roots are collected in one radius (Singh et al., *Fast and effective robustness certification*,
NeurIPS 2018). Rounding errors are bounded as `venmas.bounds.rounding` derives and go into e.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.methods import beaten
from venmas.bounds.relaxation import chord, rounding
from venmas.bounds.rounding import (
    HUGE_32,
    SMALLEST_NORMAL,
    TINY,
    TINY_32,
    UNIT_ROUNDOFF,
    UNIT_ROUNDOFF_32,
    Bools,
    Floats,
    ball,
    gamma,
    outward,
)
from venmas.budget import ask
from venmas.model.expressions.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Output,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
)
from venmas.nn import Layer, Network


@dataclass(frozen=True, eq=False)
class Form:
    """z: (B, 1+m), the constant first; e: (B,), not negative."""

    z: Floats
    e: Floats

    def range(self) -> tuple[Floats, Floats]:
        """The interval over all roots, rounded outward."""
        lo, hi = span(self.z[:, :, None], self.e[:, None])
        return lo[:, 0], hi[:, 0]


def span(z: Floats, e: Floats) -> tuple[Floats, Floats]:
    """Interval of forms stacked as z (B, 1+m, n), e (B, n): (B, n) twice."""
    radius = np.abs(z[:, 1:]).sum(1) + e
    error = gamma(z.shape[1] + 1) * (radius + np.abs(z[:, 0])) + TINY
    lo, hi = z[:, 0] - radius - error, z[:, 0] + radius + error
    return outward(lo, hi)


@dataclass(frozen=True, eq=False)
class Inside:
    """Bounds of the inputs of a network's last affine layer: z (B, 1+m, n), e (B, n)."""

    last: Layer
    z: Floats
    e: Floats


def times(values: Floats, weight: Floats) -> Floats:
    """``weight @ values`` for values (B, n) and one weight (q, n) or one a row (B, q, n)."""
    if weight.ndim == 2:
        return values @ weight.T
    return np.asarray((values[:, None, :] @ weight.swapaxes(1, 2))[:, 0])


def affine(
    weight: Floats, bias: Floats, weight_error: Floats | float, z: Floats, e: Floats, single: bool
) -> tuple[Floats, Floats]:
    """``weight @ x + bias``, weights off by `weight_error` relative to their size.

    single: in float32 and in any order, the bias perhaps first (docs/certificates.md, float32).
    weight: (q, n), bias: (q,), or (B, q, n) and (B, q), one a row.
    """
    n = weight.shape[-1]
    size = np.abs(weight)
    new = z @ weight.swapaxes(-1, -2)
    new[:, 0] += bias
    mass = np.abs(z).sum(1) + e
    # gamma in float32: the rounding of a weight, n products and sums, and the bias
    narrow = (n + 4) * UNIT_ROUNDOFF_32 / (1 - (n + 4) * UNIT_ROUNDOFF_32) if single else 0.0
    slack = gamma(n + z.shape[1]) + weight_error + narrow
    error = times(e + slack * mass + TINY, size) + (gamma(2) + narrow) * np.abs(bias) + TINY * n
    if single:
        error += (n + 4 + mass.sum(1, keepdims=True)) * TINY_32
        # float32 may overflow: in a result, an input or a weight
        error[times(mass, size) + np.abs(bias) >= HUGE_32] = np.inf
        error[(mass >= HUGE_32).any(1)] = np.inf
        error[np.broadcast_to((size >= HUGE_32).any(-1), error.shape)] = np.inf
    return new, error * (1 + gamma(n + 2))


@lru_cache(maxsize=64)
def pairs(n: int) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Rows (P, n) of all differences of two of n outputs, and the positions of the two."""
    first, second = np.triu_indices(n, 1)
    rows = np.zeros((len(first), n))
    rows[np.arange(len(first)), first], rows[np.arange(len(first)), second] = 1.0, -1.0
    return rows, first, second


def differences(
    weight: Floats, bias: Floats, weight_error: float, rows: Floats | None, z: Floats, e: Floats
) -> tuple[Floats, Floats]:
    """Forms of ``rows @ (weight @ x + bias)``; without rows, of all differences of two outputs."""
    if rows is None:
        rows = pairs(weight.shape[-2])[0]
        _, first, second = pairs(weight.shape[-2])
        new_weight, new_bias = weight[..., first, :] - weight[..., second, :], bias[..., first] - bias[..., second]
    else:
        new_weight, new_bias = rows @ weight, bias @ rows.T
    slack = gamma(rows.shape[1]) + 2 * weight_error
    new, error = affine(new_weight, new_bias, 0.0, z, e, False)
    mass = np.abs(z).sum(1) + e
    size = np.abs(rows)
    extra = times(mass, size @ np.abs(weight)) + np.abs(bias) @ size.T
    return new, error + slack * extra * (1 + gamma(rows.shape[1] + 4))


def relax(z: Floats, e: Floats) -> tuple[Floats, Floats]:
    """``max(x, 0)`` unit by unit: x or 0 where its sign is known, else the parallelogram of least area
    (Singh et al., *Fast and effective robustness certification*, NeurIPS 2018, Theorem 3.1)."""
    slope, lift = chord(*span(z, e))
    new, error, crossing = z * slope[:, None, :], e * slope, lift > 0
    if crossing.any():
        half = 0.5 * lift
        new[:, 0] += half
        error += np.where(crossing, half + rounding(np.abs(z).sum(1) + e, half), 0.0)
    return new, error


def propagate(network: Network, z: Floats, e: Floats, single: bool = False) -> Inside:
    """Bounds through all layers but the last affine one; inputs as z (B, 1+m, n), e (B, n)."""
    hidden, last = network.hidden_and_last
    if single:
        # the inputs are rounded; the factor covers the rounding of the sum
        e = e * (1 + UNIT_ROUNDOFF_32) + np.abs(z).sum(1) * UNIT_ROUNDOFF_32 * (1 + 2**-20) + TINY_32
        if network.float32_obstacle:
            e = np.full_like(e, np.inf)
    for layer in hidden:
        ask()
        z, e = affine(layer.weight, layer.bias, layer.weight_error, z, e, single)
        if layer.rectified:
            z, e = relax(z, e)
    return Inside(last, z, e)


class Evaluator:
    """Forms of expressions over a batch of boxes; `env` gives those of the real variables."""

    def __init__(self, env: Mapping[str, Form], size: int, roots: int, single: bool = False) -> None:
        self.env, self.size, self.roots, self.single = env, size, roots, single
        self._forms: dict[int, Form] = {}
        self._inside: dict[int, Inside] = {}
        self.gaps: dict[int, tuple[Floats, Floats]] = {}
        """Forms of all differences of an argmax's scores that were found elsewhere."""

    def form(self, expr: Expr) -> Form:
        """The form of an expression whose node outlives this evaluator."""
        key = id(expr)
        if key not in self._forms:
            self._forms[key] = self._compute(expr)
        return self._forms[key]

    def _flat(self, lo: Floats, hi: Floats) -> Form:
        z = np.zeros((self.size, 1 + self.roots))
        z[:, 0], e = ball(lo, hi)
        return Form(z, e)

    def _compute(self, expr: Expr) -> Form:
        ask()
        match expr:
            case Constant(value):
                z = np.zeros((self.size, 1 + self.roots))
                z[:, 0] = float(value)
                exact = Fraction(float(value)) == value
                return Form(z, np.full(self.size, 0.0 if exact else abs(float(value)) * 2 * UNIT_ROUNDOFF + TINY))
            case Variable(name, _):
                return self.env[name]
            case Sum(terms, constant):
                return self._sum([(c, self.form(part)) for c, part in terms], constant)
            case Output(application, index):
                inside = self.inside(application)
                row = np.zeros((1, inside.last.out_size))
                row[0, index] = 1.0
                z, e = self._combine(inside, row)
                return Form(z[:, :, 0], e[:, 0])
            case Maximum(operands):
                best = self.form(operands[0])
                for operand in operands[1:]:
                    other = self.form(operand)
                    gap = self._sum([(Fraction(1), best), (Fraction(-1), other)], Fraction(0))
                    z, e = relax(gap.z[:, :, None], gap.e[:, None])
                    best = self._sum([(Fraction(1), Form(z[:, :, 0], e[:, 0])), (Fraction(1), other)], Fraction(0))
                return best
            case ArgMax(scores):
                able = self.winners(expr)
                places = np.arange(len(scores), dtype=float)
                return self._flat(np.where(able, places, np.inf).min(1), np.where(able, places, -np.inf).max(1))
            case Switch(_, cases):
                return self._hull([self.form(e) for _, e in cases])
            case Where(condition, then, otherwise):
                yes, no = self.truth(condition)
                hull = self._hull([self.form(then), self.form(otherwise)])
                first, second = self.form(then), self.form(otherwise)
                z = np.where(no[:, None], second.z, np.where(yes[:, None], first.z, hull.z))
                return Form(z, np.where(no, second.e, np.where(yes, first.e, hull.e)))
        raise TypeError(type(expr))

    def total(self, terms: list[tuple[Fraction, Form]]) -> Form:
        """A linear combination of forms."""
        return self._sum(terms, Fraction(0))

    def _sum(self, terms: list[tuple[Fraction, Form]], constant: Fraction) -> Form:
        z, e = np.zeros((self.size, 1 + self.roots)), np.zeros(self.size)
        z[:, 0] = float(constant)
        mass = np.full(self.size, abs(float(constant)))
        for factor, form in terms:
            c = float(factor)
            z += c * form.z
            e += abs(c) * form.e
            mass += max(abs(c), SMALLEST_NORMAL) * (np.abs(form.z).sum(1) + form.e)
        return Form(z, e + gamma(2 * len(terms) + 3) * mass + TINY)

    def _hull(self, forms: list[Form]) -> Form:
        ranges = [f.range() for f in forms]
        return self._flat(np.min([lo for lo, _ in ranges], axis=0), np.max([hi for _, hi in ranges], axis=0))

    def inside(self, application: Application) -> Inside:
        """Bounds within a network application."""
        key = id(application)
        if key not in self._inside:
            inputs = [self.form(i) for i in application.inputs]
            z = np.stack([f.z for f in inputs], 2)
            e = np.stack([f.e for f in inputs], 1)
            self._inside[key] = propagate(application.network, z, e, self.single)
        return self._inside[key]

    def _combine(self, inside: Inside, rows: Floats) -> tuple[Floats, Floats]:
        """Forms of ``rows @ outputs``."""
        last = inside.last
        if not self.single:
            return differences(last.weight, last.bias, last.weight_error, rows, inside.z, inside.e)
        # every output is rounded on its own before two of them are compared
        z, e = affine(last.weight, last.bias, last.weight_error, inside.z, inside.e, True)
        return affine(rows, np.zeros(len(rows)), 0.0, z, e, False)

    # -- choices -------------------------------------------------------------------------------------------------------

    def winners(self, node: ArgMax, influence: Floats | None = None) -> Bools:
        """(B, n): which indices can win (lowest on a tie, design S3); adds to `influence` (B, m) how much each root
        moves the differences whose sign is open."""
        n = len(node.scores)
        rows, first, second = pairs(n)
        network = whole(node)
        if id(node) in self.gaps:
            z, e = self.gaps[id(node)]
        elif network is not None:
            z, e = self._combine(self.inside(network), rows)
        else:
            one = Fraction(1)
            gaps = [
                self._sum([(one, self.form(node.scores[i])), (-one, self.form(node.scores[j]))], Fraction(0))
                for i, j in zip(first, second, strict=True)
            ]
            z, e = np.stack([g.z for g in gaps], 2), np.stack([g.e for g in gaps], 1)
        lo, hi = span(z, e)
        top = np.zeros((self.size, n, n))
        top[:, first, second], top[:, second, first] = hi, -lo
        able = beaten(top)
        if influence is not None and z.shape[1] > 1:
            open_ = (lo < 0) & (hi >= 0) & able[:, first] & able[:, second]
            influence += np.where(open_[:, None, :], np.abs(z[:, 1:]), 0.0).sum(2)
        return able

    def largest(self, node: Maximum) -> Bools:
        """(B, n): which operands can be the maximum; ties count for all."""
        ranges = [self.form(o).range() for o in node.operands]
        floor = np.max([lo for lo, _ in ranges], axis=0)
        return np.stack([hi >= floor for _, hi in ranges], 1)

    def truth(self, condition: Condition) -> tuple[Bools, Bools]:
        """Where a condition certainly holds, and where it certainly does not."""
        match condition:
            case Truth(value):
                return np.full(self.size, value), np.full(self.size, not value)
            case Compare(expr, relation):
                lo, hi = self.form(expr).range()
                return relation.certain(lo, hi), relation.negated.certain(lo, hi)
            case All(operands) | Any(operands):
                parts = [self.truth(c) for c in operands]
                join, meet = np.logical_or.reduce, np.logical_and.reduce
                if isinstance(condition, Any):
                    join, meet = meet, join
                return np.asarray(meet([y for y, _ in parts])), np.asarray(join([n for _, n in parts]))
        raise TypeError(type(condition))


def whole(node: ArgMax) -> Application | None:
    """The network whose outputs, all of them in order, an argmax compares; None where it compares something else."""
    first = node.scores[0]
    if not isinstance(first, Output) or len(node.scores) != first.application.network.output_size:
        return None
    same = all(
        isinstance(s, Output) and s.application is first.application and s.index == i for i, s in enumerate(node.scores)
    )
    return first.application if same else None
