"""Proofs that are offered for those of bounded claims of a derivation: checked until one holds, and no further."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.procedures.forever import loops
from venmas import verify
from venmas.checker.file import KINDS, opened
from venmas.checker.format.about import About, Claimed
from venmas.checker.format.lines import Line, Lines
from venmas.checker.format.numbers import CheckError

LIE: list[Line] = [{"rule": "enclosures", "bits": 1}, {"rule": "end", "lines": 2}]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    path = tmp_path_factory.mktemp("exchange") / "c.gz"
    assert verify(loops.thermostat(), "AF AG warm", timeout=120, certificate=path).satisfied
    return [json.loads(line) for line in gzip.decompress(Path(path).read_bytes()).splitlines()]


def about(rows: list[Line]) -> About:
    header, _ = opened(rows)
    assert header.proof == "forever"
    return About(header.claim, loops.thermostat(), {})


def test_the_first_that_holds_is_taken(rows: list[Line]) -> None:
    asked: dict[int, int] = {}

    def offered(claimed: Claimed, kind: str, lines: list[Line]) -> Iterator[tuple[str, list[Line]]]:
        for other, some in (("flowpipes", LIE), (kind, []), (kind, lines), (kind, LIE)):
            asked[claimed.number] = asked.get(claimed.number, 0) + 1
            yield other, some

    found = KINDS["forever"].check(replace(about(rows), exchange=offered), Lines(rows[1:]))
    assert set(asked.values()) == {3}
    assert len(asked) == sum(row.get("rule") == "bounded" for row in rows)
    assert found == KINDS["forever"].check(about(rows), Lines(rows[1:]))


def test_lies_and_proofs_of_other_claims_are_refused(rows: list[Line]) -> None:
    for some in ([LIE], [[*LIE, *LIE]], [], [rows[1:]]):
        with pytest.raises(CheckError):
            KINDS["forever"].check(
                replace(about(rows), exchange=lambda _, kind, __, some=some: ((kind, one) for one in some)),
                Lines(rows[1:]),
            )


def test_a_proof_that_is_cut_off_is_refused(rows: list[Line]) -> None:
    first = next(i for i, row in enumerate(rows) if row.get("rule") == "bounded")
    with pytest.raises(CheckError, match="ends before"):
        KINDS["forever"].check(
            replace(about(rows), exchange=lambda _, kind, lines: iter([(kind, lines)])), Lines(rows[1 : first + 2])
        )
