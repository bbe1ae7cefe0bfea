"""True claims with proofs are accepted; false claims are refused, however they are argued for."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from random import Random

import pytest

from tests.checker.corpus import certificates, violated_entries
from tests.checker.liar import lies
from tests.checker.proofs import Certified, about, checked, claiming, proof_of, prover, refusal
from tests.corpus.entries_more import CORPUS
from venmas.checker.file import check_certificate, read_certificate
from venmas.checker.format.header import FORMAT
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.goals.check import check
from venmas.engine.certificates.goals import certify
from venmas.engine.report import Verdict
from venmas.errors import InputError, ModelError, UsageError
from venmas.logic import parse
from venmas.model import System, load_scenario, where

VIOLATED = list(violated_entries())
SATISFIED = {e.name for e in CORPUS if e.verdict is Verdict.SATISFIED}


# -- accepted ----------------------------------------------------------------------------------------------------------


def test_proofs_of_a_varied_corpus_are_accepted():
    found = certificates()
    for name, certified in found.items():
        assert refusal(certified) is None, name
    assert len(SATISFIED & found.keys()) >= 0.9 * len(SATISFIED)
    assert not found.keys() & {name for name, _, _ in VIOLATED}
    assert {"vcas", "frozenlake", "double_integrator"} <= {name.split()[0] for name in found}
    rules = {line["rule"] for c in found.values() for line in c.lines}
    assert rules == {"region", "expand", "split", "refute", "same", "end"}
    assert {c.inside for c in found.values()} == {True, False}


@pytest.mark.parametrize("k", [1, 2])
def test_proofs_of_float32_are_accepted_and_prove_the_real_semantics_only_if_they_fit(k):
    system = load_scenario("double_integrator").system()
    certified = proof_of(system, parse(system.properties[f"within{k}"], system.vocabulary), "float32")
    assert certified is not None and refusal(certified) is None


# -- false claims ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(len(VIOLATED)), ids=[name for name, _, _ in VIOLATED])
def test_a_false_claim_is_refused_with_the_proof_of_another(at):
    name, system, formula = VIOLATED[at]
    others = [c for n, c in certificates().items() if n.rsplit("-", 1)[0] == name.rsplit("-", 1)[0]]
    for other in others:
        for inside in (False, True):
            assert refusal(other.but(system=system, formula=formula, inside=inside)) is not None


@pytest.mark.parametrize("at", range(len(VIOLATED)), ids=[name for name, _, _ in VIOLATED])
def test_a_false_claim_is_refused_whatever_is_said_for_it(at):
    """Honest rules up to where they end, then lies of every kind."""
    _, system, formula = VIOLATED[at]
    for seed in range(4):
        rng = Random(f"{at} {seed}")
        inside = rng.random() < 0.3
        with pytest.raises(CheckError):
            check(system, formula, inside, Lines(lies(system, formula, inside, rng)))


def test_leaving_the_declared_box_is_not_passed_over():
    system = System("leaves")
    x = system.real("x", 0, 2)
    system.branch("up", x=x + where(x >= 1, 1, 0))
    system.initial(x <= 2)
    formula = parse("AX x >= 0", system.vocabulary)
    proof, lines = prover(system, formula, False)
    assert proof.complete and proof.left_box == ["x"]
    lines.append({"rule": "end", "lines": len(lines) + 1})
    assert "may leave its range" in str(refusal(Certified(system, formula, False, tuple(lines))))
    with pytest.raises(ModelError, match="leaves the declared box"):
        proof_of(system, formula)
    assert refusal(Certified(system, formula, True, tuple(lines))) is not None


# -- single lines ------------------------------------------------------------------------------------------------------


@pytest.fixture
def square() -> Certified:
    """A proof with a split, two refuted halves and nothing else of interest."""
    system = System("square")
    x = system.real("x", -1, 1)
    system.branch("step", x=where(x >= 0, x / 2, -x))
    system.initial(x >= -1)
    certified = proof_of(system, parse("AX (x >= 0 & x <= 1)", system.vocabulary))
    assert certified is not None and refusal(certified) is None
    return certified


def _with(certified: Certified, first: str, **fields: object) -> Certified:
    """The first line of that rule, with other fields."""
    at = next(i for i, line in enumerate(certified.lines) if line["rule"] == first)
    line = {k: v for k, v in {**certified.lines[at], **fields}.items() if v is not None}
    return certified.but(lines=(*certified.lines[:at], line, *certified.lines[at + 1 :]))


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("region", {"index": 1}),
        ("region", {"index": False}),
        ("region", {"index": "0"}),
        ("region", {"index": None}),
        ("split", {"form": ["0"]}),
        ("split", {"form": ["0", "1", "1"]}),
        ("split", {"form": ["0", 1]}),
        ("split", {"form": ["0", "1e1000000000"]}),
        ("split", {"form": ["0", "1_0"]}),
        ("split", {"form": ["0", " 1"]}),
        ("split", {"form": ["0", "١"]}),
        ("split", {"form": ["0", "1/0"]}),
        ("split", {"form": ["0", "1.0"]}),
        ("split", {"form": ["0", "f"]}),
        ("split", {"form": ["0", "9" * 5000]}),
        ("split", {"form": ["0", "#" + "9" * 200_000]}),
        ("split", {"form": ["0", "nan"]}),
        ("split", {"form": None}),
        ("split", {"more": 1}),
        ("expand", {"more": 1}),
        ("end", {"lines": 1}),
        ("end", {"lines": 10**9}),
        ("end", {"rule": "expand", "lines": None}),
    ],
)
def test_a_broken_line_is_refused(square, rule, fields):
    assert refusal(square) is None
    assert refusal(_with(square, rule, **fields)) is not None


def test_true_is_not_the_number_one(square):
    at = len(square.lines)
    assert refusal(_with(square, "end", lines=at)) is None
    assert refusal(_with(square, "end", lines=float(at))) is not None


def test_lines_after_the_end_are_refused(square):
    assert "after the end" in str(refusal(square.but(lines=(*square.lines, {"rule": "expand"}))))


def test_a_proof_that_stops_is_refused(square):
    for n in range(len(square.lines)):
        assert refusal(square.but(lines=square.lines[:n])) is not None


def test_splitting_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("venmas.checker.goals.check.MAX_OPEN", 1000)
    system = System("plane")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    system.branch("stay", x=x)
    system.initial(x + y <= 2)
    lines = [{"rule": "region", "index": 0}, *[{"rule": "split", "form": ["1", "1", "1"]}] * 5000]
    refused = refusal(Certified(system, parse("x + y >= 0", system.vocabulary), False, tuple(lines)))
    assert "open at once" in str(refused)


def test_a_lemma_with_facts_does_not_prove_the_goal_without_them():
    """`AX x != 3` is refuted where x > 3, and then named where nothing is known of x."""
    system = System("facts")
    x = system.real("x", 0, 9)
    system.branch("stay", x=x)
    system.initial(x >= 0)
    formula = parse("(x > 3 & AX x > 5) | AX x > 5", system.vocabulary)
    for as_ in range(12):
        for length in range(1, 12):
            lines = [{"rule": "region", "index": 0}, *[{"rule": "expand"}] * length, {"rule": "same", "as": as_}]
            lines.append({"rule": "end", "lines": len(lines) + 1})
            assert refusal(Certified(system, formula, False, tuple(lines))) is not None


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path):
    system = load_scenario("vcas").system(climb0="-19.5")
    path = tmp_path / "certificate.gz"
    _, certificate = certify(system, parse("AX^3 safe", system.vocabulary), path, {})
    assert certificate is not None
    return system, path, [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def _rewrite(path, lines):
    path.write_bytes(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))


def test_a_stored_certificate_is_accepted(stored):
    system, path, lines = stored
    assert check_certificate(path, system).lines == len(lines) - 1
    header, _ = read_certificate(path)
    assert header.format == FORMAT and header.claim.formula == "AX^3 (h > 100 | h < -100)"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "venmas-certificate-2"},
        {"proof": "flowpipes"},
        {"proof": "levels"},
        {"proof": "netlist"},
        {"proof": "inductive"},
        {"proof": "nothing"},
        {"proof": 1},
        {"claim": None},
        {"claim": []},
        {"subject": None},
        {"subject": {"netlist": "1 sort bitvec 1"}},
        {"verdict": "satisfied"},
        {"rule": "end"},
    ],
)
def test_a_header_that_lies_is_refused(stored, change):
    system, path, lines = stored
    header = {k: v for k, v in {**lines[0], **change}.items() if v is not None}
    _rewrite(path, [header, *lines[1:]])
    with pytest.raises(InputError):
        check_certificate(path, system)


@pytest.mark.parametrize(
    "change",
    [
        {"formula": "AX^3 (h > 2000 | h < -2000)"},
        {"formula": "AX^4 (h > 100 | h < -100)"},
        {"formula": "AX^3 (h > 100 | climb < -100)"},
        {"formula": "AX^3 unknown"},
        {"formula": 3},
        {"formula": "(" * 200_000},
        {"kind": "always"},
        {"kind": "linear"},
        {"kind": None},
        {"inside": True},
        {"inside": False},  # left out where it is so
        {"inside": 0},
        {"semantics": "float64"},
        {"semantics": "real"},
        {"fair": ["h > 0"]},
        {"deadlock": "stutter"},
        {"initial": "h > 0"},
        {"within": 3},
        {"chosen": ["h"]},
        {"more": 1},
        {"rule": "end"},
    ],
)
def test_a_claim_that_lies_is_refused(stored, change):
    """Also one with fields that the proof says nothing of."""
    system, path, lines = stored
    _rewrite(path, [claiming(lines[0], **change), *lines[1:]])
    with pytest.raises(InputError):
        check_certificate(path, system)


@pytest.mark.parametrize(
    "change",
    [{"system": None}, {"system": {}}, {"system": [1]}, {"networks": []}, {"networks": ["0" * 64]}, {"more": 1}],
)
def test_a_subject_that_lies_is_refused(stored, change):
    system, path, lines = stored
    _rewrite(path, [about(lines[0], **change), *lines[1:]])
    with pytest.raises(CheckError):
        check_certificate(path, system)


@pytest.mark.parametrize("settings", [{"climb0": "-22.5"}, {"climb0": "-19"}])
def test_a_certificate_of_other_parameters_is_refused(stored, settings):
    _, path, _ = stored
    with pytest.raises(CheckError, match="another system"):
        check_certificate(path, load_scenario("vcas").system(**settings))


def test_a_system_in_the_header_that_is_edited_is_refused(stored):
    system, path, lines = stored
    form = lines[0]["subject"]["system"]
    for key in ("variables", "nodes", "agents", "branches", "initial", "propositions", "properties"):
        if form[key]:
            _rewrite(path, [about(lines[0], system={**form, key: form[key][:-1]}), *lines[1:]])
            with pytest.raises(CheckError, match=key):
                check_certificate(path, system)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not compressed",
        gzip.compress(b""),
        gzip.compress(b"[]\n"),
        gzip.compress(b"[" * 500_000),
        gzip.compress(b'{"format": 1e9}\n'),
        gzip.compress(b'{"format": NaN}\n'),
        gzip.compress(b'{"format": "x", "format": "venmas-certificate-1"}\n'),
        gzip.compress(b"9" * 10_000),
        gzip.compress(b"\xff\xfe\n"),
        gzip.compress(b'{"format": "venmas-certificate-1"}\n')[:-9],
    ],
    ids=range(11),
)
def test_a_broken_file_is_refused(stored, content):
    system, path, _ = stored
    path.write_bytes(content)
    with pytest.raises(InputError):
        check_certificate(path, system)


def test_a_field_that_is_given_twice_is_refused(stored):
    system, path, lines = stored
    raw = gzip.decompress(path.read_bytes()).replace(b'{"rule":"expand"}', b'{"rule":"gap","rule":"expand"}', 1)
    path.write_bytes(gzip.compress(raw))
    with pytest.raises(CheckError, match="twice"):
        check_certificate(path, system)
    assert lines[1]["rule"] == "region"


def test_a_file_that_is_cut_anywhere_is_refused(stored):
    system, path, _ = stored
    data = path.read_bytes()
    for size in range(0, len(data), max(1, len(data) // 40)):
        path.write_bytes(data[:size])
        with pytest.raises(InputError):
            check_certificate(path, system)


def test_what_is_no_file_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="no file"):
            read_certificate(path)


def test_the_checker_counts(square):
    done = checked(square)
    assert done.lines == len(square.lines)
    assert done.refuted == sum(line["rule"] == "refute" for line in square.lines)


def test_the_checker_does_the_same_without_gmpy2(stored):
    _, path, lines = stored
    code = (
        "import sys; sys.modules['gmpy2'] = None\n"
        "from venmas.checker.exact.cell import rational\n"
        "from venmas.checker.file import check_certificate\n"
        "from venmas.model import load_scenario\n"
        "assert rational.__name__ == 'Fraction'\n"
        "print(check_certificate(sys.argv[1], load_scenario('vcas').system(climb0='-19.5')).lines)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert answer.stdout.strip() == str(len(lines) - 1), answer.stderr
