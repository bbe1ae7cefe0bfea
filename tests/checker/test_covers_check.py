"""Certificates of covers: what runs refute is refused on every grid; what the search covers is accepted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from tests.procedures.covers.systems import loop, runs, task
from tests.slow import some_examples
from venmas import System, verify
from venmas.budget import Budget, BudgetError
from venmas.checker.covers.check import Followed
from venmas.checker.covers.grid import Finer, Grid
from venmas.checker.file import KINDS, check_certificate
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End
from venmas.engine.modes import MODES, Mode, Turn, modes
from venmas.model import where

FINE = {"bits": 60, "order": 4, "substeps": 1, "slices": 1, "symbols": 20}


def check(
    system: System,
    text: str,
    grid: Grid | dict[str, Any],
    kind: str = "bounded",
    inside: bool = False,
    seconds: float | None = None,
) -> Any:
    """The result of a check of such a claim. Raises `BudgetError` after so many seconds."""
    budget = Budget(seconds)
    row = grid.to_json() if isinstance(grid, Grid) else grid
    claim = Claim(text, kind, "real", inside)  # type: ignore[arg-type]
    return KINDS["covers"].check(About(claim, system, {}), Lines([row, End(2).to_json()], lambda _: budget()))


def turning() -> System:
    """A turn that shrinks, with noise: no box of the variables is closed, and covers show that it stays small."""
    system = System("turning")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    w = system.disturbance("w", "-0.01", "0.01")
    system.branch("go", {x: (x - y) * Fraction(3, 5) + w, y: (x + y) * Fraction(3, 5)})
    system.initial(x >= "0.9", x <= 1, y >= 0, y <= "0.1")
    return system


def grid(**changes: Any) -> dict[str, Any]:
    """A line about it."""
    one = Grid((("60", "0"), ("0", "60")), (), (), 1, 5000, **FINE)
    return one.to_json() | changes


def test_a_turn_is_covered_for_ever() -> None:
    found = check(turning(), "AG (x <= 1.1 & y <= 1.1)", grid(), "always", inside=True)
    assert isinstance(found, Followed) and found.lines == 2 and 20 < found.boxes < 5000
    check(turning(), "AX^3 AG[0,9] x <= 1.1", grid(stride=2), inside=True)


@pytest.mark.parametrize(
    ("changes", "text", "told"),
    [
        ({}, "AG x <= 0.99", "after 0 steps"),
        ({}, "AG (x <= 1.1 & y <= 0.5)", "after 1 steps may break it"),
        ({"rows": [["60", "0"], ["30", "0"]]}, "AG x <= 1.1", "independent coordinates of x, y"),
        ({"rows": [["60", "0"]]}, "AG x <= 1.1", "expected 2 independent"),
        ({"rows": [["60", "0"], ["0"]]}, "AG x <= 1.1", "expected 2 independent"),
        ({"rows": [["60", "0"], ["0", "x"]]}, "AG x <= 1.1", "a rational"),
        ({"rows": [["1", "0"], ["0", "1"]]}, "AG x <= 1.1", "may break it"),
        ({"boxes": 20}, "AG x <= 1.1", "more than 20 boxes"),
        ({"finer": [[3, [1]]]}, "AG x <= 1.1", "expected 2 independent"),
        ({"cuts": [[1, [[0, 1]]]]}, "AG x <= 1.1", "a level up to 16 and 2 numbers from step 1 on"),
        ({"cuts": [[0, [[0, 0, 1]]]]}, "AG x <= 1.1", "a level up to 16 and 3 numbers from step 0 on"),
        ({"cuts": [[1, [[17, 0, 1]]]]}, "AG x <= 1.1", "expected cells of a level"),
        ({"cuts": [[1, [[0, 0, 1]]]] * 1001}, "AG x <= 1.1", "at most 1000 changes"),
        ({"finer": [[k, [k % 2, 0]] for k in range(1, 1002)]}, "AG x <= 1.1", "at most 1000 changes"),
        ({"cuts": [[1, [[-1, 0, 1]]]]}, "AG x <= 1.1", "expected cells of a level"),
        ({"cuts": [[1, [[0, 0, 1 << 46]]]]}, "AG x <= 1.1", "a whole number from"),
        ({"cuts": [[-1, [[0, 0, 1]]]]}, "AG x <= 1.1", "a whole number from"),
        ({"stride": 0}, "AG x <= 1.1", "from 1 to 1000"),
        ({"rows": [["1e9", "0"], ["0", "60"]]}, "AG x <= 1.1", "a rational"),
        ({"rows": [["#ffffffffffffffff", "0"], ["0", "60"]]}, "AG x <= 1.1", "too wide"),
    ],
)
def test_what_is_not_shown_is_refused(changes: dict[str, Any], text: str, told: str) -> None:
    with pytest.raises(CheckError, match=told):
        check(turning(), text, grid(**changes), "always")


@pytest.mark.parametrize(
    ("text", "kind"), [("EF x <= 0", "unbounded"), ("AG EF x <= 0", "unbounded"), ("EX^9 x <= 1", "bounded")]
)
def test_other_claims_are_refused(text: str, kind: str) -> None:
    with pytest.raises(CheckError, match="a cover is about AG p"):
        check(turning(), text, grid(), kind)


def test_a_claim_of_another_kind_than_its_formula_is_refused() -> None:
    with pytest.raises(CheckError, match="a cover is about AG p"):
        check(turning(), "AG x <= 1.1", grid(), "bounded")


def test_ranges_that_may_be_left_are_refused_where_they_are_claimed() -> None:
    system = turning()
    narrow = System("narrow")
    x, y = narrow.real("x", -9, 9), narrow.real("y", -1, 1)
    narrow.branch("go", {x: (x - y) * Fraction(3, 5), y: x * Fraction(6, 5) + y / 5})
    narrow.initial(x >= "0.9", x <= 1, y >= 0, y <= "0.1")
    check(narrow, "AG[0,6] x <= 1.1", grid(), inside=False)
    with pytest.raises(CheckError, match="y may leave its range after"):
        check(narrow, "AG[0,6] x <= 1.1", grid(), inside=True)
    check(system, "AG[0,6] x <= 1.1", grid(), inside=True)


def test_integers_that_change_are_refused() -> None:
    system = System("counts")
    x, n = system.real("x", -9, 9), system.integer("n", 0, 3)
    system.branch("go", {x: x / 2, n: where(n >= 3, 0, n + 1)})
    system.initial(x == 1, n == 0)
    with pytest.raises(CheckError, match="the integer n changes"):
        check(system, "AG x <= 2", grid(), "always")


def test_sets_are_looked_at_before_the_window_only_where_ranges_are_claimed() -> None:
    """x is beyond the limit until step 3."""
    system = System("late")
    x = system.real("x", -9, 9)
    system.branch("go", {x: x / 2})
    system.initial(x >= 7, x <= 8)
    line = Grid((("50",),), (), (), 1, 500, **FINE)
    check(system, "AX^3 AG[0,9] x <= 1.1", line, inside=True)
    with pytest.raises(CheckError, match="after 2 steps"):
        check(system, "AX^2 AG[0,9] x <= 1.1", line)


@some_examples(
    8,
    25,
    st.integers(0, 2**20),
    st.booleans(),
    st.integers(0, 4),
    st.integers(1, 4),
    st.integers(1, 6),
    st.sampled_from([-0.02, -1e-9, 0.0, 0.1, 0.5]),
    st.booleans(),
    st.integers(-3, 2),
)
def test_no_grid_shows_what_runs_refute(
    seed: int, smooth: bool, begin: int, stride: int, along: int, margin: float, forever: bool, halved: int
) -> None:
    """Random systems, random coordinates and directions, limits at and just below what runs reach."""
    system, rng = loop(seed, smooth), np.random.default_rng(seed)
    asked = task(system, 0, 12)
    states = runs(asked, seed, 12)
    assume(len(states) == 13)
    begin = 0 if forever else begin
    reached = float(states[begin:, :, 0].max())
    limit = Fraction(reached) + Fraction(margin)
    n = len(asked.axes.names)
    spread = np.maximum(np.ptp(states, axis=(0, 1)), 1e-3)
    skew = rng.normal(size=(n, n)) * 0.4 + np.eye(n)
    scale = 8 * along / spread
    rows = tuple(tuple(str(Fraction(float(c)).limit_denominator(1000)) for c in row * scale) for row in skew)
    line = Grid(rows, (Finer(3, (max(halved, 0),) * n),), (), stride, 400, **FINE)
    if halved < 0:
        turned = rng.integers(-4, 5, size=(-halved, n)).tolist()
        line = replace(line, finer=(), directions=tuple(map(tuple, turned)))
    text = f"AG x0 <= {limit}" if forever else f"AX^{begin} AG[0,{12 - begin}] x0 <= {limit}"
    if not begin and not forever:
        text = f"AG[0,12] x0 <= {limit}"
    try:
        check(system, text, line, "always" if forever else "bounded", seconds=2.0)
    except (BudgetError, CheckError):
        return
    assert reached <= limit


@some_examples(3, 8, st.integers(0, 2**20), st.booleans())
def test_what_the_search_covers_is_written_and_accepted(seed: int, smooth: bool) -> None:
    system = loop(seed, smooth)
    states = runs(task(system, 0, 30), seed, 30)
    assume(len(states) == 31)
    limit = Fraction(float(states[:, :, 0].max())).limit_denominator(10**6) + Fraction(1, 2)
    with TemporaryDirectory() as folder:
        path = Path(folder, "c.gz")
        report = verify(system, f"AG x0 <= {limit}", timeout=3, workers=1, certificate=path, mode="invariant")
        assert not report.violated or report.replay.confirmed  # by a run that sampling did not meet
        if path.exists():
            assert check_certificate(path, system).lines


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A mode that has no other procedure."""
    monkeypatch.setitem(MODES, "alone", Mode("alone", "covers", ((Turn("covers"),),), kinds=("always",)))
    modes.cache_clear()
    yield
    modes.cache_clear()


@pytest.mark.usefixtures("alone")
def test_others_come_after_a_while_where_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("venmas.procedures.covers.procedure._PATIENCE", 0.3)
    report = verify(turning(), "AG y <= 0.726", mode="alone", workers=1)
    assert report.reason == "open" and "in a while" in report.message


@pytest.mark.usefixtures("alone")
def test_a_proof_that_is_not_written_in_time_is_one_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "c.gz"
    report = verify(turning(), "AG x <= 1.1", timeout=10, workers=1, certificate=path, mode="alone")
    assert report.satisfied and path.exists() and check_certificate(path, turning()).lines == 2
    path.unlink()
    monkeypatch.setattr("venmas.procedures.covers.proof._WRITING", 1e-9)
    report = verify(turning(), "AG x <= 1.1", timeout=10, workers=1, certificate=path, mode="alone")
    assert report.satisfied and report.decided_by == "covers" and not path.exists()
    assert any("not certified" in note for note in report.notes)


def test_cuts_far_from_all_initial_sets_are_refused() -> None:
    """No traceback of a paving that has no numbers for its cells."""
    far = 1 << 45
    cells = [[0, far, far, 0], [16, -far, 1, -far]]
    with pytest.raises(CheckError, match="too wide for the grid"):
        check(turning(), "AG x <= 2", grid(cuts=[[0, cells]]), "always")
