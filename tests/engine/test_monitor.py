"""Monitors of maps: C and Python answer as the map does, and nothing in a map becomes code."""

from __future__ import annotations

import ast
import ctypes
import io
import json
import math
import re
import shutil
import subprocess
import tokenize
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tests.engine.map_systems import grid, loop
from venmas.engine.map.monitor import comment, identifiers, monitor_text
from venmas.engine.map.refine import map_states
from venmas.engine.map.stored import read_map
from venmas.engine.map.tree import STATUSES, Axis, Cell, StateMap, digest_of
from venmas.errors import UsageError

F = Fraction
GCC = shutil.which("gcc")
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O2", "-shared", "-fPIC"]
compiled = pytest.mark.skipif(GCC is None, reason="there is no gcc")


def in_python(made, name="venmas_monitor"):
    space = {}
    exec(compile(monitor_text(made, "py", name), "monitor.py", "exec"), space)
    return space[name]


def in_c(made, folder, name="venmas_monitor"):
    (folder / "monitor.c").write_text(monitor_text(made, "c", name))
    done = subprocess.run(
        [GCC, *FLAGS, "monitor.c", "-o", "monitor.so"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    function = ctypes.CDLL(str(folder / "monitor.so"))[name]
    function.argtypes = [ctypes.c_double] * len(made.axes)
    return function


def answer(made, values):
    """What the map says of exact numbers."""
    if not all(map(math.isfinite, values)):
        return 2
    return STATUSES.index(made.status({a.name: F(v) for a, v in zip(made.axes, values, strict=True)}))


def probes(made, count=20_000):
    """States in doubles: random, on faces, next to faces, beyond, integers and others, and what is no number."""
    rng, ends = Random(3), [set() for _ in made.axes]
    for _, box in made.leaves():
        for values, side in zip(ends, box, strict=True):
            for end in map(float, side):
                values |= {end, math.nextafter(end, math.inf), math.nextafter(end, -math.inf)}
    odd = (math.nan, math.inf, -math.inf, -0.0, 0.5, 1e300, -1e300, 5e-324)
    for _ in range(count):
        kind = rng.random()
        yield tuple(
            rng.choice(sorted(values))
            if kind < 0.4
            else float(rng.randint(int(axis.low) - 1, int(axis.high) + 1))
            if axis.integral and kind < 0.8
            else rng.choice(odd)
            if rng.random() < 0.05
            else rng.uniform(float(axis.low) - 0.1, float(axis.high) + 0.1)
            for axis, values in zip(made.axes, ends, strict=True)
        )


@pytest.fixture(scope="module", params=["grid", "loop"])
def made(request):
    if request.param == "grid":
        return map_states(grid(), "AG^5 (x + y <= 13)", timeout=60)
    return map_states(loop(), "AG^4 (x <= 1)", timeout=8, min_width=1 / 32)


def test_python_answers_as_the_map(made):
    monitor = in_python(made)
    answers = {values: monitor(*values) for values in probes(made)}
    assert set(answers.values()) == {0, 1, 2}
    assert {v: a for v, a in answers.items() if a != answer(made, v)} == {}


@compiled
def test_c_answers_as_the_map(made, tmp_path):
    monitor = in_c(made, tmp_path)
    answers = {values: monitor(*values) for values in probes(made)}
    assert set(answers.values()) == {0, 1, 2}
    assert {v: a for v, a in answers.items() if a != answer(made, v)} == {}


def test_python_takes_numbers_that_a_double_holds_and_no_others():
    made = StateMap("s", "f", "0" * 64, "0" * 64, (Axis("x", F(0), F(1, 10)),), Cell("proved", "p", "exact"))
    monitor = in_python(made)
    for value in (0, 0.0, np.float32(0.0625), np.float64(0.1).item() / 2, F(1, 16), np.int64(0), False):
        assert monitor(value) == 0, value
    # the float32 nearest to a tenth is greater than a tenth
    for value in (np.float32(0.1), F(1, 30), "0.05", None, 10**400, math.nan, np.float64("nan"), [0.05]):
        assert monitor(value) == 2, value
    assert monitor(0.1) == 2 and F(0.1) > F(1, 10)
    assert monitor(math.nextafter(0.1, 0)) == 0


@compiled
def test_a_map_of_one_answer_is_a_constant_in_its_box(tmp_path):
    leaf = {"by": "p", "basis": "exact"}
    root = Cell(cut=(0, F(1, 2), Cell("violated", **leaf), Cell("violated", **leaf)))
    made = StateMap("s", "f", "0" * 64, "0" * 64, (Axis("x", F(0), F(1)), Axis("n", F(3), F(3), True)), root)
    for monitor in (in_python(made), in_c(made, tmp_path)):
        assert [monitor(*v) for v in ((0.5, 3), (0.75, 3.0), (1.5, 3), (0.5, 2), (0.5, 3.5))] == [1, 1, 2, 2, 2]


def chain(depth):
    """A tree that is as deep as it has cuts."""
    cell = Cell("proved", "p", "exact")
    for k in range(depth):
        cell = Cell(cut=(0, F(1, 2 ** (depth - k)), cell, Cell("open" if k % 2 else "violated", "p", "exact")))
    return StateMap("s", "f", "0" * 64, "0" * 64, (Axis("x", F(0), F(1)),), cell)


@compiled
def test_deep_trees(tmp_path):
    made = chain(900)
    c, python = in_c(made, tmp_path), in_python(made)
    for k in range(920):
        value = 2.0**-k if k else 0.9
        assert c(value) == python(value) == answer(made, (value,))


def test_an_interval_without_a_double_is_refused():
    for low, high in ((F(1, 3), F(1, 3)), (F(10) ** 400, F(10) ** 401)):
        made = StateMap("s", "f", "0" * 64, "0" * 64, (Axis("x", low, high),))
        with pytest.raises(UsageError, match="no double lies"):
            monitor_text(made, "c")
    made = StateMap("s", "f", "0" * 64, "0" * 64, (Axis("n", F(0), F(2) ** 60, True),))
    with pytest.raises(UsageError, match="gaps"):
        monitor_text(made, "py")


@pytest.mark.parametrize("name", ["", "1x", "int", "lambda", "x y", "f()", "näme", "a" * 65, "state", "_x", "x\n"])
def test_names_that_are_no_identifiers_are_refused(name):
    with pytest.raises(UsageError, match="can not name a function"):
        monitor_text(chain(1), "c", name)


def test_variables_become_plain_identifiers():
    names = ["x[1]", "x_1", "int", "lambda", "state", "1", "", "è", "a b", "x[1]_2", "f", "unix", "int_2", "_", "float"]
    plain = identifiers(names, "f")
    assert len(set(plain)) == len(names) and plain[0] == "x_1" and "f" not in plain
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in plain)


EVIL = [
    "*/ int evil(void) { return 0; } /*",
    "a *",
    "/ b",
    "**//",
    "*\\\n/ int evil;",
    "?" + "?/\n*/ int evil;",
    "\nimport os\n",
    "\r\x0cimport os #",
    "\u2028import os",
    "\x00",
    '""" + evil() + """',
    "coding: utf-7 +AAo-import os",
    "x); evil(",
    "%s{}{0}",
]


def malicious(made):
    """The same tree with hostile texts wherever a map has any, as a file with a digest that fits."""
    form = json.loads(json.dumps(made.to_json()))
    for index, text in enumerate(EVIL):
        for field in ("scenario", "formula", "venmas", "message", "note"):
            yield rewritten(form, {field: text})
        yield rewritten(form, {"parameters": {text: text}})
        axes = [dict(axis) for axis in form["axes"]]
        axes[index % len(axes)].update(name=text, unit=text)
        yield rewritten(form, {"axes": axes})


def rewritten(form, change):
    form = {**form, **change}
    return json.dumps({**form, "digest": digest_of(form)}).encode()


def code_of_c(text):
    """Tokens of C without comments, as a compiler reads them; variables by number."""
    assert text.isascii() and all(c == "\n" or c.isprintable() for c in text)
    assert "??" not in text and "\\" not in text
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def code_of_python(text):
    assert text.isascii() and all(c == "\n" or c.isprintable() for c in text)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [t.string for t in tokens if t.type not in (tokenize.COMMENT, tokenize.NL)]


def shape(code, names):
    """The code with the arguments of the function numbered."""
    for i, name in enumerate(names):
        code = re.sub(rf"\b{name}\b", f"@{i}", code)
    return re.sub(r"\s+", " ", code)


def test_nothing_in_a_map_becomes_code(made):
    plain = identifiers((a.name for a in made.axes), "venmas_monitor")
    c = shape(code_of_c(monitor_text(made, "c")), plain)
    python = shape(" ".join(code_of_python(monitor_text(made, "py"))), plain)
    count = 0
    for data in malicious(made):
        other = read_map(data, "evil.json")
        names = identifiers((a.name for a in other.axes), "venmas_monitor")
        assert shape(code_of_c(monitor_text(other, "c")), names) == c
        text = monitor_text(other, "py")
        assert shape(" ".join(code_of_python(text)), names) == python
        assert tokenize.detect_encoding(io.BytesIO(text.encode()).readline)[0] == "utf-8"
        body = ast.parse(text).body
        assert [type(node) for node in body] == [ast.Assign, ast.Assign, ast.Assign, ast.FunctionDef]
        count += 1
    assert count == 7 * len(EVIL)


@compiled
def test_hostile_maps_compile_without_warnings(made, tmp_path):
    for data in list(malicious(made))[::5]:
        in_c(read_map(data, "evil.json"), tmp_path)


@pytest.mark.parametrize("text", [*EVIL, "*/", "/*", "/*/", "*" * 9 + "/", "2 * x / 3"])
def test_a_text_in_a_comment_stays_in_it(text):
    shown = comment(text)
    assert "*/" not in shown and "/*" not in shown and "\\" not in shown and "?" not in shown
    assert shown.isascii() and "\n" not in shown
    assert comment("AG^5 (2 * x / 3 <= 1)") == "AG^5 (2 * x / 3 <= 1)"
