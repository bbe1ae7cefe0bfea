"""Certificates that are kept: they are accepted, and the same lines are written today, byte for byte.

`python -m tests.checker.test_stored` writes them anew, where the format changes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.checker.graphs import ladder
from tests.corpus.entries_more import CORPUS
from venmas.checker.file import check_certificate
from venmas.checker.format.rule import Rule
from venmas.checker.goals import rules
from venmas.engine.certificates.file import write
from venmas.engine.certificates.goals import certify
from venmas.logic import Bounded, parse
from venmas.model import System, apply_network, load_scenario
from venmas.nn.network import relu_network
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph.graph import Graph
from venmas.procedures.reachability.proof.tables import GraphTables
from venmas.question import Question

STORED = Path(__file__).with_name("stored")
OF_BEFORE = {"region", "frame", "lemma", "end", "expand", "split", "refute", "same", "within", "keep", "case"}


def deep() -> System:
    """A unit that is open after six layers of 53-bit weights: the hyperplane that decides it has long numbers."""
    system = System("deep")
    x, y = system.real("x", -1, 1), system.real("y", -1, 1)
    first, chain = [[0.3, 0.1]], [[[0.7]]] * 5
    bias = [[0.7], [0.1], [0.3], [0.6], [0.9], [-1.17]]
    (z,) = apply_network(relu_network([first, *chain, [[1.0]]], [*bias, [0.0]]), [x, y])
    system.branch("step", x=z, y=y)
    system.initial(x <= 0)
    return system


def searched(system: System, text: str, path: Path) -> None:
    """By the proof search."""
    certify(system, parse(text, system.vocabulary), path, {})


def maxima() -> System:
    """Maxima of two reals, over which bounds say too little for the box: the claim excludes that it is left."""
    return next(entry for entry in CORPUS if entry.name == "max-5").system()


def searched_in_single(system: System, text: str, path: Path) -> None:
    """By the proof search, networks in single precision."""
    certify(system, parse(text, system.vocabulary), path, {}, semantics="float32")


def by_regions(system: System, text: str, path: Path) -> None:
    """By a graph of regions, cut into as many pieces at first as it was then."""
    question = Question(system, Bounded(parse(text, system.vocabulary)), certified=True)
    graph = Graph(Space(system), question.target, lambda: None, keep=True)
    with patch("venmas.procedures.reachability.graph.graph._FIRST_PIECES", 16):
        while not graph.refine():
            pass
    write(path, question, GraphLines(graph))


class GraphLines(GraphTables):
    """A graph's proof in lines, where tables would do."""

    def _tables(self, question: Question) -> list[Rule]:
        return []


CASES: dict[str, tuple[Callable[[], System], str, Callable[[System, str, Path], None]]] = {
    "long": (deep, "AX (x <= 0 | y >= 0)", searched),
    "shared": (lambda: load_scenario("vcas").system(climb0="-22.5"), "AX^5 safe", searched),
    "single": (maxima, "EX x >= 0.49", searched_in_single),
    "kept": (ladder, "!EX (x > 2 & m == 2) & AX AX (n <= 2 | x < 4)", by_regions),
}
"""Name of the file in `stored`; system, formula, and who writes the proof."""


def lines_of(path: Path) -> list[bytes]:
    return gzip.decompress(path.read_bytes()).splitlines()


@pytest.mark.parametrize("name", CASES)
def test_a_stored_certificate_is_accepted(name: str) -> None:
    path = STORED / f"{name}.gz"
    assert check_certificate(path, CASES[name][0]()).lines == len(lines_of(path)) - 1


@pytest.mark.parametrize("name", CASES)
def test_the_same_lines_are_written_as_before(name: str, tmp_path: Path) -> None:
    made, text, write = CASES[name]
    write(made(), text, tmp_path / "c.gz")
    before, now = lines_of(STORED / f"{name}.gz"), lines_of(tmp_path / "c.gz")
    assert now[1:] == before[1:]
    version = {"venmas": ""}
    assert {**json.loads(now[0]), **version} == {**json.loads(before[0]), **version}


def test_the_stored_certificates_have_every_rule_and_both_notations() -> None:
    lines = [line for name in CASES for line in lines_of(STORED / f"{name}.gz")[1:]]
    assert {json.loads(line)["rule"] for line in lines} == OF_BEFORE <= rules.RULES.keys()
    assert any(b'"#' in line for line in lines)


@pytest.mark.parametrize("name", CASES)
def test_a_line_is_written_as_it_was_read(name: str) -> None:
    """Reading loses nothing: what a rule writes is the line that it was made from."""
    for line in map(json.loads, lines_of(STORED / f"{name}.gz")[1:]):
        assert rules.RULES[line["rule"]].read(line).to_json() == line


if __name__ == "__main__":
    for name, (made, text, write_) in CASES.items():
        write_(made(), text, STORED / f"{name}.gz")
