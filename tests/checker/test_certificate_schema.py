"""docs/certificate.schema.json: every line that is written fits, and what the checker refuses by its shape does not."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest

from tests.checker.corpus import BUNDLED, certificates, question
from venmas.checker.file import check_certificate
from venmas.checker.rule import Rule
from venmas.checker.rules import RULES
from venmas.engine.certify import certify, certify_inductive, certify_phases
from venmas.logic import parse_property
from venmas.model import System, argmax, load_scenario
from venmas.model.invariant import Invariant, Phases
from venmas.question import Question

OTHERS = {"cuts", "cut", "choose", "tube"}
"""Lines of claims about inductive sets, and of trees of tubes, which are no rules of goals."""
SCHEMA = json.loads((Path(__file__).parents[2] / "docs/certificate.schema.json").read_text())
PAGE = (Path(__file__).parents[2] / "docs/certificates.md").read_text()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def assert_schema_has(registry: Mapping[str, type[Rule]]) -> None:
    """The schema knows the header and these rules, each with its entries and no others; the page names them, too."""
    assert SCHEMA["oneOf"][0] == {"$ref": "#/$defs/header"}
    forms = {form["$ref"].removeprefix("#/$defs/") for form in SCHEMA["oneOf"][1:]}
    assert forms - registry.keys() == OTHERS and registry.keys() <= forms
    for name, kind in registry.items():
        form, entries = SCHEMA["$defs"][name], {"rule", *kind.keys}
        assert form["properties"]["rule"] == {"const": name}
        assert form["properties"].keys() == set(form["required"]) == entries, name
        assert form["additionalProperties"] is False
    shown = {name: set(re.findall(r'"(\w+)":', rest)) for name, rest in re.findall(r'`{"rule": "(\w+)"(.*?)}`', PAGE)}
    assert {n: k for n, k in shown.items() if n not in OTHERS} == {n: set(kind.keys) for n, kind in registry.items()}


def test_the_schema_and_the_page_have_the_rules_of_the_registry():
    assert_schema_has(RULES)


@pytest.mark.parametrize("name", ["vcas", "frozenlake", "double_integrator"])
def test_stored_certificates_fit(name, tmp_path):
    _, settings, text = next(b for b in BUNDLED if b[0] == name)
    system = load_scenario(name).system(**settings)
    about = {"origin": {"scenario": name, "networks": None, "digests": {}}, "parameters": settings}
    _, stored = certify(system, question(system, text), tmp_path / "c.gz", about)
    assert stored is not None
    lines = [json.loads(line) for line in gzip.decompress((tmp_path / "c.gz").read_bytes()).splitlines()]
    assert len(lines) == stored.lines and len(set(map(str, lines))) > 3
    for line in lines:
        VALIDATOR.validate(line)


def test_certificates_for_ever_fit(tmp_path):
    system, lines = grid(), []
    question = Question(system, parse_property("AG (a <= 3)", system.vocabulary))
    invariant = Invariant.of_boxes(system, [{"a": (0, 3), "b": (0, 1)}])
    certify_inductive(question, invariant, tmp_path / "1.gz", {})
    certify_phases(question, Phases(invariant.formula(system), 0, 1), tmp_path / "2.gz", {})
    for name in ("1.gz", "2.gz"):
        lines.append([json.loads(line) for line in gzip.decompress((tmp_path / name).read_bytes()).splitlines()])
        for line in lines[-1]:
            VALIDATOR.validate(line)
        check_certificate(tmp_path / name, system)
    (header, *trees, _), (other, *_) = lines
    assert {line["claim"] for line in trees} >= {"step"}
    for odd in (
        {**header, "format": other["format"]},
        {**header, "phases": other["phases"]},
        {k: v for k, v in header.items() if k != "invariant"},
        {**header, "inside": False},
        {**other, "format": "venmas-certificate-1"},
        {**trees[0], "index": 0},
        {**trees[0], "tree": []},
        {**trees[0], "tree": [0, 1.5]},
        {**trees[0], "claim": "start"},
    ):
        assert not VALIDATOR.is_valid(odd)


def grid() -> System:
    """A variable that a policy keeps low, along a line that only cuts find."""
    system = System("grid")
    a, b = system.integer("a", 0, 9), system.integer("b", 0, 1)
    up = argmax((2 * a - 5, b))
    system.agent(up)
    system.branch("rise", {a: a + 1}, when=up == 1)
    system.branch("fall", {a: a - 1, b: 1 - b}, when=(up == 0) & (a >= 1))
    system.initial(a == 0, b == 0)
    system.validate()
    return system


def test_lines_of_every_proof_fit():
    seen = set()
    for certified in certificates().values():
        for line in certified.lines:
            VALIDATOR.validate(line)
            seen.add(line["rule"])
    assert seen == {"region", "expand", "split", "refute", "same", "end"}


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"rule": "gap"},
        {"rule": "expand", "more": 1},
        {"rule": "split", "form": []},
        {"rule": "split", "form": ["1e9"]},
        {"rule": "split", "form": [1]},
        {"rule": "split", "form": ["f"]},
        {"rule": "refute", "weights": [[0]]},
        {"rule": "refute", "weights": [[0, "-1"]]},
        {"rule": "refute", "weights": [[0, "1", "1"]]},
        {"rule": "refute", "weights": [[0, "1/2"]]},
        {"rule": "same", "as": True},
        {"rule": "keep", "at": -1},
        {"rule": "keep", "at": True},
        {"rule": "case", "choice": "0"},
        {"rule": "within", "lemma": 1},
        {"rule": "within", "as": 2},
        {"rule": "frame", "matrix": [1]},
        {"rule": "frame", "matrix": [["1e9"]]},
        {"rule": "lemma", "formula": 0, "frame": 0, "low": [], "high": []},
        {"rule": "lemma", "formula": 0, "frame": 0, "integers": ["0"], "low": [], "high": []},
        {"rule": "lemma", "formula": 0, "frame": 0, "integers": [], "low": [0], "high": []},
        {"rule": "region", "index": "0"},
        {"rule": "end"},
    ],
)
def test_what_is_no_line_does_not_fit(line):
    assert not VALIDATOR.is_valid(line)
