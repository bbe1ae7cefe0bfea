"""Certificates with tables: what they are made of in these tests, single changes to them, and rows that are false."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Any

from tests.checker.graphs import mixed, questions
from tests.checker.plain_table import PlainTable, Row
from tests.checker.proofs import Certified, Line
from venmas.answer import IncompleteError
from venmas.checker.exact.cell import fraction
from venmas.checker.format.rule import RULES
from venmas.checker.goals.check import claim
from venmas.checker.goals.lemmas import Book
from venmas.checker.goals.rule import Place
from venmas.checker.goals.rules import Frame, Lemma
from venmas.errors import ModelError
from venmas.logic import Bounded, Formula, parse
from venmas.model import System, satisfies
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph.graph import Graph
from venmas.procedures.reachability.proof.tables import GraphTables
from venmas.question import Question


def table_proof(system: System, formula: Formula, inside: bool = False) -> Certified | None:
    """The certificate that a reach graph of few passes gives in tables; None where it gives none, or no table."""
    lines: list[Line] = []
    for box in (False, True)[inside:]:
        question = Question(system, Bounded(formula), inside=box, certified=True)
        try:
            graph = Graph(Space(system), question.target, lambda: None, keep=True)
            while not graph.refine():
                if graph.counts.passes >= 4 or graph.counts.pieces > 500:
                    return None
            if box or not graph.may_leave_box:
                lines += [rule.to_json() for rule in GraphTables(graph).lines(question, lambda: None)]
                tables = any(line["rule"] == "table" for line in lines)
                end = {"rule": "end", "lines": len(lines) + 1}
                return Certified(system, formula, box, (*lines, end)) if tables else None
        except (IncompleteError, UnsuitableError, ModelError, OverflowError):
            lines.clear()
    return None


@cache
def table_certificates() -> dict[str, Certified]:
    """The questions of tests/checker/graphs.py that tables show, with their proofs."""
    system = mixed()
    made: dict[str, Certified | None] = {
        text: table_proof(system, parse(text, system.vocabulary)) for text in ("AX x <= 3", "AX^2 y <= 2")
    }
    for name, asked, formula, semantics, inside in questions():
        if semantics == "real":
            made[name] = table_proof(asked, formula, inside)
    return {name: certified for name, certified in made.items() if certified is not None}


def opened(certified: Certified) -> Iterator[tuple[int, PlainTable]]:
    """The tables of a certificate, by line, over what the lines before each state."""
    system = certified.system
    book = Book(system, claim(system, certified.formula, certified.inside), "real")
    rows: dict[int, tuple[int, list[Row]]] = {}
    for number, line in enumerate(certified.lines, 1):
        at = Place(number, book)
        match RULES[line["rule"]].read(line) if line["rule"] in ("frame", "lemma") else None:
            case Frame() as frame:
                frame.apply(at)
            case Lemma() as stated:
                lemma, _ = stated.apply(at)
                box = ([int(fraction(v)) for v in end] for end in (lemma.low, lemma.high))
                rows[number] = stated.frame, [Row(lemma.integers, *box, frozenset([lemma.formula]))]
        if line["rule"] == "table":
            table = PlainTable(book, line, rows, certified.inside)
            rows[number] = line["frame"], table.rows
            yield number, table


def false_row(certified: Certified, rng: Random, most: int = 6) -> str | None:
    """A row of these tables that an exact run contradicts, told by corners and points of its box."""
    system = certified.system
    for number, table in opened(certified):
        for place in rng.sample(range(len(table.rows)), min(8, len(table.rows))):
            row = table.rows[place]
            points = list(product(*({a, b} for a, b in zip(row.low, row.high, strict=True))))[:4]
            pairs = list(zip(row.low, row.high, strict=True))
            points += [tuple(rng.randint(a, b) for a, b in pairs) for _ in range(most - len(points))]
            for y in points:
                x = [fraction(sum(c * v for c, v in zip(r, y, strict=True))) for r in table.matrix]
                reals, integers = iter(x), iter(row.integers)
                state: dict[str, Any] = {
                    n: next(integers) if d.integral else next(reals) for n, d in system.variables.items()
                }
                if any(not d.lower <= state[n] <= d.upper for n, d in system.variables.items()):
                    continue
                try:
                    if any(satisfies(system, f, state) for f in row.says):
                        return f"line {number}, row {place}: {state}"
                except ModelError:
                    continue  # a run from here leaves the box: the row says nothing that counts
    return None


# -- single changes ----------------------------------------------------------------------------------------------------

KINDS = ("low", "side", "target", "dropped", "outcome", "says", "where", "split", "kind", "frame", "to", "formula",
         "cover", "choice", "entry", "row", "moved")  # fmt: skip


def another_table(rng: Random, certified: Certified, kind: str) -> Certified | None:
    """One change of a kind to the lines of a certificate with tables; None where it made none."""
    lines = [copy(line) for line in certified.lines]
    rule = {"entry": "frame", "row": "listed"}.get(kind, "table")
    places = [i for i, line in enumerate(lines) if line["rule"] == rule]
    if places:
        _change(rng, kind, lines[rng.choice(places)])
    return certified.but(lines=tuple(lines)) if tuple(lines) != certified.lines else None


def copy(value: Any) -> Any:
    """A copy of lists and objects all the way down."""
    if isinstance(value, dict):
        return {k: copy(v) for k, v in value.items()}
    return [copy(v) for v in value] if isinstance(value, list) else value


def _flat(value: list[Any]) -> list[tuple[list[Any], int]]:
    """Every number in nested lists, as a list and a place."""
    found = []
    for i, part in enumerate(value):
        found += _flat(part) if isinstance(part, list) else [(value, i)]
    return found


def _change(rng: Random, kind: str, line: Line) -> None:
    match kind:
        case "low" | "side":
            step = rng.choice((-1, 1, -1000, 1000, -(2**20), 2**20, -(2**32), 2**32))
            _move(rng, line[kind], lambda v: v + step)
        case "target":
            _move(rng, [rows for _, rows, _ in line["ahead"]], lambda v: v + rng.choice((-1, 1, 2, -2)))
        case "says" | "where" | "kind":
            _move(rng, line[kind], lambda v: v + rng.choice((-1, 1)))
        case "split":
            _move(rng, line["splits"], lambda v: rng.choice((0, 1, 2)))
        case "frame":
            line["frame"] += rng.choice((-1, 1))
        case "to" | "formula":
            _move(rng, line["to"] if kind == "to" else line["formulas"], lambda v: v + rng.choice((-1, 1)))
        case "cover":
            for ahead in line["ahead"]:
                for cover in ahead[2]:
                    if cover:
                        cover.pop(rng.randrange(len(cover)))
        case "outcome":
            _move(rng, [c for _, choices in line["kinds"] for c in choices], lambda v: v ^ (1 << rng.randint(0, 2)))
        case "choice":
            chosen = [choices for _, choices in line["kinds"] if choices]
            if chosen:
                one = rng.choice(chosen)
                one.pop(rng.randrange(len(one)))
        case "dropped":
            _dropped(rng, line)
        case "entry":
            row = rng.choice(line["matrix"])
            row[rng.randrange(len(row))] = rng.choice(("0", "1", "2", "1/3", "-1"))
        case "row":
            line[rng.choice(("row", "table"))] += rng.choice((-1, 1))
        case "moved":
            step = rng.choice((-(2**25), 2**25, 7))
            column = rng.choice(line["low"])
            column[:] = [v + step for v in column]


def _move(rng: Random, numbers: list[Any], change: Any) -> None:
    places = _flat(numbers)
    if places:
        at, i = rng.choice(places)
        at[i] = change(at[i])


def _dropped(rng: Random, line: Line) -> None:
    """A cell goes, with all that is said of it."""
    levels, cells = line["splits"], line["kind"]
    leaves = [(i, j) for i, level in enumerate(levels) for j, code in enumerate(level) if code == 0]
    if not cells:
        return
    at = rng.randrange(len(cells))
    i, j = leaves[at]
    del levels[i][j]
    kind = cells.pop(at)
    if kind:
        place = sum(k == kind for k in cells[:at])
        for _, rows, _ in line["ahead"]:
            for move in rows[kind - 1]:
                del move[place]
