"""Verifier for neural agents in non-deterministic environments."""

from venmas._version import __version__

__all__ = ["__version__"]
