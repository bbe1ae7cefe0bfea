"""A solver that lies is found out by the exact proof, and the program that it lied about is saved."""

from pathlib import Path

import highspy
import pytest

from tests.in_process import IN_PROCESS
from venmas import System, verify
from venmas.engine.report import Report
from venmas.model import absolute, maximum
from venmas.solvers import registry
from venmas.solvers.highs import Highs
from venmas.solvers.milp.program import Infeasible


class Liar(Highs):
    """Says "infeasible" of every program that reaches it."""

    def version(self) -> str:
        return "0.0-lying"

    def _run(self, program, time_limit, threads):
        return Infeasible()


class OnceLiar(Liar):
    """Lies once, and can not be caught at it again."""

    told = False

    def _run(self, program, time_limit, threads):
        if not self.told:
            self.told = True
            return Infeasible()
        return Highs._run(self, program, time_limit, threads)


def hat() -> System:
    """Two branches; the greatest level after a step is 1, at one point of the square only."""
    system = System("hat")
    x, y = system.real("x", -1, 1), system.real("y", -1, 1)
    level = system.real("level", -9, 9)
    height = 1 - absolute(x - "1/3") - maximum(y - "1/7", "2/7" - y * 2, 0)
    system.branch("up", level=height)
    system.branch("half", level=height / 2 - 1)
    system.initial(level == 0, x + y <= 1)
    return system


def asked(monkeypatch, tmp_path, solver, mode: str, trust: str = "exact", encoding: str = "big-m", **options) -> Report:
    monkeypatch.setitem(registry._REGISTRY, "highs", solver)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return verify(
        hat(),
        "AX level < 0.75",
        mode=mode,
        solver="highs",
        trust=trust,
        tune={**IN_PROCESS, "milp.encoding": encoding},
        **options,
    )


@pytest.mark.parametrize("mode", ["mono", "comp-seq"])
@pytest.mark.parametrize("encoding", ["big-m", "indicator"])
def test_the_program_is_saved(mode, encoding, monkeypatch, tmp_path: Path) -> None:
    believed = asked(monkeypatch, tmp_path, Liar(), mode, "solver", encoding=encoding)
    assert believed.satisfied and believed.basis == "solver"
    report = asked(monkeypatch, tmp_path, Liar(), mode, encoding=encoding)
    assert report.violated and report.replay.confirmed
    (path,) = tmp_path.glob("*.lp")
    assert report.notes[0].startswith("highs called this satisfied, wrongly")
    assert report.notes[1].startswith(f"highs 0.0-lying calls the program in {path} infeasible, which has a point")
    text = path.read_text()
    assert "\\ highs 0.0-lying calls this program infeasible" in text
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    names = highs.getLp().col_names_
    values = dict(line[2:].split(" = ") for line in text.splitlines() if line.startswith("\\ x"))
    for column, name in enumerate(names):  # the point in the comments is one: with it, nothing is left to choose
        value = float(values[name])
        highs.changeColBounds(column, value - 1e-9, value + 1e-9)
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal


def test_the_point_is_that_of_the_witness(monkeypatch, tmp_path: Path) -> None:
    report = asked(monkeypatch, tmp_path, Liar(), "mono")
    (path,) = tmp_path.glob("*.lp")
    for name, value in report.witness.initial.items():
        assert f"{name} = {value}" in path.read_text()


def test_a_lie_that_is_not_repeated_leaves_no_file(monkeypatch, tmp_path: Path) -> None:
    report = asked(monkeypatch, tmp_path, OnceLiar(), "mono")
    assert report.violated
    assert "asked again, no solver calls one infeasible" in report.notes[1]
    assert not list(tmp_path.iterdir())


def test_an_honest_solver_is_not_accused(monkeypatch, tmp_path: Path) -> None:
    report = asked(monkeypatch, tmp_path, Highs(), "mono")
    assert report.violated and not report.notes
    assert not list(tmp_path.iterdir())
