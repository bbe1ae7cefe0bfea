"""Certificates of LTL: the checker's own reader, tableau and gates against other parts, and certificates with lies."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.certificates.liveness import OWN, PROOFS, accepts, claim, mutants, stored
from tests.checker.proofs import about, claiming
from tests.engine.test_decide import COUNTER, broken, random_circuit, random_property
from tests.needs import needs
from tests.procedures.ranking.proved import proved
from venmas import verify
from venmas.budget import Budget
from venmas.checker.file import check_certificate, check_claim, opened, read_certificate
from venmas.checker.format.json_lines import json_lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.netlists.check import Checked
from venmas.checker.netlists.gates import TRUE, Bits, Blaster
from venmas.checker.netlists.netlist import read
from venmas.checker.netlists.refutation import Question
from venmas.checker.netlists.simulation import Edge, simulates
from venmas.checker.netlists.tableau import Tableau, tableau
from venmas.engine.certificates.file import write
from venmas.errors import InputError
from venmas.formats.btor2.reader import OPERATORS, parse_btor2
from venmas.formats.btor2.writer import to_btor2
from venmas.logic import Linear
from venmas.logic.automata import Automaton, Label, refuting
from venmas.logic.automata import Edge as AutomatonEdge
from venmas.logic.automata import accepts as accepts_word
from venmas.logic.formula import Formula, Not
from venmas.logic.lassos import Lasso, holds
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import leaves
from venmas.model.circuit.binding import started
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Op, words
from venmas.model.circuit.simulate import evaluate
from venmas.procedure import LinearQuestion
from venmas.procedures.linear import netlist as writer

ONE_BIT = {"redor", "redand", "redxor", "eq", "neq", "ult", "ulte", "ugt", "ugte", "slt", "slte", "sgt", "sgte"}


def line_of(op: str, width: int, rng: random.Random) -> tuple[str, int]:
    """A line of an operator over x (line 4), y (5) and c (6), and its width."""
    high = rng.randrange(width)
    low = rng.randint(0, high)
    special = {
        "concat": ("4 5", 2 * width),
        "ite": ("6 4 5", width),
        "slice": (f"4 {high} {low}", high - low + 1),
        "uext": ("4 3", width + 3),
        "sext": ("4 3", width + 3),
        "implies": ("6 -6", 1),
        "iff": ("6 -6", 1),
    }
    if op in special:
        return special[op]
    one = op in ("not", "inc", "dec", "neg", "redor", "redand", "redxor")
    return ("4" if one else rng.choice(["4 5", "-4 5", "4 -5"])), 1 if op in ONE_BIT else width


def value_of(gates: Blaster, bits: Bits, leaf_values: dict[int, bool]) -> int:
    """The number that literals make, by an interpreter of the gates."""
    value = {TRUE: True, **leaf_values}
    for key, out in gates.defined.items():
        a, b = (value[abs(one)] is (one > 0) for one in key[-2:])
        value[out] = (a and b) if len(key) == 2 else a is not b
    return sum((value[abs(bit)] is (bit > 0)) << at for at, bit in enumerate(bits))


@pytest.mark.parametrize("op", OPERATORS)
def test_both_readers_of_btor2_compute_the_same(op: str) -> None:
    rng = random.Random(op)
    for width in (1, 2, 3, 5, 6):
        rest, wide = line_of(op, width, rng)
        text = (
            f"1 sort bitvec {width}\n2 sort bitvec 1\n3 sort bitvec {wide}\n4 input 1 x\n5 input 1 y\n6 input 2 c\n"
            f"7 {op} 3 {rest} out\n"
        )
        circuit, net = parse_btor2(text), read(text, "netlist")
        gates = Blaster()
        known = {number: gates.leaf(net.width(number)) for number in (4, 5, 6)}
        (bits,) = net.evaluate(gates, known, [7])
        for _ in range(20):
            numbers = [rng.randrange(1 << width), rng.choice([0, 1, rng.randrange(1 << width)]) % (1 << width)]
            numbers.append(rng.randrange(2))
            given = {node: words([n], circuit.width(node)) for node, n in zip(circuit.inputs, numbers, strict=True)}
            ((found,),) = evaluate(circuit, given, [circuit.names["out"]])
            leaf_values = {
                bit: bool(number >> at & 1)
                for line, number in zip((4, 5, 6), numbers, strict=True)
                for at, bit in enumerate(known[line])
            }
            assert value_of(gates, bits, leaf_values) == int(found)


def lassos(atoms: tuple[Formula, ...], length: int) -> list[Lasso]:
    letters = [frozenset(itertools.compress(atoms, bits)) for bits in itertools.product([0, 1], repeat=len(atoms))]
    found = []
    for size in range(1, length + 1):
        for word in itertools.product(letters, repeat=size):
            found += [Lasso(word[:back], word[back:]) for back in range(size)]  # type: ignore[arg-type]
    return found


def as_automaton(found: Tableau) -> Automaton:
    every = (1 << found.untils) - 1
    edges = tuple(
        AutomatonEdge(arc.source, Label(arc.care, arc.value), arc.target, every & ~arc.put_off) for arc in found.arcs
    )
    return Automaton(found.atoms, found.states, found.untils, edges)


def two_atoms(rng: random.Random, size: int) -> Formula:
    return parse_ltl(random_property(rng, size).replace("c", "b"))


@pytest.mark.parametrize("seed", range(40))
def test_tableaux_accept_the_words_of_the_formula(seed: int) -> None:
    rng = random.Random(seed)
    formula = two_atoms(rng, rng.randint(2, 6))
    automaton = as_automaton(tableau(formula))
    for word in lassos(leaves(formula), 3):
        whole = Lasso(word.stem, word.loop)
        assert accepts_word(automaton, whole) is holds(formula, whole), (str(formula), word)


def answered(automaton: Automaton, broken_: Tableau) -> bool:
    place = [broken_.atoms.index(atom) for atom in automaton.atoms]

    def moved(bits: int) -> int:
        return sum(1 << new for old, new in enumerate(place) if bits >> old & 1)

    edges = [Edge(e.source, moved(e.label.care), moved(e.label.value), e.target, e.marks) for e in automaton.edges]
    return simulates(edges, automaton.states, automaton.marks, broken_)


def test_what_simulates_accepts_all_words_and_nearly_every_translation_does() -> None:
    """Automata as translated, and with one change, against short words."""
    rng, seen, missed, refused = random.Random(1), 0, 0, 0
    for _ in range(120):
        formula = two_atoms(rng, rng.randint(2, 7))
        automaton, other = refuting(formula), tableau(Not(formula))
        seen += 1
        missed += not answered(automaton, other)
        if not automaton.edges:
            continue
        edges = list(automaton.edges)
        at = rng.randrange(len(edges))
        if rng.random() < 0.5:
            del edges[at]
        else:
            edges[at] = edges[at]._replace(
                target=rng.randrange(automaton.states), marks=rng.randrange(1 << automaton.marks)
            )
        changed = Automaton(automaton.atoms, automaton.states, automaton.marks, tuple(edges))
        if not answered(changed, other):
            refused += 1
            continue
        for word in lassos(leaves(formula), 3):
            assert accepts_word(changed, word) or holds(formula, word), (str(formula), changed, word)
    assert missed <= 3 and refused > 50, (seen, missed, refused)


@pytest.mark.parametrize("bits", [0, 16])
def test_random_circuits_are_certified_and_lies_are_told_apart(
    bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every certificate is accepted; one with a change is refused, or what it claims is true by explicit search."""
    needs("bitwuzla", "pysat")
    monkeypatch.setattr(writer, "ENUMERATED_BITS", bits)
    certified = refused = accepted = 0
    for seed in range(100 + bits, 125 + bits):
        rng = random.Random(seed)
        circuit, text = random_circuit(rng), random_property(rng, rng.randint(2, 4))
        if broken(circuit, parse_ltl(text)) or (lines := stored(circuit, text, tmp_path, 1.0)) is None:
            continue
        certified += 1
        assert accepts(lines), (seed, text)
        for kind, changed in mutants(lines, rng, 24):
            if not accepts(changed):
                refused += 1
                continue
            accepted += 1
            assert not broken(claim(changed)[0], parse_ltl(changed[0]["claim"]["formula"])), (seed, kind)
    assert certified >= 2 and refused > 2 * accepted, (certified, refused, accepted)


@pytest.mark.parametrize("number", range(len(OWN)))
def test_changes_of_certificates_of_designs(number: int, tmp_path: Path) -> None:
    """Of the proof: what is changed is refused, or was of no account. Width and what falls: always refused."""
    needs("bitwuzla", "pysat")
    netlist, text = OWN[number]
    lines = stored(parse_btor2(netlist), text, tmp_path)
    assert lines is not None and accepts(lines)
    told = [(kind, accepts(changed)) for kind, changed in mutants(lines, random.Random(number), 48)]
    always = ("width", "falls", "edge of a rank left out", "another proof", "line")
    assert not [kind for kind, taken in told if taken and kind in always]
    assert sum(taken for _, taken in told) < 16


def test_circuits_without_a_text_are_written_as_one(tmp_path: Path) -> None:
    rng = random.Random(5)
    for _ in range(20):
        circuit = random_circuit(rng)
        again = parse_btor2(to_btor2(circuit))
        state = [words([rng.randrange(1 << circuit.width(n))], circuit.width(n)) for n in circuit.registers]
        inputs = [words([rng.randrange(2)], 1) for _ in circuit.inputs]
        results = []
        for one in (circuit, again):
            known = dict(zip((*one.registers, *one.inputs), (*state, *inputs), strict=True))
            results.append([int(v[0]) for v in evaluate(one, known, [*one.next, *(one.names[n] for n in "abc")])])
        assert results[0] == results[1]
        assert [first is None for first in circuit.init] == [first is None for first in again.init]


class Below:
    """n stays below `most`; initial: as runs begin in initial states."""

    def __init__(self, most: int, initial: bool = True) -> None:
        self.most, self.initial, self.clauses = most, initial, {0: ()}

    def node(self, b: Builder, state: int, registers: list[int]) -> int:
        (n,) = registers
        return b.apply(Op.ULT, [n, b.const(self.most, b.width(n))])


CYCLE = """
1 sort bitvec 1
2 sort bitvec 4
3 state 2 n
4 one 2
5 zero 2
6 constd 2 12
7 eq 1 3 6
8 add 2 3 4
9 ite 2 7 5 8
10 next 2 3 9
11 init 2 3 5
"""


def test_invariants_begin_and_are_kept(tmp_path: Path) -> None:
    """That n < 13 is inductive from 0, that n < 9 is not, and that nothing but true holds from every state."""
    needs("bitwuzla", "pysat")
    circuit, formula = parse_btor2(CYCLE), parse_ltl("G F n == 0")
    proof, path = proved(verify(circuit, formula, timeout=10)), tmp_path / "c.gz"

    def certify(about: Circuit, invariant: Any) -> None:
        write(path, LinearQuestion(about, Linear(formula)), replace(proof, invariant=invariant), Budget(10))

    certify(circuit, Below(13))
    found = check_certificate(path)
    assert isinstance(found, Checked) and found.invariant and read_certificate(path)[0].claim.initial == "true"
    for invariant in (Below(9), Below(13, initial=False)):
        with pytest.raises(writer.UnprovedError):
            certify(circuit, invariant)
    lines = [dict(line) for line in json_lines(path)]
    lines[0] = claiming(lines[0], initial=None)  # from every state it is none
    assert not accepts(lines)
    freed = CYCLE.replace("11 init 2 3 5\n", "")
    lines[0] = about(claiming(lines[0], initial="n == 14"), netlist=freed)
    assert not accepts(lines)
    lines[0] = claiming(lines[0], initial="n == 7")
    lines[3]["taken"] = None  # the step that was shown begins at 0
    assert accepts(lines)
    condition = started(parse_btor2(freed), parse_ltl("n == 7"))
    certify(condition, Below(13))
    assert check_certificate(path).lines and read_certificate(path)[0].claim.initial == "start_0"


def test_fairness_and_a_solver_s_word_are_told(tmp_path: Path) -> None:
    needs("bitwuzla", "pysat")
    counter, path = parse_btor2(COUNTER), tmp_path / "c.gz"
    done = verify(counter, "G F n == 0", timeout=20, fair=["nine"], trust="solver", certificate=path)
    assert done.satisfied
    lines = [dict(line) for line in json_lines(path)]
    assert lines[0]["claim"]["fair"] == ["nine"]
    lines = [
        {"rule": "solver", "taken": line["taken"], "solvers": "someone"} if line.get("rule") in PROOFS else line
        for line in lines
    ]
    checked = check_claim(*opened(lines))
    assert isinstance(checked, Checked) and set(checked.solvers()) == {"someone"} and not checked.enumerated
    lines[0] = claiming(lines[0], fair=None)
    assert not accepts(lines)


def test_two_solvers(tmp_path: Path) -> None:
    pytest.importorskip("z3")
    netlist, text = OWN[2]
    done = verify(parse_btor2(netlist), text, timeout=20, trust="two", certificate=tmp_path / "c.gz")
    assert done.basis == "solver"  # a certificate that tells of a solver's word is no proof
    assert done.proof is not None and "and z3" in done.proof["said"]
    assert done.certificate is not None and proved(done).counts["solver"] == 1


def test_enumeration_looks_at_all_values() -> None:
    """Questions over 0 to 18 leaves that one value meets."""
    rng = random.Random(0)
    for width in (1, 3, 5, 6, 7, 11, 17, 18):
        gates = Blaster()
        word = gates.leaf(width)
        value = rng.randrange(1 << width)
        same = gates.word("eq", [word, gates.constant(value, width)])[0]
        low = gates.word("ult", [word, gates.constant(value, width)])[0]
        assert Question(gates, (same, word[0] if value & 1 else -word[0]), 1).enumerated() == (False, True)
        assert Question(gates, (same, low), 1).enumerated() == (True, True)
        assert Question(gates, (gates.both(low, same), same), 1).enumerated() == (True, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[0]["claim"].update(formula="F G clear -> G F done"), "not seen that the automaton"),
        (lambda lines: lines[0]["claim"].update(formula="G F ("), "line 1"),
        (lambda lines: lines[0]["subject"].update(netlist="1 sort bitvec 70000\n"), "1 to 65536 bits"),
        (lambda lines: lines[0]["subject"].update(netlist="1 sort array 2 3\n"), "only words"),
        (lambda lines: lines[1].update(states=0), "no edge|another size"),
        (lambda lines: lines[1].update(marks=10**9), "no edge|another size"),
        (lambda lines: lines[-1].update(lines=3), "the end"),
        (lambda lines: lines.pop(), "ends before"),
        (lambda lines: lines.append(lines[-1]), "after the end"),
        (lambda lines: lines[2].update(neurons="1 sort bitvec 4\n2 state 1 99\n"), "no line of a register"),
        (lambda lines: lines[2].update(weights=[]), "a weight of each neuron"),
        (lambda lines: lines[3].update(bits=40), "up to 24"),
        (lambda lines: lines[3].update(taken=list(range(60))), "does not take the edge"),
        (lambda lines: lines[3].update(rule="trust"), "expected the proof of an obligation"),
        (lambda lines: lines[0].update(fair=[]), "the entries"),
        (lambda lines: lines[0]["claim"].update(inside=True), "shows nothing of inside"),
        (lambda lines: lines[0]["claim"].update(kind="bounded"), "of linear properties"),
    ],
)
def test_what_is_wrong_is_named(change: object, message: str, tmp_path: Path) -> None:
    needs("bitwuzla", "pysat")
    lines = stored(parse_btor2(OWN[0][0]), OWN[0][1], tmp_path)
    assert lines is not None
    change(lines)  # type: ignore[operator]
    lines = json.loads(json.dumps(lines))
    with pytest.raises((CheckError, InputError), match=message):
        check_claim(*opened(lines))


def test_multiplications_that_are_too_large_are_refused() -> None:
    text = "1 sort bitvec 4000\n2 state 1 x\n3 mul 1 2 2\n4 next 1 2 3\n"
    net = read(text, "netlist")
    gates = Blaster(100_000)
    with pytest.raises(InputError, match="more than 100000 gates"):
        net.evaluate(gates, {2: gates.leaf(4000)}, [3])
    assert isinstance(parse_btor2(text), Circuit)


def test_names_of_negated_lines(tmp_path: Path) -> None:
    """``output -25 a`` names the inverse of line 25: in letters, in conditions of initial states."""
    needs("bitwuzla", "pysat")
    netlist, text = OWN[0]
    inverse = netlist.replace("13 eq 1 4 7\n14 output 13 done", "13 neq 1 4 7\n14 output -13 done")
    lines = stored(parse_btor2(inverse), text, tmp_path)
    assert lines is not None
    assert lines[0]["subject"]["netlist"] == inverse
    assert accepts(lines)
    lines[0]["subject"]["netlist"] = inverse.replace("-13", "13")
    assert not accepts(lines)
