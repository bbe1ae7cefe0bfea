"""What the encodings leave out: stable units, impossible cases, identical branches, refuted subtrees."""

from itertools import islice

import numpy as np
import pytest

from venmas.bounds.states import States
from venmas.logic import nnf, parse
from venmas.model import System, apply_network, argmax, load_scenario, switch, where
from venmas.model.evaluation.regions import bounding_box
from venmas.nn import relu_network
from venmas.procedures.milp.encoding import Stream, Subproblem, Task, encode

pytestmark = pytest.mark.quick


def stream(system: System, formula: str, strategy: str, encoding: str = "big-m") -> Stream:
    target = nnf(parse(formula, system.vocabulary), negate=True)
    return encode(Task(system, target, strategy, encoding))  # type: ignore[arg-type]


def made(found: Stream) -> list[Subproblem]:
    return [s for s in found if s is not None]


def walker(step: str = "same") -> System:
    """x moves by an amount in one of three branches."""
    system = System("walker")
    x = system.real("x", -100, 100)
    for i, amount in enumerate({"same": (1, 1, 1), "different": (1, 2, 3)}[step]):
        system.branch(f"b{i}", x=x + amount)
    system.initial(x >= 0, x <= 1)
    return system


def policy(scale: float = 1.0) -> System:
    """A network decides between two moves."""
    rng = np.random.default_rng(3)
    network = relu_network(
        [scale * rng.normal(size=(6, 1)), rng.normal(size=(2, 6))], [rng.normal(size=6), rng.normal(size=2)]
    )
    system = System("policy")
    x = system.real("x", -100, 100)
    action = system.agent(argmax(apply_network(network, (x,))))
    system.branch("step", x=x + switch(action, {0: 1, 1: -1}))
    system.initial(x >= -3, x <= 3)
    return system


def test_identical_branches_are_one() -> None:
    found = stream(walker(), "AX^4 x > 4.5", "compositional")
    assert len(made(found)) == 1
    assert len(made(stream(walker("different"), "AX^4 x > 4.5", "compositional"))) == 1  # 80 are refuted
    assert len(made(stream(walker("different"), "AX^4 x > 5.5", "compositional"))) == 1 + 4


def test_refuted_subtrees_are_not_built() -> None:
    found = stream(walker("different"), "AG^3 x < 50", "compositional")
    assert made(found) == []
    assert found.created == 0


def test_the_disjunction_of_atoms_is_left_to_the_program() -> None:
    assert len(made(stream(walker(), "AX^2 (x < 2.5 & x > 2.2)", "compositional"))) == 1


@pytest.mark.parametrize("strategy", ["monolithic", "compositional"])
def test_stable_units_take_no_binaries(strategy: str) -> None:
    system = policy(scale=0.0)  # pre-activations do not depend on x: every unit is stable, one action remains
    (only,) = made(stream(system, "AX x < 0", strategy))
    assert only.program.binaries == 0
    assert only.program.variables <= 2  # x and the margin


@pytest.mark.parametrize(("formula", "winners"), [("AX x != 0.3", 2), ("AX (x > -20 & x < 2.5)", 1)])
def test_unstable_units_take_one_binary_each_and_a_choice_of_winners_one(formula: str, winners: int) -> None:
    system = policy()
    (only,) = made(stream(system, formula, "monolithic"))
    (box,) = [bounding_box(system, r) for r in system.regions]
    assert box is not None
    states = States.initial(system, [box])
    (application,) = {id(n.application): n.application for _, n in system.nodes() if hasattr(n, "application")}.values()
    low, high = states.outputs(application).pre[0] or (np.zeros(0), np.zeros(0))
    unstable = int(((low < 0) & (high > 0)).sum())
    assert unstable > 0
    assert only.program.binaries == unstable + winners - 1  # a winner that can not lead to the target takes none


@pytest.mark.parametrize("encoding", ["big-m", "indicator"])
def test_encodings_differ_only_in_form(encoding: str) -> None:
    (only,) = made(stream(policy(), "AX (x > -20 & x < 2.5)", "monolithic", encoding))
    assert (only.program.indicators > 0) == (encoding == "indicator")


def test_streams_are_lazy() -> None:
    """A stream of 3^40 paths gives its first subproblem at once."""
    system = System("wide")
    x = system.real("x", -1000, 1000)
    for i in range(3):
        system.branch(f"b{i}", x=x + i)
    system.initial(x >= 0, x <= 1)
    found = stream(system, "AX^40 x > 0.5", "compositional")
    assert len([s for s in islice(iter(found), 5) if s is not None]) > 0


def test_products_of_universal_steps_are_walked_lazily() -> None:
    """AX under the negation: every successor must satisfy a disjunction, so paths are tuples of choices."""
    system = walker("different")
    # only the successor of two small steps is open: x >= 2.5 there, or one of two further steps makes x >= 4.2
    assert len(made(stream(system, "EX^2 (x < 2.5 & AX x < 4.2)", "compositional"))) == 3


def test_one_agent_encoding_per_state_is_shared_by_its_branches() -> None:
    system = System("shared")
    network = relu_network([np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])], [np.zeros(2), np.zeros(1)])
    x = system.real("x", -100, 100)
    (y,) = apply_network(network, (x,))
    system.agent(y)
    for i in range(3):
        system.branch(f"b{i}", x=x + y + where(x > 0, i, 0))
    system.initial(x >= -1, x <= 1)
    (only,) = made(stream(system, "EX x > 1.5", "compositional"))
    assert only.program.binaries == 2 + 1  # two unstable units and one condition, once for all three successors


def test_vcas_with_published_size_is_decided_by_bounds() -> None:
    system = load_scenario("vcas").system()
    mono = stream(system, "AX^3 (h > 0 | h < 0)", "monolithic")
    assert made(mono) == []
    assert mono.discarded == 1


def test_paths_that_meet_are_one_node() -> None:
    """3^12 paths are 25 sums: one flow through 13 layers of at most 25 nodes."""
    (only,) = made(stream(walker("different"), "AX^12 (x < 20.5 | x > 21.2)", "monolithic"))
    assert only.program.variables < 13 * 25 * 3
