"""``venmas vnnlib`` as its users see it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.needs import needs
from venmas import load_network
from venmas.cli.main import main
from venmas.engine.query import replay
from venmas.errors import NetworkError
from venmas.nn import relu_network
from venmas.nn.runtime import onnx_model

BOX = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= 0 X_0 1))"


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["vnnlib", *map(str, args)])


@pytest.fixture
def tent(tmp_path: Path) -> Path:
    network = relu_network([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -0.5], [0.0]], name="tent")
    (tmp_path / "tent.onnx").write_bytes(onnx_model(network, "float32"))
    return tmp_path / "tent.onnx"


def asking(folder: Path, condition: str) -> Path:
    (folder / "p.vnnlib").write_text(f"{BOX}\n(assert {condition})")
    return folder / "p.vnnlib"


def test_sat_prints_a_counterexample_as_in_vnn_comp(tent: Path) -> None:
    needs("onnxruntime")
    result = run(tent, asking(tent.parent, "(>= Y_0 0.45)"))
    assert result.exit_code == 10
    found = re.fullmatch(r"sat\n\(\(X_0 ([-0-9.e]+)\)\n \(Y_0 ([-0-9.e]+)\)\)\n", result.stdout)
    assert found is not None
    (y,) = load_network(tent).evaluate_exact([Fraction(found[1])])  # what is printed is the point itself
    assert y >= Fraction(45, 100)
    assert float(y) == float(found[2])
    assert "holds at this point in exact rational numbers" in result.stderr
    assert re.search(r"onnxruntime [\d.]+ in single precision: accepted;", result.stderr)


def test_unsat_and_quiet(tent: Path) -> None:
    result = run(tent, asking(tent.parent, "(> Y_0 0.5)"))
    assert (result.exit_code, result.stdout) == (0, "unsat\n")
    assert "Proved in exact rational numbers" in result.stderr
    quiet = run(tent, asking(tent.parent, "(> Y_0 0.5)"), "-q", "--workers", "1", "--timeout", "30")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "unsat\n", "")


def test_what_floats_do_not_show_is_said(tmp_path: Path) -> None:
    # in single precision x + 2^25 is a multiple of 4
    network = relu_network([[[1.0]], [[1.0]]], [[2.0**25], [-(2.0**25)]])
    (tmp_path / "n.onnx").write_bytes(onnx_model(network, "float32"))
    result = run(tmp_path / "n.onnx", asking(tmp_path, "(<= 0.4 Y_0 0.6)"))
    assert result.exit_code == 10
    assert "NOT accepted" in result.stderr


def test_json(tent: Path) -> None:
    result = run(tent, asking(tent.parent, "(>= Y_0 0.45)"), "--json", "-")
    found = json.loads(result.stdout)
    assert found["verdict"] == "sat"
    assert Fraction(found["inputs"][0]) + Fraction(45, 100) <= 1
    assert found["replay"]["accepted"] is True
    path = tent.parent / "a.json"
    assert run(tent, asking(tent.parent, "(>= Y_0 0.6)"), "--json", path).stdout == "unsat\n"
    assert json.loads(path.read_text())["basis"] == "bounds"


def test_an_answer_outlives_a_runtime_that_fails(tent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise NetworkError("onnxruntime does not run it")

    monkeypatch.setattr(replay, "run_networks", refuse)
    result = run(tent, asking(tent.parent, "(>= Y_0 0.45)"), "--json", tent.parent / "a.json")
    assert (result.exit_code, result.stdout[:3]) == (10, "sat")
    assert "was not run as deployed: onnxruntime does not run it" in result.stderr
    assert "holds at this point" in result.stderr
    assert json.loads((tent.parent / "a.json").read_text())["replay"] is None


def test_numbers_that_floats_do_not_hold(tmp_path: Path) -> None:
    network = relu_network([[[1e200]], [[1e200]]], [[0.0], [0.0]], dtype="float64")
    (tmp_path / "n.onnx").write_bytes(onnx_model(network, "float64"))
    result = run(tmp_path / "n.onnx", asking(tmp_path, "(= (* 3 X_0) 1)"), "--json", tmp_path / "a.json")
    assert result.exit_code == 10
    assert result.stdout == "sat\n((X_0 0.3333333333333333)\n (Y_0 inf))\n"
    assert "holds at X = (1/3), which floats can only come near to" in result.stderr
    assert json.loads((tmp_path / "a.json").read_text())["outputs"] == [None]


def test_inputs_of_acas_shape(data_dir: Path) -> None:
    folder = data_dir / "acasxu"
    result = run(folder / "onnx" / "ACASXU_run2a_3_1_batch_2000.onnx", folder / "vnnlib" / "prop_2.vnnlib", "-q")
    assert result.exit_code == 10
    assert len(re.findall(r"\([XY]_\d [-0-9.e]+\)", result.stdout)) == 10


@pytest.mark.parametrize(
    ("network", "condition", "told"),
    [
        ("none.onnx", "(>= Y_0 1)", "does not exist"),
        ("tent.onnx", "(>= Y_1 1)", "Y_1 is not declared"),
        ("tent.onnx", "(>= Y_0 1", "not closed"),
        ("tent.onnx", "true)(declare-const Y_1 Real", "declares 2 outputs, network 'tent' has 1"),
        ("p.vnnlib", "(>= Y_0 1)", "extension"),
    ],
)
def test_bad_input(tent: Path, network: str, condition: str, told: str) -> None:
    result = run(tent.parent / network, asking(tent.parent, condition))
    assert result.exit_code == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_missing_property(tent: Path) -> None:
    result = run(tent, tent.parent / "none.vnnlib")
    assert result.exit_code == 2
    assert "check the path" in result.stderr
    assert run(tent).exit_code == 2


def test_interrupted(tmp_path: Path, data_dir: Path) -> None:
    folder = data_dir / "acasxu"
    text = (folder / "vnnlib" / "prop_7.vnnlib").read_text() + "(assert (<= Y_0 -0.021))(assert (>= Y_0 -0.0215))"
    (tmp_path / "hard.vnnlib").write_text(text)
    network = folder / "onnx" / "ACASXU_run2a_1_9_batch_2000.onnx"
    process = subprocess.Popen(
        [sys.executable, "-m", "venmas", "vnnlib", str(network), str(tmp_path / "hard.vnnlib")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    time.sleep(6)
    assert process.poll() is None  # at work
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (20, "unknown\n")
    assert "interrupted" in err
    assert "Traceback" not in err
