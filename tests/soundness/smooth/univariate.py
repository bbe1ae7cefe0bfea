"""Rules of functions of one variable over random boxes, against Arb: values, slopes, ranges, and two lines around them.

The function is compared with its lines at both ends, in the middle, at random points, and next to each end.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
from flint import arb

from tests.soundness.smooth.boxes import float_boxes, integer_boxes
from tests.soundness.smooth.truth import Tally, applied, derivative, scaled
from venmas.bounds.affine import univariate, values
from venmas.checker.flowpipes.univariate import SLOPE_BITS, OutsideError, relaxed
from venmas.model.evaluation.elementary.function import DomainError
from venmas.model.evaluation.elementary.registry import FUNCTIONS
from venmas.model.evaluation.elementary.trigonometry import pi_enclosure

Check = Callable[[int, int], Tally]
"""What a seed and a number of boxes give."""
BITS = (20, 30, 40, 60, 60, 60, 96, 256)
"""Bits of units: of networks (20 to 40) and of certificates (40 to 256)."""
BATCH = 250
"""Boxes of floats at a time."""


def integer_values(name: str) -> Check:
    """Values, slopes and ranges of `venmas.model.evaluation.elementary`, and that what is told to be bent is."""
    f = FUNCTIONS[name]

    def look(seed: int, count: int) -> Tally:
        rng, tally = Random(seed), Tally()
        for bits in BITS:
            for low, high in integer_boxes(name, bits, -(-count // len(BITS)), rng.getrandbits(30)):
                try:
                    pairs = [(f.value(x, bits), applied(name, scaled(x, bits)), x) for x in (low, high)]
                    inside = rng.randint(low, high)
                    over = f.over(low, high, bits)
                    pairs += [(over, applied(name, scaled(x, bits)), x) for x in (low, inside, high)]
                    if name != "sqrt" or low > 0:
                        pairs += [(f.slope(x, bits), derivative(name, scaled(x, bits)), x) for x in (low, high)]
                except DomainError:
                    tally.refused += 1
                    continue
                tally.looked += 1
                far = name in ("sin", "cos") and max(-low, high) >> bits >= 1 << 64  # where nothing is computed
                if not far and any(b - a > 3 for (a, b), _, _ in pairs[:2]):
                    tally.outside.append(f"width: {name} at {low}, {high} of {bits} bits")
                for (a, b), true, x in pairs:
                    tally.point(scaled(a, bits), true, scaled(b, bits), f"{name} at {x} of {bits} bits")
                bent = f.curvature(low, high, bits)
                if bent and high - low > 2:
                    middle = (low + high) >> 1
                    chord = applied(name, scaled(low, bits)) + applied(name, scaled(2 * middle - low, bits))
                    gap = bent * (chord - 2 * applied(name, scaled(middle, bits)))
                    tally.point(arb(0), gap, arb("inf"), f"{name} is not bent over {low}..{high} of {bits} bits")
        return tally

    return look


def pi_ends(seed: int, count: int) -> Tally:
    """The ends of pi, of up to so many bits."""
    tally = Tally()
    for bits in range(seed, min(count, 600)):
        low, high = pi_enclosure(bits)
        tally.looked += 1
        tally.point(scaled(low, bits), arb.pi(), scaled(high, bits), f"pi of {bits} bits")
        if high - low > 2:
            tally.outside.append(f"width: pi of {bits} bits")
    return tally


def integer_lines(name: str) -> Check:
    """`venmas.checker.flowpipes.univariate`."""

    def look(seed: int, count: int) -> Tally:
        rng, tally = Random(seed), Tally()
        for bits in BITS:
            for low, high in integer_boxes(name, bits, -(-count // len(BITS)), rng.getrandbits(30)):
                try:
                    slope, least, most = relaxed(name, low, high, bits)
                except OutsideError:
                    tally.refused += 1
                    if not (low < 0 if name == "sqrt" else name == "reciprocal" and low <= 0 <= high):
                        tally.outside.append(f"{name} is refused over {low}..{high} of {bits} bits")
                    continue
                tally.looked += 1
                a, lo, hi = scaled(slope, SLOPE_BITS), scaled(least, bits), scaled(most, bits)
                for x in {low, high, (low + high) >> 1, rng.randint(low, high), rng.randint(low, high)}:
                    at = scaled(x, bits)
                    tally.point(lo, applied(name, at) - a * at, hi, f"{name} {low}..{high} of {bits} bits at {x}")
        return tally

    return look


def float_lines(name: str) -> Check:
    """`venmas.bounds.affine.univariate`."""

    def look(seed: int, count: int) -> Tally:
        rng, tally = np.random.default_rng(seed), Tally()
        for _ in range(-(-count // BATCH)):
            low, high = float_boxes(name, min(BATCH, count), rng)
            found = univariate.lines(name, low, high)
            wrong = np.zeros(len(low), dtype=bool) if found.wrong is None else found.wrong
            t = 0.5 * low + 0.5 * high
            inside = low + (high - low) * rng.random((2, len(low)))
            beside = np.nextafter(low, high), np.nextafter(high, low)
            points = np.clip(np.stack([low, high, t, *inside, *beside]), low, high)
            for row in range(len(low)):
                if wrong[row]:
                    tally.refused += 1
                    continue
                tally.looked += 1
                a, lo, hi = (arb(float(v[row])) for v in (found.slope, found.lo, found.hi))
                for x in {float(p) for p in points[:, row]}:
                    at = arb(x)
                    what = f"{name} {low[row].hex()}..{high[row].hex()} at {x.hex()}"
                    tally.point(lo, applied(name, at) - a * at, hi, what)
        return tally

    return look


def float_values(name: str) -> Check:
    """`venmas.bounds.affine.values`, with the errors that it states; more points than boxes have."""
    of = "EXP_ERROR" if name == "exp" else "WAVE_ERROR" if name in ("sin", "cos") else "UNIT_ERROR"

    def look(seed: int, count: int) -> Tally:
        rng, tally = np.random.default_rng(seed), Tally()
        most = {"exp": 9.45, "sin": 24.0, "cos": 24.0}.get(name, 12.0)
        x = rng.choice([-1.0, 1.0], count) * np.exp2(rng.uniform(-30, most, count))
        x = np.where(rng.random(count) < 0.5, rng.uniform(-8, 8, count), x)
        if name in ("sin", "cos"):  # the remainder is greatest between two multiples
            near = (rng.integers(-(2**19), 2**19, count) + 0.5) * (np.pi / 2) + rng.normal(size=count) * 1e-3
            x = np.where(rng.random(count) < 0.3, near, x)
            y = values.sin_cos(x)[name == "cos"]
        else:
            y = getattr(values, name)(x)
        error = arb(getattr(values, of))
        for point, value in zip(x.tolist(), y.tolist(), strict=True):
            if np.isnan(value) and abs(point) > values.MOST_ANGLE:
                tally.refused += 1
                continue
            tally.looked += 1
            true = applied(name, arb(point))
            room = error * abs(arb(value)) if name == "exp" else error
            tally.point(arb(value) - room, true, arb(value) + room, f"{name} at {point.hex()}")
        return tally

    return look
