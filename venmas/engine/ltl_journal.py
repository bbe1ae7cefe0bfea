"""What `venmas ltl` keeps on disk of its questions about systems: verdicts, in the journal that `verify` writes, too.

An entry is named by all that the verdict depends on: canonical system with its networks, formula, fairness, what runs
do without a successor, and the code of VenMAS. A lasso is replayed before it is told again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from venmas.answer import Unknown
from venmas.engine.ltl_entry import LtlEntry
from venmas.errors import ModelError, UsageError
from venmas.logic.automata.translate import questioned, refuting
from venmas.logic.formula import Formula
from venmas.logic.printing import to_text
from venmas.model.canonical.canonical import system_digest
from venmas.model.system.system import System
from venmas.model.witness.lasso import SystemRun, replayed
from venmas.procedures.explicit.ltl import STAYS, Deadlock, Satisfied, Work, condition
from venmas.procedures.netlist.answers import Violated
from venmas.runtime.identity import code_digest


class LtlJournal(LtlEntry[tuple[Satisfied | Violated[SystemRun], Work]]):
    """The entry of one question. Raises `StoreError`, and `UsageError` for a system that has no canonical form."""

    def __init__(
        self, path: str | Path, system: System, formula: Formula, fair: Sequence[Formula], deadlock: Deadlock
    ) -> None:
        self._system, self._whole = system, questioned(formula, fair)
        try:
            about = [system_digest(system), to_text(formula), [to_text(one) for one in fair], deadlock, code_digest()]
        except ModelError as error:
            raise UsageError(f"no journal can be kept of this system: {error}; or run without a journal") from error
        super().__init__(path, about)

    def keep(self, answer: Satisfied | Violated[SystemRun] | Unknown, work: Work, seconds: float) -> None:
        """Note a verdict; unknowns are not kept."""
        entry: dict[str, object] = {"states": work.states, "pairs": work.pairs}
        match answer:
            case Unknown():
                return
            case Satisfied(within):
                entry |= {"verdict": "satisfied", "within": within}
            case Violated(run):
                first = {name: str(value) for name, value in run.states[0].items()}
                entry |= {"verdict": "violated", "first": first, "branches": list(run.branches), "back": run.back}
        self.put(entry, seconds)

    def read(self, stored: Mapping[str, Any]) -> tuple[Satisfied | Violated[SystemRun], Work]:  # noqa: D102
        work = Work(refuting(self._whole), int(stored["states"]), int(stored["pairs"]))
        if stored["verdict"] == "satisfied":
            within = stored["within"]
            return Satisfied(None if within is None else int(within)), work
        if stored["verdict"] != "violated":
            raise ValueError("it is none")
        numbers = {"": STAYS, **{one.name: i for i, one in enumerate(self._system.branches)}}
        first = {name: Fraction(stored["first"][name]) for name in self._system.variables}
        branches = [numbers[name] for name in stored["branches"]]
        run = replayed(self._system, first, branches, range(len(branches))[int(stored["back"])], self._whole, condition)
        if run is None:
            raise ValueError("its run does not replay")
        return Violated(run), work
