"""The abstract reachability graph against exact runs: what a known run meets stays open in every pass."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st

from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build, holds
from tests.slow import some_examples, some_slow
from venmas.engine.verify import verify
from venmas.errors import ModelError
from venmas.logic import AX, EX, And, Atom, Not, Or, Top, nnf, parse
from venmas.model import System, load_scenario, switch, where
from venmas.model.evaluation.regions import contains
from venmas.model.evaluation.simulate import Step
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph.graph import Graph
from venmas.procedures.reachability.proof.lemma_index import Regions
from venmas.testing import adversarial_systems, formulas_over, initial_states, systems

PASSES = 6
PIECES = 2_000


def quiet():
    pass


class Truth:
    """Exact truth of core formulas, state by state."""

    def __init__(self, system):
        self.system, self.known, self.after = system, {}, {}

    def successors(self, state):
        key = tuple(state.values())
        if key not in self.after:
            self.after[key] = [dict(t.state) for t in Step(self.system, state).successors()]
        return self.after[key]

    def holds(self, formula, state):
        key = formula, tuple(state.values())
        if key not in self.known:
            self.known[key] = self._holds(formula, state)
        return self.known[key]

    def _holds(self, formula, state):
        match formula:
            case Atom(comparison):
                return comparison.holds(state)
            case And(operands):
                return all(self.holds(o, state) for o in operands)
            case Or(operands):
                return any(self.holds(o, state) for o in operands)
            case EX(operand):
                return any(self.holds(operand, t) for t in self.successors(state))
            case AX(operand):
                return all(self.holds(operand, t) for t in self.successors(state))
        return isinstance(formula, Top)


def positions(space, boxes, state, step):
    """Which of the boxes of a step hold an exact state; places on the lattice's frame in rationals."""
    frame = space.frames[step]
    at = [sum(c * state[n] * space.unit for c, n in zip(r, space.reals, strict=True)) for r in frame.inverse]
    number = space.known(tuple(int(state[n]) for n in space.integers))
    inside = boxes.location == (-1 if number is None else number)
    for i, place in enumerate(at):
        inside &= np.array([int(a) <= place <= int(b) for a, b in zip(boxes.low[:, i], boxes.high[:, i], strict=True)])
    return np.flatnonzero(inside)


def check_state(graph, truth, step, state, formula, seen):
    """A node of the layer holds the state and leaves the true formula open there; so for all that makes it true."""
    key = step, tuple(state.values()), formula
    if key in seen:
        return
    seen.add(key)
    assert step < len(graph.layers), (state, formula)
    layer, stage = graph.layers[step], graph.stages[step]
    rows = positions(graph.space, layer.nodes, state, step)
    at = stage.formulas.index(formula)
    assert layer.may[rows, at].any(), (step, state, formula)
    for part in steps_of(formula, truth, state):
        for after in truth.successors(state):
            if truth.holds(part.operand, after):
                check_state(graph, truth, step + 1, after, part.operand, seen)
                if isinstance(part, EX):
                    break


def steps_of(formula, truth, state):
    """Step formulas of one way to see that a true formula is true."""
    match formula:
        case And(operands):
            return [s for o in operands for s in steps_of(o, truth, state)]
        case Or(operands):
            return steps_of(next(o for o in operands if truth.holds(o, state)), truth, state)
        case EX() | AX():
            return [formula]
    return []


def check(system, target, states, passes=PASSES):
    """Passes keep open what is true of initial states; how many states that were, and None for an unsuitable system."""
    truth = Truth(system)
    bad = [s for s in states if truth.holds(target, s)]
    if not bad:
        return 0
    try:
        with np.errstate(all="ignore"):
            graph = Graph(Space(system), target, quiet)
            for _ in range(passes):
                assert graph.refine() is False
                seen = set()
                for state in bad[:6]:
                    check_state(graph, truth, 0, state, target, seen)
                if graph.counts.pieces > PIECES:
                    break
    except (UnsuitableError, OverflowError):
        return None
    return len(bad)


# -- regressions -------------------------------------------------------------------------------------------------------


def test_a_face_that_only_one_region_asks_about_stays_open():
    """Paths that meet at x == 4 in the second pass did not meet in the first one, whose region ends at 4.

    The point asks for one formula and the box above it for another: as one node they are a box that only touches the
    region of the first pass in which the point's formula was open.
    """
    system = System("faces")
    x, y, m = system.real("x", -8, 128), system.real("y", -64, 64), system.integer("m", 0, 4)
    system.branch("step", {x: where(m == 2, 16 * x, x), m: switch(m, {0: 0, 1: 3, 2: 4, 3: 0, 4: 4})})
    system.initial(x == 4, y >= 0, y <= 1, m == 0)
    system.initial(x >= 0, x <= 3, y >= 0, y <= 1, m == 0)
    system.initial(x >= 4, x <= 6, y >= 0, y <= 1, m == 1)
    system.initial(x >= 0, x <= 8, y >= 0, y <= 16, m == 2)
    text = "m == 0 & EX^3 x >= 4 | m == 1 & EX^3 (x - 4 * y >= 0.001 & x - 4 * y <= 0) | m == 2 & EX x <= -1"
    target = nnf(parse(text, system.vocabulary))
    states = [{"x": Fraction(4), "y": Fraction(k, 4), "m": Fraction(0)} for k in range(5)]
    assert check(system, target, states) == 5


def test_coordinates_beyond_64_bits_are_refused():
    system = System("far")
    x = system.real("x", 0, 2**62)
    system.branch("stay", x=x)
    system.initial(x >= 2**61)
    graph = Graph(Space(system), nnf(parse("4 * x <= 5", system.vocabulary), negate=True), quiet)
    with pytest.raises(UnsuitableError, match="too large"):
        graph.refine()
    assert verify(system, "4 * x <= 5", mode="adaptive").violated


def test_shifts_that_add_up_beyond_64_bits(monkeypatch):
    """Cells that begin so far away would lose states: boxes that lie across the end of the numbers."""
    monkeypatch.setattr(
        "venmas.procedures.reachability.graph.step._most_frequent", lambda rows, _: np.full(rows.shape[1], 2**62)
    )
    system = System("far")
    x = system.real("x", 0, 64)
    system.branch("step", x=x + 1)
    system.initial(x <= 1)
    graph = Graph(Space(system), nnf(parse("AX^9 x <= 9", system.vocabulary), negate=True), quiet)
    assert graph.refine() is False and len(graph.layers) == 10
    assert all((layer.grid.origin >= 0).all() and (layer.grid.origin < 2**52).all() for layer in graph.layers)


def test_a_move_beyond_64_bits_is_refused():
    """In the frame x = 4 y a shift of y by 2^62 is one of x by 2^64, which 64 bits take for none."""
    system = System("far")
    x, m = system.real("x", -1, 1), system.integer("m", 0, 2)
    system.branch("step", x=where(m < 1, 4 * x, x + 2**31), m=where(m < 1, 1, 2))
    system.initial(x >= -0.25, x <= 0.25, m == 0)
    space = Space(system)
    assert space.unit == 2**33
    graph = Graph(space, nnf(parse("AX^2 x <= 1", system.vocabulary), negate=True), quiet)
    with pytest.raises(UnsuitableError, match="too long"):
        graph.refine()


def test_leaving_the_box_in_an_early_pass_is_not_forgotten(monkeypatch):
    """Where m is 1 the first pass refutes all, and runs leave the box; later ones look at m == 0 only."""
    monkeypatch.setattr("venmas.procedures.exact.session.ExactSession.advance", lambda *_: None)
    system = System("leaves")
    x, y, m = system.real("x", -8, 8), system.real("y", -4, 4), system.integer("m", 0, 1)
    system.branch("step", x=where(m == 1, x + 16, where(x + y >= 0, x + y, -x - y)))
    system.initial(x >= -4, x <= 4, y >= 0, y <= 1)
    with pytest.raises(ModelError, match="leaves the declared box"):
        verify(system, "AX x >= -0.2", mode="adaptive")


# -- random systems ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", some_slow(range(24), range(0, 24, 3)))
def test_known_runs_stay_open_on_random_systems(seed):
    case = pwl_case(seed, 40)
    system = build(case.spec)
    for negate in (False, True):
        states = [s for s in case.points if holds(case.spec, case.formula, s) is not negate]
        found = check(system, nnf(case.formula, negate=negate), states[:12])
        assert found is None or found == len(states[:12])


@some_examples(13, 40, st.data(), suppress_health_check=list(HealthCheck))
def test_known_runs_stay_open(data):
    system = data.draw(systems() if data.draw(st.booleans()) else adversarial_systems())
    target = nnf(data.draw(formulas_over(system)))
    states = [data.draw(initial_states(system)) for _ in range(4)]
    check(system, target, states, 4)


def grid_condition(rng, x, y, m):
    kind, limit = rng.random(), rng.randint(0, 8)
    if kind < 0.3:
        return m == rng.randint(0, 2)
    v = x if kind < 0.7 else y
    return rng.choice((v <= limit, v >= limit, v < limit, v > limit, v == limit))


def grid_value(rng, v, test):
    step = rng.choice((0, 1, -1, 4, -4))
    kinds = (v + rng.choice((0, 1, -1, 2, 4)), Fraction(rng.randint(0, 8)), where(test(), v + step, rng.randint(0, 8)))
    more = (where(test(), v, v + step), v / 2, v / 3, 8 - v, v)
    return rng.choice((kinds[0], kinds[0], *kinds, *more))


def grid_system(rng):
    """Moves between points and intervals that end where cells end: there closed boxes share faces only."""
    system = System("grid")
    x, y, m = system.real("x", -64, 64), system.real("y", -64, 64), system.integer("m", 0, 2)

    def test():
        return grid_condition(rng, x, y, m)

    for i in range(rng.randint(1, 3)):
        updates = {x: grid_value(rng, x, test)}
        if rng.random() < 0.5:
            updates[y] = grid_value(rng, y, test)
        if rng.random() < 0.5:
            updates[m] = rng.choice((0, 1, 2, where(test(), 0, 1), where(test(), m, 2)))
        system.branch(f"b{i}", updates, when=test() if rng.random() < 0.5 else True)
    for _ in range(rng.randint(1, 4)):
        rows = []
        for v, top in ((x, 8), (y, 24)):
            low = rng.choice((0, 2, 4, 8, rng.randint(0, 8)))
            rows += [v >= low, v <= low + rng.choice((0, 0, 1, 4, top))]
        system.initial(*rows, *([m == rng.randint(0, 2)] if rng.random() < 0.7 else []))
    return system


def grid_formula(rng, system, depth, size=3.0):
    kind = rng.random()
    if not depth or size <= 0:
        name = rng.choice(("x", "x", "y", "m"))
        limit = rng.randint(0, 2 if name == "m" else 8)
        return parse(f"{name} {rng.choice(('<', '<=', '==', '>=', '>', '!='))} {limit}", system.vocabulary)
    if kind < 0.5:
        return (EX if kind < 0.3 else AX)(grid_formula(rng, system, depth - 1, size - 0.3))
    left = grid_formula(rng, system, 0 if rng.random() < 0.5 else depth, size - 1)
    return (And if kind < 0.75 else Or)((left, grid_formula(rng, system, depth, size - 1)))


def grid_states(rng, system):
    """Some initial states of a `grid_system`, where its numbers meet."""
    halves, far = [Fraction(k, 2) for k in range(17)], [Fraction(k) for k in (12, 20, 28, 32)]
    places = [(x, y, Fraction(m)) for x in halves for y in halves + far for m in range(3)]
    rng.shuffle(places)
    states = [dict(zip("xym", place, strict=True)) for place in places]
    return [s for s in states if any(contains(r, s) for r in system.regions)][:40]


@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("block", some_slow(range(6), [1, 3]))
def test_known_runs_stay_open_where_boxes_touch(block, wild, monkeypatch):
    """Wild: images come in turns of a few, and cells of the next step begin anywhere."""
    if wild:
        numbers = np.random.default_rng(block)
        monkeypatch.setattr("venmas.procedures.reachability.graph.graph._IMAGES", 1 + block)
        monkeypatch.setattr(
            "venmas.procedures.reachability.graph.step._most_frequent",
            lambda rows, _: numbers.integers(-(2**62), 2**62, rows.shape[1]),
        )
    found = 0
    for seed in range(block * 10, block * 10 + 10):
        rng = Random(f"grid {seed}")
        system = grid_system(rng)
        target = nnf(grid_formula(rng, system, rng.randint(2, 4)))
        found += check(system, target, grid_states(rng, system), 4) or 0
    assert found > 20


def test_agrees_with_mode_exact():
    decided = 0
    for seed in range(40, 52):
        case = pwl_case(seed, 20)
        system = build(case.spec)
        for formula in (case.formula, Not(case.formula)):
            ours = verify(system, formula, mode="adaptive", timeout=5)
            theirs = verify(system, formula, mode="exact", timeout=5)
            assert {ours.verdict.value, theirs.verdict.value} != {"satisfied", "violated"}, seed
            decided += ours.verdict.value != "unknown"
    assert decided >= 20


def test_moves_that_are_good_on_different_sides_of_a_region():
    """Always one of two moves keeps off the middle, but neither does from the whole of the initial set."""
    system = System("sides")
    x = system.real("x", -4, 4)
    system.branch("up", x=x + 1)
    system.branch("down", x=x - 1)
    system.initial(x >= -1, x <= 1)
    graph = Graph(Space(system), nnf(parse("EX (x >= 0.5 | x <= -0.5)", system.vocabulary), negate=True), quiet)
    passes = 1
    while not graph.refine():
        passes += 1
        assert passes < 8
    assert passes > 1


def test_regions_of_a_proof_lie_in_what_every_pass_before_left_open():
    """A node of a later pass may be a hull that holds more, of which nothing is shown."""
    system = load_scenario("vcas").system(climb0="-28.5..-18", h_min="-400", h_max="400", h_limit="12000")
    graph = Graph(Space(system), nnf(parse("EX^4 !safe", system.vocabulary)), quiet, keep=True)
    for _ in range(4):
        graph.refine()
    cut = 0
    for step in range(len(graph.past[-1])):
        regions = Regions.of(graph, step)
        for where_, low, high, (turn, node) in zip(regions.where, regions.low, regions.high, regions.keys, strict=True):
            nodes = graph.past[turn][step].nodes
            cut += not ((nodes.low[node] == low).all() and (nodes.high[node] == high).all())
            for layers in graph.past[:turn]:
                before = layers[step].known().boxes
                holds_it = (before.low <= low).all(1) & (high <= before.high).all(1)
                assert (holds_it & (before.location == where_)).any()
    assert cut
