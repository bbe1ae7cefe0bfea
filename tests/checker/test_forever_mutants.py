"""Mutants of derivations: each is refused, or what it claims is as true as before."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.procedures.forever import loops
from tests.slow import some_slow
from venmas import System, verify
from venmas.answer import Unknown
from venmas.checker.file import check_claim, opened
from venmas.errors import InputError, Reason
from venmas.procedures.forever.procedure import ForeverSession

HALF = Fraction(1, 2)
PROVED: dict[str, tuple[Callable[[], System], str]] = {
    "recur": (loops.thermostat, "AG AF low"),
    "close": (loops.thermostat, "AF AG warm"),
    "stay": (loops.thermostat, "EG t >= 17"),
    "noise": (lambda: loops.thermostat(HALF), "AF AG warm"),
    "smooth": (loops.smooth, "AF AG near"),
    "settled": (loops.drawn_to_parameter, "AF AG near"),
    "cells": (loops.thermostat, "EG EF low"),
    "cells, noise": (lambda: loops.thermostat(HALF), "EG EF low"),
}
CELLS = ("cells", "cells, noise")
NAMES = some_slow(PROVED, [at for at, name in enumerate(PROVED) if name not in ("settled", "cells, noise")])
"""Of the others a certificate takes long, to be made or to be checked again and again."""


class Stored(dict[str, list[dict[str, Any]]]):
    """Lines of the certificates, each of which is made where it is asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, name: str) -> list[dict[str, Any]]:
        make, text = PROVED[name]
        path = self.folder / f"{name}.gz"
        with pytest.MonkeyPatch.context() as patch:
            if name in CELLS:
                patch.setattr(ForeverSession, "_satisfied", lambda *_: Unknown(Reason.OPEN, ""))
            assert verify(make(), text, timeout=120, certificate=path).satisfied
        self[name] = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        return self[name]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return Stored(tmp_path_factory.mktemp("forever"))


def accepted(rows: list[dict[str, Any]], system: System) -> bool:
    try:
        check_claim(*opened(rows), system)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_the_certificate_itself_is_accepted(stored: Stored, name: str) -> None:
    assert accepted(stored[name], PROVED[name][0]())


@pytest.mark.parametrize("name", NAMES)
def test_no_number_name_or_premise_can_be_changed(stored: Stored, name: str) -> None:
    """Steps one less or more, other sequents, another set or start, quantifiers swapped: the shapes no longer fit."""
    rows, make = stored[name], PROVED[name][0]
    tried = 0
    for place, row in enumerate(rows):
        if row.get("rule") not in (
            "close",
            "recur",
            "stay",
            "window",
            "replace",
            "chain",
            "both",
            "cells",
            "arrive",
            "constant",
        ):
            continue
        for key, value in row.items():
            others: list[Any] = []
            if isinstance(value, int):
                others = [value - 1, value + 1]
            elif key in ("start", "set"):
                others = ["init", "S77"] if value != "init" else ["S77", "S1"]
            elif key == "by":
                others = [value[::-1], [0] * len(value), value[:-1], [*value, 0], [99] * len(value)]
            elif key == "quantifier":
                others = ["E" if value == "A" else "A"]
            elif key in ("holds", "right", "left", "still"):
                others = ["true", "t > 99", f"!({value})"]
            elif key == "context":
                others = ["here | true", "AG here", "!here"]
            for other in others:
                if other == value:
                    continue
                mutant = copy.deepcopy(rows)
                mutant[place][key] = other
                tried += 1
                assert not accepted(mutant, make()), (row, key, other)
    assert tried >= 8


@pytest.mark.parametrize("name", ["recur", "close"])
@pytest.mark.parametrize(
    "other",
    [
        "AG AF t >= 19.5",
        "AG t >= 17",
        "AG EF high & AF AG t >= 17",
        "EG low",
    ],
)
def test_nothing_else_is_claimed(stored: Stored, name: str, other: str) -> None:
    mutant = copy.deepcopy(stored[name])
    mutant[0]["claim"]["formula"] = other
    assert not accepted(mutant, PROVED[name][0]())


def test_sets_cannot_be_widened_or_moved(stored: Stored) -> None:
    rows = stored["close"]
    for text in ("true", "t > 16", "t >= 10 & t <= 40", "t > 14", "false", "AX t > 15"):
        mutant = copy.deepcopy(rows)
        mutant[1]["sets"] = [[name, text] for name, _ in mutant[1]["sets"]]
        assert not accepted(mutant, loops.thermostat()), text


def test_it_is_about_its_own_system(stored: Stored) -> None:
    assert not accepted(stored["noise"], loops.thermostat(Fraction(5, 8)))
    assert not accepted(stored["noise"], loops.thermostat())
    assert not accepted(stored["close"], loops.thermostat(HALF))


@pytest.mark.parametrize("name", NAMES)
def test_lines_cannot_be_left_out(stored: Stored, name: str) -> None:
    rows = stored[name]
    for place in range(1, len(rows), 1 if len(rows) < 200 else 37):
        mutant = [row for number, row in enumerate(rows) if number != place]
        mutant[-1] = {**mutant[-1], "lines": len(mutant) - 1} if mutant[-1]["rule"] == "end" else mutant[-1]
        assert not accepted(mutant, PROVED[name][0]()), (name, rows[place])


def test_without_networks_both_arithmetics_are_the_same(stored: Stored) -> None:
    rows = copy.deepcopy(stored["smooth"])
    assert any(row.get("rule") == "bounded" and row["proof"] == "flowpipes" for row in rows)
    rows[0]["claim"]["semantics"] = "float32"
    assert accepted(rows, loops.smooth())


def stated(rows: list[dict[str, Any]]) -> dict[str, Any]:
    (line,) = (row for row in rows if row.get("rule") == "cells")
    return line


@pytest.mark.parametrize(("name", "count"), some_slow([("cells", 7), ("cells", 20), ("cells, noise", 20)], [0]))
def test_cells_show_nothing_false(stored: Stored, name: str, count: int) -> None:
    """Whatever levels, edges and premises are said of a property that does not hold."""
    rng, rows, make = Random(7), stored[name], PROVED[name][0]
    for text in ("EG EF t >= 40", "EG EF t <= 5", "AG EG low", "EG AF t >= 19", "AF EG low"):
        for _ in range(count):
            mutant = copy.deepcopy(rows)
            line = stated(mutant)
            mutant[0]["claim"]["formula"] = line["holds"] = text
            if rng.random() < 0.5:
                line["levels"] = [[rng.choice((0, 1, n)) for n in row] for row in line["levels"]]
            if rng.random() < 0.5:
                line["leads"] = [[n for n in row if rng.random() < 0.5] for row in line["leads"]]
            if rng.random() < 0.3:
                line["first"] = []
            line["by"] = [rng.choice(line["by"]) if rng.random() < 0.2 else n for n in line["by"]]
            assert not accepted(mutant, make()), line


@pytest.mark.parametrize("name", some_slow(CELLS, [0]))
def test_cells_that_are_needed_cannot_be_left_out(stored: Stored, name: str) -> None:
    rows, make = stored[name], PROVED[name][0]
    line = stated(rows)
    for place in range(len(line["sets"])):
        mutant = copy.deepcopy(rows)
        stated(mutant)["levels"][place] = [0] * len(line["levels"][place])
        assert not accepted(mutant, make()), place
    for change in ({"first": []}, {"sets": line["sets"][::-1]}, {"start": line["sets"][0]}, {"by": line["by"][::-1]}):
        mutant = copy.deepcopy(rows)
        stated(mutant).update(change)
        assert not accepted(mutant, make()), change
    for place, (_, text) in enumerate(rows[1]["sets"]):
        mutant = copy.deepcopy(rows)
        mutant[1]["sets"][place][1] = "t >= -50"
        assert not accepted(mutant, make()), text
