"""RecurrentPPO of Stable-Baselines3's contributions: zips as people have them, against `predict` step by step."""

import json
import pickle
import zipfile
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.needs import needs
from venmas import verify
from venmas.errors import InputError, NetworkError
from venmas.model import NetworkFolder, System, apply_network, load_scenario
from venmas.nn import load_network, load_recurrent

CART = Path(__file__).parents[2] / "networks" / "cart" / "ppo16.zip"
XS = np.random.default_rng(2).uniform(-2, 2, (30, 1))


def agree(model: Any, network: Any, inputs: int, seen: Any = None) -> None:
    """The answers and the memory of 20 steps."""
    theirs = mine = None
    discrete = hasattr(model.action_space, "n")
    for x in np.random.default_rng(0).uniform(-2, 2, (20, inputs)):
        given = x if seen is None else seen(x[None])[0]
        action, theirs = model.predict(given.astype(np.float32), theirs, deterministic=True)
        answer, mine = network.evaluate(x, mine)
        for k, part in enumerate(theirs):
            np.testing.assert_allclose(np.concatenate(mine[k::2]), part.ravel(), atol=1e-5)
        if discrete:
            assert answer[action] == answer.max()
        else:
            np.testing.assert_allclose(
                np.clip(answer, model.action_space.low, model.action_space.high), action, atol=1e-5
            )


def trained(folder: Path, space: Any, normalize: bool = False, norm_obs: bool = True, **kwargs: Any) -> Any:
    """A model after a step of training, saved as model.zip, and the statistics of what it sees, vecnormalize.pkl."""
    needs("gymnasium", "stable_baselines3", "sb3_contrib", "torch")
    import gymnasium
    import torch
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    class World(gymnasium.Env):  # type: ignore[misc,type-arg]
        observation_space, action_space = gymnasium.spaces.Box(-9, 9, (2,), seed=1), space

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return self.observation_space.sample(), {}

        def step(self, action: Any) -> Any:
            return self.observation_space.sample(), 0.0, False, False, {}

    torch.set_num_threads(1)
    env: Any = DummyVecEnv([World])
    env = VecNormalize(env, norm_obs=norm_obs, clip_obs=1.5) if normalize else env
    settings = {"lstm_hidden_size": 4, "net_arch": [5, 3], **kwargs}
    model = RecurrentPPO(
        "MlpLstmPolicy", env, n_steps=8, n_epochs=1, policy_kwargs=settings, seed=1, device="cpu"
    ).learn(8)
    model.save(folder / "model.zip")
    if normalize:
        env.save(str(folder / "vecnormalize.pkl"))
    return model


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"n_lstm_layers": 2, "shared_lstm": True, "enable_critic_lstm": False},
        {"enable_critic_lstm": False, "share_features_extractor": False, "net_arch": []},
    ],
)
def test_steps_are_those_of_predict(kwargs: dict[str, Any], tmp_path: Path) -> None:
    needs("gymnasium", "torch")
    import gymnasium
    import torch

    units = {"activation_fn": torch.nn.ReLU} if kwargs else {}
    space = gymnasium.spaces.Discrete(3) if kwargs else gymnasium.spaces.Box(-0.1, 0.1, (2,))
    model = trained(tmp_path, space, **kwargs, **units)
    agree(model, load_recurrent(tmp_path / "model.zip"), 2)


def test_the_bundled_policy_answers_as_predict() -> None:
    needs("gymnasium", "stable_baselines3", "sb3_contrib", "torch")
    from sb3_contrib import RecurrentPPO

    network = load_recurrent(CART)
    assert network.memory == (("h", 16), ("c", 16)) and (network.input_size, network.output_size) == (1, 1)
    model = RecurrentPPO.load(CART, device="cpu")
    agree(model, network, 1)
    with pytest.raises(InputError, match=r"RecurrentPPO has a memory: write model\.save"):
        apply_network(model, [1])


def test_statistics_of_vec_normalize_come_before(tmp_path: Path) -> None:
    needs("gymnasium")
    import gymnasium

    model = trained(tmp_path, gymnasium.spaces.Discrete(2), normalize=True)
    with pytest.raises(NetworkError, match="trained with VecNormalize: give its statistics"):
        load_recurrent(tmp_path / "model.zip")
    network = NetworkFolder(tmp_path).load_recurrent("model.zip", normalization="*.pkl")
    env = model.get_vec_normalize_env()
    agree(model, network, 2, env.normalize_obs)
    points = np.random.default_rng(1).uniform(-30, 30, (50, 2))
    seen = load_network(tmp_path / "vecnormalize.pkl").evaluate(points)
    np.testing.assert_allclose(seen, env.normalize_obs(points), atol=1e-6)
    assert np.abs(seen).max() == pytest.approx(1.5)


def test_the_bundled_policy_is_that_of_its_manifest() -> None:
    files = json.loads((CART.parent / "MANIFEST.json").read_text(encoding="utf-8"))["files"]
    (entry,) = (known for known in files if known["file"] == CART.name)
    assert entry["sha256"] == sha256(CART.read_bytes()).hexdigest()


def test_rewards_alone_may_be_normalized(tmp_path: Path) -> None:
    needs("gymnasium")
    import gymnasium

    model = trained(tmp_path, gymnasium.spaces.Discrete(2), normalize=True, norm_obs=False)
    agree(model, load_recurrent(tmp_path / "model.zip", normalization=tmp_path / "vecnormalize.pkl"), 2)
    with pytest.raises(NetworkError, match=r"norm_obs=False\): do without it"):
        load_network(tmp_path / "vecnormalize.pkl")


def test_a_property_of_the_bundled_policy_is_proved() -> None:
    system = load_scenario("cart").system(policy="ppo16", x="0.35..0.4", v="0")
    report = verify(system, "AG^20 near", timeout=60)
    assert report.satisfied and report.mode == "adaptive"


def test_a_witness_is_a_run_of_the_policy() -> None:
    """The file's own numbers, without torch: `test_the_bundled_policy_answers_as_predict` compares these with it."""
    network, system = load_recurrent(CART), load_scenario("cart").system(policy="ppo16")
    report = verify(system, "AG^3 (x <= 0.5)", timeout=60)
    assert report.violated and report.witness is not None
    x, v, memory = None, None, None
    for node in report.witness.nodes:
        point = {name: float(value) for name, value in node.point.items()}
        if x is not None:
            u, memory = network.evaluate(np.array([x]), memory)
            assert np.allclose([point["x"], point["v"]], [x + v / 10, v + np.clip(u[0], -2, 2) / 10], atol=1e-9)
            assert np.allclose([point[f"c[{k}]"] for k in range(1, 17)], memory[1], atol=1e-9)
        x, v = point["x"], point["v"]


def changed(folder: Path, setting: str, value: Any) -> Path:
    """The bundled zip with another setting."""
    path = folder / "model.zip"
    with zipfile.ZipFile(CART) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "data":
                settings = json.loads(content)
                if setting in ("lstm_hidden_size", "activation_fn") or setting in KWARGS:
                    settings["policy_kwargs"][setting] = value
                else:
                    settings[setting] = value
                content = json.dumps(settings).encode()
            new.writestr(name, content)
    return path


class Own:
    """A class of a user."""


def pickled(value: Any) -> dict[str, str]:
    return {":serialized:": b64encode(value if isinstance(value, bytes) else pickle.dumps(value)).decode()}


STRANGE = b"\x80\x04\x8c\x14gymnasium.spaces.box\x8c\x03Box\x93)\x81}\x8c\x05dtype\x8c\x02f4sb."
"""The pickle of a Box whose dtype is a text."""
KWARGS = ("features_extractor_class", "lstm_kwargs", "squash_output", "more")
REFUSED = {
    "its policy is .*Own: expected RecurrentPPO": ("policy_class", pickled(Own)),
    "use_sde": ("use_sde", True),
    "observation_space is a .*SimpleNamespace: expected Box": ("observation_space", pickled(SimpleNamespace())),
    "action_space is .*: expected Box or Discrete": ("action_space", None),
    "trained with VecNormalize": ("_last_original_obs", pickled(np.zeros(1, np.float32))),
    "squash_output = True: expected False": ("squash_output", True),
    "features_extractor_class = 'mine'": ("features_extractor_class", "mine"),
    r"lstm_kwargs = \{'dropout'": ("lstm_kwargs", {"dropout": 0.5}),
    "more = 1, which is not recognised": ("more", 1),
    "activation_fn is 'elu'": ("activation_fn", "elu"),
    "damaged: AttributeError": ("observation_space", pickled(STRANGE)),
    "no base64": ("policy_class", {":serialized:": "?"}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_other_settings_are_refused_by_name(message: str, tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=message):
        load_recurrent(changed(tmp_path, *REFUSED[message]))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("data", "{}")
    (tmp_path / "c.pkl").write_bytes(pickle.dumps([1]))
    for name, message in {"a.zip": "not a model that RecurrentPPO", "b.zip": "has no 'policy_class'"}.items():
        with pytest.raises(NetworkError, match=message):
            load_recurrent(tmp_path / name)
    with pytest.raises(NetworkError, match="holds a list: expected VecNormalize"):
        load_network(tmp_path / "c.pkl")
    with pytest.raises(NetworkError, match=r"networks with memory are read from \.onnx, .*\.zip"):
        load_recurrent(tmp_path / "policy.pt")
    with pytest.raises(NetworkError, match=r"normalization is for \.zip files only"):
        load_recurrent(tmp_path / "policy.onnx", normalization="c.pkl")
    with pytest.raises(NetworkError, match=r"outputs is for \.onnx files only"):
        load_recurrent(CART, outputs="y")


def test_normalization_in_a_system(tmp_path: Path) -> None:
    """The statistics as a network of a system, for a policy of any file."""
    needs("gymnasium")
    import gymnasium

    trained(tmp_path, gymnasium.spaces.Discrete(2), normalize=True)
    system = System("w")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: apply_network(load_network(tmp_path / "vecnormalize.pkl"), [x, y])[0]})
    system.initial(x >= 5, x <= 9, y == 0)
    assert verify(system, "AG^2 (x <= 9)").satisfied
