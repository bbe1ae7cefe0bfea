"""Flows with solutions in closed form, by engine and checker, against Arb: ends and extrema.

The solutions share nothing with Taylor series: each is a formula, evaluated at random starts of a random box.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np
from flint import arb

import venmas.model as vm
from tests.soundness.smooth.truth import Tally, rational, scaled
from venmas.bounds.affine.flow import Course
from venmas.bounds.affine.forms import Forms as FloatForms
from venmas.checker.flowpipes.flow import Moved
from venmas.checker.flowpipes.forms import Form, Forms, between
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.errors import ModelError
from venmas.model import System
from venmas.model.evaluation.balls import Balls, OpenValueError
from venmas.model.evaluation.courses import BallCourse
from venmas.model.evaluation.cuts import Fineness

_BITS = 60
_TIMES = 9


@dataclass(frozen=True)
class Known:
    """A rate of x (and of y beside it), starts, and the value of x after a time; finer: how many steps it needs."""

    rate: Callable[..., object]
    beside: Callable[..., object]
    low: float
    high: float
    solution: Callable[[arb, arb, arb], arb]
    finer: int = 1


def _still(x: object, y: object) -> None:
    """y does not move."""


KNOWN: Mapping[str, Known] = {
    "sum": Known(lambda x, y: 1 - 2 * x, _still, -2, 2, lambda x, y, t: arb(1) / 2 + (x - arb(1) / 2) * (-2 * t).exp()),
    "oscillator": Known(lambda x, y: y, lambda x, y: -x, -1, 1, lambda x, y, t: x * t.cos() + y * t.sin()),
    "spinner": Known(  # half a turn: its least value depends on the start in one way first, and in the other later
        lambda x, y: 8 * y, lambda x, y: -8 * x, -0.06, 0.06,
        lambda x, y, t: x * (8 * t).cos() + y * (8 * t).sin(), 8,
    ),
    "product": Known(lambda x, y: x * (1 - x), _still, 0.05, 0.9, lambda x, y, t: x * t.exp() / (1 - x + x * t.exp())),
    "square": Known(lambda x, y: x * x, _still, -1, 0.6, lambda x, y, t: x / (1 - x * t)),
    "blow-up": Known(lambda x, y: x * x, _still, 1.5, 4, lambda x, y, t: x / (1 - x * t)),  # until x t = 1
    "steep": Known(  # slow for long, and then no solution: where half of a step is nothing like the whole
        lambda x, y: 1 + vm.exp(40 * x), _still, -0.5, -0.1,
        lambda x, y, t: -((((-40 * x).exp() + 1) * (-40 * t).exp() - 1).log()) / 40,
    ),
    "reciprocal": Known(lambda x, y: 1 / x, _still, 0.5, 2, lambda x, y, t: (x * x + 2 * t).sqrt()),
    "quotient": Known(lambda x, y: y / x, _still, 0.6, 2, lambda x, y, t: (x * x + 2 * y * t).sqrt()),
    "exp": Known(lambda x, y: vm.exp(-x), _still, -1, 2, lambda x, y, t: (x.exp() + t).log()),
    "sqrt": Known(lambda x, y: vm.sqrt(x), _still, 0.2, 3, lambda x, y, t: (x.sqrt() + t / 2) ** 2),
    "tanh": Known(lambda x, y: vm.tanh(x), _still, -1, 1, lambda x, y, t: (x.sinh() * t.exp()).asinh()),
    "sin": Known(lambda x, y: vm.sin(x), _still, -3, 3, lambda x, y, t: 2 * ((x / 2).tan() * t.exp()).atan()),
    "cos": Known(
        lambda x, y: vm.cos(x), _still, -1.4, 1.4, lambda x, y, t: 2 * ((x / 2).tan().atanh() + t / 2).tanh().atan()
    ),
    # x = log(s / (1 - s)): d/dt sigmoid(x) = s (1 - s) x'
    "sigmoid": Known(
        lambda x, y: 1 / (vm.sigmoid(x) * (1 - vm.sigmoid(x))), _still, -1, 0.3,
        lambda x, y, t: ((1 / (1 + (-x).exp()) + t) / (1 - 1 / (1 + (-x).exp()) - t)).log(),
    ),
    "outside": Known(lambda x, y: y * x, _still, -1, 1, lambda x, y, t: x * (y * t).exp()),
}  # fmt: skip


def flows(name: str, seed: int, count: int, engine: bool) -> Tally:
    """So many random boxes, periods and finenesses of one equation."""
    known, rng, tally = KNOWN[name], Random(seed), Tally()
    for _ in range(count):
        system = System("s")
        x, y = system.real("x", -100, 100), system.real("y", -100, 100)
        period = Fraction(rng.choice((1, 5, 10, 20, 40)), 100)
        other = known.beside(x, y)
        rates = {x: known.rate(x, y)} | ({} if other is None else {y: other})
        flow = system.flow(period, rates)  # type: ignore[arg-type]
        box = {}
        for key, (low, high) in {"x": (known.low, known.high), "y": (-0.5, 1.0)}.items():
            centre = rng.uniform(low, high)
            width = rng.choice((0.0, 1e-12, 1e-4, 0.02, 0.1)) * rng.random()
            grain = 2**40
            box[key] = Fraction(round(centre * grain), grain), Fraction(round(min(centre + width, high) * grain), grain)
        if any(a > b for a, b in box.values()):
            continue
        fine = Fineness(rng.randint(1, 6), known.finer * rng.randint(1, 3), rng.choice((1, 1, 3, 8)), 20)
        try:
            ends = (_by_engine if engine else _by_checker)(flow, box, fine, (flow.least(x), flow.greatest(x)))
        except OutsideError:
            tally.refused += 1
            continue
        if ends is None:
            tally.refused += 1
            continue
        tally.looked += 1
        for corner in range(5):
            share = (
                [Fraction(corner % 2), Fraction(corner // 2 % 2)]
                if corner < 4
                else [Fraction(rng.randint(0, 64), 64)] * 2
            )
            a, b = (rational(low + (high - low) * s) for s, (low, high) in zip(share, box.values(), strict=True))
            values = [known.solution(a, b, rational(period * k / (_TIMES - 1))) for k in range(_TIMES)]
            what = f"{name} by {fine} over {period} from {box} at {corner}"
            tally.point(ends[0][0], values[-1], ends[0][1], f"end: {what}")
            # of the extrema, what is looked at is on one side of them
            tally.point(ends[1][0], min(values, key=_upper), arb("inf"), f"least: {what}")
            tally.point(arb("-inf"), max(values, key=_upper), ends[2][1], f"greatest: {what}")
            if engine:
                least, greatest = (_at(form, box, share) for form in ends[3])
                tally.point(least[0], min(values, key=_upper), arb("inf"), f"least from there: {what}")
                tally.point(arb("-inf"), max(values, key=_upper), greatest[1], f"greatest from there: {what}")
            monotone = name not in ("oscillator", "spinner")
            if monotone:  # of one variable alone: the extrema are at both ends of the period
                first, last = sorted((values[0], values[-1]), key=_upper)
                tally.point(ends[1][0], first, ends[1][1], f"least, both sides: {what}")
                tally.point(ends[2][0], last, ends[2][1], f"greatest, both sides: {what}")
            if corner < 2:
                try:
                    start = {"x": a, "y": b}
                    ring = Balls(120)
                    given = {k: low + (high - low) * s for (k, (low, high)), s in zip(box.items(), share, strict=True)}
                    course = BallCourse(flow.flow, ring, lambda e, given=given, ring=ring: ring.constant(given[e.name]))
                    ball = course.ends["x"]
                    tally.point(rational(ball.low), values[-1], rational(ball.high), f"ball from {start}: {what}")
                except (ModelError, OpenValueError):
                    tally.refused += 1
    return tally


def _upper(x: arb) -> float:
    return float(x.mid())


def _by_engine(flow, box, fine, extrema):  # type: ignore[no-untyped-def]
    ring = FloatForms(1)
    forms = {n: ring.symbol(np.array([float(a)]), np.array([float(b)])) for n, (a, b) in box.items()}
    with np.errstate(all="ignore"):
        course = Course(ring, flow.flow, forms, lambda e: forms[e.name], fine)
        told = [course.extremum(e) for e in extrema]
        found = [course.ends["x"].ends, *(form.ends for form in told)]
    if ring.broken.any() or not np.isfinite(found).all():
        return None
    return [*((arb(float(low[0])), arb(float(high[0]))) for low, high in found), told]


def _at(form, box, share):  # type: ignore[no-untyped-def]
    """Ends of a form from one start; the first symbols are those of the sides of the box that are no points."""
    z = [arb(g) for g in form.z[0].tolist()]
    signs = [2 * rational(s) - 1 for s, (a, b) in zip(share, box.values(), strict=True) if a < b]
    known = z[1 : 1 + len(signs)]
    at = sum((g * s for g, s in zip(known, signs, strict=False)), z[0])
    free = sum((abs(g) for g in z[1 + len(signs) :]), arb(float(form.e[0]))) + sum(map(abs, known), arb(0)) * 1e-12
    return at - free, at + free


def _by_checker(flow, box, fine, extrema):  # type: ignore[no-untyped-def]
    forms, count = {}, 0
    for name, (low, high) in box.items():
        whole = between(int(low * 2**_BITS), int(high * 2**_BITS))
        if whole.e:
            whole = Form(whole.c, (*(0,) * count, whole.e))
            count += 1
        forms[name] = whole
    start = {n: forms[n] for n in flow.flow.names}
    moved = Moved(Forms(_BITS, count), flow.flow, start, lambda e: forms[e.name], extrema, fine)
    found = [moved.ends["x"].range, *(moved.extrema[e] for e in extrema)]
    return [(scaled(low, _BITS), scaled(high, _BITS)) for low, high in found]
