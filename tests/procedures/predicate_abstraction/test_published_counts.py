"""Counts of the published benchmarks of policy predicate abstraction (PlaJA's tests; the data's README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from venmas import abstract, load_jani, verify
from venmas.formats.jani.load import JaniScenario
from venmas.logic import Always, nnf
from venmas.question import read_property

INTERFACE = "blocksworld_6_5_32_32.jani2nnet"
PROPERTY = "pa_compact_starts_cost_predicates_afterwards_blocksworld_6_5_32_32.jani"


@pytest.fixture
def policies(data_dir: Path) -> Path:
    folder = data_dir / "policy"
    if not folder.is_dir():
        pytest.skip(f"no published policies in {folder}")
    return folder


def six_blocks(folder: Path, number: int) -> JaniScenario:
    blocks = folder / "blocksworld_6"
    return load_jani(
        blocks / "blocksworld_6_5.jani", blocks / PROPERTY, policy=blocks / INTERFACE, property_name=number
    )


def four_blocks(folder: Path) -> JaniScenario:
    blocks = folder / "blocksworld_4"
    constants = {"item_cost_bound": 50, "failing_probability": 0.5}
    policy = blocks / "blocksworld_4_3_16_16.jani2nnet"
    return load_jani(blocks / "blocksworld_4_3.jani", policy=policy, constants=constants)


def counts(scenario: JaniScenario) -> tuple[int, ...]:
    system = scenario.system()
    assert scenario.formula is not None
    asked = read_property(system, scenario.formula)
    assert isinstance(asked, Always)
    graph = abstract(system, scenario.predicates(), nnf(asked.invariant, negate=True))
    found = graph.to_json()
    names = ("predicates", "starts", "states", "transitions", "unsafe", "endangered")
    return tuple(int(found[name]) for name in names)


def test_six_blocks(policies: Path) -> None:
    assert counts(six_blocks(policies, 1)) == (43, 171, 433, 1005, 0, 0)
    assert counts(six_blocks(policies, 2)) == (49, 202, 349, 738, 0, 0)


def test_racetrack(policies: Path) -> None:
    track = policies / "racetrack"
    scenario = load_jani(track / "racetrack_barto_small.jani", track / "property.jani")
    assert counts(scenario) == (6, 15, 68, 134, 16, 64)
    assert scenario.formula is not None
    report = verify(scenario.system(), scenario.formula, mode="abstraction")
    assert report.violated and report.witness is not None
    assert report.witness.branches is not None and len(report.witness.branches) <= 3


@pytest.mark.parametrize(
    "given", [{}, {"predicates.first": "none"}, {"predicates.slice": "off", "predicates.search": "breadth"}]
)
def test_four_blocks_are_safe(policies: Path, given: dict[str, str]) -> None:
    scenario = four_blocks(policies)
    assert scenario.formula is not None
    report = verify(scenario.system(), scenario.formula, mode="abstraction", tune=given)
    assert report.satisfied and report.invariant is not None
    assert report.invariant["abstract"]["starts"] == 14
    assert report.invariant["words"] > 0


def test_six_blocks_are_safe(policies: Path) -> None:
    scenario = six_blocks(policies, 1)
    assert scenario.formula is not None
    report = verify(scenario.system(), scenario.formula, mode="abstraction")
    assert report.satisfied and report.invariant is not None
    assert report.invariant["abstract"]["starts"] == 202
