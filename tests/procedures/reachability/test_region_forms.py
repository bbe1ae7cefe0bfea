"""Forms of the reachability graph contain exact values, and any float32 evaluation where that is asked."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from venmas.bounds.zonotope import Evaluator, affine, pairs
from venmas.bounds.zonotope_stacked import gaps, stack
from venmas.engine.verify import verify
from venmas.model import System, apply_network, argmax
from venmas.model.evaluation.simulate import Exact
from venmas.nn import Layer, Network, relu_network
from venmas.procedures.hybrid.frames import Frame
from venmas.testing import TWISTS, adversarial_networks, expressions, networks

NAMES = ("x", "y")
MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def placed(draw):
    """Boxes (B, 2) of a frame, and for each of them some exact places, its corners among them."""
    unit = draw(st.sampled_from((1, 4, 2**20, 3 * 2**30)))
    low, high, places = [], [], []
    for _ in range(draw(st.integers(1, 3))):
        at = [draw(st.integers(-4 * unit, 4 * unit)) for _ in NAMES]
        width = [draw(st.sampled_from((0, 1, unit, unit // 2, 3 * unit))) for _ in NAMES]
        low.append(at)
        high.append([a + w for a, w in zip(at, width, strict=True)])
        parts = st.sampled_from((Fraction(0), Fraction(1))) | st.fractions(0, 1)
        places.append([[a + draw(parts) * w for a, w in zip(at, width, strict=True)] for _ in range(4)])
    return unit, np.array(low), np.array(high), places


def evaluator(frame, low, high, single=False):
    roots = np.flatnonzero((high > low).any(0))
    return Evaluator(frame.forms(NAMES, low, high, roots), len(low), len(roots), single), roots


def inside(form, row, roots, low, high, place, value):
    """Is an exact value in a form, at the roots of an exact place? Forms that overflowed say nothing."""
    lo, hi = form.range()
    assert not np.isnan(lo).any() and not np.isnan(hi).any()
    if not (lo[row] == -np.inf or Fraction(lo[row]) <= value) or not (hi[row] == np.inf or value <= Fraction(hi[row])):
        return False
    if not np.isfinite(form.z[row]).all() or not np.isfinite(form.e[row]):
        return lo[row] == -np.inf and hi[row] == np.inf
    centre = Fraction(form.z[row, 0])
    for column, i in enumerate(roots, 1):
        a, b = int(low[row, i]), int(high[row, i])
        if b > a:
            centre += Fraction(form.z[row, column]) * (2 * place[i] - a - b) / (b - a)
    return abs(value - centre) <= Fraction(form.e[row])


def two(system_net):
    system = System("forms")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    return x, y, apply_network(system_net, (x, y))


@MANY
@given(adversarial_networks(2, 3, most=3) | networks(), placed())
def test_networks_and_their_winners(net, box):
    unit, low, high, places = box
    x, y, outputs = two(net)
    scores = [*outputs, outputs[1]]  # the last one never wins
    with np.errstate(all="ignore"):
        found, roots = evaluator(Frame.identity(2, unit), low, high)
        forms = [found.value(o) for o in outputs]
        winners = [found.winners(argmax(scores)), found.winners(argmax([x, y, outputs[0], x]))]
        difference = outputs[0] - outputs[1] + x / 3
        gap = found.value(difference)
    for row, points in enumerate(places):
        for place in points:
            state = {n: p / unit for n, p in zip(NAMES, place, strict=True)}
            exact = Exact(state)
            values = [exact.value(o) for o in outputs]
            for form, value in zip([*forms, gap], [*values, exact.value(difference)], strict=True):
                assert inside(form, row, roots, low, high, place, value)
            for able, of in zip(winners, ([*values, values[1]], [*state.values(), values[0], state["x"]]), strict=True):
                assert able[row, of.index(max(of))]
            assert not winners[0][row, 3] or winners[0][row, 1] or not np.isfinite(forms[1].range()[0][row])


@MANY
@given(st.data(), placed())
def test_expressions(data, box):
    unit, low, high, places = box
    system = System("forms")
    x, y, m = system.real("x", -9, 9), system.real("y", -9, 9), system.integer("m", 0, 2)
    expr = data.draw(expressions((x, y), m * 0, 2, (data.draw(networks()),)))
    with np.errstate(all="ignore"):
        found, roots = evaluator(Frame.identity(2, unit), low, high)
        form = found.value(expr)
    for row, points in enumerate(places):
        for place in points:
            exact = Exact({n: p / unit for n, p in zip(NAMES, place, strict=True)})
            assert inside(form, row, roots, low, high, place, exact.value(expr))


def rounded(rng, layers, x):
    """One float32 evaluation: every sum in an order of its own, the bias anywhere, fused or not."""
    for layer in layers:
        new = []
        for row, bias in zip(layer.weight.astype(np.float32), layer.bias.astype(np.float32), strict=True):
            terms = [*zip(row, x, strict=True), (bias, np.float32(1))]
            rng.shuffle(terms) if rng.random() < 0.5 else terms.reverse()
            fused, total = rng.random() < 0.3, np.float32(0)
            for w, v in terms:
                total = np.float32(float(w) * float(v) + float(total)) if fused else np.float32(total + w * v)
            new.append(total)
        x = np.array(new, dtype=np.float32)
        if layer.activation == "relu":
            x = np.maximum(x, np.float32(0))
    return x


@MANY
@given(adversarial_networks(2, 3, tuple(k for k in TWISTS if k != "divided")), placed(), st.integers(0, 99))
def test_float32(net, box, seed):
    unit, low, high, places = box
    rng = Random(seed)
    _, _, outputs = two(net)
    with np.errstate(all="ignore"):
        found, _ = evaluator(Frame.identity(2, unit), low, high, True)
        ranges = [found.value(o).range() for o in outputs]
        able = found.winners(argmax(outputs))
        for row, points in enumerate(places):
            for place in points:
                x = np.array([np.float32(float(p / unit)) for p in place])
                values = rounded(rng, net.layers, x)
                for (lo, hi), value in zip(ranges, values, strict=True):
                    assert (lo[row] == -np.inf and hi[row] == np.inf) or lo[row] <= value <= hi[row]
                if np.isfinite(values).all():
                    assert able[row, int(np.argmax(values))]


def one_layer(weight, bias, low, high):
    """Range of a single sum in float32 over inputs that are points or intervals."""
    z = np.array([[(np.asarray(low) + high) / 2, (np.asarray(high) - low) / 2]])
    new, error = affine(np.array([weight]), np.array([bias]), 0.0, z, np.zeros((1, len(weight))), True)
    radius = np.abs(new[0, 1:, 0]).sum() + error[0, 0]
    return new[0, 0, 0] - radius, new[0, 0, 0] + radius


def test_float32_may_add_the_bias_first():
    """1 + 1000 terms of 2^-25, one by one, is 1."""
    lo, _ = one_layer([2.0**-25] * 1000, 1.0, [1.0] * 1000, [1.0] * 1000)
    assert lo <= 1.0


@pytest.mark.parametrize(("weight", "value"), [(1e-39, 2e38), (1e39, 1e-30)])
def test_float32_may_overflow_in_inputs_and_weights(weight, value):
    assert one_layer([weight], 0.0, [value], [value]) == (-np.inf, np.inf)


@pytest.mark.parametrize("real", [False, True])
def test_networks_of_known_integers_are_float32_too(real):
    """1 + 2^-30 beats 1, but in float32 it is 1."""
    net = relu_network([[[2.0**-30], [0.0]], [[0.0, 1.0], [1.0, 1.0]]], [[0.0, 1.0], [0.0, 0.0]])
    system = System("near")
    m, k = system.integer("m", 1, 1), system.integer("k", 0, 1)
    if real:
        system.real("x", 0, 0)
    system.branch("step", k=argmax(apply_network(net, [m])))
    system.initial(k == 0)
    assert verify(system, "AX k == 1", mode="adaptive").satisfied
    assert not verify(system, "AX k == 1", mode="adaptive", semantics="float32", timeout=5).satisfied


def test_numbers_that_overflow_say_nothing():
    net = relu_network([[[1e200, -1e200]], [[1e200], [-1e200]]], [[0.0], [0.0, 1.0]])
    _, _, outputs = two(net)
    with np.errstate(all="ignore"):
        found, _ = evaluator(Frame.identity(2, 1), np.array([[-1, -1]]), np.array([[1, 1]]))
        for output in outputs:
            lo, hi = found.value(output).range()
            assert (lo[0], hi[0]) == (-np.inf, np.inf)
        assert found.winners(argmax(outputs)).all()


@MANY
@given(st.data(), st.integers(0, 10**6))
def test_stacked_sweeps(data, seed):
    """Networks in one sweep against exact differences of outputs."""
    nets = tuple(data.draw(networks((2, 4, 3, 3))) for _ in range(2))
    if data.draw(st.booleans()):  # weights that cancel
        nets = tuple(cancel(n) for n in nets)
    found = stack(nets)
    assert found is not None
    rng = np.random.default_rng(seed)
    index, z = rng.integers(0, 2, 5), rng.integers(-3, 4, (5, 3, 2)) / rng.choice((1.0, 3.0, 1e9))
    e = np.abs(rng.integers(0, 2, (5, 2)) * rng.choice((0.0, 1e-9, 0.25)))
    with np.errstate(all="ignore"):
        gap, error = gaps(found, index, z, e)
    _, first, second = pairs(3)
    for row in range(5):
        for _ in range(3):
            roots = [Fraction(int(r), 4) for r in rng.integers(-4, 5, 2)]
            off = [Fraction(e[row, j]) * int(rng.integers(-1, 2)) for j in range(2)]
            columns = [[Fraction(v) for v in z[row, :, j]] for j in range(2)]
            x = [c[0] + c[1] * roots[0] + c[2] * roots[1] + o for c, o in zip(columns, off, strict=True)]
            y = nets[index[row]].evaluate_exact(x)
            for p, (i, j) in enumerate(zip(first, second, strict=True)):
                at = [Fraction(v) for v in gap[row, :, p]]
                assert abs(y[i] - y[j] - at[0] - at[1] * roots[0] - at[2] * roots[1]) <= Fraction(error[row, p])


def cancel(net):
    a, b, c = net.layers
    wide = Layer(np.vstack([a.weight] * 3), np.concatenate([a.bias] * 3), "relu")
    large = np.full(b.weight.shape, 2.0**53)
    return Network((wide, Layer(np.hstack([large, b.weight, -large]), b.bias, "relu"), c), "cancelling")
