"""Properties of a system or a circuit, read from text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from venmas.errors import CircuitError, UsageError
from venmas.logic import Deadlock, Formula, Linear, Property
from venmas.model.system.system import System
from venmas.question import read_system_property

if TYPE_CHECKING:
    from venmas.model.circuit.nodes import Circuit


def read_asked(
    subject: System | Circuit,
    formula: str | Formula,
    fair: Iterable[str] = (),
    deadlock: Deadlock = "error",
    initial: str = "",
) -> tuple[System | Circuit, Property]:
    """The property, and the subject, in which lines of a netlist that the property names have names now.

    formula: text, the name of a property of the subject, or a formula. fair: conditions that hold infinitely often on
    the runs that are meant. initial: what holds of the registers of a circuit in initial states, besides. Raises
    `FormulaError`, `CircuitError`, and `UsageError` for options that the property or the subject does not have.
    """
    fair = tuple(fair)
    if not isinstance(subject, System):
        return _asked_of_circuit(subject, formula, fair, deadlock, initial)
    if initial:
        raise UsageError("a condition on initial states is for netlists: a system has its own, leave it out")
    return subject, read_system_property(subject, formula, fair, deadlock)


def _asked_of_circuit(
    circuit: Circuit, formula: str | Formula, fair: tuple[str, ...], deadlock: Deadlock, initial: str
) -> tuple[Circuit, Linear]:
    from venmas.logic.ltl_parser import parse_ltl
    from venmas.model.circuit.binding import started
    from venmas.model.circuit.properties import named_property

    if deadlock != "error":
        raise UsageError("what runs do without a successor is asked of systems: each state of a netlist has one")
    if initial:
        circuit = started(circuit, parse_ltl(initial))
    if isinstance(formula, Formula):
        asked = formula
    else:
        circuit, text, assumed = named_property(circuit, formula)
        fair, asked = (*fair, *assumed), parse_ltl(text)
    if circuit.fair:
        raise CircuitError("the netlist has `fair` lines, which are not read as assumptions yet: name them with --fair")
    return circuit, Linear(asked, tuple(map(parse_ltl, fair)), deadlock)
