"""The one reader of certificates: entries by the types of fields, lines by number, proofs inside proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest

from venmas.checker.format.cuts import leaves
from venmas.checker.format.fields import Count, Ints, Limit, MisfitError, Number, entries, reader, record
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Line, Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import RULES, End
from venmas.checker.goals.rules import Expand, Keep, Refute, Same
from venmas.errors import InputError


class Pair(NamedTuple):
    """A list of two."""

    at: Count
    rows: tuple[Ints, ...]


@dataclass(frozen=True)
class Part:
    """An object; `told` may be left out."""

    name: str
    told: int = 7


FITS: list[tuple[Any, object]] = [
    (int, -(10**30)), (Count, 0), (str, ""), (bool, True), (Number, "-3/4"), (object, [{}]), (Literal["a", "b"], "b"),
    (int | None, None), (int | None, 3), (tuple[int, ...], [1, -2]), (tuple[str, ...], []), (tuple[Number, ...], ["1"]),
    (tuple[int, str], [1, "x"]), (Annotated[tuple[int, ...], Limit(most=2)], [1, 2]), (Ints, [1, 2]), (Ints, []),
    (tuple[tuple[bool, ...], ...], [[True], []]), (Pair, [0, [[1], []]]), (Part, {"name": "x"}),
    (Part, {"name": "x", "told": 8}), (Mapping[str, object], {"x": 1}), (Annotated[int, Limit(2, 3)], 3),
]  # fmt: skip
MISFITS: list[tuple[Any, object]] = [
    (int, True), (int, "1"), (int, None), (int, 1.0), (Count, -1), (Count, False), (str, 1), (str, None), (bool, 1),
    (bool, None), (Number, 1), (Literal["a", "b"], "c"), (Literal["a", "b"], ["a"]), (int | None, "x"),
    (int | None, False), (tuple[int, ...], [1, True]), (tuple[int, ...], {}), (tuple[int, ...], "12"),
    (tuple[Count, ...], [0, -1]), (tuple[str, ...], ["a", 1]), (tuple[str, ...], "ab"), (tuple[int, str], [1]),
    (tuple[int, str], [1, "x", 2]), (tuple[int, str], ["x", 1]), (Annotated[tuple[int, ...], Limit(most=2)], [1, 2, 3]),
    (Ints, [1, True]), (Ints, [2**63]), (Ints, [1.5]), (Ints, "1"), (Annotated[Ints, Limit(0, 9)], [10]),
    (Annotated[Ints, Limit(0, 9)], [-1]), (Pair, [0]), (Pair, [-1, []]), (Pair, {"at": 0, "rows": []}), (Part, {}),
    (Part, []), (Part, {"name": "x", "told": 7}), (Part, {"name": "x", "more": 1}), (Part, {"name": "x", "rule": "y"}),
    (Mapping[str, object], []), (Annotated[int, Limit(2, 3)], 4), (Annotated[str, Limit(most=2)], "abc"),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "value"), FITS)
def test_what_fits_is_read_and_written_again(hint: Any, value: object) -> None:
    @dataclass(frozen=True)
    class Held:
        held: Any

    found = reader(hint)(value)
    assert entries(Held(found)) == {"held": value}


@pytest.mark.parametrize(("hint", "value"), MISFITS)
def test_what_does_not_fit_is_refused(hint: Any, value: object) -> None:
    with pytest.raises(MisfitError, match="expected"):
        reader(hint)(value)


def test_integers_are_arrays_of_64_bits() -> None:
    found = reader(Ints)([3, -4])
    assert found.dtype == np.int64 and found.tolist() == [3, -4]
    with pytest.raises(TypeError, match="no entry of a certificate"):
        reader(float)


@dataclass(frozen=True)
class Factory:
    """A default that is made, and one that has no influence."""

    some: tuple[int, ...] = ()
    about: object = field(default_factory=dict)


def test_defaults_are_left_out_and_must_be() -> None:
    read = record(Factory)
    assert read({}) == Factory() and entries(Factory()) == {}
    assert read({"about": {}}) == Factory() and read({"about": None}).about is None
    with pytest.raises(MisfitError, match="left out"):
        read({"some": []})
    claim = Claim("AG p", "always", inside=True)
    assert entries(claim) == {"formula": "AG p", "kind": "always", "inside": True}
    assert claim.more_than(frozenset({"inside"})) == [] and claim.more_than(frozenset()) == ["inside"]


def test_every_rule_refuses_what_it_does_not_know() -> None:
    for kind in RULES.values():
        with pytest.raises(MisfitError):
            kind.read({"rule": kind.name, "unknown": 1})


# -- lines -------------------------------------------------------------------------------------------------------------

EXPAND: Line = {"rule": "expand"}


def end(number: int) -> Line:
    return {"rule": "end", "lines": number}


def refused(run: Callable[[], object]) -> CheckError:
    with pytest.raises(CheckError) as caught:
        run()
    return caught.value


def test_lines_are_taken_by_rule() -> None:
    ticks: list[int] = []
    lines = Lines([EXPAND, {"rule": "keep", "at": 2}, end(3)], ticks.append)
    assert lines.next(Expand, Keep) == Expand() and lines.take(Expand) is None
    assert lines.take(Keep) == Keep(2) and lines.number == 2
    lines.end()
    assert ticks == [1, 2, 3]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"rule": "keep", "at": 0}, "expected expand or same: {'rule': 'keep'"),
        ({"rule": "unknown"}, "expected expand or same"),
        ({"rule": ["expand"]}, "expected expand or same"),
        ({"rule": None}, "expected expand or same"),
        ({}, "expected expand or same"),
        ({"rule": "same", "as": -1}, "same: expected a whole number from 0 as as, got -1"),
        ({"rule": "expand", "more": 1}, "expand: expected no entries, got ['more']"),
    ],
)
def test_other_lines_are_refused_by_number(row: Line, problem: str) -> None:
    lines = Lines([EXPAND, row])
    lines.next(Expand)
    found = refused(lambda: lines.next(Expand, Same))
    assert found.line == 2 and found.problem.startswith(problem)


def test_the_end_is_the_last_line_with_its_own_number() -> None:
    for rows, line, problem in (
        ([end(2)], 1, "its own number 1"),
        ([EXPAND], 1, "expected end"),
        ([end(1), EXPAND], 2, "more after the end"),
        ([], 1, "ends before its proof does"),
        ([{"rule": "end", "lines": True}], 1, "whole number"),
    ):
        found = refused(Lines(rows).end)
        assert found.line == line and problem in found.problem
    lines = Lines([end(1)])
    lines.end(lines.next(End))
    assert refused(lambda: Lines([EXPAND]).end(Expand())).line == 0


def test_a_proof_inside_a_proof_has_numbers_of_its_own() -> None:
    """Refusals and ticks have those of the file."""
    ticks: list[int] = []
    lines = Lines([EXPAND, EXPAND, end(2), EXPAND, end(2), end(6)], ticks.append)
    lines.next(Expand)
    for _ in range(2):
        with lines.part() as part:
            assert part.next(Expand) == Expand() and part.number == 1
            part.end()
    assert lines.number == 5
    lines.end()
    assert ticks == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("at", [1, 2, 3])
def test_refusals_inside_have_the_numbers_of_the_file(at: int) -> None:
    """Of a line of another rule, of one that can not be read, and of what a rule stumbles over."""

    def rows(bad: bool) -> Iterator[Line]:
        yield from [EXPAND] * (at + 1)
        if bad:
            raise CheckError(at + 2, "not what a certificate holds")
        yield end(7)

    def inside(bad: bool) -> None:
        lines = Lines(rows(bad))
        lines.next(Expand)
        with lines.part() as part:
            for _ in range(at):
                part.next(Expand)
            with part.part() as deeper:
                deeper.next(Refute)

    assert refused(lambda: inside(False)).line == refused(lambda: inside(True)).line == at + 2


@pytest.mark.parametrize("error", [RecursionError(), InputError("bad"), ValueError("bad"), OverflowError("bad")])
def test_whatever_a_line_makes_the_checker_stumble_over_is_a_refusal(error: Exception) -> None:
    def stumble() -> None:
        lines = Lines([EXPAND, EXPAND])
        lines.next(Expand)
        with lines.part() as part, part.refusing():
            part.next(Expand)
            raise error

    found = refused(stumble)
    assert found.line == 2 and ("bad" in found.problem or "too deeply" in found.problem)
    with pytest.raises(KeyError), Lines([]).refusing():  # a fault of the checker is none of the file
        raise KeyError


def test_trees_of_cuts_are_in_prefix_order_and_not_recursive() -> None:
    def parts(node: tuple[int, int], waiting: int) -> tuple[tuple[int, int], ...]:
        low, high = node
        assert waiting <= 1
        return () if low == high else ((low, low), (low + 1, high))

    assert list(leaves((0, 5000), parts)) == [(i, i) for i in range(5001)]
