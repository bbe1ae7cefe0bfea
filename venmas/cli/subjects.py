"""Subjects that `--scenario` names: a system, or a circuit (a netlist, a design in Verilog, a bundled machine)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venmas.cli.options import Loaded, load
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.engine.report import Origin
    from venmas.model.circuit.nodes import Circuit


@dataclass(frozen=True)
class Design:
    """A circuit with the parameters that the options give it; the counterpart of `Loaded`."""

    name: str
    subject: Circuit
    parameters: Mapping[str, str]

    @property
    def formula(self) -> str:
        """None is asked by default."""
        return ""

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Text that was read for it."""
        return [("the design", Path(self.name))] if Path(self.name).is_file() else []

    @property
    def origin(self) -> Origin:
        """What a stored result says of it."""
        from venmas.engine.report import Origin
        from venmas.runtime.files import sha256_of

        return Origin(self.name, None, {}, {f"scenario/{path.name}": sha256_of(path) for _, path in self.files})

    @property
    def named_files(self) -> dict[str, Path]:
        """The files that were read, by the names that results and archives have for them."""
        return {f"scenario/{path.name}": path for _, path in self.files}


def load_subject(
    scenario: str | None,
    settings: Mapping[str, str],
    networks: str | None,
    asked: Sequence[str] = (),
    exact: bool = True,
) -> Loaded | Design:
    """Subject that a name stands for. asked: texts of formulas, whose signals a design keeps.

    exact: the ranges of a machine are proved gate by gate, else by a solver's word.
    Raises `InputError`.
    """
    from venmas.formats.designs import is_circuit
    from venmas.model.scenario.scenario import MachineError

    machine = None
    if scenario is None or not is_circuit(scenario):
        try:
            return load(scenario, settings, networks)
        except MachineError as error:
            assert scenario is not None
            machine = error.machine
    if networks is not None:
        raise UsageError(f"--networks: {scenario} is a design, which has none: leave it out")
    from venmas.budget import Budget
    from venmas.engine.subjects import load_circuit, of_machine

    if machine is None:
        circuit = load_circuit(scenario, settings, asked=[text for text in asked if text], exact=exact)
    else:
        circuit = of_machine(machine, scenario, Budget(None), exact)
    return Design(scenario, circuit, dict(settings))


def load_asked(
    scenario: str | None,
    settings: Mapping[str, str],
    networks: str | None,
    texts: Sequence[str],
    options: Mapping[str, Any],
) -> Loaded | Design:
    """The same, for questions with the options of verify, whose conditions read signals, too. Raises `InputError`."""
    signals = (*texts, options["initial"], *options["fair"])
    return load_subject(scenario, settings, networks, signals, options["trust"] != "solver")
