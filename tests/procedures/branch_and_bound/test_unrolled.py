"""Unrolled loops: against runs in exact numbers, against the search in rationals, and where many steps round much."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from threading import Event

import numpy as np
import pytest

from tests.random_loops import random_loop
from tests.slow import some_slow
from venmas import load_network, verify
from venmas.answer import Proved, Unknown, Violated
from venmas.bounds import crown
from venmas.bounds.compiled import crown as compiled
from venmas.bounds.compiled.load import beside
from venmas.bounds.crown_plan import flatten
from venmas.budget import Budget, BudgetError
from venmas.errors import ModelError
from venmas.logic import Bounded, nnf, parse
from venmas.model import System, apply_network, clip
from venmas.model.evaluation.simulate import successors
from venmas.model.transform.program import Program
from venmas.model.transform.unroll import unroll
from venmas.nn import relu_network
from venmas.procedure import Run
from venmas.procedures.branch_and_bound import gradient
from venmas.procedures.branch_and_bound.bisect import Bisection
from venmas.procedures.branch_and_bound.procedure import BRANCH_AND_BOUND, _kept
from venmas.question import Question

FORMULAS = (
    "AG^2 (x[1] <= {0})",
    "EX^3 (x[1] > {0})",
    "A (x[1] < {0} + 1 U^2 x[1] >= {0})",
    "AX (x[1] != {0}) & AF^3 (x[1] <= {0} + 1/4)",
    "AG^3 (x[1] <= {0} | x[1] >= {0} + 1/2)",
)


def question(seed: int, most: int) -> Question | None:
    """A random loop, and a formula with a threshold between, next to, or at values that runs meet."""
    system, rng = random_loop(seed, most), np.random.default_rng(seed)
    target = nnf(parse("AX^2 x[1] <= 0", system.vocabulary))
    program = unroll(system, system.regions[0], target)
    assert isinstance(program, Program), program
    seen = [values[-1][0] for x in points(program, rng, 3) if (values := program.values(x)) and values[-1]]
    if not seen:
        return None
    at = seen[0] + Fraction(int(rng.integers(-2, 3)), 8)
    formula = FORMULAS[seed % len(FORMULAS)].format(f"{at.numerator}/{at.denominator}").replace("/1 ", " ")
    return Question(system, Bounded(parse(formula.replace("+ 1/4", "+ 1/4"), system.vocabulary)))


def points(program: Program, rng: np.random.Generator, count: int) -> list[tuple[Fraction, ...]]:
    eighths = [[Fraction(int(rng.integers(0, 9)), 8) for _ in program.inputs] for _ in range(count)]
    drawn = [tuple(a + p * (b - a) for a, b, p in zip(program.low, program.high, ps, strict=True)) for ps in eighths]
    return [x for x in drawn if program.inside(x)]


def agree(seed: int, most: int, others: bool) -> str:
    """Ask about a random loop, and compare the answer with runs; what it was."""
    asked = question(seed, most)
    if asked is None:
        return "empty"
    with Run() as run:
        assert BRANCH_AND_BOUND.accepts(asked, run) is None
        try:
            answer = BRANCH_AND_BOUND.start(asked, run).advance(Budget(5.0))
        except ModelError:
            return "leaves"
        except BudgetError:  # with many inputs nearly all the time is its own
            return "Unknown"
    program = unroll(asked.system, asked.system.regions[0], asked.target)
    assert isinstance(program, Program)
    met = [x for x in points(program, np.random.default_rng(seed), 60) if program.holds(x)]
    assert not (met and isinstance(answer, Proved)), (seed, met[0])
    if others and not isinstance(answer, Unknown):
        report = verify(asked.system, asked.formula, mode="exact", timeout=2)
        if report.verdict != "unknown":
            assert report.verdict == ("violated" if isinstance(answer, Violated) else "satisfied"), seed
    return type(answer).__name__


def test_answers_agree_with_runs_and_with_the_search_in_rationals() -> None:
    found = [agree(seed, 4, others=seed % 6 == 0) for seed in range(60)]
    assert min(found.count("Proved"), found.count("Violated")) >= 10
    assert found.count("Unknown") <= 6


@pytest.mark.slow
def test_answers_agree_on_many_wide_systems() -> None:
    found = [agree(seed, 2 + seed % 11, others=seed % 20 == 0) for seed in range(1000, 3000)]
    assert min(found.count("Proved"), found.count("Violated")) >= 300


def contracting(steps: int) -> tuple[System, str]:
    """A rotation by a network that is the identity where it is used: radii wrap, ranges do not grow."""
    identity = relu_network(
        [np.vstack([np.eye(2), -np.eye(2)]), np.hstack([np.eye(2), -np.eye(2)])], [np.zeros(4)] * 1 + [np.zeros(2)]
    )
    system = System("turn")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.initial(x >= 1, x <= Fraction(101, 100), y >= 0, y <= Fraction(1, 100))
    u, v = apply_network(identity, [x + 3, y + 3])
    c, s = Fraction(4, 5), Fraction(3, 5)
    system.branch("go", x=c * (u - 3) - s * (v - 3), y=s * (u - 3) + c * (v - 3))
    return system, f"AG^{steps} (x <= 1.02 & y <= 1.02)"


@pytest.mark.parametrize("sweep", [crown.sweep, compiled.sweep], ids=["numpy", "numba"])
def test_radii_that_wrap_become_symbols(sweep) -> None:
    system, formula = contracting(150)
    formula = formula.replace("AG", "AX")
    program = unroll(system, system.regions[0], nnf(parse(formula, system.vocabulary), negate=True))
    assert isinstance(program, Program)
    plan = flatten(program)
    low, high = (np.array([[float(v) for v in end]]) for end in (program.low, program.high))
    assert sweep(plan, low, high, 500).closed[0]


@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "numba"])
def test_behind_clips_intervals_spare_most_boxes(data_dir, compiled: bool) -> None:
    """A form forgets where a clip ends; without the ends it takes a hundred thousand boxes and more."""
    network = load_network(data_dir / "loops" / "quadrotor_6d_40" / "model.json")
    system = System("quadrotor")
    p, v = system.reals("p", 3, -(10**6), 10**6), system.reals("v", 3, -(10**6), 10**6)
    u = [clip(c, -4, 4) for c in apply_network(network, [*p, *v])]
    moved = {a: a + b + c / 2 for a, b, c in zip(p, v, u, strict=True)}
    system.branch("step", moved | {b: b + c for b, c in zip(v, u, strict=True)})
    centre, half = (-5.0, 0.0, 2.5, 0.97, 0.0, 0.0), (0.25, 0.25, 0.25, 0.02, 0.01, 0.01)
    ends = zip((*p, *v), centre, half, strict=True)
    system.initial(*(side for x, c, r in ends for side in (x >= c - r, x <= c + r)))
    target = nnf(parse("AX^3 (p[1] > 1 | p[1] < -1)", system.vocabulary), negate=True)
    program = unroll(system, system.regions[0], target)
    assert isinstance(program, Program)
    box = tuple(zip(program.low, program.high, strict=True))
    found = Bisection(flatten(program), (box,), lambda: None, 1, lambda *_: (False, None), compiled).run()
    assert found.proved
    assert found.boxes <= 200


def test_a_group_that_is_closed_is_not_looked_at_again() -> None:
    system, formula = contracting(3)
    program = unroll(system, system.regions[0], nnf(parse(formula, system.vocabulary), negate=True))
    assert isinstance(program, Program)
    plan = flatten(program)
    low, high = (np.array([[float(v) for v in end]]) for end in (program.low, program.high))
    for sweep in (crown.sweep, compiled.sweep):
        nothing = sweep(plan, low - 5, high + 5, 500, opened=np.zeros((1, plan.groups), dtype=bool))
        assert nothing.closed[0]
        assert not sweep(plan, low - 5, high + 5, 500).closed[0]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_cut_off_holds_no_answer(seed: int) -> None:
    asked = question(seed, 3)
    assert asked is not None
    program = unroll(asked.system, asked.system.regions[0], asked.target)
    assert isinstance(program, Program)
    plan, rng = flatten(program), np.random.default_rng(seed)
    low, high = (np.array([[float(v) for v in end]]) for end in (program.low, program.high))
    both = [sweep(plan, low, high, 100) for sweep in (crown.sweep, compiled.sweep)]
    np.testing.assert_allclose(both[0].low, both[1].low, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(both[0].high, both[1].high, rtol=1e-9, atol=1e-12)
    assert both[0].closed == both[1].closed
    for x in points(program, rng, 50):
        if program.holds(x):
            assert not both[0].closed[0]
            assert all(
                Fraction(a) <= v <= Fraction(b) for a, v, b in zip(both[0].low[0], x, both[0].high[0], strict=True)
            )


def some_questions(count: int) -> list[int]:
    """Seeds of questions that have a state to ask about."""
    return [seed for seed in range(4 * count) if question(seed, 4) is not None][:count]


@pytest.mark.parametrize("seed", some_questions(12))
def test_any_slopes_of_lower_lines_give_lower_bounds(seed: int) -> None:
    asked = question(seed, 4)
    assert asked is not None
    program = unroll(asked.system, asked.system.regions[0], asked.target)
    assert isinstance(program, Program)
    plan, rng = flatten(program), np.random.default_rng(seed)
    low, high = (np.array([[float(v) for v in end]]) for end in (program.low, program.high))
    xs = points(program, rng, 100)
    after = [program.values(x) for x in xs]
    bounds: list[tuple[int, int, float]] = []
    original = crown._backward

    def drawn(plan, forms, mix, members, base, centre, radius, slopes):
        for alpha in slopes.alpha:
            alpha[:] = rng.choice([rng.random(alpha.shape), np.rint(rng.random(alpha.shape))])
        mix = np.eye(len(members))[[0]]
        found = original(plan, forms, mix, members, base, centre, radius, slopes)
        bounds.append((int(members[0]), len(forms.lo), float(found[0][0])))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crown, "_backward", drawn)
        crown.sweep(plan, low, high, 5 if seed % 2 else 500, narrow=seed % 3 > 0)
    rows = [row for group in program.groups for row in group.rows]
    for goal, _, bound in bounds:
        row = rows[goal]
        for x, v in zip(xs, after, strict=True):
            assert Fraction(bound) <= row.value(x, v[row.layer] if row.layer >= 0 else ()) or bound == -np.inf


@pytest.mark.parametrize("sweep", [crown.sweep, compiled.sweep], ids=["numpy", "numba"])
def test_ascent_on_slopes_never_loses_and_gains(sweep) -> None:
    rng, gained = np.random.default_rng(3), 0
    for seed in some_questions(20):
        asked = question(seed, 4)
        assert asked is not None
        program = unroll(asked.system, asked.system.regions[0], asked.target)
        assert isinstance(program, Program)
        if not program.inputs:
            continue
        plan = flatten(program)
        low, high = (np.array([[float(v) for v in end]]) for end in (program.low, program.high))
        part = low + rng.random((40, low.shape[1])) * (high - low)
        low, high = np.maximum(low, part - 0.2 * (high - low)), np.minimum(high, part + 0.2 * (high - low))
        bare, better = (sweep(plan, low, high, 500, rounds=rounds) for rounds in (0, 8))
        assert (better.closed | ~bare.closed).all()
        assert (better.lower >= bare.lower).all()
        gained += int((better.lower > bare.lower).sum())
    assert gained >= 5


def test_compiled_code_is_waited_for_beside() -> None:
    """A search goes on, and looks at its clock, while compiled code is made."""
    gate, name = Event(), "of this test"
    assert not beside(name, gate.wait, 0.01)
    gate.set()
    assert beside(name, gate.wait, 60.0)
    with pytest.raises(ZeroDivisionError):
        beside("another of this test", lambda: 1 // 0, 60.0)


def test_gradients_are_those_of_the_distance() -> None:
    system, formula = contracting(3)
    program = unroll(system, system.regions[0], nnf(parse(formula, system.vocabulary), negate=True))
    assert isinstance(program, Program)
    plan, x, h = flatten(program), np.array([[1.004, 0.003]]), 1e-6
    at = gradient.descent(plan, x, np.array([False]))
    for i in range(2):
        step = h * np.eye(2)[[i]]
        ends = [gradient.descent(plan, x + s * step, np.array([False])).distance[0] for s in (1, -1)]
        assert abs((ends[0] - ends[1]) / (2 * h) - at.slope[0, i]) < 1e-6


def test_a_small_pocket_is_found_by_descent() -> None:
    network = relu_network(
        [[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [[1.0, 1.0, 1.0, 1.0]]], [[-0.3, 0.3, -0.7, 0.7], [0.0]]
    )
    system = System("pocket")
    x, y, z = system.real("x", -9, 9), system.real("y", -9, 9), system.real("z", -9, 9)
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1, z == 0)
    system.branch("go", z=apply_network(network, [clip(x, 0, 1), y])[0])
    report = verify(system, "AG^2 z > 1/10000 | AX z > 1/10000", timeout=10)
    assert report.violated and report.decided_by == "branch-and-bound"


def lanes() -> System:
    """A car that is steered, and pushed by wind from the left, from the right, or not at all."""
    system, network = System("lanes"), relu_network([[[1.0], [-1.0]], [[-1.0, 1.0]]], [[0.0, 0.0], [0.0]])
    x = system.real("x", -9, 9)
    steer = clip(apply_network(network, [x])[0], -1, 1)
    for name, wind in (("left", -1), ("still", 0), ("right", 1)):
        system.branch(name, x=x + steer / 2 + Fraction(wind, 2), when=x + wind < 3)
    system.initial(x >= -1, x <= 1)
    return system


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("AG^3 x <= 1", "satisfied"),
        ("AG^3 x < 1", "violated"),
        ("AX (x < 3/4 | AX x < 7/8)", "violated"),
        ("AG^2 (x < 1 | AX x <= 1)", "satisfied"),
    ],
)
def test_a_few_paths_are_programs_each(formula: str, verdict: str) -> None:
    report, other = verify(lanes(), formula, timeout=60), verify(lanes(), formula, mode="exact", timeout=60)
    assert other.verdict == verdict
    assert (report.verdict, report.decided_by) == (verdict, "branch-and-bound")


def test_what_no_single_run_shows_is_left_to_others() -> None:
    asked = Question(lanes(), Bounded(parse("EF^2 x > 1", lanes().vocabulary)))
    with Run() as run:
        assert "no single run" in str(BRANCH_AND_BOUND.accepts(asked, run))


def test_the_hull_of_open_boxes_holds_all_answers() -> None:
    asked = question(7, 4)
    assert asked is not None
    program = unroll(asked.system, asked.system.regions[0], asked.target)
    assert isinstance(program, Program) and program.inputs
    box, rng = tuple(zip(program.low, program.high, strict=True)), np.random.default_rng(0)

    class OverError(Exception):
        pass

    for last in range(2, 12):
        looks = iter(range(last))

        def tick(looks=looks) -> None:
            if next(looks, None) is None:
                raise OverError

        search = Bisection(flatten(program), (box,), tick, 1, lambda *_: (False, None), compiled=False)
        with suppress(OverError):
            search.run()
        if search.result.point is None and not search.result.proved:
            hull = search.hull(0)
            for x in points(program, rng, 20):
                assert not program.holds(x) or all(a <= v <= b for v, (a, b) in zip(x, hull, strict=True))


@pytest.mark.parametrize("seed", some_slow(range(40), range(0, 40, 3)))
def test_a_box_with_a_run_on_the_threshold_stays_open(seed: int) -> None:
    system, rng = random_loop(seed, 5), np.random.default_rng(seed)
    program = unroll(system, system.regions[0], nnf(parse("AX^3 x[1] <= 0", system.vocabulary)))
    assert isinstance(program, Program)
    for x in points(program, rng, 3):
        value = program.values(x)[-1]
        if not value:
            continue
        number = f"{value[0].numerator}/{value[0].denominator}"
        low, high = (np.array([[float(v) for v in end]]) for end in (program.low, program.high))
        at = np.array([[float(v) for v in x]])
        for relation in (">", "<"):
            asked = nnf(parse(f"AX^3 x[1] {relation} {number}", system.vocabulary), negate=True)
            plan = flatten(unroll(system, system.regions[0], asked))  # type: ignore[arg-type]
            for sweep in (crown.sweep, compiled.sweep):
                assert not sweep(plan, low, high, 100).closed[0]
                exactly = all(Fraction(float(v)) == v for v in x)
                assert not exactly or not sweep(plan, at, at, 100).closed[0]


def test_no_run_leaves_the_ranges_that_intervals_keep() -> None:
    found = [0, 0]
    for seed in range(60):
        wide, narrow, rng = random_loop(seed, 4), random_loop(seed, 4), np.random.default_rng(seed)
        for name, decl in wide.variables.items():
            if not decl.integral:
                narrow.variables[name] = replace(decl, lower=Fraction(-int(rng.integers(1, 9))), upper=Fraction(5))
        target = " | ".join(f"x[{i + 1}] <= 0" for i in range(len(wide.variables)) if f"x[{i + 1}]" in wide.variables)
        asked = nnf(parse(f"AX ({target} | AX ({target}))", wide.vocabulary))
        program = unroll(wide, wide.regions[0], asked)
        assert isinstance(program, Program)
        kept = _kept(narrow, program)
        for x in points(program, rng, 10):
            states = [program.state(x)]
            for _ in range(program.steps):
                states.append(successors(wide, states[-1])[0].state)
            for name, decl in narrow.variables.items():
                inside = all(decl.lower <= state[name] <= decl.upper for state in states[1:])
                assert inside or name not in kept
        found[0] += len(kept)
        found[1] += len(narrow.variables) - len(kept)
    assert min(found) >= 20


def test_a_question_with_a_point_that_most_see_takes_no_box() -> None:
    system, formula = contracting(3)
    report = verify(system, formula.replace("y <= 1.02", "y <= 0"))
    assert report.verdict == "violated"
    (unrolled,) = (p for p in report.procedures if p.name == "branch-and-bound")
    assert dict(unrolled.figures)["boxes"].startswith("0 bounded")
