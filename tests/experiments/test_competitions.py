"""The scripts for competitions: called with their arguments, they write what is expected of them."""

from __future__ import annotations

import csv
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.archcomp_vcas.results import COLUMNS, main
from experiments.papers.cell import Cell, How
from experiments.papers.known import Expected
from venmas.nn import relu_network
from venmas.nn.runtime import onnx_model

SCRIPTS = Path(__file__).parents[2] / "experiments" / "vnncomp"
TEXT = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (and (<= X_0 1) (>= X_0 0) (>= Y_0 {})))"


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    tent = relu_network([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -0.5], [0.0]], name="tent")
    (tmp_path / "tent.onnx.gz").write_bytes(gzip.compress(onnx_model(tent, "float32")))
    for name, bound in (("sat", "0.45"), ("unsat", "0.6")):
        (tmp_path / f"{name}.vnnlib.gz").write_bytes(gzip.compress(TEXT.format(bound).encode()))
    (tmp_path / "error.vnnlib.gz").write_bytes(b"text")
    # as `.venv/bin/venmas`, which an installation makes
    (tmp_path / "venmas").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m venmas "$@"\n')
    (tmp_path / "venmas").chmod(0o755)
    return tmp_path


def call(folder: Path, script: str, *arguments: str) -> int:
    environment = {**os.environ, "VENMAS": str(folder / "venmas"), "PYTHONPATH": str(SCRIPTS.parents[1])}
    command = ["bash", SCRIPTS / script, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode


@pytest.mark.parametrize("answer", ["sat", "unsat", "error"])
def test_vnncomp(answer: str, instance: Path) -> None:
    asked = ("v1", "category", "tent.onnx.gz", f"{answer}.vnnlib.gz")
    assert call(instance, "prepare_instance.sh", *asked) == (1 if answer == "error" else 0)
    assert call(instance, "run_instance.sh", *asked, "out.txt", "60") == 0
    lines = (instance / "out.txt").read_text().splitlines()
    assert lines[0] == answer and len(lines) == (3 if answer == "sat" else 1)
    if answer == "sat":
        x, y = (
            float(re.fullmatch(rf"[( ]\({name} ([\d.]+)\)\)?", line)[1])
            for name, line in zip(("X_0", "Y_0"), lines[1:], strict=True)
        )
        assert y == min(x, 1 - x) >= 0.45


def test_vnncomp_has_one_interface(instance: Path) -> None:
    assert call(instance, "install_tool.sh", "v2") == 1
    assert call(instance, "prepare_instance.sh", "v1") == 1
    assert call(instance, "run_instance.sh", "v1", "category", "tent.onnx.gz") == 1


def test_archcomp(tmp_path: Path) -> None:
    found = tmp_path / "results.csv"
    assert main(["--out", str(found), "--only", "worst2", "--timeout", "100"]) == 0
    with found.open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    expected, names = Expected(How()), {"satisfied": "VERIFIED", "violated": "FALSIFIED"}
    for row, climb in zip(rows, ("-22.5", "-25.5", "-28.5"), strict=True):
        told = (("climb0", climb), ("pilot", "worst"))
        known = expected.known(Cell("", "", "1..10", "adaptive", "vcas", told, ""))
        assert (row["benchmark"], row["instance"]) == ("VCAS", f"worst{climb[1:3]}")
        assert row["result"] == names[known.verdict], known.why
    assert {row["result"] for row in rows} == {"VERIFIED", "FALSIFIED"}
    assert all(0 < float(row["time"]) < 100 for row in rows)
