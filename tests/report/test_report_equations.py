"""The equations of a page say what the system does: read back by a reader of their own, they give its successors."""

import operator
import re
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark, Transformer, UnexpectedInput, v_args

from venmas.model import NetworkFolder, System, load_scenario, maximum, switch, where
from venmas.model.evaluation.simulate import Step, successors
from venmas.model.system.networks import networks_of
from venmas.nn import Network
from venmas.report.equations import Equations, equations
from venmas.testing import adversarial_systems, initial_states, states_of, systems

GRAMMAR = r"""
?expr: "if" cond "then" expr "else" expr -> where
     | "case" atom "of" "{" case (";" case)* ";"? "}" -> switch
     | sum
sum: [SIGN] term (SIGN term)*
term: [NUMBER "*"] atom ["/" NUMBER]
?atom: "(" expr ")" | "max" "(" expr ("," expr)* ")" -> maximum
     | "argmax" "(" (network | expr ("," expr)*) ")" -> argmax
     | network "[" NUMBER "]" -> output | NUMBER -> number | NAME -> name
network: NET "(" expr ("," expr)* ")"
case: key ("," key)* ":" expr
key: [SIGN] NUMBER NAME?
?cond: part | part ("and" part)+ -> all | part ("or" part)+ -> any
?part: "(" cond ")" | sum RELATION sum -> compare | "true" -> yes | "false" -> no
SIGN: "+" | "-"
RELATION: "<=" | ">=" | "==" | "!=" | "<" | ">"
NUMBER.2: /[0-9]+(\.[0-9]+)?/
NET.2: /net[0-9]+(?=\()/
NAME: /[A-Za-z_][A-Za-z0-9_]*(\[[0-9]+\])?/
%ignore /\s+/
"""
RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
RELATIONS["!="] = operator.ne


@v_args(inline=True)
class Value(Transformer):
    """Makes functions of an environment from name to value."""

    def __init__(self, networks: dict[str, Network]) -> None:
        super().__init__()
        self._networks = networks

    def where(self, condition, then, otherwise):
        return lambda env: then(env) if condition(env) else otherwise(env)

    def switch(self, selector, *cases):
        table = {key: value for keys, value in cases for key in keys}
        return lambda env: table[selector(env)](env)

    def case(self, *parts):
        return parts[:-1], parts[-1]

    def key(self, sign, index, _label=None):
        return -int(index) if sign == "-" else int(index)

    def sum(self, sign, first, *rest):
        signs = [sign, *rest[::2]]
        terms = [first, *rest[1::2]]
        return lambda env: sum(
            (-t(env) if s == "-" else t(env) for s, t in zip(signs, terms, strict=True)), Fraction(0)
        )

    def term(self, factor, atom, divisor):
        return lambda env: Fraction(factor or 1) * atom(env) / Fraction(divisor or 1)

    def maximum(self, *parts):
        return lambda env: max(p(env) for p in parts)

    def argmax(self, *parts):
        def value(env):
            found = [p(env) for p in parts]
            scores = found[0] if isinstance(found[0], tuple) else found
            return scores.index(max(scores))

        return value

    def network(self, name, *inputs):
        return lambda env: self._networks[name].evaluate_exact([i(env) for i in inputs])

    def output(self, network, index):
        return lambda env: network(env)[int(index) - 1]

    def number(self, text):
        return lambda env: Fraction(text)

    def name(self, name):
        return lambda env: env[str(name)]

    def all(self, *parts):
        return lambda env: all(p(env) for p in parts)

    def any(self, *parts):
        return lambda env: any(p(env) for p in parts)

    def compare(self, left, relation, right):
        return lambda env: RELATIONS[relation](left(env), right(env))

    def yes(self):
        return lambda env: True

    def no(self):
        return lambda env: False


EXPRESSIONS = Lark(GRAMMAR, start=["expr", "cond"], parser="lalr")


def written(system: System) -> tuple[Equations, Value]:
    files = {digest: f"net{i}" for i, digest in enumerate(sorted(networks_of(system)))}
    found = equations(system, files)
    assert found is not None
    return found, Value({files[d]: n for d, n in networks_of(system).items()})


def check(system: System, state: dict[str, Fraction]) -> None:
    """What the equations give in a state is what the simulator gives."""
    found, value = written(system)
    env = dict(state)
    conditions: dict[str, str] = {}

    def whole(text: str) -> str:
        """Conditions that have a name in place of it, which the grammar cannot tell from numbers."""
        for name, condition in conditions.items():
            text = re.sub(rf"\b{name}\b", f"({condition})", text)
        return text

    for name, text in found.lines:
        try:
            tree = EXPRESSIONS.parse(whole(text), start="expr")
        except UnexpectedInput:
            conditions[name] = whole(text)
            EXPRESSIONS.parse(conditions[name], start="cond")
        else:
            env[name] = value.transform(tree)(env)
    for name, action in Step(system, state).actions().items():
        assert name in system.variables or env[name] == action
    expected = {s.branch: s.state for s in successors(system, state)}
    for move in found.branches:
        enabled = not move.guard or value.transform(EXPRESSIONS.parse(whole(move.guard), start="cond"))(env)
        assert enabled == (move.name in expected), (move, state)
        if enabled:
            trees = {name: EXPRESSIONS.parse(whole(text), start="expr") for name, text in move.updates}
            new = {name: value.transform(tree)(env) for name, tree in trees.items()}
            assert {**state, **new} == dict(expected[move.name])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_equations_of_random_systems_mean_what_the_system_does(data) -> None:
    system = data.draw(systems())
    check(system, data.draw(states_of(system)))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_equations_of_hard_systems_mean_what_the_system_does(data) -> None:
    system = data.draw(adversarial_systems())
    check(system, data.draw(initial_states(system)))


def test_a_long_condition_that_is_used_twice_has_a_name() -> None:
    system = System("shared")
    x, y = system.real("x", -10, 10), system.real("y", -10, 10)
    far = (1234567 * x + 7654321 * y <= 8912345) | (7654321 * x - 1234567 * y >= 5432198)
    system.branch("move", x=where(far, x / 2, -x), y=where(far, y, x), when=far)
    system.branch("stay", when=~far)
    system.initial(x == 0, y == 0)
    found, _ = written(system)
    assert "<=" in dict(found.lines)["e1"]
    for point in ((0, 0), (9, 9), (1, -3)):
        check(system, {"x": Fraction(point[0]), "y": Fraction(point[1])})


def test_equations_of_bundled_scenarios_mean_what_they_do() -> None:
    for name in ("vcas", "frozenlake", "double_integrator", "cruise"):
        system = load_scenario(name).system()
        state = {n: (low + high) / 2 for n, (low, high) in system.box.items()}
        if name == "vcas":
            state.update(h=Fraction(-130), climb=Fraction(-20), tau=Fraction(20), adv=Fraction(3))
        if name == "frozenlake":
            state.update({n: Fraction(n == "cell[5]") for n in state})
        check(system, state)


def test_equations_are_written_as_people_write_them() -> None:
    system = System("small")
    x = system.real("x", -10, 10)
    mode = system.integer("mode", 0, 2, labels={0: "OFF", 1: "LOW", 2: "HIGH"})
    pump = system.agent(switch(mode, {0: 0, 1: 0, 2: where((x > 1) | (x <= -2), 1, 2)}), name="pump")
    system.branch("fill", x=x / 4 - 3 * maximum(x, 0) + pump, when=(x - 2 * mode >= 1) & (mode != 1))
    system.branch("stay")
    system.initial(x == 0, mode == 0)
    found = equations(system, {})
    assert found is not None
    assert found.lines == (("pump", "case mode of { 0 OFF, 1 LOW: 0; 2 HIGH: if x > 1 or x <= -2 then 1 else 2 }"),)
    assert found.branches[0].guard == "x - 2*mode >= 1 and mode != 1"
    assert found.branches[0].updates == (("x", "x/4 - 3*max(x, 0) + pump"),)
    assert (found.branches[1].guard, found.branches[1].updates) == ("", ())


def test_what_is_used_often_is_written_once() -> None:
    scenario = load_scenario("vcas")
    folder = NetworkFolder(scenario.networks)
    system = scenario.system(folder)
    found = equations(system, {digest: name for name, digest in folder.digests.items()})
    assert found is not None
    texts = [text for _, text in found.lines] + [t for b in found.branches for _, t in b.updates]
    assert sum(text.count("9.onnx(") for text in texts) == 1
    assert dict(found.branches[0].updates) == {
        "h": "h - climb - e2/2",
        "climb": "climb + e2",
        "tau": "tau - 1",
        "adv": "advisory",
    }


def test_large_systems_are_not_written_out() -> None:
    system = System("large")
    cells = system.reals("cell", 500, 0, 1)
    system.branch("stay", {cells: cells})
    system.initial(*(c == 0 for c in cells))
    assert equations(system, {}) is None
