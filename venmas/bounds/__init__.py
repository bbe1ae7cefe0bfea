"""Rigorous bounds: abstract states of a system, carried across steps."""

from venmas.bounds.linear_forms import Quantity
from venmas.bounds.methods import METHODS, Activations, BoundMethod
from venmas.bounds.states import Findings, State, States, Step

__all__ = ["METHODS", "Activations", "BoundMethod", "Findings", "Quantity", "State", "States", "Step"]
