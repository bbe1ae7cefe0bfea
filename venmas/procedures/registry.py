"""The procedures by name: ours, and those of other packages (entry points of the group ``venmas.procedures``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.runtime import plugins

if TYPE_CHECKING:
    from venmas.procedure import Procedure

PROCEDURES = {
    "explicit": "venmas.procedures.explicit.bounded:EXPLICIT",
    "tubes": "venmas.procedures.flowpipes.procedure:TUBES",
    "unrolled": "venmas.procedures.branch_and_bound.procedure:UNROLLED",
    "polytopes": "venmas.procedures.polytopes.procedure:POLYTOPES",
    "rational": "venmas.procedures.exact.session:RATIONAL",
    "enclosures": "venmas.procedures.exact.session:ENCLOSURES",
    "bounds": "venmas.procedures.bound_propagation.procedure:BOUNDS",
    "regions": "venmas.procedures.reachability.procedure:REGIONS",
    "closure": "venmas.procedures.explicit.fixpoints:CLOSURE",
    "abstraction": "venmas.procedures.predicate_abstraction.procedure:ABSTRACTION",
    "two-phase": "venmas.procedures.kinduction.procedure:TWO_PHASE",
    "region-closure": "venmas.procedures.reachability.cell_mapping:CELLS",
    "mono": "venmas.procedures.milp.procedure:MONO",
    "comp-seq": "venmas.procedures.milp.procedure:COMP_SEQ",
    "comp-par": "venmas.procedures.milp.procedure:COMP_PAR",
}
"""Name to the module and its attribute."""


_PROCEDURES: plugins.Registry[Procedure] = plugins.Registry(
    "procedure", plugins.PROCEDURES, PROCEDURES, plugins.has("name", "help", "accepts", "eager", "start")
)


def plugged() -> dict[str, Procedure]:
    """The procedures of other packages, by the name of their entry point; ours keep their names."""
    return _PROCEDURES.plugged


def get_procedure(name: str) -> Procedure:
    """The procedure of that name. Raises `UsageError` for an unknown one."""
    return _PROCEDURES.get(name)
