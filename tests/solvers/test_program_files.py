"""LP and MPS files: HiGHS and SCIP read the program that was written, and say of it what they say of it directly."""

from tests.needs import needs

needs("pyscipopt")

import highspy
import numpy as np
import pyscipopt
import pytest
from solver_kit import INF, PROBLEMS, B, I, relu_program, small

from venmas.milp.lp_format import to_lp
from venmas.milp.mps_format import to_mps
from venmas.milp.program import Feasible, Infeasible, Kind
from venmas.milp.reduce import lower_indicators
from venmas.solvers import get_solver
from venmas.solvers.highs import _to_lp

WRITERS = {"lp": to_lp, "mps": to_mps}
FIXED = small([(1, 1, B), (0, 0, B), (0, 4)], [([0, 1, 2], [1, 1, 1], 0.5, 2)], objective=[-1, 1, 1])
SEVERAL = small(
    [(1, 1, B), (0, 0, B), (0, 1, B), (-3, -1, I), (0, 7, I), (-INF, 9, I), (-INF, 3), (0.1, INF), (2, 2), (-INF, INF)],
    [(range(10), [1.5, 0.1, 1 / 3, 1e-7, -1, 2, 3, 4, -5, 1e9], -0.1, 7), ([8], [1], -INF, INF), ([4], [1.0], 5, 5)],
)
GATED = small(
    [(1, 1, B), (0, 1, B), (-2, 4), (0, 4)],
    [([2, 3], [1, 1], 1, INF)],
    [(0, True, [2], [1], -INF, 1, None), (1, False, [3], [2], 3, 3, None), (1, True, [2, 3], [1, -1], -1, 2, None)],
    objective=[0, -9, 1, 1],
)
CORPUS = {p.name: p.make() for p in PROBLEMS} | {"fixed": FIXED, "several": SEVERAL, "gated": GATED}
for seed in range(6):
    for violated in (False, True):
        CORPUS[f"relu_{seed}_{violated}"] = relu_program(np.random.default_rng(seed), True, violated)[0]
TRAP = next(name for name in CORPUS if name.startswith("trap"))


def highs(load):
    """Status and value of the best point, by the settings that VenMAS uses where they matter here."""
    solver = highspy.Highs()
    for option, value in {"output_flag": False, "small_matrix_value": 1e-12, "mip_rel_gap": 1e-9}.items():
        solver.setOptionValue(option, value)
    assert load(solver) != highspy.HighsStatus.kError
    solver.run()
    status = solver.modelStatusToString(solver.getModelStatus())
    return ("Optimal" if status == "Empty" else status), solver.getInfo().objective_function_value


def scip(path):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    model.optimize()
    status = model.getStatus()
    return status, model.getObjVal() if status == "optimal" else None


def written(program, kind, folder):
    path = folder / f"program.{kind}"
    path.write_text(WRITERS[kind](program, comments=["a comment: x0 >= 5", "ENDATA"]))
    return str(path)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("name", CORPUS)
def test_highs_says_the_same(name, kind, tmp_path):
    """HiGHS knows no indicators: they are lowered. What it says of the traps is wrong, and wrong in both ways."""
    program = lower_indicators(CORPUS[name]).program
    path = written(program, kind, tmp_path)
    found, directly = highs(lambda h: h.readModel(path)), highs(lambda h: h.passModel(_to_lp(program)))
    assert found[0] == directly[0]
    if directly[0] == "Optimal":
        assert found[1] == pytest.approx(directly[1], rel=1e-6, abs=1e-6)
    if not name.startswith("trap"):
        outcome = get_solver("highs").solve(CORPUS[name])
        assert (found[0] == "Infeasible") is isinstance(outcome, Infeasible)
        assert (found[0] == "Optimal") is isinstance(outcome, Feasible)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("form", ["indicators", "big-m"])
@pytest.mark.parametrize("name", CORPUS)
def test_scip_says_the_same(name, form, kind, tmp_path):
    program = CORPUS[name]
    if form == "big-m":
        program = lower_indicators(program).program
    status, value = scip(written(program, kind, tmp_path))
    outcome = get_solver("scip").solve(program)
    assert (status == "infeasible") is isinstance(outcome, Infeasible)
    assert (status == "optimal") is isinstance(outcome, Feasible)
    if status == "optimal" and program.objective is not None:
        assert value == pytest.approx(program.objective @ outcome.point, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("name", ["fixed", "several", "gated", TRAP, "relu_0_False"])
def test_numbers_come_back_as_they_are(name, kind, tmp_path):
    """Every bound, coefficient and side, to the last bit; rows with two sides are two rows."""
    program = lower_indicators(CORPUS[name]).program
    solver = highspy.Highs()
    for option, value in {"output_flag": False, "small_matrix_value": 1e-12}.items():
        solver.setOptionValue(option, value)
    assert solver.readModel(written(program, kind, tmp_path)) == highspy.HighsStatus.kOk
    lp = solver.getLp()
    column = {text: i for i, text in enumerate(lp.col_names_)}
    assert sorted(column) == sorted(f"x{i}" for i in range(program.variables))
    order = [column[f"x{i}"] for i in range(program.variables)]
    lower, upper = (np.array(ends)[order] for ends in (lp.col_lower_, lp.col_upper_))
    rows = {text: i for i, text in enumerate(lp.row_names_)}
    if kind == "mps":  # bounds of binaries are rows
        for i in np.flatnonzero(program.kinds == Kind.BINARY):
            for text in (f"b{i}", f"b{i}l", f"b{i}u"):
                if (at := rows.get(text)) is not None:
                    lower[i], upper[i] = max(lower[i], lp.row_lower_[at]), min(upper[i], lp.row_upper_[at])
    np.testing.assert_array_equal(lower, program.lower)
    np.testing.assert_array_equal(upper, program.upper)
    assert [int(lp.integrality_[i]) for i in order] == [int(k != Kind.CONTINUOUS) for k in program.kinds]
    if program.objective is not None:
        np.testing.assert_array_equal(np.array(lp.col_cost_)[order], program.objective)
        assert lp.sense_ == highspy.ObjSense.kMaximize
    entries = {}
    matrix = lp.a_matrix_
    for j in range(program.variables):
        for at in range(matrix.start_[order[j]], matrix.start_[order[j] + 1]):
            entries[matrix.index_[at], j] = matrix.value_[at]
    for row in range(program.rows):
        ends = program.row_lower[row], program.row_upper[row]
        at = slice(program.indptr[row], program.indptr[row + 1])
        wanted = dict(zip(program.indices[at].tolist(), program.data[at].tolist(), strict=True))
        names = [text for text in (f"r{row}", f"r{row}l", f"r{row}u") if text in rows]
        assert bool(names) is bool(np.isfinite(ends).any())
        for text in names:
            assert {j: v for (i, j), v in entries.items() if i == rows[text]} == wanted
        if names:
            assert max(lp.row_lower_[rows[text]] for text in names) == ends[0]
            assert min(lp.row_upper_[rows[text]] for text in names) == ends[1]


def test_names_are_short_and_plain():
    """Whatever the program calls its columns."""
    text = to_mps(small([(0, 1, Kind.BINARY, "h <= 3"), (0, 1, Kind.CONTINUOUS, "end\n")], [([0, 1], [1, 1], 0, 1)]))
    assert "h <= 3" not in text and "end" not in text
    assert {line.split()[-1] for line in text.splitlines() if line.startswith(" BV")} == {"x0"}


def test_indicators_of_mps_name_their_rows():
    text = to_mps(GATED)
    assert text.endswith("INDICATORS\n IF i0u x0 1\n IF i1 x1 0\n IF i2l x1 1\n IF i2u x1 1\nENDATA\n")
    assert "INDICATORS" not in to_mps(lower_indicators(GATED).program)
