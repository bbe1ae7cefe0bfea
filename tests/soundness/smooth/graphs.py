"""Random graphs of operations in all rings: floats within balls, balls within affine forms and intervals of both kinds.

One state of random values is put into each ring: as floats, as balls, and as a point of forms over symbols, for whose
values the point is known. What comes out has to agree: the ball holds the value by Arb, the float is close to the ball,
and the ball meets what each form may be at the point's symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
from flint import arb

from tests.soundness.smooth.boxes import SYMBOLS
from tests.soundness.smooth.truth import Tally, applied, rational, scaled
from venmas.bounds.affine.boxes import Boxes
from venmas.bounds.affine.forms import Form as FloatForm
from venmas.bounds.affine.forms import Forms as FloatForms
from venmas.checker.flowpipes.forms import Form, Forms
from venmas.checker.flowpipes.intervals import Intervals
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.model.evaluation.balls import Balls
from venmas.model.evaluation.elementary.registry import FUNCTIONS
from venmas.model.evaluation.floats import Floats

_LEAVES = 3
_KINDS = ("add", "add", "scale", "multiply", "square", "dot", "dot", "divide", "apply", "apply", "constant")
_WIDTHS = (0.0, 1e-12, 1e-6, 1e-3, 0.1)


def random_graph(rng: Random, size: int) -> list[tuple]:  # type: ignore[type-arg]
    """Nodes, each an operation with the places of its operands; the first three are leaves."""
    nodes: list[tuple] = []  # type: ignore[type-arg]
    for k in range(size):
        a, b = (rng.randrange(_LEAVES + k) for _ in range(2))
        kind = rng.choice(_KINDS)
        factor = Fraction(rng.randint(-30, 30), rng.choice((1, 7, 10)))
        nodes.append((kind, a, b, factor, rng.choice(list(FUNCTIONS))))
    return nodes


def _followed(ring, nodes, leaves, tamed):  # type: ignore[no-untyped-def]
    """The values of all nodes; operands of functions and divisors are `tamed` so that there are values."""
    known = list(leaves)
    for kind, a, b, factor, function in nodes:
        left, right = known[a], known[b]
        match kind:
            case "add":
                made = ring.add(left, right)
            case "scale":
                made = ring.scale(left, factor)
            case "multiply":
                made = ring.multiply(left, right)
            case "square":
                made = ring.multiply(left, left)
            case "dot":
                made = ring.dot(((abs(factor.numerator) + 1, left, right), (2, left, left)), factor.denominator)
            case "divide":
                made = ring.divide(left, ring.add(ring.multiply(right, right), ring.constant(Fraction(1, 3))))
            case "constant":
                made = ring.constant(factor)
            case _:
                made = ring.apply(function, tamed(left, function))
        known.append(made)
    return known


def _tamed(ring):  # type: ignore[no-untyped-def]
    """exp of -x^2 and sqrt of x^2 + 1/5; the others take anything."""

    def tame(value, function):  # type: ignore[no-untyped-def]
        if function == "exp":
            return ring.scale(ring.multiply(value, value), Fraction(-1))
        if function == "sqrt":
            return ring.add(ring.multiply(value, value), ring.constant(Fraction(1, 5)))
        return value

    return tame


class _Arb:
    """Arb as a ring."""

    constant = staticmethod(rational)
    apply = staticmethod(applied)

    @staticmethod
    def add(a: arb, b: arb) -> arb:
        return a + b

    @staticmethod
    def scale(a: arb, factor: Fraction) -> arb:
        return a * rational(factor)

    @staticmethod
    def multiply(a: arb, b: arb) -> arb:
        return a * b

    @staticmethod
    def dot(terms: Sequence[tuple[int, arb, arb]], divisor: int) -> arb:
        return sum((n * a * b for n, a, b in terms), arb(0)) / divisor

    @staticmethod
    def divide(a: arb, b: arb) -> arb:
        return a / b


def graphs(seed: int, count: int) -> Tally:
    """Compare the rings on so many graphs."""
    rng, tally = Random(seed), Tally()
    for _ in range(count):
        nodes, bits = random_graph(rng, rng.randint(3, 12)), rng.choice((60, 60, 100))
        symbols = [rng.choice((-1024, 1024, rng.randint(-1024, 1024))) for _ in range(SYMBOLS)]
        width, forms, floats, points = rng.choice(_WIDTHS), [], [], []
        for _ in range(_LEAVES):  # dyadic numbers that floats hold and units of 2^-50 as well
            z = [round(v * 2**40) / 2**40 for v in (rng.uniform(-2, 2), *(rng.uniform(-width, width) for _ in symbols))]
            forms.append(Form(int(z[0] * 2**bits), tuple(int(g * 2**bits) for g in z[1:])))
            floats.append(FloatForm(np.array([z]), np.zeros(1)))
            points.append(
                sum((Fraction(g) * s for g, s in zip(z[1:], symbols, strict=True)), 1024 * Fraction(z[0])) / 1024
            )
        true = _followed(_Arb(), nodes, [rational(p) for p in points], _tamed(_Arb()))
        balls = Balls(bits + 60)
        ring = Floats(1)
        near = _followed(ring, nodes, [np.array([float(p)]) for p in points], _tamed(ring))
        held = _followed(balls, nodes, [balls.constant(p) for p in points], _tamed(balls))
        tally.looked += 1
        results = []
        wide = FloatForms(1, SYMBOLS)
        with np.errstate(all="ignore"):
            results.append(_followed(wide, nodes, floats, _tamed(wide)))
        for whole, leaves in ((Forms(bits, SYMBOLS), forms), (Intervals(bits), [f.range for f in forms])):
            try:
                results.append(_followed(whole, nodes, leaves, _tamed(whole)))
            except OutsideError:
                tally.refused += 1
                results.append([])
        affine, integers, intervals = results
        boxes = Boxes(1)
        with np.errstate(all="ignore"):
            around = _followed(boxes, nodes, [boxes.between(*f.ends) for f in floats], _tamed(boxes))
        for i, (value, ball, float_) in enumerate(zip(true, held, near, strict=True)):
            low, high = scaled(ball.mid - ball.rad, ball.bits), scaled(ball.mid + ball.rad, ball.bits)
            what = f"node {i} of {nodes} at {points}"
            tally.point(low, value, high, f"ball: {what}")
            slack = arb(1e-6) * (1 + abs(value)) if all(abs(v) < 1e4 for v in true[: i + 1]) else arb("inf")
            tally.point(low - slack, arb(float(float_[0])), high + slack, f"float: {what}")
            if affine and not wide.broken[0]:
                form = affine[i]
                z, e = form.z[0].tolist(), float(form.e[0])
                if np.isfinite([*z, e]).all():
                    at = arb(z[0]) + sum((arb(g) * s for g, s in zip(z[1:], symbols, strict=False)), arb(0)) / 1024
                    tally.point(at - e, value, at + e, f"affine: {what}")
            if not boxes.broken[0]:
                ends = [float(end[0]) for end in around[i].ends]
                if np.isfinite(ends).all():
                    tally.point(arb(ends[0]), value, arb(ends[1]), f"boxes: {what}")
            if integers:
                f = integers[i]
                at = scaled((f.c << 10) + sum(g * s for g, s in zip(f.g, symbols, strict=False)), bits + 10)
                tally.point(at - scaled(f.e, bits), value, at + scaled(f.e, bits), f"integers: {what}")
            if intervals:
                tally.point(scaled(intervals[i][0], bits), value, scaled(intervals[i][1], bits), f"intervals: {what}")
    return tally
