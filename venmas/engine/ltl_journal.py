"""What `venmas ltl` keeps on disk of its questions about systems: verdicts, in the journal that `verify` writes, too.

An entry ``ltl:DIGEST`` is named by all that the verdict depends on: canonical system with its networks, formula,
fairness, what runs do without a successor, and the code of VenMAS. A lasso is replayed before it is told again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from venmas.engine.journal import FORM
from venmas.errors import ModelError, StoreError, UsageError
from venmas.identity import code_digest
from venmas.logic.formula import Formula
from venmas.logic.printing import to_text
from venmas.ltl.systems.decide import (
    STAYS,
    Deadlock,
    Satisfied,
    Unknown,
    Violated,
    Work,
    condition,
    questioned,
)
from venmas.ltl.systems.replay import replayed
from venmas.ltl.translate import refuting
from venmas.model.canonical import system_digest
from venmas.model.canonical_writer import canonical_text
from venmas.model.system import System
from venmas.store import Store

log = logging.getLogger(__name__)


class LtlJournal:
    """The entry of one question; a context manager. told: what is said of a verdict that is recalled.

    Raises `StoreError` where the file cannot be used, and `UsageError` for a system that has no canonical form. Once it
    is open it may fail without harm.
    """

    def __init__(
        self, path: str | Path, system: System, formula: Formula, fair: Sequence[Formula], deadlock: Deadlock
    ) -> None:
        self._system, self._whole, self.told = system, questioned(formula, fair), ""
        try:
            about = [system_digest(system), to_text(formula), [to_text(one) for one in fair], deadlock, code_digest()]
        except ModelError as error:
            raise UsageError(f"no journal can be kept of this system: {error}; or run without a journal") from error
        self._key = "ltl:" + hashlib.sha256(canonical_text(about).encode()).hexdigest()
        self._store = Store(path, "journal", FORM)

    def __enter__(self) -> LtlJournal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def recall(self, certificate: bool) -> tuple[Satisfied | Violated, Work] | None:
        """What an earlier run found, if it is there. certificate: one is asked for, so that a proof is made anew."""
        try:
            stored = self._store.get(self._key)
            found = None if stored is None else self._read(stored, certificate)
        except (StoreError, ModelError, TypeError, ValueError, LookupError) as error:  # not written by `keep`
            log.warning("the verdict in the journal cannot be read and is sought anew: %s", error)
            return None
        if found is not None:
            how = "the run was replayed again" if isinstance(found[0], Violated) else "nothing was computed again"
            took = f"the run that decided it took {float(stored['seconds']):.3g} s"
            self.told = f"this verdict is that of an earlier run, in the journal ({took}); {how}"
        return found

    def keep(self, answer: Satisfied | Violated | Unknown, work: Work, seconds: float) -> None:
        """Note a verdict; unknowns are not kept."""
        entry: dict[str, object] = {"states": work.states, "pairs": work.pairs, "seconds": seconds}
        match answer:
            case Unknown():
                return
            case Satisfied(within):
                entry |= {"verdict": "satisfied", "within": within}
            case Violated(run):
                first = {name: str(value) for name, value in run.states[0].items()}
                entry |= {"verdict": "violated", "first": first, "branches": list(run.branches), "back": run.back}
        try:
            self._store.put(self._key, entry)
        except StoreError as error:
            log.warning("nothing is kept for another run: %s", error)

    def _read(self, stored: Mapping[str, Any], certificate: bool) -> tuple[Satisfied | Violated, Work] | None:
        work = Work(refuting(self._whole), int(stored["states"]), int(stored["pairs"]))
        if stored["verdict"] == "satisfied":
            within = stored["within"]
            return None if certificate else (Satisfied(None if within is None else int(within)), work)
        if stored["verdict"] != "violated":
            raise ValueError("it is none")
        numbers = {"": STAYS, **{one.name: i for i, one in enumerate(self._system.branches)}}
        first = {name: Fraction(stored["first"][name]) for name in self._system.variables}
        branches = [numbers[name] for name in stored["branches"]]
        run = replayed(self._system, first, branches, range(len(branches))[int(stored["back"])], self._whole, condition)
        if run is None:
            raise ValueError("its run does not replay")
        return Violated(run), work
