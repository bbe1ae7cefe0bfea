"""The convolutional agent of the 8x8 lake: the file of its manifest, as onnxruntime runs it, verified."""

from tests.needs import needs

needs("onnxruntime")

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from venmas import load_network, verify
from venmas.model import load_scenario

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "networks" / "frozenlake_image"
sys.path.insert(0, str(ROOT / "experiments" / "training"))

import frozenlake_image


@pytest.fixture(scope="module")
def listed():
    (entry,) = json.loads((FOLDER / "MANIFEST.json").read_text(encoding="utf-8"))["files"]
    return entry


def test_the_file_is_the_one_of_the_manifest(listed):
    path = FOLDER / listed["file"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == listed["sha256"]
    assert [path] == [*FOLDER.glob("*.onnx")]
    ops = [node.op_type for node in onnx.load(path).graph.node]
    assert ops == ["Reshape", "Conv", "Relu", "MaxPool", "Conv", "Relu", "Flatten", "Gemm"]


def test_every_cell_is_read_as_onnxruntime_runs_it():
    path, cells = FOLDER / "agent.onnx", np.eye(64, dtype=np.float32)
    expected = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": cells})[0]
    noise = np.random.default_rng(1).normal(size=(50, 64)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    network = load_network(path)
    np.testing.assert_allclose(network.evaluate(cells), expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(network.evaluate(noise), session.run(None, {"x": noise})[0], rtol=1e-4, atol=1e-3)


def test_what_the_manifest_says_of_its_runs(listed):
    scores = load_network(FOLDER / "agent.onnx").evaluate(np.eye(64))
    visited = frozenlake_image.reachable(scores.argmax(axis=1))
    assert [cell + 1 for cell in visited] == listed["fit"]["reachable_cells"]
    assert not [cell for cell in visited if frozenlake_image.CELLS[cell] == "H"] and 63 in visited


def test_it_is_verified():
    system = load_scenario("frozenlake").system(FOLDER, map="8x8")
    assert verify(system, "AG safe").satisfied
    assert verify(system, "EF goal").satisfied
    report = verify(system, "AX cell[1] > 0.5", mode="mono")
    assert report.violated and report.replay is not None and report.replay.confirmed
