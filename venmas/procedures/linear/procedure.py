"""Procedures of LTL that take one kind of subject, whatever is asked about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from venmas.model.circuit.nodes import Circuit
from venmas.model.system.system import System
from venmas.procedure import LinearQuestion, Option, Run, Session


@dataclass
class LinearProcedure:
    """A procedure with a stage of its own, by the sessions that it begins. otherwise: why it takes no other kind."""

    name: str
    help: str
    subject: type[System] | type[Circuit]
    otherwise: str
    session: Callable[[LinearQuestion], Session]
    options: tuple[Option, ...] = ()

    linear: ClassVar[bool] = True

    def accepts(self, question: LinearQuestion, run: Run) -> str | None:
        """Of subjects of its kind."""
        return None if isinstance(question.subject, self.subject) else self.otherwise

    def start(self, question: LinearQuestion, run: Run) -> Session:
        """Nothing is done yet."""
        return self.session(question)
