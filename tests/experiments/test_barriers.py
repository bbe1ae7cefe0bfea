"""Learnt certificates: the networks are those that were trained, one plant is decided, and rows are judged."""

import json
from hashlib import sha256

import pytest

from experiments.barriers.__main__ import judged, main
from experiments.barriers.plants import NETWORKS, PLANTS, QUESTIONS
from venmas.question import read_property


def test_networks_are_those_of_the_manifest() -> None:
    listed = {entry["file"]: entry["sha256"] for entry in json.loads((NETWORKS / "MANIFEST.json").read_text())["files"]}
    names = {f"{plant}-{kind}.onnx" for plant in PLANTS for kind in ("policy", "rough", "value")}
    assert names == set(listed) == {path.name for path in NETWORKS.glob("*.onnx")}
    for name, digest in listed.items():
        assert sha256((NETWORKS / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("name", PLANTS)
def test_questions_are_of_the_plant(name: str, rough: bool) -> None:
    system = PLANTS[name].system(rough=rough)
    system.validate()
    for text in QUESTIONS.values():
        read_property(system, text)


def test_there_are_eight_plants_with_steps_of_three_kinds() -> None:
    assert len(PLANTS) == 8
    smooth = {name for name, plant in PLANTS.items() if plant.system().smooth}
    flows = {name for name, plant in PLANTS.items() if plant.period is not None}
    assert len(smooth) == 5 and len(flows) == 2 and flows < smooth
    assert sorted(len(plant.box) for plant in PLANTS.values()) == [2, 2, 3, 4, 4, 4, 4, 6]


@pytest.mark.slow
def test_a_certificate_is_proved_and_a_rough_one_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "pendulum-value", "--timeout", "60", "--certify", "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("| satisfied |") == shown.count("| accepted") == 2
    assert "2 of 2 questions decided: 2 satisfied, 0 violated; 2 with" in shown
    assert main(["--only", "lane_keep-rough", "--timeout", "60", "--workers", "1"]) == 0
    assert capsys.readouterr().out.count("| replayed |") == 2


@pytest.mark.parametrize(
    ("verdict", "broken", "check", "problem"),
    [
        ("satisfied", "0", "accepted (1 kB, 0.1 s)", ""),
        ("satisfied", "3", "accepted (1 kB, 0.1 s)", "WRONG"),
        ("satisfied", "0", "REFUSED: line 3", "REFUSED: LINE 3"),
        ("violated", "0", "replayed", "missed by sampling"),
        ("violated", "5", "NOT REPLAYED", "NOT REPLAYED"),
        ("unknown", "5", "", ""),
        ("crash", "0", "", "CRASH"),
    ],
)
def test_rows_are_judged(verdict: str, broken: str, check: str, problem: str) -> None:
    assert judged({"verdict": verdict, "broken": broken, "check": check}) == problem
