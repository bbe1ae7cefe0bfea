"""Symbols that one unit alone has: products with their weights are those of whole matrices, to the last bit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from venmas.bounds.zonotope import affine
from venmas.checker.flowpipes.forms import Forms
from venmas.checker.flowpipes.networks import Scaled, _joined, _Pass
from venmas.nn import Layer


@pytest.mark.parametrize("scale", [1e-6, 1.0, 300.0, 6e4, 1e7])
def test_products_of_rows_are_exact(scale: float) -> None:
    rng = np.random.default_rng(1)
    layer = Scaled(Layer(scale * rng.normal(size=(5, 7)), rng.normal(size=5)), 40)
    units, top = np.array([0, 3, 6]), 1 << min(50, 26 + layer.shift)
    values = np.array([[top - 1], [1], [int(rng.integers(top))]])
    half = (1 << layer.shift) >> 1
    found = layer.rows_times(units, values, half, layer.shift)
    for row, unit, (value,) in zip(found.tolist(), units, values.tolist(), strict=True):
        assert row == [(value * int(w) + half) >> layer.shift for w in layer._whole[unit]]


@pytest.mark.parametrize("most", [1 << 30, 1 << 49, 1 << 50])
def test_layers_of_the_checker_are_those_of_joined_rows(most: int) -> None:
    rng = np.random.default_rng(2)
    layer = Scaled(Layer(1e-3 * rng.normal(size=(4, 6)), rng.normal(size=4)), 40)
    z, alone = rng.integers(-(1 << 30), 1 << 30, (5, 6)), rng.integers(0, most, 6)
    alone[1], alone[2], radii = 0, most, rng.integers(0, 1 << 20, 6)
    one = _Pass(40, Forms(60, 4))
    found, spread = one._affine(layer, z, radii, alone)
    whole, wide = one._affine(layer, _joined(z, alone), radii, np.zeros(6, dtype=np.int64))
    assert (found == whole).all() and (spread == wide).all()


@pytest.mark.parametrize("single", [False, True])
def test_layers_of_the_search_hold_what_those_of_joined_rows_are(single: bool) -> None:
    rng = np.random.default_rng(3)
    w, b, z, e = rng.normal(size=(4, 6)), rng.normal(size=4), rng.normal(size=(2, 3, 6)), rng.random((2, 6))
    alone = rng.random((2, 6))
    alone[0, 1] = alone[:, 2] = 0.0
    found, error = affine(w, b, 0.0, z, e, single, alone)
    for row in range(2):
        units = [i for i in range(6) if alone[:, i].any()]
        joined = np.concatenate([z[row], [alone[row, i] * np.eye(6)[i] for i in units]])
        for q in range(4):
            for k, form in enumerate(joined):
                exact = sum(Fraction(float(v)) * Fraction(float(x)) for v, x in zip(w[q], form, strict=True))
                exact += Fraction(float(b[q])) if k == 0 else 0
                assert abs(exact - Fraction(float(found[row, k, q]))) <= 1e-12
        whole = sum(np.abs(w) @ e[row]) * (1 - 1e-12)
        assert error[row].sum() >= whole
