"""Certificates by split trees: written for loops, small, and refused when a thing in them changes, or in the claim."""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.checker.mutants import another_claim
from tests.checker.proofs import Certified, is_violated, refusal
from tests.random_loops import random_loop
from tests.slow import some_slow
from venmas.answer import IncompleteError
from venmas.checker.affine.scaled import UnscaledError
from venmas.checker.affine.tree import AXES, DIGITS, BrokenTreeError, cut, leaves
from venmas.checker.file import check_certificate
from venmas.checker.goals import trees
from venmas.checker.goals.check import claim
from venmas.checker.goals.lemmas import Book
from venmas.checker.goals.trees import digest, program_of
from venmas.engine.certificates.file import write
from venmas.engine.certificates.kept import Certificate
from venmas.errors import ModelError, VenmasError
from venmas.logic import Bounded, parse
from venmas.model import System, apply_network, clip
from venmas.model.canonical.canonical import system_from_json, system_to_json
from venmas.model.evaluation.regions import sample
from venmas.model.system.networks import networks_of
from venmas.model.transform.unroll import unroll
from venmas.nn.network import relu_network
from venmas.procedures.branch_and_bound.certificate import SplitTrees, proof
from venmas.procedures.branch_and_bound.tree import Recorder, Tree
from venmas.question import Question


def question_of(system: System, text: str) -> Question:
    return Question(system, Bounded(parse(text, system.vocabulary)), certified=True).boxed


def certified(question: Question) -> Certified:
    """The certificate, written with no tree of a search to begin with. Raises `IncompleteError`."""
    lines = [rule.to_json() for rule in SplitTrees({}).lines(question, lambda: None)]
    return Certified(question.system, question.formula, True, (*lines, {"rule": "end", "lines": len(lines) + 1}))


@cache
def loop() -> System:
    """Two positions and a speed under a network; thirds, and a polytope for an initial set."""
    system, rng = System("steered"), np.random.default_rng(4)
    x, y, v = (system.real(name, -100, 100) for name in "xyv")
    sizes = [3, 8, 8, 1]
    weights = [rng.normal(0, 0.6, (b, a)) for a, b in pairwise(sizes)]
    (u,) = apply_network(relu_network(weights, [rng.normal(0, 0.2, b) for b in sizes[1:]]), [x, y, v])
    system.branch("go", x=x + v / 3, y=y / 2 + clip(u, -1, 1), v=v * "0.9" + clip(u, -1, 1))
    system.initial(x >= 0, x <= 1, y >= -1, y <= 1, v >= 0, v <= 2, x + y <= 1)
    return read(system)


def read(system: System) -> System:
    """The system as a certificate gives it."""
    return system_from_json(system_to_json(system), networks_of(system))


CLAIMS = ("AG^3 (x < 3.2)", "AX (y > -1.2035 | x > 0.5)", "AX (x <= 2 & y < 1.9)", "AF^2 (v < 2.5)")


@cache
def claims() -> tuple[Certified, ...]:
    return tuple(certified(question_of(loop(), text)) for text in CLAIMS)


@pytest.mark.parametrize("index", range(len(CLAIMS)))
def test_claims_about_a_loop_are_written_and_accepted(index: int) -> None:
    assert [line["rule"] for line in claims()[index].lines] == ["program", "tree", "end"]
    assert refusal(claims()[index]) is None


def test_some_trees_have_cuts_and_weights() -> None:
    trees = [c.lines[1] for c in claims()]
    assert any(len(tree["splits"]) > 100 for tree in trees)
    assert any(tree["weights"] and "M" in tree["splits"] for tree in trees)


def test_of_random_loops_what_is_written_is_accepted_and_true() -> None:
    """What is found false by samples is never written."""
    told: Counter[str] = Counter()
    for seed in range(40):
        rng = Random(seed)
        try:
            system = read(random_loop(seed))
        except ModelError:
            continue  # its initial set is empty
        name = rng.choice(["x[1]", f"x[{sum(n.startswith('x[') for n in system.variables)}]"])
        text = f"A{rng.choice('GF')}^{rng.randint(1, 3)} ({name} {rng.choice(('<', '>='))} {rng.randint(-8, 8)}/4)"
        question = question_of(system, text)
        if isinstance(unroll(system, system.regions[0], question.target), str):
            continue
        states = list(sample(system, system.regions[0], np.random.default_rng(seed), 20))
        false = any(is_violated(system, question.formula, state) for state in states)
        try:
            splits, weights = proof(program_of(book(question), 0, 36), Tree(), most=200)
        except IncompleteError:
            told["false" if false else "open"] += 1
            continue
        assert not false, (seed, text)
        program = program_of(book(question), 0, 36)
        line = {"rule": "program", "index": 0, "bits": 36, "hash": digest(program)}
        lines = (line, {"rule": "tree", "splits": splits, "weights": weights}, {"rule": "end", "lines": 3})
        assert refusal(Certified(system, question.formula, True, lines)) is None
        told["proved"] += 1
    assert told["proved"] > 10 and told["false"] > 10, told


def book(question: Question) -> Book:
    return Book(question.system, question.target, question.semantics)


# -- mutations ---------------------------------------------------------------------------------------------------------


def _another_text(rng: Random, text: str, letters: str) -> str:
    at = rng.randrange(len(text) + 1)
    change = rng.choice(("one", "gone", "more", "swapped", "cut", "twice"))
    if change == "one":
        return text[:at] + rng.choice(letters) + text[at + 1 :]
    if change == "gone":
        return text[:at] + text[at + 1 :]
    if change == "more":
        return text[:at] + rng.choice(letters) + text[at:]
    if change == "swapped":
        other = rng.randrange(len(text) + 1)
        low, high = sorted((at, other))
        return text[:low] + text[low:high][::-1] + text[high:]
    return text[:at] if change == "cut" else text[:at] + text


def _another_tree(rng: Random, c: Certified) -> Certified:
    """Another cut, axis, weight, unit, hash, initial set, rule for leaves, or order of lines."""
    program, tree, end = (dict(line) for line in c.lines)
    field = rng.choice(("splits", "splits", "splits", "weights", "bits", "hash", "index", "rule", "lines"))
    if field == "splits":
        tree["splits"] = _another_text(rng, tree["splits"], "LMC0123B_")
    elif field == "weights":
        tree["weights"] = _another_text(rng, tree["weights"], DIGITS)
    elif field == "bits":
        program["bits"] += rng.choice((-6, -1, 1, 6, 10**6))
    elif field == "hash":
        program["hash"] = program["hash"][:-1] + rng.choice("0123456789abcdef")
    elif field == "rule":
        program["rule"] = rng.choice(("program", "region", "tables", "tree"))
    elif field == "index":
        program["index"] = rng.choice((1, -1, True, "0", None))
    else:
        lines = [program, tree, end]
        lines[rng.randrange(2)] = rng.choice(lines)
        return c.but(lines=tuple(lines))
    return c.but(lines=(program, tree, end))


@pytest.mark.parametrize("seed", range(4))
def test_another_tree_is_refused_or_proves_the_same(seed: int) -> None:
    """The claim is true: what is accepted must be a tree whose leaves still cover the box."""
    told: Counter[str] = Counter()
    for number in range(50):
        rng = Random(1000 * seed + number)
        mutant = _another_tree(rng, rng.choice(claims()))
        refused = refusal(mutant)
        told["refused" if refused else "accepted"] += 1
        if refused is None:
            program = program_of(book(question_of(loop(), str(mutant.formula))), 0, mutant.lines[0]["bits"])
            tree = mutant.lines[1]
            parts = list(leaves(program, tree["splits"], tree["weights"]))
            rng_points = np.random.default_rng(number)
            for _ in range(20):
                x = [int(rng_points.integers(a, b + 1)) for a, b in zip(program.low, program.high, strict=True)]
                inside = (all(a <= v <= b for a, v, b in zip(p.low, x, p.high, strict=True)) for p in parts)
                assert any(inside)
    assert told["refused"] > 25, told


def _relabelled(c: Certified) -> Certified:
    """The lines with the hash of what is claimed now: all that is left to refuse it are the leaves."""
    about = Book(c.system, claim(c.system, c.formula, c.inside), c.semantics)
    program = replace_hash(c.lines[0], digest(program_of(about, 0, c.lines[0]["bits"])))
    return c.but(lines=(program, *c.lines[1:]))


def replace_hash(line: dict[str, object], value: str) -> dict[str, object]:
    return {**line, "hash": value}


@pytest.mark.parametrize("seed", some_slow(range(4), [2]))
def test_another_claim_is_refused_or_true(seed: int) -> None:
    """Thresholds, relations, initial sets, updates, constants and weights of networks, one of them another one."""
    told: Counter[str] = Counter()
    for number in range(50):
        rng = Random(77_000 + 1000 * seed + number)
        found = another_claim(rng, rng.choice(claims()))
        if found is None:
            continue
        kind, mutant = found
        try:
            mutant = _relabelled(mutant)
        except (VenmasError, UnscaledError):
            told["no program"] += 1
            continue
        if refusal(mutant) is not None:
            told["refused"] += 1
            continue
        told["accepted"] += 1
        for region in mutant.system.regions:
            for state in sample(mutant.system, region, np.random.default_rng(number), 40):
                try:
                    assert not is_violated(mutant.system, mutant.formula, state), kind
                except ModelError as error:
                    raise AssertionError(f"{kind}: a run leaves the box") from error
    assert told["refused"] > 5 and told["accepted"] > 5, told


# -- intervals ---------------------------------------------------------------------------------------------------------


def clipped() -> System:
    """A wide range behind a clip: forms forget where the clip ends, intervals do not."""
    system = System("clipped")
    x, y = system.real("x", -100, 100), system.real("y", -100, 100)
    system.branch("go", x=clip(40 * (x - y), -1, 1) + clip(30 * (x + y), -1, 1), y=y)
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    return read(system)


def test_intervals_close_what_forms_do_not() -> None:
    """2 is what both clips reach together, one step further they are at most 1 each."""
    question = question_of(clipped(), "AX AX (x <= 2 & x >= -2)")
    program = program_of(book(question), 0, 36)
    assert proof(program, Tree(), most=1)[0] == "L"


def steered() -> System:
    """A loop with three layers of a network."""
    system = System("steered")
    x, v = system.real("x", -100, 100), system.real("v", -100, 100)
    sizes = ((2, 6), (6, 6), (6, 1))
    weights = [
        [[((7 * i + 3 * j + k) % 11 - 5) / 8 for j in range(a)] for i in range(b)] for k, (a, b) in enumerate(sizes)
    ]
    (u,) = apply_network(relu_network(weights, [[0.25] * 6, [-0.125] * 6, [0.5]]), [x, v])
    system.branch("go", x=x + v / 3, v=v * "0.9" + clip(u, -1, 1))
    system.initial(x >= 0, x <= 1, v >= 0, v <= 2, x + v <= 2)
    return system


def test_intervals_save_leaves(tmp_path: Path) -> None:
    """Without them its claim took 16 leaves."""
    question = question_of(steered(), "AX^3 (x + v < 4.717)")
    write(tmp_path / "c.gz", question, SplitTrees({}))
    assert check_certificate(tmp_path / "c.gz", steered()).leaves <= 16


# -- files -------------------------------------------------------------------------------------------------------------


def test_large_values_have_a_coarser_unit() -> None:
    system = System("far")
    x = system.real("x", -(10**9), 10**9)
    system.branch("go", x=clip(x / 2, 0, 30_000) + 1)
    system.initial(x >= 20_000, x <= 50_000)
    written = certified(question_of(read(system), "AX^2 (x <= 15002)"))
    assert written.lines[0]["bits"] == 30 and refusal(written) is None


def test_a_leaf_takes_less_than_two_bytes(tmp_path: Path) -> None:
    question = question_of(loop(), CLAIMS[1])
    stored = write(tmp_path / "c.gz", question, SplitTrees({}))
    assert isinstance(stored, Certificate)
    done = check_certificate(tmp_path / "c.gz", loop())
    lines = gzip.decompress((tmp_path / "c.gz").read_bytes()).splitlines()
    tree = len(gzip.compress(lines[2]))
    assert done.leaves > 60 and tree < 2 * done.leaves + 60


def test_the_claim_must_be_about_the_box_and_real_networks() -> None:
    c = claims()[0]
    assert "inside must be true" in str(refusal(c.but(inside=False)))
    assert "float32" in str(refusal(c.but(semantics="float32")))
    later = (c.lines[0], {"rule": "end", "lines": 2})
    assert "expected tree" in str(refusal(c.but(lines=later)))
    assert "expected frame or" in str(refusal(c.but(lines=(c.lines[1], c.lines[0], c.lines[2]))))


def test_what_a_program_can_not_say_is_refused() -> None:
    system = System("two ways")
    x = system.real("x", -1, 1)
    system.branch("up", x=x / 2)
    system.branch("down", x=-x / 2)
    system.initial(x >= 0)
    lines = ({"rule": "program", "index": 0, "bits": 36, "hash": ""}, {"rule": "tree", "splits": "L", "weights": ""})
    refused = refusal(Certified(system, parse("AX (x <= 1)", system.vocabulary), True, lines))
    assert refused is not None and "several branches" in refused


@pytest.mark.parametrize(
    ("splits", "weights", "problem"),
    [
        ("", "", "character 0 of the splits"),
        ("LL", "", "ends before character 1"),
        ("0L", "", "character 2 of the splits"),
        ("3LL", "", "character 0 of the splits is no leaf and no cut"),
        ("C0ALL", "", "is no leaf and no cut"),
        ("C0", "", "is no leaf and no cut"),
        ("C", "", "is no leaf and no cut"),
        ("0" * 60 + "L" * 61, "", "cuts what is one unit wide"),
        ("M", "", "character 0 of the weights"),
        ("M", "B__A", "for a group that is not there"),
        ("L", "A", "no leaf takes the weights"),
        ("M", "AA", "no leaf takes the weights after character 1"),
        ("M", "B!", "character 1 of the weights"),
    ],
)
def test_broken_trees_are_told(splits: str, weights: str, problem: str) -> None:
    program = program_of(book(question_of(loop(), CLAIMS[0])), 0, 36)
    with pytest.raises(BrokenTreeError, match=problem):
        list(leaves(program, splits, weights))


def test_leaves_cover_the_box() -> None:
    """The volumes of random trees with cuts anywhere add up, and neighbours share an end."""
    program = replace(program_of(book(question_of(loop(), CLAIMS[0])), 0, 36), low=(0, 0, 0), high=(4096,) * 3)
    rng = Random(3)
    for _ in range(50):
        text, open_ = "", 1
        while open_:
            cutting = rng.random() < (0.7 if len(text) < 40 else 0)
            axis = rng.choice(AXES[:3])
            text += rng.choice((axis, f"C{axis}{rng.choice(DIGITS[8:57])}")) if cutting else "L"
            open_ += 1 if cutting else -1
        try:
            parts = list(leaves(program, text, ""))
        except BrokenTreeError:
            continue
        volume = sum(np.prod([b - a for a, b in zip(p.low, p.high, strict=True)], dtype=object) for p in parts)
        assert volume == 4096**3
    assert cut(0, 64, 1) == 1 and cut(-64, 0, 63) == -1


def test_a_recorded_search_stays_around_its_boxes() -> None:
    """The boxes of the tree hold those of the search, which shrinks and halves floats, but for a part of a side."""
    rng = np.random.default_rng(2)
    recorder = Recorder(np.zeros(2), np.ones(2))
    low, high, node = np.zeros(2), np.ones(2), 0
    for _ in range(12):
        side = high - low
        low, high = low + side * rng.uniform(0, 0.2, 2), high - side * rng.uniform(0, 0.2, 2)
        node = recorder.shrunk(node, low, high)
        axis = int(rng.integers(2))
        middle = float(0.5 * low[axis] + 0.5 * high[axis])
        first = recorder.halved(node, axis, middle)
        upper = rng.random() < 0.5
        node = first + upper
        (low if upper else high)[axis] = middle
        ends = recorder._boxes[node]
        inner = np.minimum(high, ends[1]) - np.maximum(low, ends[0])
        assert (inner > 0.8 * (high - low)).all()
    assert recorder.tree.leaves > 12


def test_ties_are_given_up_not_cut_for_ever() -> None:
    """x >= 0 holds with equality only: no box around 0 is closed where it is strict."""
    system = System("tie")
    x = system.real("x", -10, 10)
    system.branch("go", x=clip(x, 0, 1) - clip(x / 3, 0, 1))
    system.initial(x >= 0, x <= 1)
    system = read(system)
    with pytest.raises(IncompleteError, match=r"single numbers|takes more than"):
        list(SplitTrees({}).lines(question_of(system, "AX (x > 0)"), lambda: None))
    assert refusal(certified(question_of(system, "AX (x >= -1/1000000)"))) is None


@pytest.mark.parametrize("fast", [True, False])
def test_a_batch_that_takes_long_is_left_to_compiled_code(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is there: else numpy goes on, as long as it takes, with the same answer."""
    whole = certified(question_of(loop(), CLAIMS[1]))
    monkeypatch.delitem(sys.modules, trees._COMPILED, raising=False)
    monkeypatch.setattr(trees, "_LOADING", 1e-9)
    monkeypatch.setattr(trees.Checking, "numpy_seconds", 0.0)
    loaded: list[str] = []
    monkeypatch.setattr(trees, "compiled", lambda name: loaded.append(name) or (import_module(name) if fast else None))
    assert refusal(whole) is None
    assert loaded == [trees._COMPILED]
    assert (trees.Checking.numpy_seconds > 0) is not fast
