"""How far an open question came: what is said to be proved is compared with runs, and the closest run with others."""

from tests.needs import needs

needs("jsonschema")

import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from venmas import verify
from venmas.answer import Remaining, Unknown
from venmas.budget import Budget, BudgetError
from venmas.engine.partial import closest, find, partial
from venmas.engine.partial.find import how_far
from venmas.engine.partial.prefix import Prefixes
from venmas.engine.report import Verdict
from venmas.engine.stored import read_report
from venmas.logic import parse
from venmas.model import System, clip, sin, tanh
from venmas.model.evaluation.simulate import step_batch
from venmas.procedure import Run
from venmas.procedures.covers.procedure import COVERS
from venmas.question import Question, drawn_for, read_property
from venmas.report import Checks, Source, html_page
from venmas.report.partial import next_questions
from venmas.report.plot.partial import pictures
from venmas.report.words import remedies

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "result.schema.json").read_text())


def swing() -> System:
    """A pendulum whose angle rises to some 1.44178, under a saturated torque: hard to bound near that."""
    system = System("swing")
    angle, speed = system.real("angle", -40, 40), system.real("speed", -90, 90)
    torque = system.agent(tanh(-8 * angle - 4 * speed), name="torque")
    plant = system.flow("0.05", {angle: speed, speed: 2 * sin(angle) + 4 * torque})
    system.branch("turn", plant.end)
    system.initial(angle >= "0.1", angle <= "1.2", speed >= -1, speed <= 1)
    return system


def grower(noise: bool = False) -> System:
    """x' = 1.1 x + w over some 20 steps: bounds are exact, and the last step is the largest."""
    system = System("grower")
    x, y = system.real("x", -1000, 1000), system.real("y", -10, 10)
    w = system.disturbance("w", -0.1, 0.1) if noise else 0
    system.branch("go", x=1.1 * x + w, y=clip(x - y, -1, 1))
    system.initial(x >= 1, x <= 2, y >= 0, y <= 1)
    return system


def _question(system: System, text: str) -> tuple[Question, object]:
    asked = read_property(system, text)
    return Question(drawn_for(system, asked), asked), asked


def _largest(system: System, name: str, steps: int) -> list[float]:
    rng = np.random.default_rng(3)
    state = {
        "angle": np.concatenate([rng.uniform(0.1, 1.2, 3000), [1.2, 1.2]]),
        "speed": np.concatenate([rng.uniform(-1, 1, 3000), [1, -1]]),
    }
    found = [float(state[name].max())]
    for _ in range(steps):
        state, _ = step_batch(system, state, np.zeros(3002, int))
        found.append(float(state[name].max()))
    return found


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has little time for it shall find the same."""
    monkeypatch.setattr(partial, "MOST", 60.0)
    monkeypatch.setattr(closest, "_FIRST", 30.0)
    monkeypatch.setattr(closest, "_MOST", 2)


@pytest.fixture(scope="module")
def report():
    with pytest.MonkeyPatch.context() as patch:  # a busy machine shall find a run, too
        patch.setattr(closest, "_FIRST", 30.0)
        patch.setattr(closest, "_COSTLY", 1e9)
        return verify(swing(), "AG^200 (angle <= 1.4418)", timeout=6)


def test_what_is_proved_is_true_of_all_runs(report) -> None:
    assert report.verdict == "unknown", "the loop is decided now: ask for less room"
    found = report.partial
    assert found.steps is not None
    assert found.steps >= 1
    assert max(_largest(swing(), "angle", found.steps)[1:]) <= 1.4418
    assert found.proved == f"AG^{found.steps} (angle <= 1.4418)"
    assert found.open == f"AG^{found.steps + 1} (angle <= 1.4418)"
    assert verify(swing(), found.proved, timeout=60).satisfied


def test_the_share_is_of_boxes_without_violation(report) -> None:
    found = report.partial
    assert 0 < found.share < 1
    assert found.around == {"angle": (0.1, 1.2), "speed": (-1.0, 1.0)}
    assert found.count >= len(found.boxes) > 0
    if found.count <= len(found.boxes):
        whole = 1.1 * 2
        size = sum((b["angle"][1] - b["angle"][0]) * (b["speed"][1] - b["speed"][0]) for b in found.boxes)
        assert found.share == pytest.approx(1 - size / whole)
    # a point of the part that is proved satisfies the formula
    system = swing()
    rng = np.random.default_rng(7)
    points = np.stack([rng.uniform(0.1, 1.2, 400), rng.uniform(-1, 1, 400)], 1)
    inside = [
        any(b["angle"][0] <= a <= b["angle"][1] and b["speed"][0] <= s <= b["speed"][1] for b in found.boxes)
        for a, s in points
    ]
    state = {"angle": points[:, 0], "speed": points[:, 1]}
    worst = np.full(400, -np.inf)
    for _ in range(200):
        state, _ = step_batch(system, state, np.zeros(400, int))
        worst = np.maximum(worst, state["angle"])
    assert (worst[~np.array(inside)] <= 1.4418).all() or found.count > len(found.boxes)


def test_the_closest_run_is_one_and_its_margin_is_right(report) -> None:
    run = report.partial.closest
    assert run is not None
    start = {n: np.array([float(v)]) for n, v in run.initial.items()}
    angles = []
    for state in run.run:
        assert {n: v[0] for n, v in start.items()} == pytest.approx(dict(state))
        angles.append(state["angle"])
        start, _ = step_batch(swing(), start, np.zeros(1, int))
    assert len(angles) == 201
    assert run.margin == pytest.approx(1.4418 - max(angles[1:]))
    assert angles[run.step] == max(angles[1:])
    # not far from the best of a fine search
    assert run.margin <= 1.4418 - max(_largest(swing(), "angle", 30)) + 0.3


def test_it_is_told_stored_and_drawn(report) -> None:
    text = str(report)
    assert "How far it got:" in text
    assert f"Proved: AG^{report.partial.steps} (angle <= 1.4418)." in text
    assert "of the initial set is proved" in text
    assert "misses a violation by" in text
    cut = report.partial.share >= 1e-4  # a busy machine may refute no box
    assert any("by itself" in line for line in next_questions(report)) == cut
    data = json.loads(json.dumps(report.to_json()))
    jsonschema.validate(data, SCHEMA)
    assert read_report(data).partial == report.partial
    needs("matplotlib")
    (picture,) = pictures(report)
    assert picture.svg.startswith("<svg")
    assert "open boxes" in picture.alt
    assert "<img" in report._repr_html_()
    assert "proved, or open in smaller boxes" not in picture.svg
    few = replace(report, partial=replace(report.partial, boxes=report.partial.boxes[:1]))
    (picture,) = pictures(few)  # what is not drawn is not called proved
    assert "proved, or open in smaller boxes" in picture.svg


def test_steps_follow_from_enclosures_where_nothing_was_cut() -> None:
    system = grower()
    question, asked = _question(system, "AG^20 (x <= 8)")
    found = how_far(system, asked, question, [], None)
    assert found.steps == 14  # 2 * 1.1^14 = 7.59, 2 * 1.1^15 = 8.35
    assert (found.proved, found.open) == ("AG^14 (x <= 8)", "AG^15 (x <= 8)")
    assert found.share is None
    assert found.closest is not None
    assert found.closest.margin <= 0  # a violation, as floats see it
    system = grower()
    question, asked = _question(system, "AX^3 AG[2,20] (x <= 8)")
    assert how_far(system, asked, question, [], None).proved == "AX^3 AG[2,11] (x <= 8)"
    system = grower()
    question, asked = _question(system, "AG (x <= 8)")
    assert how_far(system, asked, question, [], None).proved == "AG[0,14] (x <= 8)"


def test_noise_counts_in_steps_and_not_in_the_share() -> None:
    system = grower(noise=True)
    question, asked = _question(system, "AG^20 (x <= 8)")
    found = how_far(system, asked, question, [], None)
    assert found.steps == 11  # 2 * 1.1^k + (1.1^k - 1): 7.56 for k = 11, 8.42 for k = 12
    assert set(found.around) == {"x", "y"}
    box = {n: (question.system.box[n]) for n in question.system.variables}
    half = box | {"x": (Fraction(1), Fraction(3, 2)), "y": (Fraction(0), Fraction(1))}
    halves = [half | {"w": (Fraction(-1, 10), Fraction(0))}, half | {"w": (Fraction(0), Fraction(1, 10))}]
    cut = how_far(system, asked, question, [Remaining(tuple(halves))], None)
    assert cut.share == pytest.approx(0.5)  # of initial states: both halves are of the same ones
    assert cut.boxes[0] == {"x": (1.0, 1.5), "y": (0.0, 1.0)}


def test_an_open_side_condition_is_named() -> None:
    system = grower()
    question, asked = _question(system, "AG^20 (x <= 20)")
    found = how_far(system, asked, question, [Remaining((), 20, frozenset({"x"}))], None)
    assert (found.proved, found.open, found.leaving) == ("AG^20 (x <= 20)", "", ("x",))
    assert found.share == 1


@pytest.mark.parametrize("text", ["AF^3 (x > 2)", "EF^3 (x > 2)", "AG^3 (EX (x > 1))", "AG^3 (x < 9) & AG^3 (y < 9)"])
def test_other_formulas_have_no_greatest_number_of_steps(text: str) -> None:
    system = grower()
    assert Prefixes.of(parse(text, system.vocabulary)) is None
    question, asked = _question(system, text)
    assert how_far(system, asked, question, [], None).proved == ""


def test_regions_that_overlap_count_once() -> None:
    """What is open is in both of them: hardly anything is proved."""
    system = System("twice")
    x = system.real("x", 0, 4)
    system.branch("go", {x: x})
    decls = list(system.variables.values())
    one, other = {"x": (Fraction(0), Fraction(1))}, {"x": (Fraction(0), Fraction(10001, 10000))}
    assert find._share(decls, [one, other], [one]) <= 0.0001
    assert find._share(decls, [one, {"x": (Fraction(1), Fraction(2))}], [one]) == 0.5
    n = System("whole")
    n.integer("x", 0, 4)
    counted = list(n.variables.values())
    assert find._share(counted, [one, {"x": (Fraction(1), Fraction(2))}], [one]) == 0.0


def test_a_formula_that_grows_too_large_has_no_partial_result() -> None:
    system = grower()
    question, asked = _question(system, "AG[99990,*] (x <= 8)")
    assert how_far(system, asked, question, [], None).closest is None


def test_an_interrupt_while_it_is_looked_for_leaves_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("venmas.engine.partial.find.how_far", interrupted)
    report = verify(swing(), "AG^200 (angle <= 1.4418)", timeout=1)
    assert (report.verdict, report.partial) == ("unknown", None)


def test_what_is_open_for_ever_over_noise_says_how_far_it_got() -> None:
    """A turn that noise drives out in a million steps."""
    system = System("turn")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    w = system.disturbance("w", "-0.000001", "0.000001")
    system.branch("go", x=0.8 * x - 0.6 * y + w, y=0.6 * x + 0.8 * y)
    system.initial(x >= 0.9, x <= 1, y >= 0, y <= 0.1)
    report = verify(system, "AG x <= 1.5", timeout=1)
    assert report.verdict.value == "unknown" and report.partial is not None


def test_closest_runs_have_noise_of_each_step_where_there_is_no_bound() -> None:
    system = grower(noise=True)
    asked = read_property(system, "AG (x <= 900)")
    run = how_far(system, asked, Question(system, asked), [], None).closest
    assert run is not None and len(run.run) > 20
    assert set(run.initial) == {"x", "y"}


def test_steps_of_covers_are_told() -> None:
    """The cover that went farthest shows them; the claim is that of enclosures, or less."""
    system = grower(noise=True)
    asked = read_property(system, "AG (x <= 10)")
    question = Question(system, asked)
    with Run() as run:
        session = COVERS.start(question, run)
        assert session.remaining() is None
        with suppress(BudgetError):
            assert isinstance(session.advance(Budget(2.0)), Unknown)
        left = session.remaining()
    assert left is not None and left.steps is not None
    most = max(k for k in range(20) if 2 * 1.1**k + (1.1**k - 1) <= 10)
    assert 1 <= left.steps <= most
    assert how_far(system, asked, question, [left], None).steps in range(left.steps, most + 1)


def test_pictures_count_steps_from_the_initial_state() -> None:
    system = grower()
    question, asked = _question(system, "AX^3 AG[2,20] (x <= 8)")
    found = how_far(system, asked, question, [], None)
    assert (found.steps, found.before, found.first, found.until) == (11, 3, 5, 14)
    nothing = replace(found, proved="", steps=None)
    assert nothing.until == 4
    assert str(how_far(system, *_question(system, "AX^3 AG[0,9] (x <= 1)")[::-1], [], None).open) == "AX^3 (x <= 1)"


def test_several_open_parts_are_not_called_the_only_one(report) -> None:
    box = {"angle": (0.1, 0.2), "speed": (0.0, 1.0)}
    one = replace(report, partial=replace(report.partial, share=0.5, boxes=(box,), count=1))
    two = replace(report, partial=replace(report.partial, share=0.5, boxes=(box, box), count=2))
    none = replace(report, partial=replace(report.partial, share=1e-16, boxes=(report.partial.around,), count=1))
    assert any("the rest is proved" in line for line in next_questions(one))
    assert not any("the rest is proved" in line for line in next_questions(two))
    assert any("one of the open parts" in line for line in next_questions(two))
    assert "No part of the initial set is proved" in str(none) and "All of it is open" in str(none)


def test_pictures_have_bounds_and_the_variables_of_the_formula_first(report) -> None:
    needs("matplotlib")
    box = {"speed": (-1.0, 1.0), "angle": (0.1, 1.2)}
    moved = replace(report.partial, around=box, share=0.5)
    (picture,) = pictures(replace(report, partial=moved))
    assert "Initial set: angle and speed" in picture.svg
    assert "&lt;= 1.4418" in picture.svg
    (picture,) = pictures(replace(report, partial=replace(moved, around={**box, "more": (0.0, 1.0)})))
    assert "open for some values of the others" in picture.svg


def test_pages_have_the_picture_of_an_open_question(report) -> None:
    """It once stood with counterexamples, of which there is none."""
    needs("matplotlib", "jinja2")
    page = html_page(report, swing(), Source("swing"), Checks(), pictures(report))
    assert page.count("<img") == 1 and 'alt="The closest run, step by step' in page
    assert page.index("How far it got") < page.index("<img") < page.index("What may help")
    assert "There are no pictures" in html_page(report, swing(), Source("swing"), Checks(), (), "There are no pictures")


def test_modes_that_take_no_noise_are_not_named() -> None:
    system = grower(noise=True)
    found = verify(system, "AG (x <= 30)", timeout=2)
    assert found.verdict is Verdict.UNKNOWN or found.violated
    assert not any("abstraction" in text for text in remedies(replace(found, verdict=Verdict.UNKNOWN, reason="time")))
