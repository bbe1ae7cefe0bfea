"""Affine forms in integers: they enclose what they are forms of, and three implementations give the same numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np
import pytest

from tests.checker import affine_pass
from tests.checker.affine_pass import Rectified, check_box, forward
from tests.checker.affine_programs import in_integers, points, random_boxes, random_program, random_weights
from tests.slow import some_slow
from venmas.checker.affine.batch import Batch
from venmas.checker.affine.compiled import Compiled
from venmas.checker.affine.definition import ROW_BITS, SLOPE_BITS
from venmas.checker.affine.products import Factor, floor_product, scaled_down
from venmas.checker.affine.scaled import UnscaledError, scaled
from venmas.model.transform.program import INPUTS, OR, Group, Program, ProgramLayer, Row


class AnySlope(Rectified):
    """Slopes that nobody would choose: what is sound for any must not depend on them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def lines(self, low: int, high: int) -> tuple[int, int, int]:
        slope = int(self.rng.integers(0, (1 << SLOPE_BITS) + 1))
        rest = (1 << SLOPE_BITS) - slope
        return slope, 0, 2 * max(-((low * slope) >> (SLOPE_BITS + 1)), -((-high * rest) >> (SLOPE_BITS + 1)))

    def through(self, a: int, low: int, high: int) -> tuple[int, int]:
        kept = int(self.rng.integers(-(2**34), 2**34)) if self.rng.random() < 0.1 else a * int(self.rng.integers(2))
        least = min(0, -kept * low, (a - kept) * high)
        return kept, least >> ROW_BITS


@pytest.mark.parametrize(("seed", "scales"), some_slow([(s, 0 if s < 65 else 12) for s in range(90)], range(0, 90, 3)))
def test_three_implementations_agree_on_1000_boxes(seed: int, scales: int) -> None:
    rng = np.random.default_rng(seed)
    program = in_integers(rng, random_program(rng, [150, 270, 3] if seed % 25 == 3 else None, scales))
    low, high = random_boxes(rng, program, 20)
    weights = [random_weights(rng, program) for _ in low]
    batch, compiled = (
        Batch(program).check(low, high, weights),
        Compiled(program, 1 + seed % 2).check(low, high, weights),
    )
    advised = Batch(program).check(low, high, weights, moving=True)
    for name in ("bounds", "ranged", "closed", "bounded", "refuted"):
        assert (getattr(batch, name) == getattr(compiled, name)).all(), name
        assert (getattr(batch, name) == getattr(advised, name)).all(), name
    for i in range(len(low)):
        found = check_box(program, low[i].tolist(), high[i].tolist(), weights[i])
        bounds = [int(b) if r else None for b, r in zip(batch.bounds[i], batch.ranged[i], strict=True)]
        assert (list(found.bounds), list(found.closed)) == (bounds, batch.closed[i].tolist())
        assert (found.bounded, found.refuted) == (batch.bounded[i], batch.refuted[i])


@pytest.mark.parametrize("first", range(1000, 1040, 10))
@pytest.mark.parametrize(("slopes", "scales"), [("chosen", 0), ("chosen", 12), ("any", 0), ("any", 12)])
def test_forms_and_bounds_enclose_exact_values(
    first: int, slopes: str, scales: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if slopes == "any":
        monkeypatch.setattr(affine_pass, "RECTIFIED", AnySlope(np.random.default_rng(first)))
    assert sum(_enclosed(np.random.default_rng(seed), scales) for seed in range(first, first + 10)) > 20


def _enclosed(rng: np.random.Generator, scales: int) -> int:
    """How many groups of a random program were closed, in boxes where forms and ends enclose exact values."""
    source = random_program(rng, scales=scales)
    program = in_integers(rng, source)
    plain = [replace(layer, relu=np.zeros_like(layer.relu)) for layer in source.layers]
    unit = Fraction(1, 2**program.bits)
    boxes = random_boxes(rng, program, 3, 12)
    closed = 0
    for low, high in zip(*boxes, strict=True):
        weights = random_weights(rng, program)
        verdict = check_box(program, low.tolist(), high.tolist(), weights)
        if not verdict.bounded:
            continue
        closed += sum(verdict.closed)
        trace = forward(program, low.tolist(), high.tolist())
        for x in points(rng, program, low, high, 4):
            after = source.values(x)
            eps = [
                (v / unit - form[0]) / max(1, form[1 + i])
                for i, (v, form) in enumerate(zip(x, trace.values[0].forms, strict=True))
            ]
            for values, found in zip(trace.values[1:], after, strict=False):
                for form, radius, most, v in zip(values.forms, values.radii, values.magnitudes, found, strict=True):
                    known = form[0] + sum(g * e for g, e in zip(form[1:], eps, strict=False))
                    rest = sum(map(abs, form[1 + len(eps) :])) + radius
                    assert abs(v / unit - known) <= rest and abs(v / unit) <= most
            for values, now in zip(trace.values, [x, *after], strict=False):
                assert all(a <= v / unit <= b for (a, b), v in zip(values.intervals, now, strict=True))
            for ends, layer, before in zip(trace.ends, plain, [x, *after], strict=False):
                common = lcm(*(v.denominator for v in before))
                numbers, below = layer.apply([int(v * common) for v in before], common)
                assert all(a <= Fraction(v, below) / unit <= b for (a, b), v in zip(ends, numbers, strict=True))
            for group, scaled_group, bound, shut in zip(
                source.groups, program.groups, verdict.bounds, verdict.closed, strict=True
            ):
                met = all(r.holds(x, () if r.layer == INPUTS else after[r.layer]) for r in group.rows)
                assert not (shut and met), (bound, scaled_group)
        if verdict.refuted:
            assert not any(source.holds(x) for x in points(rng, program, low, high, 4))
    return closed


def test_a_unit_bounds_its_function_for_any_coefficient() -> None:
    rng, unit = np.random.default_rng(5), Rectified()
    for _ in range(3000):
        low, high = (
            -int(rng.integers(1, 2 ** int(rng.integers(1, 50)))),
            int(rng.integers(1, 2 ** int(rng.integers(1, 50)))),
        )
        slope, below, above = unit.lines(low, high)
        a = int(rng.integers(-(2**50), 2**50)) >> int(rng.integers(0, 50))
        kept, gain = unit.through(a, low, high)
        for z in (low, 0, high, low // 2, high // 3):
            y = max(z, 0)
            assert slope * z + (below << SLOPE_BITS) <= y << SLOPE_BITS <= slope * z + (above << SLOPE_BITS)
            assert a * y - kept * z >= gain << ROW_BITS


def test_products_are_exact() -> None:
    rng = np.random.default_rng(7)
    for _ in range(200):
        n, out, shift = int(rng.integers(1, 400)), int(rng.integers(1, 5)), int(rng.integers(0, 41))
        large = int(rng.choice((2, 20, 50)))
        left = rng.integers(-(2**large), 2**large, (3, n))
        right = rng.integers(-(2 ** min(36, 8 + shift)), 2 ** min(36, 8 + shift) + 1, (n, out))
        add = int(rng.integers(0, 2**shift))
        exact = left.astype(object) @ right.astype(object) + add
        expected = exact // 2**shift
        if max(map(abs, expected.ravel().tolist())) < 2**62:
            assert (Factor(right).times(left, add, shift) == expected.astype(np.int64)).all()
        a, b = (rng.integers(-(2**59), 2**59, 50) >> int(rng.integers(0, 50)) for _ in range(2))
        at = int(rng.integers(30, 61))
        product = a.astype(object) * b.astype(object) // 2**at
        fits = np.array([abs(p) < 2**63 for p in product])
        assert (floor_product(a, b, at)[fits] == product[fits].astype(np.int64)).all()
        factor = rng.integers(0, 2**16 + 1, 50)
        assert (scaled_down(a, factor, 77, 17) == ((a.astype(object) * factor.astype(object) + 77) // 2**17)).all()


def _single(weight: float, bias: float, high: int = 1, depth: int = 1) -> Program:
    layer = ProgramLayer(np.array([[weight]]), np.array([bias]), np.array([False]), {})
    row = Row(depth - 1, (Fraction(1),), (Fraction(0),), Fraction(1), False)
    group, zero = Group(depth - 1, (row,)), (Fraction(0),)
    return Program(("x",), zero, (Fraction(high),), {}, (), (layer,) * depth, (group,), (0, OR, 1), (-1,), ({},), ({},))


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (_single(2.0**40, 0.0), "a weight is as large as"),
        (_single(1.0, 2.0**20), "a constant is beyond 8192"),
        (_single(1.0, 0.0, 2**20), "an initial value is beyond 16384"),
    ],
)
def test_numbers_that_have_no_place_are_refused(program: Program, problem: str) -> None:
    with pytest.raises(UnscaledError, match=problem):
        scaled(program, 36)


def test_what_would_wrap_is_not_decided() -> None:
    """Values that grow a thousandfold a layer: every implementation says that it does not know."""
    program = scaled(_single(1000.0, 0.0, depth=9), 36)
    box = np.array([[0]]), np.array([[2**36]])
    for found in (Batch(program).check(*box), Compiled(program).check(*box)):
        assert not found.bounded[0] and not found.refuted[0] and not found.closed.any()
    assert not check_box(program, [0], [2**36], {}).bounded
    small = np.array([[0]]), np.array([[2**6]])
    assert Batch(program).check(*small).refuted[0] == check_box(program, [0], [2**6], {}).refuted


def test_radii_become_symbols_over_hundreds_of_layers() -> None:
    """A rotation of 400 steps: radii alone, pushed through absolute values, grow as sqrt(2)**400."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    exact = {(i, j): Fraction(str(turn[i, j])) for i in range(2) for j in range(2)}
    layer = ProgramLayer(turn, np.zeros(2), np.zeros(2, dtype=bool), exact)
    row = Row(399, (Fraction(-1), Fraction(0)), (Fraction(0),) * 2, Fraction(149, 100), False)  # v <= -1.49, never
    low, high = (Fraction(-1),) * 2, (Fraction(1),) * 2
    source = Program(
        ("x", "y"), low, high, {}, (), (layer,) * 400, (Group(399, (row,)),), (0, OR, 1), (-1,), ({},), ({},)
    )
    program = scaled(source, 36)
    trace = forward(program, program.low, program.high)
    assert trace.size < 1.5 * 2**36 and max(trace.values[-1].radii) < 2**20
    assert check_box(program, program.low, program.high, {}).refuted
