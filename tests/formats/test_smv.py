"""Export to SMV: read by a reader of its own, and what it means beside what the system does.

nuXmv is not to be had freely by every machine that runs tests; where it is on the path, it reads the files, too.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.formats.smv_model import SmvError, read
from venmas import System, load_scenario
from venmas.cli.main import main
from venmas.errors import ModelError
from venmas.formats.smv import to_smv
from venmas.logic import Always, Formula, nnf
from venmas.model import apply_network, argmax, maximum, satisfies, switch, where
from venmas.model.evaluation.regions import sample_initial
from venmas.model.evaluation.simulate import Step
from venmas.nn.network import relu_network
from venmas.question import read_property


def invariant(system: System, formula: str) -> Formula:
    asked = read_property(system, formula)
    assert isinstance(asked, Always)
    return nnf(asked.invariant)


def beside(system: System, formula: str, runs: int, longest: int) -> int:
    """Random runs: start, every successor, other states that are none, and safety; how many steps were compared."""
    safe = invariant(system, formula)
    text = to_smv(system, safe)
    model = read(text)
    called = {name: name for name in system.variables} | {n: v for v, n in re.findall(r"(\w+) : .*; -- (.*)", text)}
    rng, steps = random.Random(0), 0

    def there(state: Mapping[str, Fraction]) -> dict[str, Fraction]:
        return {called[name]: value for name, value in state.items()}

    for state in sample_initial(system, np.random.default_rng(0), runs):
        assert model.starts(there(state))
        other = changed(system, state, rng)
        assert model.starts(there(other)) == satisfies(system, system.initial_set.formula, other)
        for _ in range(longest):
            assert model.allowed(there(state))
            assert model.safe(there(state)) == satisfies(system, safe, state)
            after = inside(system, state)
            scope = model.scope(there(state))
            for one in after:
                assert model.steps(scope, there(one))
                wrong = changed(system, one, rng)
                assert model.steps(scope, there(wrong)) == (wrong in after)
            assert model.steps(scope, there(state)) == (state in after)
            steps += len(after)
            if not after:
                break
            state = rng.choice(after)
    return steps


def inside(system: System, state: dict[str, Fraction]) -> list[dict[str, Fraction]]:
    """The successors within the ranges."""
    step, found = Step(system, state), []
    for index in range(len(system.branches)):
        with suppress(ModelError):
            if (successor := step.successor(index)) is not None:
                found.append(successor.state)
    return found


def changed(system: System, state: dict[str, Fraction], rng: random.Random) -> dict[str, Fraction]:
    """Another value of one variable, within its range."""
    decl = rng.choice([d for d in system.variables.values() if d.upper > d.lower])
    old = state[decl.name]
    while True:
        share = Fraction(rng.randrange(1001), 1000)
        value = decl.lower + share * (decl.upper - decl.lower)
        value = Fraction(round(value)) if decl.integral else value
        if value != old:
            return {**state, decl.name: value}


def blocks() -> System:
    return load_scenario("blocks").system(bound=3)


@pytest.mark.parametrize(
    ("runs", "longest"), [(15, 5), pytest.param(1000, 6, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_four_blocks_run_as_the_system_does(runs: int, longest: int) -> None:
    system = blocks()
    assert beside(system, "safe", runs, longest) > 3 * runs


@pytest.mark.parametrize("name", ["frozenlake", "vcas", "double_integrator"])
def test_bundled_scenarios_run_as_the_system_does(name: str) -> None:
    system = load_scenario(name).system()
    formula = "AG safe" if "safe" in system.propositions else "AG near"
    assert beside(system, formula, 1, 2) >= 1


def cases() -> System:
    """Every kind of node, names that SMV reserves, integers beside reals, and a range that a branch may leave."""
    system = System("cases")
    case = system.integer("case", -3, 5)
    unit = system.real("unit_0", Fraction(-1, 3), 7)
    on = system.boolean("on")
    network = relu_network([[[0.5, -1.25], [-2.0, 1.0]], [[1.0, -1.0], [0.25, 3.0]]], [[0.125, 0.0], [0.0, -0.5]])
    first, second = apply_network(network, (case, unit))
    chosen = system.agent(argmax([first, second, case * 0 + Fraction(1, 10)]))
    near = where((case > 1) | (unit < 2), case - 1, 0 - case)
    system.branch("low", {case: maximum(near, -3, 2 * case - 5)}, when=(chosen == 0) & (case <= 4))
    system.branch("high", {unit: unit / 3, on: 1 - on}, when=chosen == 1)
    system.branch("last", {case: switch(chosen, {0: 1, 1: case, 2: -case}), on: 0}, when=chosen != 1)
    system.branch("out", {unit: unit * 2}, when=on == 1)
    system.initial(case >= 0, unit <= 3)
    system.initial(case == -2)
    system.proposition("safe", (case != 4) | (unit > 1))
    return system


def test_every_kind_of_node() -> None:
    system = cases()
    model = read(to_smv(system))
    assert [model.variables[n] for n in ("variable_0", "variable_1", "on")] == [(-3, 5), "real", "boolean"]
    assert beside(system, "AG safe", 100, 6) > 300


def test_ties_go_to_the_lowest_index() -> None:
    system = System("ties")
    x, y = system.integer("x", 0, 2), system.integer("y", 0, 2)
    zero = relu_network([[[0.0], [0.0], [0.0]]], [[1.0, 2.0, 2.0]])
    system.branch("step", {y: system.agent(argmax(apply_network(zero, (x,))))})
    system.initial(x == 0, y == 0)
    model = read(to_smv(system))
    scope = model.scope({"x": Fraction(0), "y": Fraction(0)})
    assert [model.steps(scope, {"x": Fraction(0), "y": Fraction(v)}) for v in range(3)] == [False, True, False]


@pytest.mark.parametrize(
    "wrong",
    [
        "MODULE main VAR x : boolean; INIT x + 1 = 2;",
        "MODULE main VAR x : 0..3; INIT x;",
        "MODULE main VAR x : 0..3; TRANS next(y) = x;",
        "MODULE main VAR x : 0..3; INIT x = TRUE;",
        "MODULE main VAR x : 0..3; TRANS case x = 1 : TRUE; TRUE : 2; esac;",
    ],
)
def test_the_reader_refuses_what_has_no_type(wrong: str) -> None:
    with pytest.raises(SmvError):
        read(wrong)


def test_what_smv_cannot_say_is_refused() -> None:
    noisy = System("noisy")
    x, w = noisy.real("x", 0, 1), noisy.disturbance("w", 0, 1)
    noisy.branch("step", {x: w})
    noisy.initial(x == 0)
    with pytest.raises(ModelError, match="a disturbance such as 'w'"):
        to_smv(noisy)
    with pytest.raises(ModelError, match="linear arithmetic only"):
        to_smv(load_scenario("pendulum").system())


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "blocks.smv"
    done = CliRunner().invoke(main, ["export", "smv", "--scenario", "blocks", "--formula", "safe", "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert read(file.read_text()).spec is not None
    done = CliRunner().invoke(main, ["export", "smv", "--scenario", "blocks", "--formula", "AG^3 block_0 >= 0"])
    assert done.exit_code == 2 and "AG p" in done.stderr
    again = CliRunner().invoke(main, ["export", "smv", "--scenario", "blocks"])
    assert again.exit_code == 0 and read(again.stdout).spec is None


@pytest.mark.skipif(shutil.which("nuXmv") is None, reason="nuXmv is not on the path")
def test_nuxmv_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "cases.smv"
    file.write_text(to_smv(cases()))
    script = tmp_path / "script"
    script.write_text("set on_failure_script_quits\ngo_msat\nquit\n")
    done = subprocess.run(["nuXmv", "-source", script, file], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
