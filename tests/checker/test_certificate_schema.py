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

from experiments.certificates.liveness import OWN, stored
from tests.checker import format_docs
from tests.checker.corpus import BUNDLED, certificates, question
from tests.checker.proofs import about, claiming
from venmas.checker.file import KINDS, NETLIST, check_certificate
from venmas.checker.format.fields import MisfitError
from venmas.checker.format.rule import RULES, Rule
from venmas.engine.certificates.file import write
from venmas.engine.certificates.goals import certify
from venmas.formats.btor2.reader import parse_btor2
from venmas.logic import parse_property
from venmas.model import System, argmax, load_scenario
from venmas.model.invariant import Invariant, Phases
from venmas.procedures.inductive.proof import Inductive
from venmas.procedures.kinduction.proof import PhaseProof
from venmas.question import Question

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/certificate.schema.json").read_text())
PAGE = (Path(__file__).parents[2] / "docs/certificates.md").read_text()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_results_of_checks_name_every_kind():
    check = (Path(__file__).parents[2] / "docs/check.schema.json").read_text()
    listed = ", ".join(f'"{kind}"' for kind in ("map", *KINDS, NETLIST))
    assert f'"enum": [{listed}]' in check


def assert_schema_has(registry: Mapping[str, type[Rule]]) -> None:
    """The schema knows the header and these rules; the page names them, too."""
    assert SCHEMA["oneOf"] == [{"$ref": f"#/$defs/{name}"} for name in ("header", *registry)]
    shown = PAGE.partition(format_docs.BEGIN)[2].partition(format_docs.END)[0]
    assert re.findall(r"^\| `([\w-]+)` \|", shown, re.MULTILINE) == [*registry]


def test_the_schema_and_the_page_have_the_rules_of_the_registry():
    assert_schema_has(format_docs.registry())


def test_the_schema_and_the_page_are_written_by_the_types():
    """`python -m tests.checker.format_docs` writes them."""
    assert json.loads(json.dumps(format_docs.schema())) == SCHEMA
    assert format_docs.PAGE.read_text() == format_docs.page()


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
    write(tmp_path / "1.gz", question, Inductive(invariant))
    write(tmp_path / "2.gz", question, PhaseProof(Phases(invariant.formula(system), 0, 1)))
    for name in ("1.gz", "2.gz"):
        lines.append([json.loads(line) for line in gzip.decompress((tmp_path / name).read_bytes()).splitlines()])
        for line in lines[-1]:
            VALIDATOR.validate(line)
        check_certificate(tmp_path / name, system)
    (header, inductive, *trees, _), (_, phases, *_) = lines
    assert {line["rule"] for line in trees} >= {"step"}
    for odd in (
        {**header, "format": "venmas-certificate-2"},
        {**header, "proof": "nothing"},
        {**header, "phases": phases},
        {k: v for k, v in header.items() if k != "proof"},
        claiming(header, formula=None),
        claiming(header, more=1),
        about(header, netlist=""),
        {**inductive, "index": 0},
        {**phases, "into": -1},
        {**phases, "inside": [True]},
        {**trees[0], "index": 0},
        {**trees[0], "tree": 0},
        {**trees[0], "rule": "start"},
    ):
        assert not VALIDATOR.is_valid(odd)


def test_certificates_of_netlists_fit(tmp_path):
    seen = set()
    for netlist, text in OWN:
        lines = stored(parse_btor2(netlist), text, tmp_path)
        assert lines is not None and lines[0]["proof"] == "netlist"
        for line in lines:
            VALIDATOR.validate(line)
            seen.add(line.get("rule"))
    assert {"automaton", "rank", "enumerate", "rup", "end"} <= seen


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
        {"rule": "split", "form": ["1e9"]},
        {"rule": "split", "form": [1]},
        {"rule": "split", "form": ["f"]},
        {"rule": "refute", "weights": [[0]]},
        {"rule": "refute", "weights": [[0, "1", "1"]]},
        {"rule": "refute", "weights": [[-1, "1"]]},
        {"rule": "same", "as": True},
        {"rule": "keep", "at": -1},
        {"rule": "keep", "at": True},
        {"rule": "case", "choice": "0"},
        {"rule": "within", "as": 2},
        {"rule": "frame", "matrix": [1]},
        {"rule": "frame", "matrix": [["1e9"]]},
        {"rule": "lemma", "formula": 0, "frame": 0, "low": [], "high": []},
        {"rule": "lemma", "formula": 0, "frame": 0, "integers": ["0"], "low": [], "high": []},
        {"rule": "lemma", "formula": 0, "frame": 0, "integers": [], "low": [0], "high": []},
        {"rule": "region", "index": "0"},
        {"rule": "end"},
        {"rule": "enumerate", "bits": 1},
        {"rule": "rup", "clauses": [1], "taken": None},
        {"rule": "states", "steps": [0], "levels": []},
        {"rule": "tube", "order": 1, "substeps": 1, "slices": 1, "symbols": 0},
    ],
)
def test_what_is_no_line_does_not_fit(line):
    """Nor does the reader take it, but for texts, which are read as numbers later."""
    assert not VALIDATOR.is_valid(line)
    if line.get("rule") in RULES and not {"1e9", "f"} & set(re.findall(r"\w+", str(line))):
        with pytest.raises(MisfitError):
            RULES[line["rule"]].read(line)
