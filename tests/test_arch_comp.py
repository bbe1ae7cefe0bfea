"""The loops of ARCH-COMP: own networks are what their manifest says, plants are those of training, lines are kept."""

import csv
import json
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from experiments.arch_comp.__main__ import INSTANCES, OWN, find, main
from experiments.arch_comp.single import row
from venmas.model.evaluation.simulate import step_batch
from venmas.nn import load_network

ROOT = Path(__file__).resolve().parents[1]
LOOPS = {instance.label: instance for instance in INSTANCES}


def test_own_networks_are_those_of_the_manifest() -> None:
    told = {entry["file"]: entry for entry in json.loads((OWN / "MANIFEST.json").read_text())["files"]}
    assert {f"{i.network}.onnx" for i in INSTANCES if i.own} == set(told) == {p.name for p in OWN.glob("*.onnx")}
    for name, entry in told.items():
        assert sha256((OWN / name).read_bytes()).hexdigest() == entry["sha256"]
        layers = load_network(OWN / name).layers
        assert [layers[0].in_size, *(len(layer.bias) for layer in layers)] == entry["architecture"]
        assert [layer.activation for layer in layers] == entry["fit"]["activations"]


@pytest.mark.parametrize("label", [label for label, instance in LOOPS.items() if instance.own])
def test_systems_are_the_plants_that_networks_were_trained_on(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "training"))
    laws = __import__("arch_laws")
    instance = LOOPS[label]
    law = next(law for law in laws.LAWS if law.name == instance.network)
    network = load_network(OWN / f"{instance.network}.onnx")
    system = instance.build(network)
    rng = np.random.default_rng(3)
    x = (law.low + law.high) / 2 + 0.1 * rng.standard_normal((20, len(law.low)))
    u = network.evaluate(x)
    names = [f"x{i}" for i in range(1, len(law.low) + 1)]
    state = {name: np.zeros(20) for name in system.variables} | dict(zip(names, x.T, strict=True))
    after, _ = step_batch(system, state, np.zeros(20, dtype=int))
    h = law.period / 50
    for _ in range(50):
        a = law.rates(x, u)
        b = law.rates(x + h / 2 * a, u)
        c = law.rates(x + h / 2 * b, u)
        x = x + h / 6 * (a + 2 * b + 2 * c + law.rates(x + h * c, u))
    np.testing.assert_allclose(np.stack([after[name] for name in names], 1), x, rtol=1e-6, atol=1e-7)


def test_double_pendulum_is_that_of_its_governing_equations(data_dir: Path) -> None:
    instance = LOOPS["Double-Pendulum-less"]
    file = find(instance, data_dir / "smooth" / "networks")
    assert file is not None
    network = load_network(file)
    system = instance.build(network)
    x = 1 + 0.3 * np.random.default_rng(4).random((10, 4))
    t1, t2 = network.evaluate(x).T
    names = ("x1", "x2", "x3", "x4")
    state = {name: np.zeros(10) for name in system.variables} | dict(zip(names, x.T, strict=True))
    after, _ = step_batch(system, state, np.zeros(10, dtype=int))

    def rates(x: np.ndarray) -> np.ndarray:
        # as matrices: 2 a + c b = f, c a + b = g, with m = L = 0.5, g = 1 and no friction
        d = x[:, 1] - x[:, 0]
        matrix = np.stack([np.stack([np.full(10, 2.0), np.cos(d)], 1), np.stack([np.cos(d), np.ones(10)], 1)], 1)
        right = np.stack(
            [
                8 * t1 + 4 * np.sin(x[:, 0]) + x[:, 3] ** 2 * np.sin(d),
                8 * t2 + 2 * np.sin(x[:, 1]) - x[:, 2] ** 2 * np.sin(d),
            ],
            1,
        )
        return np.concatenate([x[:, 2:], np.linalg.solve(matrix, right[..., None])[..., 0]], 1)

    h = 0.05 / 50
    for _ in range(50):
        a = rates(x)
        b = rates(x + h / 2 * a)
        c = rates(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + rates(x + h * c))
    np.testing.assert_allclose(np.stack([after[name] for name in names], 1), x, rtol=1e-6)


@pytest.mark.parametrize("label", ["NAV-standard", "NAV-robust", "Attitude"])
def test_own_networks_are_proved_with_one_box(label: str, tmp_path: Path) -> None:
    found = row(LOOPS[label], OWN / f"{LOOPS[label].network}.onnx", 60, tmp_path)
    assert found["result"] == "VERIFIED" and found["check"] == "3 lines, 1 leaves closed"


def test_an_airplane_that_leaves_its_limits_is_replayed() -> None:
    assert row(LOOPS["Airplane"], OWN / "Airplane_controller.onnx", 60)["result"] == "FALSIFIED"


def test_lines_are_kept_and_missing_networks_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "results.csv"
    assert main(["--out", str(out), "--only", "NAV-robust"]) == 0
    with out.open(newline="") as file:
        (line,) = csv.DictReader(file)
    assert (line["benchmark"], line["instance"], line["result"]) == ("NAV", "robust", "VERIFIED")
    monkeypatch.setattr(sys.modules[main.__module__], "ask", lambda *_: pytest.fail("asked again"))
    assert main(["--out", str(out), "--only", "NAV-robust"]) == 0
    assert main(["--out", str(out), "--only", "ACC", "--networks", str(tmp_path)]) == 1
    assert "ACC: no file ACC_controller_relu.polar or .onnx, left out" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--networks", str(tmp_path / "none")])
    assert "is no folder" in capsys.readouterr().err
