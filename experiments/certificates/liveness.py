"""Do lies get through? ``python -m experiments.certificates.liveness [--count N] [--seed N]``.

Certificates of LTL with one change each: weights, width, neurons, what falls, edges and labels of the automaton, lines,
proofs, and the claim itself: netlist, formula. The checker must refuse each, or what it claims must still be true:
the bounded search for a lasso and simulation must not refute it (`tests/checker` compares with explicit search).
Prints what became of each kind; exit status 1 where a false claim was accepted.
"""

from __future__ import annotations

import argparse
import copy
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from venmas import verify
from venmas.checker.file import check_claim, opened
from venmas.checker.format.json_lines import json_lines
from venmas.errors import InputError
from venmas.formats.btor2.reader import parse_btor2
from venmas.model.circuit.nodes import Circuit

Lines = list[dict[str, Any]]
PROOFS = ("enumerate", "rup", "solver")
Mutation = Callable[[Lines, Random], None]


def stored(circuit: Circuit, text: str, folder: Path, seconds: float = 10.0) -> Lines | None:
    """The lines of the certificate of a property; None where it was not proved."""
    path = folder / "c.gz"
    done = verify(circuit, text, timeout=seconds, certificate=path)
    if not done.satisfied or done.certificate is None:
        return None
    return [dict(line) for line in json_lines(path)]


def accepts(lines: Lines) -> bool:
    """Does the checker accept these lines?"""
    try:
        return not check_claim(*opened(lines)).solvers()
    except InputError:
        return False


def _of(lines: Lines, rule: str, rng: Random) -> dict[str, Any]:
    found = [line for line in lines if line.get("rule") == rule]
    if not found:
        raise LookupError(rule)
    return rng.choice(found)


def _entry(values: list[Any], rng: Random) -> int:
    if not values:
        raise LookupError
    return rng.randrange(len(values))


def _weight(lines: Lines, rng: Random) -> None:
    row = rng.choice(_of(lines, "rank", rng)["weights"])
    at = _entry(row, rng)
    row[at] = rng.choice([-row[at], row[at] + 1, row[at] - 1, 0])


def _width(lines: Lines, rng: Random) -> None:
    _of(lines, "rank", rng)["width"] -= 1


def _strict(lines: Lines, rng: Random) -> None:
    rank = _of(lines, "rank", rng)
    rest = [edge for edge in rank["edges"] if edge not in rank["strict"]]
    if rest and rng.random() < 0.6:
        rank["strict"].append(rng.choice(rest))
    else:
        rank["strict"].pop(_entry(rank["strict"], rng))


def _rank_edge(lines: Lines, rng: Random) -> None:
    rank = _of(lines, "rank", rng)
    gone = rank["edges"].pop(_entry(rank["edges"], rng))
    rank["strict"] = [edge for edge in rank["strict"] if edge != gone]
    at = next(i for i in range(lines.index(rank) + 1, len(lines)) if lines[i]["rule"] in PROOFS)
    del lines[at]
    lines[-1]["lines"] -= 1


def _automaton_edge(lines: Lines, rng: Random) -> None:
    """An edge is left out, with all that is said of it: what is left is a smaller proof of its own."""
    edges = lines[1]["edges"]
    gone = _entry(edges, rng)
    del edges[gone]
    kept: Lines = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.get("rule") != "rank":
            kept.append(line)
            continue
        proofs = lines[at : at + len(line["edges"])]
        at += len(proofs)
        pairs = [(e, p) for e, p in zip(line["edges"], proofs, strict=True) if e != gone]
        moved = {e: e - (e > gone) for e, _ in pairs}
        if pairs:
            line["edges"], line["strict"] = list(moved.values()), [moved[e] for e in line["strict"] if e in moved]
            kept += [line, *(p for _, p in pairs)]
    lines[:] = kept
    lines[-1]["lines"] = len(lines) - 1


def _label(lines: Lines, rng: Random) -> None:
    """A guard asks for more, or for the opposite; a mark, or the end of an edge, is another."""
    edge, atoms = rng.choice(lines[1]["edges"]), len(lines[1]["atoms"])
    bit = 1 << rng.randrange(max(1, atoms))
    what = rng.randrange(4)
    if what == 0:
        edge[1] ^= bit
        edge[2] &= edge[1]
    elif what == 1:
        edge[1], edge[2] = edge[1] | bit, edge[2] ^ bit
    elif what == 2:
        edge[3] = rng.randrange(lines[1]["states"])
    else:
        edge[4] ^= 1 << rng.randrange(max(1, lines[1]["marks"]))


def _clause(lines: Lines, rng: Random) -> None:
    clauses = _of(lines, "rup", rng)["clauses"]
    at = _entry(clauses, rng)
    if rng.random() < 0.5:
        del clauses[at : at + rng.choice([1, len(clauses)])]
    elif clauses[at]:
        place = rng.randrange(len(clauses[at]))
        clauses[at][place] = -clauses[at][place]


def _proof(lines: Lines, rng: Random) -> None:
    at = rng.choice([at for at, line in enumerate(lines) if line.get("rule") in PROOFS])
    proof: dict[str, Any] = rng.choice(
        [{"rule": "rup", "clauses": []}, {"rule": "enumerate", "bits": rng.randrange(2)}]
    )
    lines[at] = {**proof, "taken": lines[at]["taken"]}
    if proof["rule"] == "rup" and rng.random() < 0.5:
        lines[at]["clauses"] = [[]]


def _line(lines: Lines, rng: Random) -> None:
    at = rng.randrange(1, len(lines) - 1)
    if rng.random() < 0.5:
        del lines[at]
        lines[-1]["lines"] -= 1
    else:
        other = rng.randrange(1, len(lines) - 1)
        lines[at], lines[other] = lines[other], lines[at]


_SWAPS = {"add": "sub", "sub": "add", "and": "or", "or": "and", "eq": "neq", "neq": "eq", "ult": "ulte", "ugt": "ult"}
_SWAPS |= {"xor": "and", "not": "inc", "ulte": "ult", "ugte": "ugt", "zero": "one", "one": "zero", "slt": "ult"}


def _text_changed(text: str, rng: Random) -> str:
    """A netlist with another operator, constant, operand or sign."""
    rows = text.splitlines()
    places = [at for at, row in enumerate(rows) if row.split()[1:2] != ["sort"]]
    if not places:
        raise LookupError
    at = rng.choice(places)
    words = rows[at].split()
    if words[1] in _SWAPS and rng.random() < 0.5:
        words[1] = _SWAPS[words[1]]
    elif words[1] in ("constd", "consth") and words[3].isdigit():
        words[3] = str(max(0, int(words[3]) + rng.choice([-1, 1])))
    else:
        place = rng.randrange(2 if words[1] == "output" else min(3, len(words) - 1), len(words))
        if re.fullmatch(r"-?\d+", words[place]):
            sign = f"-{words[place]}".replace("--", "")
            words[place] = rng.choice([sign, str(rng.randrange(1, at + 2))])
    rows[at] = " ".join(words)
    return "\n".join(rows) + "\n"


def _neurons(lines: Lines, rng: Random) -> None:
    rank = _of(lines, "rank", rng)
    rank["neurons"] = _text_changed(rank["neurons"], rng)


def _netlist(lines: Lines, rng: Random) -> None:
    lines[0]["subject"]["netlist"] = _text_changed(lines[0]["subject"]["netlist"], rng)


def _formula(lines: Lines, rng: Random) -> None:
    text = lines[0]["claim"]["formula"]
    swaps = [("G F", "F G"), ("F G", "G F"), ("!", ""), ("->", "<->"), ("->", "&"), (" U ", " R "), ("&", "|")]
    swaps += [("F ", "G "), ("G ", "F "), ("X ", ""), ("==", "!="), ("| ", "& ")]
    usable = [(old, new) for old, new in swaps if old in text]
    lines[0]["claim"]["formula"] = text.replace(*rng.choice(usable), 1) if usable else f"G ({text})"


MUTATIONS: dict[str, Mutation] = {
    "weight": _weight,
    "width": _width,
    "falls": _strict,
    "edge of a rank left out": _rank_edge,
    "edge of the automaton left out": _automaton_edge,
    "guard or mark": _label,
    "neurons": _neurons,
    "clause": _clause,
    "another proof": _proof,
    "line": _line,
    "netlist": _netlist,
    "formula": _formula,
}
"""By what is changed; the last two change the claim."""


def mutants(lines: Lines, rng: Random, count: int) -> Iterator[tuple[str, Lines]]:
    """So many certificates with one change each, and its kind; kinds in turns."""
    kinds = list(MUTATIONS)
    made = tries = 0
    while made < count and tries < 20 * count:
        kind, changed = kinds[tries % len(kinds)], copy.deepcopy(lines)
        tries += 1
        try:
            MUTATIONS[kind](changed, rng)
        except LookupError:
            continue
        if changed != lines:
            made += 1
            yield kind, changed


def claim(lines: Lines) -> tuple[Circuit, str]:
    """The netlist and the formula of a header. Raises `InputError`."""
    return parse_btor2(lines[0]["subject"]["netlist"]), lines[0]["claim"]["formula"]


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.certificates.liveness", description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("netlists", nargs="*", type=Path, help="with --property; designs of VenMAS's own otherwise")
    parser.add_argument("--property", action="append", default=[])
    args = parser.parse_args(arguments)
    rng, refused, accepted, wrong = Random(args.seed), Counter[str](), Counter[str](), []
    given = [(path.read_text(), text) for path, text in zip(args.netlists, args.property, strict=True)] or OWN
    with tempfile.TemporaryDirectory() as folder:
        for netlist, text in given:
            lines = stored(parse_btor2(netlist), text, Path(folder))
            if lines is None or not accepts(lines):
                raise SystemExit(f"{text} was not proved, or its certificate is not accepted as it is")
            for kind, changed in mutants(lines, rng, -(-args.count // len(given))):
                if not accepts(changed):
                    refused[kind] += 1
                    continue
                accepted[kind] += 1
                circuit, formula = claim(changed)
                if verify(circuit, formula, timeout=10).violated:
                    wrong.append((kind, formula))
    print("| changed | refused | accepted, and true |\n|---|---|---|")
    for kind in MUTATIONS:
        print(f"| {kind} | {refused[kind]} | {accepted[kind]} |")
    print(f"{refused.total()} refused, {accepted.total()} accepted, of these false: {len(wrong)} {wrong or ''}")
    return int(bool(wrong))


OWN = [
    (
        # a counter that stops at 12 until it is cleared
        "1 sort bitvec 1\n2 sort bitvec 4\n3 input 1 clear\n4 state 2 n\n5 one 2\n6 zero 2\n7 constd 2 12\n"
        "8 ult 1 4 7\n9 add 2 4 5\n10 ite 2 8 9 7\n11 ite 2 3 6 10\n12 next 2 4 11\n13 eq 1 4 7\n14 output 13 done\n",
        "F G !clear -> G F done",
    ),
    (
        # two phases, the second of 40 steps
        "1 sort bitvec 1\n2 sort bitvec 8\n3 input 1 rst\n4 state 2 cnt\n5 state 1 phase\n6 one 2\n7 zero 2\n"
        "8 constd 2 40\n9 ult 1 4 8\n10 add 2 4 6\n11 ite 2 9 10 7\n12 ite 2 3 7 11\n13 next 2 4 12\n14 not 1 9\n"
        "15 xor 1 5 14\n16 zero 1\n17 ite 1 3 16 15\n18 next 1 5 17\n",
        "F G !rst -> G F (phase & X !phase)",
    ),
    (
        # a counter of 20 bits that begins again at 600000; its proof is not an enumeration
        "1 sort bitvec 1\n2 sort bitvec 20\n3 input 1 rst\n4 state 2 cnt\n5 one 2\n6 zero 2\n7 constd 2 600000\n"
        "8 ult 1 4 7\n9 add 2 4 5\n10 ite 2 8 9 6\n11 ite 2 3 6 10\n12 next 2 4 11\n13 eq 1 4 6\n14 output 13 begun\n",
        "F G !rst -> G F begun",
    ),
]
"""Netlists and properties that they have."""


if __name__ == "__main__":
    raise SystemExit(main())
