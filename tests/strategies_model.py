"""The strategies live in `venmas.testing`; the names by which tests knew them."""

from venmas.testing import conditions, expressions, networks, regions, states, systems

__all__ = ["conditions", "expressions", "networks", "regions", "states", "systems"]
