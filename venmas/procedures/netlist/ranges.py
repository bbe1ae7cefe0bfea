"""Machines whose registers stay within their ranges: what the ranges of the circuit rest on as constraints."""

from __future__ import annotations

from venmas.budget import Budget, BudgetError
from venmas.errors import ModelError, VenmasError
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.machine import Leaving, Machine
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.smt import Sat, Smt, Undecided
from venmas.procedures.netlist.proofs import checks, proof_of


def circuit_of(machine: Machine, budget: Budget, exact: bool = True) -> Circuit:
    """The circuit of a machine, after a proof that no step from within the ranges leaves them (S1).

    exact: as of `decide`. Raises `ModelError` with a state and inputs from which a step leaves, `BudgetError`, and
    `SolverUnavailableError`.
    """
    circuit, asked = machine.leaving()
    b = Builder()
    known = {node: b.register(circuit.width(node)) for node in circuit.registers}
    known |= {node: b.input(circuit.width(node)) for node in circuit.inputs}
    assumed = b.copy(circuit, known, circuit.constraints)
    smt = Smt(b) if asked else None
    for one in asked:
        budget()
        assert smt is not None
        conditions = [*assumed, *b.copy(circuit, known, [one.node])]
        answer = smt.check(conditions, budget.left)
        if isinstance(answer, Sat):
            here = {name: answer.values.get(known[node], 0) for name, node in circuit.names.items() if node in known}
            raise ModelError(_told(machine, one, here))
        if isinstance(answer, Undecided):
            raise BudgetError(budget, answer.reason, f"it was not proved that {one.register} keeps to its range")
        if exact:
            proof = proof_of(b, conditions, budget)
            if proof is None or not checks(b, conditions, proof, budget):
                raise VenmasError(f"that {one.register} keeps to its range has no proof that checks: please report it")
    return circuit


def _told(machine: Machine, one: Leaving, here: dict[str, int]) -> str:
    place = ", ".join(f"{name} = {value}" for name, value in here.items())
    return (
        f"machine {machine.name!r}: {one.register} may leave its range {one.low} .. {one.high} in a step from {place}. "
        "Updates have to stay in range from every state within the ranges, reached or not; guard the update, or give "
        "the register a width"
    )
