"""Mutants of derivations of LTL: none is accepted with a claim that is false, or that it does not show."""

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

from tests.checker.test_forever_mutants import accepted
from tests.procedures.forever import loops
from tests.procedures.forever_ltl.test_forever_ltl import valve
from venmas import System, verify
from venmas.logic import Deadlock
from venmas.procedures.forever_ltl.procedure import ForeverLtlSession

Rows = list[dict[str, Any]]
HALF = Fraction(1, 2)
PROVED: dict[str, tuple[Callable[[], System], str, Deadlock]] = {
    "soon": (loops.thermostat, "F low", "error"),
    "again": (loops.thermostat, "G F low", "error"),
    "last": (loops.thermostat, "F G warm", "error"),
    "noise": (lambda: loops.thermostat(HALF), "F G warm", "error"),
    "guards": (valve, "G F x >= 4", "error"),
    "ends": (lambda: valve(opens=False), "F x < 1", "stutter"),
    "smooth": (loops.smooth, "G F near", "error"),
}
FALSE = {
    loops.thermostat: ("G low", "F t >= 18.9", "G F high", "F G t >= 17", "X low", "low U t > 19", "false"),
    valve: ("G x >= 4", "F G x >= 4", "F x >= 7", "G F x < -1"),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    found = {}
    for name, (make, text, deadlock) in PROVED.items():
        path = tmp_path_factory.mktemp("forever") / "c.gz"
        with pytest.MonkeyPatch.context() as patch:  # a proof on cells, which may come first, has other lines
            patch.setattr(ForeverLtlSession, "_on_cells", lambda *_: "")
            assert verify(make(), text, deadlock=deadlock, timeout=120, certificate=path).satisfied
        found[name] = [json.loads(line) for line in gzip.decompress(Path(path).read_bytes()).splitlines()]
        assert accepted(found[name], make())
    return found


def test_false_claims_are_refused(stored: dict[str, Rows]) -> None:
    for name, (make, _, _) in PROVED.items():
        for text in FALSE.get(make, ()):
            mutant = copy.deepcopy(stored[name])
            mutant[0]["claim"]["formula"] = text
            assert not accepted(mutant, make()), (name, text)


def test_runs_that_end_are_no_runs_that_stay(stored: dict[str, Rows]) -> None:
    """What is shown where runs stay is not shown where they may not end; fairness leaves out runs, and adds none."""
    mutant = copy.deepcopy(stored["ends"])
    del mutant[0]["claim"]["deadlock"]
    assert not accepted(mutant, valve(opens=False))
    for name, (make, _, _) in PROVED.items():
        mutant = copy.deepcopy(stored[name])
        mutant[0]["claim"]["fair"] = ["true"]
        assert accepted(mutant, make()), name
        for key, value in (("inside", False), ("within", 3), ("semantics", "float32"), ("chosen", ["w"])):
            mutant = copy.deepcopy(stored[name])
            mutant[0]["claim"][key] = value
            assert not accepted(mutant, make()), (name, key)
        mutant = copy.deepcopy(stored[name])
        mutant[0]["claim"]["kind"] = "unbounded"
        assert not accepted(mutant, make()), name


def test_that_runs_go_on_is_part_of_it(stored: dict[str, Rows]) -> None:
    """The property of branching time alone is not enough: neither as its last line, nor as the one part of it."""
    for name in ("soon", "again", "last", "guards", "ends"):
        rows, make = stored[name], PROVED[name][0]
        (both,) = (i for i, row in enumerate(rows) if row.get("rule") == "both")
        for parts, by in (
            (rows[both]["parts"][1:], rows[both]["by"][1:]),
            (rows[both]["parts"][:1], rows[both]["by"][:1]),
            (["AG true", *rows[both]["parts"][1:]], rows[both]["by"]),
        ):
            if parts == rows[both]["parts"]:
                continue
            mutant = copy.deepcopy(rows)
            mutant[both] |= {"parts": parts, "by": by}
            assert not accepted(mutant, make()), (name, parts)
        ended = [*copy.deepcopy(rows[:both]), {"rule": "end", "lines": both}]
        assert not accepted(ended, make()), name


def test_random_mutants_claim_nothing_false(stored: dict[str, Rows]) -> None:
    """One change of a line, with a claim that is false: numbers, names, sets, texts, lines left out or put twice."""
    rng, tried = Random(4), 0
    for name in ("soon", "again", "last", "guards"):
        rows, make = stored[name], PROVED[name][0]
        lines = [i for i, row in enumerate(rows) if i and (row.get("by") is not None or row.get("rule") == "bounded")]
        for _ in range(60):
            mutant = copy.deepcopy(rows)
            mutant[0]["claim"]["formula"] = rng.choice(FALSE[make])
            at = rng.choice([1, *lines])
            if at == 1:
                mutant[1]["sets"] = [[n, rng.choice(("true", "false", text))] for n, text in mutant[1]["sets"]]
            else:
                key = rng.choice([key for key in mutant[at] if key != "rule"])
                mutant[at][key] = _changed(rng, mutant[at][key])
            tried += 1
            assert not accepted(mutant, make()), (name, mutant[0]["claim"], mutant[at])
    assert tried == 240


def _changed(rng: Random, value: Any) -> Any:
    if isinstance(value, int):
        return max(0, value + rng.choice((-1, 1)))
    if isinstance(value, list):
        return rng.choice((value[::-1], value[:-1], value[:1]))
    return rng.choice(("true", "init", "S1", "AG true", "A", "E", "here", f"({value}) | true", f"!({value})"))
