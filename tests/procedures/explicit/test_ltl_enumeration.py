"""Explicit search of small circuits, against search that shares nothing with it (`tests.soundness.circuits`)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.needs import needs
from tests.soundness.circuits import broken, circuits, judged, random_circuit, random_property
from venmas.budget import Budget, BudgetError
from venmas.formats.btor2.reader import parse_btor2, read_btor2
from venmas.logic.automata.translate import refuting
from venmas.logic.ltl_parser import parse_ltl
from venmas.model.circuit.binding import started
from venmas.model.witness.circuit import Observed, Run
from venmas.procedures.explicit.circuits import enumerated
from venmas.procedures.explicit.product import Product
from venmas.procedures.netlist.idle_inputs import idle_inputs

UNDEFINED = """
1 sort bitvec 1
2 sort bitvec 4
3 input 2
4 input 1 free
5 state 2 n
6 zero 2
7 and 2 3 6
8 one 2
9 add 2 5 8
10 ite 2 4 9 5
11 input 2
12 ite 2 4 10 11
13 not 1 4
14 ite 2 13 5 12
15 or 2 7 14
16 next 2 5 15
17 eq 1 5 6
18 output 17 zero
"""


def search(text: str, formula: str, most: int = 20, start: str = "") -> Run | Product | None:
    circuit, parsed = parse_btor2(text), parse_ltl(formula)
    if start:
        circuit = started(circuit, parse_ltl(start))
    automaton = refuting(parsed)
    return enumerated(Observed(circuit, parsed, automaton.atoms), automaton, Budget(20), most)


@pytest.mark.parametrize("seed", range(60))
def test_random_circuits(seed: int) -> None:
    rng = random.Random(seed)
    plain, text = random_circuit(rng), random_property(rng, rng.randint(2, 5))
    found = search(plain.text, text)
    assert isinstance(found, Run if broken(plain, parse_ltl(text)) else Product), (seed, text)


@pytest.mark.parametrize("seed", range(1000, 1060))
def test_all_means_together(seed: int) -> None:
    """What `verify` says is right, and it says something of every small circuit."""
    needs("bitwuzla", "pysat")
    rng = random.Random(seed)
    plain, text = random_circuit(rng), random_property(rng, rng.randint(2, 5))
    truth = broken(plain, parse_ltl(text))
    assert judged(plain, text, truth, "all means") == ("violated" if truth else "satisfied"), (seed, text)
    assert judged(plain, text, truth, "without explicit search") != "wrong", (seed, text)


def test_the_command_counts_what_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    needs("bitwuzla", "pysat")
    assert circuits(3) == 0
    monkeypatch.setattr("tests.soundness.circuits.broken", lambda *_: False)
    assert circuits(8) == 1
    assert "wrong" in capsys.readouterr().out


def test_inputs_that_do_not_matter() -> None:
    """`n` takes one step where `free`, else it stays; both undefined words change nothing."""
    needs("bitwuzla", "pysat")
    circuit = parse_btor2(UNDEFINED)
    free = circuit.names["free"]
    idle = idle_inputs(circuit, circuit.next, Budget(20))
    assert idle == set(circuit.inputs) - {free}
    shown = parse_btor2(UNDEFINED.replace("12 ite 2 4 10 11", "12 ite 2 4 11 10"))
    (matters,) = set(shown.inputs) - {free} - idle_inputs(shown, shown.next, Budget(20))
    assert shown.width(matters) == 4


def test_undefined_bits_leave_a_circuit_small() -> None:
    wide = UNDEFINED.replace("2 sort bitvec 4", "2 sort bitvec 9")
    assert isinstance(search(wide, "G F free -> G F zero"), Product)
    assert isinstance(search(wide, "G F zero"), Run)
    assert search(wide, "G F zero", most=12) is None


def test_initial_states_and_constraints() -> None:
    assert isinstance(search(UNDEFINED, "zero", start="n == 0"), Product)
    assert isinstance(search(UNDEFINED, "zero", start="n < 2"), Run)
    assert isinstance(search(UNDEFINED + "19 constraint 4\n", "G F zero"), Product)
    none = search(UNDEFINED + "19 zero 1\n20 constraint 19\n", "G F zero")
    assert isinstance(none, Product) and none.nodes == 1  # what is before the initial states, of which there are none


def test_time_is_kept_to() -> None:
    circuit, parsed = parse_btor2(UNDEFINED), parse_ltl("G F zero")
    automaton = refuting(parsed)
    with pytest.raises(BudgetError):
        enumerated(Observed(circuit, parsed, automaton.atoms), automaton, Budget(0))


def test_published_design_that_needs_an_invariant(data_dir: Path) -> None:
    """i2c: violated from every state, satisfied from reset."""
    needs("bitwuzla", "pysat")
    circuit = read_btor2(data_dir / "ltl" / "btor24" / "i2c_1.btor2")
    parsed = parse_ltl("(F G !rst) -> (G F scl_clk)")
    automaton = refuting(parsed)
    for condition, expected in (("cnt < 512", Run), ("cnt == 0 & !stretch", Product)):
        whole = started(circuit, parse_ltl(condition))
        found = enumerated(Observed(whole, parsed, automaton.atoms), automaton, Budget(60))
        assert isinstance(found, expected)
