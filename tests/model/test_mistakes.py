"""Mistakes of modellers: what Python, numpy or a habit lets one write, and what the modelling language says to it.

The table is `mistakes.txt`: a line of Python, then the message of its error, or after ``=`` the text of what it means.
"""

import ast
import math
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import venmas.model
from venmas.errors import InputError, ScenarioError
from venmas.logic import parse
from venmas.model import System, load_scenario
from venmas.nn.network import relu_network

pytestmark = pytest.mark.quick

REMEDY = re.compile(
    "write|written|did you mean|take |takes|give|count|rename|leave|choose|declare|such as|: it is |needs low|multiply|"
    "use |build another|ask|as in|compare it|is indexed by|the size is|name integers"
)
"""What names what to write instead."""
TABLE = Path(__file__).with_name("mistakes.txt")


def rows():
    """Snippets with what has to come of them."""
    lines = [line for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) % 2 == 0
    return [(code, outcome.strip()) for code, outcome in zip(lines[::2], lines[1::2], strict=True)]


def world():
    """The names that snippets use: a system with some variables, the modelling language, numpy."""
    s = System("s")
    names = {name: getattr(venmas.model, name) for name in venmas.model.__all__}
    names |= {"s": s, "x": s.real("x", -9, 9), "y": s.real("y", -9, 9), "b": s.boolean("b")}
    names |= {"v": s.reals("v", 2, -9, 9), "w": s.reals("w", 3, -9, 9)}
    names |= {"m": s.integer("m", 0, 1, labels={0: "off", 1: "on"})}
    return names | {
        "np": np,
        "math": math,
        "Decimal": Decimal,
        "parse": parse,
        "net": relu_network([np.eye(2)], [np.zeros(2)]),
    }


def outcome_of(code):
    """The text of the last expression, or the message of the error."""
    names, body = world(), ast.parse(code).body
    try:
        last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "snippet", "exec"), names)
        return f"= {text(eval(compile(last, 'snippet', 'eval'), names))}" if last else "="
    except InputError as error:
        return str(error).split("\n")[0]


def text(value):
    """Expressions within lists and tuples, too, as people read them."""
    if isinstance(value, list | tuple | np.ndarray):
        return f"[{', '.join(map(text, value))}]"
    return str(value)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(("code", "outcome"), rows())
def test_each_mistake_has_its_message(code, outcome):
    assert outcome_of(code) == outcome


def test_the_table_is_long_enough_and_names_a_remedy():
    refused = [outcome for _, outcome in rows() if not outcome.startswith("=")]
    assert len(refused) >= 40
    assert not [outcome for outcome in refused if "Error" in outcome or "object at 0x" in outcome]
    named = [outcome for outcome in refused if REMEDY.search(outcome)]
    assert 40 * len(named) >= 36 * len(refused)


def test_a_condition_on_a_vector_is_not_dropped():
    """Comparing by identity made ``v != 0`` true, and the initial set of this system a line instead of a point."""
    s = System("s")
    x, v = s.real("x", -1, 1), s.reals("v", 2, -1, 1)
    with pytest.raises(InputError, match="a vector is not compared as a whole"):
        s.initial(x == 0, v != 0)
    assert s.regions == []
    s.initial(x == 0, *(c == 0 for c in v))
    assert [len(region) for region in s.regions] == [3]


def test_in_a_scenario_the_line_is_named(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from venmas.model import System\n\ndef build(networks):\n    s = System('s')\n"
        "    v = s.reals('v', 2, 0, 1)\n    s.branch('go', {v: v}, when=v != 0)\n    return s\n"
    )
    with pytest.raises(
        ScenarioError, match=r"mine\.py, line 6: a vector is not compared as a whole; write conjunction"
    ):
        load_scenario(path).system()
    path.write_text("import no_such_module\n")
    with pytest.raises(ScenarioError, match=r"line 1: ModuleNotFoundError: .*; install it, or run the scenario on"):
        load_scenario(path)
