"""The strategies live in `venmas.testing`; the names by which tests knew them."""

from venmas.testing.formulas import NAMES, VOCABULARY, atoms, finite_atoms, finite_models, formulas

__all__ = ["NAMES", "VOCABULARY", "atoms", "finite_atoms", "finite_models", "formulas"]
