"""Lassos of published designs, followed by an interpreter of BTOR2 that shares nothing with the one that found them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from btor2_runs import Netlist

from venmas import verify
from venmas.formats.btor2.reader import read_btor2
from venmas.logic.lassos import Lasso, holds
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import leaves
from venmas.logic.printing import to_text
from venmas.model.witness.lasso import Run


def followed(text: str, run: Run) -> list[dict[str, int]]:
    """The named signals of each step; inputs without names are 0, as a simulator would have them."""
    netlist = Netlist(text)
    number = {name: node for name, node in netlist.names.items() if netlist.lines[node][0] in ("input", "state")}
    seen = []
    for at, (state, inputs) in enumerate(zip(run.states, run.inputs, strict=True)):
        known = {number[name]: value for name, value in {**state, **inputs}.items() if name in number}
        values = netlist.values(known)
        after = run.states[at + 1 if at + 1 < len(run.states) else run.back]
        for name, value in after.items():
            assert values[netlist.next[number[name]]] == value, (at, name)
        seen.append({name: values[node] for name, node in netlist.names.items()})
    return seen


def test_published_violations_are_followed_by_another_interpreter(data_dir: Path) -> None:
    count = 0
    for row in csv.DictReader((data_dir / "ltl" / "properties_extra.csv").open()):
        if row["expected"] != "violated":
            continue
        path = data_dir / "ltl" / "btor24" / f"{row['family']}_{row['index']}.btor2"
        answer, formula = verify(read_btor2(path), row["ltl"], timeout=60), parse_ltl(row["ltl"])
        assert answer.violated and answer.lasso is not None, row
        rows = followed(path.read_text(), answer.lasso)
        truth = [{leaf for leaf in leaves(formula) if told(to_text(leaf), signals)} for signals in rows]
        back = answer.lasso.back
        assert not holds(formula, Lasso(tuple(truth[:back]), tuple(truth[back:]))), row
        count += 1
    assert count == 5


def told(text: str, signals: dict[str, int]) -> bool:
    """A condition, by a reader of its own: a name, or a name compared with a number."""
    if match := re.fullmatch(r"([\w.]+) == (\d+)", text):
        return signals[match[1]] == int(match[2])
    return bool(signals[text])
