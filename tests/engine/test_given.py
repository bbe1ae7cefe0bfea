"""What the functions of the Python interface say of values of another type, and `verify` for both kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import venmas
from tests.procedures.explicit.test_ltl_systems import counter
from venmas.errors import FormulaError, InputError, UsageError
from venmas.formats.btor2.reader import read_btor2 as read
from venmas.logic.ltl_parser import parse_ltl
from venmas.model import apply_network
from venmas.nn import Layer, Network

LINES = "1 sort bitvec 1\n2 state 1 b\n3 not 1 2\n4 next 1 2 3\n"


@pytest.fixture
def design(tmp_path: Path) -> Any:
    (tmp_path / "flip.btor2").write_text(LINES)
    return read(tmp_path / "flip.btor2")


def test_one_name_takes_systems_and_designs(design: Any) -> None:
    assert venmas.verify(design, "G F b").satisfied
    found = venmas.verify(counter(), "G F n == 3")
    assert isinstance(found, venmas.Report) and found.kind == "linear"
    assert venmas.verify(counter(), parse_ltl("G F n == 3")).verdict == found.verdict


def test_options_of_the_other_kind_are_refused_by_name(design: Any) -> None:
    with pytest.raises(UsageError, match="is for netlists"):
        venmas.verify(counter(), "G n < 9", initial="n == 0")
    with pytest.raises(UsageError, match="is asked of systems"):
        venmas.verify(design, "G F b", deadlock="stutter")
    with pytest.raises(UsageError, match="for formulas of LTL"):
        venmas.verify(counter(), "AX n == 0", fair=["n == 0"])
    with pytest.raises(UsageError, match="takes the word of an SMT solver about a netlist"):
        venmas.verify(counter(), "G F n == 3", trust="solver")


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a name": (lambda f: f("vcas"), r"load_scenario\('vcas'\).system\(\)"),
    "nothing": (lambda f: f(None), "takes a system; got None"),
    "a scenario": (lambda f: f(venmas.load_scenario("vcas")), r"its method system\(\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_system(name: str) -> None:
    ask, told = WRONG[name]
    doors: list[Any] = [
        lambda s: venmas.verify(s, "AX safe"),
        lambda s: venmas.verify_all(s, ["AX safe"]),
        lambda s: venmas.reach(s, 3),
        lambda s: venmas.abstract(s, ["n > 0"]),
    ]
    for door in doors:
        with pytest.raises(UsageError, match=told):
            ask(door)


def test_a_policy_of_tanh_units_is_to_be_trained_with_relu_for_questions_without_a_bound() -> None:
    layers = Layer(np.ones((1, 1)), np.zeros(1), "tanh"), Layer(np.ones((1, 1)), np.zeros(1), "linear")
    system = venmas.System("policy")
    x = system.real("x", -2, 2)
    system.branch("go", x=apply_network(Network(layers), (x,))[0])
    system.initial(x == 0)
    with pytest.raises(UsageError, match="AG\\^20 p for AG p, or train the network with ReLU units"):
        venmas.verify(system, "AG (x < 2)", mode="abstraction")
    assert venmas.verify(system, "AG (x < 2)", timeout=60).satisfied


def test_a_design_has_no_formulas_of_branching_time(design: Any) -> None:
    with pytest.raises(FormulaError, match="AX is an operator of branching time"):
        venmas.verify(design, "AX b")
    with pytest.raises(UsageError, match="a netlist has properties of LTL, which verify decides"):
        venmas.reach(design, 3)


@pytest.mark.parametrize("formula", [5, None, b"AX n == 0", ["AX n == 0"]])
def test_what_is_no_formula(formula: Any) -> None:
    for ask in (lambda f: venmas.verify(counter(), f), lambda f: venmas.verify_all(counter(), [f])):
        with pytest.raises(InputError, match="a formula is text such as 'AG\\^5"):
            ask(formula)
    with pytest.raises(FormulaError, match="text"):
        venmas.parse(formula, counter().vocabulary)


@pytest.mark.parametrize("workers", [0, -1, 2.5, "2", True])
def test_what_is_no_number_of_workers(workers: Any) -> None:
    with pytest.raises(UsageError, match="number of processes from 1"):
        venmas.verify(counter(), "AX n == 0", workers=workers)


def test_files_that_cannot_be_written_are_told_before_any_work(tmp_path: Path) -> None:
    asked: list[Callable[..., Any]] = [
        lambda **files: venmas.verify(counter(), "AX n == 0", **files),
        lambda **files: venmas.verify(counter(), "G n < 9", **files),
    ]
    for ask in asked:
        for name in ("certificate", "journal"):
            with pytest.raises(UsageError, match=f"{name} is the path of a file"):
                ask(**{name: 5})
        with pytest.raises(UsageError, match=r"cannot write the certificate .*there is no folder"):
            ask(certificate=tmp_path / "nowhere" / "proof.gz")


def test_what_is_no_limit() -> None:
    for options, told in (
        ({"timeout": "5"}, "seconds"),
        ({"timeout": float("nan")}, "seconds"),
        ({"memory": "5"}, "MB"),
    ):
        with pytest.raises(UsageError, match=told):
            venmas.verify(counter(), "AX n == 0", **options)
    with pytest.raises(UsageError, match="seed"):
        venmas.reach(counter(), 2, seed=-1)
    with pytest.raises(UsageError, match="list of expressions"):
        venmas.reach(counter(), 2, 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="list of formulas"):
        venmas.verify_all(counter(), 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="mode is text"):
        venmas.verify(counter(), "AX n == 0", mode=3)  # type: ignore[arg-type]
