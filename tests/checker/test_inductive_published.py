"""The published policy of six blocks: its abstract states for the published predicates are a certificate."""

from __future__ import annotations

from pathlib import Path

import pytest

from venmas.checker.file import check_certificate
from venmas.engine.certificates.file import write
from venmas.engine.certificates.kept import Certificate
from venmas.formats.jani.load import load_jani
from venmas.logic import Always, parse
from venmas.procedures.inductive.proof import Inductive
from venmas.procedures.predicate_abstraction.graph.graph import abstract
from venmas.procedures.predicate_abstraction.states.invariant import invariant_of
from venmas.question import Question


def test_six_blocks_are_safe_for_ever(data_dir: Path, tmp_path: Path) -> None:
    folder = data_dir / "policy" / "blocksworld_6"
    if not folder.is_dir():
        pytest.skip(f"there is no folder {folder} of published policies")
    scenario = load_jani(
        folder / "blocksworld_6_5.jani",
        folder / "pa_compact_starts_cost_predicates_afterwards_blocksworld_6_5_32_32.jani",
        folder / "blocksworld_6_5_32_32.jani2nnet",
        property_name=1,
    )
    system = scenario.system()
    unsafe = next(name for name in system.propositions if name.startswith("unsafe"))
    graph = abstract(system, scenario.predicates(folder / "predicates" / "6_0.jani"), unsafe)
    asked = Question(system, Always(0, parse(f"!{unsafe}", system.vocabulary)))
    written = write(tmp_path / "c.gz", asked, Inductive(invariant_of(graph.cells, graph.states)))
    assert isinstance(written, Certificate) and written.size < 100_000
    assert check_certificate(tmp_path / "c.gz", system).leaves > 349 * len(system.branches)
