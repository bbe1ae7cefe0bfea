"""Certificates that are made to cost time or memory; ``python tests/hostile/hostile_certificates.py`` runs 200.

A file is one of a kind, of a size and with numbers that its seed chooses. Whatever it is, `venmas check` ends within
its default limits: with a refusal that names the line, or with unknown and the limit that was met.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

Line = dict[str, Any]

VCAS = ("vcas", {"climb0": "-22.5..-18.7"}, "AX^2 (h > 100 | h < -100)")
"""Two free variables, networks of 45 units."""
DOUBLE = ("double_integrator", {}, "AG^3 (x[1] <= 5)")
WIDE = ("double_integrator", {"x1": "1..3", "x2": "-0.5..0.5"}, "AG^3 (x[1] <= 5)")
ICE = ("frozenlake", {}, "AG^4 safe")


@cache
def _system(scenario: str, settings: tuple[tuple[str, str], ...]) -> tuple[Any, list[str]]:
    from venmas.model import load_scenario
    from venmas.model.canonical.canonical import system_to_json
    from venmas.model.system.networks import networks_of

    system = load_scenario(scenario).system(**dict(settings))
    return system_to_json(system), sorted(networks_of(system))


def header(about: tuple[str, dict[str, str], str] = VCAS, **changes: object) -> Line:
    """The first line of a certificate about a bundled scenario."""
    scenario, settings, formula = about
    system, networks = _system(scenario, tuple(settings.items()))
    claim: Line = {"formula": formula, "kind": "bounded"}
    for key in [*changes]:
        if key in ("formula", "kind", "inside"):
            claim[key] = changes.pop(key)
    if claim.get("inside") is False:
        del claim["inside"]
    return {
        "format": "venmas-certificate-1",
        "proof": "goals",
        "claim": claim,
        "subject": {"system": system, "networks": networks},
        "venmas": "0",
        "origin": {"scenario": scenario, "networks": None, "digests": {}},
        **({"parameters": settings} if settings else {}),
        **changes,
    }


def number(rng: Random, digits: int) -> str:
    """A rational of about as many digits above and below."""
    if digits < 10:
        return f"{rng.randint(-(10**digits), 10**digits)}/{rng.randint(1, 10**digits)}"
    return f"#{rng.getrandbits(4 * digits) | 1:x}/{rng.getrandbits(4 * digits) | 1:x}"


def form(rng: Random, digits: int = 4, free: int = 2) -> Line:
    """A split along a hyperplane over all free variables."""
    return {"rule": "split", "form": [number(rng, digits) for _ in range(free + 1)]}


def proof(*lines: Line, about: tuple[str, dict[str, str], str] = VCAS, **changes: object) -> list[Line]:
    """A header, the line of the first initial set, and lines of its proof."""
    return [header(about, **changes), {"rule": "region", "index": 0}, *lines]


EXPAND: Line = {"rule": "expand"}


def splits(rng: Random, size: int) -> list[Line]:
    """Each cuts what the one before has left, so every cell has a row more."""
    return proof(*(form(rng) for _ in range(size)))


def long_splits(rng: Random, size: int) -> list[Line]:
    return proof(*(form(rng, 400) for _ in range(size // 40)), EXPAND, EXPAND)


def huge_numbers(rng: Random, _size: int) -> list[Line]:
    return proof(*(form(rng, rng.randint(1000, 24_000)) for _ in range(12)), *[EXPAND] * 6)


def box_ends(rng: Random, size: int) -> list[Line]:
    """Cuts in one variable: the box gets ends of many digits, which every bound is then made of."""
    lines: list[Line] = []
    for _ in range(6):
        digits = rng.randint(100, 20_000)
        above, below = f"{rng.getrandbits(4 * digits) | 1:x}", f"{rng.getrandbits(4 * digits + 8) | 1:x}"
        at = rng.randint(1, 2)
        ends = ["#-" + above + "/" + below, "0", "0"]
        ends[at] = "1"
        lines.append({"rule": "split", "form": ends})
    return proof(*lines, *(form(rng) for _ in range(size // 100)), *[EXPAND] * 8)


def same_hashes(rng: Random, size: int) -> list[Line]:
    """Directions whose hashes as numbers are equal: Python's are remainders by 2^61 - 1."""
    prime = 2**61 - 1
    return proof(*({"rule": "split", "form": ["1", "1", str(7 + i * prime)]} for i in range(rng.randint(1, size))))


def one_direction(rng: Random, size: int) -> list[Line]:
    return proof(*({"rule": "split", "form": [number(rng, 4), "1", "1"]} for _ in range(size)))


def same_line(rng: Random, size: int) -> list[Line]:
    """Twins: goals of many rows, and goals that have these rows again, one by one, and name the first ones."""
    nothing: Line = {"rule": "refute", "weights": [[0, "1"]]}  # row 0 excludes the box
    rows = [form(rng) for _ in range(size // 6)]
    turned: Line = {"rule": "split", "form": ["0", "7", "3"]}
    first = [{"rule": "split", "form": ["-5000", "1", "1"]}, turned, *rows, nothing, *[nothing] * len(rows)]
    named = [3 + rng.randrange(len(rows) // 2, len(rows)) for _ in range(size // 6)]
    again = [line for n in named for line in (form(rng), {"rule": "same", "as": n + 1})]
    return proof(*first, turned, *rows, *again)


def weights(rng: Random, size: int) -> list[Line]:
    """Goals that are refuted by many weights of many rows."""
    rows = [form(rng) for _ in range(size // 4)]
    heavy = [[rng.randrange(len(rows)), str(rng.getrandbits(rng.choice((3, 600))))] for _ in range(size)]
    return proof(*rows, *({"rule": "refute", "weights": heavy} for _ in range(20)))


def conjunction(rng: Random, size: int) -> list[Line]:
    """A formula of thousands of parts, unrolled in every part of the cell."""
    parts = " | ".join(f"h > {rng.randint(101, 10**6)}/{i + 7}" for i in range(min(size, 4000)))
    lines = [EXPAND, EXPAND, *(line for _ in range(size // 8) for line in (form(rng), EXPAND))]
    return proof(*lines, formula=f"AX^1 ({parts} | h < -100)")


def facts(rng: Random, size: int) -> list[Line]:
    """Thousands of facts, and goals that are refuted by few of them."""
    parts = " | ".join(f"h + climb > {rng.randint(-155, -147)} + {i}/9999" for i in range(min(size, 1500)))
    lines = [EXPAND] * (min(size, 1500) + 4)
    lines += [line for _ in range(size // 20) for line in (form(rng), {"rule": "refute", "weights": [[3, "1"]]})]
    return proof(*lines, formula=parts)


def deep(rng: Random, size: int) -> list[Line]:
    """Far into the future by guesses, then a cell that is cut again and again."""
    depth = rng.choice((20, 200, 2000))
    lines = [*[EXPAND] * (3 * depth), *(form(rng) for _ in range(size // 20))]
    return proof(*lines, about=DOUBLE, formula=f"AX^{depth} (x[1] <= 5)", inside=True)


def far(rng: Random, _size: int) -> list[Line]:
    formula = rng.choice(
        (
            "AX^100000 (h > 0)",
            "AG^60000 (h > 0)",
            "AG^300 AF^300 (h > 0)",
            "A((h > 0) U^90000 (h > 1))",
            "EG^9 " * 9 + "h > 0",
        )
    )
    return proof(*[EXPAND] * 300, formula=formula)


def equivalences(rng: Random, _size: int) -> list[Line]:
    """Each <-> doubles what is below it."""
    text = "h > 0"
    for i in range(rng.randint(8, 60)):
        text = f"({text} <-> climb > {i})"
    return proof(*[EXPAND] * 50, formula=text)


def same_hash_formula(rng: Random, size: int) -> list[Line]:
    """Atoms whose numbers have equal hashes."""
    prime = 2**61 - 1
    return proof(EXPAND, formula=" | ".join(f"h > {7 + i * prime}/3" for i in range(min(size, 5000))))


def frames(rng: Random, _size: int) -> list[Line]:
    digits = rng.choice((10, 1000, 20_000, 90_000))
    lines = [
        {"rule": "frame", "matrix": [[number(rng, digits) for _ in range(3)] for _ in range(3)]}
        for _ in range(rng.randint(1, 40))
    ]
    return [header(), *lines]


def lemmas(rng: Random, size: int) -> list[Line]:
    digits, box = rng.choice((3, 300, 3000)), []
    frame = {"rule": "frame", "matrix": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]}
    for _ in range(size // 10):
        low = [f"#-{rng.getrandbits(4 * digits) | 1:x}/{rng.getrandbits(4 * digits) | 1:x}" for _ in range(3)]
        high = [end.replace("-", "") for end in low]
        lemma = {"rule": "lemma", "formula": 0, "frame": 0, "integers": [1], "low": low, "high": high}
        box += [lemma, {"rule": "refute", "weights": []}]
    return [header(), frame, *box]


_FRAME: Line = {"rule": "frame", "matrix": [["1/999", "0", "0"], ["0", "1/999", "0"], ["0", "0", "1/999999"]]}


_OWN = 8
"""The argmax of the advisory that the initial set has given, among the choices."""


def _table(rows: int, **entries: object) -> Line:
    """Rows that nothing is said of, wide in every coordinate, unless the entries say otherwise."""
    box = {"low": [[-(2**20)] * rows for _ in range(3)], "side": [[2**21] * rows for _ in range(3)]}
    plain: Line = {
        "rule": "table",
        "frame": 0,
        "formulas": [0],
        "integers": [[1]],
        "where": [0] * rows,
        "says": [0] * rows,
    }
    cut: Line = {"splits": [[0] * rows], "kinds": [], "kind": [0] * rows, "to": [], "ahead": []}
    return {**plain, **box, **cut, **entries}


def cells(rng: Random, size: int) -> list[Line]:
    """A row that is cut again and again, each cell of which asks networks for all that is possible."""
    depth = max(1, (size * 8).bit_length() - 1)
    splits = [[1 + rng.randrange(3)] * 2**level for level in range(depth)] + [[0] * 2**depth]
    kinds = [[0, [[_OWN, rng.choice((510, 511))], [rng.randrange(8), 511]][: rng.randint(1, 2)]]]
    table = _table(1, splits=splits, kinds=kinds, kind=[1] * 2**depth)
    return [header(inside=True), _FRAME, table, {"rule": "region", "index": 0}]


def table_kinds(rng: Random, size: int) -> list[Line]:
    """Kinds of as many combinations of outcomes as there may be, each different, for one cell each or none."""
    kinds = [[0, [[_OWN, 15], [rng.randrange(8), 1 + i % 15], [9 + i % 3, 3]]] for i in range(size // 10)]
    return [header(inside=True), _FRAME, _table(1, kinds=kinds, kind=[1])]


def covers(rng: Random, size: int) -> list[Line]:
    """Images that many slivers cover but for the last one."""
    rows = size // 4
    slivers = _table(
        rows,
        formulas=[1],
        low=[[-(2**30)] * rows, [-(2**30)] * rows, list(range(rows))],
        side=[[2**31] * rows] * 2 + [[1] * rows],
    )
    ahead = [[1, [[[-2] * rows] * 3], [list(range(rows)) * rng.randint(1, 3)]]]
    wide = _table(rows, kinds=[[0, [[_OWN, 1]]]], kind=[1] * rows, to=[2], ahead=ahead)
    return [header(inside=True), _FRAME, slivers, wide]


def grids(rng: Random, size: int) -> list[Line]:
    """Covers of many boxes, each of which takes long, on grids of any numbers; what they claim is so at no state."""
    digits = rng.choice((1, 30, 3000, 24_000))
    rows = [[number(rng, digits) for _ in range(2)] for _ in range(2)]
    rows = rng.choice((rows, rows[:1] * 2, [["#1" + "0" * 80_000, "0"], ["0", "1"]], [["9999", "0"], ["0", "9999"]]))
    line: Line = {
        "rule": "grid",
        "rows": rows,
        "finer": [[rng.randrange(99), [rng.randrange(65)] * 2] for _ in range(rng.choice((0, 99 * size)))],
        "stride": rng.choice((1, 16)),
        "boxes": min(10 * size, 1 << 20),
        **rng.choice((_FINEST, _PLAIN)),
    }
    about = (DOUBLE[0], DOUBLE[1], "AX^60 (x[1] <= -100)")
    return [header(about, proof="covers"), line, {"rule": "end", "lines": 2}]


_FINEST: Line = {"bits": 256, "order": 20, "substeps": 256, "slices": 1024, "symbols": 4096}
_PLAIN: Line = {"bits": 60, "order": 4, "substeps": 1, "slices": 1, "symbols": 20}


def cases(rng: Random, size: int) -> list[Line]:
    """Outcomes of choices, each of which makes the networks be computed again."""
    return proof(EXPAND, *({"rule": "case", "choice": rng.randrange(3)} for _ in range(size // 30)))


def expansions(rng: Random, size: int) -> list[Line]:
    """Everything that can be said of runs on ice, and then of no more of them."""
    return proof(*(EXPAND for _ in range(size)), about=ICE)


ALWAYS: Line = {"proof": "inductive", "kind": "always", "formula": "AG safe", "inside": True}


def _set(rng: Random, size: int, variables: int, digits: int = 1, mask: str = "01-") -> Line:
    """Random predicates, and random words of them."""
    count = min(size, 300)
    rows = [[number(rng, digits) for _ in range(variables + 1)] for _ in range(count)]
    return {"rule": "set", "predicates": rows, "words": ["".join(rng.choices(mask, k=count)) for _ in range(size)]}


def words(rng: Random, size: int) -> list[Line]:
    """Many words, of which few have a state, and no line."""
    made = _set(rng, size, 9, rng.choice((1, 8)), rng.choice(("01-", "--------0")))
    return [header(ICE, **ALWAYS), made, {"rule": "end", "lines": 2}]


def real_words(rng: Random, size: int) -> list[Line]:
    """Cells of real variables with many rows."""
    made = _set(rng, size // 3, 2, rng.choice((2, 40)), "1----")
    return [header(DOUBLE, **{**ALWAYS, "formula": "AG (x[1] <= 5)"}), made, {"rule": "end", "lines": 2}]


def long_predicates(rng: Random, _size: int) -> list[Line]:
    """Numbers as long as they may be."""
    digits = rng.choice((300, 20_000))
    rows = [[number(rng, digits)] * 10 for _ in range(40_000 // digits)]
    made: Line = {"rule": "set", "predicates": rows, "words": ["1" * len(rows)]}
    return [header(ICE, **ALWAYS), made, {"rule": "end", "lines": 2}]


def trees(rng: Random, size: int) -> list[Line]:
    """Cuts upon cuts: at one end, of nothing, at random, along forms."""
    kind = rng.choice(("comb", "empty", "balanced", "forms"))
    tree: list[Any] = []
    for i in range(100 * size):
        cut = i if kind == "comb" else -i if kind == "empty" else rng.randint(-9, 9)
        tree += [-2, ["1", number(rng, 20)]] if kind == "forms" else [0, cut]
        tree += [-1] if kind != "balanced" or rng.random() < 0.5 else []
    made: Line = {"rule": "set", "predicates": [], "words": ["", ""]}
    lines = [{"rule": "start", "index": 0, "tree": tree}, {"rule": "safe", "word": 0, "tree": tree}]
    return [header(ICE, **ALWAYS), made, *lines, {"rule": "end", "lines": 4}]


def phases(rng: Random, size: int) -> list[Line]:
    """Two proofs that join: of many steps, of a set of many parts."""
    parts = " | ".join(f"(x[1] >= {i} & x[1] < {i + 1}/2 & x[2] != {i})" for i in range(rng.choice((1, size))))
    joined = {
        "rule": "phases",
        "set": parts,
        "into": rng.choice((0, 5, 10**5, 10**9)),
        "again": rng.choice((1, 10**4)),
        "inside": [True] * 2,
    }
    changed = {**ALWAYS, "proof": "two-phase", "formula": "AG (x[1] <= 5)"}
    return [header(DOUBLE, **changed), joined, {"rule": "region", "index": 0}, *[EXPAND] * size]


@cache
def _hash() -> str:
    """Of the program of the wide double integrator."""
    from venmas.checker.goals.check import claim
    from venmas.checker.goals.lemmas import Book
    from venmas.checker.goals.trees import digest, program_of
    from venmas.logic import parse
    from venmas.model import load_scenario
    from venmas.model.canonical.canonical import system_from_json, system_to_json
    from venmas.model.system.networks import networks_of

    scenario, settings, formula = WIDE
    made = load_scenario(scenario).system(**settings)
    system = system_from_json(system_to_json(made), networks_of(made))
    return digest(program_of(Book(system, claim(system, parse(formula, system.vocabulary), True), "real"), 0, 36))


def split_trees(rng: Random, size: int) -> list[Line]:
    """Texts of up to ten million characters: deep ones, those of leaves that hold, and of weights."""
    count = 500 * size
    level = "0"
    for axis in rng.choice(("01" * 8, "0" * 16, "10" * 5)):
        level = f"{axis}{level if len(level) > 1 else 'L'}{level if len(level) > 1 else 'L'}"
    splits = rng.choice(
        ("0" * count, "01" * count, "C0_" * count, "C0BL" * count, level, level * (count // len(level) + 1))
    )
    program = {"rule": "program", "index": 0, "bits": 36, "hash": _hash()}
    tree = {"rule": "tree", "splits": rng.choice(("", "C0BM")) + splits, "weights": rng.choice(("", "A" * count))}
    return [header(WIDE, inside=True), program, tree]


def parameters(rng: Random, _size: int) -> list[Line]:
    """The scenario is bundled; what it is asked to be is a matter of the file."""
    values = rng.choice(
        ({"size": "1000000"}, {"size": "300"}, {"map": "F" * 10**6}, {"map": "/".join(["F" * 90] * 90)})
    )
    return [header(ICE, parameters=values)]


def _rounds(rng: Random, text: str) -> bytes:
    return gzip.compress(text.encode() * rng.randint(1, 6))


RAW: dict[str, Callable[[Random], bytes]] = {
    "one line of lists": lambda _: gzip.compress(b'{"format":[' + b"[]," * 20_000_000 + b"0]}"),
    "one line of objects": lambda _: gzip.compress(b'{"format":[' + b'{"a":0},' * 7_000_000 + b"0]}"),
    "one line of texts": lambda _: gzip.compress(b'{"format":[' + b'"",' * 20_000_000 + b"0]}"),
    "one line of nothing": lambda rng: gzip.compress(bytes(rng.randint(1, 10) * 100_000_000)),
    "nesting": lambda rng: _rounds(rng, '{"a":' * rng.choice((500, 900, 5000, 10**6))),
    "nested origin": lambda rng: gzip.compress(
        json.dumps(header(origin=None)).encode().replace(b'"origin": null', b'"origin":' + b"[" * 700 + b"]" * 700)
    ),
    "a number": lambda rng: gzip.compress(b'{"format":' + b"9" * rng.choice((4000, 10**7)) + b"}"),
    "many lines": lambda rng: gzip.compress(json.dumps(header()).encode() + b"\n" + b"{}\n" * 5_000_000),
    "many expansions": lambda rng: gzip.compress(
        b"\n".join(json.dumps(line).encode() for line in proof(formula="AX^1 (h > 100 | h < -100)"))
        + b"\n"
        + b'{"rule":"expand"}\n{"rule":"split","form":["1/3","7","-9"]}\n' * 100_000
    ),
}

KINDS: dict[str, Callable[[Random, int], list[Line]]] = {
    made.__name__: made
    for made in (
        splits, long_splits, huge_numbers, box_ends, same_hashes, one_direction, same_line, weights, conjunction, facts,
        deep, far, equivalences, same_hash_formula, frames, lemmas, cells, table_kinds, covers, cases, expansions,
        words, real_words, long_predicates, trees, split_trees, phases, parameters, grids,
    )
}  # fmt: skip


def certificate(seed: int, size: int | None = None) -> tuple[str, bytes]:
    """The kind of the file and its content. size: about as many lines; the seed's choice unless it is given."""
    rng = Random(seed)
    names = [*KINDS, *RAW] if size is None else [*KINDS]
    name = names[seed % len(names)]
    if name in RAW:
        return name, RAW[name](rng)
    lines = KINDS[name](rng, size if size is not None else rng.choice((300, 3000, 20_000)))
    return name, gzip.compress(b"\n".join(json.dumps(line).encode() for line in lines), 6)


def seeds(count: int) -> Iterator[tuple[int, str, bytes]]:
    """As many certificates."""
    for seed in range(count):
        yield seed, *certificate(seed)


def main() -> int:
    """Run `venmas check` with its default limits on each; says what took longest, and fails where one overran."""
    from hostile_runner import Runner

    from venmas.cli.limits import MEMORY, TIMEOUT

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    runner, ends, worst, bad = Runner(), Counter[str](), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(asked.first, asked.first + asked.count):
            name, data = certificate(seed)
            (Path(folder) / "c.gz").write_bytes(data)
            for told in ("stdout", "stderr"):
                (Path(folder) / told).write_text("")
            done = runner.run(["check", f"{folder}/c.gz"], Path(folder), TIMEOUT + 10, 2 * MEMORY)
            end = {2: "refused", 30: "refused", 20: "unknown", 0: "proved"}.get(done.status, f"status {done.status}")
            ends[end] += 1
            said = (done.stdout + done.stderr).strip().replace("\n", " ")[:110]
            wrong = done.late or end not in ("refused", "unknown") or done.megabytes > 1.2 * MEMORY
            bad += wrong
            worst.append((done.cpu, done.megabytes, seed, name))
            print(
                f"{seed:4} {name:20} {len(data):9} bytes {done.cpu:7.2f} s {done.megabytes:6.0f} MB",
                f"{'WRONG ' * wrong}{said}",
                flush=True,
            )
    runner.close()
    print(f"{asked.count} certificates: {', '.join(f'{n} {end}' for end, n in ends.items())}, {bad} wrong")
    print("longest: {0:.1f} s, seed {2} ({3})".format(*max(worst)))
    print("largest: {1:.0f} MB, seed {2} ({3})".format(*max(worst, key=lambda w: w[1])))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
