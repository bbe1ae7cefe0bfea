"""Inputs that do not matter: bits that a design leaves undefined feed many of its nodes, and often change none of them.

An input is idle where no root has two values that differ by it alone: refuted as gates, and the refutation checked, as
obligations are.
"""

from __future__ import annotations

from collections.abc import Sequence

from venmas.budget import Budget
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit, needed
from venmas.model.circuit.operators import Op
from venmas.procedures.netlist.proofs import checks, proof_of


def idle_inputs(circuit: Circuit, roots: Sequence[int], budget: Budget) -> frozenset[int]:
    """Inputs that no root depends on, whatever the registers and the other inputs are.

    Raises `BudgetError`, and `SolverUnavailableError` where python-sat is not installed.
    """
    used = set(needed(circuit, roots))
    unused = [node for node in circuit.inputs if node not in used]
    unnamed = [node for node in circuit.inputs if node in used and node not in circuit.named]
    if _idle(circuit, roots, unnamed, budget):
        return frozenset([*unused, *unnamed])
    return frozenset([*unused, *(node for node in unnamed if _idle(circuit, roots, [node], budget))])


def _idle(circuit: Circuit, roots: Sequence[int], inputs: Sequence[int], budget: Budget) -> bool:
    """Do the roots stay as they are when these inputs change?"""
    b = Builder()
    known = {node: b.register(circuit.width(node)) for node in circuit.registers}
    known |= {node: b.input(circuit.width(node)) for node in circuit.inputs}
    other = known | {node: b.input(circuit.width(node)) for node in inputs}
    pairs = zip(b.copy(circuit, known, roots), b.copy(circuit, other, roots), strict=True)
    differ = b.any_of([b.not_(b.apply(Op.EQ, [one, two])) for one, two in pairs])
    proof = proof_of(b, [differ], budget)
    return proof is not None and checks(b, [differ], proof, budget)
