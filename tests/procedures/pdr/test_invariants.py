"""Invariants and lexicographic ranks, against explicit search over all states, and obligations against bad ones."""

from __future__ import annotations

from tests.needs import needs

needs("scipy")

import csv
import itertools
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from experiments.certificates.liveness import accepts
from tests.engine.test_decide import COUNTER, random_circuit, random_property
from tests.netlists import counting
from tests.procedures.ranking.proved import proved
from tests.slow import some_slow
from venmas import verify
from venmas.budget import Budget
from venmas.checker.format.json_lines import json_lines
from venmas.formats.btor2.reader import parse_btor2, read_btor2
from venmas.logic.automata.automaton import strongly_connected
from venmas.logic.automata.translate import refuting
from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl
from venmas.model.circuit.binding import bind, started
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit, Node, needed
from venmas.model.circuit.operators import Op, words
from venmas.model.circuit.simulate import evaluate, values
from venmas.model.circuit.smt import Sat, Smt, Unsat
from venmas.procedures.netlist.clauses import Invariant, Literal
from venmas.procedures.netlist.step import Goal, step_of
from venmas.procedures.pdr.inductive import obligations
from venmas.procedures.pdr.mined import mined
from venmas.procedures.pdr.needed import closed
from venmas.procedures.pdr.pdr import unreachable
from venmas.procedures.ranking import procedure as prove
from venmas.procedures.ranking.learn import Network, rank
from venmas.procedures.ranking.proof import RankingProof
from venmas.procedures.ranking.weights.rational import cheapest


def restricted(rng: random.Random) -> Circuit:
    """A random circuit with first values that may read inputs, conditions of initial states and constraints."""
    circuit = random_circuit(rng)
    bits = [n for n in range(len(circuit.nodes)) if circuit.width(n) == 1]
    of_registers = [n for n in bits if not any(i in circuit.inputs for i in needed(circuit, [n]))]
    nodes, firsts = list(circuit.nodes), []
    for register, first in zip(circuit.registers, circuit.init, strict=True):
        width, kind = circuit.width(register), rng.random()
        if kind < 0.5:
            nodes.append(Node(Op.CONST, width, (), (rng.randrange(1 << width),)))
            firsts.append(len(nodes) - 1)
        elif kind < 0.7:
            source = rng.choice(circuit.inputs)
            if width > 1:
                nodes.append(Node(Op.UEXT, width, (source,), (width - 1,)))
            firsts.append(source if width == 1 else len(nodes) - 1)
        else:
            firsts.append(first)
    return replace(
        circuit,
        nodes=tuple(nodes),
        init=tuple(firsts),
        starts=tuple(rng.sample(of_registers, min(len(of_registers), int(rng.random() < 0.4)))),
        constraints=tuple(rng.sample(bits, int(rng.random() < 0.4))),
    )


class Explicit:
    """The product of a circuit and the automaton of a negated property, state by state.

    steps: from (registers, automaton state) to the same, with the marks. starts: where runs begin.
    """

    def __init__(self, circuit: Circuit, formula: Formula) -> None:
        self.automaton = refuting(formula)
        self.part, self.letters = part, letters = bind(circuit, self.automaton.atoms)
        leaves = (*part.registers, *part.inputs)
        rows = list(itertools.product(*(range(1 << part.width(node)) for node in leaves)))
        grid = np.array(rows, dtype=np.int64).reshape(len(rows), len(leaves))
        columns = [words(grid[:, at], part.width(node)) for at, node in enumerate(leaves)]
        count = len(part.registers)
        state, inputs = columns[:count], columns[count:]

        def table(nodes: tuple[int, ...]) -> np.ndarray:
            found = values(part, state, inputs, nodes)
            return np.array([np.broadcast_to(column, len(rows)) for column in found]).reshape(len(nodes), len(rows)).T

        truth, after, firsts = table(letters), table(part.next), table(tuple(n or 0 for n in part.init))
        possible, begun = table(part.constraints).all(axis=1), table(part.starts).all(axis=1)
        self.steps: dict[tuple[tuple[int, ...], int], list[tuple[tuple[tuple[int, ...], int], int]]] = {}
        self.starts = set()
        for at, row in enumerate(rows):
            if not possible[at]:
                continue
            here, letter = row[:count], sum(int(bit) << i for i, bit in enumerate(truth[at]))
            if begun[at] and all(n is None or f == v for n, f, v in zip(part.init, firsts[at], here, strict=True)):
                self.starts.add((here, 0))
            for edge in self.automaton.edges:
                if edge.label.meets(letter):
                    target = (tuple(int(v) for v in after[at]), edge.target)
                    self.steps.setdefault((here, edge.source), []).append((target, edge.marks))

    def reached(self) -> set[tuple[tuple[int, ...], int]]:
        found, stack = set(self.starts), list(self.starts)
        while stack:
            for target, _ in self.steps.get(stack.pop(), ()):
                if target not in found:
                    found.add(target)
                    stack.append(target)
        return found

    def broken(self) -> bool:
        """Is there a run from where runs begin that does not have the property?"""
        number = {state: at for at, state in enumerate(sorted(self.reached()))}
        successors = [[number[target] for target, _ in self.steps.get(state, ())] for state in number]
        order = list(number)
        for group in strongly_connected(successors):
            inside = [(order[at], t, m) for at in group for t, m in self.steps.get(order[at], ()) if number[t] in group]
            marks = 0
            for _, _, mark in inside:
                marks |= mark
            if inside and marks == self.automaton.all_marks:
                return True
        return False


def holds(explicit: Explicit, invariant: Invariant, state: tuple[tuple[int, ...], int]) -> bool:
    b = Builder()
    registers = [b.register(explicit.part.width(node)) for node in explicit.part.registers]
    node = invariant.node(b, state[1], registers)
    known = {r: words([v], b.width(r)) for r, v in zip(registers, state[0], strict=True)}
    return bool(evaluate(b, known, [node])[0][0])


@pytest.mark.parametrize("part", some_slow(range(6), [0, 3]))
def test_random_circuits_with_initial_states_and_constraints(part: int) -> None:
    """No verdict is wrong, and every invariant of a proof holds of all that is reached."""
    kinds = []
    for seed in range(1000 + 25 * part, 1025 + 25 * part):
        rng = random.Random(seed)
        circuit, formula = restricted(rng), parse_ltl(random_property(rng, rng.randint(2, 5)))
        explicit = Explicit(circuit, formula)
        answer = verify(circuit, formula, timeout=2)
        assert not (answer.satisfied if explicit.broken() else answer.violated), (seed, formula)
        kinds.append(answer.verdict.value)
        proof = answer.proved and answer.proved.proof
        if isinstance(proof, RankingProof) and proof.invariant.clauses:
            assert all(holds(explicit, proof.invariant, state) for state in explicit.reached()), (seed, formula)
    assert kinds.count("satisfied") >= 3
    assert kinds.count("unknown") <= 12


@pytest.mark.slow
def test_proofs_from_every_state_do_not_use_initial_states() -> None:
    found = 0
    for seed in range(2000, 2025):
        rng = random.Random(seed)
        circuit, formula = restricted(rng), parse_ltl(random_property(rng, rng.randint(2, 4)))
        answer = verify(circuit, formula, timeout=1, tune={"ranking.from": "all"})
        anywhere = replace(circuit, init=(None,) * len(circuit.registers), starts=())
        if answer.satisfied:
            assert not proved(answer).invariant.initial
            assert not Explicit(anywhere, formula).broken(), (seed, formula)
            found += 1
    assert found >= 3


def test_mined_clauses_and_those_of_the_search_hold_of_all_that_is_reached() -> None:
    said = 0
    for seed in range(3000, 3030):
        rng = random.Random(seed)
        explicit = Explicit(restricted(rng), parse_ltl(random_property(rng, 4)))
        part, letters, automaton = explicit.part, explicit.letters, explicit.automaton
        reached = explicit.reached()
        initial = mined(part, letters, automaton, True, Budget(10))
        every = mined(part, letters, automaton, False, Budget(10))
        assert all(holds(explicit, one, state) for one in (initial, every) for state in reached), seed
        said += bool(initial.clauses)
        for q in range(automaton.states):
            clauses = unreachable(part, letters, automaton, [q], Invariant({}, True), Budget(10), 60)
            away = all(state[1] != q for state in reached)
            # an initial state in which a constraint cannot be met is none: then there may be no run at all
            assert (clauses is not None) <= away, (seed, q)
            if clauses is not None:
                found = Invariant(clauses, True)
                assert found.excludes(q)
                assert all(holds(explicit, found, state) for state in reached)
                said += 1
    assert said >= 20


def test_obligations_find_what_is_no_invariant() -> None:
    """Of the counter 0, 1, .., 15: each claim by hand, met or not."""
    circuit = started(parse_btor2(COUNTER), parse_ltl("n == 0"))
    automaton = refuting(parse_ltl("G n != 12"))
    part, letters = bind(circuit, automaton.atoms)

    def kept(*literals: Literal, initial: bool = True) -> bool:
        invariant = Invariant(dict.fromkeys(range(automaton.states), (literals,)), initial)
        step = step_of(part, letters)
        smt = Smt(step.builder)
        answers = [smt.check(conditions) for _, conditions in obligations(part, automaton, step, invariant)]
        assert all(isinstance(answer, Sat | Unsat) for answer in answers)
        return all(isinstance(answer, Unsat) for answer in answers)

    assert kept(Literal(0, 3, 0, 0, 15))
    assert not kept(Literal(0, 3, 0, 0, 11))  # the step from 11 leaves it
    assert not kept(Literal(0, 3, 0, 1, 15))  # 0 is initial
    assert not kept(Literal(0, 0, 0, 0, 0))
    assert kept(Literal(0, 0, 0, 0, 0), Literal(0, 0, 0, 1, 1), initial=False)
    bad = Invariant({q: ((Literal(0, 3, 0, 0, 11),),) for q in range(automaton.states)}, True)
    assert closed(part, letters, automaton, bad, {0: bad.clauses[0]}, Budget(5)) is bad


def test_invariants_are_read_by_people() -> None:
    circuit = parse_btor2(COUNTER)
    one, two = Literal(0, 3, 0, 0, 11), Literal(0, 2, 2, 0, 0)
    shown = Invariant({0: ((one, two),), 1: ((),), 2: ((one,), (Literal(0, 3, 2, 3, 3),))}).text(circuit)
    assert shown == {0: "n <= 11 | !n[2]", 1: "false", 2: "n <= 11 & n[3:2] == 3"}


def test_safety_of_a_counter() -> None:
    by_two = parse_btor2(counting(by=2))
    even = started(by_two, parse_ltl("n == 0"))
    answer = verify(even, "G n != 3", timeout=20)
    assert proved(answer).invariant.initial
    assert proved(answer).kept
    assert verify(even, "G n != 3", timeout=20, trust="solver").satisfied
    assert verify(even, "G n != 3", timeout=3, tune={"ranking.from": "all"}).verdict == "unknown"
    assert verify(by_two, "G n != 3", timeout=20).violated
    assert verify(even, "G n != 4", timeout=20).violated


TWO = """
1 sort bitvec 1
2 sort bitvec 3
3 input 1 outer
4 state 2 x
5 state 2 y
6 input 2 any
7 one 2
8 zero 2
9 neq 1 4 8
10 neq 1 5 8
11 and 1 3 9
12 sub 2 4 7
13 sub 2 5 7
14 ite 2 10 13 5
15 ite 2 11 6 14
16 ite 2 11 12 4
17 next 2 4 16
18 next 2 5 15
19 not 1 10
20 not 1 11
21 and 1 19 20
22 output 21 idle
23 output 11 reset
"""


def test_lexicographic_ranks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """x falls and y takes any value, or y falls: where no one rank is found, x takes its edge away, then y falls.

    The certificate has both, in this order.
    """
    circuit, formula = parse_btor2(TWO), parse_ltl("G F idle | F G reset")
    once = verify(circuit, formula, timeout=30)
    (first,) = proved(once).ranked
    assert len(first.goal.edges) == 2

    def refusing(goal: Goal, *rest: Any) -> Network | None:
        return None if goal == first.goal else rank(goal, *rest)

    monkeypatch.setattr(prove, "rank", refusing)
    twice = verify(circuit, formula, timeout=30)
    begin, second = proved(twice).ranked
    assert set(begin.goal.edges) == set(first.goal.edges)
    assert set(second.goal.edges) == set(begin.goal.edges) - begin.goal.strict
    assert second.goal.strict == first.goal.strict
    assert all(len(one.steps) == len(one.goal.edges) for one in (begin, second))

    done = verify(circuit, formula, timeout=30, certificate=tmp_path / "c.gz")
    assert done.basis == "exact" and done.certificate is not None and not proved(done).counts["solver"]
    lines = [dict(line) for line in json_lines(tmp_path / "c.gz")]
    one, two = [line for line in lines if line.get("rule") == "rank"]
    assert set(two["edges"]) == set(one["edges"]) - set(one["strict"]) != set()
    assert accepts(lines)
    less = [line for line in lines if line not in (two, *lines[lines.index(two) + 1 : -1])]
    less[-1] = {**less[-1], "lines": len(less) - 1}
    assert not accepts(less)  # what the first rank leaves has none
    begun, again = lines.index(one), lines.index(two)
    assert not accepts([*lines[:begun], *lines[again:-1], *lines[begun:again], lines[-1]])


def test_a_search_that_lies_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong answer of the search for invariants, that a component is avoided by no clause at all, is not believed."""
    monkeypatch.setattr(prove, "unreachable", lambda *_: {})
    monkeypatch.setattr(prove, "rank", lambda *_: None)
    answer = verify(parse_btor2(TWO), "G F idle | F G reset", timeout=30)
    assert not answer.satisfied or answer.decided_by == "explicit-ltl"


def test_the_property_that_needs_initial_states(data_dir: Path) -> None:
    folder = data_dir / "ltl"
    rows = [row for row in csv.DictReader((folder / "properties_extra.csv").open()) if row["from"] != "all"]
    assert rows
    for row in rows:
        circuit = read_btor2(folder / "btor24" / f"{row['family']}_{row['index']}.btor2")
        answer = verify(started(circuit, parse_ltl(row["from"])), row["ltl"], timeout=60)
        assert answer.verdict == row["expected"] == "satisfied"
        assert proved(answer).invariant.initial
        assert any(one.goal.invariant.clauses for one in proved(answer).ranked)


@pytest.mark.parametrize("name", ["1_delay_SL", "1_i2c_SL", "s2_lcd", "s_load_store"])
def test_published_safety_and_combined_properties(data_dir: Path, name: str) -> None:
    folder = data_dir / "ltl"
    (row,) = [row for row in csv.DictReader((folder / "properties25.csv").open()) if row["id"] == name]
    circuit = read_btor2(folder / "btor25" / f"{row['family']}_2.btor2")
    zero = Node(Op.CONST, 1, (), (0,))
    nodes, firsts = list(circuit.nodes), []
    for register in circuit.registers:
        nodes.append(zero._replace(width=circuit.width(register)))
        firsts.append(len(nodes) - 1)
    reset = replace(circuit, nodes=tuple(nodes), init=tuple(firsts))
    answer = verify(reset, row["ltl"], timeout=60)
    assert proved(answer).invariant.clauses
    assert proved(answer).kept


def test_weights_beyond_the_precision_of_floats(data_dir: Path) -> None:
    path = data_dir / "ltl" / "btor25" / "blink_25.btor2"
    answer = verify(read_btor2(path), "F G !rst -> G F led", timeout=60)
    assert max(abs(w) for row in proved(answer).ranked[0].network.weights.values() for w in row) >= 1 << 32


def test_programs_in_rationals_against_a_solver_of_floats() -> None:
    rng = np.random.default_rng(5)
    solved = 0
    for _ in range(150):
        rows, columns = int(rng.integers(1, 7)), int(rng.integers(1, 6))
        matrix, bounds = rng.integers(-3, 4, (rows, columns)), rng.integers(0, 2, rows)
        costs = rng.integers(0, 4, columns)
        found = cheapest([Fraction(int(c)) for c in costs], matrix.tolist(), bounds.tolist())
        ours = linprog([*costs, *costs], A_ub=np.hstack((-matrix, matrix)), b_ub=-bounds)
        assert (found is None) == (ours.status == 2)
        if found is not None:
            assert all(
                sum(int(a) * w for a, w in zip(row, found, strict=True)) >= b
                for row, b in zip(matrix, bounds, strict=True)
            )
            assert float(sum(int(c) * abs(w) for c, w in zip(costs, found, strict=True))) == pytest.approx(ours.fun)
            solved += 1
    assert solved >= 50
