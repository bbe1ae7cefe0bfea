"""Abstractions on pages: the history of refinement, and the graph as a picture, in words and for Graphviz."""

import base64
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pages import EVIL, edit, evil_result, page_of, run

from venmas.procedures.predicate_abstraction.refinement.drawing import Drawn
from venmas.report.graph_picture import picture_of

SCENARIO = '''"""A cart that a policy moves, which is at even places at even times."""
import numpy as np
from venmas import System
from venmas.model.expressions.functions import apply_network, argmax
from venmas.nn import relu_network


def build(networks):
    s = System("cart")
    x, odd = s.integer("x", 0, 40), s.integer("odd", 0, 1)
    network = relu_network([np.array([[1.0], [-1.0]])], [np.array([-5.5, 5.5])], name="p")
    action = s.agent(argmax(apply_network(network, [x])), labels={0: "down", 1: "up"})
    s.branch("down", x=x - 1, odd=1 - odd, when=(action == 0) & (x >= 1))
    s.branch("up", x=x + 1, odd=1 - odd, when=action == 1)
    s.initial(x == 0, odd == 0)
    s.specify("never", "AG !(x == 5 & odd == 0)")
    return s
'''
SVG = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    (tmp_path / "cart.py").write_text(SCENARIO)
    return str(tmp_path / "cart.py")


@pytest.fixture
def result(tmp_path: Path, scenario: str) -> Path:
    path = tmp_path / "r.json"
    given = ("--scenario", scenario, "--formula", "never", "--mode", "abstraction", "--tune", "predicates.first=none")
    done = run(*given, "--json", str(path), "-q")
    assert done.exit_code == 0, done.output
    return path


def pictures(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(base64.b64decode(text)) for text in SVG.findall(page)]


def test_a_page_has_the_refinement_and_the_last_graph(result: Path) -> None:
    found = json.loads(result.read_text())["invariant"]
    page = page_of(result)
    assert "Refinement" in page and found["history"]
    for entry in found["history"]:
        assert ", ".join(entry["added"]).replace(">", "&gt;") in page
    (svg,) = pictures(page)
    drawn = [e.text for e in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert drawn[:-1] == [str(i) for i in range(found["abstract"]["states"])]
    for text in found["graph"]["states"]:
        assert text in page
    assert "digraph abstraction {" in page and len(found["graph"]["steps"]) == page.count("-&gt; s")


def test_texts_of_strangers_stay_texts(result: Path) -> None:
    stored = json.loads(result.read_text())
    page = page_of(result)
    edit(result, invariant=evil_result(stored["invariant"]))
    evil = page_of(result)
    assert EVIL not in evil and "<script>" not in evil
    assert len(pictures(evil)) == len(pictures(page)) == 1


@pytest.mark.parametrize(
    "change", [{"steps": [[0, 99, "up"]]}, {"steps": [[0, True, "up"]]}, {"unsafe": [-1]}, {"starts": 99}, {"steps": 3}]
)
def test_graphs_that_are_none_are_refused(result: Path, change: dict[str, object]) -> None:
    stored = json.loads(result.read_text())["invariant"]
    edit(result, invariant={**stored, "graph": {**stored["graph"], **change}})
    assert run("report", str(result)).exit_code == 2


def test_results_without_a_graph_have_a_page(result: Path) -> None:
    stored = json.loads(result.read_text())["invariant"]
    del stored["graph"]
    edit(result, invariant=stored)
    assert "too many to be shown one by one" in page_of(result) and not pictures(page_of(result))


def test_one_abstraction_has_a_page(tmp_path: Path, scenario: str) -> None:
    page, predicates = tmp_path / "graph.html", tmp_path / "p.txt"
    predicates.write_text("x >= 1\nx >= 2\nx >= 3\nx >= 4\nx >= 6\n")
    given = ("--scenario", scenario, "--formula", "AG x <= 5", "--predicates", str(predicates))
    done = run("abstract", *given, "--html", str(page))
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "unsafe are states without x &lt;= 5" in text and "<code>x &gt;= 4</code>" in text
    (svg,) = pictures(text)
    assert len([e for e in svg.iter("{http://www.w3.org/2000/svg}g") if e.get("class") == "unsafe"]) == 1


def test_what_no_one_could_tell_apart_is_not_drawn() -> None:
    chain = tuple((i, i + 1, "on") for i in range(9))
    assert picture_of(Drawn(("s",) * 10, 1, (9,), chain), "short") is not None
    long = tuple((i, i + 1, "on") for i in range(29))
    assert picture_of(Drawn(("s",) * 30, 1, (), long), "long") is None
    assert picture_of(Drawn(("s",) * 100, 100, (), ()), "many") is None
