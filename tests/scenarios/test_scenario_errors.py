"""Scenario files and parameters that are wrong: one clear message each, and what is right reads exactly."""

from fractions import Fraction

import numpy as np
import pytest

from venmas.errors import InputError, NetworkError, ScenarioError
from venmas.model import NetworkFolder, Parameter, Range, load_scenario

pytestmark = pytest.mark.quick

GOOD = '''
"""A counter.

It counts."""
from venmas.model import Parameter, Range, System

PARAMETERS = (
    Parameter("step", 0.5, "how far it goes", unit="m"),
    Parameter("turns", 3, "how often"),
    Parameter("name", "plain", "what it is called", choices=("plain", "fancy")),
    Parameter("on", True, "whether it runs"),
    Parameter("cells", (3, 7), "where it stops"),
    Parameter("x0", Range(0, 1), "where it starts"),
)

def build(networks, step, turns, name, on, cells, x0):
    system = System("counter", description=repr((step, turns, name, on, cells, x0)))
    x = system.real("x", -9, 9)
    system.branch("go", {x: x + step})
    system.initial(x >= x0.low, x <= x0.high)
    return system
'''


def scenario_file(tmp_path, text, name="mine.py"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_values_reach_build_exactly(tmp_path):
    scenario = load_scenario(scenario_file(tmp_path, GOOD))
    assert (scenario.name, scenario.description) == ("mine", "A counter.\n\nIt counts.")
    defaults = (Fraction(1, 2), 3, "plain", True, (3, 7), Range(Fraction(0), Fraction(1)))
    assert scenario.system().description == repr(defaults)
    given = {"step": "-0.1", "turns": "4", "name": "fancy", "on": "no", "cells": "5", "x0": "-1.5..2"}
    values = (Fraction(-1, 10), 4, "fancy", False, (5,), Range(Fraction(-3, 2), Fraction(2)))
    assert scenario.system(**given).description == repr(values)
    typed = {"step": -0.1, "turns": 4, "name": "fancy", "on": False, "cells": [5], "x0": (-1.5, 2)}
    assert scenario.system(**typed).description == repr(values)


NUMBERS = {"-22.5": "-45/2", "1e3": "1000", "1/3": "1/3", ".5": "1/2", "+2.": "2", " 7 ": "7", "2.5e-2": "1/40"}


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(text):
    assert Parameter("p", 1.0, "").parse(text) == Fraction(NUMBERS[text])


def test_defaults_as_text():
    texts = [p.default_text for p in load_scenario("vcas").parameters]
    assert texts == ["-19.5", "-133", "-129", "25", "0", "3000", "0", "all", "ft/s", "auto"]
    assert [p.default_text for p in load_scenario("frozenlake").parameters] == ["3", "3,7", "9", "1", "none", "true"]
    assert [p.default_text for p in load_scenario("double_integrator").parameters] == ["2.5..3", "-0.25..0.25", "false"]
    assert Parameter("p", True, "").default_text == "true"


BAD_SETTINGS = [
    ({"stepp": 1}, r"scenario 'mine' has no parameter 'stepp' \(did you mean 'step'\?\); it takes step, turns, name"),
    ({"zzz": 1}, r"no parameter 'zzz'; it takes step"),
    ({"step": "fast"}, r"parameter 'step' of scenario 'mine' \(m\): expected a number, got 'fast'"),
    ({"step": "nan"}, "expected a number"),
    ({"step": "inf"}, "expected a number"),
    ({"step": float("nan")}, "expected a number"),
    ({"step": "1e999999999"}, "expected a number"),
    ({"step": "1/0"}, "expected a number"),
    ({"step": ""}, "expected a number"),
    ({"step": True}, "expected a number"),
    ({"step": None}, "expected a number"),
    ({"step": "1_000"}, "expected a number"),
    ({"turns": "2.5"}, "expected a whole number, got '2.5'"),
    ({"name": "ugly"}, "expected one of plain, fancy, got 'ugly'"),
    ({"name": 3}, "expected one of plain, fancy"),
    ({"on": "perhaps"}, "expected true or false"),
    ({"cells": "3;7"}, "expected whole numbers separated by commas"),
    ({"cells": "3,a"}, "expected whole numbers separated by commas"),
    ({"cells": [1.5]}, "expected whole numbers separated by commas"),
    ({"x0": "2..1"}, r"expected a number, or two as low\.\.high"),
    ({"x0": "1..2..3"}, r"expected a number, or two as low\.\.high"),
    ({"x0": (1, 2, 3)}, r"expected a number, or two as low\.\.high"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_bad_settings(tmp_path, settings, message):
    with pytest.raises(ScenarioError, match=message):
        load_scenario(scenario_file(tmp_path, GOOD)).system(**settings)


SYSTEM = "from venmas.model import Parameter, System\ndef build(networks, **p):\n"
BAD_FILES = [
    ("def build(:\n", r"mine\.py, line 1: invalid syntax"),
    ("x = 1\nx.y\n\ndef build(n): pass\n", r"mine\.py, line 2: AttributeError: 'int' object has no attribute 'y'"),
    ("import venmas_nonsense\n", r"line 1: ModuleNotFoundError: No module named 'venmas_nonsense'"),
    ("raise SystemExit('stop')\n", r"line 1: SystemExit: stop"),
    ("x = 1\n", r"defines no function build\(networks, \*\*parameters\)"),
    ("build = 3\n", r"defines no function build"),
    ("\x00", r"null bytes"),
    ("PARAMETERS = {'a': 1}\ndef build(n): pass\n", "PARAMETERS must be a tuple"),
    ("PARAMETERS = ('a',)\ndef build(n): pass\n", "PARAMETERS must be a tuple"),
    (
        "from venmas.model import Parameter\nPARAMETERS = (Parameter('a', 1, ''),)\ndef build(networks): pass\n",
        "declares 'a', which build\\(\\) does not take",
    ),
    ("def build(networks, a): pass\n", "takes 'a', which PARAMETERS does not declare"),
    (
        "from venmas.model import Parameter\nPARAMETERS = (Parameter('a', 1, ''),) * 2\ndef build(n, a): pass\n",
        "'a' is declared twice",
    ),
    ("def build(networks): pass\n", r"build\(\) must return a System, it returned NoneType"),
    ("def build(): pass\n", "TypeError"),
    (SYSTEM + "    return 1 / 0\n", r"mine\.py, line 3: ZeroDivisionError"),
    (SYSTEM + "    s = System('s')\n    x = s.real('x', 0, 1)\n    x // 2\n", r"line 5: .*//"),
    (SYSTEM + "    s = System('s')\n    s.real('x', 1, 0)\n", r"line 4: variable 'x' has an empty range"),
    (SYSTEM + "    s = System('s')\n    s.real('x', 0, 1)\n    return s\n", r"mine\.py: system 's' has no branches"),
    (SYSTEM + "    networks.load('a.onnx', 'b*.h5')\n", r"holds none of the files a\.onnx, b\*\.h5"),
    (SYSTEM + "    networks.load('mine.py')\n", r"mine\.py"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_bad_files(tmp_path, text, message):
    with pytest.raises((ScenarioError, NetworkError), match=message) as caught:
        load_scenario(scenario_file(tmp_path, text)).system()
    assert "Traceback" not in str(caught.value)


def test_unknown_scenarios(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ScenarioError, match=r"no scenario 'vcass' \(did you mean 'vcas'\?\); bundled scenarios are \w+, "
    ):
        load_scenario("vcass")
    with pytest.raises(ScenarioError, match=r"there is no scenario file nothing\.py; bundled"):
        load_scenario("nothing.py")
    with pytest.raises(ScenarioError, match=r"there is no scenario file .*scenario\.py"):
        load_scenario(tmp_path)
    with pytest.raises(ScenarioError, match="there is no scenario file a/b"):
        load_scenario("a/b")


def test_files_work_from_any_folder(tmp_path, monkeypatch):
    scenario_file(tmp_path, GOOD, "scenario.py")
    monkeypatch.chdir(tmp_path)
    assert load_scenario("scenario.py").name == tmp_path.name
    assert load_scenario(".").system().name == "counter"
    monkeypatch.chdir("/")
    assert load_scenario(tmp_path).path == tmp_path / "scenario.py"


def test_the_path_of_a_bundled_scenario_finds_its_networks():
    path = load_scenario("frozenlake").path
    assert load_scenario(path).networks == load_scenario("frozenlake").networks
    assert load_scenario(path).system().name == "frozenlake"


def test_own_networks_lie_beside_the_file(tmp_path):
    path = scenario_file(tmp_path, GOOD)
    assert load_scenario(path).networks == tmp_path
    (tmp_path / "networks").mkdir()
    assert load_scenario(path).networks == tmp_path / "networks"


def nnet(inputs, outputs):
    rows = ["// zero", f"1,{inputs},{outputs},9,", f"{inputs},{outputs},", "0,"]
    rows += [",".join(["0"] * inputs), ",".join(["1"] * inputs), ",".join(["0"] * (inputs + 1))]
    rows += [",".join(["1"] * (inputs + 1)), *[",".join(["0"] * inputs)] * outputs, *["0"] * outputs]
    return "\n".join(rows) + "\n"


def test_network_folders(tmp_path):
    (tmp_path / "b.nnet").write_text(nnet(2, 1))
    folder = NetworkFolder(tmp_path)
    network = folder.load("a.nnet", "*.nnet")
    assert network is folder.load("b.nnet")
    assert folder.files == (tmp_path / "b.nnet",)
    assert network.evaluate(np.zeros((1, 2))).shape == (1, 1)
    assert NetworkFolder(tmp_path / "b.nnet").load("*.nnet").input_size == 2
    (tmp_path / "c.nnet").write_text(nnet(2, 1))
    with pytest.raises(NetworkError, match=r"several files in .* fit '\*\.nnet' \(b\.nnet, c\.nnet\)"):
        folder.load("*.nnet")
    with pytest.raises(NetworkError, match=r"does not exist; it should hold one of the files 1\.onnx"):
        NetworkFolder(tmp_path / "nowhere").load("1.onnx")
    file = r"network file .*b\.nnet has not the name that the scenario loads, 1\.onnx or \*\.h5: .*load\('b\.nnet'\)"
    with pytest.raises(NetworkError, match=file):
        NetworkFolder(tmp_path / "b.nnet").load("1.onnx", "*.h5")


BUNDLED = [
    ("frozenlake", {"size": 4}, r"needs a network with 16 inputs and 4 outputs; .* has 9 and 4"),
    ("frozenlake", {"size": 1}, "expected 2 to 128, got 1"),
    ("frozenlake", {"holes": "3,10"}, r"parameter 'holes': cell 10 is not on a grid of 9 cells"),
    ("frozenlake", {"goal": 0}, "parameter 'goal': cell 0 is not on a grid"),
    ("frozenlake", {"goal": 3}, "must not be a hole"),
    ("vcas", {"pilot": "lazy"}, "expected one of all, middle, worst, got 'lazy'"),
    ("vcas", {"weights": "h5"}, r"holds none of the files vcas_1\.h5, 1\.h5, \*pra01_\*\.h5"),
    ("vcas", {"h_min": "-5000"}, r"reach outside the declared range of h \(\[-3000, 3000\]\): h >= -5000"),
    ("vcas", {"h_min": 0}, "no initial states: nothing satisfies h >= 0 & h <= -129"),
    ("vcas", {"tau0": 50}, "outside the declared range of tau .* tau <= 50"),
    ("double_integrator", {"x1": "200"}, r"outside the declared range of x\[1\]"),
]


@pytest.mark.parametrize(("name", "settings", "message"), BUNDLED)
def test_bundled_scenarios_say_what_is_wrong(name, settings, message):
    with pytest.raises(InputError, match=message):
        load_scenario(name).system(**settings)


def test_controllers_of_another_shape_do_not_fit(tmp_path):
    (tmp_path / "controller.nnet").write_text(nnet(3, 1))
    with pytest.raises(ScenarioError, match=r"must have 2 inputs and 1 output; .* has 3 and 1"):
        load_scenario("double_integrator").system(tmp_path)


def test_readmes_name_every_parameter():
    for name in ("vcas", "frozenlake", "double_integrator"):
        scenario = load_scenario(name)
        text = (scenario.path.parent / "README.md").read_text()
        for parameter in scenario.parameters:
            assert f"`{parameter.name}`" in text
