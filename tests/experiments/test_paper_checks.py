"""What the experiments of the papers expect: exact lines against published figures, simulations, the stored table."""

import json
import random
from pathlib import Path

import pytest

from experiments.papers.cell import Cell, How
from experiments.papers.known import ARCH_CLIMBS, FILE, Expected, lake_verdicts
from experiments.papers.lines import least_distances, verdict
from experiments.published.checks import least_separation

ROOT = Path(__file__).resolve().parents[2]

PUBLISHED = {  # the check values of the closed loop, ft
    -19.5: [113.53, 106.10, 106.73, 115.40, 132.13, 156.90, 189.73, 230.60, 279.53, 336.50],
    -22.5: [110.53, 100.10, 97.73, 103.40, 117.13, 138.90, 168.73, 206.60, 252.53, 306.50],
}


def test_exact_lines_have_the_published_distances(data_dir: Path) -> None:
    _, networks = Expected(How(networks=data_dir)).networks("vcas")
    for climb, distances in PUBLISHED.items():
        assert least_distances(networks, climb, 10) == pytest.approx(distances, abs=0.0051)


@pytest.mark.parametrize("climb", [-19.5, -37.5, -40.0])
def test_no_simulation_comes_nearer_than_the_lines_and_a_fine_one_as_near(climb: float) -> None:
    _, networks = Expected(How()).networks("vcas")
    exact = least_distances(networks, climb, 6)
    sampled = least_separation(networks, climb, 6, points=101)
    assert all(e <= s + 1e-6 for e, s in zip(exact, sampled, strict=True))
    assert exact == pytest.approx(sampled, abs=0.05)  # the grid's width is 0.04 ft


def test_the_stored_distances_are_those_of_the_training(data_dir: Path) -> None:
    manifest = json.loads((ROOT / "networks" / "vcas" / "MANIFEST.json").read_text())
    digest, _ = Expected(How()).networks("vcas")
    least = json.loads(FILE.read_text())["networks"][digest]["least"]["all"]
    shared = sorted(set(least) & set(manifest["closed_loop_min_abs_h"]))
    assert len(shared) == 9
    for climb in shared:
        told = manifest["closed_loop_min_abs_h"][climb]
        assert least[climb][: len(told)] == pytest.approx(told, abs=0.05)


@pytest.mark.parametrize("where", ["bundled", "published"])
def test_the_stored_table_is_what_the_checks_find(where: str, data_dir: Path) -> None:
    expected = Expected(How(networks=data_dir if where == "published" else None))
    facts = json.loads(FILE.read_text())["networks"]
    digest, networks = expected.networks("vcas")
    assert facts[digest]["name"] == where == expected.name("vcas")
    rng = random.Random(where)
    for pilot, climbs in facts[digest]["least"].items():
        assert len(climbs) == (12 if pilot == "all" else len(ARCH_CLIMBS))
        climb = rng.choice(sorted(climbs))
        assert climbs[climb][:7] == pytest.approx(least_distances(networks, float(climb), 7, pilot), abs=1e-5)
    digest, networks = expected.networks("frozenlake")
    assert facts[digest]["verdicts"] == lake_verdicts(networks)


def test_a_distance_too_near_the_threshold_is_left_open() -> None:
    found = [verdict(d) for d in (100 - 1e-3, 100 - 1e-7, 100, 100 + 1e-7, 100 + 1e-3)]
    assert found == ["violated", "", "", "", "satisfied"]


def test_known_of_a_step_of_all_steps_and_of_networks_that_are_not_in_the_table(tmp_path: Path) -> None:
    def cell(k: str) -> Cell:
        return Cell("t", "r", k, "mono", "vcas", (("climb0", "-25.5"), ("pilot", "middle")), "")

    expected = Expected(How())
    steps = [expected.known(cell(str(k))) for k in range(1, 6)]
    assert {k.verdict for k in steps} == {"satisfied", "violated"}
    assert expected.known(cell("1..5")).verdict == "violated" != expected.known(cell("5..10")).verdict

    for path in (ROOT / "networks" / "vcas").glob("*.onnx"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "5.onnx").write_bytes((ROOT / "networks" / "vcas" / "1.onnx").read_bytes())
    others = Expected(How(networks=tmp_path))
    assert others.name("vcas") == "others"
    assert others.known(cell("10")) != expected.known(cell("10"))
