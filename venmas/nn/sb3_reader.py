"""Zips of RecurrentPPO, of Stable-Baselines3's contributions, as networks with memory.

The actor is read: what `predict` answers with is an LSTM, layers with tanh, sigmoid or ReLU units and a linear layer,
which gives the scores of actions, or the actions before they are cut off at the ends of their space. Settings and
weights are data here (`venmas.nn.pickled`); neither torch nor what the file names is imported. What a setting means is
in a table, and others are refused by name.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.files import parse_json, read_bytes, read_member
from venmas.nn.network import Activation, Layer, Network
from venmas.nn.pickled import Made, Named, read_pickle
from venmas.nn.recurrent import Cell, Recurrent
from venmas.nn.torch_state import Weights, read_state
from venmas.nn.vec_normalize import read_normalization

_POLICY = "sb3_contrib.common.recurrent.policies.RecurrentActorCriticPolicy"
_BOX, _DISCRETE = "gymnasium.spaces.box.Box", "gymnasium.spaces.discrete.Discrete"
_FLATTEN = "stable_baselines3.common.torch_layers.FlattenExtractor"
_UNITS: Mapping[str, Activation] = {
    "torch.nn.modules.activation.Tanh": "tanh",
    "torch.nn.modules.activation.ReLU": "relu",
    "torch.nn.modules.activation.Sigmoid": "sigmoid",
}
_TRAINING = {"ortho_init", "log_std_init", "full_std", "use_expln", "optimizer_class", "optimizer_kwargs"}
_CRITIC = {"share_features_extractor", "shared_lstm", "enable_critic_lstm"}
_SIZES = {"net_arch", "lstm_hidden_size", "n_lstm_layers"}
"""Settings that the shapes of the weights say as well."""
_IMAGES = {"normalize_images"}
"""Settings of images, which are not read."""
_ONLY: Mapping[str, tuple[Any, ...]] = {
    "use_sde": (False,),
    "squash_output": (False,),
    "features_extractor_class": (Named(_FLATTEN),),
    "features_extractor_kwargs": (None, {}),
    "lstm_kwargs": (None, {}),
}
_OTHERS = ("lstm_critic.", "critic.", "mlp_extractor.value_net.", "value_net.", "log_std")
"""Weights that `predict` does not use."""
_GATES = (0, 3, 1, 2)
"""The gates of torch, i, f, g, o, in the order of `Cell`: i, o, f, g."""


def read_recurrent(path: Path, normalization: Path | None = None) -> Recurrent:
    """Read the zip that ``RecurrentPPO.save`` writes. Raises `NetworkError`.

    normalization: the file of VecNormalize, which comes before the network. It has to be given where the model was
    trained with it, as far as the zip says.
    """
    data = read_bytes(path)
    try:
        settings = parse_json(read_member(data, "data", _ARCHIVE), "the member data")
        unit = _check(settings, normalization is not None)
        weights = read_state(read_member(data, "policy.pth", _ARCHIVE))
        stages: list[Network | Cell] = [*_cells(weights), _head(weights, unit)]
        if weights.rest(_OTHERS):
            raise NetworkError(f"its policy has the weights {weights.rest(_OTHERS)[0]!r}, which are not recognised")
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {str(error)[:200]}"
        raise NetworkError(f"{path}: not {_ARCHIVE}, or damaged: {what}; save it again") from error
    before = None if normalization is None else read_normalization(normalization)
    return Recurrent(tuple(stages if before is None else [before, *stages]), path.stem, str(path))


_ARCHIVE = "a model that RecurrentPPO.save wrote"


def _check(settings: Mapping[str, Any], normalized: bool) -> Activation:
    """The units of the policy's layers. Raises `NetworkError` for settings that change what `predict` does."""
    policy = _value(settings, "policy_class")
    if policy != Named(_POLICY):
        raise NetworkError(
            f"its policy is {_text(policy)}: expected RecurrentPPO of sb3_contrib with MlpLstmPolicy, {_POLICY}"
        )
    if _value(settings, "use_sde") is not False:
        raise NetworkError("it has use_sde, which is not supported")
    if not normalized and _value(settings, "_last_original_obs") is not None:
        raise NetworkError(
            "it was trained with VecNormalize: give its statistics, load_recurrent('model.zip', "
            "normalization='vecnormalize.pkl'), of env.save('vecnormalize.pkl')"
        )
    _space(settings, "observation_space", {_BOX: lambda space: space.get("dtype").args[0] in ("f4", "f8")})
    _space(settings, "action_space", {_BOX: lambda _: True, _DISCRETE: _from_zero})
    given = _value(settings, "policy_kwargs")
    if not isinstance(given, dict):
        raise NetworkError(f"its policy_kwargs are {_text(given)}: expected a dictionary")
    unit: Activation = "tanh"
    for name, value in given.items():
        if name == "activation_fn":
            if not isinstance(value, Named) or value.name not in _UNITS:
                raise NetworkError(f"its activation_fn is {_text(value)}: expected torch.nn.Tanh, ReLU or Sigmoid")
            unit = _UNITS[value.name]
        elif name in _ONLY:
            if not any(value == only and type(value) is type(only) for only in _ONLY[name]):
                raise NetworkError(f"its policy has {name} = {_text(value)}: expected {_text(_ONLY[name][0])}")
        elif name not in _TRAINING | _CRITIC | _SIZES | _IMAGES:
            raise NetworkError(f"its policy has {name} = {_text(value)}, which is not recognised")
    return unit


def _value(settings: Mapping[str, Any], name: str) -> Any:
    """A setting, as JSON or, where it is no value of JSON, as the pickle in it."""
    if name not in settings:
        raise NetworkError(f"it has no {name!r}: expected {_ARCHIVE}")
    value = settings[name]
    if not isinstance(value, dict) or ":serialized:" not in value:
        return value
    try:
        return read_pickle(b64decode(value[":serialized:"], validate=True))
    except (ValueError, TypeError) as error:
        raise NetworkError(f"its {name!r} is no base64: save it again") from error


def _space(settings: Mapping[str, Any], name: str, known: Mapping[str, Callable[[Made], bool]]) -> None:
    space = _value(settings, name)
    if not isinstance(space, Made) or space.of not in known or not known[space.of](space):
        kinds = " or ".join(of.rpartition(".")[2] for of in known)
        raise NetworkError(f"its {name} is {_text(space)}: expected {kinds} of Gymnasium, of floats or from 0")


def _from_zero(space: Made) -> bool:
    start = space.get("start")
    return bool((start.args[1].strip(b"\0") == b"") if isinstance(start, Made) else start == 0)


def _cells(weights: Weights) -> list[Cell]:
    """The layers of the LSTM."""
    cells: list[Cell] = []
    while (layer := f"_l{len(cells)}") and (not cells or f"lstm_actor.weight_ih{layer}" in weights):
        w, r, b, c = (
            weights.take(f"lstm_actor.{name}{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        if w.ndim != 2 or r.ndim != 2 or len(w) % len(_GATES):
            raise NetworkError(f"its lstm_actor has weights of the shapes {[w.shape, r.shape]}")
        order = np.concatenate([np.split(np.arange(len(w)), len(_GATES))[k] for k in _GATES])
        if any(len(part) != len(w) for part in (r, b, c)):
            raise NetworkError(f"its lstm_actor has weights of the shapes {[part.shape for part in (w, r, b, c)]}")
        cells.append(Cell("LSTM", w[order], r[order], (b[order], c[order])))
    return cells


def _head(weights: Weights, unit: Activation) -> Network:
    """The layers behind the LSTM: those of the policy, with units, and the linear one that answers."""
    layers: list[Layer] = []
    while f"{(place := f'mlp_extractor.policy_net.{2 * len(layers)}')}.weight" in weights:
        layers.append(Layer(weights.take(f"{place}.weight"), weights.take(f"{place}.bias"), unit))
    return Network((*layers, Layer(weights.take("action_net.weight"), weights.take("action_net.bias"))), "policy")


def _text(value: Any) -> str:
    if isinstance(value, Named):
        return value.name
    return short(value)
