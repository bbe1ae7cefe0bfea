"""Systems with products, functions and flows: how they are built, stored, refused."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas import System, verify
from venmas.cli.main import main
from venmas.engine.export import export_programs
from venmas.engine.modes import MODES
from venmas.engine.report import Verdict
from venmas.errors import ModelError, UsageError, VenmasError
from venmas.model import apply_network, cos, exp, held, maximum, norm, sigmoid, sin, sqrt, tan, tanh
from venmas.model.canonical.canonical import system_digest, system_from_json, system_to_json
from venmas.model.expressions.expr import Constant, Product, Quotient, Sum, children
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Held
from venmas.model.system.networks import networks_of
from venmas.nn import Layer, Network

pytestmark = pytest.mark.quick


def plain() -> tuple[System, list]:
    s = System("s")
    return s, [s.real(n, -9, 9) for n in ("x", "y", "z")]


def net(kind: str = "tanh") -> Network:
    return Network((Layer(np.eye(2), np.ones(2), kind), Layer(np.ones((1, 2)), np.zeros(1))))  # type: ignore[arg-type]


def full() -> System:
    """Every node that is not piecewise linear."""
    s, (x, y, z) = plain()
    w = s.disturbance("w", -1, 1)
    (u,) = apply_network(net(), (x, y))
    s.agent(u, name="u")
    plant = s.flow("1/3", {x: y * u - tan(z / 4) + w, y: exp(-x) / (x**2 + 1) + held(maximum(x, 0))})
    s.branch("a", {**plant.end, z: plant.least(x * y)}, when=sin(x) * cos(y) < norm([x, y, 1]))
    s.branch("b", {x: plant.greatest(sigmoid(x)), y: sqrt(y**3 + 999)})
    s.initial(x == 0, y == 0, z == 0)
    return s


def test_operators_build_nodes() -> None:
    _, (x, y, _) = plain()
    assert isinstance(x * y, Product) and isinstance(x / y, Quotient) and isinstance(1 / y, Quotient)
    assert isinstance(x * 2, Sum) and isinstance(x / 2, Sum) and isinstance((x + 1) * (x - 1), Product)
    square = x**2
    assert isinstance(square, Product) and square.left is square.right is x
    fourth = x**4
    assert isinstance(fourth, Product) and fourth.left is fourth.right
    assert x**1 is x and isinstance(x**0, Constant)
    assert [type(e) for e in (tan(x), norm([x, y]), np.sin(x))] == [Quotient, Apply, Apply]


@pytest.mark.parametrize(
    ("function", "at", "value"),
    [(sin, 0, 0), (cos, 0, 1), (exp, 0, 1), (tanh, 0, 0), (sigmoid, 0, "1/2"), (sqrt, "9/4", "3/2"), (sqrt, 0, 0)],
)
def test_rational_values_are_numbers(function, at, value) -> None:
    found = function(Fraction(at))
    assert isinstance(found, Constant) and found.value == Fraction(value)
    assert isinstance(function(Fraction(at) + 2), Apply)


def test_decimals_are_exact() -> None:
    s, (x, _, _) = plain()
    plant = s.flow(0.1, {x: 9.81 * x * x})
    assert plant.flow.period == Fraction(1, 10)
    factor = plant.flow.rates[0][1]
    assert isinstance(factor, Product) and isinstance(factor.left, Sum)
    assert factor.left.terms[0][0] == Fraction(981, 100)


# -- what is held ------------------------------------------------------------------------------------------------------


def rate_of(action, build) -> object:
    s, (x, y, z) = plain()
    u = s.agent(action(x, y), name="u")
    return s.flow(1, {z: build(u, x)}).flow.rates[0][1]


def test_actions_are_held_where_rates_mention_them() -> None:
    assert isinstance(rate_of(lambda x, y: apply_network(net(), (x, y))[0], lambda u, x: u), Held)
    assert isinstance(rate_of(lambda x, y: x * y, lambda u, x: u), Held)
    rate = rate_of(lambda x, y: 2 * tanh(maximum(x, 0)) - 20, lambda u, x: u + x)
    assert isinstance(rate, Sum)
    assert [type(e).__name__ for _, e in rate.terms] == ["Held", "Variable"]
    rate = rate_of(lambda x, y: -2 * x - y, lambda u, x: held(u) * x)
    assert isinstance(rate, Product) and isinstance(rate.left, Held)


def test_a_sum_over_variables_is_not_mistaken_for_the_state() -> None:
    """Taken apart, the feedback would act all the time instead of once a period."""
    with pytest.raises(ModelError, match=r"write held\(u\)"):
        rate_of(lambda x, y: -2 * x - y, lambda u, x: u)
    with pytest.raises(ModelError, match=r"write held\(u\)"):
        rate_of(lambda x, y: x, lambda u, x: u)
    with pytest.raises(ModelError, match=r"write held\(u\)"):
        rate_of(lambda x, y: -tanh(x) + 2, lambda u, x: u * x)


def test_what_a_rate_shares_is_looked_at_once() -> None:
    """A product of forty factors of itself has 2^40 paths through it."""

    def powers(x, y):
        power = held(x)
        for _ in range(40):
            power = power * power
        return power + held(y)

    rate = rate_of(powers, lambda u, x: u)
    assert isinstance(rate, Sum) and {type(e) for _, e in rate.terms} == {Held}
    with pytest.raises(ModelError, match=r"write held\(u\)"):
        rate_of(lambda x, y: powers(x, y) * 0.5 + x, lambda u, x: u)


def test_what_has_no_place_in_a_rate() -> None:
    s, (x, y, z) = plain()
    w = s.disturbance("w", -1, 1)
    inner = s.flow(1, {x: y})
    for rate in (maximum(x, y), apply_network(net(), (x, y))[0] + 1, inner.end[x], inner.least(x)):
        with pytest.raises(ModelError, match="held"):
            s.flow(1, {z: rate})
    for period in (0, -1, "a", float("nan")):
        with pytest.raises(ModelError, match="period"):
            s.flow(period, {x: y})
    with pytest.raises(ModelError, match="a disturbance"):
        s.flow(1, {w: x})
    with pytest.raises(ModelError, match="at least one variable"):
        s.flow(1, {})
    with pytest.raises(ModelError, match="no variable of system"):
        s.flow(1, {System("t").real("x", 0, 1): y})
    deep = x
    for _ in range(300):
        deep = sin(deep)
    with pytest.raises(ModelError, match="nested more than"):
        s.flow(1, {x: deep})


def test_the_parts_of_a_flow_are_the_state_that_it_starts_from() -> None:
    s, (x, y, z) = plain()
    end = s.flow(1, {x: y}).end[x]
    assert isinstance(end, End) and children(end) == (x, y)
    least = s.flow(1, {x: y}).least(x + z)
    assert isinstance(least, Extremum) and children(least)[:2] == (x, y)


# -- the canonical form ------------------------------------------------------------------------------------------------


def test_the_form_is_read_as_it_is_written() -> None:
    system = full()
    form = system_to_json(system)
    assert form["format"] == "venmas-system-2"
    tags = {row[0] for row in form["nodes"]}
    assert tags >= {"product", "quotient", "apply", "held", "flow", "end", "least", "greatest", "drawn"}
    system.disturbances = ()
    for branch in list(system.branches):  # without the next value of noise, which nobody reads again
        updates = tuple(u for u in branch.updates if u[0] != "w")
        system.branches[system.branches.index(branch)] = type(branch)(branch.name, updates, branch.guard)
    form = json.loads(json.dumps(system_to_json(system)))
    again = system_from_json(form, networks_of(system))
    assert system_digest(again) == system_digest(system)


def test_the_first_format_stays_where_nothing_is_new() -> None:
    s, (x, y, _) = plain()
    s.branch("go", x=maximum(x, y) / 2)
    assert system_to_json(s)["format"] == "venmas-system-1" and s.smooth == ""
    t, (x, y, _) = plain()
    t.branch("go", x=apply_network(net(), (x, y))[0])
    assert system_to_json(t)["format"] == "venmas-system-2" and "tanh units" in t.smooth


STEPS = {
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "add": lambda a, b: a - 2 * b,
    "sin": lambda a, _: sin(a),
    "tanh": lambda a, _: tanh(a),
    "square": lambda a, _: a**2,
    "held": lambda a, _: held(a),
}


@st.composite
def smooth_systems(draw: st.DrawFn) -> System:
    s, names = plain()
    pool = [*names, Constant(Fraction(1, 3))]
    for _ in range(draw(st.integers(1, 8))):
        a, b = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        step = draw(st.sampled_from(sorted(STEPS)))
        pool.append(STEPS["mul" if step == "div" and isinstance(b, Constant) else step](a, b))
    moving = draw(st.lists(st.sampled_from(range(3)), min_size=1, max_size=3, unique=True))
    plant = s.flow(draw(st.fractions("1/9", 2, max_denominator=9)), {names[i]: pool[-1 - i] for i in moving})
    s.branch("go", {**plant.end}, when=plant.least(pool[-1]) <= draw(st.sampled_from(pool)))
    s.initial(*(n == 0 for n in names))
    return s


@settings(max_examples=60, deadline=None)
@given(smooth_systems())
def test_forms_of_random_systems(system: System) -> None:
    form = json.loads(json.dumps(system_to_json(system)))
    again = system_from_json(form, {})
    assert system_to_json(again) == form and again.smooth


CHANGES = {
    "a known tag": lambda f: f["nodes"].__setitem__(at(f, "apply"), ["apply", "log", 0]),
    "format": lambda f: f.__setitem__("format", "venmas-system-3"),
    "broken at format": lambda f: f.__setitem__("format", "venmas-system-1"),
    "positive period": lambda f: f["nodes"][at(f, "flow")].__setitem__(1, "-1"),
    "one derivative": lambda f: f["nodes"][at(f, "flow")][2].append(f["nodes"][at(f, "flow")][2][0]),
    "that its flow moves": lambda f: f["nodes"][at(f, "end")].__setitem__(2, 2),
    "kind flow": lambda f: f["nodes"][at(f, "end")].__setitem__(1, 0),
}


def at(form: dict, tag: str) -> int:
    return next(i for i, row in enumerate(form["nodes"]) if row[0] == tag)


@pytest.mark.parametrize("message", CHANGES)
def test_broken_forms(message: str) -> None:
    s, (x, y, _) = plain()
    plant = s.flow(1, {x: sin(y), y: x * y})
    s.branch("go", plant.end)
    s.initial(x == 0, y == 0)
    form = json.loads(json.dumps(system_to_json(s)))
    CHANGES[message](form)
    with pytest.raises(ModelError, match=message):
        system_from_json(form, {})


def test_a_form_holds_nothing_in_a_rate_that_is_not_followed() -> None:
    s, (x, y, _) = plain()
    s.branch("go", {**s.flow(1, {x: held(maximum(x, y))}).end})
    s.initial(x == 0)
    form = json.loads(json.dumps(system_to_json(s)))
    held_row, flow = form["nodes"][at(form, "held")], form["nodes"][at(form, "flow")]
    flow[2][0][1] = held_row[1]
    with pytest.raises(ModelError, match="a maximum"):
        system_from_json(form, {})


# -- what declines -----------------------------------------------------------------------------------------------------


def placed(place: str, integral: bool = False) -> System:
    s = System("toy")
    x = s.integer("x", -2, 2) if integral else s.real("x", -2, 2)
    match place:
        case "guard":
            s.branch("go", {x: 0}, when=x * x > 1)
            s.branch("stay", {}, when=x * x <= 1)
        case "agent":
            s.agent(sin(x), name="u")
            s.branch("go", {x: 0})
        case "network":
            s.branch("go", {x: 0}, when=apply_network(net(), (x, x))[0] > 0)
        case "update":
            s.branch("go", {x: 0 if integral else x / (x + 4)}, when=(x**3 < 9))
        case "flow":
            s.branch("go", {x: 0}, when=s.flow(1, {s.real("y", -1, 1): sin(x)}).end[s["y"]] > 0)
    s.initial(x >= 1)
    return s


PLACES = ("guard", "agent", "network", "update", "flow")


@pytest.mark.parametrize("mode", [m for m in MODES if m not in ("adaptive", "invariant", "linear")])
@pytest.mark.parametrize("integral", [False, True], ids=["real", "integer"])
@pytest.mark.parametrize("place", PLACES)
def test_other_modes_name_the_place_and_the_remedy(place: str, integral: bool, mode: str) -> None:
    bounded = "bounded" in MODES[mode].kinds
    with pytest.raises(UsageError, match="not piecewise linear") as caught:
        verify(placed(place, integral), "AX x <= 1" if bounded else "AG x <= 1", mode=mode)
    assert ("adaptive" if bounded else "AG^20 p") in str(caught.value)


@pytest.mark.parametrize("integral", [False, True], ids=["real", "integer"])
@pytest.mark.parametrize("place", PLACES)
def test_no_mode_is_wrong_about_what_it_does_not_know(place: str, integral: bool) -> None:
    """AX x <= 1 holds, and AX x >= 1 does not: whoever answers says so."""
    assert verify(placed(place, integral), "AX x <= 1", timeout=10).verdict is not Verdict.VIOLATED
    assert verify(placed(place, integral), "AX x >= 2", timeout=10).verdict is not Verdict.SATISFIED


def test_other_commands_refuse(tmp_path: Path) -> None:
    s = placed("guard", integral=True)
    with pytest.raises(UsageError, match="piecewise linear systems, and branch 'go' has a product"):
        export_programs(s, "AX x <= 1", tmp_path / "programs")


SCENARIO = '''
"""A swing."""
from venmas.model import System, sin
PARAMETERS = ()
def build(networks=None):
    s = System("swing")
    x, y = s.real("x", -4, 4), s.real("y", -9, 9)
    plant = s.flow("0.1", {x: y, y: -sin(x)})
    s.branch("go", plant.end)
    s.initial(x >= 0.5, x <= 1, y == 0)
    return s
'''


@pytest.mark.parametrize(
    "command",
    [
        ["verify", "--formula", "AX x <= 2", "--mode", "mono"],
        ["verify", "--formula", "AX x <= 2", "--mode", "exact", "--certificate", "c"],
        ["verify", "--formula", "AG x <= 2", "--timeout", "2"],
        ["verify", "--formula", "AG x <= 2", "--invariant", "x <= 2", "--timeout", "2"],
        ["verify", "--formula", "AX x <= 2", "--semantics", "float32"],
        ["verify", "--formula", "AX x <= 2", "--certificate", "c", "--trust", "exact"],
        ["verify", "--formula", "G (x <= 2)", "--timeout", "2"],
        ["abstract", "--formula", "AG x <= 2"],
        ["export", "programs", "--formula", "AX x <= 2", "-o", "out"],
        ["scenarios"],
        ["simulate", "--steps", "3"],
        ["simulate", "--steps", "3", "--runs", "20"],
    ],
    ids=lambda c: " ".join(c),
)
def test_no_command_shows_a_fault(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swing.py").write_text(SCENARIO)
    name = ["swing.py"] if command[0] == "scenarios" else ["--scenario", "swing.py"]
    head, rest = (command[:2], command[2:]) if command[0] == "export" else (command[:1], command[1:])
    result = CliRunner().invoke(main, [*head, *name, *rest])
    assert result.exit_code in (0, 2, 20) and "internal error" not in result.output, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit | VenmasError)
