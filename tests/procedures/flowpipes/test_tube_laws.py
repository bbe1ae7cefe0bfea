"""Tubes whose policies are affine laws: random plants of four and more variables against sampled runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from venmas.answer import Answer, Proved, Unknown
from venmas.bounds.affine.tube import Tube
from venmas.bounds.rounding import Floats
from venmas.budget import Budget, BudgetError
from venmas.errors import Reason
from venmas.logic import Bounded, parse
from venmas.model import System, apply_network, argmax, switch
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.simulate import step_batch
from venmas.nn import relu_network
from venmas.procedure import Run
from venmas.procedures.flowpipes import procedure
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.question import Question

_STEPS, _RUNS = 20, 400


def plant(rng: np.random.Generator, n: int = 4) -> System:
    """A stable plant with one input of three to five levels, rounded from a feedback, and a box around 1 or -1."""
    levels = np.linspace(-1, 1, int(rng.integers(3, 6)))
    gain = rng.normal(size=n)
    scores = [np.outer(levels, gain), -(levels**2) / 2]
    extra = 0.1 * rng.normal(size=(len(levels), 4))
    eye = np.concatenate([np.eye(n), -np.eye(n), rng.normal(size=(4, n))])
    network = relu_network([eye, np.concatenate([scores[0], -scores[0], extra], 1)], [np.zeros(2 * n + 4), scores[1]])
    a = rng.normal(size=(n, n))
    a *= 0.9 / np.abs(np.linalg.eigvals(a)).max()
    b = 0.2 * rng.normal(size=n)
    system = System("plant")
    x = system.reals("x", n, -100, 100)
    u = system.agent(switch(argmax(apply_network(network, tuple(x))), dict(enumerate(levels.tolist()))), name="u")
    system.branch("go", {x[i]: sum(float(a[i, j]) * x[j] for j in range(n)) + float(b[i]) * u for i in range(n)})
    centre = rng.choice([-1.0, 1.0], n)
    system.initial(*(c for i in range(n) for c in (x[i] >= centre[i] - 0.1, x[i] <= centre[i] + 0.1)))
    return system


def runs(system: System, rng: np.random.Generator) -> list[dict[str, Floats]]:
    """States of sampled runs after each step, in floats: half of the runs begin at corners."""
    (region,) = system.regions
    ends = {name: [float(-row.expr.constant / row.expr.coefficients[name]) for row in region
                   if name in row.expr.coefficients] for name in system.variables}  # fmt: skip
    state = {}
    for name, (one, other) in ends.items():
        part = rng.random(_RUNS)
        part[::2] = np.rint(part[::2])
        state[name] = min(one, other) + part * abs(other - one)
    found = [state]
    for _ in range(_STEPS):
        state, _ = step_batch(system, state, np.zeros(_RUNS, dtype=np.int64))
        found.append(state)
    return found


@pytest.mark.parametrize("seeds", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_tubes_by_laws_hold_all_runs(seeds: int) -> None:
    """Every sampled state is between the ends of the tube of its step, for a whole box and for two parts at a time."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        system = plant(rng)
        seen = runs(system, rng)
        from_ = {n: (min(v), max(v)) for n, v in seen[0].items()}
        box = {n: (Fraction(a), Fraction(b)) for n, (a, b) in from_.items()}
        first, (low, high) = next(iter(box.items()))
        halves = [{**box, first: (low, (low + high) / 2)}, {**box, first: ((low + high) / 2, high)}]
        for boxes in ([box], halves):
            tube = Tube(system, boxes, Fineness(4, 1, 1, 20, sets=1))
            for step, state in enumerate(seen):
                if step:
                    tube.advance()
                for name, (least, most) in tube.ends().items():
                    # floats of runs are off by rounding
                    assert least.min() - 1e-9 <= state[name].min() and state[name].max() <= most.max() + 1e-9
        assert system.once("laws", dict)


@pytest.mark.parametrize("seeds", [6, pytest.param(16, marks=pytest.mark.slow)])
def test_no_verdict_by_laws_is_contradicted(seeds: int) -> None:
    """Bounds near what runs reach: those that are met by none of many runs are proved sometimes, and never others."""
    found: Counter[str] = Counter()
    for seed in range(seeds):
        rng = np.random.default_rng(100 + seed)
        system = plant(rng)
        reached = [state["x[1]"] for state in runs(system, rng)[1:]]
        low, high = min(v.min() for v in reached), max(v.max() for v in reached)
        for part, held in ((0.3, True), (-0.02, False)):
            bound = high + part * (high - low)
            question = Question(system, Bounded(parse(f"AG^{_STEPS} x[1] <= {bound:.6f}", system)))
            answer = by_laws(question)
            assert held or not isinstance(answer, Proved), (seed, bound)
            found[f"{type(answer).__name__} {held}"] += 1
    assert found["Proved True"] >= seeds // 2, found
    assert found["Violated False"] >= seeds // 4, found


def by_laws(question: Question) -> Answer | None:
    """What the session says in which policies are laws."""
    session = FLOWPIPES.start(question, Run())._by_laws()
    assert session is not None
    try:
        answer = session._decide(budget := Budget(2.0), budget)
    except BudgetError:
        return None
    return answer


def test_laws_go_on_in_later_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that ends while one set is followed by laws: the next one goes on with it, and sets come after it."""
    begun = list[object]()
    made = procedure._Session._by_laws

    def by_laws(session: procedure._Session) -> procedure._Session | None:
        begun.append(lawful := made(session))
        return lawful

    monkeypatch.setattr(procedure._Session, "_by_laws", by_laws)
    monkeypatch.setattr(procedure, "_FIRST", 0.0)
    rng = np.random.default_rng(100)
    system = plant(rng)
    reached = [state["x[1]"] for state in runs(system, rng)[1:]]
    low, high = min(v.min() for v in reached), max(v.max() for v in reached)
    question = Question(system, Bounded(parse(f"AG^{_STEPS} x[1] <= {high + 0.3 * (high - low):.6f}", system)))
    session = FLOWPIPES.start(question, Run())
    assert isinstance(session, procedure._Session)
    turns, whole = 0, Budget(60.0)
    while (answer := whole.spend(0.02 * 1.2**turns, session.advance)) is None:
        turns += 1
        assert session._tries and session._tries[0][0] is begun[0]
    assert isinstance(answer, Proved) and turns > 1 and len(begun) == 1


def test_what_laws_show_is_kept_where_a_proof_is_to_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others go on for the proof; what laws show of runs that may leave their ranges is no answer to that."""
    monkeypatch.setattr(procedure, "_FIRST", 0.0)
    monkeypatch.setattr(procedure._Session, "_both", lambda *_: Unknown(Reason.OPEN, "sets are too wide"))
    rng = np.random.default_rng(100)
    system = plant(rng)
    reached = [state["x[1]"] for state in runs(system, rng)[1:]]
    low, high = min(v.min() for v in reached), max(v.max() for v in reached)
    asked = Bounded(parse(f"AG^{_STEPS} x[1] <= {high + 0.3 * (high - low):.6f}", system))
    others = np.concatenate([state["x[2]"] for state in runs(system, rng)[1:]])
    for most, shown in ((100.0, True), (float(others.max()) - 0.01, False)):
        decl = replace(system.variables["x[2]"], upper=Fraction(most))
        monkeypatch.setitem(system.variables, "x[2]", decl)
        session = FLOWPIPES.start(Question(system, asked, certified=True), Run())
        assert isinstance(session, procedure._Session)
        for _ in range(2):  # first a look
            assert isinstance(session.advance(Budget(20.0)), Unknown)
        assert (session.unwritten is not None) == shown
