"""The bundled policies with memory: their manifest, and runs of the scenario `cart` against onnxruntime."""

from tests.needs import needs

needs("onnxruntime")

import hashlib
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.slow import some_slow
from venmas import load_scenario, verify
from venmas.checker.file import check_certificate

FOLDER = Path(__file__).parents[1] / "networks" / "cart"
FILES = json.loads((FOLDER / "MANIFEST.json").read_text(encoding="utf-8"))["files"]
CELLS = [entry for entry in FILES if entry["file"].endswith(".onnx")]
"""The others have tests of their own (`tests/nn/test_sb3_recurrent.py`)."""


def forces(path, xs):
    """Outputs of onnxruntime for positions, one after the other."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    entry, *memory = session.get_inputs()
    state, found = {i.name: np.zeros(i.shape, np.float32) for i in memory}, []
    for x in xs:
        u, *new = session.run(None, {entry.name: np.full(entry.shape, x, np.float32), **state})
        state = dict(zip(state, new, strict=True))
        found.append(float(u[0, 0]))
    return found


@pytest.mark.parametrize("entry", some_slow(CELLS, range(0, len(CELLS), 2)), ids=lambda entry: entry["file"])
def test_a_violation_is_one_in_onnxruntime(entry):
    """The run that violates a threshold, replayed with the file itself: its force, and so its next states."""
    path = FOLDER / entry["file"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
    system = load_scenario("cart").system(policy=path.stem)
    report = verify(system, "AX^10 (x > 0.3)", timeout=60)
    assert report.violated and report.witness is not None and len(report.witness.nodes) == 11
    points = [{name: float(value) for name, value in node.point.items()} for node in report.witness.nodes]
    found = forces(path, [point["x"] for point in points[:-1]])
    said = [(after["v"] - before["v"]) * 10 for before, after in pairwise(points)]
    np.testing.assert_allclose(said, found, atol=1e-5)
    assert points[-1]["x"] <= 0.3


def test_twenty_steps_are_decided_with_a_certificate(tmp_path):
    system = load_scenario("cart").system(policy="gru16", x="0.35..0.4", v=0)
    proof = tmp_path / "cart.proof"
    assert verify(system, "near20", certificate=proof, timeout=60).satisfied
    assert check_certificate(proof, system).leaves
