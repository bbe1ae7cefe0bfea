"""LP files: what the three solvers read is the program that was written."""

import numpy as np
import pytest
from solver_kit import INF, B, I, relu_program, small

from venmas.solvers import get_solver
from venmas.solvers.milp.lp_format import to_lp
from venmas.solvers.milp.reduce import lower_indicators


def by_highs(path) -> bool:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(path) == highspy.HighsStatus.kOk
    highs.run()
    return highs.getModelStatus() == highspy.HighsModelStatus.kOptimal


def by_gurobi(path) -> bool:
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.read(path, env) as model:
        model.optimize()
        return model.Status == gurobipy.GRB.OPTIMAL


def by_scip(path) -> bool:
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    model.optimize()
    return model.getStatus() == "optimal"


READERS = {"highs": by_highs, "gurobi": by_gurobi, "scip": by_scip}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("seed", range(6))
def test_solvers_read_the_same_program(name, seed, tmp_path):
    solver = get_solver(name)
    if solver.available() is not None:
        pytest.skip(solver.available())
    for violated in (False, True):
        program, _ = relu_program(np.random.default_rng(seed), solver.features.indicators, violated)
        path = tmp_path / "program.lp"
        path.write_text(to_lp(program, ["a comment", "x0 = 1"]))
        assert READERS[name](str(path)) is not violated


def test_numbers_are_read_as_they_are(tmp_path):
    import highspy

    rng = np.random.default_rng(3)
    rows = [(range(20), rng.normal(size=20) * 10.0 ** rng.integers(-8, 8, 20), *sorted(rng.normal(size=2)))]
    rows += [([0, 3], [1 / 3, -1e-7], -INF, 0.1), ([1], [2.0], 1.0, 1.0), ([], [], -1.0, INF)]
    ends = [tuple(sorted(rng.normal(size=2) * 1e3)) for _ in range(17)]
    program = small([*ends, (-INF, INF), (-3, INF, I), (0, 1, B)], rows, objective=rng.normal(size=20))
    path = tmp_path / "program.lp"
    path.write_text(to_lp(program))
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("small_matrix_value", 1e-12)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    lp = highs.getLp()
    names = {n: i for i, n in enumerate(lp.col_names_)}
    order = [names[f"x{c}"] for c in range(20)]
    for found, expected in (
        (lp.col_lower_, program.lower),
        (lp.col_upper_, program.upper),
        (lp.col_cost_, program.objective),
    ):
        np.testing.assert_array_equal(np.array(found)[order], expected)
    assert [int(lp.integrality_[c]) for c in order] == [0] * 18 + [1] * 2
    point = rng.normal(size=20)
    activities = np.zeros(lp.num_row_)
    matrix = lp.a_matrix_
    columns = np.repeat(np.arange(20), np.diff(matrix.start_))
    back = np.argsort(order)
    np.add.at(activities, matrix.index_, np.array(matrix.value_) * point[back[columns]])
    rows_of = {n: i for i, n in enumerate(lp.row_names_)}
    expected = program.activities(point)
    for name, row, lower, upper in (
        ("r0l", 0, program.row_lower[0], INF),
        ("r0u", 0, -INF, program.row_upper[0]),
        ("r1u", 1, -INF, 0.1),
        ("r2", 2, 1.0, 1.0),
    ):
        at = rows_of[name]
        assert (lp.row_lower_[at], lp.row_upper_[at]) == (lower, upper)
        assert activities[at] == pytest.approx(expected[row], rel=1e-14)


def test_lowered_indicators_are_the_same(tmp_path):
    """The indicator is off only where its binary says so; both forms have the same greatest value."""
    program = small(
        [(0, 1, B), (0, 4), (0, 4)],
        [([1, 2], [1, 1], 5, INF)],
        [(0, True, [1], [1], -INF, 2, None), (0, False, [2], [1], -INF, 3, None)],
        objective=[0, 2, 1],
    )
    text = to_lp(program)
    assert "x0 = 1 -> + 1.0 x1 <= 2.0" in text and "x0 = 0 -> + 1.0 x2 <= 3.0" in text
    assert "->" not in to_lp(lower_indicators(program).program)
