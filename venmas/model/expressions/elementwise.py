"""Functions of numpy: ``np.maximum``, ``np.minimum``, ``np.abs``, ``np.clip``, and ``np.sin`` and the like.

They take expressions, vectors, numbers, lists and arrays of one dimension, and work component by component: vectors
have one length, anything else is the same in each component. Numbers are taken exactly, as everywhere in a model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from venmas.errors import ModelError
from venmas.model.expressions.arrays import NumpyOperand
from venmas.model.expressions.expr import Expr, as_expr
from venmas.model.expressions.functions import absolute, clip, maximum, minimum
from venmas.model.expressions.smooth_functions import FUNCTIONS, tan
from venmas.model.expressions.smooth_functions import apply as apply_function
from venmas.model.expressions.vector import Vector


def _each(act: Callable[..., Expr], *operands: Any) -> Expr | Vector:
    """A function of expressions, component by component. Raises `ModelError` for vectors of several lengths."""
    read = [Vector(o) if isinstance(o, list | tuple) or (isinstance(o, np.ndarray) and o.ndim) else o for o in operands]
    sizes = sorted({len(o) for o in read if isinstance(o, Vector)})
    if len(sizes) > 1:
        raise ModelError(
            f"vectors of {sizes[0]} and {sizes[1]} components do not go together; give vectors of one length, or one "
            "number for all components"
        )
    if not sizes:
        return act(*read)
    return Vector(act(*(o[i] if isinstance(o, Vector) else o for o in read)) for i in range(sizes[0]))


def _clip(value: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Expr | Vector:
    """``np.clip``, which may leave out an end."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise ModelError("np.clip got an end twice; write np.clip(x, low, high)")
    if low is None or high is None:
        act, ends = (maximum, [low]) if high is None else (minimum, [high])
        return _each(act, value, *(end for end in ends if end is not None))
    return _each(clip, value, low, high)


NumpyOperand._functions = {
    **dict.fromkeys(("maximum", "fmax"), lambda a, b: _each(maximum, a, b)),
    **dict.fromkeys(("minimum", "fmin"), lambda a, b: _each(minimum, a, b)),
    **dict.fromkeys(("absolute", "fabs"), lambda a: _each(absolute, a)),
    "clip": _clip,
    "tan": lambda a: _each(tan, a),
    "square": lambda a: _each(lambda x: as_expr(x) ** 2, a),
    **{name: partial(_each, partial(apply_function, name)) for name in FUNCTIONS if hasattr(np, name)},
}
