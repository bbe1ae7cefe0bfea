"""Partial evaluation against exact steps: the case that the true outcomes select has the true successors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build
from venmas import verify
from venmas.model import System, argmax, maximum, minimum, switch, where
from venmas.model.evaluation.simulate import Exact, Step
from venmas.model.expressions.expr import ArgMax, Maximum
from venmas.model.transform.cases import Location, Sign, UnsuitableError
from venmas.procedures.hybrid.boxes import Boxes
from venmas.procedures.hybrid.view import Space
from venmas.testing import adversarial_systems, initial_states, states, systems


def bits(choice, exact):
    """All true outcomes of a choice in a state, as bits; ties of maxima count for all."""
    if isinstance(choice, Sign):
        value = exact.value(choice.expr)
        return 1 << (0 if value < 0 else 1 if value == 0 else 2)
    if isinstance(choice, ArgMax):
        return 1 << int(exact.value(choice))
    values = [exact.value(o) for o in choice.operands]
    return sum(1 << i for i, v in enumerate(values) if v == max(values))


def location_of(system, state):
    values = tuple(int(state[d.name]) for d in system.variables.values() if d.integral)
    return Location(system, values)


def successors(location, case, exact):
    """What a case does, branch by branch; both readings of the reals."""
    found = {}
    for move in case.moves:
        reals = [exact.value(e) for e in move.reals]
        if move.affine is not None:
            assert reals == [a.evaluate(exact.state) for a in move.affine]
        state = {n: Fraction(v) for n, v in zip(location.integers, move.integers, strict=True)}
        state.update(zip(location.reals, reals, strict=True))
        names = [location.system.branches[i].name for i in move.branches]
        found |= dict.fromkeys(names, state)
    return found


def check(system, state, widen=()):
    """The exact case, and that wider signatures contain its moves; False where the system does not suit."""
    location, exact = location_of(system, state), Exact(state)
    signature = tuple(bits(c, exact) for c in location.choices)
    expected = {t.branch: dict(t.state) for t in Step(system, state).successors()}
    try:
        cases = location.cases(signature)
        assert len(cases) == 1
        assert successors(location, cases[0], exact) == expected
        for mask in widen:
            every = [mask >> (3 * i) & 7 if isinstance(c, Sign) else mask >> i for i, c in enumerate(location.choices)]
            sizes = [3 if isinstance(c, Sign) else len(parts(c)) for c in location.choices]
            wide = tuple(s | e & ((1 << n) - 1) for s, e, n in zip(signature, every, sizes, strict=True))
            cases = location.cases(wide)  # None: too many
            assert cases is None or any(successors(location, case, exact) == expected for case in cases)
    except UnsuitableError:
        return False
    return True


def parts(choice):
    return choice.operands if isinstance(choice, Maximum) else choice.scores


MANY = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


@MANY
@given(systems(), states(), st.lists(st.integers(0, 2**40), max_size=3))
def test_random_systems(system, state, widen):
    check(system, state, widen)


@MANY
@given(st.data(), st.lists(st.integers(0, 2**40), max_size=2))
def test_hard_systems(data, widen):
    system = data.draw(adversarial_systems())
    check(system, data.draw(initial_states(system)), widen)


@pytest.mark.parametrize("seed", range(25))
def test_corpus(seed):
    case = pwl_case(seed, 10)
    system = build(case.spec)
    for state in case.points[:15]:
        assert check(system, state, (2**41 - 1, 0x155555))


@pytest.mark.parametrize("seed", range(12))
def test_decided_signatures_contain_the_true_outcomes(seed):
    """On boxes around a state, whatever float bounds decide."""
    case = pwl_case(100 + seed, 10)
    system = build(case.spec)
    space = Space(system)
    for state in case.points[:10]:
        number = space.number(tuple(int(state[n]) for n in space.integers))
        at = np.array([[int(state[n] * space.unit // 1) for n in space.reals]])
        exact = Exact(state)
        truth = [bits(c, exact) for c in space.locations[number].choices]
        for reach in (1, space.unit // 4, space.unit):
            boxes = Boxes(np.array([number]), at - reach, at + reach, np.ones((1, 1), dtype=bool))
            for decided in space.decide(boxes, 0):
                for found, true in zip(decided.signature[0], truth, strict=True):
                    assert int(found) & true == true


def nested():
    """A maximum within a maximum within the scores of an argmax, compared with an integer; shared and mirrored rows."""
    system = System("nested")
    x, y, m = system.real("x", -9, 9), system.real("y", -9, 9), system.integer("m", 0, 2)
    top = maximum(x, maximum(y, minimum(x + y, 1)), m - 1)
    best = argmax([top, x + m, 2 * y])
    system.branch(
        "a", x=switch(best, {0: top, 1: x - y, 2: y}), m=where(x - y > 0, best, m), when=(x - y >= 0) | (m == 1)
    )
    system.branch("b", y=where((2 * y - 2 * x > 0) & (best != 2), -y, y), when=3 * x != 3 * y)
    system.branch("c", x=x, y=where(2 * y - 2 * x > 0, -y, y), when=y > x)
    system.initial(x >= 0)
    return system


def test_nested_maxima_and_rows_that_share_their_sign():
    system = nested()
    values = [Fraction(k, 2) for k in range(-4, 5)]
    for m in range(3):
        location = Location(system, (m,))
        signs = [c for c in location.choices if isinstance(c, Sign)]
        assert max(len(c.comparisons) for c in signs) >= 4
        for x in values:
            for y in values:
                assert check(system, {"x": x, "y": y, "m": Fraction(m)}, (2**40 - 1,))


def test_too_many_cases():
    system = System("many")
    xs = [system.real(f"x{i}", -1, 1) for i in range(9)]
    for i, x in enumerate(xs):
        system.branch(f"b{i}", {x: where(x > 0, 0, x)})
    location = Location(system, ())
    assert location.cases((7,) * 9) is None
    assert len(location.cases((7,) * 7 + (1, 1))) == 128


@pytest.mark.slow
def test_a_region_of_too_many_cases_is_cut(monkeypatch):
    """Nine steps of a staircase are 512 cases for who sees no order in them; parts of it meet one or two."""
    system = System("stairs")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    system.branch("climb", {y: sum((where(x > Fraction(i, 10), Fraction(1, 16), 0) for i in range(1, 10)), y * 0)})
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    monkeypatch.setattr("venmas.budget.Shares.left", lambda *_: -1.0)  # nothing but passes decides
    report = verify(system, "AX^2 y <= 0.57", mode="adaptive")
    assert report.satisfied and report.decided_by == "reachability" and not report.notes
    assert verify(system, "AX^2 y <= 0.56", mode="adaptive").violated
