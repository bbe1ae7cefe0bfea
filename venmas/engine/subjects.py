"""Circuits by name or from files: netlists in BTOR2, designs in Verilog, and machines in Python."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from venmas.budget import Budget, BudgetError
from venmas.errors import UsageError
from venmas.formats.btor2.reader import read_btor2
from venmas.formats.designs import NETLISTS, VERILOG, load_machine
from venmas.formats.verilog import read_verilog
from venmas.logic.ltl_parser import parse_ltl
from venmas.model.circuit.binding import signals
from venmas.model.circuit.machine import Machine
from venmas.model.circuit.nodes import Circuit
from venmas.procedures.netlist.ranges import circuit_of

log = logging.getLogger(__name__)
_TOP = "design.top"
_NONE: Mapping[str, object] = {}


def load_circuit(
    name: str | Path,
    settings: Mapping[str, object] = _NONE,
    *,
    asked: Sequence[str] = (),
    exact: bool = True,
    timeout: float | None = None,
) -> Circuit:
    """The circuit of a netlist (.btor2), a design (.sv, .v; read through Yosys), or a machine (.py, or bundled).

    settings: parameters, of a design ``design.top`` besides, its top module. asked: formulas that will be asked of a
    design, whose signals are kept. exact: the ranges of a machine are proved gate by gate, else by a solver's word.
    timeout: seconds. Raises `InputError`.
    """
    given, budget, settings = str(name), Budget(timeout), dict(settings)
    suffix = Path(given).suffix
    if suffix in NETLISTS:
        if settings:
            raise UsageError(f"{given} is a netlist, which has no parameters: leave {next(iter(settings))} out")
        return replace(read_btor2(given), title=given)
    if suffix in VERILOG:
        top = settings.pop(_TOP, None)
        names = {one for text in asked for one in signals(parse_ltl(text))}
        texts = {key: str(value) for key, value in settings.items()}
        found = read_verilog(given, None if top is None else str(top), budget.left, asked=names, settings=texts)
        for warning in found.warnings:
            log.warning("%s", warning)
        return replace(found.circuit, title=given)
    return of_machine(load_machine(given, **settings), given, budget, exact)


def of_machine(machine: Machine, title: str, budget: Budget, exact: bool) -> Circuit:
    """The circuit of a machine, its ranges proved; exact: gate by gate. Raises `InputError`."""
    try:
        circuit = circuit_of(machine, budget, exact)
    except BudgetError as error:
        raise UsageError(f"{title}: the ranges of its registers are not proved: {error}; give it more time") from error
    return replace(circuit, title=title, properties=dict(machine.properties))
