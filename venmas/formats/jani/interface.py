"""Policy interfaces of PlaJA (``.jani2nnet``): which network, over which variables, and the label of each output.

The header of a .nnet file is ignored, as PlaJA does: neither are inputs normalised nor clipped. Pickles are never
loaded.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from venmas.errors import ScenarioError
from venmas.formats.jani.properties import confined
from venmas.formats.jani.records import INPUT, INTERFACE, fields, flag, items, text
from venmas.formats.jani.space import Space
from venmas.formats.jani.text import Place, read_json, shown
from venmas.model.expressions.expr import Condition, Constant, Expr
from venmas.model.scenario.parameters import NetworkFolder
from venmas.nn import Network
from venmas.nn.load import extensions
from venmas.nn.nnet_reader import is_normalised

INTERFACES = (".jani2nnet", ".json", ".jani")


@dataclass(frozen=True)
class Input:
    """An input: a variable of the model by its key, or (`location`) where an automaton is."""

    name: str
    location: bool
    place: Place


@dataclass(frozen=True)
class Interface:
    """Inputs and labels of a policy. `masking`: it chooses among labels that are applicable."""

    network: Path
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    masking: bool
    hidden: tuple[int, ...] | None
    place: Place

    def load(self, networks: NetworkFolder) -> tuple[Network, list[str]]:
        """The network, and notes on it; `networks` is its file, or a folder with a file of its name.

        Raises `ScenarioError` where there is none, or its sizes are others than the interface says.
        """
        if networks.path == self.network and not self.network.is_file():
            self.place.refuse(
                f"there is no network {self.network}: put the file there, or name another interface or network with "
                "--set jani.policy=FILE"
            )
        network = networks.load(glob.escape(self.network.name), normalization="ignore")
        sizes = (network.input_size, network.output_size)
        if sizes != (len(self.inputs), len(self.outputs)):
            self.place.refuse(
                f"the network {self.network} has {sizes[0]} inputs and {sizes[1]} outputs, the interface names "
                f"{len(self.inputs)} and {len(self.outputs)}; correct one of the two"
            )
        hidden = tuple(layer.out_size for layer in network.layers[:-1])
        if self.hidden is not None and hidden != self.hidden:
            self.place["elements"].refuse(
                f"the network {self.network} has hidden layers of {list(hidden)} neurons, the interface "
                f"says {list(self.hidden)}; correct one of the two"
            )
        if self.network.suffix.lower() == ".nnet" and is_normalised(self.network):
            return network, [
                f"the means and ranges in the header of {self.network.name} are ignored, as PlaJA does: its inputs are "
                "not normalised"
            ]
        return network, []

    def expressions(self, space: Space) -> list[Expr]:
        """The inputs over the variables of a system; a location is its index among those of its automaton."""
        inputs: list[Expr] = []
        for given in self.inputs:
            if given.location:
                inputs.append(_location(given, space))
                continue
            info = space.variable(given.name, given.place)
            value = space.values[info.key]
            inputs.append(space.booleans.number(value) if isinstance(value, Condition) else value)
        return inputs


def _location(given: Input, space: Space) -> Expr:
    names = [a.name for a in space.model.automata]
    if given.name not in names:
        given.place.refuse(f"there is no automaton {shown(given.name)}; there are {', '.join(names)}")
    variable = space.locations.get(given.name)
    return Constant(Fraction(0)) if variable is None else variable


def read_interface(path: Path) -> Interface:
    """The interface in a file; the network that it names lies in its folder or below. Raises `ScenarioError`."""
    place = Place(path)
    data = fields(read_json(path), INTERFACE, place)
    named = text(data["file"], "the path of a network", place["file"])
    inputs = [
        _input(entry, place["input"][i]) for i, entry in enumerate(items(data["input"], "inputs", place["input"]))
    ]
    outputs = items(data["output"], "labels", place["output"])
    labels = tuple(text(label, "a label", place["output"][i]) for i, label in enumerate(outputs))
    _check_labels(labels, place["output"])
    hidden = None
    if "elements" in data:
        hidden = tuple(items(data["elements"], "sizes", place["elements"]))
    masking = flag(data.get("filter", False), "'filter'", place["filter"])
    return Interface(
        _network(confined(named, place["file"]), place["file"]), tuple(inputs), labels, masking, hidden, place
    )


def bare_interface(network: Path, inputs: Sequence[str], outputs: Sequence[str]) -> Interface:
    """The interface of a network whose inputs and outputs are named one by one. Raises `ScenarioError`."""
    place = Place(network)
    _check_labels(tuple(outputs), place)
    named = tuple(Input(name, False, place["inputs"][i]) for i, name in enumerate(inputs))
    return Interface(_network(network, place), named, tuple(outputs), False, None, place)


def _network(path: Path, place: Place) -> Path:
    if path.suffix.lower() in (".pt", ".pth", ".pkl", ".pickle"):
        place.refuse(f"{path.name} is a pickle, which is code, and is never loaded; export the network as ONNX")
    if path.suffix.lower() not in extensions():
        place.refuse(f"{path.name} is no network file; expected one of {', '.join(extensions())}")
    return path


def _check_labels(labels: tuple[str, ...], place: Place) -> None:
    for i, label in enumerate(labels):
        if label in labels[:i]:
            place[i].refuse(f"the label {shown(label)} stands twice; give every output another one")
    if not labels:
        raise ScenarioError(f"{place}: there are no outputs; name the label of each output")


def _input(entry: object, place: Place) -> Input:
    """A variable has the key 'automaton' (null for a global one); without it, the entry names an automaton."""
    data = fields(entry, INPUT, place)
    name = text(data["name"], "the name of a variable or an automaton", place["name"])
    if "automaton" not in data:
        return Input(name, True, place)
    if "index" in data:
        place["index"].refuse("elements of arrays are no inputs; declare a variable for each element")
    automaton = data["automaton"]
    if automaton is None:
        return Input(name, False, place)
    return Input(f"{text(automaton, 'the name of an automaton', place['automaton'])}.{name}", False, place)


def labelled(labels: Sequence[str]) -> Mapping[int, str]:
    """The labels of the values of the action."""
    return dict(enumerate(labels))
