"""Blocksworld: a policy stacks four blocks and must never put all of them on the table.

The model is the JANI file beside this one. Where block b is, is a variable (0: in the hand, 1: on the table, c + 2: on
block c < b, c + 1: on block c > b); others say whether the hand is empty, which blocks are clear, and how many are on
the table. Whatever the policy does may fail; failures with each block are counted up to a bound, from which on that
block cannot be moved.
"""

from fractions import Fraction
from pathlib import Path

from venmas import load_jani
from venmas.model import NetworkFolder, Parameter, System

HERE = Path(__file__).parent

PARAMETERS = (
    Parameter(
        "policy", "aware", "aware reads the counters of failures, ignoring does not", choices=("aware", "ignoring")
    ),
    Parameter("bound", 12, "how often moving a block may fail"),
    Parameter("failing", Fraction(1, 2), "probability of a failure; 0: there are none, 1: nothing succeeds"),
)


def build(networks: NetworkFolder, policy: str, bound: int, failing: Fraction) -> System:
    """The JANI model with one of the two policies."""
    scenario = load_jani(
        HERE / "model.jani",
        HERE / "property.jani",
        HERE / f"{policy}.jani2nnet",
        {"item_cost_bound": bound, "failing_probability": failing},
    )
    system = scenario.system(networks)
    system.name = "blocks"
    return system
