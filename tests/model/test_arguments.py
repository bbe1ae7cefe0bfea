"""Values of other kinds than meant, wherever a scenario or a caller can give one: each is refused in words."""

import math
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from venmas import load_network, load_scenario, verify, verify_all
from venmas.errors import ScenarioError, VenmasError
from venmas.model import Parameter, Range, System, apply_network, argmax, conjunction, one_hot, switch
from venmas.nn import relu_network

NETWORK = relu_network([np.eye(2)], [np.zeros(2)])
ODD: tuple[Any, ...] = (
    None,
    "17x",
    b"1",
    math.nan,
    math.inf,
    1j,
    object(),
    date(2020, 1, 1),
    [1],
    {},
    np.array([1, 2]),
    np.array("a"),
    System,
)
"""What is neither a number that a range can end at, nor a list of expressions, nor a name."""


def world() -> System:
    """A system that can be asked."""
    system = System("s")
    x = system.real("x", -5, 5)
    system.branch("go", x=x / 2)
    system.initial(x == 1)
    return system


DOORS = {
    "real, low": lambda v: System("s").real("x", v, 10**9),
    "real, name": lambda v: System("s").real(v, 0, 1),
    "integer": lambda v: System("s").integer("x", v, 10**9),
    "reals, size": lambda v: System("s").reals("x", v, 0, 1),
    "disturbance": lambda v: System("s").disturbance("x", -(10**9), v),
    "agent": lambda v: world().agent(v),
    "branch, value": lambda v: System("s").branch("g", x=v),
    "branch, name": lambda v: world().branch(v),
    "initial": lambda v: world().initial(v),
    "proposition": lambda v: world().proposition("p", v),
    "specify": lambda v: world().specify(v, "AG x < 1"),
    "variable": lambda v: world()[v],
    "network": lambda v: apply_network(v, [1, 2]),
    "inputs": lambda v: apply_network(NETWORK, v),
    "one input": lambda v: apply_network(NETWORK, [v]),
    "among": lambda v: argmax([world()["x"], world()["x"]], among=v),
    "conjunction": lambda v: conjunction([v]),
    "one_hot": lambda v: one_hot(world()["x"], v),
    "switch": lambda v: switch(world()["x"], v),
    "Range": lambda v: Range(v, 10**9),
    "parameter": lambda v: load_scenario("vcas").values({"climb0": v}),
    "verify, system": lambda v: verify(v, "AX x < 1"),
    "verify, formula": lambda v: verify(world(), v),
    "verify_all": lambda v: verify_all(world(), v if not isinstance(v, dict) else None),  # type: ignore[arg-type]
    "load_scenario": load_scenario,
    "load_network": load_network,
    "networks": lambda v: load_scenario("vcas").system(networks=[v]),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("value", ODD, ids=lambda v: repr(v)[:20])
def test_odd_values_are_refused_in_words(door: str, value: Any) -> None:
    if isinstance(value, str) and door in ("specify", "branch, name"):
        value = 17  # any text is a name there
    if (door == "among" and value is None) or (door == "inputs" and isinstance(value, np.ndarray)):
        value = 3
    with pytest.raises(VenmasError):
        DOORS[door](value)


@pytest.mark.parametrize("option", ["mode", "trust", "semantics", "solver", "invariant"])
@pytest.mark.parametrize("value", [3, 1.5, b"auto", ["auto"], np.array(["a"])], ids=repr)
def test_words_of_verify_are_text(option: str, value: Any) -> None:
    with pytest.raises(VenmasError, match=f"{option} is text, as in {option}='"):
        verify(world(), "AX x < 1", **{option: value})


@pytest.mark.parametrize("option", ["timeout", "memory", "workers"])
@pytest.mark.parametrize("value", ["17", math.nan, 1j, [1], True, 10**400], ids=lambda v: repr(v)[:10])
def test_limits_of_verify_are_numbers(option: str, value: Any) -> None:
    remedy = "or None for all cores" if option == "workers" else f"write {option}=60 without quotes"
    with pytest.raises(VenmasError, match=f"{option} is a .*{remedy}"):
        verify(world(), "AX x < 1", **{option: value})


def test_numbers_of_numpy_are_numbers() -> None:
    system = System("s")
    system.real("x", np.float32(-1), np.int64(3))
    assert system.box["x"] == (-1, 3)
    assert verify(world(), "AX x < 1", timeout=np.float64(60), workers=1).satisfied


PARAMETERS = """
from venmas.model import Parameter, System

PARAMETERS = (Parameter("start", {default}, "where it begins"),)

def build(networks, start):
    system = System("s")
    x = system.real("x", -50, 50)
    system.branch("go", x=x / 2)
    system.initial(x >= -start, x <= start)
    return system
"""


def test_parameters_given_as_text_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(PARAMETERS.format(default="18.0"))
    loaded = load_scenario(path)
    assert (
        loaded.system(start="17").regions == loaded.system(start=17).regions == loaded.system(start=np.int8(17)).regions
    )
    assert loaded.values({"start": "1/3"}) == {"start": Fraction(1, 3)}
    for value in (None, "", "a", math.nan, [1], np.array([1, 2])):
        with pytest.raises(ScenarioError, match="parameter 'start' of scenario 'mine': expected a number, got"):
            loaded.system(start=value)


def test_a_text_as_default_is_refused_where_a_number_is_meant(tmp_path: Path) -> None:
    """It reached build() as text, and ended as ``bad operand type for unary -: 'str'``."""
    path = tmp_path / "mine.py"
    path.write_text(PARAMETERS.format(default="'18.0'"))
    with pytest.raises(ScenarioError, match=r"'start': the default '18.0' is text, .*: write 18.0 without quotes"):
        load_scenario(path)
    assert Parameter("version", "2", "of the device", choices=("1", "2")).parse("1") == "1"


@pytest.mark.parametrize(
    "fields", [{"default": None}, {"name": 3}, {"choices": 3}, {"choices": "ab"}, {"replaces": [1]}]
)
def test_declarations_of_parameters_are_checked(fields: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match="parameter"):
        Parameter(**{"name": "a", "default": 1, "help": "h", **fields})
