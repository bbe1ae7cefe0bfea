"""Batched affine forms with a radius: the bounds of the reachability graph.

A quantity in B boxes is ``z . (1, s) + r`` for roots s in [-1, 1]^m and some |r| <= e: one linear part and an interval,
not one form below and one above as in `linear_forms`, which costs a third. This is affine arithmetic, or a zonotope
whose symbols beyond the roots are collected in one radius (Singh et al., *Fast and effective robustness certification*,
NeurIPS 2018). Rounding errors are bounded as `venmas.bounds.rounding` derives and go into e.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.evaluation import Bounding
from venmas.bounds.methods import beaten
from venmas.bounds.relaxation import chord, rounding
from venmas.bounds.rounding import (
    HUGE_32,
    LOST_32,
    SMALLEST_NORMAL,
    TINY,
    UNIT_ROUNDOFF,
    UNIT_ROUNDOFF_32,
    Bools,
    Floats,
    ball,
    gamma,
    outward,
)
from venmas.budget import ask
from venmas.model.expressions.expr import ArgMax, Maximum, Switch, Where
from venmas.nn import Layer, Network

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, eq=False)
class Form:
    """z: (B, 1+m), the constant first; e: (B,), not negative."""

    z: Floats
    e: Floats

    def range(self) -> tuple[Floats, Floats]:
        """The interval over all roots, rounded outward."""
        lo, hi = span(self.z[:, :, None], self.e[:, None])
        return lo[:, 0], hi[:, 0]


def total(z: Floats) -> Floats:
    """Sums of absolute values, in any order: z (.., m, n) -> (.., n). A product is four times as fast as `sum`."""
    ones = np.ones((1, z.shape[-2]))
    return np.asarray((ones @ np.abs(z))[..., 0, :])


def spread(z: Floats, e: Floats) -> tuple[Floats, Floats, Floats]:
    """Interval of forms stacked as z (B, 1+m, n), e (B, n), and the sum of all absolute values: (B, n) three times."""
    radius = total(z[:, 1:]) + e
    mass = radius + np.abs(z[:, 0])
    error = gamma(z.shape[1] + 1) * mass + TINY
    return *outward(z[:, 0] - radius - error, z[:, 0] + radius + error), mass


def span(z: Floats, e: Floats) -> tuple[Floats, Floats]:
    """The interval alone."""
    lo, hi, _ = spread(z, e)
    return lo, hi


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
    weight: Floats,
    bias: Floats,
    weight_error: Floats | float,
    z: Floats,
    e: Floats,
    single: bool,
    alone: Floats | None = None,
) -> tuple[Floats, Floats]:
    """``weight @ x + bias``, weights off by `weight_error` relative to their size.

    alone: (B, n), of symbols that one input each has and no other; those that are not 0 come after z's in the result.
    single: in float32 and in any order, the bias perhaps first (docs/certificates.md, float32).
    weight: (q, n), bias: (q,), or (B, q, n) and (B, q), one a row.
    """
    n = weight.shape[-1]
    size = np.abs(weight)
    mass = total(z) + e
    units = np.arange(0) if alone is None else np.flatnonzero(alone.any(0))
    if alone is not None and len(units):
        new = np.empty((z.shape[0], z.shape[1] + len(units), weight.shape[0]))
        np.matmul(z, weight.T, out=new[:, : z.shape[1]])
        np.multiply(alone[:, units, None], weight.T[units], out=new[:, z.shape[1] :])
        mass = mass + alone
    else:
        new = z @ weight.swapaxes(-1, -2)
    new[:, 0] += bias
    # gamma in float32: the rounding of a weight, n products and sums, and the bias
    narrow = (n + 4) * UNIT_ROUNDOFF_32 / (1 - (n + 4) * UNIT_ROUNDOFF_32) if single else 0.0
    slack = gamma(n + new.shape[1]) + weight_error + narrow
    error = times(e + slack * mass + TINY, size) + (gamma(2) + narrow) * np.abs(bias) + TINY * n
    if single:
        error += (n + 4 + mass.sum(1, keepdims=True)) * LOST_32
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


def rounded(z: Floats, e: Floats) -> Floats:
    """The radii of inputs that are rounded to float32; the factor covers the rounding of the sum."""
    return np.asarray(e * (1 + UNIT_ROUNDOFF_32) + np.abs(z).sum(1) * UNIT_ROUNDOFF_32 * (1 + 2**-20) + LOST_32)


def propagate(network: Network, z: Floats, e: Floats, single: bool = False) -> Inside:
    """Bounds through all layers but the last affine one; inputs as z (B, 1+m, n), e (B, n)."""
    hidden, last = network.hidden_and_last
    if single:
        e = rounded(z, e)
        if network.float32_obstacle:
            e = np.full_like(e, np.inf)
    for layer in hidden:
        ask()
        z, e = affine(layer.weight, layer.bias, layer.weight_error, z, e, single)
        if layer.rectified:
            z, e = relax(z, e)
    return Inside(last, z, e)


class Evaluator(Bounding[Form, Inside]):
    """Forms of expressions over a batch of boxes; `env` gives those of the real variables."""

    def __init__(self, env: Mapping[str, Form], size: int, roots: int, single: bool = False) -> None:
        super().__init__()
        self.env, self.size, self.roots, self.single = env, size, roots, single
        self.gaps: dict[int, tuple[Floats, Floats]] = {}
        """Forms of all differences of an argmax's scores that were found elsewhere."""

    def _flat(self, lo: Floats, hi: Floats) -> Form:
        z = np.zeros((self.size, 1 + self.roots))
        z[:, 0], e = ball(lo, hi)
        return Form(z, e)

    def _ends(self, value: Form) -> tuple[Floats, Floats]:
        return value.range()

    def _constant(self, value: Fraction) -> Form:
        z = np.zeros((self.size, 1 + self.roots))
        z[:, 0] = float(value)
        exact = Fraction(float(value)) == value
        return Form(z, np.full(self.size, 0.0 if exact else abs(float(value)) * 2 * UNIT_ROUNDOFF + TINY))

    def _variable(self, name: str) -> Form:
        return self.env[name]

    def _linear(self, terms: Sequence[tuple[Fraction, Form]], constant: Fraction = _ZERO) -> Form:
        z, e = np.zeros((self.size, 1 + self.roots)), np.zeros(self.size)
        z[:, 0] = float(constant)
        mass = np.full(self.size, abs(float(constant)))
        for factor, form in terms:
            c = float(factor)
            z += c * form.z
            e += abs(c) * form.e
            mass += max(abs(c), SMALLEST_NORMAL) * (np.abs(form.z).sum(1) + form.e)
        return Form(z, e + gamma(2 * len(terms) + 3) * mass + TINY)

    def _network(self, network: Network, inputs: Sequence[Form]) -> Inside:
        z, e = np.stack([f.z for f in inputs], 2), np.stack([f.e for f in inputs], 1)
        return propagate(network, z, e, self.single)

    def _output(self, outputs: Inside, index: int) -> Form:
        row = np.zeros((1, outputs.last.out_size))
        row[0, index] = 1.0
        z, e = self._combine(outputs, row)
        return Form(z[:, :, 0], e[:, 0])

    def _maximum(self, operands: Iterable[Form]) -> Form:
        best, *rest = operands
        for other in rest:
            gap = self.difference(best, other)
            z, e = relax(gap.z[:, :, None], gap.e[:, None])
            best = self._linear([(_ONE, Form(z[:, :, 0], e[:, 0])), (_ONE, other)])
        return best

    def _argmax(self, node: ArgMax) -> Form:
        possible, places = self.winners(node), np.arange(len(node.scores), dtype=float)
        return self._flat(np.where(possible, places, np.inf).min(1), np.where(possible, places, -np.inf).max(1))

    def _switch(self, node: Switch) -> Form:
        return self._hull([self.value(e) for _, e in node.cases])

    def _where(self, node: Where) -> Form:
        yes, no = self.truth(node.condition)
        first, second = self.value(node.then), self.value(node.otherwise)
        hull = self._hull([first, second])
        z = np.where(no[:, None], second.z, np.where(yes[:, None], first.z, hull.z))
        return Form(z, np.where(no, second.e, np.where(yes, first.e, hull.e)))

    def total(self, terms: Sequence[tuple[Fraction, Form]]) -> Form:
        """A linear combination of forms."""
        return self._linear(terms)

    def difference(self, left: Form, right: Form) -> Form:
        """One form less another."""
        return self._linear([(_ONE, left), (-_ONE, right)])

    def _hull(self, forms: list[Form]) -> Form:
        ranges = [f.range() for f in forms]
        return self._flat(np.min([lo for lo, _ in ranges], axis=0), np.max([hi for _, hi in ranges], axis=0))

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
        network = node.whole
        if id(node) in self.gaps:
            z, e = self.gaps[id(node)]
        elif network is not None:
            z, e = self._combine(self.outputs(network), rows)
        else:
            scores = [self.value(s) for s in node.scores]
            gaps = [self.difference(scores[i], scores[j]) for i, j in zip(first, second, strict=True)]
            z, e = np.stack([g.z for g in gaps], 2), np.stack([g.e for g in gaps], 1)
        lo, hi = span(z, e)
        top = np.zeros((self.size, n, n))
        top[:, first, second], top[:, second, first] = hi, -lo
        possible = beaten(top)
        if influence is not None and z.shape[1] > 1:
            open_ = (lo < 0) & (hi >= 0) & possible[:, first] & possible[:, second]
            influence += np.where(open_[:, None, :], np.abs(z[:, 1:]), 0.0).sum(2)
        return possible

    def largest(self, node: Maximum) -> Bools:
        """(B, n): which operands can be the maximum; ties count for all."""
        ranges = [self.value(o).range() for o in node.operands]
        floor = np.max([lo for lo, _ in ranges], axis=0)
        return np.stack([hi >= floor for _, hi in ranges], 1)
