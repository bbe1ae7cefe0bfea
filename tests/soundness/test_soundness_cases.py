"""The 18 published cases that fool floats and tolerances: quick parts of `python -m tests.soundness cases`."""

from pathlib import Path

import pytest

from tests.slow import some_slow
from tests.soundness.cases import SOLVERS, ask, read_cases
from venmas.solvers import solver_order


@pytest.mark.parametrize("number", range(18))
def test_exact_mode_is_right_and_certified(data_dir: Path, number: int) -> None:
    assert ask(read_cases(data_dir)[number], "exact").problem == ""


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("mode", "encoding"), some_slow([("mono", "big-m"), ("comp-seq", "indicator")], [1]))
def test_a_solver_with_trust_exact_is_right(data_dir: Path, mode: str, encoding: str, solver: str) -> None:
    if solver not in {s.name for s in solver_order("auto")}:
        pytest.skip(f"{solver} is not installed")
    asked = [ask(case, mode, solver, encoding) for case in read_cases(data_dir)]
    assert [(a.case.name, a.problem) for a in asked if a.problem] == []


def test_where_a_solver_fails_a_proof_answers(data_dir: Path) -> None:
    """HiGHS refuses coefficients of 1e17; the question is left open by --trust solver and decided otherwise."""
    case = next(c for c in read_cases(data_dir) if c.name == "absorb_1e17")
    assert ask(case, "comp-seq", "highs", trust="solver").report.reason == "failure"
    for trust in ("exact", "auto"):
        assert ask(case, "comp-seq", "highs", trust=trust).report.violated
