"""Networks over many cells in fixed point: the same integers as the plain rules give, and bounds of exact values."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from tests.checker import plain_fixed as plain
from venmas.checker.fixed_point.lattice import MAX_COORDINATE, Lattice, cover
from venmas.checker.fixed_point.limbs import Factor
from venmas.checker.fixed_point.networks import Fixed, ends, rectified
from venmas.nn import Layer, Network
from venmas.nn.network import relu_network


def _integer(rng: Random, bits: int) -> int:
    return rng.randint(-(2**bits), 2**bits)


@pytest.mark.parametrize("seed", range(60))
def test_products_by_limbs_are_exact(seed):
    rng = Random(seed)
    rows, inner, columns = rng.randint(1, 5), rng.choice((1, 3, 20, 33)), rng.randint(1, 6)
    left = np.array([[_integer(rng, rng.randint(1, 61)) for _ in range(inner)] for _ in range(rows)], dtype=np.int64)
    right = np.array([[_integer(rng, rng.randint(1, 57)) for _ in range(columns)] for _ in range(inner)])
    exact = left.astype(object) @ right.astype(object)
    for shift in (0, 1, 17, 40, 41, 64, 90):
        fits = max(map(abs, exact.ravel().tolist())) < 2 ** (57 + shift)
        try:
            assert (Factor(right).shifted(left, shift).astype(object) == exact >> shift).all()
        except OverflowError:
            assert not fits or float(abs(left).max()) * float(abs(right).sum(0).max()) >= 2.0 ** (60 + shift)


def test_the_largest_limbs_are_exact_in_any_number():
    left = np.full((2, 1000), 2**61 - 1)
    left[1] = -(2**61)
    right = np.full((1000, 1), 2**50 - 1)
    exact = left.astype(object) @ right.astype(object)
    assert (Factor(right).shifted(left, 61).astype(object) == exact >> 61).all()
    with pytest.raises(OverflowError):
        Factor(right).shifted(left, 58)


def _network(rng: Random) -> Network:
    """Small and odd: weights of many sizes, exact in 2^-40 or not, perhaps a division and ReLU at the end."""
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(2, 5))] + [rng.randint(1, 5)]

    def number() -> float:
        kind = rng.random()
        if kind < 0.2:
            return 0.0
        if kind < 0.5:
            return rng.randint(-64, 64) / 16
        return float(np.float32(rng.gauss(0, 1))) if kind < 0.8 else rng.gauss(0, 1) * 10.0 ** rng.randint(-9, 1)

    layers = []
    for a, b in pairwise(sizes):
        kind = "relu" if len(layers) < len(sizes) - 2 or rng.random() < 0.2 else "linear"
        layers.append(
            Layer(np.array([[number() for _ in range(a)] for _ in range(b)]), [number() for _ in range(b)], kind)
        )
    if rng.random() < 0.3:
        layers.insert(0, Layer.dividing([rng.choice((3.0, 0.7, -5.0, 2.0)) for _ in range(sizes[0])]))
    return Network(tuple(layers), "odd")


def _case(seed: int):
    rng = Random(seed)
    network, size = _network(rng), rng.randint(1, 3)
    forms = [
        tuple(Fraction(rng.randint(-50, 50), rng.choice((2**20, 2**25, 7 * 2**20))) for _ in range(size + 1))
        for _ in range(network.input_size)
    ]
    low = [[rng.randint(-(2**20), 2**20) for _ in range(size)] for _ in range(12)]
    high = [[a + rng.choice((0, 1, 1000, 2**18)) for a in row] for row in low]
    outputs = rng.sample(range(network.output_size), rng.randint(1, network.output_size))
    return rng, network, forms, low, high, tuple(outputs)


@pytest.mark.parametrize("seed", range(120))
def test_the_same_integers_as_by_the_plain_rules(seed):
    _, network, forms, low, high, outputs = _case(seed)
    z, e = Lattice(forms, len(low[0])).fixed(np.array(low), np.array(high))
    assert z.shape == (12, len(low[0]) + 1, len(forms)) and e.shape == (12, len(forms))
    fixed = Fixed(network, outputs)
    together, z_, e_ = fixed.winners(z, e), z, e
    for layer in fixed.hidden:
        z_, e_ = layer(z_, e_, z.shape[1])
        if layer.relu:
            z_, e_ = rectified(z_, e_, z.shape[1])
    for box in range(12):
        x = plain.inputs(forms, low[box], high[box])
        assert [(z[box, :, k].tolist(), int(e[box, k])) for k in range(len(forms))] == x
        inner = plain.hidden(network, x)
        assert [(z_[box, :, k].tolist(), int(e_[box, k])) for k in range(len(inner))] == inner
        assert int(together[box]) == plain.winners(network, outputs, x)
        assert int(fixed.winners(z[[box]], e[[box]])[0]) == int(together[box])  # whatever stands beside it


@pytest.mark.parametrize("seed", range(60))
def test_exact_values_lie_in_the_bounds(seed):
    rng, network, forms, low, high, outputs = _case(seed)
    places = np.array(low), np.array(high)
    bits = Fixed(network, outputs).winners(*Lattice(forms, len(low[0])).fixed(*places))
    for box in range(12):
        told = plain.gaps(network, outputs, plain.inputs(forms, low[box], high[box]))
        for _ in range(6):
            y = [
                rng.choice((a, b, a + Fraction(b - a) * rng.randint(0, 8) / 8))
                for a, b in zip(low[box], high[box], strict=True)
            ]
            x = [f[0] + sum(w * v for w, v in zip(f[1:], y, strict=True)) for f in forms]
            values = network.evaluate_exact(x)
            chosen = [values[o] for o in outputs]
            assert int(bits[box]) >> chosen.index(max(chosen)) & 1
            for (a, b), (least, most) in told.items():
                assert least * plain.UNIT <= chosen[a] - chosen[b] <= most * plain.UNIT


def test_numbers_that_are_too_large_are_refused():
    network = relu_network([[[2.0**16]], [[2.0**16]], [[1.0], [0.0]]], [[0.0], [0.0], [0.0, 0.0]])
    z, e = Lattice([(Fraction(1), Fraction(1))], 1).fixed(np.array([[0]]), np.array([[1]]))
    with pytest.raises(OverflowError):
        Fixed(network, (0, 1)).winners(z, e)
    with pytest.raises(OverflowError):
        Fixed(relu_network([[[2.0**30]], [[1.0], [0.0]]], [[0.0], [0.0, 0.0]]), (0, 1))
    with pytest.raises(OverflowError):
        Lattice([(Fraction(2**30), Fraction(1))], 1).fixed(np.array([[0]]), np.array([[1]]))


@pytest.mark.parametrize("seed", range(40))
def test_forms_over_boxes_of_integers(seed):
    rng = Random(seed)
    size, long = rng.randint(1, 3), rng.random() < 0.4
    most = 2 ** rng.choice((3, 30, 50))
    scale = rng.choice((1, 3, 2**40 + 1 if long else 12))
    forms = [tuple(Fraction(_integer(rng, 70 if long else 5), scale) for _ in range(size + 1)) for _ in range(2)]
    low = [[rng.randint(-most, most - 1) for _ in range(size)] for _ in range(5)]
    high = [[rng.randint(a, most) for a in row] for row in low]
    lattice = Lattice(forms, size)
    least, greatest = lattice.ends(np.array(low), np.array(high))
    for box in range(5):
        for k, (c, *weights) in enumerate(forms):
            pairs = list(zip(weights, low[box], high[box], strict=True))
            exact = [c + sum(w * (b if (w > 0) == up else a) for w, a, b in pairs) for up in (False, True)]
            assert [Fraction(int(v[box, k]), int(lattice.scale[k])) for v in (least, greatest)] == exact
    assert max(map(abs, (v for row in (*low, *high) for v in row))) <= MAX_COORDINATE


@pytest.mark.parametrize("seed", range(200))
def test_a_cover_is_one_exactly(seed):
    """Told by all points with coordinates that are multiples of a half."""
    rng = Random(seed)
    size = rng.randint(1, 3)

    def box() -> tuple[list[int], list[int]]:
        low = [rng.randint(0, 3) for _ in range(size)]
        return low, [a + rng.choice((0, 1, 2, 3)) for a in low]

    low, high = box()
    boxes = [box() for _ in range(rng.randint(0, 7))]
    points = [[]]
    for a, b in zip(low, high, strict=True):
        points = [[*p, Fraction(v, 2)] for p in points for v in range(2 * a, 2 * b + 1)]
    held = all(any(all(r <= v <= s for r, v, s in zip(p, x, q, strict=True)) for p, q in boxes) for x in points)
    told = cover(low, high, boxes)
    assert held or not told
    thin = any(a == b for p, q in boxes for a, b in zip(p, q, strict=True))
    assert told == held or thin
    assert low  # boxes are left as they were


def test_ends_of_forms():
    low, high = ends(np.array([[[5], [-3]]]), np.array([[2]]))
    assert (low.tolist(), high.tolist()) == ([[0]], [[10]])
