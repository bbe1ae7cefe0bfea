"""Decisions of LTL properties of circuits, against explicit search over all states and against published verdicts."""

from __future__ import annotations

import csv
import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from tests.needs import needs
from tests.netlists import counting
from tests.procedures.ranking.proved import proved
from venmas import verify
from venmas.errors import CircuitError
from venmas.formats.btor2.reader import parse_btor2, read_btor2
from venmas.logic.automata.automaton import strongly_connected
from venmas.logic.automata.translate import refuting
from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl
from venmas.model.circuit.binding import bind, started
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Op, words
from venmas.model.circuit.simulate import first_states, step, values

COUNTER = counting()


def random_circuit(rng: random.Random) -> Circuit:
    """Registers of up to 6 bits together, one or two bits of input, some first values; a, b, c name single bits."""
    b = Builder()
    widths = rng.choice([(1, 1, 1), (2, 1), (3, 1), (2, 2), (3, 2, 1), (4,)])
    registers = [b.register(width) for width in widths]
    inputs = [b.input(1) for _ in range(rng.randint(1, 2))]
    bits = list(inputs)
    words_ = list(registers)

    def fitted(node: int, width: int) -> int:
        mine = b.width(node)
        return b.apply(Op.UEXT, [node], [width - mine]) if mine <= width else b.apply(Op.SLICE, [node], [width - 1, 0])

    for _ in range(rng.randint(4, 12)):
        x, y = rng.choice(words_), rng.choice(words_)
        y = rng.choice([fitted(y, b.width(x)), b.const(rng.randrange(16), b.width(x))])
        if rng.random() < 0.5:
            bits.append(b.apply(rng.choice([Op.EQ, Op.ULT]), [x, y]))
        else:
            words_.append(b.apply(rng.choice([Op.ADD, Op.SUB, Op.XOR, Op.AND]), [x, y]))
        if rng.random() < 0.6:
            words_.append(b.apply(Op.ITE, [rng.choice(bits), x, y]))
        if rng.random() < 0.3:
            bits.append(b.apply(rng.choice([Op.AND, Op.OR, Op.XOR]), [rng.choice(bits), rng.choice(bits)]))
    following = [fitted(rng.choice(words_), width) for width in widths]
    firsts = [b.const(rng.randrange(16), width) if rng.random() < 0.4 else None for width in widths]
    names = {name: rng.choice(bits) for name in "abc"}
    return Circuit(tuple(b.nodes), tuple(b.inputs), tuple(b.registers), tuple(following), tuple(firsts), names=names)


def random_property(rng: random.Random, size: int) -> str:
    if size <= 1:
        return rng.choice(["a", "b", "c", "!a", "!b"])
    kind = rng.choice(["X", "F", "G", "GF", "FG", "&", "|", "->", "U", "R"])
    if kind in ("X", "F", "G", "GF", "FG"):
        return f"{kind} ({random_property(rng, size - 1)})"
    left = rng.randint(1, size - 1)
    return f"({random_property(rng, left)}) {kind} ({random_property(rng, size - left)})"


def broken(circuit: Circuit, formula: Formula) -> bool:
    """Is there a run from an initial state without the property? Explicitly, over all states and inputs."""
    automaton = refuting(formula)
    part, letters = bind(circuit, automaton.atoms)
    spaces = [range(1 << part.width(node)) for node in (*part.registers, *part.inputs)]
    rows = list(itertools.product(*spaces))
    grid = np.array(rows, dtype=np.int64).reshape(len(rows), len(spaces))
    columns = [words(grid[:, at], part.width(node)) for at, node in enumerate((*part.registers, *part.inputs))]
    count = len(part.registers)
    state, inputs = columns[:count], columns[count:]
    truth = values(part, state, inputs, letters)
    after = step(part, state, inputs)
    number: dict[tuple[int, ...], int] = {}
    for row in grid[:, :count]:
        number.setdefault(tuple(row.tolist()), len(number))
    size = automaton.states
    edges = []
    for at in range(len(grid)):
        here = number[tuple(grid[at, :count].tolist())]
        there = number[tuple(int(column[at]) for column in after)]
        letter = sum(int(column[at]) << bit for bit, column in enumerate(truth))
        edges += [
            (here * size + e.source, there * size + e.target, e.marks) for e in automaton.edges if e.label.meets(letter)
        ]
    successors: list[list[int]] = [[] for _ in range(len(number) * size)]
    for source, target, _ in edges:
        successors[source].append(target)
    begun = first_states(part, state, inputs)
    starts = {number[tuple(int(column[at]) for column in begun)] * size for at in range(len(grid))}
    reached, stack = set(starts), list(starts)
    while stack:
        for target in successors[stack.pop()]:
            if target not in reached:
                reached.add(target)
                stack.append(target)
    for group in strongly_connected(successors):
        inside = set(group) & reached
        marks, some = 0, False
        for source, target, mark in edges:
            if source in inside and target in inside:
                marks, some = marks | mark, True
        if some and marks == automaton.all_marks:
            return True
    return False


@pytest.mark.parametrize("seed", range(60))
def test_random_circuits_are_decided_as_explicit_search_does(seed: int) -> None:
    needs("bitwuzla", "pysat")
    rng = random.Random(seed)
    circuit, formula = random_circuit(rng), parse_ltl(random_property(rng, rng.randint(2, 5)))
    answer = verify(circuit, formula, timeout=3)
    truth = broken(circuit, formula)
    assert not (answer.satisfied if truth else answer.violated), (seed, formula)


def test_most_random_circuits_are_decided() -> None:
    needs("bitwuzla", "pysat")
    found = []
    for seed in range(100, 140):
        rng = random.Random(seed)
        circuit, formula = random_circuit(rng), parse_ltl(random_property(rng, rng.randint(2, 4)))
        answer = verify(circuit, formula, timeout=3)
        found.append(answer.verdict.value)
    assert found.count("satisfied") >= 3
    assert found.count("violated") >= 15
    assert found.count("unknown") <= 15


def test_published_properties_true_and_false(data_dir: Path) -> None:
    needs("bitwuzla", "pysat")
    folder = data_dir / "ltl"
    for row in csv.DictReader((folder / "properties_extra.csv").open()):
        if row["from"] != "all":
            continue  # needs an invariant of reachable states
        circuit = read_btor2(folder / "btor24" / f"{row['family']}_{row['index']}.btor2")
        answer = verify(circuit, row["ltl"], timeout=60)
        assert answer.verdict == row["expected"], row


@pytest.mark.parametrize(
    "name",
    [
        "delay_a 15",
        "delay_b 1",
        "lcd 1",
        "thermocouple 17",
        "seven_seg_b 15",
        "i2c 1",
        "pwm 11",
        "vga 10",
        "uart 11",
        "load_store 15",
        "gray_b 11",
        "gray_c 11",
    ],
)
def test_published_designs_are_proved_from_every_state(data_dir: Path, name: str) -> None:
    needs("bitwuzla", "pysat")
    key, index = name.split()
    folder = data_dir / "ltl"
    (row,) = [row for row in csv.DictReader((folder / "properties24.csv").open()) if row["property"] == key]
    path = folder / "btor24" / f"{row['family']}_{index}.btor2"
    if not path.exists():
        pytest.fail(f"{path} is not there")
    answer = verify(read_btor2(path), row["ltl"], timeout=60)
    assert all(one.steps for one in proved(answer).ranked)


def test_initial_states_and_fairness() -> None:
    needs("bitwuzla", "pysat")
    counter = parse_btor2(COUNTER)
    assert verify(counter, "G F nine", timeout=20).violated
    assert verify(counter, "F G !stop -> G F nine", timeout=20).satisfied
    answer = verify(counter, "G F n == 0", timeout=20, fair=["nine"])
    assert answer.satisfied
    late = verify(started(counter, parse_ltl("n == 12")), "n > 11", timeout=20)
    assert not late.violated
    soon = verify(started(counter, parse_ltl("n == 12")), "n < 12", timeout=20)
    assert soon.violated and soon.lasso is not None
    assert soon.lasso.states[0] == {"n": 12}


def test_a_violation_is_a_run_that_others_can_follow() -> None:
    """The lasso of the counter, by its own arithmetic."""
    needs("bitwuzla", "pysat")
    answer = verify(parse_btor2(COUNTER), "F G nine | G F n == 3", timeout=3)
    assert answer.violated and answer.lasso is not None
    run = answer.lasso
    following = [*run.states[1:], run.states[run.back]]
    for state, inputs, after in zip(run.states, run.inputs, following, strict=True):
        assert after["n"] == (0 if inputs["stop"] else (state["n"] + 1) % 16)
    assert not any(state["n"] == 3 for state in run.states[run.back :])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("G F nne", "no signal 'nne'; it has"),
        ("G F n", "n has 4 bits and is no condition by itself"),
        ("G F n[4]", r"n\[0\] to n\[3\]"),
    ],
)
def test_names_that_the_design_does_not_have(text: str, message: str) -> None:
    with pytest.raises(CircuitError, match=message):
        verify(parse_btor2(COUNTER), text, timeout=5)


def test_formulas_without_atoms() -> None:
    """Every run breaks them or none does; where there is no run, for the constraint, none does."""
    needs("bitwuzla", "pysat")
    for netlist in (COUNTER, "1 sort bitvec 1\n2 input 1 a\n"):
        for text in ("false", "G false", "X F false"):
            answer = verify(parse_btor2(netlist), text, timeout=10)
            assert answer.violated and answer.lasso is not None, text
            assert answer.lasso.conditions[0] == {}
        assert verify(parse_btor2(netlist), "G true", timeout=10).satisfied
    none = parse_btor2("1 sort bitvec 1\n2 zero 1\n3 constraint 2\n")
    assert not verify(none, "G false", timeout=10).violated


def test_initial_states_are_said_by_registers() -> None:
    with pytest.raises(CircuitError, match="depends on inputs"):
        started(parse_btor2(COUNTER), parse_ltl("stop"))
    with pytest.raises(CircuitError, match="says nothing of time"):
        started(parse_btor2(COUNTER), parse_ltl("F nine"))
