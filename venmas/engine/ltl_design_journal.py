"""What `venmas ltl` keeps on disk of its questions about designs: verdicts, in the journal that `verify` writes, too.

An entry is named by all that the verdict depends on: the circuit with its names and initial states, formula, fairness,
trust, learner, what a proof may be about, and the code and packages of VenMAS. A lasso is replayed before it is told
again; of a proof only its verdict is kept, the proof itself is what a certificate is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from venmas.answer import Unknown
from venmas.engine.certificates.trust import Trust
from venmas.engine.ltl_decide import Satisfied, Work
from venmas.engine.ltl_entry import LtlEntry
from venmas.engine.report import versions
from venmas.logic.automata.translate import questioned, refuting
from venmas.logic.formula import Formula
from venmas.logic.printing import to_text
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.smt import solver_name
from venmas.model.witness.circuit import Observed, Run
from venmas.procedures.netlist.answers import Violated
from venmas.procedures.ranking.second import second_solver
from venmas.runtime.identity import code_digest


class DesignJournal(LtlEntry[tuple[Satisfied | Violated[Run], Work]]):
    """The entry of one question. initial: a proof may begin at the initial states.

    Raises `StoreError`, and `SolverUnavailableError` where a solver's word is asked for that is not installed.
    """

    def __init__(
        self,
        path: str | Path,
        circuit: Circuit,
        formula: Formula,
        fair: Sequence[Formula],
        trust: Trust,
        learner: str,
        initial: bool,
    ) -> None:
        self._circuit, self._whole = circuit, questioned(formula, fair)
        asked = [to_text(formula), [to_text(one) for one in fair], trust, learner, initial]
        solvers = [] if trust == "exact" else [solver_name()]
        solvers += [second_solver()[0]] if trust == "two" else []
        super().__init__(path, [_form(circuit), asked, solvers, code_digest(), versions()])

    def keep(self, answer: Satisfied | Violated[Run] | Unknown, work: Work, seconds: float) -> None:
        """Note a verdict; unknowns are not kept."""
        entry: dict[str, object] = {"cone": list(work.cone)}
        match answer:
            case Unknown():
                return
            case Satisfied():
                entry |= {"verdict": "satisfied", "solver": answer.solver}
            case Violated(run):
                rows = {"first": list(run.states[0].values()), "inputs": [list(row.values()) for row in run.inputs]}
                entry |= {"verdict": "violated", "back": run.back, **rows}
        self.put(entry, seconds)

    def read(self, stored: Mapping[str, Any]) -> tuple[Satisfied | Violated[Run], Work]:  # noqa: D102
        automaton = refuting(self._whole)
        registers, bits = stored["cone"]
        work = Work(automaton, (int(registers), int(bits)))
        if stored["verdict"] == "satisfied":
            solver = stored["solver"]
            return Satisfied((), None if solver is None else str(solver), self._circuit), work
        if stored["verdict"] != "violated":
            raise ValueError("it is none")
        first, inputs = list(map(int, stored["first"])), [list(map(int, row)) for row in stored["inputs"]]
        back = None if stored["back"] is None else range(len(inputs))[int(stored["back"])]
        run = Observed(self._circuit, self._whole, automaton.atoms).replay(first, inputs, back)
        if run is None:
            raise ValueError("its run does not replay")
        return Violated(run), work


def _form(circuit: Circuit) -> list[object]:
    """All that a circuit is, but for its text."""
    nodes = [[node.op.name, node.width, node.args, node.params] for node in circuit.nodes]
    parts = (circuit.inputs, circuit.registers, circuit.next, circuit.init, circuit.starts, circuit.constraints)
    return [nodes, *parts, circuit.bad, circuit.fair, circuit.justice, list(circuit.names.items())]
