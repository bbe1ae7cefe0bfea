"""Names of a system that formulas cannot use, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from venmas.model.system.system import System


def unnameable(system: System) -> dict[str, str]:
    """Agents, branches, disturbances and properties by name, each with what to write instead."""
    no_state = "which is no part of the state: keep it in a variable that branches set"
    branches = "a branch, which is no part of the state: set a variable in it"
    return {
        **{b.name: branches for b in system.branches},
        **{a.name: f"the action of an agent, {no_state}" for a in system.agents},
        **dict.fromkeys(system.disturbances, f"a disturbance, {no_state}"),
        **{p: f"a property, which is asked for by itself: --formula {p}" for p in system.properties},
    }
