"""One step of a network: the inputs are the initial state, the outputs are what the step sets.

The property of a case is ``AX (c.y + d < 0)``, its negated unsafe atom; `winner` is the index of the greatest output.
"""

from fractions import Fraction

from venmas.model import NetworkFolder, Parameter, System, apply_network, argmax
from venmas.nn import Network

PARAMETERS = (
    Parameter("network", "margin_0_strict", "file name of the network, without .onnx"),
    Parameter("low", Fraction(0), "least input"),
    Parameter("high", Fraction(1), "greatest input"),
)


def build(networks: NetworkFolder, network: str, low: Fraction, high: Fraction) -> System:
    """The system; its variables y[i] range over what exact interval arithmetic allows."""
    stored = networks.load(f"{network}.onnx")
    system = System(f"one_step_{network}", "One step of a network")
    x = system.reals("x", stored.input_size, low, high)
    reach = _reach(stored, low, high)
    y = system.reals("y", stored.output_size, -reach, reach)
    winner = system.integer("winner", 0, max(1, stored.output_size - 1))
    outputs = apply_network(stored, x)
    system.branch("step", {y: outputs, winner: argmax(outputs)})
    system.initial(*(v >= low for v in x), *(v <= high for v in x), *(v == 0 for v in y), winner == 0)
    return system


def _reach(network: Network, low: Fraction, high: Fraction) -> Fraction:
    """A bound on the size of every output, by intervals in rationals."""
    box = [(low, high)] * network.input_size
    for layer in network.layers:
        following = []
        for row, bias in zip(layer.exact_weight, layer.exact_bias, strict=True):
            ends = [sorted((w * a, w * b)) for w, (a, b) in zip(row, box, strict=True)]
            following.append((bias + sum(a for a, _ in ends), bias + sum(b for _, b in ends)))
        relu = layer.activation == "relu"
        box = [(max(a, Fraction(0)), max(b, Fraction(0))) for a, b in following] if relu else following
    return 1 + max(max(abs(a), abs(b)) for a, b in box)
