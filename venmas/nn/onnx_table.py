"""Table of the ONNX operators that are read, by version of the operator set.

A node is held against the form that its operator has in the operator set of the model: the number of inputs, which of
them must be constants, every attribute with its type and the values that are understood. What the table does not hold
is refused by name. A test compares the table with the definitions that the package onnx carries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any

from venmas.errors import NetworkError

OLDEST, NEWEST = 6, 28
"""Operator sets that the table describes."""

FLOAT, INT, STRING, TENSOR, FLOATS, INTS, STRINGS = 1, 2, 3, 4, 6, 7, 8
"""Types of attributes in the ONNX format (AttributeProto.AttributeType)."""

_TYPES = {
    FLOAT: "a float",
    INT: "an integer",
    STRING: "a string",
    TENSOR: "a tensor",
    FLOATS: "floats",
    INTS: "integers",
    STRINGS: "texts",
}


@dataclass(frozen=True)
class Attribute:
    """An attribute: its type, its value where a node does not give it, and which values are understood.

    A default of None means that there is none; `needed`: the node must give it. refusal: what is said of other values.
    """

    kind: int
    default: Any = None
    needed: bool = False
    understood: Callable[[Any], bool] | None = None
    refusal: str = ""


@dataclass(frozen=True)
class Form:
    """An operator from the operator set `since` on, until its next form.

    inputs: names as in the specification, each followed by ``?`` (may be left out), ``!`` (must be a constant) or ``*``
    (any number, at least one). outputs: most of them; only the first is followed.
    """

    since: int
    inputs: str
    attributes: Mapping[str, Attribute]
    outputs: int = 1


@dataclass(frozen=True)
class Call:
    """A node that fits the table: inputs, none empty at the end ("" where left out), attributes with defaults."""

    op: str
    since: int
    inputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def optional(self, position: int) -> str | None:
        """The name of an input, or None where it is left out."""
        return self.inputs[position] if len(self.inputs) > position and self.inputs[position] else None


def _either(*values: Any, refusal: str = "") -> Callable[[Any], Attribute]:
    """An attribute that takes only these values; called with its default."""
    kind = STRING if isinstance(values[0], str) else INT
    says = refusal or f"expected {' or '.join(map(str, values))}"
    return lambda default: Attribute(kind, default, understood=lambda v: v in values, refusal=says)


def _counted(kind: int, **more: Any) -> Attribute:
    """Axes as they were before negative ones counted from the end."""
    says = "negative axes are known from opset 11 on only"
    return Attribute(kind, **more, understood=lambda v: min(v if kind == INTS else [v], default=0) >= 0, refusal=says)


_FLAG = _either(0, 1)
_ANY_INT, _ANY_FLOAT, _ANY_INTS = Attribute(INT), Attribute(FLOAT), Attribute(INTS)
_BROADCAST = {"broadcast": _FLAG(0), "axis": _counted(INT)}
_GEMM = {"alpha": Attribute(FLOAT, 1.0), "beta": Attribute(FLOAT, 1.0), "transA": _FLAG(0), "transB": _FLAG(0)}
_LARGEST = 3.4028234663852886e38  # of float32, as the specification writes it
_TO = {"to": Attribute(INT, needed=True)}
_SATURATE = _TO | {"saturate": _either(1)(1)}  # speaks of types of eight bits, and runtimes refuse it elsewhere
_ROUND = _SATURATE | {"round_mode": _either("up")("up")}  # as above
_NUMBERS = {
    "value_float": _ANY_FLOAT,
    "value_floats": Attribute(FLOATS),
    "value_int": _ANY_INT,
    "value_ints": _ANY_INTS,
}
_WINDOW = {
    "auto_pad": _either("NOTSET", "VALID", refusal="automatic padding is not supported: expected explicit pads")(
        "NOTSET"
    ),
    "kernel_shape": _ANY_INTS,
    "pads": _ANY_INTS,
    "strides": _ANY_INTS,
}
_CONV = _WINDOW | {"dilations": _ANY_INTS, "group": _either(1, refusal="groups are not supported: expected group 1")(1)}
_POOL = _WINDOW | {"kernel_shape": Attribute(INTS, needed=True)}
_CEIL = {"ceil_mode": _either(0, refusal="windows that reach beyond the padding are not supported: expected 0")(0)}
_AVERAGE = _POOL | {"count_include_pad": _FLAG(0)}
_MAXIMUM = _POOL | {"storage_order": _FLAG(0)}  # of the indices, which are not read
_INFERENCE = _either(1, refusal="is in training mode, which is random: export the model for inference")
_BATCH = {"epsilon": Attribute(FLOAT, 9.999999747378752e-06), "momentum": Attribute(FLOAT, 0.8999999761581421)}
_TRAINED = _either(0, refusal="is in training mode: export the model for inference")
_WHOLE = _either(1, refusal="moments of every entry are not supported: expected one for each channel")

TABLE: dict[str, tuple[Form, ...]] = {
    **{op: (Form(6, "A B", _BROADCAST), Form(7, "A B", {})) for op in ("Add", "Sub", "Mul", "Div")},
    "Abs": (Form(6, "X", {}),),
    "AveragePool": (
        Form(6, "X", _POOL),
        Form(7, "X", _AVERAGE),
        Form(10, "X", _AVERAGE | _CEIL),
        Form(19, "X", _AVERAGE | _CEIL | {"dilations": _ANY_INTS}),
    ),
    "BatchNormalization": (
        Form(6, "X scale! B! mean! var!", _BATCH | {"is_test": _INFERENCE(0), "spatial": _WHOLE(1)}, 5),
        Form(7, "X scale! B! mean! var!", _BATCH | {"spatial": _WHOLE(1)}, 5),
        Form(9, "X scale! B! mean! var!", _BATCH, 5),
        Form(14, "X scale! B! input_mean! input_var!", _BATCH | {"training_mode": _TRAINED(0)}, 3),
    ),
    "Cast": (Form(6, "input", _TO), Form(19, "input", _SATURATE), Form(24, "input", _ROUND)),
    "Clip": (
        Form(6, "input", {"min": Attribute(FLOAT, -_LARGEST), "max": Attribute(FLOAT, _LARGEST)}),
        Form(11, "input min?! max?!", {}),
    ),
    "Concat": (
        Form(6, "inputs*", {"axis": _counted(INT, needed=True)}),
        Form(11, "inputs*", {"axis": Attribute(INT, needed=True)}),
    ),
    "Constant": (
        Form(6, "", {"value": Attribute(TENSOR, needed=True)}),
        Form(11, "", {"value": Attribute(TENSOR)}),
        Form(12, "", {"value": Attribute(TENSOR), **_NUMBERS}),
    ),
    "Conv": (Form(6, "X W! B?!", _CONV),),
    "Dropout": (
        Form(6, "data", {"is_test": _INFERENCE(0), "ratio": Attribute(FLOAT, 0.5)}, 2),
        Form(7, "data", {"ratio": Attribute(FLOAT, 0.5)}, 2),
        Form(12, "data ratio?! training_mode?!", {"seed": _ANY_INT}, 2),
    ),
    "Flatten": (Form(6, "input", {"axis": _counted(INT, default=1)}), Form(11, "input", {"axis": Attribute(INT, 1)})),
    "Gather": (
        Form(6, "data! indices!", {"axis": _counted(INT, default=0)}),
        Form(11, "data! indices!", {"axis": Attribute(INT, 0)}),
    ),
    "Gemm": (Form(6, "A B C!", _GEMM | {"broadcast": _FLAG(0)}), Form(7, "A B C!", _GEMM), Form(11, "A B C?!", _GEMM)),
    **{op: (Form(6, "X", {}),) for op in ("GlobalAveragePool", "GlobalMaxPool")},
    "Identity": (Form(6, "input", {}),),
    "LeakyRelu": (Form(6, "X", {"alpha": Attribute(FLOAT, 0.009999999776482582)}),),
    "MatMul": (Form(6, "A B", {}),),
    **{op: (Form(6, "data_0*", {}), Form(8, "data_0*", {})) for op in ("Max", "Min", "Sum")},
    "MaxPool": (
        Form(6, "X", _POOL),
        Form(8, "X", _MAXIMUM, 2),
        Form(10, "X", _MAXIMUM | _CEIL | {"dilations": _ANY_INTS}, 2),
    ),
    "Neg": (Form(6, "X", {}),),
    "Relu": (Form(6, "X", {}),),
    "Reshape": (Form(6, "data shape!", {}), Form(14, "data shape!", {"allowzero": _FLAG(0)})),
    "Shape": (Form(6, "data", {}), Form(15, "data", {"start": Attribute(INT, 0), "end": _ANY_INT})),
    "Sigmoid": (Form(6, "X", {}),),
    "Squeeze": (
        Form(6, "data", {"axes": _counted(INTS)}),
        Form(11, "data", {"axes": _ANY_INTS}),
        Form(13, "data axes?!", {}),
    ),
    "Tanh": (Form(6, "input", {}),),
    "Transpose": (Form(6, "data", {"perm": _ANY_INTS}),),
    "Unsqueeze": (
        Form(6, "data", {"axes": _counted(INTS, needed=True)}),
        Form(11, "data", {"axes": Attribute(INTS, needed=True)}),
        Form(13, "data axes!", {}),
    ),
}


def _never(kind: int) -> Attribute:
    """An attribute that is not to be given."""
    return Attribute(kind, understood=lambda v: False, refusal="is not supported: expected none")


_CELL = {
    "activation_alpha": _never(FLOATS),
    "activation_beta": _never(FLOATS),
    "clip": _never(FLOAT),
    "direction": _either("forward", refusal="one direction is supported: expected forward")("forward"),
    "hidden_size": _ANY_INT,
}
_LAYOUT = {"layout": _either(0, refusal="the batch as first axis is not supported: expected layout 0")(0)}
_AFTER, _COUPLED = {"linear_before_reset": _FLAG(0)}, {"input_forget": _either(0)(0)}


def _cell(inputs: str, functions: Sequence[str], more: Mapping[str, Attribute]) -> tuple[Form, ...]:
    """Forms of a recurrent operator with its default activations."""
    says = f"expected the activations {', '.join(functions)}"
    names = {"activations": Attribute(STRINGS, understood=lambda v: v == [*functions], refusal=says)}
    roles, outputs = f"X W! R! B?! sequence_lens?! {inputs}", 1 + len(inputs.split()[:2])
    return tuple(
        Form(since, roles, {**_CELL, **names, **more, **extra}, outputs) for since, extra in ((7, {}), (14, _LAYOUT))
    )


RECURRENT: dict[str, tuple[Form, ...]] = {
    "GRU": _cell("initial_h?", ("Sigmoid", "Tanh"), _AFTER),
    "LSTM": _cell("initial_h? initial_c? P?!", ("Sigmoid", "Tanh", "Tanh"), _COUPLED),
    "RNN": _cell("initial_h?", ("Tanh",), {}),
}
"""Operators with a memory (`venmas.nn.onnx_recurrent`)."""


def form_of(op: str, opset: int) -> Form:
    """The form of an operator of the tables in an operator set."""
    return [form for form in TABLE.get(op) or RECURRENT[op] if form.since <= opset][-1]


def fit(
    op: str,
    opset: int,
    inputs: list[str],
    outputs: int,
    given: Mapping[str, tuple[int, Any]],
    is_constant: Callable[[str], bool],
) -> Call:
    """The node as a call of an operator of the table; given: type and value by attribute. Raises `NetworkError`."""
    form = form_of(op, opset)
    at_opset = f"in opset {opset}"
    while inputs and not inputs[-1]:
        inputs = inputs[:-1]
    roles = form.inputs.split()
    least = sum("?" not in role for role in roles)
    most = len(inputs) if "*" in form.inputs else len(roles)
    if not least <= len(inputs) <= most:
        expected = f"{least}" if least == most else f"{least} to {most}" if "*" not in form.inputs else "at least 1"
        raise NetworkError(f"has {len(inputs)} inputs, expected {expected} {at_opset}")
    if outputs > form.outputs:
        raise NetworkError(f"has {outputs} outputs, expected at most {form.outputs} {at_opset}")
    for position, name in enumerate(inputs):
        role = roles[min(position, len(roles) - 1)]
        if not name and "?" not in role:
            raise NetworkError(f"its input {role.rstrip('!*')!r} is left out: {op} needs it {at_opset}")
        if name and "!" in role and not is_constant(name):
            raise NetworkError(f"its input {role.rstrip('!?')!r}, {name!r}, is computed: expected a constant")
    if unknown := [name for name in given if name not in form.attributes]:
        known = f"known are {', '.join(sorted(form.attributes))}" if form.attributes else "none is known"
        raise NetworkError(f"has an attribute {unknown[0]!r} that is not known for it {at_opset}: {known}")
    values = {name: _value(name, attribute, given.get(name)) for name, attribute in form.attributes.items()}
    return Call(op, form.since, tuple(inputs), values)


def _value(name: str, attribute: Attribute, given: tuple[int, Any] | None) -> Any:
    if given is None and attribute.needed:
        raise NetworkError(f"needs the attribute {name!r}, which is not given")
    kind, value = given or (attribute.kind, attribute.default)
    if kind != attribute.kind:
        raise NetworkError(f"attribute {name!r} has the type {kind}: expected {_TYPES[attribute.kind]}")
    if value is not None and attribute.understood is not None and not attribute.understood(value):
        raise NetworkError(f"{attribute.refusal} ({name!r} is {shortened(value)})")
    return value
