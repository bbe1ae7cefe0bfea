"""Reports, systems, witnesses and vectors as objects: what print and notebooks show, and what a report remembers."""

import json
import re
from html.parser import HTMLParser

import pytest

import venmas
from venmas.cli.main import main
from venmas.engine.report import Report, Verdict
from venmas.errors import UsageError
from venmas.model import System, load_scenario
from venmas.model.scenario.source import source_of
from venmas.report.printed import as_text

SCENARIO = '''
"""A tank that fills by <b>rate</b>."""
from venmas.model import Parameter, System

PARAMETERS = (Parameter("rate", 1, "litres in a step", "l"),)


def build(networks, rate):
    s = System("tank")
    level = s.real("level", -99, 99)
    s.agent(level * 0, name="valve")
    s.branch("fill", level=level + rate)
    s.initial(level == 0)
    s.specify("low", "AG^8 (level < 6)")
    s.specify("some", "AG^8 (level > -1)")
    return s
'''


@pytest.fixture
def tank(tmp_path):
    path = tmp_path / "tank.py"
    path.write_text(SCENARIO)
    return path


class Tags(HTMLParser):
    """Tags of a fragment; unbalanced ones are an error."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(fragment):
    tags = Tags()
    tags.feed(fragment)
    assert tags.open == []
    return tags


def steady(text):
    """A text without what differs from run to run: times and memory."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line in lines if line and not re.search(r"\d (s|MB)\b|seconds|^procedure", line)]


@pytest.mark.parametrize("name", ["low", "some"])
def test_print_shows_what_the_command_line_prints(tank, name, capsys):
    report = venmas.verify(load_scenario(tank).system(), name)
    with pytest.raises(SystemExit):
        main(["--scenario", str(tank), "--formula", name])
    told = steady(capsys.readouterr().out)
    assert steady(str(report)) == told and len(told) > 5


def test_text_and_repr_and_truth(tank):
    report = venmas.verify(load_scenario(tank).system(), "low")
    assert str(report).startswith("violated\n") and "valve" in str(report)
    assert repr(report) == "<Report violated: 'AG^8 (level < 6)' of tank>"
    assert repr(report.witness) == f"<Witness: {len(report.witness.nodes)} states, one run>"
    with pytest.raises(UsageError, match=r"report\.satisfied"):
        assert report
    with pytest.raises(UsageError, match="three verdicts"):
        assert not Report(Verdict.UNKNOWN, "p", "s", "mono", "big-m", "interval")


def test_a_report_from_a_file_has_its_text_without_its_system(tank):
    from venmas.engine.stored import read_report

    report = venmas.verify(load_scenario(tank).system(), "low")
    again = read_report(json.loads(json.dumps(report.to_json())))
    assert steady(str(again)) == steady(str(report)) and again.model is None
    assert "fill" in as_text(report.witness)


def test_notebooks_show_balanced_and_escaped_html(tank):
    system = load_scenario(tank).system()
    system.description = "<script>alert(1)</script>"
    report = venmas.verify(system, "AG^8 (level < 6)")
    shown = parsed(report._repr_html_())
    text = "".join(shown.text)
    assert {"table", "img"} <= shown.seen and "violated" in text and "AG^8 (level < 6)" in text
    assert "script" not in parsed(system._repr_html_()).seen and "<script>" not in system._repr_html_()
    for thing in (report.witness, system, venmas.verify(system, "some"), system.reals("more", 30, 0, 1)):
        assert parsed(thing._repr_html_()).seen
    assert "satisfied" in venmas.verify(load_scenario(tank).system(), "some")._repr_html_()


def test_a_report_remembers_scenario_and_parameters(tank, tmp_path, capsys):
    """What is stored of a verdict in Python is replayed, drawn and told as one of the command line is."""
    found = load_scenario(tank).system(rate=2)
    report = venmas.verify(found, "low")
    assert (report.scenario, dict(report.parameters)) == ("tank", {"rate": "2"})
    assert report.origin.scenario == str(tank.resolve()) and report.origin.networks is None
    stored = tmp_path / "r.json"
    stored.write_text(json.dumps(report.to_json()))
    with pytest.raises(SystemExit) as done:
        main(["replay", str(stored), "--scenario", str(tank)])
    assert done.value.code == 10 and "level" in capsys.readouterr().out
    for command in (["plot", str(stored), "-o", "p.svg"], ["report", str(stored), "-o", "p.html"]):
        command[-1] = str(tmp_path / command[-1])
        with pytest.raises(SystemExit) as done:
            main([*command, "--scenario", str(tank)])
        assert done.value.code in (0, 10), capsys.readouterr().err


def test_a_bundled_scenario_is_found_by_its_name(tmp_path, capsys):
    report = venmas.verify(load_scenario("vcas").system(), "AX^1 (h > 100000)", mode="exact")
    assert report.violated and report.origin.scenario == "vcas" and report.origin.digests
    stored = tmp_path / "r.json"
    stored.write_text(json.dumps(report.to_json()))
    with pytest.raises(SystemExit) as done:
        main(["replay", str(stored), "-q"])
    assert done.value.code == 10
    capsys.readouterr()


def test_a_changed_system_is_not_the_one_that_was_loaded(tank):
    """A report that named the scenario all the same would be replayed on another system than its own."""

    def change_branch(s):
        s.branch("leak", level=s["level"] - 1)
        return s

    def change_start(s):
        s.initial(s["level"] == 3)
        return s

    for change in (change_branch, change_start, lambda s: s.with_regions(s.regions)):
        system = load_scenario(tank).system()
        assert source_of(system)
        assert source_of(change(system)) is None
    assert venmas.verify(change_branch(load_scenario(tank).system()), "some").origin is None
    assert source_of(System("mine")) is None


def test_repeated_rows_share_one(capsys):
    s = System("stuck")
    x = s.real("x", -9, 9)
    s.branch("stay")
    s.branch("move", x=x + 1, when=x >= 5)
    s.initial(x == 0)
    report = venmas.verify(s, "EF^6 (x > 0)")
    rows = [line.split()[0] for line in str(report).splitlines() if line.strip().endswith(("stay", "0"))]
    assert report.violated and "0..5" in rows and "6" in rows


def test_rows_that_look_alike_but_differ_are_kept():
    s = System("slow")
    x = s.real("x", -9, 9)
    s.branch("creep", x=x + "1/1000000000")
    s.initial(x == 1)
    assert ".." not in str(venmas.verify(s, "AG^4 (x < 1)")).replace("...", "")
