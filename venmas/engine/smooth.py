"""Which questions about systems that are not piecewise linear are taken; the others are refused with a remedy."""

from __future__ import annotations

from venmas.engine.modes import DEFAULT, Mode
from venmas.errors import UsageError
from venmas.logic import Bounded, Branching
from venmas.logic.printing import to_short_text
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedure import takes_smooth
from venmas.procedures.registry import get_procedure


def check_smooth(system: System, asked: Branching, mode: Mode, semantics: Semantics) -> None:
    """Refuse what nothing decides of a system that is not piecewise linear. Raises `UsageError`."""
    if not system.smooth:
        return
    why = f"system {system.name!r} is not piecewise linear ({system.smooth})"
    takes = any(takes_smooth(get_procedure(name)) for name in mode.procedures)
    if not isinstance(asked, Bounded) and not takes:
        units = ", or train the network with ReLU units" if " units" in system.smooth else ""
        raise UsageError(
            f"{why}, and {to_short_text(asked.formula)} has no bound, and mode {mode.name} decides only bounded "
            f"formulas of such systems: leave the mode out, or write AG^20 p for AG p{units}"
        )
    if mode.name != DEFAULT and not takes:
        raise UsageError(f"{why}, and mode {mode.name} is for systems that are: leave the mode out, or name {DEFAULT}")
    obstacles = (network.float32_obstacle for network in networks_of(system).values()) if semantics != "real" else ()
    if (obstacle := next(filter(None, obstacles), None)) is not None:
        raise UsageError(f"no bound on {semantics} evaluations is known: {obstacle}; leave --semantics out")
