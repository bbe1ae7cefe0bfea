"""Systems as expression graphs, and what runs them."""

from venmas.model.expr import Condition, Expr, Vector
from venmas.model.functions import (
    absolute,
    apply_network,
    argmax,
    clip,
    maximum,
    minimum,
    one_hot,
    relu,
    switch,
    where,
)
from venmas.model.system import Agent, Branch, Region, System, VariableDecl

__all__ = [
    "Agent",
    "Branch",
    "Condition",
    "Expr",
    "Region",
    "System",
    "VariableDecl",
    "Vector",
    "absolute",
    "apply_network",
    "argmax",
    "clip",
    "maximum",
    "minimum",
    "one_hot",
    "relu",
    "switch",
    "where",
]
