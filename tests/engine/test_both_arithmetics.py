"""Verdicts in real numbers and as deployed, side by side, with the run of a runtime where they differ."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner

from tests.needs import needs
from venmas import System, verify, verify_both
from venmas.cli.main import main
from venmas.engine.report import Report, Verdict
from venmas.engine.stored import read_report
from venmas.errors import UsageError
from venmas.model import apply_network
from venmas.nn import Network, relu_network
from venmas.nn.network import Layer
from venmas.nn.runtime import Numpy

SUM = relu_network([[[1.0, 1.0]], [[1.0]]], [[0.0], [0.0]], name="sum")
"""x + y: in float32 2^24 + 5/4 is 2^24 + 2."""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("venmas.engine.deployed._SEARCH", 0.1)


def added(network: Network = SUM) -> System:
    system = System("added")
    x, y, z = system.real("x", 0, 2**25), system.real("y", 0, 4), system.real("z", -(2**26), 2**26)
    system.branch("go", {z: apply_network(network, (x, y))[0]})
    system.initial(x == 2**24, y >= 0, y <= Fraction(5, 4), z == 0)
    return system


def verdicts(report: Report) -> tuple[str, str]:
    assert report.deployed is not None and report.semantics == "real"
    return report.verdict.value, report.deployed.verdict.value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("AX z < 16777217.5", ("satisfied", "violated")),
        ("AX z < 16777240", ("satisfied", "satisfied")),
        ("AX z < 16777217", ("violated", "violated")),
        ("AX (z <= 16777216 | z >= 16777218)", ("violated", "unknown")),
        ("EX z >= 16777216", ("satisfied", "unknown")),
    ],
)
def test_both_are_told(text: str, told: tuple[str, str]) -> None:
    report = verify_both(added(), text, timeout=4)
    assert verdicts(report) == told
    assert report.notes[0].startswith(f"in real numbers: {told[0]}; as deployed (float32, any order of operations):")
    assert report.deployed is not None and (report.deployed.witness is not None) == (told[1] == "violated")


def test_the_run_that_differs_is_one_of_float32() -> None:
    report = verify_both(added(), "AX z < 16777217.5", timeout=20)
    deployed = report.deployed
    assert deployed is not None and deployed.witness is not None
    first, last = deployed.witness.nodes[0].point, deployed.witness.nodes[-1].point
    (single,) = SUM.evaluate_float32([float(first["x"]), float(first["y"])])
    assert last["z"] == Fraction(float(single)) == 2**24 + 2 and first["x"] + first["y"] < 2**24 + 2
    assert f"as deployed ({deployed.runtime}, float32):" in str(report)


def test_stored_and_read_again() -> None:
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    schema = json.loads((Path(__file__).parents[2] / "docs/result.schema.json").read_text())
    for text in ("AX z < 16777217.5", "AX z < 16777240", "AX z > 16777217"):
        stored = json.loads(json.dumps(verify_both(added(), text, timeout=4).to_json()))
        assert not list(Draft202012Validator(schema).iter_errors(stored))
        assert read_report(stored).to_json()["deployed"] == stored["deployed"]
        stored["deployed"]["witness"] = None if stored["deployed"]["witness"] else {}
        with pytest.raises(UsageError, match="as deployed"):
            read_report(stored)


def test_a_smooth_system_with_noise() -> None:
    network = Network((Layer(np.array([[1 / 3, 0.1]]), np.zeros(1), "tanh"), Layer(np.array([[3.0]]), np.zeros(1))))
    system = System("windy")
    x, wind = system.real("x", -100, 100), system.disturbance("wind", 0, 1)
    system.branch("go", {x: apply_network(network, (x, wind))[0] * x})
    system.initial(x == 1)
    value = 3 * np.tanh(1 / 3 + 0.1)
    near, far = Fraction(float(value)) - Fraction(1, 10**10), Fraction(float(value)) + Fraction(1, 10**4)
    assert verdicts(verify_both(system, f"AX x < {far}", timeout=20)) == ("satisfied", "satisfied")
    real, single = verdicts(verify_both(system, f"AX x < {near}", timeout=8))
    assert real == "violated" and single != "satisfied"


def test_runs_of_random_networks_are_what_is_said() -> None:
    """A threshold beside the real value at one state: what is called satisfied no evaluation breaks."""
    rng, told = Random(5), set()
    for seed in range(12):
        floats = np.random.default_rng(seed)
        layers = (
            Layer(floats.normal(size=(3, 1)), floats.normal(size=3), "tanh"),
            Layer(floats.normal(size=(1, 3)), [0]),
        )
        network, system = Network(layers), System("random")
        x, y = system.real("x", -4, 4), system.real("y", -100, 100)
        system.branch("go", {y: apply_network(network, (x,))[0] * y})
        at = Fraction(rng.randint(-64, 64), 64)
        system.initial(x == at, y == 1)
        (value,) = network.evaluate([float(at)])
        off = Fraction(rng.choice((-1, 1))) / rng.choice((10**10, 10**7, 10**4))
        report = verify_both(system, f"AX y <= {Fraction(float(value)) + off}", timeout=3)
        assert verdicts(report)[0] == ("satisfied" if off > 0 else "violated")
        single = Fraction(float(Numpy().evaluate(network, np.array([[float(at)]]), "float32")[0, 0]))
        if verdicts(report)[1] == "satisfied":
            assert single <= Fraction(float(value)) + off
        told.add(verdicts(report))
    assert {("satisfied", "satisfied"), ("satisfied", "violated"), ("violated", "violated")} <= told


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="about one arithmetic"):
        verify_both(added(), "AX z < 1", certificate="c.gz")
    folded = relu_network([[[1.0, 1.0]], [[1.0]]], [[0.0], [0.0]])
    folded = Network(folded.layers, "folded", float32_refusal="has a factor of its own")
    report = verify_both(added(folded), "AX z < 16777240", timeout=4)
    assert verdicts(report) == ("satisfied", "unknown")
    with pytest.raises(UsageError, match="semantics"):
        verify(added(), "AX z < 1", semantics="both")  # type: ignore[arg-type]


SCENARIO = """
from tests.engine.test_both_arithmetics import added
PARAMETERS = ()
def build(networks=None):
    return added()
"""


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("added.py").write_text(SCENARIO)
    command = ["verify", "--scenario", "added.py", "--semantics", "both", "--timeout", "9"]
    shown = CliRunner().invoke(main, [*command, "--formula", "AX z < 16777217.5", "--json", "r.json"])
    assert (
        shown.exit_code == 0 and "satisfied; as deployed (float32, any order of operations): violated" in shown.output
    )
    assert json.loads(Path("r.json").read_text())["deployed"]["verdict"] == Verdict.VIOLATED
    shown = CliRunner().invoke(main, [*command, "--formula", "AX z < 1", "--formula", "AX z < 2"])
    assert shown.exit_code == 2
