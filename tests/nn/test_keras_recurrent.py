"""Models of Keras with a memory, against Keras step by step, and what is refused by name."""

from tests.needs import needs

needs("keras")

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import pytest

from venmas.errors import NetworkError
from venmas.nn import load_network, load_recurrent

L = keras.layers
XS = np.random.default_rng(0).normal(size=(6, 2))
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {}),
    ("LSTM", {"use_bias": False, "dropout": 0.2, "unit_forget_bias": False}),
    ("GRU", {}),
    ("GRU", {"reset_after": False}),
    ("GRU", {"use_bias": False}),
    ("SimpleRNN", {}),
]


def shaken(model: Any) -> Any:
    """A model whose biases are not zero either."""
    rng = np.random.default_rng(1)
    model.set_weights([rng.normal(size=w.shape) / 2 for w in model.get_weights()])
    return model


def compare(path: Path, expected: np.ndarray) -> None:
    """The outputs of all steps, (steps, outputs)."""
    network, memory = load_recurrent(path), None
    for x, y in zip(XS, expected, strict=True):
        answer, memory = network.evaluate(x, memory)
        np.testing.assert_allclose(answer, y, atol=1e-5)


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_memory_is_kept_along_a_sequence(kind: str, settings: dict[str, Any], tmp_path: Path) -> None:
    cell = getattr(L, kind)
    model = shaken(
        keras.Sequential([
            L.Input((None, 2)), L.Dense(3, activation="relu"), cell(4, return_sequences=True, **settings),
            L.Dropout(0.1), cell(3, return_sequences=True), L.Dense(2),
        ])
    )  # fmt: skip
    for name in ("m.keras", "m.h5"):
        model.save(tmp_path / name)
        compare(tmp_path / name, np.asarray(model(XS[None]))[0])


def test_memory_is_kept_from_call_to_call(tmp_path: Path) -> None:
    model = shaken(
        keras.Sequential([
            L.Input(batch_shape=(1, 1, 2)), L.LSTM(4, stateful=True, return_sequences=True), L.Flatten(),
            L.Reshape((1, 4)), L.GRU(3, stateful=True), L.Dense(2, activation="tanh"),
        ])
    )  # fmt: skip
    model.save(tmp_path / "m.keras")
    compare(tmp_path / "m.keras", np.concatenate([np.asarray(model(x[None, None])) for x in XS]))


def test_the_last_of_a_sequence_and_functional_models(tmp_path: Path) -> None:
    given = L.Input((None, 2))
    model = shaken(keras.Model(given, L.Dense(2)(L.Activation("relu")(L.LSTM(4)(L.Dense(3)(given))))))
    model.save(tmp_path / "m.keras")
    expected = [np.asarray(model(XS[None, : k + 1]))[0] for k in range(len(XS))]
    compare(tmp_path / "m.keras", np.array(expected))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([L.LSTM(3, activation="relu")], "its activation is 'relu': expected 'tanh'"),
        ([L.GRU(3, recurrent_activation="hard_sigmoid")], "its recurrent_activation is 'hard_sigmoid'"),
        ([L.LSTM(3, go_backwards=True)], "its go_backwards is True"),
        ([L.LSTM(3), L.Reshape((1, 3)), L.LSTM(2)], "expected one step"),
        ([L.LSTM(3, return_sequences=True), L.GlobalAveragePooling1D()], "are not supported"),
        ([L.LSTM(3, return_sequences=True), L.BatchNormalization()], "may mix its entries"),
        ([L.Bidirectional(L.LSTM(3))], "are not supported"),
    ],
)
def test_what_is_not_recognised_is_refused_by_name(layers: list[Any], message: str, tmp_path: Path) -> None:
    keras.Sequential([L.Input((None, 2)), *layers]).save(tmp_path / "m.keras")
    with pytest.raises(NetworkError, match=message):
        load_recurrent(tmp_path / "m.keras")


def test_a_memory_that_is_not_kept_is_refused(tmp_path: Path) -> None:
    for steps, message in ((1, "does not keep its memory from step to step"), (3, "expected one step")):
        keras.Sequential([L.Input((steps, 2)), L.LSTM(3)]).save(tmp_path / "m.keras")
        with pytest.raises(NetworkError, match=message):
            load_recurrent(tmp_path / "m.keras")


def test_a_way_around_the_cell_is_refused(tmp_path: Path) -> None:
    given = L.Input(batch_shape=(1, 1, 2))
    cell = L.LSTM(3, stateful=True, return_sequences=True)(given)
    keras.Model(given, L.Concatenate()([cell, given])).save(tmp_path / "m.keras")
    with pytest.raises(NetworkError, match="stands beside layer"):
        load_recurrent(tmp_path / "m.keras")


def test_each_reader_names_the_other(tmp_path: Path) -> None:
    keras.Sequential([L.Input((None, 2)), L.GRU(3)]).save(tmp_path / "m.keras")
    with pytest.raises(NetworkError, match="load_recurrent"):
        load_network(tmp_path / "m.keras")
    keras.Sequential([L.Input((2,)), L.Dense(3)]).save(tmp_path / "n.keras")
    with pytest.raises(NetworkError, match="load_network"):
        load_recurrent(tmp_path / "n.keras")
