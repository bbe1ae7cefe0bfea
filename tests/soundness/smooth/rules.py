"""Every rule of the engine (floats) and of the checker (integers) over random boxes, against Arb.

A rule of forms gives a form; the true value at random symbols, corners among them, is compared with what the form may
be at the same symbols. Rules of values give ends, or an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from random import Random

import numpy as np
from flint import arb

from tests.soundness.smooth.boxes import SYMBOLS, factors, float_boxes, float_form, integer_form
from tests.soundness.smooth.flows import KNOWN, flows
from tests.soundness.smooth.graphs import graphs
from tests.soundness.smooth.narrow import narrow_forms, narrow_networks
from tests.soundness.smooth.nets import networks, queries
from tests.soundness.smooth.truth import Tally, applied, rational, scaled
from tests.soundness.smooth.univariate import (
    BATCH,
    BITS,
    Check,
    float_lines,
    float_values,
    integer_lines,
    integer_values,
    pi_ends,
)
from venmas.bounds.affine.boxes import Boxes
from venmas.bounds.affine.forms import Form as FloatForm
from venmas.bounds.affine.forms import Forms as FloatForms
from venmas.bounds.affine.reduce import reduced
from venmas.checker.flowpipes.forms import Form, Forms, between
from venmas.checker.flowpipes.intervals import Intervals
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.model.evaluation.elementary.registry import FUNCTIONS

LINES = (*FUNCTIONS, "reciprocal", "relu")


def _symbols(rng: Random) -> list[int]:
    """Values of symbols in units of 1/1024; corners and zeros among them."""
    return [rng.choice((-1024, 1024, 0, rng.randint(-1024, 1024))) for _ in range(SYMBOLS)]


def _integer_at(form: Form, symbols: list[int], bits: int) -> tuple[arb, arb]:
    """Centre and radius of what a form may be at values of its symbols; further symbols may be anything."""
    centre = (form.c << 10) + sum(g * s for g, s in zip(form.g, symbols, strict=False))
    return scaled(centre, bits + 10), scaled(form.e + sum(map(abs, form.g[SYMBOLS:])), bits)


def integer_forms(operation: str) -> Check:
    """`venmas.checker.flowpipes.forms`."""

    def look(seed: int, count: int) -> Tally:
        rng, tally = Random(seed), Tally()
        for i in range(count):
            bits = BITS[i % len(BITS)]
            ring, symbols = Forms(bits, SYMBOLS), _symbols(rng)
            forms = [integer_form(rng, bits) for _ in range(2)]
            factor = factors(rng)
            try:
                found = _operated(operation, ring, *forms, factor)
            except OutsideError:
                tally.refused += 1
                continue
            tally.looked += 1
            for share in (-1, 1, Fraction(rng.randint(-8, 8), 8)):
                inner = [c + r * rational(Fraction(share)) for c, r in (_integer_at(f, symbols, bits) for f in forms)]
                share = rng.choice((-1, 1))
                inner[1] = inner[1] if operation != "square" else inner[0]
                centre, radius = _integer_at(found, symbols, bits)
                true = _true(operation, *inner, factor)
                tally.point(centre - radius, true, centre + radius, f"{operation} of {forms} at {symbols}")
        return tally

    return look


def between_ends(seed: int, count: int) -> Tally:
    """Forms of two ends, in integers."""
    rng, tally = Random(seed), Tally()
    for _ in range(count):
        low = rng.getrandbits(rng.randint(1, 60)) * rng.choice((-1, 1))
        high = low + rng.getrandbits(rng.randint(1, 60))
        form = between(low, high)
        tally.looked += 1
        for end in (low, high):
            tally.point(arb(form.range[0]), arb(end), arb(form.range[1]), f"{end} of {low}..{high}")
    return tally


def _operated(operation, ring, left, right, factor):  # type: ignore[no-untyped-def]
    """An operation of a ring of either kind."""
    match operation:
        case "sum":
            return ring.add(left, right)
        case "scale":
            return ring.scale(left, factor)
        case "constant":
            return ring.constant(factor)
        case "combine":
            return ring.combine([(factor, left), (Fraction(1, 3), right)], Fraction(1, 7))
        case "whole combine":
            return ring.combine([(Fraction(_large(factor)), left), (Fraction(-3), right)], Fraction(7))
        case "product":
            return ring.multiply(left, right)
        case "square":
            return ring.multiply(left, left)
        case "dot":
            n, divisor = _small(factor)
            return ring.dot(((n, left, right), (3, left, left)), divisor)
        case "quotient":
            return ring.divide(left, right)
        case "fresh":
            return ring.fresh(left)
    return ring.apply(operation, left)


def _small(factor: Fraction) -> tuple[int, int]:
    """A factor and a divisor such as jets have."""
    return abs(factor.numerator) % 100 + 1, factor.denominator % 100 + 1


def _large(factor: Fraction) -> int:
    """An integer of up to 30 bits."""
    return factor.numerator * (2**20 - 3) % 2**30


def _true(operation: str, x: arb, y: arb, factor: Fraction) -> arb:
    match operation:
        case "sum":
            return x + y
        case "scale":
            return x * rational(factor)
        case "constant":
            return rational(factor)
        case "combine":
            return x * rational(factor) + y / 3 + arb(1) / 7
        case "whole combine":
            return x * _large(factor) - 3 * y + 7
        case "product":
            return x * y
        case "square":
            return x * x
        case "dot":
            n, divisor = _small(factor)
            return (n * x * y + 3 * x * x) / divisor
        case "quotient":
            return x / y
        case "fresh":
            return x
    return applied(operation, x)


def _float_at(form: FloatForm, row: int, symbols: list[int]) -> tuple[arb, arb]:
    z = form.z[row].tolist()
    centre = sum((arb(g) * s for g, s in zip(z[1 : 1 + SYMBOLS], symbols, strict=False)), arb(0))
    free = sum((abs(arb(g)) for g in z[1 + SYMBOLS :]), arb(0))
    return arb(z[0]) + centre * arb((1, -10)), arb(float(form.e[row])) + free


def float_forms(operation: str) -> Check:
    """`venmas.bounds.affine.forms`; the ends of what comes out as well."""

    def look(seed: int, count: int) -> Tally:
        rng, floats, tally = Random(seed), np.random.default_rng(seed), Tally()
        for _ in range(-(-count // BATCH)):
            size = min(BATCH, count)
            ring = FloatForms(size, SYMBOLS)
            whole = rng.random() < (0.8 if operation.startswith("whole") else 0.2)
            forms = [float_form(floats, size, whole) for _ in range(2)]
            factor = factors(rng)
            with np.errstate(all="ignore"):
                found = _operated(operation, ring, *forms, factor)
                low, high = found.ends
            for row in range(size):
                if ring.broken[row] or not np.isfinite([low[row], high[row]]).all():
                    tally.refused += 1
                    continue
                tally.looked += 1
                symbols = _symbols(rng)
                known = [_float_at(f, row, symbols) for f in forms]
                centre, radius = _float_at(found, row, symbols)
                for share in (-1, 1, rng.randint(-8, 8) / 8):
                    inner = [c + r * share for c, r in known]
                    inner[1] = inner[1] if operation != "square" else inner[0]
                    true = _true(operation, *inner, factor)
                    what = f"{operation} of {[f.z[row].tolist() for f in forms]} at {symbols}"
                    tally.point(centre - radius, true, centre + radius, what)
                    tally.point(arb(float(low[row])), true, arb(float(high[row])), f"ends: {what}")
        return tally

    return look


def integer_intervals(operation: str) -> Check:
    """`venmas.checker.flowpipes.intervals`."""

    def look(seed: int, count: int) -> Tally:
        rng, tally = Random(seed), Tally()
        for i in range(count):
            bits = BITS[i % len(BITS)]
            ring, factor = Intervals(bits), Fraction(rng.randint(-50, 50), rng.choice((1, 3, 7, 10)))
            left, right = (integer_form(rng, bits).range for _ in range(2))
            try:
                low, high = _operated(operation, ring, left, right, factor)
            except OutsideError:
                tally.refused += 1
                continue
            tally.looked += 1
            for ends in (left, right, (left[0], right[1]), (left[1], right[0])):
                x = scaled(rng.choice((*left, rng.randint(*left))), bits)
                y = x if operation == "square" else scaled(rng.choice((*right, rng.randint(*right))), bits)
                true = _true(operation, x, y, factor)
                tally.point(scaled(low, bits), true, scaled(high, bits), f"{operation} of {left}, {right}: {ends}")
        return tally

    return look


def float_intervals(operation: str) -> Check:
    """`venmas.bounds.affine.boxes`, at ends and in between."""

    def look(seed: int, count: int) -> Tally:
        rng, floats, tally = Random(seed), np.random.default_rng(seed), Tally()
        for _ in range(-(-count // BATCH)):
            ring, size = Boxes(min(BATCH, count)), min(BATCH, count)
            ends = [float_boxes(operation if side == 0 else "any", size, floats) for side in range(2)]
            factor = factors(rng)
            with np.errstate(all="ignore"):
                low, high = _operated(operation, ring, *(ring.between(*pair) for pair in ends), factor).ends
            for row in range(size):
                if ring.broken[row] or not np.isfinite([low[row], high[row]]).all():
                    tally.refused += 1
                    continue
                tally.looked += 1
                for _ in range(4):
                    shares = (rng.choice((0.0, 1.0, rng.random())) for _ in ends)
                    x, y = (
                        float(np.clip(a[row] + (b[row] - a[row]) * s, a[row], b[row]))
                        for (a, b), s in zip(ends, shares, strict=True)
                    )
                    true, what = _true(operation, arb(x), arb(y), factor), f"{operation} at {x.hex()}, {y.hex()}"
                    tally.point(arb(float(low[row])), true, arb(float(high[row])), what)
        return tally

    return look


def float_reduction(seed: int, count: int) -> Tally:
    """`venmas.bounds.affine.reduce`: every point of the forms is one of those with fewer symbols, sum by sum."""
    rng, floats, tally = Random(seed), np.random.default_rng(seed), Tally()
    for _ in range(-(-count // 20)):
        ring, size = FloatForms(20, 12), 20
        forms = {
            n: FloatForm(floats.normal(size=(size, 13)) * 0.5 ** floats.integers(0, 60, 13), np.zeros(size))
            for n in "xy"
        }
        few, after = reduced(ring, forms, 4, 1)
        factors = {n: rng.choice((-1, 1, 2)) for n in "xy"}
        z = sum(factors[n] * f.z for n, f in forms.items())
        with np.errstate(all="ignore"):
            low, high = few.combine([(Fraction(factors[n]), after[n]) for n in "xy"]).ends
        for row in range(size):
            tally.looked += 1
            signs = (
                [rng.choice((-1, 1)) for _ in range(12)]
                if rng.random() < 0.3
                else np.sign(z[row, 1:]).astype(int).tolist()
            )
            true = arb(0)
            for n, form in forms.items():
                own = form.z[row].tolist()
                true += factors[n] * sum((arb(g) * s for g, s in zip(own[1:], signs, strict=True)), arb(own[0]))
            tally.point(arb(float(low[row])), true, arb(float(high[row])), f"reduction, row {row}")
    return tally


_PLACES = ("checker", "engine")
_BOTH = ("product", "square", "dot", "quotient", "sum", "scale", "constant", "fresh")
_BOXES = ("product", "square", "dot", "quotient", "sum", "scale", "constant")
CHECKS: Mapping[tuple[str, str], Check] = {
    **{(name, "values, integers"): integer_values(name) for name in FUNCTIONS},
    ("pi", "values, integers"): pi_ends,
    **{(name, "values, floats"): float_values(name) for name in ("exp", "tanh", "sigmoid", "sin", "cos")},
    **{(name, "lines, checker"): integer_lines(name) for name in LINES},
    **{(name, "lines, engine"): float_lines(name) for name in LINES},
    **{(name, "forms, checker"): integer_forms(name) for name in (*_BOTH, "relu", *FUNCTIONS)},
    **{(name, "forms, engine"): float_forms(name) for name in (*_BOTH, "combine", "whole combine", "relu", *FUNCTIONS)},
    **{(n, "intervals, checker"): integer_intervals(n) for n in _BOXES},
    **{(name, "boxes, engine"): float_intervals(name) for name in (*_BOXES, *FUNCTIONS)},
    ("between", "forms, checker"): between_ends,
    ("function", "narrow forms, checker"): narrow_forms,
    ("reduction", "forms, engine"): float_reduction,
    ("network", "checker"): partial(networks, engine=False),
    ("network", "narrow, checker"): narrow_networks,
    ("network", "engine"): partial(networks, engine=True),
    ("network", "checker in float32"): partial(networks, engine=False, single=True),
    ("network", "engine in float32"): partial(networks, engine=True, single=True),
    ("network", "queries in float32"): queries,
    **{(name, f"flow, {place}"): partial(flows, name, engine=place == "engine") for name in KNOWN for place in _PLACES},
    ("graph", "all rings"): graphs,
}
"""By rule and place."""
