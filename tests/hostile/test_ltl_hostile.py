"""Formulas and automata that are too deep, too long or exponential: an answer or one message, within 10 s and 1 GB."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.logic.automata.hoa_reader import read_hoa
from venmas.errors import VenmasError
from venmas.logic.automata import automaton_of
from venmas.logic.ltl_parser import parse_ltl

SECONDS, MEGABYTES = 10, 1024

FORMULAS = {
    "not": "!" * 100_000 + "a",
    "next": "X " * 70_000 + "a",
    "not next": "!X " * 45_000 + "a",
    "one word": "XFG" * 49_000 + "a",
    "brackets": "(" * 70_000 + "a" + ")" * 70_000,
    "until, right": "a U " * 30_000 + "b",
    "until, left": "(" * 20_000 + "a" + " U b)" * 20_000,
    "until of next": "X" * 5000 + "a U " + "X" * 5000 + "b",
    "three untils": "a U (b U (c U " * 2000 + "d" + "))" * 2000,
    "implications": "a -> " * 25_000 + "b",
    "equivalences": " <-> ".join(f"a{i}" for i in range(30)),
    "equivalences of untils": " <-> ".join(f"(a{i} U b{i})" for i in range(12)),
    "two of one form": " | ".join("a U (b U (" * 300 + f"c{i}" + "))" * 300 for i in range(2)),
    "long conjunction": "&".join(f"a{i}" for i in range(20_000)),
    "deep conjunction": "".join(f"a{i}&(" for i in range(9000)) + "b" + ")" * 9000,
    "conjunction and next": "".join(f"(a{i % 7}&(b|X(" for i in range(9000)) + "b" + ")))" * 9000,
    "many steps": " | ".join(f"X{'X' * i} a" for i in range(500)),
    "responses": "!(" + " | ".join(f"F(r{i} & G !g{i})" for i in range(9)) + ")",
    "clauses": "G(" + " & ".join(f"(a{i} | X b{i} | c{i})" for i in range(25)) + ")",
    "again and again": " & ".join(f"G F a{i}" for i in range(14)),
    "sum": "G(" + "+".join("x" for _ in range(60_000)) + " > 3)",
}


def hoa(label: str = "0", more: str = "", names: int = 3, body: str = "") -> str:
    listed = " ".join(f'"p{i}"' for i in range(names))
    body = body or f"State: 0 [{label}] 0 {{0}}"
    return f"HOA: v1\nStart: 0\nAP: {names} {listed}\nAcceptance: 1 Inf(0)\n{more}\n--BODY--\n{body}\n--END--"


AUTOMATA = {
    "not": hoa("!" * 140_000 + "0"),
    "brackets": hoa("(" * 70_000 + "0" + ")" * 70_000),
    "conjunction": hoa("&".join("0" for _ in range(70_000))),
    "disjunction": hoa("|".join("0&!1" for _ in range(25_000))),
    "clauses": hoa("&".join(f"({2 * i}|{2 * i + 1})" for i in range(30)), names=60),
    "aliases": hoa("@a60", "Alias: @a0 0|1\n" + "\n".join(f"Alias: @a{i} @a{i - 1}&!@a{i - 1}" for i in range(1, 61))),
    "states": hoa(body="\n".join(f"State: {i} [0] {(i + 1) % 2000} [1] {i * 7 % 2000} {{0}}" for i in range(2000))),
    "comment": "HOA: v1 /*" + "*" * 140_000,
    "backslashes": 'HOA: v1 name: "' + "\\" * 140_000,
    "number": hoa(more="States: " + "9" * 5000),
    "bytes": "\x00\xff" * 70_000,
}

QUICK = (
    *("formula " + name for name in ("one word", "until of next", "two of one form")),
    *("automaton " + name for name in ("aliases", "states", "comment", "backslashes", "number", "bytes")),
)

CASES = [("formula", name) for name in FORMULAS] + [("automaton", name) for name in AUTOMATA]


@pytest.mark.parametrize(
    ("kind", "name"), [pytest.param(*case, marks=() if " ".join(case) in QUICK else pytest.mark.slow) for case in CASES]
)
def test_hostile_texts_end_in_time(kind: str, name: str) -> None:
    began, told = time.process_time(), ""
    try:
        _ = automaton_of(parse_ltl(FORMULAS[name])) if kind == "formula" else read_hoa(AUTOMATA[name])
    except VenmasError as error:
        told = str(error)
    assert len(told) < 1000
    assert time.process_time() - began < SECONDS


@pytest.mark.slow
def test_hostile_texts_end_in_memory() -> None:
    script = (
        "import resource, tests.hostile.test_ltl_hostile as t\n"
        "for kind, name in t.CASES: t.test_hostile_texts_end_in_time(kind, name)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < MEGABYTES
