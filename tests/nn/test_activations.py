"""A third activation is nowhere taken for ReLU or for the identity, and the recipe for one names every place."""

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import venmas
from venmas.bounds import zonotope, zonotope_stacked
from venmas.bounds.crown_plan import plan_of
from venmas.bounds.linear_forms import constant
from venmas.bounds.methods import METHODS
from venmas.engine.modes import of_bounded
from venmas.engine.verify import verify
from venmas.errors import NetworkError
from venmas.logic import Atom
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model import System, apply_network
from venmas.nn import Layer, Network
from venmas.nn import network as module
from venmas.nn.runtime import onnx_model
from venmas.procedures.milp.encoding.states.network import encode_network
from venmas.solvers.milp.terms import Term

ONE = (Fraction(1, 2), Fraction(1, 3))


@pytest.fixture(params=[0, 1, 2], ids=["first", "middle", "last"])
def squared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Network:
    """A network with an activation that nobody knows, in one of its layers."""
    monkeypatch.setattr(module, "ACTIVATIONS", (*module.ACTIVATIONS, "square"))
    kinds = ["relu", "relu", "linear"]
    kinds[request.param] = "square"
    layers = tuple(Layer(np.eye(2), np.ones(2), kind) for kind in kinds)  # type: ignore[arg-type]
    return Network(layers)


def inputs() -> list:
    return [constant(x, 1, 0) for x in ONE]


def encoded(network: Network) -> None:
    known = np.zeros((1, 2)), np.ones((1, 2))
    activations = SimpleNamespace(network=network, pre=(known, known, known), last=network.layers[-1])
    encode_network(None, activations, 0, [Term({}, 1.0), Term({}, 1.0)])  # type: ignore[arg-type]


def planned(network: Network) -> None:
    plan_of(network, Atom(Comparison(LinearExpr.of({"Y_0": Fraction(1)}), Relation.LE)))


INTERPRETERS: dict[str, Callable[[Network], object]] = {
    "nn: float64": lambda n: n.evaluate(np.ones(2)),
    "nn: float32": lambda n: n.evaluate_float32(np.ones(2)),
    "nn: rationals": lambda n: n.evaluate_exact(ONE),
    "nn: integers, which the checker reads": lambda n: n.integer_layers,
    "nn: number of ReLU units": lambda n: n.relu_count,
    "nn: the last affine map": lambda n: (n.hidden_and_last, n.relu_count),
    "nn: export": lambda n: onnx_model(n, "float32"),
    "bounds: symbolic": lambda n: METHODS["symbolic"].propagate(n, inputs()),
    "bounds: interval": lambda n: METHODS["interval"].propagate(n, inputs()),
    "bounds: zonotope": lambda n: zonotope.propagate(n, np.ones((1, 1, 2)), np.zeros((1, 2))),
    "bounds: zonotope, several networks": lambda n: zonotope_stacked.stack((n, n)),
    "bounds: crown": planned,
    "encoding: programs": encoded,
}


@pytest.mark.parametrize("name", INTERPRETERS)
def test_every_interpreter_refuses_it(squared: Network, name: str) -> None:
    with pytest.raises(AssertionError, match="square"):
        INTERPRETERS[name](squared)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("kind", ["tanh", "sigmoid"])
@pytest.mark.parametrize("name", [n for n in INTERPRETERS if n.partition(":")[0] != "nn" or "integers" in n])
def test_what_is_for_relu_refuses_smooth_units(name: str, kind: str, place: int) -> None:
    kinds = ["relu", "relu", "linear"]
    kinds[place] = kind
    network = Network(tuple(Layer(np.eye(2), np.ones(2), k) for k in kinds))  # type: ignore[arg-type]
    assert network.smooth == f"{kind} units"
    with pytest.raises(NetworkError, match=f"{kind} units, which are not piecewise linear"):
        INTERPRETERS[name](network)


@pytest.mark.parametrize("mode", sorted(of_bounded()))
def test_every_mode_refuses_it(squared: Network, mode: str) -> None:
    system = System("third")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    first, second = apply_network(squared, (x, y))
    system.branch("move", x=first / 1000, y=second / 1000)
    system.initial(x >= 0, y >= 0)
    with pytest.raises(AssertionError, match="square"):
        verify(system, "AX (x <= 1/2)", mode=mode)


def test_it_is_refused_as_long_as_it_is_not_declared() -> None:
    with pytest.raises(NetworkError, match="activation 'square': expected 'relu' or 'linear'"):
        Network((Layer(np.eye(2), np.ones(2), "square"),))  # type: ignore[arg-type]


def test_the_recipe_names_every_place_that_tells_activations_apart() -> None:
    root = Path(venmas.__file__).parent
    tells = re.compile(
        r"\.rectified\b|\.activation\b|\brelus\b|(layer|scaled)\.relu\b|\.hidden_and_last\b"
        r"|relaxation(_kernel)? import|def chord|IntegerLayer\("
    )
    places = {f.relative_to(root.parent).as_posix() for f in root.rglob("*.py") if tells.search(f.read_text())}
    places.discard("venmas/testing/networks.py")  # makes networks, and copies the activations of others
    named = set(re.findall(r"venmas/[\w/]+\.py", module.__doc__ or ""))
    assert places == named
