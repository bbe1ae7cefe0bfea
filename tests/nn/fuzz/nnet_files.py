"""Random .nnet files, read by VenMAS and evaluated independently of it in rational numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

from venmas.errors import NetworkError
from venmas.nn import load_network

POINTS = 3


def case(rng: np.random.Generator, folder: Path) -> str:
    """Write one random file into `folder`, possibly damaged, and read it in both normalizations.

    Returns "agrees", or "refused: " and the reason. Raises `AssertionError` with the file where values differ, or where
    a file as the format has it is refused.
    """
    lines, whole = _lines(rng)
    damage = "none"
    if rng.random() < 0.3:
        lines, damage = _damaged(rng, lines)
    text = "\n".join(_dressed(rng, lines))
    path = folder / "net.nnet"
    path.write_text(text, encoding="utf-8")
    refusals = []
    for normalization in ("apply", "ignore"):
        try:
            network = load_network(path, normalization=normalization)
        except NetworkError as error:
            if damage == "none" and whole:
                raise AssertionError(f"refused: {error}\n{text}") from error
            refusals.append(f"refused: {str(error).removeprefix(str(path))}")
            continue
        for _ in range(POINTS):
            x = [Fraction(int(v), 4) for v in rng.integers(-40, 40, network.input_size)]
            expected = _evaluate(text, x, normalization)
            given = network.evaluate_exact(x)
            assert list(given) == expected, f"{normalization}, {damage}: at {x} {given}, expected {expected}\n{text}"
    return refusals[0] if refusals else "agrees"


def _lines(rng: np.random.Generator) -> tuple[list[list[str]], bool]:
    """The numbers of a file by line, and whether its line of sizes has a form that is read."""
    sizes = [int(n) for n in rng.integers(1, 5, rng.integers(2, 6))]
    form = rng.choice(["plain", "repeated", "other"], p=[0.5, 0.4, 0.1])
    written = {"plain": sizes, "repeated": [*sizes, sizes[-1]]}.get(form, [*sizes, sizes[-1] + 1])
    header = [len(sizes) - 1, sizes[0], sizes[-1], max(sizes)]
    lines = [[str(n) for n in header], [str(n) for n in written], ["0"]]
    lines += [_numbers(rng, sizes[0]) for _ in range(2)]
    lines += [_numbers(rng, sizes[0] + 1), [_positive(rng) for _ in range(sizes[0] + 1)]]
    for inputs, outputs in pairwise(sizes):
        lines += [_numbers(rng, inputs) for _ in range(outputs)]
        lines += [_numbers(rng, 1) for _ in range(outputs)]
    return lines, form != "other"


def _numbers(rng: np.random.Generator, count: int) -> list[str]:
    return [_number(rng) for _ in range(count)]


def _number(rng: np.random.Generator) -> str:
    """A number in one of the forms that writers use; most are dyadic, all denote a float64."""
    value = float(rng.integers(-16, 17)) / 2 ** int(rng.integers(0, 5))
    forms = [
        repr(value),
        f"{value:.5e}",
        f"{value:+.4f}",
        str(int(value)),
        f"{rng.normal():.5e}",
        f"{rng.normal():.7f}",
    ]
    return str(rng.choice(forms))


def _positive(rng: np.random.Generator) -> str:
    return str(rng.choice(["1.0", "2", "0.5", "0.1", "16000.0", "3", "1e-2", "-2.0"]))


def _damaged(rng: np.random.Generator, lines: list[list[str]]) -> tuple[list[list[str]], str]:
    """One change: what is then read has to be what the changed file says."""
    lines = [list(line) for line in lines]
    at = int(rng.integers(len(lines)))
    where = int(rng.integers(len(lines[at])))
    damage = str(rng.choice(["drop line", "drop number", "add number", "replace", "swap lines", "split line", "join"]))
    match damage:
        case "drop line":
            del lines[at]
        case "drop number":
            del lines[at][where]
        case "add number":
            lines[at].insert(where, _number(rng))
        case "replace":
            odd = ["nan", "inf", "1e999", "x", "", "1_0", "0", "-1", "2.5", "1e-400", "0x1", "1 2", "٣"]
            lines[at][where] = str(rng.choice(odd))
        case "swap lines":
            other = int(rng.integers(len(lines)))
            lines[at], lines[other] = lines[other], lines[at]
        case "split line":
            lines[at : at + 1] = [lines[at][:where], lines[at][where:]]
        case "join":
            lines[at : at + 2] = [[number for line in lines[at : at + 2] for number in line]]
    return lines, f"{damage} at line {at}, number {where}"


def _dressed(rng: np.random.Generator, lines: list[list[str]]) -> list[str]:
    """Lines of text with comments, trailing commas and spaces as writers leave them."""
    comma, space = rng.random() < 0.7, str(rng.choice(["", " "]))
    made = ["// Neural Network File Format by Kyle Julian, Stanford 2016"] * int(rng.integers(0, 3))
    for line in lines:
        made.append(f",{space}".join(line) + ("," if comma and line else ""))
        if rng.random() < 0.05:
            made += [str(rng.choice(["// a comment", "", "   "]))]
    return made


def _evaluate(text: str, x: list[Fraction], normalization: str) -> list[Fraction]:
    """The network of a file at a point, straight from the description of the format."""
    rows = []
    for line in text.split("\n"):
        line = line.split("//")[0].strip().rstrip(",")
        if line:
            rows.append([Fraction(float(token)) for token in line.split(",")])
    layers, inputs, outputs = (int(n) for n in rows[0][:3])
    sizes = [int(n) for n in rows[1]]
    assert sizes[: layers + 1] == sizes or sizes == [*sizes[: layers + 1], outputs], "the line of sizes"
    assert (sizes[0], sizes[layers]) == (inputs, outputs), "the ends of the line of sizes"
    means, ranges = rows[5], rows[6]
    stream = iter([number for row in rows[7:] for number in row])
    if normalization == "apply":
        assert len(means) == len(ranges) == inputs + 1, "means and ranges"
        x = [(v - m) / r for v, m, r in zip(x, means, ranges, strict=False)]
    for number in range(layers):
        weights = [[next(stream) for _ in range(sizes[number])] for _ in range(sizes[number + 1])]
        x = [sum((w * v for w, v in zip(row, x, strict=True)), next(stream)) for row in weights]
        if number < layers - 1:
            x = [max(v, Fraction(0)) for v in x]
    assert next(stream, None) is None, "numbers behind the last layer"
    return [v * ranges[-1] + means[-1] for v in x] if normalization == "apply" else x
