"""Simulation and the cone of influence: the cone does what the whole circuit does, seen from its roots."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.needs import needs
from venmas.circuit.builder import Builder
from venmas.circuit.cone import cone
from venmas.circuit.nodes import Circuit
from venmas.circuit.operators import Op, words
from venmas.circuit.simulate import evaluate, first_states, step, values
from venmas.circuit.smt import Sat, Smt, Unsat

_BINARY = [Op.AND, Op.OR, Op.XOR, Op.ADD, Op.SUB, Op.MUL, Op.UDIV, Op.UREM, Op.SLL, Op.SRL, Op.SRA]


def random_circuit(rng: random.Random, size: int = 30) -> Circuit:
    """Registers and inputs of 4 bits, random operators between them, random updates and first values."""
    b = Builder()
    leaves = [b.register(4) for _ in range(5)] + [b.input(4) for _ in range(3)]
    made = [*leaves, b.const(rng.randrange(16), 4)]
    for _ in range(size):
        x, y, z = (rng.choice(made) for _ in range(3))
        if rng.random() < 0.3:
            condition = b.apply(rng.choice([Op.EQ, Op.ULT, Op.SLT]), [x, y])
            made.append(b.apply(Op.ITE, [condition, y, z]))
        elif rng.random() < 0.2:
            made.append(b.apply(Op.CONCAT, [b.apply(Op.SLICE, [x], [1, 0]), b.apply(Op.SLICE, [y], [3, 2])]))
        else:
            made.append(b.apply(rng.choice(_BINARY), [x, y]))
    firsts = [b.const(rng.randrange(16), 4) if rng.random() < 0.5 else None for _ in range(5)]
    following = [rng.choice(made) for _ in range(5)]
    return Circuit(
        tuple(b.nodes), tuple(b.inputs), tuple(b.registers), tuple(following), tuple(firsts), names={"root": made[-1]}
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_cone_runs_as_the_whole_does(seed: int) -> None:
    rng, dice = random.Random(seed), np.random.default_rng(seed)
    whole = random_circuit(rng)
    root = whole.names["root"]
    part, (there,) = cone(whole, [root])
    assert part.names["root"] == there
    free = [words(dice.integers(0, 16, 50), 4) for _ in whole.registers]
    kept = [whole.registers.index(n) for n in whole.registers if _in(whole, part, n)]
    inputs = [[words(dice.integers(0, 16, 50), 4) for _ in whole.inputs] for _ in range(6)]
    used = [at for at, n in enumerate(whole.inputs) if _in(whole, part, n)]
    assert len(part.registers) == len(kept)
    assert len(part.inputs) == len(used)
    one, two = (
        first_states(whole, free, inputs[0]),
        first_states(part, [free[at] for at in kept], [inputs[0][at] for at in used]),
    )
    for now in inputs:
        small = [now[at] for at in used]
        (left,), (right,) = values(whole, one, now, [root]), values(part, two, small, [there])
        assert (left == right).all()
        one, two = step(whole, one, now), step(part, two, small)


def _in(whole: Circuit, part: Circuit, node: int) -> bool:
    """Is a leaf in the cone of the root? By plain search, backwards over all steps."""
    seen, stack = set(), [whole.names["root"]]
    while stack:
        at = stack.pop()
        if at not in seen:
            seen.add(at)
            stack += whole.nodes[at].args
            stack += [whole.next[whole.registers.index(at)]] if at in whole.registers else []
    return node in seen


@pytest.mark.parametrize("seed", range(10))
def test_the_solver_finds_what_enumeration_finds(seed: int) -> None:
    """A register is asked for a value one step later: 2^20 points at most, by simulation."""
    needs("bitwuzla")
    rng = random.Random(seed)
    circuit = random_circuit(rng, 12)
    part, (root,) = cone(circuit, [circuit.names["root"]])
    leaves = [*part.registers, *part.inputs]
    if len(leaves) > 4:
        leaves = leaves[:4]
    b = Builder()
    known = {n: b.input(4) if n in leaves else b.const(rng.randrange(16), 4) for n in [*part.registers, *part.inputs]}
    (made,) = b.copy(part, known, [root])
    grid = np.meshgrid(*[np.arange(16)] * len(b.inputs), indexing="ij") if b.inputs else [np.zeros(1, dtype=np.int64)]
    (all_values,) = evaluate(b, {node: axis.ravel() for node, axis in zip(b.inputs, grid, strict=False)}, [made])
    reached = {int(value) for value in all_values}
    smt = Smt(b)
    for wanted in range(16):
        answer = smt.check([b.apply(Op.EQ, [made, b.const(wanted, 4)])], 20)
        assert isinstance(answer, Sat if wanted in reached else Unsat)
