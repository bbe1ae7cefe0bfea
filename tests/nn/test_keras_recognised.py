"""Only what is recognised exactly is read; any other class, name, module, key, value, call or data set is refused."""

import json
import zipfile
from copy import deepcopy
from io import BytesIO

import h5py
import numpy as np
import pytest

from venmas.errors import NetworkError
from venmas.nn import load_network

KERAS3 = {"module": "keras.layers", "registered_name": None}
POLICY = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
RELU = {"class_name": "ReLU", "config": {"name": "r", "max_value": None, "negative_slope": 0.0, "threshold": 0.0}}
RELU |= KERAS3
FUNCTION = {"module": "builtins", "class_name": "function", "config": "relu", "registered_name": "function"}
TENSOR = {"class_name": "__keras_tensor__", "config": {"shape": [None, 2], "dtype": "float32"}}


def model(functional=False):
    """in -> a (Dense, activation) -> n (Normalization) -> d (Dropout), as Keras 3 stores it."""
    layers = [
        {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [None, 2], "dtype": "float32"}},
        {"class_name": "Dense", "config": {"name": "a", "dtype": POLICY, "units": 2, "activation": RELU}},
        {"class_name": "Normalization", "config": {"name": "n", "axis": [-1], "mean": None, "variance": None}},
        {"class_name": "Dropout", "config": {"name": "d", "rate": 0.5, "seed": 7, "noise_shape": None}},
    ]
    layers = [{**layer, **KERAS3} for layer in deepcopy(layers)]
    config = {"name": "m", "layers": layers}
    if functional:
        for number, layer in enumerate(layers):
            layer["name"] = layer["config"]["name"]
            tensor = deepcopy(TENSOR)
            tensor["config"]["keras_history"] = [layers[number - 1]["config"]["name"], 0, 0]
            layer["inbound_nodes"] = [{"args": [tensor], "kwargs": {}}] if number else []
        config |= {"input_layers": ["in", 0, 0], "output_layers": ["d", 0, 0]}
    kind = "Functional" if functional else "Sequential"
    return {"module": "keras", "class_name": kind, "config": config, "registered_name": None}


WEIGHTS = {
    "a/m/a/kernel": np.array([[1, -2], [3, 4]], "f4"),
    "a/m/a/bias": np.array([1, 0], "f4"),
    "n/n/mean": np.array([1, 2], "f4"),
    "n/n/variance": np.array([4, 16], "f4"),
    "n/n/count": np.array(0),
}
ARCHIVED = dict(
    zip([f"layers/{p}" for p in ["dense/vars/0", "dense/vars/1"]], list(WEIGHTS.values())[:2], strict=True)
) | {f"layers/normalization/vars/{i}": v for i, v in enumerate(list(WEIGHTS.values())[2:])}


def read_h5(folder, config, data=WEIGHTS, attributes=()):
    path = folder / "net.h5"
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(config)
        for key, value in data.items():
            file[f"model_weights/{key}"] = value
        for group, key, value in attributes:
            file[f"model_weights{group}"].attrs[key] = value
    return load_network(path)


def read_archive(folder, config, data=ARCHIVED, members=()):
    content = BytesIO()
    with h5py.File(content, "w") as file:
        for key, value in data.items():
            file[key] = value
    path = folder / "net.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", content.getvalue())
        for name, text in members:
            archive.writestr(name, text)
    return load_network(path)


def test_archives_written_on_windows(tmp_path):
    archived = {path.replace("layers/", "layers\\"): value for path, value in ARCHIVED.items()}
    assert read_archive(tmp_path, model(), archived) == read_archive(tmp_path, model())


def put(config, path, value):
    """`config` with another value at a path of keys."""
    *inner, last = path
    place = config
    for key in inner:
        place = place[key]
    place[last] = value
    return config


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("activation", [RELU, FUNCTION, "relu"])
def test_the_frame_of_these_tests_is_sound(functional, activation, tmp_path):
    config = put(model(functional), ("config", "layers", 1, "config", "activation"), activation)
    for network in (read_h5(tmp_path, config), read_archive(tmp_path, config)):
        assert list(network.evaluate(np.array([1.0, 1.0]))) == [2.0, 0.0]
        assert list(network.evaluate(np.array([-1.0, 0.0]))) == [-0.5, 0.0]


IN, A, N, D = (("config", "layers", at) for at in range(4))
ACTIVATION = (*A, "config", "activation")
VALUES = {
    "an activation that is a lambda": (ACTIVATION, {"class_name": "__lambda__", "config": {"value": "4wE="}}),
    "an activation that is empty": (ACTIVATION, {}),
    "an activation without a class": (ACTIVATION, {"config": "relu"}),
    "an activation without a configuration": (ACTIVATION, {"class_name": "function", "config": None}),
    "an activation of another class": (ACTIVATION, {**FUNCTION, "class_name": "Scaled"}),
    "an activation of another module": (ACTIVATION, {**FUNCTION, "module": "mine"}),
    "an activation of another name": (ACTIVATION, {**FUNCTION, "registered_name": "mine"}),
    "an activation of another package": (ACTIVATION, {**FUNCTION, "registered_name": "mine>relu"}),
    "an activation with another key": (ACTIVATION, {**FUNCTION, "alpha": 1}),
    "an activation that is a list": (ACTIVATION, ["relu"]),
    "an activation that is false": (ACTIVATION, False),
    "an activation in capitals": (ACTIVATION, "ReLU"),
    "an activation layer of another class": (ACTIVATION, {**RELU, "class_name": "LeakyReLU"}),
    "an activation layer of another name": (ACTIVATION, {**RELU, "registered_name": "mine"}),
    "an activation layer of another module": (ACTIVATION, {**RELU, "module": "mine.layers"}),
    "an activation layer with another key": (ACTIVATION, {**RELU, "config": {**RELU["config"], "alpha": 0.1}}),
    "an activation layer of another slope": (
        ACTIVATION,
        {**RELU, "config": {**RELU["config"], "negative_slope": -0.1}},
    ),
    "an activation layer that jumps": (ACTIVATION, {**RELU, "config": {**RELU["config"], "threshold": 0.1}}),
    "an activation layer of another type": (ACTIVATION, {**RELU, "config": {**RELU["config"], "dtype": "float16"}}),
    "low-rank adaptation": ((*A, "config", "lora_rank"), 2),
    "quantization": ((*A, "config", "quantization_config"), {"class_name": "Int8QuantizationConfig", "config": {}}),
    "a quantized type": ((*A, "config", "dtype"), "int8_from_float32"),
    "a custom type": ((*A, "config", "dtype"), {**POLICY, "registered_name": "mine>DTypePolicy"}),
    "a type with another key": ((*A, "config", "dtype"), {**POLICY, "config": {"name": "float32", "mode": "int8"}}),
    "weights of another type": ((*A, "config", "dtype"), "float64"),
    "an unknown key": ((*A, "config", "gain"), 2.0),
    "units that are true": ((*A, "config", "units"), True),
    "units that are a fraction": ((*A, "config", "units"), 2.0),
    "a bias that is neither there nor not": ((*A, "config", "use_bias"), None),
    "a bias that is not read": ((*A, "config", "use_bias"), False),
    "another name inside": ((*A, "name"), "b"),
    "a registered name": ((*A, "registered_name"), "mine"),
    "a module": ((*A, "module"), "keras.layers.mine"),
    "an unknown key beside the configuration": ((*A, "wrapper"), {}),
    "built for another shape": ((*A, "build_config"), {"input_shape": [None, 3]}),
    "built with another key": ((*A, "build_config"), {"input_shape": [None, 2], "kernel": 1}),
    "an input that is sparse": ((*IN, "config", "sparse"), True),
    "an input that is ragged": ((*IN, "config", "ragged"), True),
    "an input of integers": ((*IN, "config", "dtype"), "int32"),
    "axes that are the batch": ((*N, "config", "axis"), [0, 1]),
    "an axis that is a fraction": ((*N, "config", "axis"), -1.0),
    "an inversion that is a number": ((*N, "config", "invert"), 1),
    "moments that are texts": ((*N, "config", "mean"), ["1", "2"]),
    "a variance alone": ((*N, "config", "variance"), [1.0, 1.0]),
    "an unknown key of the model": (("config", "clip"), 1),
    "an unknown key beside the model": (("wrapper",), {}),
    "a model of another name": (("registered_name",), "mine>Sequential"),
    "a model of another module": (("module",), "mine"),
    "a model of another type": (("config", "dtype"), "float16"),
    "an input in the middle": ((*D, "class_name"), "InputLayer"),
}
CALLS = {
    "called for training": ((*D, "inbound_nodes", 0, "kwargs"), {"training": True}),
    "called with another option": ((*D, "inbound_nodes", 0, "kwargs"), {"scale": 2}),
    "called with a mask": ((*D, "inbound_nodes", 0, "kwargs"), {"mask": [True]}),
    "a second input": ((*A, "inbound_nodes", 0, "args", 0, "config", "keras_history"), ["n", 0, 0]),
    "another output": ((*A, "inbound_nodes", 0, "args", 0, "config", "keras_history"), ["in", 0, 1]),
    "another call": ((*A, "inbound_nodes", 0, "args", 0, "config", "keras_history"), ["in", 1, 0]),
    "a constant": ((*A, "inbound_nodes", 0, "args", 0), {"class_name": "__tensor__", "config": {}}),
    "an early end": (("config", "output_layers"), ["n", 0, 0]),
    "a late start": (("config", "input_layers"), ["a", 0, 0]),
}


@pytest.mark.parametrize("what", VALUES)
def test_what_is_not_recognised_is_refused(what, tmp_path):
    path, value = VALUES[what]
    for functional in (False, True):
        for read in (read_h5, read_archive):
            with pytest.raises(NetworkError, match=r"net\.(h5|keras): ") as caught:
                read(tmp_path, put(model(functional), path, deepcopy(value)))
            assert "damaged" not in str(caught.value)


@pytest.mark.parametrize("what", CALLS)
def test_calls_that_are_not_plain_are_refused(what, tmp_path):
    path, value = CALLS[what]
    with pytest.raises(NetworkError, match=r"(layer|its) '?\w+"):
        read_archive(tmp_path, put(model(True), path, deepcopy(value)))


def test_layers_in_another_order_than_they_are_applied_in_are_refused(tmp_path):
    """Keras counts them in the order of application where it looks for their weights."""
    config = model(True)
    config["config"]["layers"].reverse()
    with pytest.raises(NetworkError, match="expected"):
        read_archive(tmp_path, config)


def test_objects_that_share_their_number_are_the_same(tmp_path):
    config = put(model(), (*A, "config", "dtype"), {**POLICY, "shared_object_id": 5})
    put(config, (*N, "config", "dtype"), {**POLICY, "shared_object_id": 5})
    assert read_archive(tmp_path, config).sizes[0] == 2
    put(config, (*N, "config", "dtype"), {**POLICY, "config": {"name": "float64"}, "shared_object_id": 5})
    with pytest.raises(NetworkError, match="two objects have the shared_object_id 5"):
        read_archive(tmp_path, config, {k: v.astype("f8") if "norm" in k else v for k, v in ARCHIVED.items()})


LORA = {f"a/m/a/lora_kernel_{x}": np.ones((2, 2), "f4") for x in "ab"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (LORA, r"layer 'a' \(Dense\): the file holds 'model_weights/a/m/a/lora_kernel_a', which .* reads"),
        ({"a/m/a/kernel_scale": np.ones(2, "f4")}, "'model_weights/a/m/a/kernel_scale', which"),
        ({"a/m/a/kernel:1": np.ones((2, 2), "f4")}, "'model_weights/a/m/a/kernel:1', which"),
        ({"n/n/gain": np.ones(2, "f4")}, r"layer 'n' \(Normalization\): .*'model_weights/n/n/gain', which"),
        ({"d/d/kernel": np.ones(2, "f4")}, r"layer 'd' \(Dropout\): .*'model_weights/d/d/kernel', which"),
        ({"b/b/kernel": np.ones((2, 2), "f4")}, "'model_weights/b/b/kernel', which no layer reads"),
        ({"top_level_model_weights/gain": np.ones(2, "f4")}, "gain', which no layer reads"),
    ],
)
def test_data_sets_that_nothing_reads_are_refused(data, message, tmp_path):
    with pytest.raises(NetworkError, match=message):
        read_h5(tmp_path, model(), {**WEIGHTS, **data})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"layers/dense/vars/2": np.ones((2, 2), "f4")}, r"layer 'a' \(Dense\): .*'layers/dense/vars/2', which"),
        ({"layers/dense/activation/vars/0": np.ones(2, "f4")}, "'layers/dense/activation/vars/0', which"),
        ({"layers/dense_1/vars/0": np.ones((2, 2), "f4")}, "'layers/dense_1/vars/0', which no layer reads"),
        ({"layers/dropout/vars/0": np.ones(2, "f4")}, r"layer 'd' \(Dropout\): .*'layers/dropout/vars/0', which"),
        ({"vars/0": np.ones(2, "f4")}, "'vars/0', which no layer reads"),
        ({"model_weights/a/a/kernel": np.ones((2, 2), "f4")}, "its bias is missing"),
    ],
)
def test_archived_data_sets_that_nothing_reads_are_refused(data, message, tmp_path):
    with pytest.raises(NetworkError, match=message):
        read_archive(tmp_path, model(), {**ARCHIVED, **data})


def test_state_of_training_is_left_out(tmp_path):
    state = {"layers/dropout/seed_generator/vars/0": np.array([0, 7], "u4"), "optimizer/vars/0": np.array(1)}
    plain = read_archive(tmp_path, model())
    assert read_archive(tmp_path, model(), {**ARCHIVED, **state, "metrics/mean/vars/0": np.array(0.5)}) == plain
    assert read_archive(tmp_path, {**model(), "compile_config": {"optimizer": "adam"}}) == plain
    with h5py.File(tmp_path / "net.h5", "w"):
        pass
    assert read_h5(tmp_path, model()) == plain
    with h5py.File(tmp_path / "net.h5", "a") as file:
        file["optimizer_weights/adam/a/kernel:0"] = np.ones((2, 2), "f4")
    assert load_network(tmp_path / "net.h5") == plain


NAMES = ["m/a/kernel", "m/a/bias"]
MOMENTS = ["n/mean", "n/variance", "n/count"]


@pytest.mark.parametrize("kind", ["S", "O"])
def test_lists_of_weights_have_to_agree_with_what_is_read(kind, tmp_path):
    """Keras goes by the order of these lists, not by the names in them."""

    def names(*values):
        return np.array(values, dtype="S" if kind == "S" else h5py.string_dtype())

    plain = read_h5(tmp_path, model())
    good = [("/a", "weight_names", names(*NAMES)), ("/n", "weight_names", names(*MOMENTS))]
    order = [("/", "layer_names", names("a", "n", "d"))]
    assert read_h5(tmp_path, model(), attributes=[*good, *order]) == plain
    split = [("/", "layer_names0", names("a")), ("/", "layer_names1", names("n", "d"))]
    assert read_h5(tmp_path, model(), attributes=[*good, *split]) == plain
    for wrong in (MOMENTS[:2], [MOMENTS[1], MOMENTS[0], MOMENTS[2]], ["../a/m/a/bias", *MOMENTS[1:]], []):
        with pytest.raises(NetworkError, match=r"layer 'n' \(Normalization\): its weight_names are"):
            read_h5(tmp_path, model(), attributes=[("/n", "weight_names", names(*wrong))])
    for wrong in (["n", "a", "d"], ["a", "a", "n"], ["a", "n", "e"], ["n"]):
        with pytest.raises(NetworkError, match="its layer_names list other layers"):
            read_h5(tmp_path, model(), attributes=[*good, ("/", "layer_names", names(*wrong))])


def test_lists_of_names_that_would_fill_the_memory_are_refused(tmp_path):
    """Many names may be one long text, stored once."""
    text = "x" * 1000
    with pytest.raises(NetworkError, match="its list of layer_names is too long to be checked"):
        read_h5(tmp_path, model(), attributes=[("/", "layer_names", np.array([text] * 900, h5py.string_dtype()))])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("lambda.pkl", "")], "the archive holds 'lambda.pkl', which is not read"),
        ([("assets/layers/a/table.txt", "")], "the archive holds 'assets/layers/a/table.txt', which is not read"),
        ([("config.json", "{}")], "holds weights without a model|KeyError"),
        ([("metadata.json", "{}"), ("metadata.json", "{}")], "the archive holds a file twice"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_archives(members, message, tmp_path):
    assert read_archive(tmp_path, model(), members=[("metadata.json", "{}")]).sizes[0] == 2
    with pytest.raises(NetworkError, match=message):
        read_archive(tmp_path, model(), members=members)


def test_moments_of_another_rank_than_their_layer_was_built_with_are_refused(tmp_path):
    """Adapted on rows and applied to matrices, moments stand along the last axis, whatever `axis` says."""
    config = model()
    layers = config["config"]["layers"]
    layers[0]["config"]["batch_shape"] = [None, 2, 2]
    layers[2] |= {"build_config": {"input_shape": [20, 2]}}
    layers[2]["config"]["axis"] = [1]
    with pytest.raises(NetworkError, match=r"layer 'n' \(Normalization\): was built for inputs of shape \[20, 2\]"):
        read_archive(tmp_path, config)
