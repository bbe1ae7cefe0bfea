"""Random Keras models, stored in all formats and read by VenMAS, against what Keras computes."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.nn.fuzz.keras_architectures import POOL, Architecture, architecture, k, keras
from tests.nn.fuzz.keras_dialects import write_keras2
from tests.nn.fuzz.keras_mutations import mutate_config, mutate_members, mutate_weights
from venmas.errors import NetworkError
from venmas.nn import load_network

POINTS = 3


def case(rng: np.random.Generator, folder: Path) -> str:
    """Store one random model in `folder`, possibly changed afterwards, and read it.

    Formats: .keras and .h5 as the installed Keras writes them, .h5 and .json as Keras 2 did.

    Returns "agrees", or "refused: " and the reason. What is read has to compute what Keras does: exactly, or up to
    rounding where a change may have brought other numbers than dyadic ones. Where Keras cannot load a changed file, it
    has to compute what the model did before the change. Raises `AssertionError` with the change and the configuration
    where values differ, or where an unchanged model that is supported is refused.
    """
    for old in folder.iterdir():
        old.unlink()
    made = architecture(int(rng.integers(POOL)))
    _randomise(rng, made.model)
    path, change = _store(rng, made, folder)
    what = f"{path.name}, {change or 'unchanged'}"
    try:
        network = load_network(path)
    except NetworkError as error:
        if not change and made.supported:
            raise AssertionError(f"{what}: refused: {error}\n{made.model.to_json()}") from error
        return f"refused: {str(error).removeprefix(str(path))}"
    model = made.model
    if change:
        model = _loaded(path) or made.model
    points = rng.integers(-8, 9, (POINTS, network.input_size)) / 2
    for candidate in (model, made.model):
        expected = _run(candidate, points)
        if expected is not None:
            break
    assert expected is not None, f"{what}: Keras gives no values"
    for x, y in zip(points, expected, strict=True):
        if network.smooth:  # tanh, by a change
            given = network.evaluate(x[None])[0]
        else:
            given = np.array([float(v) for v in network.evaluate_exact([Fraction(float(v)) for v in x])])
        rounding = 0 if made.exact and not change else 1e-5 * max(1.0, np.abs(y).max())
        assert given.shape == y.shape and np.abs(given - y).max() <= rounding, (
            f"{what}: at {x} Keras gives {y}, VenMAS {given}\n{made.model.to_json()}"
        )
    return "agrees"


def _randomise(rng: np.random.Generator, model: Any) -> None:
    """Give every weight a new dyadic value."""
    for layer in model.layers:
        if isinstance(layer, k.Normalization) and layer.weights:
            mean, variance, _ = layer.get_weights()
            layer.set_weights([_dyadic(rng, mean), rng.choice([0.25, 1.0, 4.0], variance.shape), np.array(3)])
            layer.finalize_state()
        elif isinstance(layer, k.BatchNormalization):
            variance = [w.name == "moving_variance" for w in (*layer.trainable_weights, *layer.non_trainable_weights)]
            given = zip(variance, layer.get_weights(), strict=True)
            layer.set_weights([rng.choice([0.5, 0.75, 3.75], w.shape) if v else _dyadic(rng, w) for v, w in given])
        elif layer.weights:
            layer.set_weights([_dyadic(rng, w) for w in layer.get_weights()])


def _dyadic(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    return rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], like.shape)


def _store(rng: np.random.Generator, made: Architecture, folder: Path) -> tuple[Path, str]:
    """Write the model in one of the formats; what was changed then, or nothing."""
    form = str(rng.choice(["keras", "h5", "keras 2", "json"], p=[0.4, 0.3, 0.2, 0.1]))
    if not made.supported and form in ("keras 2", "json"):
        form = "h5"
    if any(name in made.model.to_json() for name in ("relu6", "hard_tanh")):  # read where their layer has a module
        form = "keras"
    kind = str(rng.choice(["none", "config", "weights", "members"], p=[0.4, 0.45, 0.12, 0.03]))
    path = folder / {"keras": "net.keras", "json": "net.json"}.get(form, "net.h5")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form in ("keras 2", "json"):
            write_keras2(made.model, path, rng)
        else:
            made.model.save(path)
    if kind == "none" or (form != "keras" and _loaded(path) is None):
        return path, ""  # Keras cannot load all of these: such a file would have no values to compare with when changed
    if form == "keras":
        return path, _change_archive(rng, path, kind)
    weights = path.with_suffix(".h5")
    change = ""
    with h5py.File(weights, "a") as file:
        if kind == "weights":
            change = mutate_weights(rng, file)
        elif form != "json":
            config = json.loads(file.attrs["model_config"])
            change = mutate_config(rng, config)
            file.attrs["model_config"] = json.dumps(config)
    if form == "json" and kind != "weights":
        config = json.loads(path.read_text())
        change = mutate_config(rng, config)
        path.write_text(json.dumps(config))
    return path, change


def _change_archive(rng: np.random.Generator, path: Path, kind: str) -> str:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change = "another member"
    if kind == "config":
        config = json.loads(members["config.json"])
        change = mutate_config(rng, config)
        members["config.json"] = json.dumps(config).encode()
    elif kind == "weights":
        content = BytesIO(members["model.weights.h5"])
        with h5py.File(content, "a") as file:
            change = mutate_weights(rng, file)
        members["model.weights.h5"] = content.getvalue()
    if kind == "members":
        path.write_bytes(mutate_members(rng, members))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    return change


def _loaded(path: Path) -> Any:
    """What Keras makes of a file, None where it cannot load it."""

    def load() -> Any:
        if path.suffix != ".json":
            return keras.models.load_model(path, compile=False)
        model = keras.models.model_from_json(path.read_text())
        model.load_weights(path.with_suffix(".h5"))
        return model

    return _quietly(load)


def _run(model: Any, points: np.ndarray) -> np.ndarray | None:
    """The outputs at points (n, inputs), flat; None where Keras cannot run the model."""
    batch, *shape = [n or 1 for n in model.input_shape]

    def run(x: np.ndarray) -> np.ndarray:
        return np.asarray(model(np.stack([x.reshape(shape)] * batch))[0], dtype=np.float64).ravel()

    return _quietly(lambda: np.array([run(x) for x in points]))


def _quietly(work: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except Exception:  # whatever Keras raises for a file that was changed
            return None
