"""What is not read is refused by its name, with its place and a remedy: a row for each row of the table of the page."""

import pytest
from jani_models import automaton, bounded, counter, edge, model, op, put

from venmas import load_jani
from venmas.errors import InputError

pytestmark = pytest.mark.quick


def changed(**more):
    return counter(**more)


def of_type(kind):
    data = counter()
    data["variables"].append({"name": "v", "type": kind, "initial-value": 0})
    return data


def guard(value, **variable):
    variables = [bounded("x", 0, 5), bounded("y", 0, 5), {"name": "b", "type": "bool", "initial-value": False}]
    variables += [bounded("t", 0, 5, transient=True)]
    return model(variables, [automaton("a", [edge(("x", 1), guard=value)])])


def value(new, target="x"):
    variables = [bounded("x", 0, 5), bounded("y", 0, 5), {"name": "b", "type": "bool", "initial-value": False}]
    return model(variables, [automaton("a", [edge((target, new))])])


def edges(*several, **more):
    return model([bounded("x", 0, 5)], [automaton("a", list(several), **more)])


def system(**more):
    data = counter()
    data["system"].update(more)
    return data


def prop(**parts):
    return counter(properties=[{"name": "p", "expression": {"op": "PA", **parts}}])


def exp(name, *operands):
    return {"op": name, **dict(zip(("exp",) if len(operands) == 1 else ("left", "right"), operands, strict=True))}


LOCATED = model(
    [bounded("x", 0, 5), bounded("t", 0, 5, transient=True)],
    [automaton("a", [edge(("x", "t"))], locations=("l",))],
)
LOCATED["automata"][0]["locations"] = [{"name": "l", "transient-values": [{"ref": "t", "value": 1}]}]
TIMED = counter()
TIMED["automata"][0]["locations"] = [{"name": "l", "time-progress": {"exp": True}}]
RATED = counter()
RATED["automata"][0]["edges"][0]["rate"] = {"exp": 1}

REFUSALS = {
    # type
    "ctmc": (changed(type="ctmc"), "type: models of type 'ctmc' are not read, only lts, mdp, dtmc"),
    "pta": (changed(type="pta"), "without clocks and rates"),
    "rate": (RATED, r"edges\[0\].rate: rates are not read"),
    "version": ({**counter(), "x-more": 1}, "the key 'x-more' of a model is not known"),
    "functions": (changed(functions=[]), "functions are not read; write the expression"),
    "feature": (changed(features=["hyperbolic-functions"]), "the feature 'hyperbolic-functions' is not read"),
    # constants
    "constant type": (changed(constants=[{"name": "c", "type": "clock"}]), "of type int, real or bool"),
    "constant twice": (changed(constants=[{"name": "c", "type": "int", "value": 1}] * 2), "'c' is declared twice"),
    "constant later": (changed(constants=[{"name": "c", "type": "int", "value": "d"}]), "no constant or variable 'd'"),
    "constant half": (
        changed(constants=[{"name": "c", "type": "int", "value": 0.5}]),
        "expected a whole number, got 1/2",
    ),
    # variables
    "unbounded": (of_type("int"), r"variables\[1\].type: variables of type 'int' have no bounds; write"),
    "half bounded": (of_type({"kind": "bounded", "base": "int", "lower-bound": 0}), "the type has no upper-bound"),
    "array": (of_type({"kind": "array", "base": "bool"}), "arrays are not read; declare a variable for each element"),
    "clock": (of_type("clock"), "clocks are not read"),
    "continuous": (of_type("continuous"), "continuous variables"),
    "option": (of_type({"kind": "option", "base": "bool"}), "of the kind 'option' are not read"),
    "empty range": (of_type({"kind": "bounded", "base": "int", "lower-bound": 3, "upper-bound": 1}), "is empty"),
    "initial outside": (model([bounded("x", 0, 5, 7)], [automaton("a", [])]), "outside of its range 0 to 5"),
    "declared twice": (model([bounded("x", 0, 1)] * 2, [automaton("a", [])]), "'x' is declared twice"),
    # transient
    "transient in a guard": (guard(op("≥", "t", 1)), "'t' cannot be used here: it is transient"),
    "transient values that are read": (LOCATED, "'t' cannot be used here: a location gives it a value"),
    # automata
    "time progress": (TIMED, r"locations\[0\].time-progress: time is not read"),
    "two initial locations": (
        edges(**{"initial-locations": ["l", "l"]}),
        "expected one of the locations l, got 'l', 'l'",
    ),
    "unknown location": (edges(edge(to="m")), "has no location 'm'"),
    "unknown action": (edges(edge(action="go")), "there is no action 'go'; declare it in 'actions'"),
    "unknown variable": (edges(edge(("z", 1))), "there is no variable 'z' here"),
    # destinations and assignments
    "probability": (edges(edge(("x", 1), probability={"exp": 2})), "a probability is between 0 and 1, got 2"),
    "element assigned": (edges(edge(({"op": "aa", "exp": "A", "index": 1}, 1))), "elements of arrays are not assigned"),
    "twice in a group": (edges(edge(("x", 1), ("x", 2))), "x is assigned twice at index 0"),
    "assigned a Boolean": (value(True), "x is of type int and the value is not"),
    "assigned a number": (value(1, "b"), "b is of type bool and the value is not"),
    "assigned a fraction": (value(op("/", "x", 2)), "x is of type int, and the value may be no whole number"),
    # system
    "input-enable": (system(elements=[{"automaton": "a", "input-enable": ["s"]}]), "input-enabling is not read"),
    "no automaton": (system(elements=[{"automaton": "z"}]), "there is no automaton 'z'; there are a"),
    "twice an automaton": (system(elements=[{"automaton": "a"}] * 2), "'a' takes part twice; declare a second one"),
    "short sync": (system(syncs=[{"synchronise": []}]), "it names 0 actions for 1 elements"),
    "sync of nobody": (system(syncs=[{"synchronise": [None]}]), "nobody takes part"),
    # expressions
    "product": (value(op("*", "x", "y")), "a product of two variables is not piecewise linear"),
    "quotient": (value(op("/", 1, "x")), "divide by a constant other than 0"),
    "modulo": (value(op("%", "x", 2)), "the operator '%' of variables is not piecewise linear"),
    "floor": (value(exp("floor", "x")), "the operator 'floor' of variables"),
    "ceil": (value(exp("ceil", "x")), "the operator 'ceil' of variables"),
    "power": (value(op("pow", "x", 2)), "the operator 'pow' of variables"),
    "derivative": (guard(exp("der", "x")), "the operator 'der': derivatives are not read"),
    "array access": (guard({"op": "aa", "exp": "x", "index": 0}), "the operator 'aa': arrays are not read"),
    "distribution": (value({"distribution": "Uniform", "args": [0, 1]}), "the key 'distribution' of an expression"),
    "unknown operator": (guard(op("<=", "x", 1)), "the operator '<=' is not read; the operators are ∧ ∨ ¬"),
    "extra operand": (guard({**op("<", "x", 1), "middle": 1}), "the key 'middle' of a binary operator is not known"),
    "missing operand": (guard({"op": "<", "left": "x"}), "a binary operator needs the key 'right'"),
    "number as guard": (guard("x"), "expected a Boolean expression, got a number"),
    "mixed comparison": (guard(op("=", "x", "b")), "'=' compares a number with a Boolean"),
    "definitions": (guard({"op": "let", "variables": [{}], "expression": True}), "definitions of a let are not read"),
    "list": (guard([]), "expected an expression .*, got a list of 0"),
    # properties
    "property key": (prop(reaches=True), "the key 'reaches' of a PA property is not known"),
    "not a condition": (prop(reach={"op": "filter"}), "expected a state condition, got the operator 'filter'"),
    "states of arrays": (
        prop(start={"op": "states-values", "values": [{"variables": [{"var": "x", "index": 1, "value": 0}]}]}),
        "arrays are not read",
    ),
    "state outside": (
        prop(start={"op": "states-values", "values": [{"variables": [{"var": "x", "value": 9}]}]}),
        "9 is no value of x, which ranges from 0 to 5",
    ),
    "missing file": (prop(reach={"file": "none.jani"}), "there is no such file"),
    "no start": (prop(start={"op": "state-condition", "exp": op("≥", "x", 9)}), "has no initial states"),
    # text
    "no object": ("[]", "expected a model, an object, got a list of 0"),
    "no JSON": ('{"a": 1,}', "line 1, column 9: expected a key in double quotes"),
    "a key twice": ('{"a": 1, "a": 2}', "the key 'a' stands twice in one object"),
    "cut": ('{"a": [1, ', "line 1, column 11: the text ends too early"),
    "more": ("{} {}", "there is more text after the end"),
    "word": ('{"a": nil}', "line 1, column 7: expected a value"),
    "long number": ('{"a": ' + "9" * 500 + "}", "a number of more than 400 digits"),
    "control character": ('{"a": "\n"}', "Invalid control character"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_name_their_place_and_a_remedy(name, tmp_path):
    data, message = REFUSALS[name]
    path = put(tmp_path, data)
    with pytest.raises(InputError, match=message) as caught:
        load_jani(path).system()
    assert str(path) in str(caught.value) or "none.jani" in str(caught.value)


INTERFACES = {
    "unknown key": (
        {"file": "n.nnet", "input": [], "output": ["a"], "more": 1},
        "the key 'more' of a policy",
    ),
    "no output": ({"file": "n.nnet", "input": [], "output": []}, "there are no outputs"),
    "a label twice": ({"file": "n.nnet", "input": [], "output": ["a", "a"]}, "the label 'a' stands twice"),
    "pickle": ({"file": "n.pth", "input": [], "output": ["a"]}, "is a pickle, which is code, and is never loaded"),
    "no network": ({"file": "n.txt", "input": [], "output": ["a"]}, "n.txt is no network file"),
    "elsewhere": ({"file": "../n.nnet", "input": [], "output": ["a"]}, "is not in the folder"),
    "filter": ({"file": "n.nnet", "input": [], "output": ["a"], "filter": 1}, "'filter' is true or false, got 1"),
    "element": (
        {"file": "n.nnet", "input": [{"name": "A", "automaton": None, "index": 0}], "output": ["a"]},
        "elements of arrays are no inputs",
    ),
}


@pytest.mark.parametrize("name", INTERFACES)
def test_interfaces_that_are_refused(name, tmp_path):
    data, message = INTERFACES[name]
    with pytest.raises(InputError, match=message):
        load_jani(put(tmp_path, counter()), policy=put(tmp_path, data, "i.jani2nnet")).system()


def test_products_of_automata_are_counted_before_they_are_made(tmp_path):
    many = [automaton(f"a{i}", [edge(action="s")] * 100) for i in range(40)]
    path = put(tmp_path, model([bounded("x", 0, 1)], many, ("s",), [(["s"] * 40, "s")]))
    with pytest.raises(InputError, match=r"syncs\[0\]: with it, the automata have more than 10000 combinations"):
        load_jani(path).system()
