"""Machines by name, or from files: the bundled designs, and Python files of one's own.

Such a file is a scenario file (`model.scenario.scenario`) whose ``build(networks, **parameters)`` returns a `Machine`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from venmas.errors import ScenarioError
from venmas.model.scenario.parameters import NetworkFolder
from venmas.model.scenario.scenario import Scenario, bundled, load_scenario

if TYPE_CHECKING:
    from venmas.model.circuit.machine import Machine

NETLISTS, VERILOG = (".btor2", ".btor"), (".sv", ".v")
"""Endings of the files of circuits."""


def is_circuit(name: str) -> bool:
    """Does a name stand for a circuit: a netlist, a design, or a bundled machine?"""
    return Path(name).suffix in (*NETLISTS, *VERILOG) or name in design_names()


def design_names() -> tuple[str, ...]:
    """Names of the bundled designs."""
    return tuple(sorted(Path(one.name).stem for one in _folder().iterdir() if one.name.endswith(".py")))


def load_design(name_or_path: str | Path) -> Scenario:
    """The file of a bundled design, or of a machine of one's own. Raises `ScenarioError`."""
    given = str(name_or_path)
    if given in design_names():
        return load_scenario(_folder() / f"{given}.py")
    if Path(given).suffix != ".py":
        raise ScenarioError(
            f"there is no design {given[:200]!r}; bundled ones are {', '.join(design_names())}, and the path of a .py "
            "file loads your own"
        )
    return load_scenario(given)


def load_machine(name_or_path: str | Path, **settings: object) -> Machine:
    """The machine of a design with these parameters. Raises `ScenarioError`."""
    from venmas.model.circuit.machine import Machine

    design = load_design(name_or_path)
    made = design.made(NetworkFolder(design.networks), design.values(settings))
    if not isinstance(made, Machine):
        raise ScenarioError(f"{design.path}: build() must return a Machine here, it returned {type(made).__name__}")
    return made


def _folder() -> Path:
    return Path(str(bundled())) / "designs"
