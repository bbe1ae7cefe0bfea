"""Affine forms of batches of sets against Arb: every operation holds what it should, for the same symbols."""

from __future__ import annotations

from tests.needs import needs

needs("flint")

from fractions import Fraction
from functools import partial
from random import Random

import numpy as np
import pytest
from flint import arb, ctx

from tests.checker.test_tubes_arithmetic import applied, as_arb, exact, random_network
from tests.operands import random_boxes
from tests.slow import some_slow
from venmas.checker.covers.batch.forms import Form, Forms, between, multiples, not_negative, together
from venmas.checker.covers.batch.networks import apply_network
from venmas.checker.covers.batch.reduce import reduced
from venmas.checker.flowpipes.curves import BeyondError, lines, steepness
from venmas.checker.flowpipes.series import SERIES
from venmas.checker.flowpipes.univariate import SLOPE_BITS
from venmas.model.evaluation.elementary.registry import FUNCTIONS
from venmas.nn import Layer, Network

SIZE, SYMBOLS, UNITS = 6, 5, (48, 40, 32)


def random_batch(rng: Random, bits: int, largest: int = 3) -> Form:
    """Forms of one magnitude, or of a few units, so that roundings count; some of them are points."""
    count, most = rng.randint(0, SYMBOLS), 9
    if rng.random() < 0.7:
        most = 1 << min(max(bits + rng.randint(-bits, largest), 3), 51)
    z = np.array([[rng.randint(-most, most) for _ in range(1 + count)] for _ in range(SIZE)], dtype=np.int64)
    if rng.random() < 0.3:
        z[:, 0] *= 1 << 3
    e = np.array([rng.choice((0, 0, 1, rng.randint(0, most))) for _ in range(SIZE)], dtype=np.int64)
    form = Form(z, e, 1 << 61)
    if rng.random() < 0.3:  # what is known of it says no less
        off = np.array([rng.randint(0, 3) for _ in range(SIZE)])
        return Form(z, e, 1 << 61, (form.ends[0] - off, form.ends[1] + off))
    return form


def random_symbols(rng: Random, count: int = SYMBOLS) -> list[list[Fraction]]:
    return [[Fraction(rng.choice((-1, 1, rng.uniform(-1, 1)))) for _ in range(count)] for _ in range(SIZE)]


def centre(form: Form, row: int, symbols: list[Fraction]) -> Fraction:
    """The value at symbols, in units, without the radius."""
    c, *g = form.z[row].tolist()
    return Fraction(c + sum(a * s for a, s in zip(g, symbols, strict=False)))


def points(form: Form, symbols: list[list[Fraction]], rng: Random, bits: int) -> list[Fraction]:
    """A value of each set at these symbols."""
    rests = [int(e) * Fraction(rng.choice((-1, 0, 1, rng.uniform(-1, 1)))) for e in form.e]
    return [
        (centre(form, row, at) + rest) / (1 << bits) for row, (at, rest) in enumerate(zip(symbols, rests, strict=True))
    ]


def holds(form: Form, symbols: list[list[Fraction]], values: list[arb], bits: int) -> bool:
    """May each set have its value at these symbols? So it is among all values, and what is promised of a form so."""
    size = np.abs(form.z).astype(object).sum(1) + form.e.astype(object)
    assert form.e.min() >= 0 and max(size) <= form.bound < 1 << 58
    assert form.known is None or max(int(np.abs(end).max()) for end in form.known) <= form.bound
    for row, (at, value) in enumerate(zip(symbols, values, strict=True)):
        middle, e = centre(form, row, at), int(form.e[row])
        for low, high in (
            (middle - e, middle + e),
            (Fraction(int(form.ends[0][row])), Fraction(int(form.ends[1][row]))),
        ):
            if value < as_arb(low / (1 << bits)) or value > as_arb(high / (1 << bits)):
                return False
    return True


@pytest.mark.parametrize("name", [*FUNCTIONS, "reciprocal", "relu"])
@pytest.mark.parametrize("bits", some_slow([20, *UNITS], [0, 1]))
def test_lines_hold_the_function(name: str, bits: int) -> None:
    """Over random intervals, tiny and huge ones, next to 0 and to turns: no point outside of both lines."""
    ctx.prec = 400
    rng, looked = Random(7), 0
    for low, high in random_boxes(name, bits, 300, seed=8):
        try:
            slope, least, most = lines(name, np.array([low, low]), np.array([high, low]), bits)
        except BeyondError:
            assert name in ("reciprocal", "sqrt", "exp")
            continue
        looked += 1
        for x in (low, high, (low + high) // 2, *(rng.randint(low, high) for _ in range(3))):
            row, at = int(x == low and rng.random() < 0.5), as_arb(Fraction(x, 1 << bits))
            rest = applied(name, at) - at * int(slope[row]) / (1 << SLOPE_BITS)
            ends = (as_arb(Fraction(int(end[row]), 1 << bits)) for end in (least, most))
            assert not rest < next(ends) and not rest > next(ends)
    assert looked > 150


@pytest.mark.parametrize("name", SERIES)
def test_values_and_derivatives_are_close(name: str) -> None:
    ctx.prec = 200
    rng, one = Random(5), 1 << 48
    points = [rng.randint(-(1 << 53), 1 << 53) for _ in range(300)] + [k << 41 for k in range(-40, 40)]
    points += [40 * one, -40 * one] if name in ("sin", "cos") else [44 * one, -50 * one, 40 * one + 1, 1 << 58]
    x = np.array(points)
    (low, high), (least, most) = SERIES[name].value(x, 48), SERIES[name].slope(x, 48)
    for at, a, b, c, d in zip(points, low.tolist(), high.tolist(), least.tolist(), most.tolist(), strict=True):
        value = applied(name, as_arb(Fraction(at, one)))
        slopes = {"tanh": 1 - value * value, "sigmoid": value * (1 - value)}
        slopes |= {"sin": as_arb(Fraction(at, one)).cos(), "cos": -as_arb(Fraction(at, one)).sin()}
        for exactly, first, last in ((value, a, b), (slopes[name], c, d)):
            assert not exactly < as_arb(Fraction(first, one)) and not exactly > as_arb(Fraction(last, one))
        assert b - a <= 4 and d - c <= 20
    if name in ("tanh", "sigmoid"):
        least, most = steepness(name, (low, high), 48)
        for at, c, d in zip(points, least.tolist(), most.tolist(), strict=True):
            value = applied(name, as_arb(Fraction(at, one)))
            slope = 1 - value * value if name == "tanh" else value * (1 - value)
            assert not slope < as_arb(Fraction(c, one)) and not slope > as_arb(Fraction(d, one))
            assert d - c <= 20


def test_multiples_are_floored() -> None:
    rng = Random(3)
    for _ in range(3000):
        x = np.array([rng.choice((-1, 1)) * rng.getrandbits(rng.randint(1, 55)) for _ in range(4)])
        bound = int(np.abs(x).sum())
        factor = Fraction(rng.getrandbits(rng.randint(1, 90)), 1 + rng.getrandbits(rng.randint(1, 90))) * rng.choice(
            (-1, 1)
        )
        factor = factor if rng.random() < 0.8 else Fraction(rng.randint(-9, 9), rng.choice((1, 4, 10)))
        try:
            made, rounded, more = multiples(x, factor, bound)
        except BeyondError:
            assert bound * abs(factor) > 1 << 59
            continue
        flags = np.broadcast_to(np.asarray(rounded), x.shape).tolist()
        off = [a * factor - b for a, b in zip(x.tolist(), made.tolist(), strict=True)]
        assert sum(max(abs(rest) - flag, 0) for rest, flag in zip(off, flags, strict=True)) <= more
        assert all(abs(rest) <= flag + more for rest, flag in zip(off, flags, strict=True))


@pytest.mark.parametrize("bits", some_slow(UNITS, [0]))
def test_operations_hold_for_the_same_symbols(bits: int) -> None:
    """Also at corners, where squares of symbols are 1: no value outside of centre, coefficients and radius."""
    ctx.prec = 400
    rng, beyond, looked = Random(9), 0, 0
    for _ in range(600):
        ring, symbols = Forms(SIZE, bits, SYMBOLS), random_symbols(rng)
        largest = rng.choice((2, 2, 10, 20))
        a, b, c = (random_batch(rng, bits, largest) for _ in range(3))
        x, y, z = (points(form, symbols, rng, bits) for form in (a, b, c))
        factors = [
            rng.choice((Fraction(rng.randint(-50, 50), rng.choice((1, 3, 8, 10))), Fraction(rng.uniform(-9, 9))))
            for _ in range(4)
        ]
        p, q, r, constant = factors
        terms = [(p, a), (q, b), (r, c)][: rng.randint(0, 3)]
        sums = [
            sum((f * v for f, v in zip(factors, row, strict=False)), constant)
            for row in zip(*(x, y, z)[: len(terms)], strict=True)
        ]
        operations = [
            (partial(ring.combine, terms, constant), sums or [constant] * SIZE),
            (partial(ring.combine, [(p, a)]), [p * v for v in x]),
            (partial(ring.difference, a, b), [v - w for v, w in zip(x, y, strict=True)]),
            (partial(ring.multiply, a, b), [v * w for v, w in zip(x, y, strict=True)]),
            (partial(ring.multiply, a, a), [v * v for v in x]),
            (partial(ring.maximum, a, b), [max(v, w) for v, w in zip(x, y, strict=True)]),
            (partial(ring.chosen, np.arange(SIZE) % 2, [a, b]), [(x, y)[i % 2][i] for i in range(SIZE)]),
            (partial(ring.enclosing, *sorted((p, q))), [min(p, q) + abs(p - q) * Fraction(rng.random())] * SIZE),
        ]
        for made, values in operations:
            try:
                form = made()
            except BeyondError:
                beyond += 1
                continue
            looked += 1
            assert holds(form, symbols, [as_arb(v) for v in values], bits)
        for name in (*FUNCTIONS, "reciprocal", "relu"):
            try:
                form = ring.apply(name, a)
            except BeyondError:
                continue
            assert holds(form, symbols, [applied(name, as_arb(v)) for v in x], bits)
    assert 0 < beyond < looked / 4


def test_what_is_known_of_multiples_is_rounded_outward() -> None:
    """Of points, by factors that are too long for 64 bits, which are rounded down."""
    rng, ring, long = Random(37), Forms(SIZE, 48, 0), 0
    for _ in range(2000):
        c = np.array([rng.choice((-1, 1)) * rng.getrandbits(rng.randint(50, 57)) for _ in range(SIZE)])
        factor = Fraction(rng.getrandbits(80), rng.choice((-1, 1)) * 3**51)
        form = ring.scale(between(c, c), factor)
        long += isinstance(multiples(c, factor, form.bound)[1], bool)
        for at, low, high in zip(c.tolist(), *(end.tolist() for end in form.ends), strict=True):
            assert low <= at * factor <= high
    assert long > 1000


def test_what_may_be_too_large_is_refused_and_never_wraps() -> None:
    """Values next to the limit, where 64 bits would not hold sums and products."""
    ring, top = Forms(1, 40, 1), (1 << 58) - 2
    form = Form(np.array([[top - 5, 3]]), np.array([2]), top)
    for made in (
        lambda: ring.combine([(Fraction(1), form), (Fraction(1), form)]),
        lambda: ring.combine([(Fraction(3, 2), form)]),
        lambda: ring.combine([(Fraction(1 << 70), form)]),
        lambda: ring.combine([(Fraction(1), form)] * 40),
        lambda: ring.combine([(Fraction(-5), form)] * 300),
        lambda: ring.combine([(Fraction(1, 3), form)] * 70),
        lambda: ring.multiply(form, form),
        lambda: ring.apply("exp", form),
        lambda: ring.constant(Fraction(1 << 18)),
        lambda: ring.enclosing(Fraction(-(1 << 18)), Fraction(0)),
        lambda: Form(form.z, form.e, 1 << 62),
        lambda: Form(form.z * 2, form.e, 1 << 60),
    ):
        with pytest.raises(BeyondError):
            made()
    third = ring.combine([(Fraction(1, 3), form)])
    assert 3 * int(third.ends[0][0]) <= top - 10 < 3 * int(third.ends[0][0]) + 12
    zero = ring.combine([(Fraction(1), form), (Fraction(-1), form)])
    assert not zero.z.any() and zero.e[0] == 4
    assert ring.combine([(Fraction(1), zero)] * 9).size[0] == 36, "its bound is not what it was made of"


@pytest.mark.parametrize("bits", some_slow(UNITS, [0]))
def test_what_is_left_where_a_guard_holds(bits: int) -> None:
    """Points at which a form is not negative are in the forms that are left, by what these say of both together."""
    rng, met, smaller = Random(19), 0, 0
    for _ in range(150):
        guard, x, y = (random_batch(rng, bits) for _ in range(3))
        made = not_negative({"x": x, "y": y}, guard)
        smaller += int((made["x"].size < 0.9 * x.size).sum())
        for _ in range(20):
            symbols = random_symbols(rng)
            guards = points(guard, symbols, rng, bits)
            at = [[v * (1 << bits) for v in points(form, symbols, rng, bits)] for form in (x, y)]
            for row in range(SIZE):
                if guards[row] < 0:
                    continue
                met += 1
                left = [made[name].wide(SYMBOLS)[row].tolist() for name in "xy"]
                radii = [int(made[name].e[row]) for name in "xy"]
                for a, b in ((1, 0), (0, 1), (1, 1), (1, -1), (3, -2)):
                    c, *g = (a * p + b * q for p, q in zip(*left, strict=True))
                    room = sum(map(abs, g)) + abs(a) * radii[0] + abs(b) * radii[1]
                    assert abs(a * at[0][row] + b * at[1][row] - c) <= room
    assert met > 3000 and smaller > 10


def test_the_edge_of_a_guard_is_left() -> None:
    """Where all other symbols do their most, one is just where the guard is 0."""
    rng, met, one = Random(31), 0, 1 << 50
    for _ in range(400):
        guard = random_batch(rng, 40)
        count = guard.z.shape[1] - 1
        if not count:
            continue
        i = rng.randrange(count)
        z = np.zeros((SIZE, 1 + count), dtype=np.int64)
        z[:, 1 + i] = one
        left = not_negative({"s": Form(z, np.zeros(SIZE, dtype=np.int64), one)}, guard)["s"]
        for row, (c, *g) in enumerate(guard.z.tolist()):
            if not g[i]:
                continue
            most = c + sum(map(abs, g)) - abs(g[i]) + int(guard.e[row])
            edge = Fraction(-most, g[i])
            if abs(edge) < 1 and guard.known is None:
                met += 1
                low, high = (int(end[row]) for end in left.ends)
                assert low <= edge * one <= high
    assert met > 100


def test_symbols_that_are_dropped_leave_no_value_out() -> None:
    """In no direction does a set of three forms become less, nor much more."""
    rng = Random(23)
    for _ in range(200):
        count = rng.randint(1, 40)
        floats = np.random.default_rng(rng.getrandbits(30))
        forms = {
            name: Form(floats.integers(-99, 100, (SIZE, 1 + count)), floats.integers(0, 99, SIZE), 1 << 20)
            for name in "xyz"
        }
        for form in forms.values():  # some sets have few symbols, and keep them
            form.z[: SIZE // 2, 4:] = 0
        made, symbols = reduced(forms, Forms(SIZE, 48, count), most := rng.randint(1, 20))
        assert symbols <= most + 2 * 3 and all(not form.e.any() for form in made.values())
        for weights in ((1, 0, 0), (1, 1, 0), (1, -1, 2), (-3, 1, 1)):
            before, after = (
                sum(w * part.wide(48 + 3) for w, part in zip(weights, kind.values(), strict=True))
                for kind in (forms, made)
            )
            radii = sum(abs(w) * form.e for w, form in zip(weights, forms.values(), strict=True))
            sizes = [np.abs(part[:, 1:]).sum(1) for part in (before, after)]
            assert (after[:, 0] == before[:, 0]).all() and (sizes[1] >= sizes[0] + radii).all()
            if sum(map(abs, weights)) == 1:
                assert (sizes[1] == sizes[0] + radii).all()


def test_batches_that_are_joined_are_the_same() -> None:
    rng = Random(29)
    for _ in range(50):
        parts = [random_batch(rng, 40) for _ in range(3)]
        whole, again = together(parts), together([parts[0]])
        for k, part in enumerate(parts):
            here = whole.rows(np.arange(k * SIZE, (k + 1) * SIZE))
            assert (here.wide(SYMBOLS) == part.wide(SYMBOLS)).all() and (here.e == part.e).all()
            assert all((a == b).all() for a, b in zip(here.ends, part.ends, strict=True))
        assert (again.z == parts[0].z).all()


@pytest.mark.parametrize("bits", UNITS)
def test_networks_hold_for_the_same_symbols(bits: int) -> None:
    """Up to the symbols that are theirs."""
    ctx.prec = 300
    rng, looked = Random(10), 0
    for _ in range(60):
        network = random_network(rng)
        symbols = random_symbols(rng)
        inputs = [random_batch(rng, bits) for _ in range(network.layers[0].in_size)]
        ring = Forms(SIZE, bits, SYMBOLS)
        try:
            outputs = apply_network(network, inputs, ring, False)
        except BeyondError:
            continue
        looked += 1
        values = [
            exact(network, [as_arb(v) for v in row])
            for row in zip(*(points(f, symbols, rng, bits) for f in inputs), strict=True)
        ]
        for i, form in enumerate(outputs):
            own = Form(
                form.wide(ring.symbols)[:, : 1 + SYMBOLS], form.e + np.abs(form.z[:, 1 + SYMBOLS :]).sum(1), 1 << 61
            )
            assert holds(own, symbols, [row[i] for row in values], bits)
    assert looked > 40


def test_outputs_of_networks_share_symbols() -> None:
    """The difference of two outputs that are the same is small, by the symbols of units that are between two lines."""
    floats = np.random.default_rng(2)
    first = floats.normal(size=(6, 2))
    network = Network((Layer(first, np.zeros(6), "relu"), Layer(np.ones((2, 6)), np.zeros(2))))
    ring = Forms(3, 40, 2)
    one = 1 << 40
    inputs = [
        Form(np.array([[k, one * (i == 0), one * (i == 1)] for k in (0, 5, -9)]), np.zeros(3, dtype=np.int64), 1 << 45)
        for i in (0, 1)
    ]
    left, right = apply_network(network, inputs, ring, False)
    assert (left.size > one).all() and (ring.difference(left, right).size < 1000).all()


def test_curves_in_float32_may_be_off() -> None:
    """By 2^-20 each, as docs/semantics.md says: of a point, too."""
    for activation in ("tanh", "sigmoid"):
        network = Network((Layer([[1.0], [1.0]], [0.0, 0.0], activation), Layer([[1.0, -1.0]], [0.0])))
        zero = between(*(np.zeros(2, dtype=np.int64),) * 2)
        (form,) = apply_network(network, [zero], Forms(2, 40, 0), True)
        assert (form.size >= 2 << 20).all() and (form.size <= 3 << 20).all()


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_networks_in_float32_are_enclosed(activation: str) -> None:
    """What numpy's float32 makes of points, in any order of summation, is in the forms; real numbers would not be."""
    floats = np.random.default_rng(4)
    outside = 0
    for _ in range(40):
        layers = [Layer(floats.normal(size=(7, 3)).astype(np.float32).astype(float), floats.normal(size=7), activation)]
        layers.append(Layer(floats.normal(size=(1, 7)).astype(np.float32).astype(float), np.zeros(1)))
        network = Network(tuple(layers))
        at = floats.normal(size=(SIZE, 3)).astype(np.float32)
        inputs = [between(*(np.array([int(Fraction(float(v)) * (1 << 40)) for v in column]),) * 2) for column in at.T]
        ends = [apply_network(network, inputs, Forms(SIZE, 40, 0), single)[0].ends for single in (True, False)]
        values = at
        for layer in layers:
            order = floats.permutation(values.shape[1])
            total = layer.bias.astype(np.float32) + np.zeros((SIZE, 1), dtype=np.float32)
            for k in order:
                total = total + values[:, k : k + 1] * layer.weight[:, k].astype(np.float32)
            if layer.activation == "relu":
                total = np.maximum(total, 0)
            elif layer.activation != "linear":
                total = (np.tanh(total) if activation == "tanh" else 1 / (1 + np.exp(-total))).astype(np.float32)
            values = total
        found = np.array([int(Fraction(float(v)) * (1 << 40)) for v in values[:, 0]])
        assert (ends[0][0] <= found).all() and (found <= ends[0][1]).all()
        outside += int(((found < ends[1][0] - 1) | (found > ends[1][1] + 1)).sum())
    assert outside > 20
