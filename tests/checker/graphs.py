"""Certificates that are graphs of regions: what they are made of in these tests, and single changes to their lines."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

from tests.checker.corpus import question
from tests.checker.proofs import Certified, Line, graph_proof
from tests.corpus.entries_more import CORPUS
from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build
from venmas.checker.exact.cell import fraction
from venmas.checker.format.rule import RULES
from venmas.checker.goals.check import claim
from venmas.checker.goals.lemmas import Book
from venmas.checker.goals.rule import Place
from venmas.checker.goals.rules import Frame, Lemma
from venmas.errors import ModelError
from venmas.logic import Formula, parse
from venmas.model import System, absolute, apply_network, argmax, load_scenario, maximum, satisfies, switch, where
from venmas.nn.network import relu_network

BUNDLED = (
    ("vcas", {"climb0": "-19.5"}, "AX^3 safe"),
    ("vcas", {"climb0": "-22.5"}, "AX^5 safe"),
    ("vcas", {"climb0": "-28.5"}, "!EX^2 (h > 95 & h < 98)"),
)
SEEDS = (1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 26)


def ladder() -> System:
    """Several integers, a reset, a turn: modes m and n, height x; guards that cut the region."""
    system = System("ladder")
    x, m, n = system.real("x", -8, 8), system.integer("m", 0, 2), system.integer("n", 0, 3)
    system.branch("half", x=x / 2 + m / 4, m=where(x >= 1, 1, m), n=switch(n, {0: 1, 1: 2, 2: 3, 3: 0}))
    system.branch("turn", x=-x, m=argmax([x, 1 - x, m]), n=0, when=(x <= 3) | (n == 1))
    system.initial(x >= -2, x <= 2, m <= 1, n == 0)
    return system


def open_case() -> System:
    """A condition that no cut along the axes decides: its case stays open in a proof."""
    system = System("open case")
    x, y = system.real("x", -2, 2), system.real("y", -2, 2)
    low = x + y <= 0
    system.branch("pull", x=where(low, x / 2, x / 4), y=where(low, y / 4, y / 2))
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    return system


def plane() -> System:
    """A network over a set in two dimensions, moved by a matrix."""
    system = System("plane")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    (a, b) = apply_network(
        relu_network([[[1.0, -1.0], [0.5, 1.0]], [[1.0, 0.0], [0.0, 1.0]]], [[0.0, 0.25], [0, 0]]), [x, y]
    )
    best = argmax([a, b])
    system.branch("turn", x=x / 2 + y / 2, y=y / 2 - x / 2 + switch(best, {0: 0, 1: Fraction(1, 8)}))
    system.branch("stay", x=x, y=y, when=absolute(x) >= 1)
    system.initial(x >= 1, x <= 1.125, y >= 0.5, y <= 0.625)
    return system


def mixed() -> System:
    """In one mode moves are affine, in another a maximum has to be enclosed: lemmas of their own beside tables."""
    system = System("mixed")
    x, y, m = system.real("x", -4, 4), system.real("y", -4, 4), system.integer("m", 0, 1)
    system.branch("pull", x=switch(m, {0: x / 2, 1: maximum(x, -4) / 2}), y=y / 4, m=where(x >= 1, 1, m))
    system.branch("swap", x=y, y=x, m=1 - m, when=x >= 1)
    system.initial(x >= -2, x <= 2, y >= -1, y <= 1.5, m == 0)
    return system


def leaving() -> System:
    """The box is left where enclosures say too little: the claim excludes it."""
    system = System("leaving")
    x = system.real("x", 0, 2)
    system.branch("down", x=x / 2)
    system.branch("up", x=x + 1, when=x <= 0.75)
    system.initial(x <= 0.5)
    return system


OWN = (
    (ladder, "AX^2 x <= 3", "real", False),
    (ladder, "!EX (x > 2 & m == 2) & AX AX (n <= 2 | x < 4)", "real", False),
    (open_case, "AX^2 (x <= 1 & y <= 1)", "real", False),
    (open_case, "AF[1,2] x <= 0.5", "real", False),
    (plane, "AX x <= 3 | EX x >= 4", "real", False),
    (plane, "A(y <= 3 U[0,1] x <= 1.5) & EX x <= 2.5", "real", False),
    (plane, "AX x <= 3", "float32", False),
    (leaving, "AX^2 x <= 1.75", "real", True),
)
"""System, formula, semantics, and whether the claim says of the box."""


def questions() -> Iterator[tuple[str, System, Formula, str, bool]]:
    """Name, system, formula, semantics, inside."""
    for made, text, semantics, inside in OWN:
        system = made()
        yield f"{system.name}: {text}, {semantics}", system, parse(text, system.vocabulary), semantics, inside
    for name, settings, text in BUNDLED:
        system = load_scenario(name).system(**settings)
        yield f"{name}: {text}", system, question(system, text), "real", False
    for entry in CORPUS:
        if entry.name.split("-")[0] in ("line", "halving", "exclusive", "overlap", "relu", "twins", "still", "vast"):
            system = entry.system()
            yield entry.name, system, parse(entry.formula, system.vocabulary), "real", False
    for seed in SEEDS:
        case = pwl_case(seed)
        yield f"pwl-{seed}", build(case.spec), case.formula, "real", False


@cache
def graph_certificates() -> dict[str, Certified]:
    """Every question that a graph of few passes shows, with its proof."""
    made = {name: graph_proof(s, f, semantics, inside) for name, s, f, semantics, inside in questions()}
    return {name: certified for name, certified in made.items() if certified is not None}


def false_lemma(certified: Certified, rng: Random, most: int = 6) -> str | None:
    """A lemma of these lines that an exact run contradicts, told by corners and points of its region."""
    system = certified.system
    book = Book(system, claim(system, certified.formula, certified.inside), certified.semantics)
    for number, line in enumerate(certified.lines, 1):
        at = Place(number, book)
        match RULES[line["rule"]].read(line) if line.get("rule") in ("frame", "lemma") else None:
            case Frame() as frame:
                frame.apply(at)
                continue
            case Lemma() as stated:
                lemma, goal = stated.apply(at)
            case _:
                continue
        cell = goal.world.cell
        points = list(product(*zip(cell.low, cell.high, strict=True)))[:4]
        points += [
            tuple(a + (b - a) * rng.randint(0, 16) / 16 for a, b in zip(cell.low, cell.high, strict=True))
            for _ in range(most - len(points))
        ]
        for point in points:
            state = {
                n: fraction(f[0] + sum(c * v for c, v in zip(f[1:], point, strict=True)))
                for n, f in goal.world.start.items()
            }
            inside = all(system.variables[n].lower <= v <= system.variables[n].upper for n, v in state.items())
            try:
                if inside and satisfies(system, lemma.formula, state):
                    return f"line {number}: {state} meets {lemma.formula}"
            except ModelError:
                continue  # a run from here leaves the box: the lemma says nothing that counts
    return None


# -- single changes ----------------------------------------------------------------------------------------------------

KINDS = (
    "box",
    "integers",
    "formula",
    "frame",
    "entry",
    "dropped",
    "within",
    "split",
    "case",
    "keep",
    "rule",
    "swapped",
)


def another_graph_line(rng: Random, certified: Certified) -> tuple[str, Certified]:
    """One change to the lines of a graph certificate; its name and the result, which differs."""
    while True:
        kind, lines = rng.choice(KINDS), [dict(line) for line in certified.lines]
        wanted = {"box": "lemma", "integers": "lemma", "formula": "lemma", "frame": "lemma", "entry": "frame"}
        rule = wanted.get(kind, kind)
        where_ = [i for i, line in enumerate(lines) if rule in ("dropped", "rule", "swapped", line["rule"])]
        if kind == "dropped":
            where_ = [i for i, line in enumerate(lines) if line["rule"] == "lemma"]
        if not where_:
            continue
        _CHANGES[kind](rng, lines, rng.choice(where_))
        if tuple(lines) != certified.lines:
            return kind, certified.but(lines=tuple(lines))


def _box(rng: Random, lines: list[Line], at: int) -> None:
    end = rng.choice(("low", "high"))
    box = list(lines[at][end])
    if box:
        i = rng.randrange(len(box))
        step = Fraction(rng.choice((-1, 1, -10, 10, -(2**20), 2**20, -(2**30), 2**30)), rng.choice((1, 1, 7)))
        box[i] = str(Fraction(box[i]) + step)
    lines[at][end] = box


def _integers(rng: Random, lines: list[Line], at: int) -> None:
    values = list(lines[at]["integers"])
    if values and rng.random() < 0.9:
        values[rng.randrange(len(values))] += rng.choice((-1, 1))
    else:
        values.append(0)
    lines[at]["integers"] = values


def _number(field: str, most: int):
    def change(rng: Random, lines: list[Line], at: int) -> None:
        lines[at][field] = rng.randint(-1, most)

    return change


def _entry(rng: Random, lines: list[Line], at: int) -> None:
    matrix = [list(row) for row in lines[at]["matrix"]]
    row = rng.choice(matrix)
    j = rng.randrange(len(row))
    row[j] = str(Fraction(row[j]) * rng.choice((0, -1, 2, Fraction(1, 2))) + rng.choice((0, 0, Fraction(1, 2**20))))
    lines[at]["matrix"] = matrix


def _dropped(rng: Random, lines: list[Line], at: int) -> None:
    """A lemma and its proof go; what names later lines is moved along, so that only this is wrong."""
    ends = ("frame", "lemma", "table", "region", "program", "end")
    after = next((i for i in range(at + 1, len(lines)) if lines[i]["rule"] in ends), len(lines))
    gone = after - at
    del lines[at:after]
    for line in lines:
        for field in ("lemma", "lines", "as"):
            if type(line.get(field)) is int and line[field] > at + 1:
                line[field] -= gone


def _within(rng: Random, lines: list[Line], at: int) -> None:
    known = [i for i, line in enumerate(lines, 1) if line["rule"] == "lemma"]
    lines[at]["lemma"] = rng.choice([*known, *known, at, at + 1, 0])


def _split(rng: Random, lines: list[Line], at: int) -> None:
    form = list(lines[at]["form"])
    j = rng.randrange(len(form))
    form[j] = str(Fraction(form[j]) * rng.choice((0, -1, 2)) + rng.choice((0, 1, -1)))
    lines[at]["form"] = form


def _rule(rng: Random, lines: list[Line], at: int) -> None:
    known = [i for i, line in enumerate(lines, 1) if line["rule"] == "lemma"]
    lines[at] = rng.choice(
        (
            {"rule": "expand"},
            {"rule": "keep", "at": rng.randint(0, 2)},
            {"rule": "case", "choice": rng.randint(0, 3)},
            {"rule": "within", "lemma": rng.choice(known)},
            {"rule": "same", "as": rng.randint(1, len(lines))},
            {"rule": "refute", "weights": []},
        )
    )


def _swapped(rng: Random, lines: list[Line], at: int) -> None:
    other = rng.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


_CHANGES = {
    "box": _box,
    "integers": _integers,
    "formula": _number("formula", 6),
    "frame": _number("frame", 4),
    "entry": _entry,
    "dropped": _dropped,
    "within": _within,
    "split": _split,
    "case": _number("choice", 6),
    "keep": _number("at", 3),
    "rule": _rule,
    "swapped": _swapped,
}
