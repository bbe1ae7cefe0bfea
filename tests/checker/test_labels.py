"""Levels of states as proofs of CTL: true claims are accepted, and of false ones no table of levels is."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st

from tests.corpus.forever import case
from tests.corpus.spec import build
from tests.slow import some_examples
from venmas import System, verify
from venmas.checker.file import check_certificate, check_claim, opened, read_certificate
from venmas.checker.format.json_lines import json_lines
from venmas.checker.format.rule import End
from venmas.checker.levels.labels import ahead
from venmas.engine.certificates.file import header
from venmas.errors import InputError
from venmas.logic import Formula, evaluate, fixpoints
from venmas.model import where
from venmas.procedures.explicit.graph.graph import StateGraph
from venmas.procedures.explicit.graph.labels import Labels
from venmas.procedures.explicit.labelled import LabelsProof
from venmas.procedures.explicit.levels import listed
from venmas.question import Question, read_property
from venmas.testing import atoms, formulas
from venmas.testing.finite import finite_model, finite_systems

Rows = list[dict[str, object]]


def table(system: System, text: str, levels: list[list[int]] | None = None) -> tuple[Rows, np.ndarray]:
    """The lines of a certificate with the levels that are right, or others, and these levels."""
    asked = read_property(system, text)
    question = Question(system, asked, certified=True, inside=True)
    graph = StateGraph(system, lambda: None, transitions=True)
    while graph.expand():
        pass
    labels = Labels(graph, fixpoints(asked.formula), lambda: None)
    found = [labels.ranks.get(p, np.where(labels.truth[p], 0, -1)) for p in ahead(fixpoints(asked.formula))]
    used = np.array(found if levels is None else levels, np.int32).reshape(-1, graph.count)
    rules = list(listed(system, graph.states(0, graph.count), used, lambda: None))
    lines = [rule.to_json() for rule in (*rules, End(len(rules) + 1))]
    return [header(question, LabelsProof(graph), {}).to_json(), *lines], used


def accepted(rows: Rows, system: System) -> bool:
    try:
        check_claim(*opened(rows), system)
    except InputError:
        return False
    return True


def loop() -> System:
    """0 and 1 in turn, and 2 and 3 that lead there and end there."""
    system = System("loop")
    s = system.integer("s", 0, 3)
    system.branch("up", {s: 1}, when=s == 0)
    system.branch("down", {s: 0}, when=(s == 1) | (s == 2))
    system.branch("end", {s: 3}, when=s == 2)
    system.initial(s >= 0, s <= 2)
    return system


TRUE = [
    "EF s == 0",
    "AG AF s == 1",
    "AF (s == 0 | s == 3)",
    "AG EF (s >= 0)",
    "A(s <= 2 U (s == 0 | s == 3))",
    "AG (s == 1 -> AF s == 0)",
    "EF^2 s == 0",
    "AG[0,3] EF[0,1] (s == 0 | s == 3)",
    "AX (s <= 1 | s == 3)",
]
FALSE = [
    "AF^1 s == 1",
    "EG^2 s >= 1",
    "EX^2 s == 2",
    "AG^2 s <= 2",
    "AF s == 2",
    "AG EF s == 0",
    "EG s >= 1",
    "EF s == 3",
    "E(s == 2 U s == 1)",
    "EG EX s == 0",
]


@pytest.mark.parametrize("text", TRUE)
def test_levels_of_a_true_claim_are_accepted(text: str) -> None:
    assert accepted(table(loop(), text)[0], loop())


@pytest.mark.parametrize("text", FALSE)
def test_no_levels_of_a_false_claim_are(text: str) -> None:
    rng = Random(text)
    right = table(loop(), text)[1]
    tried = [right, *(np.full_like(right, n) for n in (0, 1))]
    tried += [np.array([[rng.randint(-1, 3) for _ in row] for row in right]) for _ in range(60)]
    assert not any(accepted(table(loop(), text, levels.tolist())[0], loop()) for levels in tried)


def test_each_state_and_level_is_needed() -> None:
    """A state that is left out, its place, a row of levels, another claim: the lines are refused."""
    rows, levels = table(loop(), "AF (s == 0 | s == 3)")
    assert accepted(rows, loop()) and levels.tolist() == [[0, 1, 1, 0]]
    states = rows[1]
    changes: list[dict[str, object]] = [
        {"steps": [1, 1, 1], "levels": [[0, 1, 1]]},
        {"steps": [1, 1, 2, 1]},
        {"levels": [[0, -1, 1, 0]]},
        {"levels": [[0, 0, 1, 0]]},
        {"levels": [[1, 1, 1, 1]]},
        {"levels": [[5, 6, 7, 0]]},
        {"levels": [[0, 1, 1, 0]] * 2},
        {"levels": []},
    ]
    for change in changes:
        fits = accepted([rows[0], {**states, **change}, rows[2]], loop())
        assert fits is (change == {"levels": [[5, 6, 7, 0]]}), change  # levels may be higher
    claim = dict(rows[0]["claim"])  # type: ignore[call-overload]
    for text in ("EF s == 3", "AG (s == 0 | s == 3)", "AF s == 2"):
        assert not accepted([{**rows[0], "claim": {**claim, "formula": text}}, *rows[1:]], loop())


@pytest.mark.parametrize("count", [27, pytest.param(80, marks=pytest.mark.slow)])
def test_random_claims_and_levels(count: int) -> None:
    """The truth is that of fixpoints over all states; levels are changed at random, also where the claim is false."""
    rng, seen = Random(5), Counter[str]()
    for seed in range(5_000_000, 5_000_000 + count):
        asked = case(seed)
        system = build(asked.spec)
        rows, levels = table(system, str(asked.formula))
        if accepted(rows, system):
            seen["right"] += 1
            assert asked.truth
        for _ in range(12):
            changed = levels.copy()
            for _ in range(rng.randint(1, 3)):
                if changed.size:
                    changed.flat[rng.randrange(changed.size)] = rng.randint(-1, 4)
            mutant = table(system, str(asked.formula), changed.tolist())[0]
            seen["changed"] += 1
            assert not accepted(mutant, system) or asked.truth, (seed, asked.formula)
    assert seen["right"] >= count // 8 and seen["changed"] >= 25 * count // 4, seen


leaves = atoms(("i", "j", "b"), st.integers(-2, 2).map(Fraction))


@some_examples(
    27,
    80,
    finite_systems(),
    formulas(leaves, longest=3, size=5).filter(lambda f: f.depth > 0),
    suppress_health_check=list(HealthCheck),
)
def test_bounded_claims_are_accepted_where_they_are_true(system: System, formula: Formula) -> None:
    model, initial = finite_model(system)
    truth = initial <= evaluate(formula, model)
    assert accepted(table(system, str(formula))[0], system) == truth


def test_a_bounded_formula_of_few_states_is_certified_by_them(tmp_path: Path) -> None:
    """And not of many, where it looks at few of these."""
    system = loop()
    report = verify(system, "AG[0,100] EF[0,1] (s == 0 | s == 3)", certificate=tmp_path / "proof.gz")
    assert report.satisfied and check_certificate(tmp_path / "proof.gz", loop())
    assert read_certificate(tmp_path / "proof.gz")[0].proof == "labels"
    many = System("many")
    n, m = many.integer("n", 0, 3000), many.integer("m", 0, 3000)
    many.branch("n", {n: where(n < 3000, n + 1, 0)})
    many.branch("m", {m: where(m < 3000, m + 1, 0)})
    many.initial(n == 0, m == 0)
    report = verify(many, "AG^3 n <= 3", certificate=tmp_path / "other.gz")
    assert report.satisfied and check_certificate(tmp_path / "other.gz", many)
    assert read_certificate(tmp_path / "other.gz")[0].proof != "labels"


def test_what_depends_on_a_part_is_certified_of_the_whole(tmp_path: Path) -> None:
    system = loop()
    other = system.integer("other", 0, 2)
    first = system.branches[0]
    system.branch("more", {system["s"]: 1, other: 1}, when=system["s"] == 0)
    assert first.name == "up"
    report = verify(system, "AF (s == 0 | s == 3)", certificate=tmp_path / "c.gz")
    assert report.satisfied and report.certificate is not None and report.basis == "exact", report.notes
    rows = [dict(line) for line in json_lines(tmp_path / "c.gz")]
    assert accepted(rows, system) and not accepted(rows, loop())
