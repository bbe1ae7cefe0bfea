"""Mode adaptive where many variables are wide at once: bounds alone, and solvers where there is no reach graph."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.in_process import IN_PROCESS, in_process
from venmas import System, verify
from venmas.answer import Answer, Proved, Unknown
from venmas.bounds import expressions, linear_forms, methods
from venmas.budget import Budget, BudgetError
from venmas.checker.file import check_certificate
from venmas.errors import Reason
from venmas.logic import Bounded
from venmas.model import apply_network, clip
from venmas.nn import relu_network
from venmas.procedure import Run
from venmas.procedures.bound_propagation.procedure import BOUND_PROPAGATION
from venmas.procedures.branch_and_bound.procedure import BRANCH_AND_BOUND
from venmas.procedures.covers.procedure import COVERS
from venmas.procedures.exact.session import ExactSession
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.question import Question, read_formula

SUM = "x[1] + x[2] - x[3] + x[4] - x[5]"


def contraction(counted: bool = False, hidden: int = 24, scale: float = 1.0) -> System:
    """x' = 0.5 x + 0.1 clip(N(x), -1, 1) elementwise; `counted`: with an integer of too many values for regions."""
    rng, size = np.random.default_rng(0), 6
    weights = [scale * rng.normal(size=(hidden, size)), scale * rng.normal(size=(size, hidden))]
    network = relu_network(weights, [rng.normal(size=hidden), rng.normal(size=size)])
    system = System("contraction")
    x = [system.real(f"x[{i + 1}]", -1, 1) for i in range(size)]
    outputs = apply_network(network, x)
    system.branch("step", {v: 0.5 * v + 0.1 * clip(o, -1, 1) for v, o in zip(x, outputs, strict=True)})
    if counted:
        count = system.integer("count", 0, 5000)
        system.initial(*[v >= -1 for v in x], *[v <= 1 for v in x], count >= 0)
    else:
        system.initial(*[v >= -1 for v in x], *[v <= 1 for v in x])
    return system


def cart_pole() -> System:
    """A linearised cart with a pole, steps of 20 ms, and a stabilising controller of 16 ReLUs."""
    rng, gain = np.random.default_rng(1), np.array([1.0, 1.6, 18.0, 4.0])
    first = np.vstack([gain, -gain, 0.5 * rng.normal(size=(14, 4))])
    last = np.concatenate([[1.0, -1.0], 0.1 * rng.normal(size=14)])[None]
    network = relu_network([first, last], [np.zeros(16), np.zeros(1)])
    system = System("cart-pole")
    place, speed, angle, rate = (system.real(name, -10, 10) for name in ("place", "speed", "angle", "rate"))
    force = clip(apply_network(network, (place, speed, angle, rate))[0], -10, 10)
    turn = 15.78 * angle - 1.46 * force
    system.branch(
        "step",
        place=place + 0.02 * speed,
        speed=speed + 0.02 * (0.98 * force - 0.72 * angle),
        angle=angle + 0.02 * rate,
        rate=rate + 0.02 * turn,
    )
    system.initial(*[(v >= -0.1) & (v <= 0.1) for v in (place, speed, angle, rate)])
    return system


LOOPS = {
    "contraction": (contraction, "AG^5 x[1] < 0.99"),
    "cart-pole": (cart_pole, "AG^10 (angle < 0.5 & angle > -0.5)"),
}


@pytest.fixture
def not_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the question to what comes after flowpipes and the search over unrolled loops, covers left out."""
    for procedure in (BRANCH_AND_BOUND, COVERS, FLOWPIPES):
        monkeypatch.setattr(type(procedure), "accepts", lambda *_: "not now")


@pytest.mark.parametrize("name", LOOPS)
def test_unrolled_loops_decide_what_regions_do_not(name: str) -> None:
    build, formula = LOOPS[name]
    report = verify(build(), formula, timeout=10)
    assert report.satisfied and (report.basis, report.notes) == ("bounds", [])
    assert report.decided_by == ("flowpipes" if name == "cart-pole" else "branch-and-bound")  # by a first look


@pytest.mark.usefixtures("not_unrolled")
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("trust", ["auto", "exact"])
def test_bounds_decide_what_regions_do_not(name: str, trust: str) -> None:
    build, formula = LOOPS[name]
    report = verify(build(), formula, timeout=10, trust=trust)
    assert report.satisfied and report.basis == "bounds" and not report.solvers
    assert report.notes == [] and report.decided_by == "bound-propagation"
    assert report.graph.passes <= 1
    assert verify(build(), formula, mode="mono", timeout=10, tune=IN_PROCESS).satisfied


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("mode", ["adaptive", "exact", "mono"])
def test_what_bounds_refute_is_proved_in_rationals_by_enclosures(name: str, mode: str, tmp_path: Path) -> None:
    build, formula = LOOPS[name]
    file = tmp_path / "proof.gz"
    report = verify(build(), formula, mode=mode, timeout=60, certificate=file, tune=in_process(mode))
    assert report.satisfied and report.basis == "exact" and report.certificate is not None
    check_certificate(file, build())


@pytest.mark.parametrize("formula", ["AG^5 x[1] < 0.55", f"AG^2 {SUM} < 1.5"])
def test_what_is_false_is_violated(formula: str) -> None:
    assert verify(contraction(), formula, timeout=10).violated


@pytest.mark.usefixtures("not_unrolled")
def test_without_a_reach_graph_a_solver_finds_a_witness_and_is_believed_only_if_asked() -> None:
    system = contraction(counted=True, hidden=8, scale=0.5)
    report = verify(system, "AG^2 x[1] < 0.99", timeout=10)
    assert report.satisfied and report.basis == "bounds" and not report.solvers
    report = verify(system, f"AG^2 {SUM} < 2.2", timeout=20, solver="highs")
    assert report.violated and report.replay is not None and report.replay.confirmed and "highs" in report.solvers
    report = verify(system, f"AG^2 {SUM} < 2.7", timeout=20, solver="highs", trust="solver")
    assert report.satisfied and report.basis == "solver"


@pytest.mark.usefixtures("not_unrolled")
def test_what_only_a_solver_refuted_is_unknown() -> None:
    system = contraction(counted=True, hidden=8, scale=0.5)
    report = verify(system, f"AG^2 {SUM} < 2.7", timeout=8, solver="highs")
    assert report.verdict == "unknown" and report.reason == "time" and report.basis == ""
    assert "highs found no violation" in report.notes[-1] and "`--trust solver`" in report.notes[-1]


class EnoughError(Exception):
    """Raised by a clock."""


def test_bounds_go_on_where_they_were_left() -> None:
    system = contraction(hidden=8)
    session = BOUND_PROPAGATION.start(Question(system, Bounded(read_formula(system, "AG^5 x[1] < 0.99"))), Run())
    turns, answer = 0, None

    class Turns(Budget):
        def wait_for(self, seconds: float) -> None:
            nonlocal turns
            turns += 1
            if turns % 2 == 0:
                raise EnoughError

    while answer is None:
        with suppress(EnoughError):
            answer = session.advance(Turns())
    assert isinstance(answer, Proved) and 5 <= turns <= 12


def test_bounds_say_nothing_where_a_state_may_leave_its_box() -> None:
    system = System("leaves")
    x, y = system.real("x", -1, 1), system.real("y", -1, 1)
    system.branch("step", x=2 * x, y=y / 2)
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    answer = BOUND_PROPAGATION.start(Question(system, Bounded(read_formula(system, "AX^2 y <= 0.5"))), Run()).advance(
        Budget()
    )
    assert isinstance(answer, Unknown) and "stay in their box" in answer.message


def test_enclosures_alone_prove_nothing_false() -> None:
    system = contraction(hidden=8)
    for formula in ("AG^2 x[1] < 0.3", f"AG^2 {SUM} < 1.5"):
        answer = ExactSession(Question(system, Bounded(read_formula(system, formula))), whole=True).advance(Budget())
        assert isinstance(answer, Unknown) and "enclosures" in answer.message


@pytest.mark.parametrize("mode", ["mono", "comp-seq"])
def test_numbers_that_were_added_up_in_floats_refute_nothing(mode: str) -> None:
    """The output is 1e17 + 1 - 1e17: 1, and 0 in floats."""
    network = relu_network([np.zeros((3, 1)), np.array([[1.0, 1.0, -1.0]])], [np.array([1e17, 1.0, 1e17]), np.zeros(1)])
    system = System("cancels")
    x, y = system.real("x", -1, 1), system.real("y", -1000, 1000)
    system.branch("step", y=apply_network(network, (x,))[0])
    system.initial(x >= -1, x <= 1, y == 0)
    report = verify(system, "AX y < 0.5", mode=mode, trust="solver", tune=in_process(mode))
    assert not (report.satisfied and report.basis == "bounds")
    assert not verify(system, "AX y < 0.5", mode=mode, trust="exact", timeout=20, tune=in_process(mode)).satisfied


@pytest.mark.parametrize("most", [9, 3])
def test_bounds_that_are_broken_off_come_to_the_same_answer(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches that were looked at before a limit was met are not all: here the last one goes up."""
    calls = at = 0

    def broken() -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise BudgetError(Budget(), Reason.TIME, "it was broken off")

    def answer() -> Answer:
        system = System("several")
        x, y = system.real("x", -10, 10), system.real("y", -10, 10)
        system.branch("down", x=clip(x - 1, -y, y), y=y)
        system.branch("up", x=clip(x + 2, -y, y), y=y)
        system.initial(x >= 0, x <= 1, y >= 7, y <= 8)
        asked = Bounded(read_formula(system, f"AX^2 x <= {most}"))
        session = BOUND_PROPAGATION.start(Question(system, asked), Run())
        while True:
            with suppress(BudgetError):
                return session.advance(Budget(60))

    for room in (expressions, linear_forms, methods):
        monkeypatch.setattr(room, "ask", broken)
    whole, every = answer(), calls
    assert isinstance(whole, Proved) == (most == 9) and every > 4
    for number in range(1, every + 1):
        calls, at = 0, number
        assert answer() == whole
