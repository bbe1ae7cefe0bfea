"""Systems as expression graphs: description, scenarios, simulation, partial evaluation, witnesses."""

import venmas.model.expressions.elementwise  # noqa: F401  numpy finds there what it does with expressions
from venmas.model.expressions.expr import Condition, Expr, add, conjunction, disjunction
from venmas.model.expressions.functions import (
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
from venmas.model.expressions.smooth_functions import cos, exp, held, norm, sigmoid, sin, sqrt, tan, tanh
from venmas.model.expressions.vector import Vector
from venmas.model.scenario.parameters import NetworkFolder, Parameter, Range
from venmas.model.scenario.scenario import Scenario, load_scenario, scenario_names
from venmas.model.system.system import Agent, Branch, System
from venmas.model.system.variables import Region, VariableDecl
from venmas.model.witness.build import explain, satisfies
from venmas.model.witness.replay import Replay, replay
from venmas.model.witness.tree import Witness

__all__ = [
    "Agent",
    "Branch",
    "Condition",
    "Expr",
    "NetworkFolder",
    "Parameter",
    "Range",
    "Region",
    "Replay",
    "Scenario",
    "System",
    "VariableDecl",
    "Vector",
    "Witness",
    "absolute",
    "add",
    "apply_network",
    "argmax",
    "clip",
    "conjunction",
    "cos",
    "disjunction",
    "exp",
    "explain",
    "held",
    "load_scenario",
    "maximum",
    "minimum",
    "norm",
    "one_hot",
    "relu",
    "replay",
    "satisfies",
    "scenario_names",
    "sigmoid",
    "sin",
    "sqrt",
    "switch",
    "tan",
    "tanh",
    "where",
]
