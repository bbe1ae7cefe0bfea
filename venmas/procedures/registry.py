"""The procedures by name: ours, and those of other packages (entry points of the group ``venmas.procedures``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from venmas.runtime import plugins

if TYPE_CHECKING:
    from venmas.procedure import Procedure

PROCEDURES = {
    "explicit": "venmas.procedures.explicit.bounded:EXPLICIT",
    "flowpipes": "venmas.procedures.flowpipes.procedure:FLOWPIPES",
    "branch-and-bound": "venmas.procedures.branch_and_bound.procedure:BRANCH_AND_BOUND",
    "polytopes": "venmas.procedures.polytopes.procedure:POLYTOPES",
    "exact": "venmas.procedures.exact.session:EXACT",
    "enclosures": "venmas.procedures.exact.session:ENCLOSURES",
    "bound-propagation": "venmas.procedures.bound_propagation.procedure:BOUND_PROPAGATION",
    "reachability": "venmas.procedures.reachability.procedure:REACHABILITY",
    "fixpoints": "venmas.procedures.explicit.fixpoints:FIXPOINTS",
    "predicate-abstraction": "venmas.procedures.predicate_abstraction.procedure:PREDICATE_ABSTRACTION",
    "k-induction": "venmas.procedures.kinduction.procedure:K_INDUCTION",
    "forever": "venmas.procedures.forever.procedure:FOREVER",
    "cells": "venmas.procedures.forever.bounded:CELLS",
    "covers": "venmas.procedures.covers.procedure:COVERS",
    "polyhedra": "venmas.procedures.covers.procedure:POLYHEDRA",
    "cell-mapping": "venmas.procedures.reachability.cell_mapping:CELL_MAPPING",
    "forever-ltl": "venmas.procedures.forever_ltl.procedure:FOREVER_LTL",
    "bmc": "venmas.procedures.bmc.procedure:BMC",
    "explicit-ltl": "venmas.procedures.explicit.linear:EXPLICIT_LTL",
    "ranking": "venmas.procedures.ranking.procedure:RANKING",
    "ranks": "venmas.procedures.ranking.systems.ranks:RANKS",
    "transfer": "venmas.procedures.transfer.procedure:TRANSFER",
    "transfer-ltl": "venmas.procedures.transfer.procedure:TRANSFER_LTL",
    "simulation": "venmas.procedures.bmc.simulation:SIMULATION",
    "mono": "venmas.procedures.milp.procedure:MONO",
    "comp-seq": "venmas.procedures.milp.procedure:COMP_SEQ",
    "comp-par": "venmas.procedures.milp.procedure:COMP_PAR",
}
"""Name to the module and its attribute."""


_PROCEDURES: plugins.Registry[Procedure[Any]] = plugins.Registry(
    "procedure", plugins.PROCEDURES, PROCEDURES, plugins.has("name", "help", "accepts", "start")
)


def plugged() -> dict[str, Procedure[Any]]:
    """The procedures of other packages, by the name of their entry point; ours keep their names."""
    return _PROCEDURES.plugged


def get_procedure(name: str) -> Procedure[Any]:
    """The procedure of that name. Raises `UsageError` for an unknown one."""
    return _PROCEDURES.get(name)
