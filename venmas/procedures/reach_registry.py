"""The sources of reach sets by name: ours, and those of other packages (entry points ``venmas.reach_sources``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.runtime import plugins

if TYPE_CHECKING:
    from venmas.model.system.system import System
    from venmas.procedures.reach import Source

SOURCES = {
    "explicit": "venmas.procedures.explicit.reach:EXPLICIT",
    "bound-propagation": "venmas.procedures.bound_propagation.reach:BOUND_PROPAGATION",
    "polytopes": "venmas.procedures.polytopes.reach:POLYTOPES",
    "reachability": "venmas.procedures.reachability.reach:REACHABILITY",
    "flowpipes": "venmas.procedures.flowpipes.reach:FLOWPIPES",
}
"""Name to the module and its attribute, in the order in which they are asked."""

_SOURCES: plugins.Registry[Source] = plugins.Registry(
    "source of reach sets", plugins.REACH_SOURCES, SOURCES, plugins.has("name", "help", "finest", "accepts", "layers")
)


def source(name: str) -> Source:
    """One of ours, or of other packages."""
    return _SOURCES.get(name)


def sources_for(system: System) -> list[tuple[str, Source]]:
    """All of them in the order in which they are worth asking: enumeration last where there are branches.

    Those without an attribute `smooth` that is true are not asked about systems that are not piecewise linear.
    """
    found = [(name, _SOURCES.get(name)) for name in SOURCES]
    if system.smooth:
        plugged = _SOURCES.plugged.items()
        return [(name, source) for name, source in (*found, *plugged) if getattr(source, "smooth", False)]
    if len(system.branches) > 1:
        found.sort(key=lambda item: item[0] == "polytopes")
    return found + list(_SOURCES.plugged.items())
