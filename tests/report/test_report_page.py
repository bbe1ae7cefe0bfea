"""What stands on the page of a result, and that nothing else can get there."""

from tests.needs import needs

needs("jsonschema")

import json
import re
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pages import QUESTIONS, Seen, decide, edit, evil_result, page_of, run

from venmas import verify
from venmas.engine.report import Report, Verdict
from venmas.engine.stored import read_report
from venmas.errors import InputError, Reason
from venmas.model import Replay, System, Witness
from venmas.model.witness.tree import Node, Value
from venmas.report import Checks, Source, html_page
from venmas.report.words import remedies

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "result.schema.json").read_text()))
SOURCE = Source("result.json", "0" * 64)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("results")
    return {name: decide(folder, name) for name in QUESTIONS}


@pytest.fixture
def violated(results: dict[str, Path], tmp_path: Path) -> Path:
    """A copy that a test may change."""
    path = tmp_path / "copy.json"
    path.write_bytes(results["violated"].read_bytes())
    return path


def test_a_result_is_read_back_as_it_was_written(results: dict[str, Path]) -> None:
    for path in results.values():
        stored = json.loads(path.read_text())
        assert read_report(stored).to_json() == stored
        SCHEMA.validate(stored)
        assert stored["asked"]["formula"] in QUESTIONS[path.stem] and len(stored["system"]) == 64
        assert set(stored["machine"]) == {"system", "processor", "cores"}
        SCHEMA.validate({k: v for k, v in stored.items() if k not in ("asked", "system", "started", "machine")})


def test_satisfied_says_what_it_rests_on(results: dict[str, Path]) -> None:
    text = Seen(page_of(results["satisfied"])).text
    for part in (
        "✓ satisfied",
        "Every initial state has the property",
        "Proved by rigorous bounds alone",
        "the proof was not done again, and there is no certificate to check",
        "The scenario still describes the system of the result",
        "as written safe3",
        "formula AX^3 (h > 100 | h < -100)",
        "negation normal form AX AX AX (h > 100 | h < -100)",
        "what a counterexample has to show EX EX EX (h <= 100 & h >= -100)",
        "9 SCL2500: argmax(9.onnx(h/16000, climb/5000, tau/40 - 0.5))",
        "3-20x5-9",
        "h' = h - climb - e2/2",
        "h (ft) in -133 .. -129",
        "decided by reachability abstract graph",
        "procedure seconds outcome counted",
        "venmas verify --scenario vcas --formula 'AX^3 (h > 100 | h < -100)' --mode adaptive",
        "processor",
        "numpy",
    ):
        assert part in text, part
    assert "Counterexample" not in text


def test_violated_shows_the_trace_and_exact_margins(results: dict[str, Path]) -> None:
    page = page_of(results["violated"])
    text = Seen(page).text
    stored = json.loads(results["violated"].read_text())
    last = stored["witness"]["steps"][-1]
    assert len(last["atoms"]) == 2
    for part in (
        "✗ violated",
        "was computed anew for this page, in exact numbers: it shows the violation",
        *(atom["margin"]["exact"] for atom in last["atoms"]),
        *(f"{step['state']['h']['float']:.6g}" for step in stored["witness"]["steps"]),
        *(step["state"]["adv"]["label"] for step in stored["witness"]["steps"]),
        "in float32, by onnxruntime violated",
        "-25.5 ft/s -19.5 initial climb rate",
        "--set climb0=-25.5",
        "venmas replay violated.json",
    ):
        assert part in text, part
    assert text.index("Counterexample") < text.index("negation normal form")


def test_a_tree_is_numbered_and_shared_states_are_named(results: dict[str, Path]) -> None:
    seen = Seen(page_of(results["tree"]))
    assert "The tree of runs" in seen.text
    assert re.search(r"slip left \(to state \d\)", seen.text)
    assert {"style": "--depth: 2", "role": "row"} in seen.named("tr")


def test_unknown_has_reason_and_remedies(results: dict[str, Path]) -> None:
    text = Seen(page_of(results["unknown"])).text
    for part in (
        "? unknown",
        "no evidence for the property, nor against it",
        "Why (memory): the memory limit of 1 MB was reached",
        "Allow more memory (it was 1 MB): --memory.",
        "limits 60 s, 1 MB",
        "--timeout 60 --memory 1",
    ):
        assert part in text, part


@pytest.mark.parametrize("reason", [*Reason, "?"])
def test_every_reason_has_a_remedy(reason: str) -> None:
    for mode in ("adaptive", "mono"):
        report = Report(Verdict.UNKNOWN, "AX^1 safe", "vcas", mode, "", "", reason=reason, message="told")
        text = Seen(html_page(report, None, SOURCE, Checks(undescribed="not here"))).text
        assert "What may help" in text
        assert remedies(report) and all(one in text for one in remedies(report))
        assert mode != "mono" or reason in ("interrupted", "?") or "Use mode adaptive" in text


@pytest.mark.parametrize("name", QUESTIONS)
def test_pages_can_be_read_by_everybody(name: str, results: dict[str, Path]) -> None:
    seen = Seen(page_of(results[name]))
    assert seen.elements[0] == ("html", {"lang": "en"})
    levels = [int(tag[1]) for tag, _ in seen.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(seen.named("table")) == len(seen.named("caption")) > 0
    assert all(th.get("scope") in ("col", "row") for th in seen.named("th"))
    assert all(len(img["alt"] or "") > 20 for img in seen.named("img"))
    assert len(seen.named("img")) >= (2 if name == "tree" else 1 if name == "violated" else 0)
    ids = [a["id"] for _, a in seen.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"] for a in seen.named("a")} <= {f"#{i}" for i in ids}
    assert {a["aria-labelledby"] for a in seen.named("section")} <= set(ids)


@pytest.mark.parametrize("name", QUESTIONS)
def test_pages_stand_alone(name: str, results: dict[str, Path]) -> None:
    page = page_of(results[name])
    seen = Seen(page)
    assert not seen.named("script") and not seen.named("link") and not seen.named("iframe")
    assert all(not key.startswith("on") for _, attributes in seen.elements for key in attributes)
    assert all((img["src"] or "").startswith("data:image/svg+xml;base64,") for img in seen.named("img"))
    assert "default-src 'none'" in str(seen.named("meta"))
    assert "http" not in re.sub(r'"data:[^"]*"|http-equiv', "", page)


def test_a_page_with_system_of_its_own_for_python(tmp_path: Path) -> None:
    system = System("counter", "Counts.")
    x = system.real("x", 0, 9, unit="m")
    system.branch("up", x=x + Fraction(1, 3), when=x <= 8)
    system.initial(x >= 1, x <= 2)
    report = verify(system, "AX^2 x > 5/2")
    text = Seen(html_page(report, system, SOURCE, Checks())).text
    for part in ("violated", "enabled when x <= 8", "x' = x + 1/3", "made in Python", "it was not computed anew"):
        assert part in text, part


# -- what a file claims, and what is so --------------------------------------------------------------------------------


def test_a_violation_that_does_not_replay_is_none(violated: Path) -> None:
    stored = json.loads(violated.read_text())
    stored["witness"]["steps"][1]["state"]["h"]["exact"] = "-100"
    violated.write_text(json.dumps(stored))
    text = Seen(page_of(violated, status=20)).text
    assert "? unknown" in text and "✗" not in text
    assert "The file says violated, but the counterexample in the file does not replay" in text
    assert "Comparisons that show the violation" not in text
    done = run("report", str(violated))
    assert done.stdout.endswith("copy.html: unknown\n")
    assert "does not replay" in done.stderr


def test_claims_of_a_witness_are_not_repeated(violated: Path) -> None:
    stored = json.loads(violated.read_text())
    stored["witness"]["steps"][-1]["atoms"] = [{"atom": "h > 5000", "margin": {"exact": "7777"}}]
    stored["witness"]["steps"][0]["state"]["adv"]["label"] = stored["witness"]["initial"]["adv"]["label"] = "WRONG"
    stored["witness"]["replay"]["margin"] = {"exact": "8888"}
    violated.write_text(json.dumps(stored))
    text = Seen(page_of(violated)).text
    assert not any(part in text for part in ("5000 ", "7777", "WRONG", "8888"))


def test_a_replay_is_that_of_the_file_where_none_was_made(violated: Path) -> None:
    stored = json.loads(violated.read_text())
    edit(violated, origin={**stored["origin"], "scenario": "mine.py"})
    text = Seen(page_of(violated)).text
    assert "Replayed from the initial state, as the result file says in exact numbers violated" in text
    stored["witness"]["replay"] |= {"confirmed": False, "reason": "h is -90 there"}
    edit(violated, witness=stored["witness"])
    assert "in exact numbers not violated: h is -90 there" in Seen(page_of(violated)).text


def test_a_formula_that_was_not_asked_for_is_not_told_as_if(violated: Path) -> None:
    stored = json.loads(violated.read_text())
    assert "as written safe3" in Seen(page_of(violated)).text
    for other in ("safe2", "AX true", "AX ("):
        edit(violated, asked={**stored["asked"], "formula": other})
        assert f"as written, which reads as another one now {other}" in Seen(page_of(violated)).text


def test_a_result_without_a_digest_of_its_system_is_noticed(results: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "copy.json"
    path.write_bytes(results["satisfied"].read_bytes())
    assert "has no digest of the system" not in Seen(page_of(path)).text
    edit(path, system="")
    assert "Take care: the file has no digest of the system" in Seen(page_of(path, "--set", "pilot=middle")).text


def test_what_a_journal_knew_was_found_by_the_solver(results: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "copy.json"
    path.write_bytes(results["satisfied"].read_bytes())
    counts = {"created": 27, "discarded": 4, "solved": 0, "cancelled": 0, "skipped": 27}
    solver = [{"name": "highs", "version": "1"}]
    no_procedure = {"decided_by": "", "procedures": []}  # as where a journal knew the verdict
    edit(path, mode="comp-seq", basis="solver", solver=solver, subproblems=counts, **no_procedure)
    text = Seen(page_of(path)).text
    assert "highs finding 27 programs infeasible" in text
    assert "27 created, 4 discarded by bounds, 0 solved, 27 known from the journal, 0 cancelled" in text


def test_other_systems_and_networks_are_noticed(results: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "copy.json"
    path.write_bytes(results["satisfied"].read_bytes())
    text = Seen(page_of(path, "--set", "pilot=middle")).text
    assert "Take care: the scenario now describes another system" in text
    stored = json.loads(path.read_text())
    stored["origin"]["digests"]["3.onnx"] = "0" * 64
    edit(path, origin=stored["origin"])
    assert "Take care: the networks are not those of the result: 3.onnx differ" in Seen(page_of(path)).text
    told = run("report", str(path), "--set", "pilot=middle").stderr
    assert "another system than the one of the result" in told and "3.onnx differ" in told


def test_certificates_are_checked_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = decide(tmp_path, "satisfied", "--certificate", "proof.gz")
    assert "its certificate was not checked for this page" in Seen(page_of(path)).text
    text = Seen(page_of(path, "--check")).text
    assert "The certificate was checked for this page, line by line" in text
    assert "venmas check proof.gz" in text
    edit(path, formula="AX^4 (h > 100 | h < -100)")
    text = Seen(page_of(path, "--check", status=20)).text
    assert "? unknown" in text
    assert "it is about the formula AX^3" in text
    edit(path, formula="AX^3 (h > 100 | h < -100)")
    text = Seen(page_of(path, "--check", "--timeout", "1e-6", status=20)).text
    assert "the certificate was not checked to its end: the limit" in text and "refused" not in text
    ice = ["--scenario", "frozenlake", "--formula", "safe1", "--certificate", "ice.gz"]
    assert run("verify", *ice).exit_code == 0
    text = Seen(page_of(path, "--check", "--certificate", "ice.gz", status=20)).text
    assert "it is about another system: its formula is AX" in text
    done = run("report", str(decide(tmp_path, "satisfied")), "--check")
    assert done.exit_code == 2 and "names no certificate" in done.stderr


def test_a_scenario_file_is_not_started_by_a_result(violated: Path, tmp_path: Path) -> None:
    file = tmp_path / "evil.py"
    file.write_text(f"open({str(tmp_path / 'started')!r}, 'w')\n")
    stored = json.loads(violated.read_text())
    edit(violated, origin={**stored["origin"], "scenario": str(file)})
    text = Seen(page_of(violated)).text
    assert "violated" in text and "it was not computed anew for this page" in text
    assert "give it with --scenario" in text and "-25.5" in text
    assert not (tmp_path / "started").exists()
    done = run("report", str(violated), "--set", "climb0=-20")
    assert done.exit_code == 2 and "give it with --scenario" in done.stderr


def test_results_of_earlier_versions_have_pages(violated: Path) -> None:
    stored = json.loads(violated.read_text())
    for key in ("asked", "system", "started", "machine", "graph", "notes", "versions", "peak_rss_mb"):
        del stored[key]
    violated.write_text(json.dumps(stored))
    text = Seen(page_of(violated)).text
    assert "violated" in text and "as written" not in text


# -- hostile files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_text_of_a_file_leaves_its_place(name: str, results: dict[str, Path]) -> None:
    honest = read_report(json.loads(results[name].read_text()))
    hostile = read_report(evil_result(json.loads(results[name].read_text())))
    plain, marked = (
        Seen(html_page(report, None, SOURCE, Checks(undescribed="not here"))) for report in (honest, hostile)
    )
    assert {tag for tag, _ in marked.elements} <= {tag for tag, _ in plain.elements} | {"li", "ul"}
    assert {k for _, a in marked.elements for k in a} <= {k for _, a in plain.elements for k in a}
    assert "<script>window.pwned=1</script>" in marked.text and "{{7*7}}" in marked.text
    assert "\\u202e\\x1b[2J\\ud800" in marked.text
    assert all(c == "\n" or c.isprintable() for text in marked.texts for c in text)


def test_a_hostile_file_makes_a_page(violated: Path) -> None:
    violated.write_text(json.dumps(evil_result(json.loads(violated.read_text()))))
    seen = Seen(page_of(violated))
    assert not seen.named("script")
    assert "window.pwned" in seen.text


_MISSING: Any = object()


def _wrong(value: Any) -> list[Any]:
    return [w for w in (None, [], {}, "x", 7, -1, True, 1e400, {"x": 1}, [1]) if type(w) is not type(value)] + [
        -(10**40)
    ]


def test_fields_of_a_wrong_kind_are_told_or_shown(results: dict[str, Path]) -> None:
    told = shown = 0
    for name in ("satisfied", "violated"):
        stored = json.loads(results[name].read_text())
        places = [(stored, key) for key in stored]
        for part in ("seconds", "origin", "asked", "certificate", "machine", "witness"):
            places += [(stored[part], key) for key in stored[part] or ()]
        places += [(stored["witness"]["replay"], key) for key in (stored["witness"] or {"replay": ()})["replay"]]
        for holder, key in places:
            good = holder.pop(key)
            for wrong in (_MISSING, *_wrong(good)):
                if wrong is not _MISSING:
                    holder[key] = wrong
                try:
                    html_page(read_report(stored), None, SOURCE, Checks(undescribed="not here"))
                    shown += 1
                except InputError as error:
                    told += 1
                    if len(str(error)) > 500:
                        raise
            holder[key] = good
    assert told > 400 and shown > 30


def test_what_is_no_result_is_refused(tmp_path: Path, violated: Path) -> None:
    for content, told in (("{", "no JSON"), ("[]", "JSON list"), ("{}", "'verdict'"), ('{"verdict": "yes"}', "'yes'")):
        (tmp_path / "no.json").write_text(content)
        done = run("report", str(tmp_path / "no.json"))
        assert done.exit_code == 2 and told in done.stderr, done.output
    edit(violated, witness=None)
    assert "says violated, but has no witness" in run("report", str(violated)).stderr
    assert run("report", str(tmp_path / "missing.json")).exit_code == 2


def test_the_page_goes_where_it_is_asked_to(violated: Path, tmp_path: Path) -> None:
    done = run("report", str(violated))
    assert done.stdout == f"{violated.with_suffix('.html')}: violated\n"
    told = run("report", str(violated), "-o", "-").stdout
    assert told == violated.with_suffix(".html").read_text()
    for itself in (violated, violated.parent / ".." / violated.parent.name / violated.name):
        assert run("report", str(violated), "-o", str(itself)).exit_code == 2
    done = run("report", str(violated), "-o", str(tmp_path / "no" / "page.html"))
    assert done.exit_code == 2 and "there is no folder" in done.stderr
    assert json.loads(violated.read_text())["verdict"] == "violated"


def test_missing_packages_are_named(violated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from venmas.report import page

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = Seen(page_of(violated)).text
    assert 'There are no pictures: pictures need matplotlib: pip install ".[plot]"' in text
    assert "23531/120" in text or "h <= 100" in text
    page._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = run("report", str(violated))
    assert done.exit_code == 2 and 'pip install ".[report]"' in done.stderr


def test_long_traces_are_cut_and_say_so() -> None:
    system = System("long")
    xs = system.reals("x", 70, 0, 2000)
    system.branch("up", {x: x + 1 for x in xs})
    system.initial(*(x == 0 for x in xs))
    states = [tuple(Value(name, Fraction(i)) for name in system.variables) for i in range(451)]
    steps = [Node(state, children=(("up", i + 1),)) for i, state in enumerate(states[:-1])]
    report = Report(Verdict.VIOLATED, "AX^450 x[1] < 450", "long", "exact", "", "")
    report.witness, report.replay = Witness((*steps, Node(states[-1]))), Replay(True)
    seen = Seen(html_page(report, system, SOURCE, Checks()))
    assert "51 rows before the last 50 are left out" in seen.text
    assert "16 of 70 columns are left out" in seen.text and "The run, columns 46 to 54" in seen.text
    assert " 349 " in seen.text and " 450 " in seen.text and " 375 " not in seen.text
