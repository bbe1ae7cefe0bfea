"""Violations as waveforms, and as questions that lines of netlists ask."""

from __future__ import annotations

import re

import pytest

from venmas import verify
from venmas.errors import CircuitError
from venmas.formats.btor2.reader import parse_btor2
from venmas.formats.vcd import to_vcd
from venmas.model.circuit.properties import bad_asked, justice_asked
from venmas.model.witness.lasso import Run

COUNTER = """
1 sort bitvec 1
2 sort bitvec 4
3 input 1 stop
4 state 2 n
5 one 2
6 zero 2
7 add 2 4 5
8 ite 2 3 6 7
9 next 2 4 8
10 constd 2 9
11 eq 1 4 10
12 eq 1 4 6
"""


def violation(formula: str) -> Run:
    answer = verify(parse_btor2(COUNTER + "13 output 11 nine\n"), formula, timeout=20)
    assert answer.violated and answer.lasso is not None
    return answer.lasso


def read_vcd(text: str) -> tuple[dict[str, int], list[dict[str, int]]]:
    """A strict reader of IEEE 1364, clause 18: widths of signals, and their values at each time but the last."""
    head, _, body = text.partition("$enddefinitions $end\n")
    widths, names, scope = dict[str, int](), dict[str, str](), list[str]()
    commands = re.findall(r"\$(\w+)\s+(.*?)\s*\$end\n", head)
    assert "".join(f"${a} {b} $end\n" if b else f"${a} $end\n" for a, b in commands) == head
    for command, rest in commands:
        if command == "scope":
            scope.append(rest.split()[1])
        elif command == "upscope":
            scope.pop()
        elif command == "var":
            kind, width, code, name = rest.split()
            assert kind in ("wire", "integer") and code not in names
            assert all("!" <= c <= "~" for c in code + name)
            names[code] = ".".join([*scope, name])
            widths[names[code]] = int(width)
        else:
            assert command in ("comment", "timescale")
    assert not scope and len(set(names.values())) == len(names)
    rows: list[dict[str, int]] = []
    now, last = dict[str, int](), -1
    for line in body.splitlines():
        if line.startswith("#"):
            assert int(line[1:]) > last
            if last >= 0:
                assert set(now) == set(widths)
                rows.append(dict(now))
            last = int(line[1:])
        elif line not in ("$dumpvars", "$end"):
            digits, code = line[1:].split() if line[0] == "b" else (line[0], line[1:])
            assert set(digits) <= {"0", "1"} and len(digits) <= widths[names[code]]
            now[names[code]] = int(digits, 2)
    return widths, rows


@pytest.mark.parametrize("formula", ["G F nine", "F G !stop -> G F (nine & X nine)", "n != 12", "G n + 1 < 16"])
def test_waveforms_hold_the_run(formula: str) -> None:
    run = violation(formula)
    widths, rows = read_vcd(to_vcd(run, "a design"))
    assert widths["registers.n"] == 4 and widths["lasso.loop"] == 1
    order = [*range(len(run.states)), *range(run.back, len(run.states))]
    assert [row["lasso.step"] for row in rows] == order
    for row, at in zip(rows, order, strict=True):
        assert row["registers.n"] == run.states[at]["n"]
        assert row.get("inputs.stop") == run.inputs[at].get("stop")
        assert row["lasso.loop"] == (at >= run.back)
        assert [row[f"property.{name.replace(' ', '')}"] for name in run.conditions[at]] == list(
            run.conditions[at].values()
        )


def test_names_in_waveforms_are_words_of_their_own() -> None:
    names = ["a b", "ab", "$end", "ü", "#7", "x" * 3000, "_ab"]
    row = {name: at for at, name in enumerate(names)}
    run = Run((row, row), 0, ({}, {}), (), ({}, {}), ({}, {}), dict.fromkeys(names, 3))
    widths, rows = read_vcd(to_vcd(run, "$end \n $var"))
    assert len(widths) == len(names) + 2
    values = [value for name, value in rows[0].items() if name.startswith("registers.")]
    assert values == list(row.values())


def test_many_signals_have_codes_of_their_own() -> None:
    row = {f"s{at}": at % 2 for at in range(10_000)}
    widths, rows = read_vcd(to_vcd(Run((row,), 0, ({},), (), ({},), ({},), dict.fromkeys(row, 1))))
    assert len(widths) == 10_002
    assert rows[0]["registers.s9999"] == 1


def test_lines_of_netlists_are_questions() -> None:
    text = COUNTER + "13 bad 11\n14 justice 2 11 12\n15 justice 1 11 low\n16 fair -3\n17 justice 1 12\n"
    text = text.replace("15 justice 1 11 low\n", "15 justice 1 3\n")
    circuit = parse_btor2(text)
    asked, formula = bad_asked(circuit, 0)
    assert formula == "G !bad0"
    assert verify(asked, formula, timeout=20).violated
    for number in range(3):
        asked, formula, fair = justice_asked(circuit, number)
        answer = verify(asked, formula, timeout=20, fair=fair)
        assert answer.violated and verify(circuit, f"justice{number}", timeout=20).violated, number
    assert fair == ("fair0",)


def test_fair_lines_are_assumed_of_justice_only() -> None:
    """No run is at 0 for ever while it goes on again and again; a bad state is bad whatever comes after it."""
    text = COUNTER + "13 bad 3\n14 fair -3\n15 neq 1 4 6\n16 justice 1 -15\n"
    still = text.replace("8 ite 2 3 6 7", "8 ite 2 3 6 5")
    asked, formula, fair = justice_asked(parse_btor2(still), 0)
    assert verify(asked, formula, timeout=20, fair=fair).violated
    only = still.replace("14 fair -3", "14 fair 11")
    asked, formula, fair = justice_asked(parse_btor2(only), 0)
    assert verify(asked, formula, timeout=20, fair=fair).satisfied
    asked, formula = bad_asked(parse_btor2(only), 0)
    assert formula == "G !stop"
    assert verify(asked, formula, timeout=20).violated


def test_lines_that_are_not_there() -> None:
    circuit = parse_btor2(COUNTER + "13 bad 11\n")
    with pytest.raises(CircuitError, match="bad1: the netlist has bad lines 0 to 0"):
        bad_asked(circuit, 1)
    with pytest.raises(CircuitError, match="justice0: the netlist has no justice line"):
        justice_asked(circuit, 0)


def test_names_of_lines_do_not_take_those_of_signals() -> None:
    circuit = parse_btor2(COUNTER + "13 output 3 bad0\n14 bad 11\n")
    asked, formula = bad_asked(circuit, 0)
    assert formula == "G !bad0_"
    assert asked.names["bad0"] == circuit.names["bad0"] != asked.names["bad0_"]
