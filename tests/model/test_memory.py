"""Policies with memory in systems: the hidden state as variables, in witnesses, proofs and replays."""

from pathlib import Path

import numpy as np
import pytest

from venmas import System, verify
from venmas.checker.exact.initial import initial_box
from venmas.checker.file import check_certificate
from venmas.errors import ModelError
from venmas.model import apply_network
from venmas.model.evaluation.simulate import Batch
from venmas.nn import Layer, Network, Recurrent
from venmas.nn.recurrent import GATES, Cell

RNG = np.random.default_rng(5)


def policy(kind: str, units: int = 3, after: bool = False, inputs: int = 1) -> Recurrent:
    """A cell with a linear head."""
    rows = GATES[kind] * units
    draw = lambda *shape: RNG.normal(size=shape) / 2  # noqa: E731
    cell = Cell(kind, draw(rows, inputs), draw(rows, units), (draw(rows), draw(rows)), after)  # type: ignore[arg-type]
    return Recurrent((cell, Network((Layer(draw(1, units), draw(1)),))), "policy")


def cart(network: Recurrent) -> System:
    """A cart whose policy sees the position alone."""
    system = System("cart")
    x, v = system.real("x", -9, 9), system.real("v", -9, 9)
    force = system.agent(system.recurrent(network, [x])[0], "force")
    system.branch("go", {x: x + v / 10, v: v + force / 10})
    system.initial(x >= "0.3", x <= "0.4", v == 0)
    return system


KINDS = [("RNN", False), ("GRU", False), ("GRU", True), ("LSTM", False)]


def after(system: System, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One step in floats."""
    values = Batch(state)
    return {**state, **{name: values.value(expr) for name, expr in system.branches[0].updates}}


@pytest.mark.parametrize(("kind", "late"), KINDS)
def test_expressions_are_the_steps_of_the_cell(kind: str, late: bool) -> None:
    network = policy(kind, after=late)
    system = cart(network)
    state = {name: np.zeros(7) for name in system.variables} | {"x": RNG.normal(size=7)}
    memory = None
    for _ in range(6):
        outputs, memory = network.evaluate(state["x"][:, None], memory)
        assert np.allclose(Batch(state).value(system.agents[0].expr), outputs[:, 0], atol=1e-12)
        state = after(system, state)
        for (label, size), part in zip(network.memory, memory, strict=True):
            ours = np.stack([state[f"{label}[{k}]"] for k in range(1, size + 1)], 1)
            assert np.allclose(ours, part, atol=1e-12)


@pytest.mark.parametrize(("kind", "late"), KINDS)
def test_decided_with_a_certificate_and_a_witness(kind: str, late: bool, tmp_path: Path) -> None:
    """The greatest position of many runs in floats, a little more and a little less."""
    network = policy(kind, after=late)
    x, v, memory, most = np.linspace(0.3, 0.4, 50)[:, None], np.zeros((50, 1)), None, 0.0
    for _ in range(20):
        force, memory = network.evaluate(x, memory)
        x, v = x + v / 10, v + force / 10
        most = max(most, float(x.max()))
    proof = tmp_path / "cart.proof"
    system = cart(network)
    assert verify(system, f"AG^20 (x <= {most + 0.02:.4f})", certificate=proof, timeout=60).satisfied
    assert check_certificate(proof, system).leaves
    if most > 0.4:
        report = verify(cart(network), f"AG^20 (x <= {most - 0.01:.4f})", timeout=60)
        assert report.violated and report.witness is not None
        kept, position = None, None
        for node in report.witness.nodes:
            values = {name: float(value) for name, value in node.point.items()}
            if kept is not None:
                for (label, size), part in zip(network.memory, kept, strict=True):
                    assert np.allclose([values[f"{label}[{k}]"] for k in range(1, size + 1)], part, atol=1e-9)
            position = values["x"]
            _, kept = network.evaluate(np.array([position]), kept)
        assert position is not None and position > most - 0.01


def starting(system: System) -> dict[str, tuple[float, float]]:
    """Ranges in the initial set."""
    (region,) = system.regions
    box = initial_box(system, region)
    assert box is not None
    return {name: (float(low), float(high)) for name, (low, high) in zip(system.variables, box, strict=True)}


def test_memory_begins_at_zero_unless_it_is_named() -> None:
    first = starting(cart(policy("GRU")))
    assert all(first[f"h[{k}]"] == (0, 0) for k in (1, 2, 3))
    system = System("cart")
    x = system.real("x", -9, 9)
    system.recurrent(policy("LSTM"), [x], name="agent", cell=7)
    system.branch("go", {})
    system.initial(x == 0, system["agent_h[2]"] >= "0.1", system["agent_h[2]"] <= "0.2")
    assert [starting(system)[f"agent_{name}"] for name in ("h[1]", "h[2]", "c[2]")] == [(0, 0), (0.1, 0.2), (0, 0)]
    assert system.variables["agent_c[1]"].upper == 7 and -1.2 < system.variables["agent_h[1]"].lower < -1


def test_every_branch_keeps_the_memory_that_it_does_not_set() -> None:
    system = System("cart")
    x = system.real("x", -9, 9)
    system.recurrent(policy("GRU"), [x])
    system.branch("go", {x: x / 2})
    system.branch("reset", {x: 1, system["h[1]"]: 0})
    system.initial(x == 1)
    state = {name: np.ones(1) for name in system.variables}
    go, reset = ({name: Batch(state).value(e)[0] for name, e in branch.updates} for branch in system.branches)
    assert go.keys() == {"x", "h[1]", "h[2]", "h[3]"} and reset["h[1]"] == 0 and reset["h[2]"] == go["h[2]"]


def test_mistakes_name_the_remedy() -> None:
    system = System("cart")
    x = system.real("x", -9, 9)
    with pytest.raises(ModelError, match="takes 1 inputs, got 2"):
        system.recurrent(policy("GRU"), [x, x])
    with pytest.raises(ModelError, match="load_recurrent"):
        system.recurrent(policy("GRU").stages[1], [x])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"system\.recurrent"):
        apply_network(policy("GRU"), [x])
    system.branch("go", {})
    with pytest.raises(ModelError, match="declare it before branches"):
        system.recurrent(policy("GRU"), [x])


def test_several_cells_have_a_memory_each() -> None:
    first, head = policy("LSTM", 2).stages
    second, _ = policy("GRU", 2, inputs=2).stages
    network = Recurrent((first, second, head))
    assert network.memory == (("h1", 2), ("c1", 2), ("h2", 2))
    assert cart(network).variables.keys() >= {"h1[1]", "c1[2]", "h2[2]"}
    assert network.digest != policy("LSTM", 2).digest


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_units_at_their_ends_stay_within_their_range(kind: str) -> None:
    """tanh(60) is nearer to 1 than enclosures can tell."""
    rows = GATES[kind] * 2
    biases = np.where(np.arange(rows) < (2 if kind == "GRU" else 0), -60.0, 60.0)
    cell = Cell(kind, np.ones((rows, 1)), np.ones((rows, 2)), (biases, np.zeros(rows)))  # type: ignore[arg-type]
    network = Recurrent((cell, Network((Layer(np.ones((1, 2)), np.zeros(1)),))))
    assert verify(cart(network), "AG^10 (x < 5)", timeout=60).satisfied
