"""Long rows of coefficients in numpy: to the last bit as by Python's integers, also where 64 bits do not hold them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from venmas import verify
from venmas.checker.flowpipes import rows
from venmas.checker.flowpipes.forms import Form, Forms
from venmas.checker.flowpipes.networks import apply_network
from venmas.model import load_scenario
from venmas.nn import Layer, Network

BITS = (20, 30, 47, 60, 61)
SIZES = (0, 1, 30, 59, 60, 61, 80)
"""Bits of entries; 60 and more are too many for a row."""


def entries(rng: Random, n: int) -> tuple[int, ...]:
    bits = rng.choice(SIZES)
    signs = rng.choice(((1,), (-1,), (-1, 0, 1)))
    ends = (1 << bits) - 1, (1 << bits) - 1 - rng.randint(0, 3), rng.randint(0, 1 << bits)
    return tuple(rng.choice(signs) * rng.choice(ends) for _ in range(n))


def form(rng: Random, n: int) -> Form:
    g = rows.row(np.array(entries(rng, n), dtype=object)) if n else ()
    return Form(rng.choice((-1, 1)) * rng.randint(0, 1 << rng.choice(SIZES)), g, rng.randint(0, 1 << rng.choice(SIZES)))


def plain(given: Form) -> Form:
    """The same with a tuple."""
    return Form(given.c, tuple(given.g), given.e, given.known)


def same(one: Form, other: Form) -> None:
    assert (one.c, tuple(one.g), one.e, one.known) == (other.c, tuple(other.g), other.e, other.known)
    assert one.size == other.size and one.range == other.range
    assert all(type(x) is int for x in (one.c, one.e, one.size, *one.g))


@pytest.mark.parametrize("bits", BITS)
def test_forms_are_those_of_python(bits: int) -> None:
    rng, long = Random(bits), 0
    for _ in range(400):
        left, right = (form(rng, rng.choice((0, 3, 48, 50, 70))) for _ in range(2))
        ring, other = Forms(bits, 80), Forms(bits, 80)
        long += isinstance(left.g, rows.Row) and isinstance(right.g, rows.Row)
        for name in ("add", "multiply", "maximum"):
            same(getattr(ring, name)(left, right), getattr(other, name)(plain(left), plain(right)))
        for factor in (Fraction(-1), Fraction(-4, 3), Fraction(1, 10), Fraction(5), Fraction(1), Fraction(1, 1 << 70)):
            same(ring.scale(left, factor), other.scale(plain(left), factor))
        same(ring.fresh(left), other.fresh(plain(left)))
        same(ring.apply("tanh", left), other.apply("tanh", plain(left)))
        same(ring.multiply(left, left), other.multiply(one := plain(left), one))
    assert long > 20


def test_products_at_the_ends_are_exact() -> None:
    top = (1 << 60) - 1
    for a in (top, -top, 1, -1, 0):
        for b in (top, -top, 1, -1):
            for c in (0, 5 * top, -5 * top, 1 << 79):
                one, two = Form(c, rows.row(np.full(48, a)), 3), Form(-c, rows.row(np.full(50, b)), 1)
                same(Forms(60, 50).multiply(one, two), Forms(60, 50).multiply(plain(one), plain(two)))


def test_networks_take_rows() -> None:
    rng = np.random.default_rng(0)
    layers = (Layer(rng.normal(size=(5, 3)), rng.normal(size=5), "tanh"), Layer(rng.normal(size=(60, 5)), np.zeros(60)))
    for scale in (40, 58):  # the second is too large for the finest unit
        given = [Form(1 << 50, tuple(rng.integers(-(1 << scale), 1 << scale, 50).tolist())) for _ in range(3)]
        one, two = Forms(60, 50), Forms(60, 50)
        long = [Form(f.c, rows.row(np.array(f.g)), f.e) for f in given]
        for a, b in zip(
            apply_network(Network(layers), long, one), apply_network(Network(layers), given, two), strict=True
        ):
            same(a, plain(b))
        assert one.symbols == two.symbols


def test_tables_hold_what_is_too_large() -> None:
    given: list[Sequence[int]] = [rows.row(np.arange(50)), (1 << 70, -3), ()]
    table = rows.table(given, 51)
    assert table.dtype == object and table[1, 0] == 1 << 70 and table[0].tolist() == [*range(50), 0]
    assert rows.table(given[::2], 51).dtype == np.int64
    assert rows.shifted(np.array([1 << 50, -1]), 20) == (1 << 70, -(1 << 20))


def test_a_tube_is_the_same_with_rows_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    system = load_scenario("cart").system(policy="lstm16", x="0.35..0.4", v="0")
    bounds = []
    for long in (1, 10**9):
        monkeypatch.setattr(rows, "LONG", long)
        bounds.append(verify(system, "AG^3 (x <= 0.5)", timeout=60).satisfied)
    assert bounds == [True, True]
