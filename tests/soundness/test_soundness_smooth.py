"""Small parts of ``python -m tests.soundness smooth-rules``, ``-mutants``, ``-systems`` and ``-certificates``."""

from __future__ import annotations

from tests.needs import needs

needs("flint", "scipy")

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.corpus.smooth import check, random_case
from tests.soundness.smooth.certificates import smooth_certificates
from tests.soundness.smooth.mutants import all_mutants, run
from tests.soundness.smooth.rules import CHECKS


@pytest.mark.parametrize("key", CHECKS, ids=", ".join)
def test_no_point_is_outside(key: tuple[str, str]) -> None:
    found = CHECKS[key](3, 40 if "flow" not in key[1] else 4)
    assert found.outside == [] and found.points > 0


@pytest.mark.parametrize(
    "text",
    [
        "- 3 * sum(map(abs, both)) // 2",
        "np.minimum(sl - bl, su - bu) * 1.01",
        "return slope, a - rest, a + rest",
        "-(-value.e * abs(slope) >> SLOPE_BITS) + len(g)",
        "len(out) // 2",
    ],
)
def test_mutated_rules_are_noticed(text: str) -> None:
    mutants = all_mutants()
    (number,) = [i for i, mutant in enumerate(mutants) if mutant.new == text]
    assert run(mutants[number], number, 800)


def test_what_mutants_replace_is_there() -> None:
    """The list keeps up with the rules."""
    for mutant in all_mutants():
        spec = find_spec(f"venmas.{mutant.module}")
        assert spec is not None and spec.origin is not None
        text = Path(spec.origin).read_text()
        assert all(old in text for old, _ in (*mutant.thin, (mutant.old, mutant.new))), mutant.name


def test_random_systems_with_choices_contradict_no_verdict() -> None:
    seeds = [seed for seed in range(7_000_000, 7_000_060) if random_case(seed).control is not None][:8]
    found = [check(seed, 1.5) for seed in seeds]
    assert [wrong for _, wrong in found if wrong] == []
    assert {"satisfied", "violated"} <= {verdict for verdict, _ in found}


def test_mutants_of_certificates_claim_nothing_false() -> None:
    assert smooth_certificates(100, 3) == 0
