"""Ranks as plain ReLU networks: what every neuron of a certificate is, and files of ONNX that others can read.

A word is a sum of integer weights times units; a unit is max(0, sum). Nodes of the netlist become such sums exactly:

    [a < b] = relu(b - a) - relu(b - a - 1)          [a = b] = 1 - [a < b] - [b < a]          a & b = relu(a + b - 1)
    c ? x : y = relu(x + M c - M) + relu(y - M c)    bits of x, from the top: [x >= 2^k], the rest x - 2^k [x >= 2^k]

Integers up to 2^53 are exact in the double precision of the file; larger ones are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from venmas.errors import CircuitError
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import needed
from venmas.model.circuit.operators import Op, mask
from venmas.procedures.netlist.mining import Clamp, Neuron
from venmas.procedures.ranking.learn import Network

_EXACT = 1 << 53
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sum:
    """An integer: weights of units by number, a constant, and the largest absolute value that it may have."""

    weights: Mapping[int, int]
    constant: int
    most: int

    def times(self, factor: int) -> Sum:
        """The sum so many times."""
        return Sum({u: w * factor for u, w in self.weights.items()}, self.constant * factor, self.most * abs(factor))

    def plus(self, other: Sum | int) -> Sum:
        """Both together."""
        if isinstance(other, int):
            return Sum(self.weights, self.constant + other, self.most + abs(other))
        weights = dict(self.weights)
        for unit, weight in other.weights.items():
            weights[unit] = weights.get(unit, 0) + weight
        kept = {unit: weight for unit, weight in weights.items() if weight}
        return Sum(kept, self.constant + other.constant, self.most + other.most)

    def minus(self, other: Sum) -> Sum:
        """The first less the second."""
        return self.plus(other.times(-1))


@dataclass
class ReluNetwork:
    """inputs: how many. units: what each one is the positive part of; unit n + i has number i of them, n inputs first.

    outputs: the sums that are told.
    """

    inputs: int
    units: list[Sum] = field(default_factory=list)
    outputs: list[Sum] = field(default_factory=list)

    def relu(self, inside: Sum) -> Sum:
        """A new unit."""
        if inside.most >= _EXACT:
            raise CircuitError(f"a ReLU unit would hold integers of {inside.most.bit_length()} bits, a double has 53")
        self.units.append(inside)
        return Sum({self.inputs + len(self.units) - 1: 1}, 0, inside.most)

    def values(self, point: Sequence[int]) -> list[int]:
        """The outputs at a point, in exact integers."""
        held = list(map(int, point))
        for inside in self.units:
            held.append(max(0, _value(inside, held)))
        return [_value(one, held) for one in self.outputs]

    def step(self, difference: Sum) -> Sum:
        """1 where an integer is positive, else 0."""
        return replace(self.relu(difference).minus(self.relu(difference.plus(-1))), most=1)


def relu_network(networks: Sequence[Network]) -> tuple[ReluNetwork, tuple[str, ...], tuple[int, ...]]:
    """The ranks of all components of one circuit: the network, the registers it reads, and the state of each output.

    Raises `CircuitError` for neurons that are no sums of units here, or hold integers beyond doubles.
    """
    circuit = networks[0].pool.circuit
    found = ReluNetwork(len(circuit.registers))
    states: list[int] = []
    for network in networks:
        reader = _Reader(found, network.pool.builder)
        for state, weights in network.weights.items():
            total = Sum({}, 0, 0)
            for weight, neuron in zip(weights, network.pool.neurons, strict=True):
                if weight:
                    total = total.plus(reader.neuron(neuron).times(weight))
            if total.most >= _EXACT:
                raise CircuitError(f"ranks have {total.most.bit_length()} bits, a double has 53")
            found.outputs.append(total)
            states.append(state)
    return found, tuple(circuit.name(node) for node in circuit.registers), tuple(states)


class _Reader:
    """Nodes over registers as sums of units; raises `CircuitError`."""

    def __init__(self, network: ReluNetwork, builder: Builder) -> None:
        self._network, self._builder = network, builder
        self._known: dict[int, Sum] = {}
        self._split: dict[int, list[Sum]] = {}
        self._clamped: dict[Clamp, Sum] = {}

    def neuron(self, neuron: Neuron) -> Sum:
        """The value of a neuron."""
        return self.read(neuron.node) if neuron.clamp is None else self._clamp(neuron.clamp)

    def _clamp(self, unit: Clamp) -> Sum:
        if unit not in self._clamped:
            total = Sum({}, unit.bias, abs(unit.bias))
            for weight, part in unit.terms:
                total = total.plus((self._register(part) if isinstance(part, int) else self._clamp(part)).times(weight))
            relu = self._network.relu
            self._clamped[unit] = replace(relu(total).minus(relu(total.plus(-unit.top))), most=unit.top)
        return self._clamped[unit]

    def _register(self, place: int) -> Sum:
        return Sum({place: 1}, 0, mask(self._builder.width(self._builder.registers[place])))

    def read(self, root: int) -> Sum:
        """The value of a node."""
        for index in needed(self._builder, [root], self._known):
            node = self._builder.nodes[index]
            self._known[index] = replace(self._made(index), most=mask(node.width))
        return self._known[root]

    def _made(self, index: int) -> Sum:
        node, step = self._builder.nodes[index], self._network.step
        args, width = [self._known[arg] for arg in node.args], node.width
        match node.op:
            case Op.CONST:
                return Sum({}, node.params[0], node.params[0])
            case Op.REGISTER:
                return self._register(node.params[0])
            case Op.NOT:
                return Sum({}, mask(width), mask(width)).minus(args[0])
            case Op.AND | Op.OR | Op.XOR:
                pairs = zip(self._bits(node.args[0]), self._bits(node.args[1]), strict=True)
                return _word([self._gate(node.op, one, two) for one, two in pairs])
            case Op.ADD:
                return self._modulo(args[0].plus(args[1]), 0, 2 * mask(width), width)
            case Op.SUB:
                return self._modulo(args[0].minus(args[1]), -mask(width), mask(width), width)
            case Op.MUL if any(not arg.weights for arg in args):
                other, factor = (args[1], args[0].constant) if not args[0].weights else (args[0], args[1].constant)
                factor -= (factor >> (width - 1)) << width
                high = factor * self._largest(node.args, args)
                return self._modulo(other.times(factor), min(high, 0), max(high, 0), width)
            case Op.EQ:
                difference = args[0].minus(args[1])
                return Sum({}, 1, 1).minus(step(difference)).minus(step(difference.times(-1)))
            case Op.ULT:
                return step(args[1].minus(args[0]))
            case Op.SLT:
                tops = [self._bits(arg)[-1].times(1 << self._builder.width(arg)) for arg in node.args]
                return step(args[1].minus(tops[1]).minus(args[0].minus(tops[0])))
            case Op.ITE:
                return self._choice(args, mask(width))
            case Op.CONCAT:
                return args[0].times(1 << self._builder.width(node.args[1])).plus(args[1])
            case Op.SLICE:
                return _word(self._bits(node.args[0])[node.params[1] : node.params[0] + 1])
            case Op.UEXT:
                return args[0]
            case Op.SEXT:
                more = mask(node.params[0]) << self._builder.width(node.args[0])
                return args[0].plus(self._bits(node.args[0])[-1].times(more))
        raise CircuitError(
            f"a neuron reads the operator {node.op}, which is not written as ReLU units; leave --network out"
        )

    def _largest(self, nodes: Sequence[int], args: Sequence[Sum]) -> int:
        """The largest value of the operand of a product that is no constant, seen through extensions."""
        node = next(node for node, arg in zip(nodes, args, strict=True) if arg.weights)
        while self._builder.nodes[node].op is Op.UEXT:
            node = self._builder.nodes[node].args[0]
        return mask(self._builder.width(node))

    def _gate(self, op: Op, one: Sum, two: Sum) -> Sum:
        both = replace(self._network.relu(one.plus(two).plus(-1)), most=1)
        if op is Op.AND:
            return both
        return replace(one.plus(two).minus(both.times(1 if op is Op.OR else 2)), most=1)

    def _choice(self, args: Sequence[Sum], most: int) -> Sum:
        condition, yes, no = args
        out = Sum({}, 0, 0)
        if yes.weights or yes.constant:
            out = out.plus(self._network.relu(yes.plus(condition.times(most)).plus(-most)))
        if no.weights or no.constant:
            out = out.plus(self._network.relu(no.minus(condition.times(most))))
        return out

    def _modulo(self, value: Sum, low: int, high: int, width: int) -> Sum:
        """A value of low .. high modulo 2^width."""
        lift = -(low >> width) << width
        value = replace(value.plus(lift), most=high + lift)
        for place in range((high + lift).bit_length() - 1, width - 1, -1):
            value = replace(
                value.minus(self._network.step(value.plus(1 - (1 << place))).times(1 << place)), most=mask(place)
            )
        return value

    def _bits(self, node: int) -> list[Sum]:
        """The bits of a node, the lowest first."""
        if node not in self._split:
            rest, found = self._known[node], []
            for place in range(self._builder.width(node) - 1, 0, -1):
                found.append(self._network.step(rest.plus(1 - (1 << place))))
                rest = replace(rest.minus(found[-1].times(1 << place)), most=mask(place))
            self._split[node] = [rest, *reversed(found)]
        return self._split[node]


def write_onnx(networks: Sequence[Network], path: str) -> None:
    """Write the ranks as a file of ONNX: affine layers and ReLUs in double precision, registers in, a rank a state out.

    Raises `CircuitError` as `relu_network`, and `OSError`.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    network, registers, states = relu_network(networks)
    nodes, data = [], []
    layers = _layers(network)
    for at, (weights, biases) in enumerate(layers):
        data += [numpy_helper.from_array(weights, f"W{at}"), numpy_helper.from_array(biases, f"b{at}")]
        last = at == len(layers) - 1
        source = "registers" if at == 0 else f"h{at - 1}"
        nodes.append(helper.make_node("Gemm", [source, f"W{at}", f"b{at}"], ["ranks" if last else f"z{at}"], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"z{at}"], [f"h{at}"]))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, [1, size])
        for name, size in (("registers", network.inputs), ("ranks", len(states)))
    ]
    told = f"registers: {', '.join(registers)}; ranks of the automaton states {', '.join(map(str, states))}"
    graph = helper.make_graph(nodes, "ranks", ends[:1], ends[1:], data, doc_string=told)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="venmas", ir_version=9)
    onnx.save(model, path)


def _layers(network: ReluNetwork) -> list[tuple[Floats, Floats]]:
    """Weights and biases, layer by layer; units that later layers read are carried on, as they are not negative."""
    depth = dict.fromkeys(range(network.inputs), 0)
    for at, inside in enumerate(network.units):
        depth[network.inputs + at] = 1 + max((depth[unit] for unit in inside.weights), default=0)
    last = dict.fromkeys(depth, 0)
    for at, inside in enumerate(network.units):
        for unit in inside.weights:
            last[unit] = max(last[unit], depth[network.inputs + at])
    end = max(depth.values()) + 1
    last |= {unit: end for one in network.outputs for unit in one.weights}
    held, layers = list(range(network.inputs)), []
    for level in range(1, end):
        following = [unit for unit in held if last[unit] > level] + [u for u in depth if depth[u] == level]
        sums = [Sum({u: 1}, 0, 0) if depth[u] < level else network.units[u - network.inputs] for u in following]
        layers.append(_matrix(sums, held))
        held = following
    return [*layers, _matrix(network.outputs, held)]


def _matrix(sums: Sequence[Sum], held: Sequence[int]) -> tuple[Floats, Floats]:
    place = {unit: at for at, unit in enumerate(held)}
    weights = np.zeros((len(sums), len(held)))
    for row, one in enumerate(sums):
        for unit, weight in one.weights.items():
            weights[row, place[unit]] = weight
    return weights, np.array([float(one.constant) for one in sums])


def _word(bits: Sequence[Sum]) -> Sum:
    total = Sum({}, 0, 0)
    for place, bit in enumerate(bits):
        total = total.plus(bit.times(1 << place))
    return total


def _value(one: Sum, held: Sequence[int]) -> int:
    return one.constant + sum(weight * held[unit] for unit, weight in one.weights.items())
