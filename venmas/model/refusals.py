"""Protocols of Python that expressions, conditions and vectors have no meaning for, each with what to write instead.

What a class does not define, Python may answer by itself: ``==`` by identity, ``if`` by "true", ``in`` by trying ``==``
on one item after another. A model would then be another one than its author wrote. So each protocol is either defined
by the class or listed here, where it raises `ModelError`; the tests ask for every protocol that Python has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set, Sized
from typing import Any, NoReturn, TypeVar

from venmas.errors import ModelError
from venmas.model.arrays import NumpyOperand

_Class = TypeVar("_Class", bound=type)

_POWER = "a power is taken of one expression: write Vector(c ** 2 for c in v), and dot products with @"
_BASE = "an expression is no exponent; write exp(c * x), with the logarithm of the base as c"
_MODULO = "//, % and divmod are not piecewise linear; of an integer m write switch(m, {0: ..., 1: ..., ...})"
_ROUND = "rounding is not piecewise linear; write where(x < 0.5, 0, 1), or keep the value in an integer variable"
_NUMBER = (
    "{it} has no value in Python, so that math.*, float, int, range, indices and arrays of numbers cannot take it; "
    "write maximum, minimum, absolute, clip, where, argmax, or switch(i, {0: a, 1: b}) for the component that i names"
)
_SHIFT = "{it} cannot be shifted by << or >>; write a product with a number"
_LOGIC = "& | ^ ~ join conditions, not {it}; compare it, and put every comparison in parentheses: (x > 0) & (y == 1)"
_CONTENT = "whether {it} contains something is not known in Python; write a condition: (x == 0) | (x == 1)"
_ONE = "an expression is one number: it has no components and no length; write [x] where several are expected"
_FIXED = "{it} cannot be changed; build another one, Vector([...])"
_CALL = "{it} cannot be called; a product is written with *, and a network applied with apply_network(network, inputs)"
_TEXT = "{it} has no value to format before the system runs; leave the format out"
_TRUTH = (
    "{it} has no truth value in Python, so that if, and, or, not, in, any, all, max, min, sorted and chains of "
    "comparisons cannot use it"
)

_CONVERSIONS = ("__float__", "__int__", "__complex__", "__index__")
_ROUNDINGS = ("__round__", "__trunc__", "__floor__", "__ceil__")
_POWERS = ("__pow__", "__rpow__")
_MODULOS = ("__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__divmod__", "__rdivmod__")
_SHIFTS = ("__lshift__", "__rlshift__", "__rshift__", "__rrshift__")
_CONNECTIVES = ("__and__", "__rand__", "__or__", "__ror__", "__xor__", "__rxor__", "__invert__")
_CHANGES = ("__setitem__", "__delitem__")
_MATRICES = ("__matmul__", "__rmatmul__")
_ITEMS = ("__len__", "__iter__", "__reversed__")
# not __getitem__: with it, numpy takes an expression for a sequence, and tells nothing of the errors here
_ARITHMETIC = tuple(f"__{r}{name}__" for name in ("add", "sub", "mul", "truediv") for r in ("", "r"))
_SIGNS = ("__neg__", "__pos__", "__abs__")
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")


def _each(*groups: tuple[tuple[str, ...], str]) -> dict[str, str]:
    return {name: text for names, text in groups for name in names}


OF_EXPRESSIONS: Mapping[str, str] = _each(
    (("__rpow__",), _BASE),
    (_MODULOS, _MODULO),
    (_ROUNDINGS, _ROUND),
    (_CONVERSIONS, _NUMBER),
    (_SHIFTS, _SHIFT),
    (_CONNECTIVES, _LOGIC),
    (
        _MATRICES,
        "@ is for a matrix of numbers and a vector; a product with a number is written with *, and a matrix of one "
        "column takes a vector of one component, B @ Vector([u])",
    ),
    (_ITEMS, _ONE),
    (_CHANGES, _ONE),
    (("__contains__",), _CONTENT),
    (("__call__",), _CALL),
    (
        ("__bool__",),
        f"{_TRUTH}; compare it, combine conditions with & | ~, choose with where(condition, a, b), "
        "maximum(a, b) or minimum(a, b)",
    ),
)

_AS_NUMBER = "a condition is no number; write where(condition, 1, 0) for the number"

OF_CONDITIONS: Mapping[str, str] = _each(
    (_ARITHMETIC + _SIGNS + _POWERS + _MODULOS + _ROUNDINGS + _CONVERSIONS + _SHIFTS + _MATRICES, _AS_NUMBER),
    (
        _ORDER,
        "conditions are not compared, and chains are split: (0 < x) & (x < 1) for 0 < x < 1; write the condition "
        "itself for c == True, ~c for c == False, (a & b) | (~a & ~b) for a == b",
    ),
    (("__xor__", "__rxor__"), "conditions are joined by & and |; write (a & ~b) | (~a & b) for one of the two"),
    (_ITEMS + _CHANGES, "a condition is one condition: it has no components and no length"),
    (("__contains__",), _CONTENT),
    (("__call__",), "a condition cannot be called; write a & b to join two, where(condition, a, b) to choose"),
    (
        ("__bool__",),
        f"{_TRUTH}; write & | ~ instead of and, or, not, put comparisons in parentheses, split chains such as "
        "0 < x < 1 into (0 < x) & (x < 1), and write where(condition, a, b), maximum, minimum, clip, argmax or "
        "absolute for a choice",
    ),
)

OF_VECTORS: Mapping[str, str] = _each(
    (_POWERS, _POWER),
    (_MODULOS, _MODULO),
    (_ROUNDINGS, _ROUND),
    (_CONVERSIONS, _NUMBER),
    (_SHIFTS, _SHIFT),
    (_CONNECTIVES, _LOGIC),
    (_CHANGES, _FIXED),
    (
        _ORDER,
        "a vector is not compared as a whole; write conjunction(c == 0 for c in v) where all components are meant, "
        "disjunction(c != 0 for c in v) where one is enough (any of the six comparisons)",
    ),
    (
        ("__contains__", "index", "count"),
        "whether a vector contains something is not known in Python; write disjunction(c == x for c in v)",
    ),
    (("__call__",), _CALL),
    (("__bool__",), f"{_TRUTH}; compare its components, conjunction(c > 0 for c in v), or ask for len(v)"),
)


def refusing(it: str, texts: Mapping[str, str]) -> Callable[[_Class], _Class]:
    """Class decorator that gives a class the methods of `texts`, each of which raises `ModelError` with its text.

    it: what the class is called in the texts. The hash, which Python takes from a class that compares, stays that of
    the object.
    """

    def install(cls: _Class) -> _Class:
        methods: dict[str, object] = {name: _refusal(name, text.replace("{it}", it)) for name, text in texts.items()}
        for name, method in (methods | {"__format__": _formatter(it), "__hash__": object.__hash__}).items():
            setattr(cls, name, method)
        return cls

    return install


def _refusal(name: str, text: str) -> Callable[..., NoReturn]:
    def refuse(self: object, *operands: object) -> NoReturn:
        raise ModelError(text)

    refuse.__name__ = name
    return refuse


def _formatter(it: str) -> Callable[[object, str], str]:
    def format_(self: object, spec: str) -> str:
        if spec:
            raise ModelError(_TEXT.replace("{it}", it))
        return str(self)

    return format_


def no_number(value: object) -> str:
    """Why a value is no expression and no number, and what to write."""
    kind = type(value).__name__
    if kind == "Vector" and isinstance(value, Sized):
        return (
            f"a vector of {len(value)} components; take one of them, v[0] (counted from 0), go through them with "
            "Vector(f(c) for c in v), or give them as several operands, f(*v)"
        )
    if kind in _REMEDIES:
        return _REMEDIES[kind]
    if type(value).__module__.startswith(("keras.", "tensorflow.", "tf_keras.")):
        return f'a {kind} of Keras; write model.save("policy.keras"), and load_network("policy.keras") for the network'
    if isinstance(value, str | bytes):
        return f"the text {value!r}; write numbers without quotes and units, and the integer that a label stands for"
    if isinstance(value, Mapping | Set) or (hasattr(value, "__iter__") and not hasattr(value, "__float__")):
        return f"a {kind}; write Vector([...]) for a vector, or give its items as several operands, f(*items)"
    return shortened(value)


_REMEDIES = {
    "Network": "a network; write apply_network(network, [x, y]) for its outputs",
    "NetworkFolder": 'the folder of networks; write apply_network(networks.load("FILE"), [x, y])',
    "Range": "a range of a parameter; write r.low and r.high, as in initial(x >= r.low, x <= r.high)",
    "ndarray": "an array; write Vector(array) for a vector, or take one of its numbers",
    "function": "a function; call it, as in f(x)",
}


def no_condition(value: object) -> str:
    """Why a value is no condition, and what to write."""
    kind = type(value).__name__
    if isinstance(value, Mapping):
        return "a mapping; write comparisons, x == 0"
    if isinstance(value, str | bytes):
        return f"the text {shortened(value)}; write the comparison itself, without quotes"
    if kind == "Vector" or (hasattr(value, "__iter__") and not hasattr(value, "__bool__")):
        return (
            f"a {kind}; write conjunction(conditions) where all have to hold, disjunction(conditions) where one has to"
        )
    if kind in ("bool", "bool_"):  # numpy's is called either, by its version
        return (
            f"{value!r}, which says nothing of the state (Python finds it for `is` and lists by comparing objects); "
            "compare expressions, x == 0, or leave it out"
        )
    return f"{shortened(value)}; compare it, as in x == 1"


def shortened(value: Any) -> str:
    """A value as text of moderate length."""
    text = str(value) if isinstance(value, NumpyOperand) else repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
