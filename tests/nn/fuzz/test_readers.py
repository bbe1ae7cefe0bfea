"""The short run of `tests.nn.fuzz.run`; ``make fuzz-readers`` is the long one."""

import numpy as np
import pytest

from tests.needs import needs
from tests.nn.fuzz.run import FORMATS, load, run, run_case, total
from venmas.nn import chain, onnx_operators, onnx_reader, onnx_table, pieces

CASES = {"onnx": 400}


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_differs(name):
    needs("keras", "onnxruntime")
    numbers = range(CASES.get(name, 60))
    outcomes = run(name, load(name), 1, numbers)
    assert total(outcomes, "differs") == 0, outcomes
    assert total(outcomes, "agrees") > len(numbers) / 3, outcomes


def test_onnx_that_the_table_holds_is_read():
    """Only what was made to be refused is."""
    needs("keras", "onnxruntime")
    outcomes = run("onnx", load("onnx"), 2, range(200))
    assert [o for o in outcomes if o.startswith("refused") and "on purpose" not in o] == []
    assert total(outcomes, "refused") > 20


PLANTED = {
    "Shape without its ends": (
        onnx_reader,
        "shape_of",
        lambda call, shape: np.array(tuple(shape), dtype=np.int64),
    ),
    "broadcasting of opset 6 as of opset 7": (onnx_operators.Passage, "_as_of_old", lambda self, c, *more: c),
    "beta without effect": (onnx_operators, "_scaled", lambda c, beta: c),
    "held tensors lose what is negative": (
        chain.Value,
        "moved",
        lambda self, up, down, moved=chain.Value.moved: moved(self, up, None),
    ),
    "the average counts its padding": (
        pieces,
        "average_pool",
        lambda *given, average=pieces.average_pool: average(*given[:-1], True),
    ),
    "the least is the largest": (
        pieces,
        "maximum",
        lambda chain, values, least=False, maximum=pieces.maximum: maximum(chain, values),
    ),
    "limits from above are not looked at": (
        pieces,
        "clip",
        lambda chain, low, high, clip=pieces.clip: clip(chain, low, None),
    ),
    "attributes that are not known pass": (
        onnx_table,
        "_value",
        lambda name, attribute, given: given[1] if given else attribute.default,
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_found(fault, monkeypatch):
    needs("keras", "onnxruntime")
    monkeypatch.setattr(*PLANTED[fault])
    case = load("onnx")
    assert any(run_case("onnx", case, 3, number).startswith("differs") for number in range(200, 700))
