"""Quantities: propositions that compare networks of the state, in every mode, against direct evaluation."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tests.in_process import in_process
from venmas import load_scenario, verify
from venmas.checker.file import check_certificate
from venmas.errors import ModelError
from venmas.model import System, apply_network, maximum
from venmas.model.canonical.canonical import system_from_json, system_to_json
from venmas.nn import relu_network

MODES = ("adaptive", "mono", "comp-seq", "exact")


def value_network(seed: int):
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 1]
    weights = [rng.integers(-3, 4, (m, n)) / 2 for n, m in pairwise(sizes)]
    return relu_network(weights, [rng.integers(-2, 3, n) / 2 for n in sizes[1:]])


def build(seed: int, start: tuple[Fraction, Fraction] | None = None) -> System:
    network = value_network(seed)
    system = System("valued")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    system.proposition("inside", (apply_network(network, (x, y))[0] <= 0) & (x <= 3))
    system.branch("turn", {x: y / 2, y: -x / 2})
    system.branch("shrink", {x: x / 2, y: maximum(x, y) / 2}, when=x >= 0)
    if start is None:
        system.initial(x >= -2, x <= 2, y >= -2, y <= 2)
    else:
        system.initial(x == start[0], y == start[1])
    return system


def inside(seed: int, x: Fraction, y: Fraction) -> bool:
    return value_network(seed).evaluate_exact([x, y])[0] <= 0 and x <= 3


def holds(seed: int, x: Fraction, y: Fraction) -> bool:
    """``inside -> AX inside``, by evaluation."""
    after = [(y / 2, -x / 2)] + ([(x / 2, max(x, y) / 2)] if x >= 0 else [])
    return not inside(seed, x, y) or all(inside(seed, *state) for state in after)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", MODES)
def test_single_states_are_what_evaluation_says(seed: int, mode: str) -> None:
    rng = np.random.default_rng(100 + seed)
    for _ in range(3):
        x, y = (Fraction(int(v), 8) for v in rng.integers(-16, 17, 2))
        for text, truth in (("inside -> AX inside", holds(seed, x, y)), ("inside", inside(seed, x, y))):
            report = verify(build(seed, (x, y)), text, mode=mode, timeout=20, tune=in_process(mode))
            assert report.satisfied is truth and report.violated is not truth, (x, y, text)


@pytest.mark.parametrize("seed", range(6))
def test_modes_agree_on_sets_and_certificates_are_accepted(seed: int, tmp_path) -> None:
    found = {}
    for mode in MODES:
        file = tmp_path / "proof.gz" if mode in ("adaptive", "exact") else None
        report = verify(
            build(seed), "inside -> AX inside", mode=mode, timeout=30, certificate=file, tune=in_process(mode)
        )
        found[mode] = str(report.verdict)
        if report.certificate is not None:
            check_certificate(file, build(seed))
        if report.violated:
            state = {v.name: v.exact for v in report.witness.nodes[1].state}
            assert not holds(seed, state["x"], state["y"]) and state["measured"] == 1
    assert len(set(found.values())) == 1 and found["exact"] != "unknown", found


def test_a_system_with_quantities_is_one_like_others() -> None:
    system = build(0)
    again = system_from_json(system_to_json(system), {n.digest: n for n in [value_network(0)]})
    assert list(again.variables) == ["x", "y", "measured", "inside_value"]
    assert verify(again, "AX (inside -> AX inside)", timeout=20).verdict != "unknown"
    steady = System("steady")
    x = steady.real("x", -1, 1)
    steady.quantity("size", maximum(x, -x), 0, 1)
    steady.branch("stay", x=x / 2)
    steady.initial(x >= -1)
    assert not steady.may_deadlock and verify(steady, "size >= 0 & AG^3 size <= 0.5", timeout=20).satisfied


def test_what_cannot_be_a_quantity_is_refused() -> None:
    system = System("odd")
    x = system.real("x", -1, 1)
    size = system.quantity("size", maximum(x, -x), 0, 1)
    with pytest.raises(ModelError, match="follows from the state"):
        system.branch("set", size=0)
    with pytest.raises(ModelError, match="not of another quantity"):
        system.quantity("twice", 2 * size)
    with pytest.raises(ModelError, match="measured in the step after it"):
        system.initial(size <= 0.5)
    system.branch("stay")
    with pytest.raises(ModelError, match="before branches"):
        system.proposition("small", maximum(x, -x) <= 0.5)
    other = System("other")
    other.boolean("measured")
    with pytest.raises(ModelError, match="'measured' of its own"):
        other.quantity("size", x)


def test_the_value_function_of_the_double_integrator_is_an_inductive_invariant_inside_of_the_safe_set(tmp_path) -> None:
    system = load_scenario("double_integrator").system(x1="-5..5", x2="-2..2", value="true")
    for text in ("inside -> within", "inside -> AX inside"):
        report = verify(system, text, timeout=60, certificate=tmp_path / "proof.gz")
        assert report.satisfied and report.decided_by == "branch-and-bound"
        check_certificate(tmp_path / "proof.gz", system)
    assert verify(system, "inside -> near", timeout=60).violated


def test_clocks_leave_one_branch_in_each_step(tmp_path) -> None:
    system = System("clock")
    x, clock = system.real("x", -8, 8), system.integer("clock", 0, 3)
    for at, factor in enumerate((-1, 2, Fraction(1, 2))):
        system.branch(f"step {at}", {x: maximum(factor * x, -1), clock: clock + 1}, when=clock == at)
    system.initial(x >= 0, x <= 1, clock == 0)
    file = tmp_path / "proof.gz"
    report = verify(system, "AX AX (x >= -1.5 & x <= 0.25) & AX^3 x >= -0.75", certificate=file, timeout=20)
    assert report.satisfied and report.decided_by == "branch-and-bound"
    check_certificate(file, system)
    report = verify(system, "AX AX (x >= -0.99)", timeout=20)
    assert report.violated and report.witness.path[2].state[0].exact < Fraction(-99, 100)
