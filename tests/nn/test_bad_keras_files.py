"""Broken, unsupported and hostile Keras files, written without keras: one clear message, and nothing executed."""

import json
import time
import zipfile
from copy import deepcopy
from io import BytesIO

import h5py
import numpy as np
import pytest

from venmas.errors import NetworkError
from venmas.nn import load_network

FIRST = {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [None, 2]}}


def layer(kind, name="x", **config):
    return {"class_name": kind, "config": {"name": name, **config}}


def dense(name="d", units=2, **config):
    return layer("Dense", name, **{"units": units, "activation": "relu", "use_bias": True, **config})


def model_of(*layers):
    return {"class_name": "Sequential", "config": {"layers": [deepcopy(v) for v in layers]}}


def sequential(*layers):
    return model_of(FIRST, *layers)


def wired(layers, outputs):
    """A functional model; layers: (layer, names of the layers before it)."""
    made = []
    for value, before in layers:
        nodes = [[[name, 0, 0, {}] for name in before]] if before else []
        made.append({**deepcopy(value), "name": value["config"]["name"], "inbound_nodes": nodes})
    return {
        "class_name": "Functional",
        "config": {
            "layers": made,
            "input_layers": [[made[0]["name"], 0, 0]],
            "output_layers": [[o, 0, 0] for o in outputs],
        },
    }


def weights(**arrays):
    """Data sets by path, `__` for `/`; the layer d has its weights unless it is given others."""
    data = {"d__kernel": np.eye(2, dtype=np.float32), "d__bias": np.ones(2, np.float32), **arrays}
    return {k.replace("__", "/"): v for k, v in data.items() if v is not None}


def write_h5(path, config, data):
    with h5py.File(path, "w") as file:
        if config is not None:
            file.attrs["model_config"] = config if isinstance(config, str | bytes) else json.dumps(config)
        for key, value in data.items():
            file[f"model_weights/{key}"] = value


def test_the_frame_of_these_tests_is_sound(tmp_path):
    path = tmp_path / "net.h5"
    write_h5(path, sequential(dense()), weights())
    assert load_network(path).sizes == (2, 2)
    write_h5(path, wired([(FIRST, []), (dense(), ["in"])], ["d"]), weights())
    assert load_network(path).sizes == (2, 2)


def custom(kind, **more):
    return {**layer(kind), **more}


NAN = np.array([[1, np.nan], [0, 1]], np.float32)
LAMBDA = layer("Lambda", function=["4wEAAAAAAAAAAAAAAAEAAABDAAAA", None, None])

# message: (configuration, weights)
BAD = {
    r"layer 'x' \(Lambda\): layers of this class are not supported": (
        sequential(LAMBDA),
        weights(),
    ),
    r"layer 'x' \(Softmax\): .*logits": (sequential(dense(), layer("Softmax")), weights()),
    r"layer 'd' \(Dense\): activation 'softmax' .*logits": (sequential(dense(activation="softmax")), weights()),
    "activation 'hard_tanh' could be a function of a user": (sequential(dense(activation="hard_tanh")), weights()),
    r"layer 'd' \(Dense\): activation 'selu'": (sequential(dense(activation="selu")), weights()),
    "activation .*'registered_name': 'my>relu'.* is not supported": (
        sequential(dense(activation={"class_name": "function", "config": "relu", "registered_name": "my>relu"})),
        weights(),
    ),
    r"\(Conv2D\): KeyError: 'kernel_size'": (
        model_of(layer("InputLayer", "in", batch_shape=[None, 2, 2, 2]), layer("Conv2D", data_format="channels_last")),
        weights(),
    ),
    r"\(BatchNormalization\): KeyError": (sequential(layer("BatchNormalization")), weights()),
    r"\(DepthwiseConv2D\): layers of this class": (sequential(layer("DepthwiseConv2D")), weights()),
    r"\(Multiply\): layers of this class": (sequential(layer("Multiply")), weights()),
    "its dilation_rate is \\[2, 2\\]: expected \\[1, 1\\]": (
        sequential(layer("Conv2D", dilation_rate=[2, 2])),
        weights(),
    ),
    "its groups is 2: expected 1": (sequential(layer("Conv2D", groups=2)), weights()),
    "its padding is 'causal': expected 'valid' or 'same'": (sequential(layer("Conv2D", padding="causal")), weights()),
    "its data_format is 'channels_first': expected 'channels_last'": (
        sequential(layer("MaxPooling2D", data_format="channels_first")),
        weights(),
    ),
    "its epsilon is 1e-07: expected a number from 1.001e-5": (
        sequential(layer("BatchNormalization", epsilon=1e-7)),
        weights(),
    ),
    r"\(LeakyReLU\): expected one of negative_slope and alpha": (
        sequential(layer("LeakyReLU", alpha=0.5, negative_slope=0.5)),
        weights(),
    ),
    r"its slope 0.1 in float64 is no number of float32": (
        sequential(layer("LeakyReLU", alpha=0.1, dtype="float64")),
        weights(),
    ),
    r"\(Sequential\): layers of this class": (sequential({**sequential(dense()), "name": "inner"}), weights()),
    r"layer 'x' \(Dense\): layers of this class": (sequential(custom("Dense", registered_name="my>Dense")), weights()),
    r"layer 'x' \(ReLU\): layers of this class": (sequential(custom("ReLU", module="os")), weights()),
    "its max_value is -6.0: expected a number from 0": (sequential(layer("ReLU", max_value=-6.0)), weights()),
    "its negative_slope is -0.1: expected": (sequential(layer("ReLU", max_value=None, negative_slope=-0.1)), weights()),
    "its threshold is 1.0: expected 0": (sequential(dense(activation=layer("ReLU", threshold=1.0))), weights()),
    "computes in 'mixed_float16'": (sequential(dense(dtype="mixed_float16")), weights()),
    "computes in 'int8'": (
        sequential(dense(dtype={"config": {"name": "int8"}})),
        weights(),
    ),
    "data_format channels_first": (
        sequential(layer("Reshape", "r", target_shape=[1, 2]), layer("Flatten", data_format="channels_first")),
        weights(),
    ),
    r"layer 'x' \(Reshape\): ValueError": (sequential(layer("Reshape", target_shape=[3])), weights()),
    "its variance is negative": (sequential(layer("Normalization", mean=0.0, variance=-1.0)), weights()),
    "its mean is missing": (sequential(layer("Normalization")), weights()),
    "its configuration holds NaN": (sequential(layer("Rescaling", scale=float("nan"), offset=0.0)), weights()),
    r"layer 'x' \(Rescaling\): KeyError: 'offset'": (sequential(layer("Rescaling", scale=2.0)), weights()),
    r"\(Rescaling\): shapes \[1, 2\] and \[3\]": (
        sequential(layer("Rescaling", scale=[1, 2, 3], offset=0.0)),
        weights(),
    ),
    "its bias is missing in the file": (sequential(dense()), weights(d__bias=None)),
    "its kernel is missing": (sequential(dense("e")), weights()),
    r"its kernel has the shape \[2, 2\], its configuration says \[2, 3\]": (sequential(dense(units=3)), weights()),
    r"its configuration says \[2, 1099511627776\]": (sequential(dense(units=1 << 40)), weights()),
    r"layer 'd' \(Dense\): its kernel holds NaN": (sequential(dense()), weights(d__kernel=NAN)),
    "its bias has the type int64": (sequential(dense()), weights(d__bias=np.ones(2, np.int64))),
    "its kernel has the type float16": (sequential(dense()), weights(d__kernel=np.eye(2, dtype=np.float16))),
    "two data sets of the file could be the kernel": (sequential(dense()), weights(d__d__kernel=np.eye(2))),
    "its units is 'many': expected a positive whole number": (sequential(dense(units="many")), weights()),
    "holds weights without a model": (None, weights()),
    "model_config is not JSON": ("{", weights()),
    "model_config is not JSON that can be read: RecursionError": ("[" * 50_000 + "]" * 50_000, weights()),
    "the model_config is a JSON list": ("[]", weights()),
    "not a model as Keras writes it": ({"class_name": "Sequential"}, weights()),
    "not a model as Keras writes it, or damaged": (sequential("dense"), weights()),
    "the model has 0 layers": (model_of(), weights()),
    "the model has 2001 layers": (sequential(*[dense()] * 2000), weights()),
    "a model of the class 'MyModel'": ({**sequential(dense()), "class_name": "MyModel"}, weights()),
    "two layers have the same name": (sequential(dense(), dense()), weights()),
    r"shape of the input is \[None, None\]": (model_of(layer("InputLayer", batch_shape=[None, None])), weights()),
    "shape of the input is None": (model_of(dense()), weights()),
    "the input would have": (model_of(layer("InputLayer", batch_shape=[None, 1 << 40])), weights()),
    r"layer 'a' \(ReLU\) is used twice or takes \['d', 'in'\]: expected one call": (
        wired([(FIRST, []), (dense(), ["in"]), (layer("ReLU", "a"), ["d", "in"])], ["a"]),
        weights(),
    ),
    r"layer 'a' \(Add\): takes shapes \[\[1, 3\], \[1, 2\]\]: expected one shape": (
        wired([(FIRST, []), (dense(units=3), ["in"]), (layer("Add", "a"), ["d", "in"])], ["a"]),
        weights(d__kernel=np.ones((2, 3), np.float32), d__bias=np.ones(3, np.float32)),
    ),
    r"layer 'd' does not lead to the output": (
        wired([(FIRST, []), (dense(), ["in"]), (dense("e"), ["in"])], ["e"]),
        weights(),
    ),
    r"its layers are listed as \['in', 'e', 'd', 'a'\], Keras would have \['in', 'd', 'e', 'a'\]": (
        wired([(FIRST, []), (dense("e"), ["in"]), (dense(), ["in"]), (layer("Add", "a"), ["d", "e"])], ["a"]),
        weights(),
    ),
    r"the model has 2 inputs \['in', 'x'\]": (wired([(FIRST, []), (layer("InputLayer"), [])], ["x"]), weights()),
    "layer 'd' takes the output of layer 'e': expected layers that are listed before it": (
        wired([(dense(), ["e"]), (dense("e"), ["d"])], ["e"]),
        weights(),
    ),
    "layer 'e' takes the output of layer 'f': expected layers that are listed before it": (
        wired([(FIRST, []), (dense(), ["in"]), (dense("e"), ["f"]), (dense("f"), ["e"])], ["d"]),
        weights(),
    ),
    r"its output_layers are \[\['in', 0, 0\]\]: expected one, 'd', with all layers in between": (
        wired([(FIRST, []), (dense(), ["in"])], ["in"]),
        weights(),
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_file(message, tmp_path):
    path = tmp_path / "net.h5"
    config, data = BAD[message]
    write_h5(path, config, data)
    with pytest.raises(NetworkError, match=message) as caught:
        load_network(path)
    assert "net.h5" in str(caught.value)


def archive(path, config, data, **more):
    content = BytesIO()
    with h5py.File(content, "w") as file:
        for key, value in data.items():
            file[key] = value
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("config.json", json.dumps(config))
        made.writestr("model.weights.h5", content.getvalue())
        for name, text in more.items():
            made.writestr(name.replace("__", "."), text)


KEPT = {"layers/dense/vars/0": np.eye(2, dtype=np.float32), "layers/dense/vars/1": np.ones(2, np.float32)}


def test_archives(tmp_path):
    path = tmp_path / "net.keras"
    archive(path, sequential(dense()), KEPT, metadata__json="{}")
    assert load_network(path).sizes == (2, 2)
    data = path.read_bytes()
    for damaged in (b"", b"text", data[:200], data[:-40], data[:90] + b"\xff" * 40 + data[130:]):
        path.write_bytes(damaged)
        with pytest.raises(NetworkError, match=r"net.keras: not a .keras archive, or damaged"):
            load_network(path)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("other.json", "{}")
    with pytest.raises(NetworkError, match=r"not a .keras archive.*config.json"):
        load_network(path)
    archive(path, sequential(dense()), {**KEPT, "layers/dense/vars/0": np.eye(3)})
    with pytest.raises(NetworkError, match=r"layer 'd' \(Dense\): its kernel has the shape \[3, 3\]"):
        load_network(path)


def test_zip_bomb(tmp_path):
    path = tmp_path / "net.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, made.open("config.json", "w") as member:
        for _ in range(80):
            member.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    start = time.perf_counter()
    with pytest.raises(NetworkError, match="larger than"):
        load_network(path)
    assert time.perf_counter() - start < 5


def test_data_in_other_files_is_refused(tmp_path):
    (tmp_path / "secret.bin").write_bytes(np.eye(2, dtype="<f4").tobytes())
    write_h5(tmp_path / "other.h5", None, weights())
    path = tmp_path / "net.h5"
    config = json.dumps(sequential(dense()))
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = config
        group = file.create_group("model_weights/d")
        group.create_dataset("kernel", (2, 2), "f4", external=[(str(tmp_path / "secret.bin"), 0, 16)])
        group["bias"] = np.ones(2, np.float32)
    with pytest.raises(NetworkError, match="stored in another file"):
        load_network(path)
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = config
        layout = h5py.VirtualLayout((2, 2), "f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "model_weights/d/kernel", (2, 2))
        group = file.create_group("model_weights/d")
        group.create_virtual_dataset("kernel", layout)
        group["bias"] = np.ones(2, np.float32)
    with pytest.raises(NetworkError, match="stored in another file"):
        load_network(path)
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = config
        file["model_weights/d"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "model_weights/d")
    with pytest.raises(NetworkError, match="its kernel is missing"):
        load_network(path)
    write_h5(path, sequential(dense()), weights())
    with h5py.File(path, "a") as file:
        file["model_weights"].attrs["layer_names"] = np.array([b"d", b"e"])
        file["model_weights/e"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "model_weights/d")
    with pytest.raises(NetworkError, match="its layer_names list other layers"):
        load_network(path)


def test_huge_claims(tmp_path):
    path = tmp_path / "net.h5"
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(sequential(dense(units=1 << 28)))
        group = file.create_group("model_weights/d")
        group.create_dataset("kernel", (2, 1 << 28), "f4", chunks=(1, 1024))
        group.create_dataset("bias", (1 << 28,), "f4", chunks=(1024,))
    assert path.stat().st_size < 1 << 14
    with pytest.raises(NetworkError, match="would have 536870912 entries"):
        load_network(path)


def test_damaged_hdf5(tmp_path):
    path = tmp_path / "net.h5"
    write_h5(path, sequential(dense()), weights())
    data = path.read_bytes()
    for length in (0, 7, 100, 600, len(data) // 2, len(data) - 100):
        path.write_bytes(data[:length])
        with pytest.raises(NetworkError, match=r"net.h5: not a model as Keras writes it, or damaged"):
            load_network(path)


def test_configuration_without_its_weights(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(sequential(dense())))
    with pytest.raises(NetworkError, match=r"holds no weights: expected them beside it as model.h5, model.weights.h5"):
        load_network(path)
    (tmp_path / "model.h5").write_bytes(b"")
    with pytest.raises(NetworkError, match=r"model.json: not a model as Keras writes it"):
        load_network(path)
    path.write_text("{")
    with pytest.raises(NetworkError, match=r"model.json: the configuration is not JSON"):
        load_network(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.onnx", r"missing.onnx does not exist: check the path"),
        ("net.pt", r"has the extension '.pt': expected one of .onnx, .h5"),
        ("network", r"has no extension: expected one of"),
        ("folder.h5", r"is not a regular file"),
        ("a\0b.nnet", r"cannot be read|does not exist"),
    ],
)
def test_paths(name, message, tmp_path):
    (tmp_path / "folder.h5").mkdir()
    with pytest.raises(NetworkError, match=message):
        load_network(tmp_path / name)


def test_unknown_normalization(tmp_path):
    with pytest.raises(NetworkError, match="normalization 'maybe': expected"):
        load_network(tmp_path / "net.nnet", normalization="maybe")
