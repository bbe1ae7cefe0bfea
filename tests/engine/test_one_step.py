"""Formulas about the next state that are decided as queries, against the other modes."""

import time
from fractions import Fraction
from pathlib import Path

import pytest

from venmas import load_network, verify
from venmas.errors import ModelError
from venmas.formats.vnnlib.reader import read_vnnlib
from venmas.logic import AX, Atom, Not
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model import System, apply_network, where
from venmas.model.expressions.expr import Expr, Sum
from venmas.nn import relu_network
from venmas.procedure import Run
from venmas.procedures.branch_and_bound.bisect import Bisection
from venmas.procedures.branch_and_bound.procedure import BRANCH_AND_BOUND
from venmas.procedures.branch_and_bound.query_box import query_system
from venmas.question import Question, read_property

TENT = relu_network([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -0.5], [0.0]], name="tent")
SUM = relu_network([[[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]], name="max")  # 2 max(x, y) if >= 0


def tent(top: float = 10) -> System:
    system = System("tent")
    x, y, z = system.real("x", 0, 1), system.real("y", -top, top), system.real("z", -9, 9)
    system.initial(x >= 0, x <= 1, y == 1, z >= 2)
    system.branch("go", y=apply_network(TENT, [x])[0], x=1 - x)
    return system


def why(system: System, formula: str) -> str:
    """Why unrolled loops do not take the question."""
    return next(p.why for p in verify(system, formula).procedures if p.name == "branch-and-bound")


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("AX y <= 0.5", "satisfied"),
        ("AX y < 0.5", "violated"),
        ("EX y <= 0.5", "satisfied"),
        ("AX (y <= x & y <= 1 - x)", "satisfied"),
        ("AX (y < x | y < 1 - x)", "violated"),
        ("AX (z >= 2 | y > 1)", "satisfied"),
    ],
)
def test_agrees_with_the_search_in_rationals(formula: str, verdict: str) -> None:
    found, other = verify(tent(), formula), verify(tent(), formula, mode="exact")
    assert (found.verdict, other.verdict) == (verdict, verdict)
    assert (found.replay is not None and found.replay.confirmed) == (verdict == "violated")


def test_regions_may_be_cut_by_planes() -> None:
    system = System("max")
    x, y = system.real("x", 0, 4), system.real("y", 0, 4)
    system.initial(x + y <= 1, x >= y)
    system.branch("go", x=apply_network(SUM, [x, y])[0], y=y)
    for formula, verdict in (
        ("AX x <= 2", "satisfied"),
        ("AX x < 2", "violated"),
        ("AX (x <= 1 | y <= 0.5)", "satisfied"),
        ("AX (x < 1 | y < 0.5)", "violated"),
        ("AX x - 2*y >= 0", "satisfied"),
    ):
        found = verify(system, formula)
        assert (found.verdict, found.decided_by) == (verdict, "branch-and-bound"), formula
        assert verify(system, formula, mode="exact").verdict == verdict, formula


def test_leaving_the_declared_box_is_reported() -> None:
    with pytest.raises(ModelError, match="y"):
        verify(tent(top=1 / 4), "AX y <= 3")


@pytest.mark.parametrize(("factor", "verdict"), [(1, "satisfied"), (1 - Fraction(1, 10**30), "violated")])
def test_ties_of_outputs_larger_than_those_of_queries(factor: Fraction, verdict: str) -> None:
    system = System("large")
    x, y = system.real("x", 0, Fraction(9, 10)), system.real("y", -(10**100), 10**100)
    system.initial(y == 0)
    system.branch("go", y=apply_network(relu_network([[[1e100]]], [[0.0]]), [x])[0])
    least = LinearExpr.variable("y") - LinearExpr((), factor * Fraction(1e100) * 9 / 10)
    assert verify(system, AX(Atom(Comparison(least, Relation.LE))), timeout=30).verdict == verdict


def test_coefficients_beyond_all_floats_are_left_to_others() -> None:
    system, large = System("large"), Fraction(10) ** 100
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    system.real("z", 0, 0)
    system.initial(y == 0)
    product: Expr = x
    for _ in range(4):
        product = Sum(((large, product),), Fraction(0))
    system.branch("go", y=apply_network(TENT, [x])[0], z=product)
    with pytest.raises(ModelError, match="branch 'go' of system 'large' leaves the declared box: z"):
        verify(system, "AX z <= 1", timeout=30)


def test_other_systems_are_not_of_this_kind() -> None:
    system = tent()
    system.branch("stay")
    asked = Question(system, read_property(system, "EX y <= 3"))
    assert "several branches" in str(BRANCH_AND_BOUND.accepts(asked, Run()))
    assert "present state" in why(tent(), "y <= 3")
    system = System("guarded")
    x = system.real("x", 0, 1)
    system.initial(x >= 0)
    system.branch("go", x=apply_network(TENT, [x])[0], when=where(x > 0.5, x, 1) > 0.5)
    assert "affine" in why(system, "AX x <= 3")


def test_a_hard_question_leaves_half_of_the_time_to_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []

    def endless(self: Bisection, falsify: object) -> None:
        try:
            while True:
                self.tick()
                time.sleep(0.01)
        finally:
            ends.append(time.monotonic())

    monkeypatch.setattr(Bisection, "run", endless)
    monkeypatch.setattr("venmas.budget.Shares.left", lambda *_: -1.0)  # nor does the search in rationals decide
    begun = time.monotonic()
    report = verify(tent(), "AX y <= 1", timeout=3)  # two thirds of it are for this mode, half of them for queries
    assert (report.verdict, report.decided_by) == ("satisfied", "reachability")
    assert next(p.why for p in report.procedures if p.name == "branch-and-bound") == "its time was over"
    assert 1 <= ends[1] - begun < 1.9  # in two turns; then it is asked whether runs stay in the box
    assert len(ends) == 3


def test_acas_xu(data_dir: Path) -> None:
    folder = data_dir / "acasxu"
    network = load_network(folder / "onnx" / "ACASXU_run2a_2_2_batch_2000.onnx")
    for prop, verdict in ((2, "violated"), (3, "satisfied")):
        (case,) = read_vnnlib(folder / "vnnlib" / f"prop_{prop}.vnnlib").cases
        report = verify(query_system(network, case.boxes), AX(Not(case.condition)), timeout=60, workers=1)
        assert report.verdict == verdict
