"""Names of a system that formulas cannot use, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.errors import did_you_mean
from venmas.linear import format_number

if TYPE_CHECKING:
    from venmas.model.system import System


def unnameable(system: System) -> dict[str, str]:
    """Agents, branches, disturbances and properties by name, each with what to write instead."""
    no_state = "which is no part of the state: keep it in a variable that branches set"
    branches = "a branch, which is no part of the state: set a variable in it"
    return {
        **{b.name: branches for b in system.branches},
        **{a.name: f"the action of an agent, {no_state}" for a in system.agents},
        **dict.fromkeys(system.disturbances, f"a disturbance, {no_state}"),
        **{name: f"a disturbance of one value: write {format_number(v)} for it" for name, v in system.still.items()},
        **{p: f"a property, which is asked for by itself: --formula {p}" for p in system.properties},
    }


def missing(system: System, name: str) -> str:
    """The hint of a message about a name of no variable: a disturbance of one value, the nearest name, or nothing."""
    if name not in system.still:
        return did_you_mean(name, system.nodes_by_name)
    number = format_number(system.still[name])
    return f": the range of the disturbance {name!r} is the one number {number}; write {number} for it"
