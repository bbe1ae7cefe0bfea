"""Certificates of AG p for ever: what is written is accepted, and says the truth."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from tests.checker.finite_systems import closure, random_property, random_system
from tests.checker.test_inductive_mutations import meets
from venmas.answer import IncompleteError
from venmas.checker.file import check_certificate
from venmas.engine.certificates.file import write
from venmas.engine.certificates.kept import Certificate
from venmas.errors import InputError
from venmas.logic import TRUE, Always, Atom, conjunction, parse_property
from venmas.model import System, argmax, maximum
from venmas.model.expressions.expr import to_comparison
from venmas.model.invariant import Invariant
from venmas.procedures.inductive.proof import Inductive
from venmas.question import Question


def test_closures_of_random_systems_are_certified_exactly_where_the_property_holds(tmp_path: Path) -> None:
    rng, seen = Random(11), Counter[str]()
    for _ in range(100):
        system = random_system(rng)
        states, inside = closure(system)
        holds = random_property(rng, system)
        true = inside and all(meets(system, holds, s) for s in states)
        asked = Question(system, Always(0, holds))
        invariant = Invariant.of_states(system, sorted(states))
        try:
            written = write(tmp_path / "c.gz", asked, Inductive(invariant))
        except IncompleteError:
            written = None
        assert (written is not None) == true
        if isinstance(written, Certificate):
            assert check_certificate(tmp_path / "c.gz", system).lines == written.lines - 1
        seen["true" if true else "false"] += 1
    assert min(seen.values()) > 20, seen


def thermostat(step: str = "1") -> System:
    """A heater that a policy switches: the temperature, a real number, falls or rises; ties cool."""
    system = System("thermostat")
    t, on = system.real("t", 10, 30), system.boolean("on")
    heat = system.agent(argmax((t - 20, maximum(20 - t, 0) * 2)), labels={0: "cool", 1: "heat"})
    system.branch("cool", {t: t - Fraction(1, 2), on: 0}, when=heat == 0)
    system.branch("heat", {t: t * Fraction(1, 4) + Fraction(3, 4) * (t + Fraction(step)), on: 1}, when=heat == 1)
    system.initial(t >= Fraction("19.9"), t <= Fraction("20.1"))
    system.validate()
    return system


def test_sets_of_real_states_are_cut_along_the_choices_of_the_policy(tmp_path: Path) -> None:
    system = thermostat()
    asked = Question(system, parse_property("AG (t >= 19.5 & t <= 20.75)", system.vocabulary))
    # at 20 itself the policy cools: the state 20.75 is not reached, but 19.5 is
    written = write(tmp_path / "c.gz", asked, Inductive(Invariant.of_boxes(system, [{"t": ("19.5", "20.75")}])))
    assert isinstance(written, Certificate)
    assert check_certificate(tmp_path / "c.gz", system).leaves > 4
    with pytest.raises(InputError, match="another system"):
        check_certificate(tmp_path / "c.gz", thermostat("1.01"))
    for low, high in (("19.51", "20.75"), ("19.5", "20.7"), ("19.95", "20.05")):
        with pytest.raises(IncompleteError):
            write(tmp_path / "d.gz", asked, Inductive(Invariant.of_boxes(system, [{"t": (low, high)}])))
    assert not (tmp_path / "d.gz").exists()


def test_two_boxes_cover_what_one_does_not_say(tmp_path: Path) -> None:
    """The set says when the heater is on: a step from one box may end in either, told apart along the choice."""
    system = thermostat()
    asked = Question(system, parse_property("AG (t >= 19.5 & t <= 20.75)", system.vocabulary))
    boxes = [{"t": ("19.5", "20.1"), "on": (0, 0)}, {"t": ("19.5", "20.75"), "on": (1, 1)}, {"t": (20, "20.2")}]
    with pytest.raises(IncompleteError):
        write(tmp_path / "c.gz", asked, Inductive(Invariant.of_boxes(system, boxes)))
    boxes[2]["t"] = (20, "20.25")
    write(tmp_path / "c.gz", asked, Inductive(Invariant.of_boxes(system, boxes)))
    check_certificate(tmp_path / "c.gz", system)


def test_starts_may_be_a_condition_that_is_no_union_of_few_sets(tmp_path: Path) -> None:
    system = System("different")
    names = [system.integer(f"v{i}", 0, 4) for i in range(5)]
    system.initial_set.add_product(TRUE)
    apart = [Atom(to_comparison(a != b)) for i, a in enumerate(names) for b in names[:i]]
    system.initial_set.condition = conjunction(apart)
    system.branch("turn", {v: names[(i + 1) % 5] + 0 for i, v in enumerate(names)})
    system.validate()
    states = list(permutations(range(5)))
    asked = Question(system, Always(0, parse_property("AG (v0 != v1)", system.vocabulary).invariant))
    write(tmp_path / "c.gz", asked, Inductive(Invariant.of_states(system, states)))
    assert check_certificate(tmp_path / "c.gz", system).leaves > 100
    with pytest.raises(IncompleteError, match="initial set 0"):
        write(tmp_path / "d.gz", asked, Inductive(Invariant.of_states(system, states[1:])))


@pytest.mark.parametrize("most", [40, 2**60])
def test_words_that_relate_variables_cut_the_parts_of_their_cells(most: int, tmp_path: Path) -> None:
    """x <= y, where the box of the set is the whole one: in integers at once, in rationals where they are large."""
    system = System("behind")
    x, y = system.integer("x", 0, most), system.integer("y", 0, most)
    system.branch("both", {x: x + 1, y: y + 1}, when=(x <= most - 1) & (y <= most - 1))
    system.branch("back", {x: x - 1}, when=x >= 1)
    system.initial(x == 0, y == 0)
    system.validate()
    asked = Question(system, parse_property("AG !(x >= 5 & y <= 3)", system.vocabulary))
    row = (Fraction(0), Fraction(-1), Fraction(1))
    written = write(tmp_path / "c.gz", asked, Inductive(Invariant((row,), ("1",))))
    assert isinstance(written, Certificate)
    assert check_certificate(tmp_path / "c.gz", system).lines == written.lines - 1
    with pytest.raises(IncompleteError):  # y >= x - 2 is inductive, and does not tell
        write(tmp_path / "d.gz", asked, Inductive(Invariant(((Fraction(2), *row[1:]),), ("1",))))
