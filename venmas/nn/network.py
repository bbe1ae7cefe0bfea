"""Feed-forward networks as layers, evaluated in floats and in exact rationals (design S2).

A network is the real function of its stored weights: a float weight is the rational it denotes, and nothing is ever
folded into weights with rounding. The one operation whose coefficients floats cannot hold, the division by a constant,
keeps its divisor and says so in `Layer.weight_error`. A network with tanh or sigmoid units is `Network.smooth`: it is
run in floats, enclosed by venmas/model/evaluation/balls.py, venmas/bounds/affine/networks.py (with
venmas/bounds/affine/univariate.py), venmas/bounds/single.py, venmas/checker/flowpipes/networks.py and, of many sets,
venmas/checker/covers/batch/networks.py, and refused by all others.

To add an activation (a new literal of `Activation`): each place below reads `Layer.rectified`, or what comes of it, and
refuses what is neither ReLU nor the identity, until it is taught.

1. Exact and float evaluation, `Layer.rectified` and `IntegerLayer`: venmas/nn/network.py.
2. Export to onnxruntime: venmas/nn/runtime.py. Readers: a `Chain`, venmas/nn/chain.py; venmas/nn/sb3_reader.py.
3. Bounds by two affine forms or intervals: venmas/bounds/methods.py, venmas/bounds/linear_forms.py, of unrolled loops
   venmas/bounds/intervals.py; the relaxation itself: venmas/bounds/relaxation.py.
4. Zonotopes: venmas/bounds/zonotope.py, venmas/bounds/zonotope_stacked.py, with errors of float32
   venmas/bounds/single.py; over pieces venmas/bounds/affine/pieces.py; with symbols, and substitution backward
   (CROWN): venmas/bounds/crown_plan.py, venmas/bounds/crown.py; its slopes: venmas/bounds/crown_slopes.py.
5. Their compiled twins: venmas/bounds/compiled/crown.py, venmas/bounds/compiled/crown_kernel.py,
   venmas/bounds/compiled/crown_layers_kernel.py, venmas/bounds/compiled/crown_slopes_kernel.py,
   venmas/bounds/compiled/zonotope_kernel.py, venmas/bounds/compiled/relaxation_kernel.py, and what fills their arrays:
   venmas/bounds/compiled/cutting.py.
6. MILP programs: venmas/procedures/milp/encoding/states/network.py; integers: venmas/model/expressions/domain.py.
7. Explicit search: venmas/procedures/explicit/states/undecided.py; polytopes: venmas/procedures/polytopes/step.py.
8. Unrolled loops as programs: venmas/model/transform/lowering.py, venmas/model/transform/program_writer.py; gradients
   through them: venmas/procedures/branch_and_bound/gradient.py, of attacks: venmas/engine/query/slopes.py.
9. The checker, which is independent: venmas/checker/exact/networks.py; tables: venmas/checker/fixed_point/networks.py;
   words: venmas/checker/inductive/zonotopes.py; trees: venmas/checker/affine/scaled.py, venmas/checker/affine/batch.py,
   venmas/checker/affine/compiled.py, venmas/checker/goals/trees.py.
10. Models for nuXmv: venmas/formats/smv.py. Networks side by side:
   venmas/engine/query/beside.py, and their shapes: venmas/engine/query/joint.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from operator import mul
from typing import Any, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from venmas.budget import ask, asking
from venmas.errors import NetworkError
from venmas.runtime import choices

Activation: TypeAlias = choices.Activation
ACTIVATIONS = choices.ACTIVATIONS
SMOOTH: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "tanh": np.tanh,
    "sigmoid": lambda x: (np.tanh(x / x.dtype.type(2)) + x.dtype.type(1)) / x.dtype.type(2),
}
"""Activations that are not piecewise linear, in floats."""
FloatType: TypeAlias = Literal["float32", "float64"]
Semantics: TypeAlias = choices.Semantics
"""What a network computes: the real function of its weights, or any float32 evaluation of it."""
Array: TypeAlias = NDArray[np.float64]

_HALF_ULP = 2.0**-53
_LARGEST_DIVISOR = 2.0**126  # of float32, with room for its rounding
_WIDE = 64
"""Inputs of a layer from which a row of it takes long enough for a look at the clock."""
_PRODUCTS = 1 << 30
"""Products that a layer may take in one go: some 0.1 s."""
_TUBES = "mode adaptive decides questions about systems with such a network"
_DIVISORS = "expected finite divisors whose reciprocals are normal floats (between 1e-307 and 1e307 in size)"


@dataclass(frozen=True, eq=False)
class Layer:
    """``y = activation(weight @ x + bias)`` over the reals; arrays are read-only float64.

    weight: (out, in); bias: (out,), always exact. Where `divisor` (out,) is given, the layer is the division
    ``y = activation(x / divisor + bias)`` and `weight` holds the floats nearest to ``diag(1 / divisor)`` (`dividing`).
    Shapes and values are checked when a `Network` is built, which can name the layer.
    """

    weight: Array
    bias: Array
    activation: Activation = "linear"
    divisor: Array | None = None

    def __post_init__(self) -> None:
        for field in ("weight", "bias", "divisor"):
            if (value := getattr(self, field)) is not None:
                object.__setattr__(self, field, _frozen(value, field))

    def __reduce__(self) -> tuple[type[Layer], tuple[Array, Array, Activation, Array | None]]:
        return Layer, (self.weight, self.bias, self.activation, self.divisor)  # unpickled arrays are read-only again

    @staticmethod
    def dividing(divisor: ArrayLike, activation: Activation = "linear") -> Layer:
        """The layer ``x / divisor``, exactly; divisor: (n,), finite and not zero.

        Divisions by powers of two that float32 holds are products, which are the same in every precision.
        Raises `NetworkError` where a reciprocal is not a normal float: its relative error would not be bounded.
        """
        c = _frozen(divisor, "divisor")
        reciprocal = _reciprocal(c)
        if reciprocal is None:
            raise NetworkError(f"a division by {_short(c)}: {_DIVISORS}")
        exact = bool(np.all((np.abs(np.frexp(c)[0]) == 0.5) & (np.abs(c) < _LARGEST_DIVISOR)))
        return Layer(np.diag(reciprocal), np.zeros(len(c)), activation, None if exact else c)

    @property
    def in_size(self) -> int:
        """Number of inputs."""
        return int(self.weight.shape[1])

    @property
    def out_size(self) -> int:
        """Number of outputs."""
        return int(self.weight.shape[0])

    @property
    def rectified(self) -> bool:
        """Whether ReLU follows, not the identity. `NetworkError` for smooth units, `AssertionError` for others."""
        match self.activation:
            case "relu":
                return True
            case "linear":
                return False
            case "tanh" | "sigmoid":
                raise NetworkError(f"a layer has {self.activation} units, which are not piecewise linear: {_TUBES}")
            case other:
                assert_never(other)

    @property
    def weight_error(self) -> float:
        """Bound on ``|weight - w| / |weight|`` for the true coefficients w: 0.0 (exact) or 2**-53 (half an ulp)."""
        return 0.0 if self.divisor is None else _HALF_ULP

    @cached_property
    def exact_weight(self) -> tuple[tuple[Fraction, ...], ...]:
        """The true coefficients, (out, in)."""
        if self.divisor is None:
            return tuple(tuple(map(Fraction, row)) for row in self.weight.tolist())
        diagonal = [1 / Fraction(c) for c in self.divisor.tolist()]
        return tuple(tuple(c if i == j else Fraction(0) for j in range(len(diagonal))) for i, c in enumerate(diagonal))

    @cached_property
    def exact_bias(self) -> tuple[Fraction, ...]:
        """The true bias, (out,)."""
        return tuple(map(Fraction, self.bias.tolist()))

    def problem(self) -> str | None:
        """The fault of the layer in itself, or None."""
        if self.weight.ndim != 2 or self.weight.size == 0:
            return f"expected a weight matrix of shape (out, in), got shape {self.weight.shape}"
        if self.bias.shape != (self.out_size,):
            return f"expected a bias of shape ({self.out_size},), got {self.bias.shape}"
        for name, array in (("weight", self.weight), ("bias", self.bias)):
            if (bad := np.argwhere(~np.isfinite(array))).size:
                at = tuple(int(i) for i in bad[0])
                return f"{name}{list(at)} is {array[at]}: every {name} must be a finite number"
        if self.activation not in ACTIVATIONS:
            return f"activation {self.activation!r}: expected {' or '.join(map(repr, ACTIVATIONS))}"
        if self.divisor is not None:
            if (reciprocal := _reciprocal(self.divisor)) is None:
                return f"a division by {_short(self.divisor)}: {_DIVISORS}"
            if reciprocal.shape != (self.out_size,) or not np.array_equal(self.weight, np.diag(reciprocal)):
                return "the weight of a division must be the reciprocals of its divisor: build it with Layer.dividing"
        return None


@dataclass(frozen=True, eq=False)
class IntegerLayer:
    """A layer over a common denominator: `rows` (out, in), `bias` (out,), all divided by `scale`."""

    rows: tuple[tuple[int, ...], ...]
    bias: tuple[int, ...]
    scale: int
    relu: bool


@dataclass(frozen=True, eq=False)
class Network:
    """A chain of layers; equal when the functions are stored alike (same `digest`), whatever file they came from.

    dtype: the type of the stored weights. source: where it was read from. float32_refusal: why float32 evaluations of
    the file may be further from it than its layers say, if they may. Raises `NetworkError` for shapes that do not fit
    together and for weights that are not finite.
    """

    layers: tuple[Layer, ...]
    name: str = "network"
    dtype: FloatType = "float64"
    source: str = ""
    float32_refusal: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise NetworkError(f"network {self.name!r} has no layers: expected at least one")
        before: int | None = None
        for number, layer in enumerate(self.layers, 1):
            problem = layer.problem()
            if problem is None and before is not None and layer.in_size != before:
                problem = f"takes {layer.in_size} inputs, the layer before it gives {before}"
            if problem is not None:
                raise NetworkError(f"network {self.name!r}, layer {number} of {len(self.layers)}: {problem}")
            before = layer.out_size

    def __reduce__(self) -> tuple[type[Network], tuple[tuple[Layer, ...], str, FloatType, str, str]]:
        # caches stay behind
        return Network, (self.layers, self.name, self.dtype, self.source, self.float32_refusal)

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Network) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Network({self.name!r}, {'-'.join(map(str, self.sizes))}, {self.dtype}, {self.digest[:12]})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Widths from the input to the output."""
        return (self.input_size, *(layer.out_size for layer in self.layers))

    @property
    def input_size(self) -> int:
        """Number of inputs."""
        return self.layers[0].in_size

    @property
    def output_size(self) -> int:
        """Number of outputs."""
        return self.layers[-1].out_size

    @property
    def relu_count(self) -> int:
        """Number of ReLU units."""
        return sum(layer.out_size for layer in self.layers if layer.activation not in SMOOTH and layer.rectified)

    @cached_property
    def smooth(self) -> str:
        """The activations that are not piecewise linear, in words such as "tanh units"; empty where there are none."""
        names = dict.fromkeys(layer.activation for layer in self.layers if layer.activation in SMOOTH)
        return f"{' and '.join(names)} units" if names else ""

    @cached_property
    def hidden_and_last(self) -> tuple[tuple[Layer, ...], Layer]:
        """The layers before the final affine map, and that map: the identity where the network ends in a ReLU."""
        if not self.layers[-1].rectified:
            return self.layers[:-1], self.layers[-1]
        return self.layers, Layer(np.eye(self.output_size), np.zeros(self.output_size))

    @cached_property
    def float32_obstacle(self) -> str | None:
        """Why evaluations in float32 are nowhere near the real function, or None.

        A divisor that is infinite there, or operators that runtimes evaluate in another way (`float32_refusal`).
        """
        if self.float32_refusal:
            return f"network {self.name!r} {self.float32_refusal}"
        for number, layer in enumerate(self.layers, 1):
            if layer.divisor is not None and np.any(np.abs(layer.divisor) >= _LARGEST_DIVISOR):
                return f"network {self.name!r}, layer {number}, divides by a number that float32 may not hold"
        return None

    @cached_property
    def digest(self) -> str:
        """Sha256 (hex) over shapes, activations, weights, biases and divisors; -0.0 counts as 0.0."""
        sha = hashlib.sha256()
        for layer in self.layers:
            divisor = layer.divisor if layer.divisor is not None else np.zeros(0)
            sha.update(f"{layer.out_size}x{layer.in_size} {layer.activation} {len(divisor)};".encode())
            for array in (layer.weight, layer.bias, divisor):
                sha.update(np.ascontiguousarray(array + 0.0, dtype="<f8").tobytes())
        sha.update(self.float32_refusal.encode())
        return sha.hexdigest()

    def evaluate(self, x: ArrayLike) -> Array:
        """Evaluate in float64: (batch, in) -> (batch, out), or (in,) -> (out,); `NetworkError` for other shapes."""
        return self._evaluate(x, np.float64)

    def evaluate_float32(self, x: ArrayLike) -> NDArray[np.float32]:
        """Evaluate as deployed: weights, inputs and every intermediate result in float32. Shapes as for `evaluate`."""
        return self._evaluate(x, np.float32)

    def _evaluate(self, x: ArrayLike, dtype: type[np.floating[Any]]) -> NDArray[Any]:
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows as inf or nan in the result
            h = np.asarray(x, dtype=dtype)
            if h.ndim not in (1, 2) or h.shape[-1] != self.input_size:
                raise NetworkError(f"network {self.name!r} takes inputs (batch, {self.input_size}), got {h.shape}")
            turn = max(1, _PRODUCTS // max(layer.weight.size for layer in self.layers))
            if h.ndim == 2 and len(h) > turn:
                return np.concatenate([self._evaluate(h[i : i + turn], dtype) for i in range(0, len(h), turn)])
            arrays = asking(self._floats(np.dtype(dtype).name))
            for (weight, bias, divisor), layer in zip(arrays, self.layers, strict=True):
                h = (h @ weight.T if divisor is None else h / divisor) + bias
                if layer.activation in SMOOTH:
                    h = SMOOTH[layer.activation](h)
                elif layer.rectified:
                    h = np.maximum(h, dtype(0))
        return h

    def _floats(self, dtype: str) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]]:
        """Arrays of the layers in `dtype`, converted once."""
        cache: dict[str, Any] = self.__dict__.setdefault("_float_cache", {})
        if dtype not in cache:
            cache[dtype] = [
                (
                    layer.weight.astype(dtype),
                    layer.bias.astype(dtype),
                    None if layer.divisor is None else layer.divisor.astype(dtype),
                )
                for layer in self.layers
            ]
        return list(cache[dtype])

    def evaluate_exact(self, x: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """The value of the real function at a rational point, exactly: (in,) -> (out,).

        Raises `NetworkError` when the number of inputs is wrong.
        """
        values, denominator = self.evaluate_integers(x)
        return tuple(Fraction(v, denominator) for v in values)

    def evaluate_integers(self, x: Sequence[Fraction]) -> tuple[list[int], int]:
        """The same as numerators over one positive denominator, so that no fraction is reduced."""
        if len(x) != self.input_size:
            raise NetworkError(f"network {self.name!r} takes {self.input_size} inputs, got {len(x)}")
        point = [Fraction(v) for v in x]
        denominator = lcm(*(v.denominator for v in point))
        values = [v.numerator * (denominator // v.denominator) for v in point]
        for layer in self.integer_layers:
            ask()
            rows: Iterable[tuple[tuple[int, ...], int]] = zip(layer.rows, layer.bias, strict=True)
            used = [(i, v) for i, v in enumerate(values) if v]
            if len(values) >= _WIDE:
                rows = asking(rows)
            if 4 * len(used) < len(values):  # such as a position in one-hot form
                values = [sum((row[i] * v for i, v in used), b * denominator) for row, b in rows]
            else:
                values = [sum(map(mul, row, values), b * denominator) for row, b in rows]
            if layer.relu:
                values = [v if v > 0 else 0 for v in values]
            denominator *= layer.scale
        return values, denominator

    @cached_property
    def integer_layers(self) -> tuple[IntegerLayer, ...]:
        """The layers in integers, exactly: a layer maps ``x / d`` to ``(rows @ x + bias * d) / (scale * d)``."""
        layers: list[IntegerLayer] = []
        for layer in self.layers:
            ask()
            weight = layer.weight.tolist() if layer.divisor is None else layer.exact_weight
            ratios = [[v.as_integer_ratio() for v in row] for row in asking((*weight, layer.bias.tolist()))]
            scale = lcm(*{denominator for row in ratios for _, denominator in row})
            whole = [[numerator * (scale // denominator) for numerator, denominator in row] for row in asking(ratios)]
            layers.append(IntegerLayer(tuple(map(tuple, whole[:-1])), tuple(whole[-1]), scale, layer.rectified))
        return tuple(layers)


def relu_network(
    weights: Sequence[ArrayLike], biases: Sequence[ArrayLike], *, name: str = "network", dtype: FloatType = "float64"
) -> Network:
    """The usual network: ReLU after every layer but the last. weights: (out, in) each; biases: (out,) each."""
    if len(weights) != len(biases):
        raise NetworkError(f"network {name!r}: {len(weights)} weight matrices, but {len(biases)} biases")
    last = len(weights) - 1
    return Network(
        tuple(
            Layer(np.asarray(w), np.asarray(b), "linear" if i == last else "relu")
            for i, (w, b) in enumerate(zip(weights, biases, strict=True))
        ),
        name,
        dtype,
    )


def _reciprocal(divisor: Array) -> Array | None:
    """1 / divisor rounded to the nearest float, or None where half an ulp does not bound the relative error."""
    with np.errstate(all="ignore"):
        reciprocal = 1.0 / divisor
        normal = np.isfinite(divisor) & np.isfinite(reciprocal) & (np.abs(reciprocal) >= np.finfo(np.float64).tiny)
    return reciprocal if bool(np.all(normal)) else None


def _short(array: Array) -> str:
    return np.array2string(array, threshold=8, precision=17)


def _frozen(value: ArrayLike, field: str) -> Array:
    """A read-only float64 copy."""
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise NetworkError(f"the {field} of a layer is not an array of numbers: {error}") from error
    array.flags.writeable = False
    return array
