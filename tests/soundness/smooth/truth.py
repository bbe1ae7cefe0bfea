"""What is true, by the balls of Arb; and what came of looking."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz

PRECISION = 700
"""Bits of Arb: operands have up to 300, and what is compared differs by a few of the last ones."""
ctx.prec = PRECISION


@dataclass
class Tally:
    """looked: boxes; refused: those that a rule says nothing of, rightly; points: compared; outside: of them, which."""

    looked: int = 0
    refused: int = 0
    points: int = 0
    outside: list[str] = field(default_factory=list)

    def point(self, low: arb, value: arb, high: arb, what: str) -> None:
        """Note a value that has to lie between two bounds."""
        self.points += 1
        if value < low or value > high or value.is_nan():
            self.outside.append(what)


def rational(value: Fraction) -> arb:
    """A rational as a ball."""
    return arb(fmpq(value.numerator, value.denominator))


def scaled(x: int, bits: int) -> arb:
    """``x * 2**-bits``, exactly."""
    return arb((fmpz(x), fmpz(-bits)))


def applied(name: str, x: arb) -> arb:
    """A function of the rules at a point of its domain."""
    match name:
        case "sigmoid":
            return 1 / (1 + (-x).exp())
        case "reciprocal":
            return 1 / x
        case "relu":
            return x if x >= 0 else arb(0)
    found: arb = getattr(x, name)()
    return found


def derivative(name: str, x: arb) -> arb:
    """Its derivative."""
    value = applied(name, x)
    match name:
        case "exp":
            return value
        case "tanh":
            return 1 - value * value
        case "sigmoid":
            return value * (1 - value)
        case "sin":
            return x.cos()
        case "cos":
            return -x.sin()
        case "sqrt":
            return 1 / (2 * value)
    raise ValueError(name)
