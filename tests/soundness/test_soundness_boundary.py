"""Questions beside exactly known boundaries: a part of `python -m tests.soundness boundary`."""

from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path

import pytest

from tests.soundness.boundary import ask
from tests.soundness.questions import Question, all_questions, random_network, random_thresholds
from tests.soundness.regions import box, q, through
from venmas.engine.certificates.goals import prove


@pytest.fixture(scope="module")
def questions(data_dir: Path) -> list[Question]:
    """Every family, not every size of move; two-dimensional thresholds take longest."""
    return [x for x in all_questions(data_dir, quick=True) if abs(x.moved) in (0, Fraction("1e-9"), Fraction("1e-12"))]


def test_exact_mode_is_right_on_both_sides_of_a_boundary(questions: list[Question]) -> None:
    assert {x.holds for x in questions} == {True, False}
    asked = [ask(x) for x in questions if x.family != "random 2-D, threshold"]
    assert [(a.question.name, float(a.question.moved), a.problem) for a in asked if a.problem] == []


@pytest.mark.parametrize(("mode", "solver"), [("mono", "highs"), ("comp-seq", "highs")])
def test_so_is_a_solver_with_trust_exact(questions: list[Question], mode: str, solver: str) -> None:
    asked = [ask(x, mode, solver) for x in islice(questions, 0, None, 7)]
    assert [(a.question.name, float(a.question.moved), a.problem) for a in asked if a.problem] == []


def test_boundaries_in_the_plane_need_few_splits() -> None:
    """Cells are halved while many units are open: cutting along every unit first took 157 splits here."""
    question = next(x for x in random_thresholds(4, 2, 8, 8, 1) if x.moved == Fraction("1e-9"))
    proof = prove(question.system, question.formula)
    assert proof.complete
    assert proof.splits < 60


def test_the_enumeration_agrees_with_the_network() -> None:
    """Pieces cover the square, and between their vertices the network is what they say."""
    network = random_network(3, 2, 6, 6, 2)
    area = q(0)
    for piece in through(network, box((q(-1), q(1)), (q(-1), q(1)))):
        corners = [*piece.points, piece.points[0]]
        area += abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in pairwise(corners))) / 2
        middle = [sum(side) / len(piece.points) for side in zip(*piece.points, strict=True)]
        expected = [sum(side) / len(piece.values) for side in zip(*piece.values, strict=True)]
        found = network.evaluate_exact([Fraction(int(v.numerator), int(v.denominator)) for v in middle])
        assert [Fraction(int(v.numerator), int(v.denominator)) for v in expected] == list(found)
    assert area == 4
