"""Options that name what is asked: SystemVerilog, a netlist, a machine in Python, or a scenario."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.options import read_settings
from venmas.cli.table import refuse
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.budget import Budget
    from venmas.circuit.nodes import Circuit
    from venmas.ltl.systems.decide import Deadlock

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    """What the options name."""

    design: str | None
    top: str | None
    btor2: str | None
    machine: str | None
    settings: tuple[str, ...]
    scenario: str | None
    networks: str | None
    deadlock: Deadlock

    @property
    def path(self) -> str:
        """The file that is named, or the name of a bundled machine."""
        return self.design or self.btor2 or self.machine or self.scenario or ""

    def check(self) -> None:
        """Raises `UsageError` where the options do not fit together."""
        if sum(kind is not None for kind in (self.design, self.btor2, self.machine, self.scenario)) != 1:
            raise UsageError(
                "one design is wanted: --design FILE.sv, --btor2 FILE, --machine NAME|FILE.py, or --scenario NAME|FILE"
            )
        if self.scenario is not None:
            refuse("netlist", f"{self.scenario!r} is a scenario")
        else:
            refuse("scenario", "a design is given")
        if self.design is None:
            refuse("verilog", "another kind of design is given")
        if self.btor2 is not None:
            refuse("parameters", "a netlist has none")

    def read(self, budget: Budget, exact: bool, texts: Sequence[str]) -> tuple[str, Circuit, Mapping[str, str]]:
        """Its name, the circuit, and the properties that a machine names. Raises `InputError`.

        exact: as of `decide`, of the ranges of a machine. texts: formulas that will be asked of a design, whose signals
        are kept.
        """
        self.check()
        if self.design is not None:
            from venmas.circuit.verilog import read_verilog
            from venmas.logic.ltl_parser import parse_ltl
            from venmas.ltl.binding import signals

            asked = {name for text in texts for name in signals(parse_ltl(text))}
            settings = read_settings(self.settings)
            found = read_verilog(self.design, self.top, budget.left, asked=asked, settings=settings)
            for warning in found.warnings:
                log.warning("%s", warning)
            return self.design, found.circuit, {}
        if self.btor2 is not None:
            from venmas.circuit.btor2 import read_btor2

            return self.btor2, read_btor2(self.btor2), {}
        from venmas.budget import BudgetError
        from venmas.circuit.designs import load_machine
        from venmas.ltl.ranges import circuit_of

        assert self.machine is not None
        machine = load_machine(self.machine, **read_settings(self.settings))
        try:
            return self.machine, circuit_of(machine, budget, exact), machine.properties
        except BudgetError as error:
            raise UsageError(
                f"--machine {self.machine}: its ranges are not proved: {error}; give it more time"
            ) from error


def design_options(command: Callable[..., int]) -> Callable[..., int]:
    """`--design`, `--top`, `--btor2`, `--machine`, `--scenario` and what belongs to them, as one argument `asked`."""

    @functools.wraps(command)
    def taken(*args: Any, **given: Any) -> int:
        names = ("design", "top", "btor2", "machine", "settings", "scenario", "networks", "deadlock")
        return command(*args, asked=Asked(**{name: given.pop(name) for name in names}), **given)

    for option in (
        click.option(
            "--set",
            "settings",
            metavar="NAME=VALUE",
            multiple=True,
            help="Set a parameter of a design, machine or scenario.",
        ),
        click.option(
            "--deadlock",
            type=click.Choice(["error", "stutter"]),
            default="error",
            show_default=True,
            help="A state of a scenario without successor. error: nothing is satisfied; stutter: runs stay there.",
        ),
        click.option("--networks", metavar="DIR", help="Read the networks of the scenario from this folder."),
        click.option(
            "--scenario", metavar="NAME|FILE", help="A scenario of integers and Booleans, instead of a design."
        ),
        click.option("--machine", metavar="NAME|FILE", help="A bundled design, or a file (.py) that builds a Machine."),
        click.option("--btor2", metavar="FILE", help="A netlist in BTOR2."),
        click.option("--top", metavar="MODULE", help="The top module of the design; by default Yosys finds it."),
        click.option("--design", metavar="FILE", help="A design in SystemVerilog, read through Yosys."),
    ):
        taken = option(taken)
    return taken
