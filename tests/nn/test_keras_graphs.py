"""Convolutions, pools, merges and skip connections of stored Keras models, against numpy from what Keras documents."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.nn.layer_table import HEAD, RECURRENT_HEAD, rows
from tests.nn.test_bad_keras_files import layer, model_of, wired, write_h5
from venmas.errors import NetworkError
from venmas.nn import load_network
from venmas.nn.keras_known import LAYERS, RECURRENT

RNG = np.random.default_rng(4)
SHAPES = [(4, 5, 2), (3, 3, 1), (5, 2, 3)]


def windows(x, size, strides, padding, fill):
    """Windows of an image (h, w, c): (out h, out w, kh, kw, c). "same": as many as strides fit, more padding behind."""
    if padding == "same":
        total = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(x.shape, size, strides, strict=False)]
        x = np.pad(x, [*((t // 2, t - t // 2) for t in total), (0, 0)], constant_values=fill)
    places = [range(0, n - k + 1, s) for n, k, s in zip(x.shape, size, strides, strict=False)]
    return np.array([[x[i : i + size[0], j : j + size[1]] for j in places[1]] for i in places[0]])


def convolution(x, weights, config):
    seen = windows(x, config["kernel_size"], config["strides"], config["padding"], 0.0)
    return np.einsum("abijc,ijcf->abf", seen, weights["kernel"]) + weights.get("bias", 0)


def pooled(kind, x, config):
    if kind.startswith("Global"):
        best = x.max(axis=(0, 1), keepdims=True) if "Max" in kind else x.mean(axis=(0, 1), keepdims=True)
        return best if config["keepdims"] else best.ravel()
    seen = windows(x, config["pool_size"], config["strides"], config["padding"], np.nan)
    return np.nanmax(seen, axis=(2, 3)) if "Max" in kind else np.nanmean(seen, axis=(2, 3))


def check(tmp_path, config, data, shape, reference):
    write_h5(tmp_path / "net.h5", config, data)
    network = load_network(tmp_path / "net.h5")
    for _ in range(4):
        x = RNG.integers(-8, 9, shape) / 4
        given = [float(v) for v in network.evaluate_exact([Fraction(float(v)) for v in x.ravel()])]
        np.testing.assert_allclose(given, reference(x).ravel(), rtol=1e-12, atol=1e-12)
    return network


def first(shape):
    return layer("InputLayer", "in", batch_shape=[None, *shape])


def steps(**more):
    padding = str(RNG.choice(["same", "valid"]))
    return {"strides": RNG.integers(1, 3, 2).tolist(), "padding": padding, "data_format": "channels_last", **more}


@pytest.mark.parametrize("number", range(8))
def test_convolutions_and_pools(number, tmp_path):
    shape = SHAPES[number % 3]
    conv = layer(
        "Conv2D",
        "d",
        filters=3,
        kernel_size=[int(RNG.integers(1, n + 1)) for n in (3, 2)],
        dilation_rate=[1, 1],
        groups=1,
        use_bias=True,
        activation="linear",
        **steps(),
    )
    kind = [k for k in LAYERS if "Pooling2D" in k][number % 4]
    settings = {"keepdims": bool(number % 2), "data_format": "channels_last"}
    pool = layer(kind, "p", **(settings if kind.startswith("Global") else steps(pool_size=[1, 2], padding="same")))
    pool["config"]["padding"] = "same"
    if kind.startswith("Global"):
        del pool["config"]["padding"]
    data = {"kernel": RNG.normal(size=(*conv["config"]["kernel_size"], shape[-1], 3)), "bias": RNG.normal(size=3)}
    data = {f"d/{key}": value.astype(np.float32) for key, value in data.items()}
    weights = {key[2:]: value.astype(float) for key, value in data.items()}

    def reference(x):
        return pooled(kind, convolution(x, weights, conv["config"]), pool["config"])

    network = check(tmp_path, model_of(first(shape), conv, pool), data, shape, reference)
    assert not network.float32_refusal or "GlobalAverage" in kind


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("center", [False, True])
def test_normalisation_of_batches(scale, center, tmp_path):
    epsilon = 1e-3
    norm = layer("BatchNormalization", "d", axis=[3], epsilon=epsilon, scale=scale, center=center, momentum=0.9)
    data = {f"d/{k}": RNG.normal(size=2).astype(np.float32) for k in ("gamma", "beta", "moving_mean")}
    data["d/moving_variance"] = RNG.uniform(0.1, 3, 2).astype(np.float32)
    for key, there in (("d/gamma", scale), ("d/beta", center)):
        if not there:
            del data[key]

    def reference(x):
        w = {key[2:]: value.astype(float) for key, value in data.items()}
        spread = np.sqrt(w["moving_variance"] + float(np.float32(epsilon)))
        return (x - w["moving_mean"]) / spread * w.get("gamma", 1) + w.get("beta", 0)

    network = check(tmp_path, model_of(first((2, 3, 2)), norm), data, (2, 3, 2), reference)
    assert "normalisation of batches" in network.float32_refusal


KERAS_3 = {"module": "keras.layers"}
RECTIFIED = {
    "leaky": (layer("LeakyReLU", negative_slope=0.3), lambda x: np.where(x > 0, x, np.float32(0.3) * x)),
    "leaky of Keras 2": (layer("LeakyReLU", alpha=0.25), lambda x: np.where(x > 0, x, 0.25 * x)),
    "six": (layer("ReLU", max_value=6.0, threshold=0.0), lambda x: np.clip(x, 0, 6)),
    "one": (layer("ReLU", max_value=1, negative_slope=0.5), lambda x: np.minimum(np.where(x > 0, x, x / 2), 1)),
    "relu6": ({**layer("Activation", activation="relu6"), **KERAS_3}, lambda x: np.clip(x, 0, 6)),
    "hard": ({**layer("Activation", activation="hard_tanh"), **KERAS_3}, lambda x: np.clip(x, -1, 1)),
    "inner": (layer("Activation", activation=layer("LeakyReLU", negative_slope=2)), lambda x: np.minimum(x * 2, x)),
}


@pytest.mark.parametrize("name", RECTIFIED)
def test_rectifiers(name, tmp_path):
    made, reference = RECTIFIED[name]
    scaled = layer("Rescaling", "r", scale=4.0, offset=0.0)
    check(tmp_path, model_of(first((3,)), scaled, made), {}, (3,), lambda x: reference(4 * x))


@pytest.mark.parametrize(
    ("made", "moved"),
    [
        (layer("Rescaling", "r", scale=0.1, offset=0.0), True),
        (layer("Rescaling", "r", scale=[1.0, -1.0, 1.0], offset=0.5), False),
        (layer("Normalization", "n", axis=-1, mean=[0.5], variance=[4.0]), True),
    ],
)
def test_factors_that_compilers_move_leave_single_precision_unproved(made, moved, tmp_path):
    write_h5(tmp_path / "net.h5", model_of(first((3,)), made), {})
    assert bool(load_network(tmp_path / "net.h5").float32_refusal) is moved


MERGED = {
    "Add": lambda *v: sum(v),
    "Subtract": lambda a, b: a - b,
    "Maximum": lambda *v: np.maximum.reduce(v),
    "Minimum": lambda *v: np.minimum.reduce(v),
    "Concatenate": lambda *v: np.concatenate(v, axis=0),
}


@pytest.mark.parametrize("kind", MERGED)
def test_skip_connections(kind, tmp_path):
    """Of the input, of a layer and of a merge, past a ReLU."""
    weights = {name: RNG.normal(size=(3, 3)).astype(np.float32) for name in "de"}
    plain = {"units": 3, "use_bias": False, "activation": "linear"}
    merge = layer(kind, "m", **({"axis": 1} if kind == "Concatenate" else {}))
    model = [
        (first((2, 3)), []),
        (layer("Dense", "d", **plain), ["in"]),
        (layer("ReLU", "r"), ["d"]),
        (layer("Dense", "e", **plain), ["r"]),
        (layer("Add", "s"), ["e", "d", "in"]),
        (merge, ["s", "r"]),
    ]

    def reference(x):
        d = x @ weights["d"].astype(float)
        r = np.maximum(d, 0)
        return MERGED[kind](r @ weights["e"].astype(float) + d + x, r)

    data = {f"{name}/kernel": value for name, value in weights.items()}
    check(tmp_path, wired(model, ["m"]), data, (2, 3), reference)


def test_one_tensor_twice(tmp_path):
    model = [(first((2,)), []), (layer("ReLU", "r"), ["in"]), (layer("Add", "s"), ["r", "r"])]
    check(tmp_path, wired(model, ["s"]), {}, (2,), lambda x: 2 * np.maximum(x, 0))


def test_smooth_units_beside_a_skip_connection_are_refused(tmp_path):
    bent = layer("Activation", "r", activation="tanh")
    model = wired([(first((2,)), []), (bent, ["in"]), (layer("Add", "s"), ["r", "in"])], ["s"])
    write_h5(tmp_path / "net.h5", model, {})
    with pytest.raises(NetworkError, match=r"layer 'r' \(Activation\): gives tanh units beside tensors"):
        load_network(tmp_path / "net.h5")


@pytest.mark.parametrize(("head", "layers"), [(HEAD, LAYERS), (RECURRENT_HEAD, RECURRENT)])
def test_the_table_of_layers_is_that_of_the_reader(head, layers):
    page = (Path(__file__).parents[2] / "docs/own-network.md").read_text().splitlines()
    at = page.index(head[0])
    assert page[at : page.index("", at)] == [*head, *rows(layers)]


@pytest.mark.parametrize("kind", [*LAYERS, *RECURRENT])
def test_every_layer_refuses_what_its_table_does_not_hold(kind, tmp_path):
    made = layer(kind, unheard=1)
    write_h5(tmp_path / "net.h5", model_of(first((2, 2, 2)), made) if kind != "InputLayer" else model_of(made), {})
    with pytest.raises(NetworkError, match=rf"\({kind}\): its configuration has 'unheard': 1, which is not supported"):
        load_network(tmp_path / "net.h5")
