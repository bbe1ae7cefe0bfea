"""The procedures by name: ours, and those of other packages (entry points of the group ``venmas.procedures``).

Nothing is imported before it is asked for, so that a command line can list names at once.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from venmas.errors import UsageError
from venmas.search.procedure import Procedure

GROUP = "venmas.procedures"
PROCEDURES = {
    "explicit": "venmas.search.explicit.procedure:EXPLICIT",
    "network": "venmas.search.network.one_step:NETWORK",
    "polytopes": "venmas.search.polytopes.procedure:POLYTOPES",
    "rational": "venmas.search.rational.session:RATIONAL",
    "enclosures": "venmas.search.rational.session:ENCLOSURES",
    "bounds": "venmas.search.milp.enclosure:BOUNDS",
    "regions": "venmas.search.regions.procedure:REGIONS",
    "mono": "venmas.search.milp.procedure:MONO",
    "comp-seq": "venmas.search.milp.procedure:COMP_SEQ",
    "comp-par": "venmas.search.milp.procedure:COMP_PAR",
}
"""Name to the module and its attribute."""


@cache
def plugged() -> dict[str, Procedure]:
    """The procedures of other packages, by the name of their entry point; ours keep their names."""
    return {e.name: e.load() for e in entry_points(group=GROUP) if e.name not in PROCEDURES}


def get_procedure(name: str) -> Procedure:
    """The procedure of that name. Raises `UsageError` for an unknown one."""
    if name in PROCEDURES:
        module, _, attribute = PROCEDURES[name].partition(":")
        found: Procedure = getattr(import_module(module), attribute)
        return found
    if name in plugged():
        return plugged()[name]
    raise UsageError(f"unknown procedure {name!r}: choose one of {', '.join((*PROCEDURES, *plugged()))}")
