"""docs/certificate.schema.json: every line that is written fits, and what the checker refuses by its shape does not."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest

from tests.checker.corpus import BUNDLED, certificates, question
from venmas.checker.rule import Rule
from venmas.checker.rules import RULES
from venmas.engine.certify import certify
from venmas.model import load_scenario

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/certificate.schema.json").read_text())
PAGE = (Path(__file__).parents[2] / "docs/certificates.md").read_text()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def assert_schema_has(registry: Mapping[str, type[Rule]]) -> None:
    """The schema knows the header and these rules, each with its entries and no others; the page names them, too."""
    assert SCHEMA["oneOf"][0] == {"$ref": "#/$defs/header"}
    assert {form["$ref"].removeprefix("#/$defs/") for form in SCHEMA["oneOf"][1:]} == registry.keys()
    for name, kind in registry.items():
        form, entries = SCHEMA["$defs"][name], {"rule", *kind.keys}
        assert form["properties"]["rule"] == {"const": name}
        assert form["properties"].keys() == set(form["required"]) == entries, name
        assert form["additionalProperties"] is False
    shown = {name: set(re.findall(r'"(\w+)":', rest)) for name, rest in re.findall(r'`{"rule": "(\w+)"(.*?)}`', PAGE)}
    assert shown == {name: set(kind.keys) for name, kind in registry.items()}


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
