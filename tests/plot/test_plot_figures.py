"""What is in the figures: names, units, thresholds, and the points of the witness."""

from tests.needs import needs

needs("matplotlib")

import math
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tests.plot.scenarios import LAMPS, PICTURE, result
from venmas import System, load_scenario, verify
from venmas.errors import UsageError
from venmas.plot import figures, parts, read_trace
from venmas.plot.panels import MAX_PANELS, Numbers, Rows, panels_of
from venmas.plot.states import draw_states
from venmas.plot.tree import laid_out

UNSAFE = "AX^3 (h > 100 | h < -100)"


def texts(svg: str) -> list[str]:
    return ["".join(e.itertext()).strip() for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def drawn(line: Line2D) -> list[tuple[float, float]]:
    return [(x, y) for x, y in np.asarray(line.get_xydata(), dtype=float).tolist() if not math.isnan(x)]


@pytest.fixture(scope="module")
def vcas():
    return result("vcas", UNSAFE, climb0="-25.5")


@pytest.fixture(scope="module")
def tree():
    return result("frozenlake", "AX EX AX ha & EX AX EX goal")


def test_axes_have_units_thresholds_and_the_points_of_the_witness(vcas):
    trace = read_trace(*vcas)
    figure = Figure()
    alt = draw_states(figure, trace, panels_of(trace))
    axes = {ax.get_title("left") or ax.get_title(): ax for ax in figure.axes}
    assert list(axes) == ["h (ft)", "climb (ft/s)", "tau (s)", "adv", "advisory"]
    stored = [step["state"]["h"]["float"] for step in vcas[0]["witness"]["steps"]]
    expected = [p for pair in pairwise(enumerate(stored)) for p in pair]
    assert drawn(axes["h (ft)"].lines[0]) == expected
    levels = {line.get_ydata()[0] for line in axes["h (ft)"].lines if line.get_linestyle() == "--"}
    assert levels == {100, -100}
    assert {t.get_text() for t in axes["h (ft)"].texts} == {"h > 100", "h < \u2212100"}
    assert [drawn(line) for line in axes["h (ft)"].lines if line.get_marker() == "D"] == [[(3, stored[3])]]
    assert [t.get_text() for t in axes["adv"].get_yticklabels()] == ["COC", "CL1500", "SCL1500", "SCL2500"]
    assert figure.axes[-1].get_xlabel() == "step"
    assert "branch = a1" in figure.get_supxlabel()
    assert "\u2212131 to \u221296.0917" in alt and "h > 100" in alt


def test_pictures_of_a_result_are_standalone_and_the_same_each_time(vcas):
    found = figures(*vcas)
    assert [p.title for p in found] == ["Vertical geometry", "States over time"]
    assert found == figures(*vcas)
    for picture in found:
        root = ElementTree.fromstring(picture.svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and picture.svg.startswith("<svg")
        assert root.get("role") == "img"
        told = {e.tag.rpartition("}")[2]: e.text for e in root if e.text}
        assert (told["title"], told["desc"]) == (picture.title, picture.alt)
        assert "http" not in picture.svg.replace("http://www.w3.org/", "")  # nothing is fetched
    assert {"h > 100", "climb (ft/s)", "SCL2500"} <= set(texts(found[1].svg))


def test_the_encounter_shows_band_run_and_pilots(vcas):
    trace = read_trace(*vcas)
    (part,) = parts(trace, ["picture"])
    figure = Figure()
    assert "2 states lie in the unsafe band" in part.draw(figure)
    (ax,) = figure.axes
    assert ax.xaxis_inverted()
    assert (ax.patches[0].get_y(), ax.patches[0].get_height()) == (-100, 200)
    assert len(ax.lines) > 200
    inside = next(line for line in ax.lines if line.get_marker() == "D")
    assert [x for x, _ in drawn(inside)] == [23, 22]
    assert [t.get_text() for t in ax.texts] == ["CL1500", "SCL1500", "SCL2500"]


def test_the_path_on_the_grid(tree):
    data, system = result("frozenlake", "AX^6 !goal")
    (part,) = parts(read_trace(data, system), ["picture"])
    figure = Figure()
    assert "hole in cell 3, hole in cell 7, goal in cell 9" in (alt := part.draw(figure))
    cells = [next(n for n, v in step["state"].items() if v["exact"] == "1")[5:-1] for step in data["witness"]["steps"]]
    assert f"in turn: {', '.join(cells)}." in alt
    (ax,) = figure.axes
    end = ax.lines[-1].get_xydata()[0].tolist()
    assert end == [(int(cells[-1]) - 1) % 3 + 0.5, (int(cells[-1]) - 1) // 3 + 0.5]
    assert sum(t.arrow_patch is not None for t in ax.texts if hasattr(t, "arrow_patch")) == len(
        {pair for pair in pairwise(cells) if pair[0] != pair[1]}
    )
    assert [p.title for p in figures(*tree)] == ["Runs on the grid", "States over time", "Tree of runs"]


def test_a_tree_has_an_edge_for_every_branch_and_its_leaves_apart(tree):
    trace = read_trace(*tree)
    layout = laid_out(trace)
    assert len(layout.edges) == len(layout.visits) - 1 == 3 + 3 + 9
    levels = layout.levels[layout.leaves]
    assert len(set(levels.tolist())) == len(levels) == 9
    for i, _, j in layout.edges:
        assert trace.visits[layout.visits[j]].step == trace.visits[layout.visits[i]].step + 1
    (part,) = parts(trace, ["tree"])
    figure = Figure()
    part.draw(figure)
    written = [t.get_text() for t in figure.axes[0].texts]
    assert written.count("slip left") == 4 and "cell = 5" in written and "up" in written


def test_branches_to_one_state_are_one_line_and_large_graphs_are_not_unfolded():
    system = System("walk")
    x = system.real("x", -100, 100)
    system.initial(x == 0)
    for name, change in (("down", -1), ("up", 1)):
        system.branch(name, x=x + change)
    trace = read_trace(verify(system, "EX^12 x > 50", workers=1).to_json(), system)
    layout = laid_out(trace)  # 2^12 runs over 91 states
    assert len(layout.visits) == sum(range(1, 14)) and len(layout.edges) == 12 * 13
    stay = System("stay")
    y = stay.real("y", 0, 1)
    stay.initial(y == 0)
    stay.branch("a", {})
    stay.branch("b", {})
    layout = laid_out(read_trace(verify(stay, "EX y > 0", workers=1).to_json(), stay))
    assert layout.edges == ((0, "all", 1),)


@pytest.fixture
def lamps(tmp_path: Path):
    path = tmp_path / "lamps.py"
    path.write_text(LAMPS + PICTURE)
    return path


def test_many_variables_stay_readable(lamps: Path):
    system = load_scenario(lamps).system()
    report = verify(system, "AG^8 (lamp[13] == 0 & level[1] + 2*level[2] < 2.2 & level[1] < 500)", workers=1)
    trace = read_trace(report.to_json(), system)
    found = panels_of(trace)
    titles = [p.title for p in found.panels]
    assert titles == ["lamp", "level (V)", "hot", "level[1] + 2*level[2] (V)", "push (N)"]
    lamp, level, _, combined, _ = found.panels
    assert isinstance(lamp, Rows) and len(lamp.rows) == 17 and lamp.asked == (12,)
    assert lamp.marks[0] == (0, 0)
    assert isinstance(level, Numbers) and [name for name, _ in level.curves] == ["level[1]", "level[2]", "level[3]"]
    assert isinstance(combined, Numbers) and [t.value for t in combined.thresholds] == [2.2]
    assert combined.shown == {trace.steps}
    assert found.notes[0].startswith("Unchanged: branch = on, still[1] = 1") and "and 8 more" in found.notes[0]
    figure = Figure()
    draw_states(figure, trace, found)
    assert [t.get_text() for t in figure.axes[1].texts] == ["\u2191 level[1] < 500"]  # too far off for a line
    only = panels_of(trace, ["still", "push"])
    assert [p.title for p in only.panels] == [*(f"still[{i}]" for i in range(1, 16)), "push (N)"]


def test_beyond_a_dozen_panels_the_rest_is_named():
    system = System("wide")
    xs = [system.real(f"x{i}", 0, 9) for i in range(20)]
    system.initial(*(x == 0 for x in xs))
    system.branch("b", {x: x + 1 for x in xs})
    trace = read_trace(verify(system, "AX x17 < 1", workers=1).to_json(), system)
    found = panels_of(trace)
    assert len(found.panels) == MAX_PANELS and "x17" in [p.title for p in found.panels]
    assert found.notes[0].startswith("Unchanged: branch = b") and "and 1 more" not in found.notes[1]
    assert found.notes[1].startswith("Not shown: x11, x12")


def test_without_the_system_the_file_is_drawn_alone(vcas):
    data, _ = vcas
    (picture,) = figures(data, None)
    assert {"h", "climb", "h > 100", "SCL2500"} <= set(texts(picture.svg)) and "h (ft)" not in picture.svg
    bare = figures(data["witness"], None)
    assert {"h", "h >= \u2212100", "h <= 100"} <= set(texts(bare[0].svg))  # what it shows, as no formula is known


def test_a_single_state_and_a_verdict_without_witness(vcas):
    system = load_scenario("vcas").system()
    data = verify(system, "h > -130", workers=1).to_json()
    states = figures(data, system)[1]
    assert "over 0 steps" in states.alt and "h > \u2212130" in states.alt
    assert figures({**data, "witness": None}, system) == []


def test_what_is_no_result_is_refused(vcas):
    data, _ = vcas
    with pytest.raises(UsageError, match="nothing to draw"):
        figures({"a": 1}, None)
    with pytest.raises(UsageError, match="give the scenario"):
        figures(data, load_scenario("double_integrator").system())
    huge = {"x": {"exact": "1" + "0" * 400, "float": 0.0}}
    step = {"state": huge, "actions": {}, "atoms": [], "deadlock": False, "branch": None}
    with pytest.raises(UsageError, match="too large for a picture"):
        figures({"initial": huge, "steps": [step], "tree": None}, None)


def test_labels_of_strangers_stay_text():
    evil = {"x": {"exact": "1", "float": 1.0, "label": '</text><script>alert("$x$")</script>\x01'}}
    step = {"state": evil, "actions": {}, "atoms": [], "deadlock": False, "branch": None}
    (picture,) = figures({"initial": evil, "steps": [step], "tree": None}, None)
    root = ElementTree.fromstring(picture.svg)
    assert not [e for e in root.iter() if e.tag.endswith("script")]
    assert any("<script>" in text and "$x$" in text for text in texts(picture.svg))


def test_settings_of_the_user_change_nothing(vcas):
    import matplotlib

    before = figures(*vcas)
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 30, "svg.fonttype": "path"}):
        assert figures(*vcas) == before
        assert matplotlib.rcParams["font.size"] == 30


def test_sampled_runs_are_runs(vcas):
    trace = read_trace(*vcas)
    runs = trace.sample(40, seed=3)
    assert runs["h"].shape == (4, 40)
    assert ((runs["h"][0] >= -133) & (runs["h"][0] <= -129)).all() and (runs["tau"][3] == 22).all()
    assert (runs["h"][1] == trace.sample(40, seed=3)["h"][1]).all()
    short = System("short")
    x = short.real("x", 0, 2)
    short.initial(x == 0)
    short.branch("up", x=x + 1)
    for step, end in ((0, 0.0), (2, 2.0), (3, math.nan)):  # the third step leaves the box
        from venmas.plot.sampling import sample

        assert np.array_equal(sample(short, 4, 5, 0)["x"][step], np.full(5, end), equal_nan=True)
