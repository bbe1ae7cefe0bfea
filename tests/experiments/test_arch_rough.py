"""Rough networks of docking and balancing: they are those of their manifest, and parts are proved and certified."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np

from experiments.arch_comp import rough
from venmas.model.expressions.expr import Variable
from venmas.nn import load_network


def test_networks_are_those_of_the_manifest() -> None:
    told = {entry["file"]: entry for entry in json.loads((rough.ROUGH / "MANIFEST.json").read_text())["files"]}
    files = [file for _, file in rough.networks()]
    assert {file.name for file in files} == set(told) and len(files) == 6
    for file in files:
        assert sha256(file.read_bytes()).hexdigest() == told[file.name]["sha256"]
        layers, own = load_network(file).layers, load_network(rough.OWN / f"{file.stem[:-2]}.onnx").layers
        assert [layer.weight.shape for layer in layers] == [layer.weight.shape for layer in own]
        assert [layer.activation for layer in layers] == [layer.activation for layer in own]


def test_a_part_of_docking_is_certified(tmp_path: Path) -> None:
    instance, file = next((i, f) for i, f in rough.networks() if i.label == "Docking")
    x1, x2, x3, x4 = (Variable(f"x{i}", False) for i in range(1, 5))
    found = rough.row(instance, file, 60, tmp_path, (x1 >= 104) & (x2 >= 104) & (x3 >= 0.27) & (x4 >= 0.27))
    assert found["verdict"] == "satisfied" and found["check"].endswith("leaves closed")
    assert found["sampled"].startswith("0 ") and not rough.wrong(found)
    assert rough.wrong(found | {"sampled": "1 of 2000 violate"}) and rough.wrong(found | {"check": "REFUSED: no"})
    assert not rough.wrong(found | {"verdict": "unknown", "sampled": "1 of 2000 violate"})


def test_runs_begin_in_all_corners() -> None:
    instance, file = next((i, f) for i, f in rough.networks() if i.label == "Balancing")
    state = rough.starts(instance.build(load_network(file)))
    points = np.stack([state[f"x{i}"] for i in range(1, 5)], 1)
    assert len(np.unique(points[:16], axis=0)) == 16 and (np.abs(points) <= [0.1, 0.05, 0.1, 0.05]).all()
    assert set(np.abs(points[:16]).ravel().tolist()) == {0.1, 0.05} and (state["lo_x1"] == 0).all()
