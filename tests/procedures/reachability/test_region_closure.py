"""AG p over the reals by cells: sets that two phases do not find, and no wrong proof of random systems."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from venmas import System, verify
from venmas.answer import IncompleteError, Proved, Unknown
from venmas.budget import Budget, BudgetError, limited
from venmas.checker.file import check_certificate
from venmas.engine.certificates.file import write
from venmas.engine.parts.division import Piece, divide
from venmas.logic import TRUE, Always
from venmas.model import clip, where
from venmas.model.evaluation.regions import sample_initial
from venmas.model.evaluation.simulate import successors
from venmas.model.system.disturbances import drawn
from venmas.procedure import Run
from venmas.procedures.covers.procedure import CoverSearch
from venmas.procedures.forever.procedure import Forever
from venmas.procedures.hybrid.boxes import Boxes, Grid, cells, cut, distinct, groups
from venmas.procedures.inductive.proof import Inductive
from venmas.procedures.reachability.cell_grid import CellCounts, Cells
from venmas.procedures.reachability.cell_mapping import CELL_MAPPING
from venmas.question import Question, read_property
from venmas.testing.systems import BOX, systems


def around() -> System:
    """Round a square without end: a set of all its states that is convex has what lies within."""
    system = System("around")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    left, right = (y >= 1) & (x >= -1), (y <= -1) & (x <= 1)
    down, up = (x <= -1) & (y >= -1), (x >= 1) & (y <= 1)
    step = Fraction("0.4")
    system.branch(
        "go",
        {x: where(left, x - step, where(right, x + step, x)), y: where(down, y - step, where(up, y + step, y))},
    )
    system.initial(x >= 1.1, x <= 1.3, y >= 0, y <= 0.1)
    system.proposition("outside", (x >= 0.5) | (x <= -0.5) | (y >= 0.5) | (y <= -0.5))
    return system


def saw() -> System:
    """Up for 180 steps, then down once."""
    system = System("saw")
    x = system.real("x", 0, 100)
    system.branch("on", x=where(x <= 90, x + 0.5, 0.99 * x))
    system.initial(x >= 1, x <= 2)
    return system


@pytest.mark.parametrize(("make", "formula"), [(around, "AG outside"), (saw, "AG x <= 91")])
def test_what_two_phases_do_not_prove_is_proved_and_certified(make, formula, tmp_path, monkeypatch):
    for others in (Forever, CoverSearch):
        monkeypatch.setattr(others, "accepts", lambda *_: "it is left out")
    report = verify(make(), formula, certificate=tmp_path / "proof.gz")
    assert report.satisfied and report.decided_by == "cell-mapping" and report.basis == "exact", report.notes
    check_certificate(tmp_path / "proof.gz", make())


@pytest.mark.parametrize(("make", "formula"), [(around, "AG x > -1.3"), (saw, "AG x <= 90.4")])
def test_what_is_violated_is_not_proved(make, formula):
    assert not verify(make(), formula, timeout=2).satisfied


def test_a_run_that_may_leave_the_box_is_no_proof():
    system = System("off")
    x = system.real("x", 0, 8)
    system.branch("on", x=x + 1)
    system.initial(x <= 1)
    assert not isinstance(closed(system, "AG x <= 8", 4), Proved)
    system = System("within")
    x = system.real("x", 0, 8)
    system.branch("on", x=clip(x + 1, 0, 8))
    system.initial(x <= 1)
    assert isinstance(closed(system, "AG x <= 8", 1), Proved)
    assert not isinstance(closed(system, "AG x < 8", 4), Proved)


def closed(system, formula, grids):
    """What the procedure says of the first grids; the last answer, None where they are too coarse."""
    question = Question(system, read_property(system, formula), certified=True)
    with Run() as run:
        if CELL_MAPPING.accepts(question, run):
            return None
        session, found = CELL_MAPPING.start(question, run), None
        for _ in range(grids):
            found = found or session.advance(Budget())
    return found


@pytest.mark.slow
@settings(max_examples=20, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(systems(depth=1), st.integers(-1, BOX), st.integers(0, 99))
def test_proofs_hold_on_runs_and_before_the_checker(tmp_path_factory, system, limit, seed):
    """Exact runs stay in the set; where a certificate is written, it is accepted, which needs the whole set."""
    formula = f"AG (x <= {limit} | y >= 0)"
    found = closed(system, formula, 3)
    if not isinstance(found, Proved):
        assert found is None or isinstance(found, Unknown)
        return
    proof = found.proof
    rng = np.random.default_rng(seed)
    for state in sample_initial(system, rng, 5):
        for _ in range(12):
            assert state["x"] <= limit or state["y"] >= 0
            values = [state[n] for n in system.variables]
            assert proof is None or (isinstance(proof, Inductive) and proof.invariant.holds(values))
            after = list(successors(system, state))
            if not after:
                break
            state = after[int(rng.integers(len(after)))].state
    if isinstance(proof, Inductive) and len(proof.invariant.words) <= 40:
        path = tmp_path_factory.mktemp("cells") / "proof.gz"
        try:
            write(path, Question(system, read_property(system, formula)), proof)
        except IncompleteError:
            return
        check_certificate(path, system)


def cells_about(text: str) -> Cells:
    system = around()
    return Cells(Question(system, read_property(system, text)), (0, None, TRUE), CellCounts())


def test_the_time_is_looked_at_while_images_become_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their cells are the same, however few are taken at a time."""
    made = cells_about("AG outside")
    boxes = made.space.root()
    low = boxes.low + np.arange(60)[:, None] * (made.width // 70)
    many = Boxes(np.zeros(60, np.intp), low, low + made.width // 5, np.ones((60, 1), bool))
    grid = Grid(made.width // 32, made.low, sweep=0, swept=True)
    whole = distinct(made._reached(many, grid))
    parts, origin = cut(many, grid)
    keys = np.concatenate([origin[:, None], cells(parts, grid)], 1)
    assert len(whole) == len({tuple(row) for row in keys.tolist()}) > 100
    monkeypatch.setattr("venmas.procedures.reachability.cell_grid._TURN", 7)
    assert (distinct(made._reached(many, grid)) == whole).all()
    with limited(Budget(-1)), pytest.raises(BudgetError):
        made._reached(many, grid)


def test_too_many_cells_are_refused_while_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("venmas.procedures.reachability.cell_grid._EDGES", 10)
    monkeypatch.setattr("venmas.procedures.reachability.cell_grid._TURN", 1)
    made = cells_about("AG outside")
    whole = Boxes(np.zeros(1, np.intp), made.low[None], (made.low + made.width)[None], np.ones((1, 1), bool))
    with pytest.raises(OverflowError, match="more than 10 images"):
        made._reached(whole, Grid(made.width // 8, made.low, sweep=0, swept=True))


@given(st.lists(st.tuples(*[st.integers(-3, 3) | st.integers(-(2**60), 2**60)] * 3), max_size=30))
def test_distinct_rows(rows: list[tuple[int, ...]]) -> None:
    keys = np.array(rows, np.int64).reshape(-1, 3)
    assert distinct(keys).tolist() == [list(row) for row in sorted(set(rows))]
    assert (distinct(keys)[groups(keys)] == keys).all()


def late(noise: str) -> System:
    """Down by a tenth each step from 1, with noise: from step 20 on at most 0.122 + 10 noise."""
    system = System("late")
    x = system.real("x", -5, 5)
    w = system.disturbance("w", f"-{noise}", noise)
    system.branch("on", x=0.9 * x + w)
    system.initial(x >= 0, x <= 1)
    return system


@pytest.mark.parametrize(
    ("text", "seconds", "holds"),
    [
        ("AG x <= 1.01", 2, True),
        ("AG x <= 0.99", 0.5, False),  # of the initial state alone
        ("AG^40 x <= 0.99", 2, True),
        ("AX^30 (AG[0,10] x <= 0.2)", 2, True),
        ("AX^30 (AG[0,10] x <= 0.09)", 0.5, False),  # steady noise brings it to 0.1
        ("AX^5 (AG[0,30] x <= 0.2)", 0.5, False),
        ("AG[0,40] x <= 0.99", 0.5, False),
    ],
)
def test_noise_is_an_input_of_each_step(text: str, seconds: float, holds: bool) -> None:
    system = late("0.01")
    asked = read_property(system, text)
    question = Question(system if isinstance(asked, Always) else drawn(system, 40), asked)
    assert CELL_MAPPING.accepts(question, Run()) is None
    session, found = CELL_MAPPING.start(question, Run()), None
    with suppress(BudgetError):
        while found is None:
            found = session.advance(Budget(seconds))
            if session.figures.along > 512:
                break
    assert isinstance(found, Proved) is holds


def test_a_root_that_violates_is_looked_at_again_after_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time may end between the first cells and the look at them."""
    system = late("0.01")
    session = CELL_MAPPING.start(Question(system, read_property(system, "AG x <= 0.5")), Run())
    with monkeypatch.context() as patched:
        patched.setattr(Cells, "_violates", lambda self, cells: Budget(-1)())
        with pytest.raises(BudgetError):
            session.advance(Budget(5))
    assert not isinstance(session.advance(Budget(5)), Proved)


@pytest.mark.parametrize("which", [0, 1])
def test_a_part_of_the_noise_of_one_step_is_none_of_the_others(which: int) -> None:
    """Parts of an initial set may halve the noise of the first step; that of later ones is whole."""
    system = System("jump")
    y, d = system.real("y", -20, 20), system.real("d", -40, 40)
    w = system.disturbance("w", -10, 10)
    system.branch("go", {y: w, d: w - y})
    system.initial(y == 0, d == 0)
    made = drawn(system, 22)
    part = Piece(made.regions[0])
    assert divide(made, part) and part.cut == (2, Fraction(0))
    question = Question(
        made.with_regions([part.pieces[which].region]), read_property(system, "AG^22 (d <= 12 & d >= -12)")
    )
    session, found = CELL_MAPPING.start(question, Run()), None
    for _ in range(3):
        found = found or session.advance(Budget(60))
    assert not isinstance(found, Proved)
