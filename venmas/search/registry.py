"""The procedures by name: ours, and those of other packages (entry points of the group ``venmas.procedures``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas import plugins

if TYPE_CHECKING:
    from venmas.search.procedure import Procedure

PROCEDURES = {
    "explicit": "venmas.search.explicit.procedure:EXPLICIT",
    "tubes": "venmas.search.tubes.procedure:TUBES",
    "unrolled": "venmas.search.unrolled.procedure:UNROLLED",
    "polytopes": "venmas.search.polytopes.procedure:POLYTOPES",
    "rational": "venmas.search.rational.session:RATIONAL",
    "enclosures": "venmas.search.rational.session:ENCLOSURES",
    "bounds": "venmas.search.milp.enclosure:BOUNDS",
    "regions": "venmas.search.regions.procedure:REGIONS",
    "closure": "venmas.search.closure.procedure:CLOSURE",
    "abstraction": "venmas.abstraction.procedure:ABSTRACTION",
    "two-phase": "venmas.search.twophase.procedure:TWO_PHASE",
    "region-closure": "venmas.search.regions.cells:CELLS",
    "mono": "venmas.search.milp.procedure:MONO",
    "comp-seq": "venmas.search.milp.procedure:COMP_SEQ",
    "comp-par": "venmas.search.milp.procedure:COMP_PAR",
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
