"""Certificates that are graphs of regions: accepted from files, and every way in which a line of theirs is refused."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import gzip
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.checker.graphs import graph_certificates, ladder, open_case
from tests.checker.proofs import Certified, checked, is_violated, refusal
from venmas import verify
from venmas.checker.exact.cell import rational
from venmas.checker.file import check_certificate
from venmas.checker.goals.check import CheckError, claim
from venmas.checker.goals.initial import first_goal
from venmas.checker.goals.lemmas import Book, parts
from venmas.checker.goals.paths import Holds
from venmas.logic import AX, EX, parse
from venmas.logic.linear import invert
from venmas.model import System, load_scenario, where
from venmas.model.canonical.canonical import system_from_json, system_to_json
from venmas.model.canonical.writer import Writer
from venmas.model.expressions.expr import ArgMax, Compare
from venmas.model.system.networks import networks_of
from venmas.procedures.bound_propagation.procedure import BOUND_PROPAGATION
from venmas.procedures.exact.session import EXACT
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.procedures.polytopes.procedure import POLYTOPES

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/certificate.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
EXPAND = {"rule": "expand"}


# -- accepted ----------------------------------------------------------------------------------------------------------


def test_proofs_from_graphs_are_accepted_and_fit_the_schema():
    found = graph_certificates()
    rules = Counter(line["rule"] for c in found.values() for line in c.lines)
    for name, certified in found.items():
        assert refusal(certified) is None, name
        for line in {json.dumps(line): line for line in certified.lines[:300]}.values():
            VALIDATOR.validate(line)
    assert len(found) >= 30
    assert rules.keys() == {"frame", "lemma", "region", "expand", "split", "case", "keep", "within", "end"}
    assert {c.inside for c in found.values()} == {False, True}
    assert {c.semantics for c in found.values()} == {"real", "float32"}
    assert sum(name.startswith("pwl") for name in found) >= 3


def _twins() -> System:
    """Equal conditions that are written twice: they are one in the file."""
    system = System("twins")
    x, y = system.real("x", -2, 2), system.real("y", -2, 2)
    system.branch("pull", x=where(x + y <= 0, x / 2, x / 4), y=where(x + y <= 0, y / 4, y / 2))
    system.branch("stay", x=x, y=y, when=(x + y <= 0) | (x + y <= 1))
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    return system


@pytest.mark.parametrize(
    ("system", "text"),
    [
        (lambda: load_scenario("vcas").system(climb0="-22.5"), "AX^5 safe"),
        (ladder, "AX^2 x <= 3"),
        (open_case, "AX^2 (x <= 1 & y <= 1)"),
        (_twins, "AX x <= 1"),
    ],
    ids=["vcas", "ladder", "open case", "twins"],
)
def test_files_of_mode_adaptive_are_accepted(system, text, tmp_path, monkeypatch):
    for procedure in (BOUND_PROPAGATION, FLOWPIPES, POLYTOPES, EXACT):  # what they prove needs no lemmas
        monkeypatch.setattr(type(procedure), "accepts", lambda *_: "not now")
    built, path = system(), tmp_path / "c.gz"
    report = verify(built, text, mode="adaptive", certificate=path)
    assert report.certificate is not None and report.basis == "exact"
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    for line in {json.dumps(line): line for line in lines}.values():
        VALIDATOR.validate(line)
    assert any(line.get("rule") in ("lemma", "table") for line in lines)
    assert check_certificate(path, built).lines == len(lines) - 1 == report.certificate.lines - 1


# -- refused, by line --------------------------------------------------------------------------------------------------


@pytest.fixture
def halved() -> Certified:
    """From [0, 4] with m = 0 no step leads beyond 3: two lemmas of the next state, one of this, by cases of m."""
    system = System("halved")
    m, x = system.integer("m", 0, 1), system.real("x", 0, 4)
    system.branch("half", x=x / 2, m=where(x >= 1, 0, 1))
    system.initial(m == 0)
    next_ = {"rule": "lemma", "formula": 1, "frame": 0, "low": ["0"], "high": ["4"]}
    lines = (
        {"rule": "frame", "matrix": [["1/2"]]},
        {**next_, "integers": [0]},
        EXPAND,
        {**next_, "integers": [1]},
        EXPAND,
        {**next_, "formula": 0, "integers": [0], "high": ["8"]},
        {"rule": "case", "choice": 0},
        EXPAND,
        {"rule": "keep", "at": 1},
        {"rule": "within", "lemma": 2},
        EXPAND,
        EXPAND,
        {"rule": "within", "lemma": 4},
        {"rule": "region", "index": 0},
        {"rule": "within", "lemma": 6},
        {"rule": "end", "lines": 16},
    )
    return Certified(system, parse("AX x <= 3", system.vocabulary), False, lines)


def test_a_proof_by_lemmas_and_cases_is_accepted(halved):
    assert checked(halved).lines == 16 and checked(halved).shared == 3


def _changed(certified: Certified, line: int, **fields: object) -> Certified:
    lines = list(certified.lines)
    lines[line - 1] = {k: v for k, v in {**lines[line - 1], **fields}.items() if v is not None}
    return certified.but(lines=tuple(lines))


@pytest.mark.parametrize(
    ("line", "fields", "problem", "at"),
    [
        (1, {"matrix": [["0"]]}, "no inverse", 1),
        (
            1,
            {"matrix": [["1/2", "0"], ["0", "1"]]},
            "the matrix of a frame has 1 rows of 1 numbers, as there are real variables",
            1,
        ),
        (
            1,
            {"matrix": [["1/2", "0"]]},
            "the matrix of a frame has 1 rows of 1 numbers, as there are real variables",
            1,
        ),
        (1, {"matrix": ["1"]}, "frame: expected a list as matrix", 1),
        (1, {"matrix": [[1]]}, "expected a rational", 1),
        (1, {"matrix": []}, "the matrix of a frame has 1 rows of 1 numbers, as there are real variables", 1),
        (1, {"matrix": None}, "frame: expected the entries matrix", 1),
        (1, {"more": 1}, "frame: expected the entries matrix", 1),
        (1, {"matrix": [["1/4"]]}, "not within", 15),
        (1, {"matrix": [["1"]]}, "expected a step of a proof of a goal", 4),
        (2, {"formula": 2}, "from 0 to 1", 2),
        (2, {"formula": -1}, "lemma: expected a whole number from 0 as formula", 2),
        (2, {"formula": True}, "lemma: expected a whole number from 0 as formula", 2),
        (2, {"formula": "1"}, "lemma: expected a whole number from 0 as formula", 2),
        (2, {"formula": None}, "lemma: expected the entries formula, frame, integers, low, high", 2),
        (2, {"formula": 0}, "expected a step of a proof of a goal", 4),
        (2, {"frame": 1}, "from 0 to 0", 2),
        (2, {"frame": False}, "lemma: expected a whole number from 0 as frame", 2),
        (2, {"frame": -1}, "lemma: expected a whole number from 0 as frame", 2),
        (2, {"integers": []}, "a lemma has 1 integers and 1 coordinates, as the system", 2),
        (2, {"integers": [0, 0]}, "a lemma has 1 integers and 1 coordinates, as the system", 2),
        (2, {"integers": [False]}, "lemma: expected a whole number as integers", 2),
        (2, {"integers": ["0"]}, "lemma: expected a whole number as integers", 2),
        (2, {"integers": [1]}, "not within", 10),
        (2, {"low": ["5"]}, "box of the lemma is empty", 2),
        (2, {"low": []}, "a lemma has 1 integers and 1 coordinates, as the system", 2),
        (2, {"low": ["0", "0"]}, "a lemma has 1 integers and 1 coordinates, as the system", 2),
        (2, {"low": "0"}, "lemma: expected a list as low", 2),
        (2, {"low": [0]}, "expected a rational", 2),
        (2, {"low": ["1"]}, "not within", 10),
        (2, {"high": ["3"]}, "not within", 10),
        (2, {"high": ["7"]}, "expected a step of a proof of a goal", 4),
        (2, {"more": 1}, "lemma: expected the entries formula, frame, integers, low, high", 2),
        (6, {"high": ["9"]}, "not within", 10),
        (6, {"high": ["7"]}, "not within", 15),
        (6, {"formula": 1}, "keep: the goal has no obligation", 9),
        (7, {"choice": 1}, "from 0 to 0", 7),
        (7, {"choice": -1}, "case: expected a whole number from 0 as choice", 7),
        (7, {"choice": False}, "case: expected a whole number from 0 as choice", 7),
        (7, {"choice": None}, "case: expected the entries choice", 7),
        (7, {"more": 1}, "case: expected the entries choice", 7),
        (9, {"at": 2}, "from 0 to 1", 9),
        (9, {"at": -1}, "keep: expected a whole number from 0 as at", 9),
        (9, {"at": True}, "keep: expected a whole number from 0 as at", 9),
        (9, {"at": None}, "keep: expected the entries at", 9),
        (9, {"at": 0}, "no lemma about this", 10),
        (9, {"more": 1}, "keep: expected the entries at", 9),
        (10, {"lemma": 4}, "not within", 10),
        (10, {"lemma": 6}, "no lemma about this", 10),
        (10, {"lemma": 3}, "no lemma about this", 10),
        (10, {"lemma": 1}, "no lemma about this", 10),
        (10, {"lemma": 14}, "no lemma about this", 10),
        (10, {"lemma": "2"}, "within: expected a whole number from 0 as lemma", 10),
        (10, {"lemma": True}, "within: expected a whole number from 0 as lemma", 10),
        (10, {"lemma": [2]}, "within: expected a whole number from 0 as lemma", 10),
        (10, {"lemma": None}, "within: expected the entries lemma", 10),
        (10, {"more": 1}, "within: expected the entries lemma", 10),
        (15, {"lemma": 2}, "no lemma about this", 15),
    ],
)
def test_a_line_that_does_not_follow_is_refused_by_its_number(halved, line, fields, problem, at):
    with pytest.raises(CheckError, match=problem) as refused:
        checked(_changed(halved, line, **fields))
    assert refused.value.line == at


def _lines(halved: Certified, *lines: object) -> str:
    made = [*lines, {"rule": "end", "lines": len(lines) + 1}]
    return str(refusal(halved.but(lines=tuple(made))))


def test_a_lemma_is_not_used_in_its_own_proof(halved):
    frame, lemma = halved.lines[0], halved.lines[1]
    for named in range(4):
        assert "line 3: line" in _lines(halved, frame, lemma, {"rule": "within", "lemma": named})
        assert "line 3: line" in _lines(halved, frame, lemma, {"rule": "same", "as": named})


def test_a_lemma_without_proof_or_without_frame_is_refused(halved):
    frame, lemma = halved.lines[0], halved.lines[1]
    assert "line 3: expected a step of a proof of a goal" in _lines(
        halved, frame, lemma, {"rule": "region", "index": 0}
    )
    assert "line 3: expected a step of a proof of a goal" in _lines(halved, frame, lemma, lemma)
    assert "line 3: expected a step of a proof of a goal" in _lines(halved, frame, lemma, frame)
    assert "line 1: " in _lines(halved, lemma)


def test_lemmas_stand_before_a_region(halved):
    after = [*halved.lines[:-1], *halved.lines[:3], {"rule": "end", "lines": 19}]
    assert "line 16: expected end" in str(refusal(halved.but(lines=tuple(after))))


def test_rules_about_an_obligation_need_one():
    system = System("none left")
    x = system.real("x", 0, 4)
    system.branch("stay", x=x)
    system.initial(x >= 0)
    formula = parse("x <= 3", system.vocabulary)
    for line in ({"rule": "keep", "at": 0}, {"rule": "case", "choice": 0}, {"rule": "within", "lemma": 1}):
        lines = ({"rule": "region", "index": 0}, EXPAND, line)
        assert f"line 3: {line['rule']}: the goal has no obligation" in str(
            refusal(Certified(system, formula, False, lines))
        )


# -- faults that were found, or might be -------------------------------------------------------------------------------


def test_a_goal_over_integers_does_not_prove_a_lemma_over_reals_of_the_same_name():
    """The variable y0 is an integer; the coordinate y0 of a lemma is none. Accepted before, and false: x = 0.27."""
    system = System("clash")
    y, x = system.integer("y0", 0, 10), system.real("x", 0, 5)
    system.branch("step", {y: 0, x: y / 2})
    system.initial(x == 0)
    system.initial(y == 0)
    formula = parse("!((x > 1/4 & x < 3/10) | EX (x > 1/4 & x < 3/10))", system.vocabulary)
    assert is_violated(system, formula, {"y0": Fraction(0), "x": Fraction("0.27")})
    lines = (
        *({"rule": "region", "index": 0}, *[EXPAND] * 5, {"rule": "split", "form": ["-1", "1"]}, *[EXPAND] * 5),
        {"rule": "frame", "matrix": [["1/2"]]},
        {"rule": "lemma", "formula": 1, "frame": 0, "integers": [0], "low": ["0"], "high": ["10"]},
        {"rule": "same", "as": 7},
        *({"rule": "region", "index": 1}, EXPAND, {"rule": "within", "lemma": 14}, *[EXPAND] * 4),
        {"rule": "end", "lines": 23},
    )
    refused = refusal(Certified(system, formula, False, lines))
    assert refused is not None and "line 15: the goal of line 7 is another one" in refused


def test_goals_are_not_named_where_a_choice_is_assumed(halved):
    """What was refuted in one case is not refuted in the other."""
    start = [*halved.lines[:5], halved.lines[5], {"rule": "case", "choice": 0}]
    first = [EXPAND, EXPAND, {"rule": "within", "lemma": 2}]
    for named in range(6, 12):
        assert "line 11: line" in _lines(halved, *start, *first, {"rule": "same", "as": named})


def test_the_integers_of_a_state_are_those_of_the_lemma_alone(halved):
    """Without the case m may be 0 or 1: neither lemma holds the state."""
    for lemma in (2, 4):
        lines = [*halved.lines[:6], EXPAND, EXPAND, {"rule": "within", "lemma": lemma}]
        assert "line 9: the state is not within" in _lines(halved, *lines)


def test_a_case_after_a_step_is_about_that_state_and_outlasts_a_split(halved):
    two = halved.but(formula=parse("AX AX x <= 3", halved.system.vocabulary))
    lemmas = [{**line, "formula": 2} if line["rule"] == "lemma" else line for line in halved.lines[:5]]
    start = [*lemmas, {"rule": "region", "index": 0}, EXPAND, EXPAND, {"rule": "case", "choice": 0}]
    zero, one = ([EXPAND, {"rule": "keep", "at": 1}, {"rule": "within", "lemma": n}] for n in (2, 4))
    split = {"rule": "split", "form": ["-1", "1"]}
    lines = [*start, split, *zero, *zero, *one]
    assert refusal(two.but(lines=(*lines, {"rule": "end", "lines": 20}))) is None
    assert "line 13: the state is not within" in _lines(two, *start, split, *one, *zero, *one)
    assert "line 15: the state is not within" in _lines(two, *start, *zero, *zero)
    kept = [split, start[-1], {"rule": "split", "form": ["-3", "1"]}]  # where x >= 1 the state after the step is exact
    lines = [*start[:-1], *kept, *zero, *zero, *one, *one]
    assert refusal(two.but(lines=(*lines, {"rule": "end", "lines": 24}))) is None
    assert "line 17: the state is not within" in _lines(two, *start[:-1], *kept, *zero, *one, *one, *one)


def test_leaving_the_box_in_a_case_only_is_not_passed_over(halved):
    system = System("shifted")
    m, x = system.integer("m", 0, 1), system.real("x", 0, 4)
    far = x >= 1
    system.branch("half", x=x / 2 - where(far, 0, 1), m=where(far, 0, 1))
    system.initial(m == 0)
    lines = [{**line, "low": ["-2"]} if at in (1, 3) else line for at, line in enumerate(halved.lines)]
    shifted = Certified(system, parse("AX x <= 3", system.vocabulary), False, tuple(lines))
    assert "line 6: x may leave its range" in str(refusal(shifted))


def test_coordinates_of_a_state_that_is_not_exact_take_the_right_ends():
    system = System("fold")
    x = system.real("x", -2, 2)
    system.branch("fold", x=where(x >= 0, x / 2, -x / 2))
    system.initial(x >= -2)
    box = {"rule": "lemma", "formula": 1, "frame": 0, "integers": []}
    for low, high, fits in (("-1", "1", True), ("-1", "1/2", False), ("-1/2", "1", False), ("1", "1", False)):
        lines = (
            *({"rule": "frame", "matrix": [["-1"]]}, {**box, "low": [low], "high": [high]}, EXPAND),
            *(
                {"rule": "region", "index": 0},
                EXPAND,
                EXPAND,
                {"rule": "within", "lemma": 2},
                {"rule": "end", "lines": 8},
            ),
        )
        problem = refusal(Certified(system, parse("AX x <= 1", system.vocabulary), False, lines))
        assert (problem is None) == fits, (low, high, problem)


def test_a_case_that_was_assumed_leaves_that_case(halved):
    again = [*halved.lines[:7], {"rule": "case", "choice": 0}, *halved.lines[7:14], {"rule": "within", "lemma": 6}]
    assert refusal(halved.but(lines=(*again, {"rule": "end", "lines": 17}))) is None


def test_a_lemma_about_states_that_leave_their_range_is_refused_unless_the_claim_excludes_it():
    system = System("beyond")
    x = system.real("x", 0, 4)
    system.branch("up", x=x + 1)
    system.initial(x <= 1)
    wide = {"rule": "lemma", "frame": 0, "low": ["0"]}
    lines = (
        {"rule": "frame", "matrix": [["1"]]},
        {**wide, "formula": 1, "integers": [], "high": ["5"]},
        EXPAND,
        {**wide, "formula": 0, "integers": [], "high": ["4"]},
        *[EXPAND] * 2,
        {"rule": "within", "lemma": 2},
        {"rule": "region", "index": 0},
        {"rule": "within", "lemma": 4},
        {"rule": "end", "lines": 10},
    )
    certified = Certified(system, parse("AX x <= 6", system.vocabulary), False, lines)
    assert "line 4: x may leave its range" in str(refusal(certified))
    small = _changed(certified, 4, high=["3"])  # the region of line 2 is beyond the range, but no state that is met
    assert refusal(small) is None
    assert refusal(certified.but(inside=True)) is not None


def test_a_system_of_integers_has_the_frame_of_no_numbers():
    system = System("counter")
    m = system.integer("m", 0, 3)
    system.branch("up", m=m + 1, when=m <= 1)
    system.initial(m == 0)
    box = {"rule": "lemma", "formula": 1, "frame": 0, "low": [], "high": []}
    lines = (
        *({"rule": "frame", "matrix": []}, {**box, "integers": [1]}, EXPAND),
        *({"rule": "region", "index": 0}, EXPAND, EXPAND, {"rule": "within", "lemma": 2}, {"rule": "end", "lines": 8}),
    )
    certified = Certified(system, parse("AX m <= 1", system.vocabulary), False, lines)
    assert refusal(certified) is None
    assert refusal(_changed(certified, 2, integers=[0])) is not None


@pytest.mark.parametrize("limit", [200, 10_000])
def test_frames_and_lemmas_are_limited(halved, monkeypatch, limit):
    monkeypatch.setattr("venmas.checker.goals.lemmas.MAX_KEPT", limit)
    frames = [{"rule": "frame", "matrix": [["1/2"]]}] * 200
    lemmas = [halved.lines[0], *[halved.lines[1], EXPAND] * 200]
    assert "too many" in _lines(halved, *frames) and "too many" in _lines(halved, *lemmas)


def test_a_frame_that_takes_long_to_invert_is_refused():
    system = System("wide")
    variables = [system.real(f"x{i}", 0, 1) for i in range(40)]
    system.branch("stay", {x: x for x in variables})
    system.initial(variables[0] >= 0)
    formula = parse("x0 >= 0", system.vocabulary)
    unit = [[str(int(i == j)) for j in range(40)] for i in range(40)]
    dense = [[f"{i * j + 1}/{i + j + 1}" for j in range(40)] for i in range(40)]
    for matrix, problem in ((unit, "line 2: the certificate ends"), (dense, "line 1: the numbers of the frame")):
        lines = ({"rule": "frame", "matrix": matrix},)
        assert problem in str(refusal(Certified(system, formula, False, lines)))


# -- numbers, states ---------------------------------------------------------------------------------------------------


def test_subformulas_are_numbered_breadth_first():
    system = System("names")
    x = system.real("x", 0, 4)
    system.branch("stay", x=x)
    target = claim(system, parse("AX (x <= 1 | EX x >= 3) & x <= 1 & AX x >= 3", system.vocabulary), False)
    found = [str(f) for f in parts(target)]
    texts = ["EX (x > 1 & AX x < 3)", "x > 1", "EX x < 3", "x > 1 & AX x < 3", "x < 3", "AX x < 3"]
    assert found[0] == str(target) and len(found) == 7
    assert found[1:] == [str(claim(system, parse(f"!({t})", system.vocabulary), False)) for t in texts]
    assert isinstance(parts(target)[1], EX) and isinstance(parts(target)[6], AX)


def test_choices_are_numbered_from_the_top_and_from_the_right():
    system = System("choices")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    a, b, c, d = (x >= 1), (x >= 2), (y >= 3), (y >= 4)
    system.branch("one", x=where(a, x, where(b, y, 0)), y=where(c, where(a, 1, 2), 3), when=d)
    system.branch("two", when=~d)
    book = Book(system, claim(system, parse("x >= 0", system.vocabulary), False), "real")
    assert book.choices[:4] == [d, b, a, c]
    assert isinstance(book.choices[4], Compare) and len(book.choices) == 5
    assert not any(isinstance(n, ArgMax) for n in book.choices)


def test_choices_are_numbered_as_the_documentation_says():
    """The walk of docs/certificates.md over the canonical form alone."""
    for certified in graph_certificates().values():
        form = system_to_json(certified.system)
        pile = [a["value"] for a in form["agents"]]
        for branch in form["branches"]:
            pile += [branch["guard"], *(e for _, e in branch["updates"])]
        pile.reverse()
        taken: list[int] = []
        while pile:
            at = pile.pop()
            if at not in taken:
                taken.append(at)
                pile += _parts(form["nodes"], form["nodes"][at])
        wanted = [at for at in taken if form["nodes"][at][0] in ("argmax", "compare")]

        system = system_from_json(form, networks_of(certified.system))
        rows = Writer(system)
        for root in (a.expr for a in system.agents):
            rows.graph(root)
        for branch in system.branches:
            for root in (branch.guard, *(e for _, e in branch.updates)):
                rows.graph(root)
        choices = Book(system, certified.formula, "real").choices
        assert [rows.graph(node) for node in choices] == wanted


def _parts(nodes: list[Any], row: list[Any]) -> list[int]:
    match row:
        case ["sum", terms, _]:
            return [e for _, e in terms]
        case ["output", network, _]:
            return nodes[network][2]
        case ["maximum" | "argmax" | "all" | "any", parts]:
            return parts
        case ["switch", selector, cases]:
            return [selector, *(e for _, e in cases)]
        case ["where", *parts]:
            return parts
        case ["compare", e, _]:
            return [e]
    return []


def test_the_inverse_of_a_frame_is_exact():
    matrix = tuple(
        tuple(rational(Fraction(c)) for c in row) for row in (("0", "1/3", "2"), ("1", "0", "0"), ("5", "1", "1"))
    )
    inverse = invert(matrix)
    assert inverse is not None
    product = [[sum(a * inverse[k][j] for k, a in enumerate(row)) for j in range(3)] for row in matrix]
    assert product == [[int(i == j) for j in range(3)] for i in range(3)]
    assert invert((matrix[0], matrix[0], matrix[1])) is None and invert(()) == ()


def test_a_split_keeps_the_exact_states_on_the_path_of_the_first_obligation():
    """What the parts know does not depend on what else was looked at before."""
    system = System("kept")
    x = system.real("x", -4, 4)
    system.branch("half", x=x / 2)
    system.branch("fold", x=where(x >= 0, x, -x))
    system.initial(x >= -4)
    formula = parse("EX EX x >= 1", system.vocabulary)
    for looked in ((), ((1,), (0, 1), (0, 0, 0))):
        goal = first_goal(system, system.regions[0], formula)
        assert goal is not None
        goal = type(goal)(goal.world, (Holds((0, 1, 0), formula), Holds((0, 0), formula)))
        for path in looked:
            goal.world.state(path)
        for part in goal.split((rational(-4), rational(1))):  # x >= 4, where x is 4; x < 4
            assert part.world._kept == {(0,)}
            value = part.world.state((0,)).env["x"]
            assert value.exact and (value.low[1] == 0) == (part.world.cell.low == part.world.cell.high)
            again = type(part)(part.world, part.todo[1:]).split((rational(2), rational(1)))
            assert all(p.world._kept == {(0,), (0, 0)} for p in again)
