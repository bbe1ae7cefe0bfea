"""The networks that come with the project are the files their manifests describe, and do what their manifests say."""

from tests.needs import needs

needs("onnxruntime")

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parents[1]
NETWORKS = ROOT / "networks"
TRAINING = ROOT / "experiments" / "training"
sys.path.insert(0, str(TRAINING))

import cruise
import double_integrator
import frozenlake
import pendulum
import vcas_loop
import vcas_table
from export import evaluate, fold_input_scaling, he_layers, read_onnx, write_onnx

ARCHITECTURES = {
    "frozenlake": {"agent.onnx": [9, 32, 32, 4]},
    "vcas": {f"{i}.onnx": [3, 20, 20, 20, 20, 20, 9] for i in range(1, 10)},
    "double_integrator": {"controller.onnx": [2, 10, 5, 1], "value.onnx": [2, 16, 16, 1]},
    "cruise": {"controller.onnx": [3, 20, 20, 1]},
    "pendulum": {"controller.onnx": [3, 16, 16, 1]},
    "blocks": {"aware.onnx": [14, 16, 16, 5], "ignoring.onnx": [10, 16, 16, 5]},
}
UNITS = {"pendulum": ("Tanh", np.tanh)}
RELU = ("Relu", lambda x: np.maximum(x, 0))
FILES = [(folder, name) for folder, files in ARCHITECTURES.items() for name in files]


def manifest(folder):
    return json.loads((NETWORKS / folder / "MANIFEST.json").read_text(encoding="utf-8"))


def entry(folder, name):
    return next(e for e in manifest(folder)["files"] if e["file"] == name)


def run(folder, name, x):
    session = onnxruntime.InferenceSession(str(NETWORKS / folder / name), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.asarray(x, np.float32)})[0]


@pytest.fixture(scope="module")
def table():
    return vcas_table.solve()


@pytest.mark.parametrize("folder", ARCHITECTURES)
def test_manifest_lists_every_network_of_the_folder(folder):
    listed = [e["file"] for e in manifest(folder)["files"]]
    assert sorted(listed) == sorted(p.name for p in (NETWORKS / folder).glob("*.onnx")) == sorted(ARCHITECTURES[folder])


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_file_is_the_one_of_the_manifest(folder, name):
    path, listed = NETWORKS / folder / name, entry(folder, name)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == listed["sha256"]
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    shapes = [numpy_helper.to_array(t).shape for t in model.graph.initializer]
    matrices = [s for s in shapes if len(s) == 2]
    assert [matrices[0][1], *(s[0] for s in matrices)] == ARCHITECTURES[folder][name] == listed["architecture"]
    assert {n.op_type for n in model.graph.node} == {"Gemm", UNITS.get(folder, RELU)[0]}
    assert model.ir_version <= 9
    assert [o.version for o in model.opset_import] == [13]


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_runtime_and_plain_evaluation_agree(folder, name):
    x = np.random.default_rng(0).uniform(-1, 1, (200, ARCHITECTURES[folder][name][0])).astype(np.float32)
    ours = evaluate(read_onnx(NETWORKS / folder / name), x, UNITS.get(folder, RELU)[1])
    assert np.abs(run(folder, name, x) - ours).max() <= 1e-5 * max(1.0, np.abs(ours).max())


def test_frozenlake_agent_never_reaches_a_hole_and_ends_in_the_goal():
    scores = run("frozenlake", "agent.onnx", np.eye(9))
    chosen = {cell: int(scores[cell - 1].argmax()) for cell in range(1, 10)}
    visited = frozenlake.reachable(chosen)
    assert 9 in visited
    assert not visited & {3, 7}
    assert frozenlake.goal_probability(chosen) > 0.999
    listed = entry("frozenlake", "agent.onnx")["fit"]
    assert {c: frozenlake.ACTIONS[a] for c, a in chosen.items()} == {int(c): a for c, a in listed["policy"].items()}


def test_frozenlake_moves_by_row_and_column():
    assert [frozenlake.move(2, d) for d in range(4)] == [1, 5, 3, 2]  # left, down, right; up leaves the grid
    assert [frozenlake.move(4, d) for d in range(4)] == [4, 7, 5, 1]
    assert set(frozenlake.successors(5, 1)) == {4, 6, 8}  # down slips to left or right, never up
    assert frozenlake.reachable(dict.fromkeys(range(1, 10), 2)) >= {3, 7}  # always right: not every policy is safe


def test_decision_process_has_the_grid_and_proper_expectations():
    assert (len(vcas_table.H), len(vcas_table.V)) == (65, 39)
    assert np.array_equal(vcas_table.H, -vcas_table.H[::-1])
    assert (np.diff(vcas_table.H) > 0).all()
    assert (np.diff(vcas_table.V) > 0).all()
    v, h = (a.ravel() for a in np.meshgrid(vcas_table.V, vcas_table.H, indexing="ij"))
    for advisory in range(9):
        index, weight = vcas_table.transition(advisory)
        assert np.allclose(weight.sum(1), 1)
        assert (weight >= 0).all()
        # Linear interpolation keeps linear functions, so the mean next altitude is exact inside the grid.
        low, high = vcas_table.NOT_COMPLYING[advisory]
        inside = (v > low + 12) & (v < high - 12) & (np.abs(h) < 7000)
        mean = np.dot(vcas_table.PROBABILITIES, vcas_table.ACCELERATIONS[advisory])
        assert np.allclose((weight * h[index]).sum(1)[inside], (h - v - mean / 2)[inside])
        assert np.allclose((weight * v[index]).sum(1)[inside], (v + mean)[inside])


def test_table_at_the_end_is_the_reward(table):
    h, v = list(vcas_table.H).index(150), list(vcas_table.V).index(-60)
    # Within 175 ft at tau 0; COC is allowed, SCL1500 after COC is not, and crosses, and strengthens.
    assert table[0, 0, v, h, 0] == pytest.approx(-1 + 1e-9)
    assert table[0, 0, v, h, 6] == pytest.approx(-1 - 1 - 1e-5 - 5e-3 - 1.5e-3 - 3e-5 * 85 - 1.5e-3)


@pytest.mark.parametrize("previous", range(9))
def test_vcas_agreement_with_the_table_is_as_recorded(table, previous):
    name = f"{previous + 1}.onnx"
    tau, v, h = np.meshgrid(vcas_table.TAUS, vcas_table.V, vcas_table.H, indexing="ij")
    x = np.stack([h.ravel() / 16000, v.ravel() / 5000, (tau.ravel() - 20) / 40], 1)
    best = table[previous].reshape(-1, 9).argmax(1)
    agreement = float((run("vcas", name, x).argmax(1) == best).mean())
    assert agreement == pytest.approx(entry("vcas", name)["fit"]["agreement"], abs=2e-3)
    assert agreement > 0.9


def test_vcas_closed_loop_is_as_recorded_and_both_keeps_and_loses_separation():
    layers = [read_onnx(NETWORKS / "vcas" / f"{i}.onnx") for i in range(1, 10)]
    policy = vcas_loop.network_policy(lambda previous, x: evaluate(layers[previous], x))
    recorded = manifest("vcas")["closed_loop_min_abs_h"]
    for climb in (-19.5, -31.5):
        least = [r["min_abs_h"] for r in vcas_loop.run(policy, climb, 5, 81)]
        assert least == pytest.approx(recorded[str(climb)][:5], abs=0.02)
    verdicts = {least > 100 for row in recorded.values() for least in row}
    assert verdicts == {True, False}


def test_closed_loop_gives_the_published_values_for_the_published_networks(data_dir):
    def layers(index):
        with h5py.File(data_dir / "vcas" / f"vcas_{index}.h5") as file:
            stored = {}
            file["model_weights"].visititems(
                lambda name, item: stored.update({name: np.array(item)}) if isinstance(item, h5py.Dataset) else None
            )
        names = sorted({name.rsplit("/", 1)[0] for name in stored})
        return [(stored[f"{n}/kernel:0"].T, stored[f"{n}/bias:0"]) for n in names]

    published = [layers(i) for i in range(1, 10)]
    policy = vcas_loop.network_policy(lambda previous, x: evaluate(published[previous], x))
    least = [r["min_abs_h"] for r in vcas_loop.run(policy, -22.5, 5, 41)]
    assert least == pytest.approx([110.53, 100.10, 97.73, 103.40, 117.13], abs=0.011)


def test_double_integrator_controller_stabilises():
    rng = np.random.default_rng(5)
    x = rng.uniform(-double_integrator.START, double_integrator.START, (1000, 2))
    for _ in range(40):
        u = np.clip(run("double_integrator", "controller.onnx", x), -1, 1)
        x = x @ double_integrator.A.T + u * double_integrator.B
        assert (np.abs(x) <= double_integrator.REGION).all()
    assert np.abs(x).max() < 0.05


def test_plan_is_the_linear_law_where_no_bound_is_active():
    p = double_integrator.riccati()
    a, b = double_integrator.A, double_integrator.B
    gain = (b @ p @ a) / (double_integrator.R + b @ p @ b)
    x = np.random.default_rng(1).uniform(-0.3, 0.3, (50, 2))
    assert np.allclose(double_integrator.plan(x), -x @ gain, atol=1e-6)


def test_export_gives_the_same_bytes_and_reads_back(tmp_path):
    layers = he_layers((3, 4, 2), np.random.default_rng(0))
    scaled = fold_input_scaling(layers, (2.0, 0.5, 4.0), (1.0, 0.0, -1.0))
    for name in ("a.onnx", "b.onnx"):
        write_onnx(tmp_path / name, scaled, "net")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    x = np.random.default_rng(1).normal(size=(10, 3))
    inner = evaluate(layers, x * [2.0, 0.5, 4.0] + [1.0, 0.0, -1.0])
    assert np.allclose(evaluate(read_onnx(tmp_path / "a.onnx"), x), inner, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("script", ["frozenlake", "vcas", "double_integrator", "cruise", "pendulum", "cart"])
def test_training_script_runs_and_repeats_itself(script, tmp_path):
    pytest.importorskip("torch" if script in ("pendulum", "cart") else "tensorflow")
    for folder in ("first", "second"):
        command = [sys.executable, str(TRAINING / f"{script}.py"), "--quick", "--output", str(tmp_path / folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
    for name in ARCHITECTURES.get(script) or [e["file"] for e in manifest(script)["files"]]:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    assert (tmp_path / "first" / "MANIFEST.json").is_file()


def test_cruise_controller_fits_its_law_and_loses_its_reserve_as_recorded():
    layers = read_onnx(NETWORKS / "cruise" / "controller.onnx")
    fit = entry("cruise", "controller.onnx")["fit"]
    rng = np.random.default_rng(5)
    x = rng.uniform(cruise.REGION[:, 0], cruise.REGION[:, 1], (5000, 3))
    error = np.abs(np.clip(evaluate(layers, x / cruise.SCALE)[:, 0], cruise.LEAST, cruise.GREATEST) - cruise.law(x))
    assert float(error.mean()) == pytest.approx(fit["mean_error_of_u"], abs=5e-3)
    for lead in (18, 20, 22):
        reserve = cruise.least_reserve(layers, float(lead), 50, 5000, rng)
        first = int(np.flatnonzero(reserve <= 0)[0]) + 1
        assert abs(first - fit[f"first_unsafe_step_of_20000_runs_lead_{lead}"]) <= 1
    assert cruise.least_reserve(layers, 26.0, 50, 5000, rng).min() > 0


def test_pendulum_controller_keeps_it_upright_as_recorded():
    layers = read_onnx(NETWORKS / "pendulum" / "controller.onnx")
    assert pendulum.figures(layers, manifest("pendulum")["seed"]) == entry("pendulum", "controller.onnx")["fit"]
    fallen = pendulum.run(layers, np.array([[0.45, 0.0]]), 40)  # more than the torque can hold
    assert np.abs(fallen[:, 0, 0]).max() > 1
