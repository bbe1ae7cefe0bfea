"""The table of operators against the definitions of ONNX, and what it keeps out."""

from tests.needs import needs

needs("onnxruntime")

from pathlib import Path

import numpy as np
import onnx
import operator_table
import pytest
from onnx import defs, helper, numpy_helper
from onnx_models import RNG, f32, i64, model, n, run, save, weights

from venmas.errors import NetworkError
from venmas.nn import load_network
from venmas.nn.onnx_constants import CARRIED_OUT
from venmas.nn.onnx_operators import OPERATORS
from venmas.nn.onnx_table import NEWEST, OLDEST, TABLE, form_of

# attributes of ONNX that are refused by name, wherever a version has them
REFUSED = {"Constant": {"sparse_value", "value_string", "value_strings"}}


@pytest.mark.parametrize("op", TABLE)
def test_the_table_says_what_onnx_says(op):
    for opset in range(OLDEST, min(NEWEST, defs.onnx_opset_version()) + 1):
        schema, form = defs.get_schema(op, opset, ""), form_of(op, opset)
        assert not schema.deprecated
        assert set(form.attributes) == set(schema.attributes) - REFUSED.get(op, set()), opset
        for name, attribute in form.attributes.items():
            known = schema.attributes[name]
            assert attribute.kind == known.type.value and attribute.needed == known.required, (opset, name)
            default = helper.get_attribute_value(known.default_value) if known.default_value.name else None
            default = default.decode() if isinstance(default, bytes) else default
            assert attribute.default == default, (opset, name)
        roles, option = form.inputs.split(), defs.OpSchema.FormalParameterOption
        assert [role.rstrip("?!*") for role in roles] == [i.name for i in schema.inputs]
        assert ["?" in role for role in roles] == [i.option == option.Optional for i in schema.inputs], opset
        assert ["*" in role for role in roles] == [i.option == option.Variadic for i in schema.inputs], opset
        assert form.outputs == schema.max_output


def test_the_table_holds_what_is_read_and_nothing_else():
    assert set(TABLE) == {"Shape", *OPERATORS, *CARRIED_OUT}


def test_the_page_is_the_table():
    page = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text(encoding="utf-8")
    table = page[page.index(operator_table.HEAD[0]) :].split("\n\n")[0].splitlines()
    assert table == [*operator_table.HEAD, *operator_table.rows()]
    assert f"opsets {OLDEST} to {NEWEST}" in page


def graph(nodes, shape, opset, **constants):
    """A model of (op, inputs, output, attributes)."""
    proto = model([n("Relu")], shape=shape, opset=opset, **constants)
    del proto.graph.node[:]
    proto.graph.node.extend(helper.make_node(op, i.split(), [o], **a) for op, i, o, a in nodes)
    return proto


@pytest.mark.parametrize("ends", [{}, {"start": 1}, {"start": -2}, {"end": 2}, {"start": -9, "end": -1}, {"end": 9}])
def test_a_part_of_the_shape(ends, tmp_path):
    """As exporters write a view of some dimensions: what Shape leaves out decides where entries go."""
    count = len((2, 3, 4)[slice(ends.get("start"), ends.get("end"))])
    nodes = [
        ("Shape", "x", "s", ends),
        ("Gather", "s i", "g", {}),
        ("Concat", "m g", "t", {"axis": 0}),
        ("Reshape", "x t", "r", {}),
        ("Transpose", "r", "y", {}),
    ]
    path = save(tmp_path, graph(nodes, (2, 3, 4), 15, i=i64(*reversed(range(count))), m=i64(-1)))
    xs = RNG.normal(size=(5, 24)).astype(np.float32)
    np.testing.assert_array_equal(load_network(path).evaluate(xs), run(path, xs))


W = weights(3, 3)

# message: the file; each was read before, as if the attribute, the input or the rule were not there, or may come to be
UNKNOWN = {
    r"\(Shape\): has an attribute 'start' .* in opset 13": graph(
        [("Shape", "x", "s", {"start": 1}), ("Reshape", "x s", "y", {})], (1, 3), 13
    ),
    r"\(Relu\): has an attribute 'alpha' that is not known for it in opset 13: none": model([n("Relu", alpha=0.1)]),
    r"\(MatMul\): has an attribute 'transB'": model([n("MatMul", "_ w", transB=1)], w=W),
    r"\(Gemm\): has an attribute 'broadcast' .* known are alpha, beta": model([n("Gemm", "_ w", broadcast=1)], w=W),
    r"\(Gemm\): expected 0 or 1 \('transB' is 2\)": model([n("Gemm", "_ w", transB=2)], w=W),
    r"\(Gemm\): attribute 'alpha' has the type 2: expected a float": model([n("Gemm", "_ w", alpha=1)], w=W),
    r"\(Gemm\): has 2 inputs, expected 3 in opset 9": model([n("Gemm", "_ w")], w=W, opset=9),
    r"\(Add\): has an attribute 'axis'": model([n("Add", "_ c", axis=0)], c=f32(1), opset=9),
    r"\(Add\): has 3 inputs, expected 2": model([n("Add", "_ c c")], c=f32(1)),
    r"\(Reshape\): has an attribute 'allowzero'": model([n("Reshape", "_ s", allowzero=1)], s=i64(3)),
    r"\(Reshape\): its input 'shape', 't1', is computed": model([n("Relu"), n("Reshape", "x _")]),
    r"\(Reshape\): .*\[-3\] is no shape": model([n("Reshape", "_ s")], s=i64(-3)),
    r"\(Squeeze\): has an attribute 'axes' .* none is known": model([n("Squeeze", axes=[0])]),
    r"\(Squeeze\): has 2 inputs, expected 1": model([n("Squeeze", "_ a")], a=i64(0), opset=11),
    r"\(Squeeze\): .*its axes are empty": model([n("Squeeze", "_ a")], a=i64()),
    r"\(Unsqueeze\): negative axes": model([n("Unsqueeze", axes=[-1])], opset=9),
    r"\(Unsqueeze\): needs the attribute 'axes'": model([n("Unsqueeze")], opset=9),
    r"\(Flatten\): .*axis 3 is out of bounds": model([n("Flatten", axis=3)]),
    r"\(Transpose\): .*perm \[-1, 0\] is no order": model([n("Transpose", perm=[-1, 0])]),
    r"\(Conv\): pads \[1, 1\] and auto_pad VALID": model(
        [n("Conv", "_ r", auto_pad="VALID", pads=[1, 1])], r=weights(2, 3, 1), shape=(1, 3, 4)
    ),
    r"\(Conv\): automatic padding": model(
        [n("Conv", "_ r", auto_pad="SAME_UPPER")], r=weights(2, 3, 1), shape=(1, 3, 4)
    ),
    r"\(Relu\): has 2 outputs, expected at most 1": (lambda proto: proto.graph.node[0].output.append("z") or proto)(
        model([n("Relu")])
    ),
    r"\(Dropout\): is in training mode": model([n("Dropout", ratio=0.5)], opset=6),
    r"\(Dropout\): has an attribute 'is_test'": model([n("Dropout", is_test=1)], opset=7),
    r"\(Max\): takes operands of the shapes \[\[1, 3\], \[1\]\]: before opset 8": model(
        [n("Max", "_ z")], z=f32(0), opset=7
    ),
    r"\(Add\): shapes \[1, 3\] and \[1, 3, 1\] of computed values": graph(
        [("Unsqueeze", "x", "u", {"axes": [2]}), ("Add", "x u", "y", {"broadcast": 1})], (1, 3), 6
    ),
    r"\(Add\): constant 'c' has the type float64, what it meets float32": model([n("Add", "_ c")], c=np.ones(3)),
    r"\(Add\): shapes \[1, 3\] and \[3\] without broadcast": model([n("Add", "_ c")], c=f32(1, 2, 3), opset=6),
    r"\(Add\): a constant of shape \[1, 3\] is not a part": model(
        [n("Add", "_ c", broadcast=1)], c=weights(1, 3), shape=(2, 3), opset=6
    ),
    r"\(Add\): broadcasts its first input": model([n("Add", "c _", broadcast=1)], c=f32(1), opset=6),
    r"\(Gather\): Gather of a computed value is not supported": model([n("Gather", "_ i")], i=i64(0)),
    r"\(Gather\): negative indices": graph(
        [("Shape", "x", "s", {}), ("Gather", "s i", "t", {}), ("Reshape", "x t", "y", {})], (3,), 9, i=i64(-1)
    ),
    r"\(Cast\): has an attribute 'saturate'": model([n("Cast", to=1, saturate=1)], opset=18),
    r"\(Cast\): holds numbers that int64 does not": graph(
        [("Cast", "c", "t", {"to": 7}), ("Reshape", "x t", "y", {})], (3,), 13, c=f32(1e30)
    ),
    r"\(Concat\): of the types \['int64', 'int32'\]": graph(
        [("Concat", "a b", "t", {"axis": 0}), ("Reshape", "x t", "y", {})], (3,), 13, a=i64(1), b=np.int32([3])
    ),
    r"\(Constant\): has the values \['value_int', 'value_ints'\]": graph(
        [("Constant", "", "t", {"value_int": 3, "value_ints": [3]}), ("Reshape", "x t", "y", {})], (3,), 13
    ),
    r"\(Constant\): has an attribute 'value_ints' that is not known for it in opset 11": graph(
        [("Constant", "", "t", {"value_ints": [3]}), ("Reshape", "x t", "y", {})], (3,), 11
    ),
    r"\(Constant\): has an attribute 'value_strings' that is not known": graph(
        [("Constant", "", "t", {"value_strings": ["3"]}), ("Reshape", "x t", "y", {})], (3,), 13
    ),
}


@pytest.mark.parametrize("message", UNKNOWN)
def test_what_the_table_does_not_hold_is_refused(message, tmp_path):
    with pytest.raises(NetworkError, match=message):
        load_network(save(tmp_path, UNKNOWN[message]))


def test_opset_6_broadcasts_as_it_says(tmp_path):
    """A dimension in the middle: the same constants after opset 6, shaped by hand, give what is expected."""
    c, w, b = weights(3), weights(12, 2), weights(2)
    old = [n("Sub", "_ c", broadcast=1, axis=1), n("Reshape", "_ s"), n("Dropout", is_test=1), n("Relu")]
    new = [n("Sub", "_ c"), n("Reshape", "_ s"), n("Relu")]
    s = i64(1, 12)
    gemm = n("Gemm", "_ w b", broadcast=1)
    read = load_network(save(tmp_path, model([*old, gemm], c=c, w=w, b=b, s=s, shape=(1, 3, 4), opset=6)))
    path = save(tmp_path, model([*new, n("Gemm", "_ w b")], c=c[:, None], w=w, b=b, s=s, shape=(1, 3, 4)), "new.onnx")
    xs = RNG.normal(size=(5, 12)).astype(np.float32)
    np.testing.assert_allclose(read.evaluate(xs), run(path, xs), rtol=1e-5, atol=1e-5)


def test_sparse_constants_are_refused(tmp_path):
    values, indices = numpy_helper.from_array(f32(3)), numpy_helper.from_array(i64(0))
    sparse = helper.make_sparse_tensor(values, indices, [3])
    proto = graph([("Constant", "", "c", {"sparse_value": sparse}), ("Add", "x c", "y", {})], (3,), 13)
    onnx.save(proto, str(tmp_path / "net.onnx"))
    with pytest.raises(NetworkError, match="'sparse_value' holds a graph or another value that is not supported"):
        load_network(tmp_path / "net.onnx")


def test_long_attributes_make_short_messages(tmp_path):
    many = list(range(1, 100_000))
    for node in (n("Transpose", perm=many), n("Unsqueeze", axes=[-1, *many]), n("Reshape", "_ s")):
        path = save(tmp_path, model([node], s=np.array([-7, *many], np.int64), opset=10))
        with pytest.raises(NetworkError) as caught:
            load_network(path)
        assert len(str(caught.value)) < 500
