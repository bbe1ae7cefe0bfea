"""Networks that a system applies."""

from __future__ import annotations

from venmas.model.expressions.expr import Output
from venmas.model.system.system import System
from venmas.nn.network import Network


def networks_of(system: System) -> dict[str, Network]:
    """The networks that the system applies, by digest."""

    def find() -> dict[str, Network]:
        found = {id(n): n for n in (node.application.network for _, node in system.nodes() if isinstance(node, Output))}
        return {network.digest: network for network in found.values()}

    return dict(system.once("networks", find))
