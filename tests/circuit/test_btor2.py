"""The BTOR2 reader: every operator against plain integers and against Bitwuzla; what is refused; published netlists."""

from __future__ import annotations

import csv
import random
import time
from pathlib import Path

import numpy as np
import pytest
from btor2_reference import reference

from tests.needs import needs
from venmas.circuit.btor2 import OPERATORS, parse_btor2, read_btor2
from venmas.circuit.builder import Builder
from venmas.circuit.nodes import Circuit
from venmas.circuit.operators import Op, words
from venmas.circuit.simulate import evaluate
from venmas.circuit.smt import Smt, Unsat
from venmas.errors import CircuitError

_ONE_BIT = {"redor", "redand", "redxor", "eq", "neq", "ult", "ulte", "ugt", "ugte", "slt", "slte", "sgt", "sgte"}


def case(operator: str, rng: random.Random) -> tuple[str, list[int], list[int]]:
    """A netlist with this operator on inputs, the widths of these, and its numbers."""
    w = rng.choice([1, 2, 3, 8, 31, 32, 33, 62, 63, 64, 65, 70])
    numbers: list[int] = []
    widths, out = [w, w], w
    if operator in ("not", "inc", "dec", "neg", "redor", "redand", "redxor", "slice", "uext", "sext"):
        widths = [w]
    if operator in ("implies", "iff"):
        widths, out = [1, 1], 1
    if operator == "ite":
        widths = [1, w, w]
    if operator == "concat":
        widths = [w, rng.randint(1, 40)]
        out = sum(widths)
    if operator in _ONE_BIT:
        out = 1
    if operator == "slice":
        high = rng.randrange(w)
        numbers = [high, rng.randint(0, high)]
        out = numbers[0] - numbers[1] + 1
    if operator in ("uext", "sext"):
        numbers = [rng.choice([0, 1, 5, 40])]
        out = w + numbers[0]
    lines, at = [], 1
    for width in widths:
        lines += [f"{at} sort bitvec {width}", f"{at + 1} input {at}"]
        at += 2
    lines.append(f"{at} sort bitvec {out}")
    inputs = " ".join(str(2 * (place + 1)) for place in range(len(widths)))
    lines.append(f"{at + 1} {operator} {at} {inputs} {' '.join(map(str, numbers))} result")
    return "\n".join(lines), widths, numbers


def samples(widths: list[int], rng: random.Random, count: int) -> list[list[int]]:
    def word(width: int) -> int:
        return rng.choice([0, 1, (1 << width) - 1, 1 << (width - 1), rng.randrange(1 << width), rng.randint(0, 3)]) % (
            1 << width
        )

    return [[word(width) for width in widths] for _ in range(count)]


def batch(circuit: Circuit, rows: list[list[int]]) -> dict[int, np.ndarray]:
    return {node: words([row[place] for row in rows], circuit.width(node)) for place, node in enumerate(circuit.inputs)}


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_computes_what_plain_integers_do(operator: str) -> None:
    rng = random.Random(operator)
    for _ in range(25):
        text, widths, numbers = case(operator, rng)
        circuit = parse_btor2(text)
        rows = samples(widths, rng, 20)
        (found,) = evaluate(circuit, batch(circuit, rows), [circuit.names["result"]])
        assert [int(value) for value in found] == [reference(operator, row, widths, numbers) for row in rows], text


@pytest.mark.parametrize("operator", OPERATORS)
def test_constants_are_folded_to_what_plain_integers_compute(operator: str) -> None:
    rng = random.Random(operator)
    for _ in range(10):
        text, widths, numbers = case(operator, rng)
        (row,) = samples(widths, rng, 1)
        lines = text.split("\n")
        for place, value in enumerate(row):
            lines[2 * place + 1] = f"{2 * place + 2} constd {2 * place + 1} {value}"
        circuit = parse_btor2("\n".join(lines))
        node = circuit.nodes[circuit.names["result"]]
        assert (node.op, node.params[0]) == (Op.CONST, reference(operator, row, widths, numbers))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_means_the_same_to_bitwuzla(operator: str) -> None:
    """The solver is asked whether the node may differ from what simulation gives, at points, some inputs constant."""
    needs("bitwuzla")
    rng = random.Random(operator)
    for _ in range(6):
        text, widths, _ = case(operator, rng)
        circuit = parse_btor2(text)
        for row in samples(widths, rng, 3):
            (found,) = evaluate(circuit, batch(circuit, [row]), [circuit.names["result"]])
            b = Builder()
            inputs = [b.input(width) for width in widths]
            (result,) = b.copy(circuit, dict(zip(circuit.inputs, inputs, strict=True)), [circuit.names["result"]])
            here = [b.apply(Op.EQ, [i, b.const(v, w)]) for i, v, w in zip(inputs, row, widths, strict=True)]
            there = b.apply(Op.EQ, [result, b.const(int(found[0]), b.width(result))])
            assert isinstance(Smt(b).check([*here, b.not_(there)], 20), Unsat), text
            assert not isinstance(Smt(b).check([*here, there], 20), Unsat), text


def test_published_netlists_are_read_with_the_registers_that_yosys_counted(data_dir: Path) -> None:
    counted = {}
    for row in csv.DictReader((data_dir / "ltl" / "designs.csv").open()):
        counted[row["set"][-2:], row["design"]] = int(row["register_bits_yosys"])
    found = {}
    for path in sorted((data_dir / "ltl").glob("btor2?/*.btor2")):
        found[path.parent.name[-2:], path.stem] = read_btor2(path).register_bits
    assert len(found) == 239
    assert found == {key: counted[key] for key in found}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 sort array 2 3", "only bit-vectors are read"),
        ("1 sort bitvec 0", "1 to 65536"),
        ("1 sort bitvec 4\n2 input 1\n3 saddo 1 2 2", "operator 'saddo'"),
        ("1 sort bitvec 4\n2 input 1\n3 add 1 2 5", "line 3: node 5 is not known"),
        ("1 sort bitvec 4\n2 input 1\n3 add 1 2", "2 arguments, where 3"),
        ("1 sort bitvec 4\n2 input 1\n2 input 1", "must increase"),
        ("1 sort bitvec 4\n2 input 1\n3 eq 1 2 2", "eq gives 1 bits, its sort has 4"),
        ("1 sort bitvec 4\n2 sort bitvec 5\n3 input 1\n4 input 2\n5 add 1 3 4", "operands of one width"),
        ("1 sort bitvec 4\n2 const 1 101", "does not have 4 bits"),
        ("1 sort bitvec 4\n2 constd 1 16", "does not have 4 bits"),
        ("1 sort bitvec 4\n2 consth 1 g", "number of base 16"),
        ("1 sort bitvec 4\n2 state 1\n3 next 1 2 2\n4 next 1 2 2", "a second next"),
        ("1 sort bitvec 4\n2 input 1\n3 next 1 2 2", "which is no state"),
        ("1 sort bitvec 4\n2 state 1 a\n3 state 1 a", "names two different"),
        ("1 sort bitvec 4\n2 input 1\n3 bad 2", "a condition has one"),
        ("x sort bitvec 4", "the number of a line is wanted"),
        ("1", "an operator is wanted"),
        ("1 sort bitvec 4\n2 state 1\n3 state 1\n4 init 1 2 3\n5 init 1 3 2", "in a circle"),
        ("1 sort bitvec 4\n2 input 1\n3 slice 1 2 4 1", "3 >= high >= low"),
        ("1 sort bitvec 4\n2 input 1\n3 uext 1 2 99999999", "at most 65536"),
        ("1 sort bitvec 4\n2 input 1 a b", "one symbol may end a line"),
    ],
)
def test_what_is_not_read_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(CircuitError, match=message):
        parse_btor2(text)


def test_states_without_updates_are_inputs_and_first_values_are_kept() -> None:
    text = "1 sort bitvec 4\n2 state 1 free\n3 state 1 once\n4 zero 1\n5 init 1 3 4\n6 state 1 r\n7 next 1 6 -3"
    circuit = parse_btor2(text)
    assert circuit.names["free"] in circuit.inputs
    assert [circuit.name(node) for node in circuit.registers] == ["once", "r"]
    assert circuit.nodes[circuit.next[0]].op is Op.INPUT  # arbitrary from the second step on
    assert circuit.init[0] is not None
    assert circuit.init[1] is None


@pytest.mark.parametrize("kind", ["long", "wide"])
def test_hostile_netlists_end_soon(kind: str) -> None:
    began = time.process_time()
    if kind == "long":
        lines = ["1 sort bitvec 64", "2 input 1"] + [f"{n} add 1 {n - 1} {n - 1}" for n in range(3, 200_000)]
        assert len(parse_btor2("\n".join(lines)).nodes) > 100_000
    else:
        lines = ["1 sort bitvec 65536", "2 ones 1"] + [f"{n} mul 1 {n - 1} 2" for n in range(3, 2_000)]
        assert parse_btor2("\n".join(lines)).nodes
    assert time.process_time() - began < 10
