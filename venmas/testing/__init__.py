"""Hypothesis strategies for formulas, networks and systems, hard ones included (docs/testing.md).

They need Hypothesis, which is an extra: ``pip install ".[testing]"``. Nothing else in the package imports this.
"""

from venmas.errors import install

try:
    import hypothesis  # noqa: F401
except ImportError as error:
    raise ImportError(f"venmas.testing needs hypothesis: {install('testing')}") from error

from venmas.testing.adversarial import adversarial_systems
from venmas.testing.finite import finite_model, finite_systems
from venmas.testing.formulas import atoms, finite_models, formulas, formulas_over, linear_expressions, numbers, windows
from venmas.testing.networks import TWISTS, adversarial_networks, networks
from venmas.testing.systems import boxes, conditions, expressions, initial_states, regions, states, states_of, systems

__all__ = [
    "TWISTS",
    "adversarial_networks",
    "adversarial_systems",
    "atoms",
    "boxes",
    "conditions",
    "expressions",
    "finite_model",
    "finite_models",
    "finite_systems",
    "formulas",
    "formulas_over",
    "initial_states",
    "linear_expressions",
    "networks",
    "numbers",
    "regions",
    "states",
    "states_of",
    "systems",
    "windows",
]
