"""Certificates of unrolled loops from the default mode to `venmas check`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.checker.test_trees import loop
from venmas import verify
from venmas.checker.affine.scaled import scaled
from venmas.checker.affine.tree import MOST_GROUPS, written
from venmas.checker.file import check_certificate
from venmas.checker.goals.check import CheckError
from venmas.errors import ModelError
from venmas.logic import nnf, parse
from venmas.model import System, clip, load_scenario
from venmas.model.transform.program import Program
from venmas.model.transform.unroll import unroll
from venmas.procedures.branch_and_bound.certificate import _Open, _Proof
from venmas.procedures.branch_and_bound.tree import Tree


@pytest.mark.parametrize("text", ["AG^3 (x < 3.25)", "AX (y > -1.205 | x > 0.5)", "AG^2 (x < 2.5 | y < 0)"])
def test_what_is_satisfied_is_certified_by_a_tree(text: str, tmp_path: Path) -> None:
    path = tmp_path / "c.gz"
    report = verify(loop(), text, certificate=str(path), timeout=60)
    assert (report.verdict.value, report.basis, report.decided_by) == ("satisfied", "exact", "branch-and-bound"), (
        report.notes
    )
    assert check_certificate(path, loop()).leaves > 0


def test_what_is_violated_stays_so(tmp_path: Path) -> None:
    report = verify(loop(), "AG^3 (x < 3.05)", certificate=str(tmp_path / "c.gz"), timeout=60)
    assert report.verdict.value == "violated" and not (tmp_path / "c.gz").exists()


def test_a_run_that_may_leave_its_box_is_not_certified(tmp_path: Path) -> None:
    """x < 5 holds after a step, but x leaves its declared range in it."""
    system = System("leaves")
    x = system.real("x", -1, 2)
    system.branch("go", x=x + clip(x, 0, 1))
    system.initial(x >= 0, x <= 1.5)
    with pytest.raises(ModelError, match="x"):
        verify(system, "AX (x < 5)", certificate=str(tmp_path / "c.gz"), timeout=60)


def test_a_bundled_loop(tmp_path: Path) -> None:
    system = load_scenario("double_integrator").system(x1="1..3", x2="-0.5..0.5")
    path = tmp_path / "c.gz"
    report = verify(system, "AG^3 (x[1] <= 5)", certificate=str(path), timeout=60)
    assert report.verdict.value == "satisfied"
    assert check_certificate(path, system).leaves > 0
    with pytest.raises(CheckError, match="another system"):
        check_certificate(path, load_scenario("double_integrator").system(x1="1..3.1", x2="-0.5..0.5"))


def test_weights_are_for_groups_that_text_can_name() -> None:
    """Of the others a leaf is cut instead: they may be thousands."""
    program = unroll(loop(), loop().regions[0], nnf(parse("AX x >= 9", loop().vocabulary)))
    assert isinstance(program, Program)
    made = scaled(program, 30)
    work, whole = _Proof(made, Tree(), 10), _Open(0, (list(made.low), list(made.high)))
    (left,) = work._further(whole, {0: [1, 2], MOST_GROUPS: [2, 1]}, np.ones(len(made.low)))
    assert left.mixed and work.weights == {0: {0: [1, 2]}}
    assert work.text() == ("M", written({0: [1, 2]}))
    cut = work._further(_Open(0, whole.box), {MOST_GROUPS: [2, 1]}, np.array([9.0, 0.0, 0.0]))
    assert len(cut) == 2 and work.text() == ("0LL", "")
