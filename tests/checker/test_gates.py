"""The bit-blaster and the checker of RUP proofs: gates compute what simulation does, SAT solvers write the proofs."""

from __future__ import annotations

from tests.needs import needs

needs("pysat")

import random

import pytest
from pysat.solvers import Solver

from venmas.checker.gates import TRUE, Gates
from venmas.checker.rup import refutes
from venmas.circuit.builder import Builder
from venmas.circuit.operators import Op, words
from venmas.circuit.simulate import evaluate

BINARY = [
    Op.AND,
    Op.OR,
    Op.XOR,
    Op.ADD,
    Op.SUB,
    Op.MUL,
    Op.UDIV,
    Op.UREM,
    Op.SLL,
    Op.SRL,
    Op.SRA,
    Op.EQ,
    Op.ULT,
    Op.SLT,
]


def solved(clauses: list[tuple[int, ...]], name: str = "cadical195") -> list[list[int]] | None:
    """The steps of a proof, None where the clauses can be met."""
    with Solver(name=name, bootstrap_with=[list(clause) for clause in clauses], with_proof=True) as solver:
        if solver.solve():
            return None
        return [[int(word) for word in step.split()[:-1]] for step in solver.get_proof() if not step.startswith("d")]


def differs(b: Builder, result: int, value: int) -> int:
    return b.not_(b.apply(Op.EQ, [result, b.const(value, b.width(result))]))


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 8])
def test_gates_compute_what_simulation_does(op: Op, width: int) -> None:
    """That the operands are these and the result another one is refuted; that it is this one is not."""
    rng = random.Random(f"{op}{width}")
    b = Builder()
    x, y = b.input(width), b.input(width)
    result = b.apply(op, [x, y])
    for _ in range(12):
        values = [rng.choice([0, 1, (1 << width) - 1, rng.randrange(1 << width)]) % (1 << width) for _ in (x, y)]
        known = {node: words([value], width) for node, value in zip((x, y), values, strict=True)}
        ((found,),) = evaluate(b, known, [result])
        given = [b.apply(Op.EQ, [node, b.const(value, width)]) for node, value in zip((x, y), values, strict=True)]
        wrong = differs(b, result, int(found))
        for last, possible in ((wrong, False), (b.not_(wrong), True)):
            gates = Gates(b)
            goals = [(gates.write(node)[0],) for node in [*given, last]]
            proof = solved([*gates.clauses, *goals])
            assert (proof is None) is possible
            if proof is not None:
                assert refutes(gates.variables, [*gates.clauses, *goals], proof)
                assert not refutes(gates.variables, gates.clauses, proof)  # gates alone can always be met


@pytest.mark.parametrize("seed", range(6))
def test_words_cut_joined_and_chosen(seed: int) -> None:
    rng = random.Random(seed)
    b = Builder()
    x, y, c = b.input(6), b.input(6), b.input(1)
    high = rng.randrange(6)
    parts = [
        b.apply(Op.SLICE, [x], [high, rng.randint(0, high)]),
        b.apply(Op.CONCAT, [x, y]),
        b.apply(Op.UEXT, [x], [3]),
        b.apply(Op.SEXT, [y], [3]),
        b.apply(Op.ITE, [c, x, y]),
        b.apply(Op.REDXOR, [b.apply(Op.XOR, [x, y])]),
        b.not_(x),
    ]
    values = {x: rng.randrange(64), y: rng.randrange(64), c: rng.randrange(2)}
    known = {node: words([value], b.width(node)) for node, value in values.items()}
    for part, found in zip(parts, evaluate(b, known, parts), strict=True):
        gates = Gates(b)
        wrong = [differs(b, part, int(found[0]))]
        wrong += [b.apply(Op.EQ, [node, b.const(value, b.width(node))]) for node, value in values.items()]
        goals = [(gates.write(node)[0],) for node in wrong]
        proof = solved([*gates.clauses, *goals])
        assert proof is not None
        assert refutes(gates.variables, [*gates.clauses, *goals], proof)


def hard(width: int) -> tuple[Gates, list[tuple[int, ...]]]:
    """That (x + y) * (x + y) is not x * x + 2 x y + y * y."""
    b = Builder()
    x, y = b.input(width), b.input(width)
    total = b.apply(Op.ADD, [x, y])
    left = b.apply(Op.MUL, [total, total])
    cross = b.apply(Op.MUL, [x, b.apply(Op.ADD, [y, y])])
    right = b.apply(Op.ADD, [b.apply(Op.ADD, [b.apply(Op.MUL, [x, x]), cross]), b.apply(Op.MUL, [y, y])])
    gates = Gates(b)
    return gates, [(gates.write(b.not_(b.apply(Op.EQ, [left, right])))[0],)]


@pytest.mark.parametrize("name", ["cadical195", "cadical153", "glucose4"])
def test_proofs_of_several_solvers_are_accepted(name: str) -> None:
    gates, goals = hard(4)
    proof = solved([*gates.clauses, *goals], name)
    assert proof is not None
    assert refutes(gates.variables, [*gates.clauses, *goals], proof)


def test_a_proof_of_something_else_is_refused() -> None:
    """Steps are left out, changed, or taken from the end: what is still accepted still refutes the same clauses."""
    gates, goals = hard(4)
    clauses = [*gates.clauses, *goals]
    proof = solved(clauses)
    assert proof is not None
    rng, refused = random.Random(1), 0
    for _ in range(60):
        met = [clause for clause in gates.clauses if rng.random() < 0.98]  # a gate or two is gone: it can be met
        wrong = [list(step) for step in proof]
        for _ in range(3):
            at = rng.randrange(len(wrong))
            wrong[at] = [-literal if rng.random() < 0.3 else literal for literal in wrong[at]]
        possible = solved([*met, *goals]) is None
        assert not (possible and refutes(gates.variables, [*met, *goals], wrong))
        refused += possible
    assert refused > 20
    assert not refutes(gates.variables, clauses, [[]])
    assert not refutes(gates.variables, clauses, proof[: len(proof) // 4])
    with pytest.raises(ValueError, match="names a variable beyond"):
        refutes(gates.variables, clauses, [[gates.variables + 1]])


def test_random_clauses_are_refuted_exactly_where_enumeration_meets_none() -> None:
    rng = random.Random(3)
    unmet = 0
    for _ in range(150):
        count = rng.randint(3, 6)
        clauses = [
            tuple(rng.choice([1, -1]) * rng.randint(1, count) for _ in range(rng.randint(1, 3)))
            for _ in range(rng.randint(4, 26))
        ]
        met = any(
            all(any((value >> abs(x) - 1 & 1) == (x > 0) for x in clause) for clause in clauses)
            for value in range(1 << count)
        )
        proof = solved(clauses)
        assert (proof is None) is met
        steps = proof if proof is not None else [[rng.choice([1, -1]) * rng.randint(1, count)] for _ in range(6)] + [[]]
        assert refutes(count, clauses, steps) is not met
        unmet += not met
    assert 20 < unmet < 130
    assert TRUE == 1
