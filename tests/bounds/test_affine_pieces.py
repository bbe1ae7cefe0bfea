"""Networks over pieces of their box: enclosures hold exactly, are never wider than DeepZ's, and decide rough loops."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from experiments.zoo.loops import EVERY
from tests.clock import now
from venmas import verify
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.networks import through
from venmas.bounds.affine.pieces import _halved, in_pieces, suited
from venmas.nn import Layer, Network
from venmas.procedures.covers.procedure import CoverSearch

F = Fraction


def made(rng: np.random.Generator, sizes: list[int], activation: str = "relu", scale: float = 1.0) -> Network:
    last = len(sizes) - 2
    return Network(
        tuple(
            Layer(scale * rng.normal(size=(b, a)), rng.normal(size=b), "linear" if i == last else activation)  # type: ignore[arg-type]
            for i, (a, b) in enumerate(pairwise(sizes))
        )
    )


def forms(rng: np.random.Generator, rows: int, n: int, symbols: int, width: float) -> tuple[Forms, list[Form]]:
    ring = Forms(rows, symbols)
    z = [rng.normal(size=(rows, 1 + symbols)) * width for _ in range(n)]
    for one in z:
        one[:, 0] = rng.normal(size=rows)
    return ring, [Form(one, np.full(rows, 0.1 * width)) for one in z]


@pytest.mark.parametrize("width", [0.0, 1e-14, 1e-9, 0.01, 0.3, 5.0, 1e6])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_values_lie_in_their_forms_exactly(width: float, n: int) -> None:
    """In rationals, without a tolerance: what rounding may do is in the radius."""
    rng = np.random.default_rng([n, int(abs(np.log10(width or 1)) * 10)])
    network = made(rng, [n, 12, 9, 2])
    ring, inputs = forms(rng, 3, n, 4, width)
    outputs = in_pieces(ring, network, inputs, 32)
    for row in range(3):
        for _ in range(12):
            symbols = [F(float(v)) for v in np.sign(rng.normal(size=4)) * rng.choice([1.0, 1.0, 0.37])]
            point = [
                F(f.z[row, 0])
                + sum(F(g) * s for g, s in zip(f.z[row, 1:].tolist(), symbols, strict=True))
                + F(float(f.e[row])) * int(rng.choice([-1, 1]))
                for f in inputs
            ]
            for value, form in zip(network.evaluate_exact(point), outputs, strict=True):
                g = [F(v) for v in form.z[row].tolist()]
                near = g[0] + sum(a * s for a, s in zip(g[1:5], symbols, strict=True))
                assert abs(value - near) <= sum(map(abs, g[5:]), F(float(form.e[row])))


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_smooth_networks_are_enclosed(activation: str) -> None:
    rng = np.random.default_rng(7)
    network = made(rng, [2, 16, 16, 1], activation)
    for width in (1e-3, 0.2, 2.0):
        ring, inputs = forms(rng, 4, 2, 3, width)
        (output,) = in_pieces(ring, network, inputs, 64)
        for row in range(4):
            symbols = rng.uniform(-1, 1, (500, 3))
            symbols[::2] = np.sign(symbols[::2])
            point = np.stack([f.z[row, 0] + symbols @ f.z[row, 1:] for f in inputs], 1)
            rest = network.evaluate(point)[:, 0] - output.z[row, 0] - symbols @ output.z[row, 1:4]
            assert (np.abs(rest) <= np.abs(output.z[row, 4:]).sum() + output.e[row] + 1e-12).all()


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_errors_are_at_most_those_of_deepz_and_mostly_half(activation: str) -> None:
    rng = np.random.default_rng(8)
    ratios = []
    for _ in range(20):
        network = made(rng, [2, 24, 24, 1], activation)
        ring, inputs = forms(rng, 4, 2, 3, 0.5)
        error = [
            np.abs(form.z[:, 4:]).sum(1) + form.e
            for form in (
                through(Forms(4, 3), network, inputs)[0],
                in_pieces(ring, network, inputs, 64)[0],
            )
        ]
        assert (error[1] <= error[0] * (1 + 1e-9)).all()
        ratios += (error[1] / error[0]).tolist()
    assert np.median(ratios) < 0.5


def test_an_affine_network_has_no_error() -> None:
    network = Network((Layer(np.array([[2.0, -1.0]]), np.array([0.5])),))
    ring = Forms(1, 2)
    inputs = [Form(np.array([[0.25, 1.0, 0.0]]), np.zeros(1)), Form(np.array([[1.0, 0.0, 0.5]]), np.zeros(1))]
    (output,) = in_pieces(ring, network, inputs, 16)
    assert np.allclose(output.z[0, :3], [0.0, 2.0, -0.5]) and np.abs(output.z[0, 3:]).sum() + output.e[0] < 1e-12


def test_what_overflows_is_not_bounded() -> None:
    network = made(np.random.default_rng(9), [2, 8, 1], scale=1e200)
    ring = Forms(2, 2)
    inputs = [Form(np.array([[0.0, 1e200, 0.0], [0.0, 1.0, 0.0]]), np.zeros(2)) for _ in range(2)]
    low, high = in_pieces(ring, network, inputs, 16)[0].ends
    assert low[0] == -np.inf and high[0] == np.inf


@pytest.mark.parametrize("sizes", [[1, 2048, 1], [2, 300, 300, 1], [5, 8, 1], [2, 64, 64, 8, 1]])
def test_large_networks_are_left_to_deepz(sizes: list[int]) -> None:
    """They would take time and memory; a small one beside them, which has pieces, changes nothing of that."""
    rng = np.random.default_rng(12)
    network = made(rng, sizes, "tanh")
    assert not suited(network)
    ring, inputs = forms(rng, 8, sizes[0], 3, 0.5)
    begun = now()
    (output,) = in_pieces(ring, network, inputs, 64)
    assert now() - begun < 2
    (other,) = through(Forms(8, 3), network, inputs)
    assert (output.z == other.z).all() and (output.e == other.e).all()


def test_pieces_cover_the_box() -> None:
    rng = np.random.default_rng(10)
    low, high = np.zeros((3, 2)), np.ones((3, 2))
    lo, hi = _halved(low, high, np.array([[1.0, 1.0], [9.0, 1.0], [0.0, 0.0]]), 16)
    assert lo.shape == (3, 16, 2) and ((hi - lo).prod(2).sum(1) == 1).all()
    points = rng.random((200, 2))
    inside = ((lo[:, :, None] <= points) & (points <= hi[:, :, None])).all(3)
    assert inside.any(1).all()


@pytest.mark.slow
def test_a_loop_is_proved_that_deepz_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of units, added up in each step, grow from step to step; that of an affine function does not here."""
    monkeypatch.setattr(CoverSearch, "accepts", lambda *_: "others are tried here")
    report = verify(EVERY["platoon-tanh"].build(), "AG^100 (gap[1] >= -0.91 & gap[1] <= 0.94)", timeout=100, workers=1)
    assert report.satisfied and report.decided_by == "flowpipes"
