"""Random intervals of operands, for tests of relaxations: tiny and huge ones, at ends of domains, around turns."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from venmas.model.evaluation.elementary.trigonometry import pi_enclosure


def random_boxes(name: str, bits: int, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Intervals of a function's operand, in units of 2^-bits; most lie in its domain."""
    rng = Random(seed)
    for i in range(count):
        width = rng.getrandbits(rng.randint(1, bits + (6 if i % 10 else 12)))
        centre = rng.choice((0, rng.getrandbits(bits + 2), rng.getrandbits(rng.randint(1, bits + 6))))
        centre *= rng.choice((-1, 1))
        if name in ("sin", "cos") and i % 3 == 0:
            centre = rng.randint(-20, 20) * pi_enclosure(bits)[0] // 2 + rng.randint(-width - 1, width + 1)
        low, high = centre - width, centre + rng.randint(0, width)
        if name == "sqrt" or (name == "reciprocal" and i % 3):
            low, high = sorted((abs(low), abs(high)))
            low = 0 if name == "sqrt" and i % 20 == 0 else low + 1
            high = max(low, high)
        if name == "exp":
            low, high = (min(max(end, -(1 << (bits + 5))), 1 << (bits + 5)) for end in (low, high))
        yield low, high
