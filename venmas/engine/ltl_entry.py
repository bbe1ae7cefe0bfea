"""One question of LTL in the journal that `verify` writes, too: its verdict, by a digest of all that it depends on.

Of which kind of question, and what is kept of its verdict, subclasses say (`ltl_journal`, `ltl_design_journal`).
"""

from __future__ import annotations

import hashlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from venmas.engine.journal import FORM
from venmas.engine.store import Store
from venmas.errors import ModelError, StoreError
from venmas.model.canonical.writer import canonical_text

log = logging.getLogger(__name__)
Found = TypeVar("Found")


class LtlEntry(ABC, Generic[Found]):
    """An entry ``ltl:DIGEST``; a context manager. told: what is said of a verdict that is recalled.

    about: what the verdict depends on, as JSON. Raises `StoreError` where the file cannot be used. Once it is open it
    may fail without harm.
    """

    def __init__(self, path: str | Path, about: object) -> None:
        self.told = ""
        self._key = "ltl:" + hashlib.sha256(canonical_text(about).encode()).hexdigest()
        self._store = Store(path, "journal", FORM)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def recall(self, anew: bool) -> Found | None:
        """What an earlier run found, if it is there. anew: a proof is asked for, so that one is made anew."""
        try:
            stored = self._store.get(self._key)
            if stored is None or (anew and stored["verdict"] == "satisfied"):
                return None
            found, took = self.read(stored), float(stored["seconds"])
        except (StoreError, ModelError, TypeError, ValueError, LookupError) as error:  # not written by `put`
            log.warning("the verdict in the journal cannot be read and is sought anew: %s", error)
            return None
        how = "the run was replayed again" if stored["verdict"] == "violated" else "nothing was computed again"
        decided = f"the run that decided it took {took:.3g} s"
        self.told = f"this verdict is that of an earlier run, in the journal ({decided}); {how}"
        return found

    def put(self, entry: Mapping[str, object], seconds: float) -> None:
        """Note a verdict."""
        try:
            self._store.put(self._key, {**entry, "seconds": seconds})
        except StoreError as error:
            log.warning("nothing is kept for another run: %s", error)

    @abstractmethod
    def read(self, stored: Mapping[str, Any]) -> Found:
        """The answer that an entry tells of, a run replayed. Raises the errors of data of another form."""
