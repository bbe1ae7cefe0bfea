"""Compiled cutting of boxes: parts cover, and what an exact state does is among the cases of every part it is in."""

import os
import subprocess
import sys
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.procedures.reachability.test_graph import check
from tests.procedures.reachability.test_region_forms import cancel
from venmas.bounds.compiled import cutting as compiled
from venmas.bounds.compiled import zonotope_kernel as lanes
from venmas.bounds.zonotope_stacked import stack
from venmas.engine.verify import verify
from venmas.logic import nnf, parse
from venmas.logic.stages import agenda
from venmas.model import System, apply_network, argmax, where
from venmas.model.evaluation.simulate import Exact
from venmas.model.transform.cases import Sign
from venmas.nn import relu_network
from venmas.procedures.hybrid import view as space
from venmas.procedures.hybrid.boxes import Boxes
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph import step as layer
from venmas.procedures.reachability.graph.split import Cases, cut_compiled
from venmas.testing import adversarial_networks, initial_states, networks

FORMULAS = ("AX AX (x <= 1)", "AG^2 (x < 1)", "AG^2 (x + y >= i)", "A((x != 1) U^2 (y > i))")
MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
WIDTHS = (2, 4, 3, 3)


@st.composite
def agents(draw):
    """A system with an argmax, thresholds and an integer; boxes of its lattice, and the least sides."""
    system = System("agents")
    x, y, i = system.real("x", -8, 8), system.real("y", -8, 8), system.integer("i", 0, 2)
    kinds = draw(st.sampled_from(("plain", "cancelling", "adversarial")))
    net = draw(adversarial_networks() if kinds == "adversarial" else networks(WIDTHS))
    net = cancel(net) if kinds == "cancelling" else net
    scale, shift = draw(st.sampled_from((Fraction(1), Fraction(1, 3), Fraction(7, 2)))), draw(st.integers(-2, 2))
    move = system.agent(argmax(apply_network(net, (scale * x + shift, y - x))), name="move")
    level = Fraction(draw(st.integers(-4, 4)), 2)
    step = where(x + y <= level, move, where(2 * x >= level + i, 1, 0)) if draw(st.booleans()) else move
    system.branch("go", x=x + step / 4, y=y - 1, i=move)
    system.branch("stay", when=y > level, i=where(move == 1, step, 2 - move))
    system.initial((x >= -1) & (x <= 1) & (y >= -1) & (y <= 1))
    return system


def exact(place, location, unit):
    """The outcomes of the choices of a location at a place, as a signature of single outcomes."""
    values = {n: Fraction(int(p), unit) for n, p in zip("xy", place, strict=True)}
    found = []
    for choice in location.choices:
        if isinstance(choice, Sign):
            value = Exact(values).value(choice.expr)
            found.append(1 if value < 0 else 4 if value > 0 else 2)
        else:
            found.append(1 << int(Exact(values).value(choice)))
    return tuple(found)


@MANY
@given(st.data(), agents(), st.sampled_from(FORMULAS), st.sampled_from((1, 7)))
def test_parts_cover_and_hold_what_happens(data, system, formula, threads):
    world = Space(system)
    world.workers = threads
    stage = agenda(nnf(parse(formula, system), negate=True))[1]
    numbers = [world.number((i,)) for i in data.draw(st.permutations(range(3)))]
    unit, low, high = world.unit, [], []
    for _ in range(data.draw(st.integers(1, 6))):
        at = [data.draw(st.integers(-4 * unit, 4 * unit)) for _ in range(2)]
        low.append(at)
        high.append([a + data.draw(st.sampled_from((0, 1, unit, 3 * unit))) for a in at])
    where_ = np.array([data.draw(st.sampled_from(numbers)) for _ in low], dtype=np.intp)
    boxes = Boxes(where_, np.array(low), np.array(high), np.ones((len(low), len(stage.formulas)), dtype=bool))
    least = np.array([data.draw(st.sampled_from((unit // 8, unit // 2, unit))) for _ in range(2)])
    met, ticks, join = Cases(), [], data.draw(st.booleans())
    found = layer.ended(cut_compiled(world, stage, met, boxes, 0, least, join), lambda: ticks.append(1))
    assume(found is not None)  # a twist may leave a network without an affine end
    parts, source, kind = found
    assert ticks
    assert (parts.low <= parts.high).all() and (kind >= 0).all()
    for row in range(len(boxes)):
        mine = np.flatnonzero(source == row)
        sides = [tuple(int(v) for v in parts.high[p] - parts.low[p]) for p in mine]
        wide = boxes.high[row] > boxes.low[row]
        volume = prod(int(v) for v in (boxes.high[row] - boxes.low[row])[wide])
        assert volume == sum(prod(s for s, w in zip(side, wide, strict=True) if w) for side in sides)
        location = world.locations[boxes.location[row]]
        spots = [[data.draw(st.integers(int(a), int(b))) for a, b in zip(low[row], high[row], strict=True)]]
        spots += [low[row], high[row], *(parts.low[p].tolist() for p in mine[:3])]
        for place in spots:
            held = [p for p in mine if (parts.low[p] <= place).all() and (parts.high[p] >= place).all()]
            (case,) = location.cases(exact(place, location, unit))
            assert held and all(any(case is c for c in met.listed[kind[p]]) for p in held)


@pytest.mark.parametrize("worth", [-1, 10**12])
@settings(MANY, max_examples=25)
@given(st.data(), agents())
def test_known_runs_stay_open(worth, data, system):
    """In passes by compiled code, and by numpy."""
    target = nnf(parse(data.draw(st.sampled_from(FORMULAS)), system), negate=data.draw(st.booleans()))
    states = [data.draw(initial_states(system)) for _ in range(4)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(space, "_WORTH", worth)
        check(system, target, states, 4)


@pytest.mark.parametrize("threads", [1, 64])
def test_wide_networks(monkeypatch, threads):
    """Sums of more terms than a fixed table of rounding bounds has: a tie is seen as one. More threads than cores."""
    monkeypatch.setattr(compiled, "_WORTH_THREADS", 0)
    width, rng = 5000, np.random.default_rng(1)
    for _ in range(3):
        row = rng.normal(size=width)
        # equal units: both outputs are the sum of a row
        weights = [np.ones((2, 2)) / 4, np.full((width, 2), 0.25), np.array([row, rng.permutation(row)])]
        found = stack((relu_network(weights, [np.ones(2), np.ones(width), np.zeros(2)]),))
        none = np.zeros((1, 0), np.int64)
        asked = compiled.Undecided(
            found,
            np.zeros(1, dtype=np.intp),
            np.array([[[0.25, 0.0], [0.0, 0.5]]]),
            np.array([[1.0, 0.0]]),
            (np.zeros((1, 0, 2), np.int64), none, none),
            4,
        )
        box = np.array([[-1, -1]]), np.array([[1, 1]])
        table = np.full((1, 4), lanes.SETTLED, np.uint8)
        parts = compiled.cut_boxes(asked, table, np.zeros(1, dtype=np.intp), *box, np.ones(2, np.int64), threads, False)
        assert parts.outcomes.tolist()[0] & 1 and len(parts.outcomes) == 1


@pytest.mark.parametrize("compiled_code", [True, False])
def test_inputs_that_cancel(monkeypatch, compiled_code):
    """Two inputs are equal but for rounding, and small differences of large numbers."""
    monkeypatch.setattr(space, "_WORTH", -1 if compiled_code else 10**12)
    system = System("cancel")
    x, y = system.real("x", 0, 10**6), system.real("y", 0, 1)
    net = relu_network([np.array([[1.0, 0.0], [0.0, 3.0]])], [np.zeros(2)])
    move = argmax(apply_network(net, (3 * x - 10**6 + y, x - Fraction(10**6, 3) + y / 3)))
    system.branch("go", y=move)
    system.initial(x >= 0, y >= 0)
    world = Space(system)
    stage = agenda(nnf(parse("AX AX (y <= 0)", system), negate=True))[0]
    low = np.array([[10**6 * world.unit // 3 + i * i, i % 7] for i in range(-100, 100)])
    boxes = Boxes(np.full(200, world.number(())), low, low + 1, np.ones((200, 1), dtype=bool))
    pieces = layer.ended(layer.classify(world, stage, boxes, np.arange(200), 0, np.ones(2, np.int64)), lambda: None)
    assert all(0 in winners(pieces, piece) for piece in range(200))


@pytest.mark.parametrize("count", [2, 40, 120])
def test_more_reals_than_rounding_bounds(count):
    """Sums over many reals, most of them points: the table of rounding bounds is as long as they are."""
    rng = np.random.default_rng(count)
    factors = rng.normal(size=count)
    found = stack((relu_network([np.eye(2)], [np.zeros(2)]),))
    none = np.zeros((1, 0), np.int64)
    asked = compiled.Undecided(
        found,
        np.zeros(1, dtype=np.intp),
        np.array([[factors, factors[::-1]]]),
        np.zeros((1, 2)),
        (np.zeros((1, 0, count), np.int64), none, none),
        4,
    )
    half = rng.integers(-(2**40), 2**40, (200, count // 2))
    low = np.concatenate([half, half[:, ::-1]], 1)  # sums of the same numbers: a tie, which the lowest index wins
    high = low.copy()
    high[:, [0, -1]] += 1
    least, table = np.ones(count, np.int64), np.full((1, 4), lanes.SETTLED, np.uint8)
    for box in ((low, low), (low, high)):
        parts = compiled.cut_boxes(asked, table, np.zeros(200, dtype=np.intp), *box, least, 1, False)
        assert (parts.outcomes & 1).all() and len(parts.outcomes) == 200


def test_a_forked_child_has_threads_of_its_own():
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork")
    code = (  # in a fresh process: a child of this one could wait for a lock that any thread of any library holds
        "import os; from venmas.bounds.compiled.cutting import _executor\n"
        "_executor(2).submit(int).result()\n"
        "child = os.fork()\n"
        "if not child: os._exit(_executor(2).submit(lambda: 7).result(timeout=20))\n"
        "os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 7


def winners(pieces, piece):
    """The values that y may get in a piece."""
    return {int(m.affine[1].constant) for case in pieces.case_list[pieces.kind[piece]] for m in case.moves}


def test_long_work_comes_back(monkeypatch):
    """What takes more sweeps than a turn has is given again until it is done."""
    monkeypatch.setattr(compiled, "_PRODUCTS", 1)
    system = System("line")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    net = relu_network([np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, -1.0], [-1.0, 1.0]])], [np.zeros(2)] * 2)
    move = argmax(apply_network(net, (x, y)))
    system.branch("go", x=x + where(move <= 0, 1, 0) / 4)
    system.initial((x >= -1) & (x <= 1) & (y >= -1) & (y <= 1))
    world, ticks = Space(system), []
    stage = agenda(nnf(parse("AX AX (x <= 1)", system), negate=True))[0]
    least = np.full(2, world.unit // 64)
    parts, _, _ = layer.ended(
        cut_compiled(world, stage, Cases(), world.root(), 0, least, False), lambda: ticks.append(1)
    )
    assert len(ticks) > 10 and len(parts) > 100


def test_verdicts_do_not_hang_on_it(monkeypatch):
    """The same passes by numpy and by compiled code, from the first box on."""
    for worth in (10**12, -1):
        monkeypatch.setattr(space, "_WORTH", worth)
        system = System("drift")
        x, y = system.real("x", -9, 9), system.real("y", -9, 9)
        rng = np.random.default_rng(3)
        net = relu_network([rng.normal(size=(8, 2)), rng.normal(size=(3, 8))], [rng.normal(size=8), np.zeros(3)])
        move = argmax(apply_network(net, (x, y)))
        system.branch("go", x=x + where(x >= 0, move / 8, -move / 8), y=y / 2)
        system.initial((x >= -1) & (x <= 1) & (y >= -1) & (y <= 1))
        assert str(verify(system, "AX AX AX (x <= 1.76)").verdict) == "satisfied"
        assert str(verify(system, "AX AX AX (x <= 0.99)").verdict) == "violated"
