"""Keras files against tensorflow, in the formats and dialects that the installed version writes, and older ones."""

import json
import os
import zipfile
from fractions import Fraction
from io import BytesIO

import h5py
import numpy as np
import pytest

from tests.needs import needs
from venmas.nn import load_network

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def keras():
    tensorflow = pytest.importorskip("tensorflow", reason="tensorflow, the runtime compared with, is not installed")
    return tensorflow.keras


def adapted(keras, **options):
    layer = keras.layers.Normalization(**options)
    layer.adapt(RNG.normal(3, 2, size=(50, 3)).astype(np.float32))
    return layer


def plain(keras, k):
    return [keras.Input((3,)), k.Dense(5, "relu"), k.Dense(4, "relu", use_bias=False), k.Dense(2)]


def separate(keras, k):
    return [keras.Input((3,)), k.Dense(5), k.Activation("relu"), k.Dropout(0.3), k.Dense(4), k.ReLU(), k.Dense(2)]


def images(keras, k):
    ends = [k.Dense(6), k.Reshape((3, -1)), k.Dense(2), k.Activation("linear"), k.Flatten()]
    return [keras.Input((2, 3)), k.Dense(4, "relu"), k.Flatten(), *ends]


def normalised(keras, k):
    ends = [k.Dense(4, "relu"), k.Rescaling([1.5, -2.0, 3.0, 0.1], offset=0.3), k.Dense(2), k.Rescaling(1 / 3)]
    return [keras.Input((3,)), adapted(keras), *ends]


def inverted(keras, k):
    return [keras.Input((3,)), k.Dense(3, "relu"), adapted(keras, invert=True), k.GaussianNoise(0.2)]


def given_moments(keras, k):
    return [keras.Input((2, 3)), k.Normalization(mean=[1.0, 2, 3], variance=[4.0, 5, 0]), k.Flatten(), k.Dense(2)]


def scalar_moments(keras, k):
    return [keras.Input((2, 3)), k.Normalization(axis=None, mean=1.5, variance=3.0), k.Flatten(), k.Dense(2)]


def several_axes(keras, k):
    layer = k.Normalization(axis=(1, 2))
    layer.adapt(RNG.normal(size=(30, 2, 3)).astype(np.float32))
    return [keras.Input((2, 3)), layer, k.Flatten(), k.Dense(2)]


def double(keras, k):
    return [keras.Input((3,), dtype="float64"), k.Dense(4, "relu", dtype="float64"), k.Dense(2, dtype="float64")]


def relu_object(keras, k):
    return [keras.Input((3,)), k.Dense(4, activation=k.ReLU()), k.Dense(2, activation=keras.activations.relu)]


DRESSES = [
    plain,
    separate,
    images,
    normalised,
    inverted,
    given_moments,
    scalar_moments,
    several_axes,
    double,
    relu_object,
]


def functional(keras, layers):
    value = first = layers[0]
    for layer in layers[1:]:
        value = layer(value)
    return keras.Model(first, value)


def randomised(model):
    """Biases start at zero: move every weight, so that a forgotten one shows."""
    for layer in model.layers:
        if layer.trainable_variables:
            layer.set_weights([w + RNG.normal(size=w.shape) * 0.5 for w in layer.get_weights()])
    return model


def agree(network, model, rtol=1e-5):
    shape = [d or 1 for d in model.input_shape[1:]]  # Keras 3 reads a Keras 2 Sequential with an axis too many
    xs = RNG.normal(0, 2, size=(30, *shape))
    expected = model(xs.astype(network.dtype)).numpy().reshape(30, -1)
    flat = xs.astype(network.dtype).astype(np.float64).reshape(30, -1)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(network.evaluate(flat), expected, rtol=rtol, atol=2e-6 * scale)
    np.testing.assert_allclose(network.evaluate_float32(flat), expected, rtol=10 * rtol, atol=1e-5 * scale)
    exact = [float(v) for v in network.evaluate_exact([Fraction(float(v)) for v in flat[0]])]
    np.testing.assert_allclose(network.evaluate(flat[0]), exact, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("extension", [".keras", ".h5"])
@pytest.mark.parametrize("style", ["sequential", "functional"])
@pytest.mark.filterwarnings("ignore")
def test_dress_against_tensorflow(dress, extension, style, keras, tmp_path):
    layers = dress(keras, keras.layers)
    model = randomised(keras.Sequential(layers) if style == "sequential" else functional(keras, layers))
    path = tmp_path / f"net{extension}"
    model.save(path)
    network = load_network(path)
    assert network.dtype == ("float64" if dress is double else "float32")
    agree(network, model)


@pytest.mark.filterwarnings("ignore")
def test_configuration_with_weights_beside(keras, tmp_path):
    model = randomised(keras.Sequential(separate(keras, keras.layers)))
    (tmp_path / "net.json").write_text(model.to_json())
    model.save_weights(tmp_path / "net.weights.h5")
    agree(load_network(tmp_path / "net.json"), model)


@pytest.mark.filterwarnings("ignore")
def test_layers_are_matched_with_their_weights(keras, tmp_path):
    """Square layers built in another order than they are applied in: a mix-up would not show in any shape."""
    k = keras.layers
    late, early, middle = (k.Dense(3, "relu", name=name) for name in ("z", "m", "a"))
    first = keras.Input((3,))
    model = randomised(keras.Model(first, late(middle(early(first)))))
    networks = []
    for extension in (".keras", ".h5"):
        model.save(tmp_path / f"net{extension}")
        networks.append(load_network(tmp_path / f"net{extension}"))
        agree(networks[-1], model)
    assert networks[0] == networks[1]


def test_published_networks_agree_in_all_formats(data_dir):
    xs = RNG.uniform(-1, 1, size=(200, 3))
    for i in range(1, 10):
        folder, name = data_dir / "vcas", f"VertCAS_noResp_pra{i:02}_v9_20HU_200"
        keras, onnx = load_network(folder / f"vcas_{i}.h5"), load_network(folder / f"{name}.onnx")
        text = load_network(folder / f"{name}.nnet", normalization="ignore")
        assert keras.sizes == text.sizes == (3, 20, 20, 20, 20, 20, 9)
        assert keras == onnx
        np.testing.assert_allclose(text.evaluate(xs), keras.evaluate(xs), rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_published_networks_against_tensorflow(data_dir, keras):
    for path in (data_dir / "vcas" / "vcas_7.h5", data_dir / "frozenlake" / "agent.h5"):
        agree(load_network(path), keras.models.load_model(path, compile=False), rtol=1e-4)


def test_published_configurations(data_dir):
    """Keras 2.3.1: weights under other names than those of the layers; evaluated by hand from the file."""
    paths = sorted((data_dir / "double_integrator" / "nfl").glob("*/model.json"))
    assert len(paths) == 11
    for path in paths:
        network = load_network(path)
        x = h = RNG.normal(size=(20, 2))
        with h5py.File(path.with_suffix(".h5")) as file:
            layers = json.loads(path.read_text())["config"]["layers"]
            names = [layer["config"]["name"] for layer in layers if layer["class_name"] == "Dense"]
            for name in names:
                weights = {
                    key.split("/")[-1]: file[name][key][()] for key in file[name].attrs["weight_names"].astype(str)
                }
                h = h @ weights["kernel:0"] + weights["bias:0"]
                h = h if name == names[-1] else np.maximum(h, 0)
        np.testing.assert_allclose(network.evaluate(x), h, rtol=1e-6, atol=1e-6)


def test_published_matlab_network(data_dir):
    needs("scipy")
    from data_readers import read_reachsdp_mat

    network = read_reachsdp_mat(data_dir / "double_integrator" / "nnmpc_nets_di_1.mat")
    assert network.sizes == (2, 15, 10, 1)
    assert [layer.activation for layer in network.layers] == ["relu", "relu", "linear"]


def test_the_layout_of_early_archives(tmp_path):
    """Keras 2.12 named the container after its checkpoint dependencies."""
    config = {
        "class_name": "Sequential",
        "config": {
            "layers": [
                {"class_name": "InputLayer", "config": {"name": "in", "batch_input_shape": [None, 2]}},
                {"class_name": "Dense", "config": {"name": "a", "units": 1, "activation": "relu", "use_bias": True}},
                {"class_name": "Dense", "config": {"name": "b", "units": 1, "activation": "linear", "use_bias": False}},
            ]
        },
    }
    weights = BytesIO()
    with h5py.File(weights, "w") as file:
        file["_layer_checkpoint_dependencies/dense/vars/0"] = np.array([[1.0], [2.0]], dtype=np.float32)
        file["_layer_checkpoint_dependencies/dense/vars/1"] = np.array([0.5], dtype=np.float32)
        file["_layer_checkpoint_dependencies/dense_1/vars/0"] = np.array([[3.0]], dtype=np.float32)
    with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", weights.getvalue())
    assert load_network(tmp_path / "net.keras").evaluate([1.0, 1.0]) == 10.5
