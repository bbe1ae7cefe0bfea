"""Procedures of LTL that take one kind of subject, whatever is asked about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from venmas.model.circuit.nodes import Circuit
from venmas.model.system.system import System
from venmas.procedure import LinearQuestion, Option, Run, Session


def beyond_integers(system: System) -> str | None:
    """The reason that states of a system are no integers; None where they are."""
    if system.smooth:
        return f"it is for systems of integers, and {system.smooth}"
    real = next((name for name, decl in system.variables.items() if not decl.integral), None)
    if system.disturbances or real is not None:
        what = "the system has disturbances" if real is None else f"variable {real} is real"
        return f"it is for systems of integers and Booleans, and {what}"
    return None


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
        """Of subjects of its kind, systems of integers."""
        subject = question.subject
        if not isinstance(subject, self.subject):
            return self.otherwise
        return beyond_integers(subject) if isinstance(subject, System) else None

    def start(self, question: LinearQuestion, run: Run) -> Session:
        """Nothing is done yet."""
        return self.session(question)
