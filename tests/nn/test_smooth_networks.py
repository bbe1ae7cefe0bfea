"""Networks with tanh and sigmoid units: read as files say, run as onnxruntime does, refused where ReLU is meant."""

from tests.needs import needs

needs("onnxruntime")

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from onnx_models import RNG, f32, model, n, run, save, weights

from venmas.errors import NetworkError
from venmas.nn import Layer, Network, load_network
from venmas.nn.polar_reader import read_polar
from venmas.nn.runtime import OnnxRuntime

GEMM = {"w": weights(3, 4), "b": weights(4), "v": weights(4, 2)}
CHAINS = {
    "tanh": [n("Gemm", "_ w b"), n("Tanh"), n("MatMul", "_ v")],
    "sigmoid at the end": [n("Gemm", "_ w b"), n("MatMul", "_ v"), n("Sigmoid")],
    "both, twice": [n("Gemm", "_ w b"), n("Tanh"), n("Sigmoid"), n("Tanh"), n("MatMul", "_ v")],
    "first": [n("Sigmoid"), n("Gemm", "_ w b"), n("MatMul", "_ v")],
    "beside ReLU": [n("Gemm", "_ w b"), n("Relu"), n("Tanh"), n("Relu"), n("MatMul", "_ v")],
    "moved and scaled": [n("Gemm", "_ w b"), n("Tanh"), n("Neg"), n("Add", "_ b"), n("Abs"), n("MatMul", "_ v")],
    "reshaped": [n("Tanh"), n("Reshape", "_ s"), n("Transpose"), n("Sigmoid"), n("Reshape", "_ t")],
}


@pytest.mark.parametrize("name", CHAINS)
def test_they_are_what_onnxruntime_runs(name: str, tmp_path: Path) -> None:
    extra = {"s": np.array([3, 1]), "t": np.array([1, 3])} if name == "reshaped" else GEMM
    shape = (1, 3) if name == "reshaped" else ("N", 3)
    path = save(tmp_path, model(CHAINS[name], shape=shape, **extra))
    network, xs = load_network(path), RNG.normal(size=(20, 3))
    assert "units" in network.smooth
    expected = run(path, xs)
    np.testing.assert_allclose(network.evaluate(xs), expected, atol=2e-6)
    np.testing.assert_allclose(network.evaluate_float32(xs), expected, atol=2e-6)
    np.testing.assert_allclose(OnnxRuntime().evaluate(network, xs, "float64"), network.evaluate(xs), atol=1e-12)


def test_signs_behind_smooth_units_are_known() -> None:
    """A sigmoid is positive and a tanh is not: ReLU after them, and branches, show it."""
    chain = model([n("Tanh"), n("Relu")])
    assert [layer.activation for layer in load_bytes(chain).layers] == ["tanh", "relu"]


def load_bytes(proto: object) -> Network:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return load_network(save(Path(folder), proto))


def smooth(kind: str = "tanh") -> Network:
    return Network((Layer(np.eye(2), np.ones(2), kind), Layer(np.eye(2), np.zeros(2))))  # type: ignore[arg-type]


def test_digests_tell_activations_apart() -> None:
    assert len({smooth("tanh").digest, smooth("sigmoid").digest, smooth("relu").digest, smooth("linear").digest}) == 4


@pytest.mark.parametrize("ask", ["integer_layers", "hidden_and_last"])
def test_what_is_for_relu_refuses_them(ask: str) -> None:
    network = Network((*smooth().layers, Layer(np.eye(2), np.zeros(2), "sigmoid")))
    with pytest.raises(NetworkError, match="units, which are not piecewise linear: mode adaptive"):
        getattr(network, ask)
    with pytest.raises(NetworkError, match="tanh units"):
        network.evaluate_exact([Fraction(1), Fraction(2)])
    assert network.relu_count == 0
    assert network.float32_obstacle is None


POLAR = ["2", "1", "1", "2", "tanh", "Affine", "1.5", "-2", "0.25", "0", "1", "0", "3", "-1", "0.5", "0", "1"]


def written(folder: Path, words: list[str]) -> Path:
    path = folder / "net.polar"
    path.write_text("\n".join(words))
    return path


def test_the_format_of_polar(tmp_path: Path) -> None:
    network = load_network(written(tmp_path, POLAR))
    x, y = np.tanh(1.5 * 0.3 - 2 * 0.7 + 0.25), np.tanh(0.7)
    assert network.evaluate([0.3, 0.7])[0] == pytest.approx(3 * x - y + 0.5, abs=1e-15)
    shifted = load_network(written(tmp_path, [*POLAR[:-2], "2", "10"]))
    assert shifted.evaluate([0.3, 0.7])[0] == pytest.approx(10 * (3 * x - y + 0.5 - 2), abs=1e-13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w[:3], "ends where one should be"),
        (lambda w: ["two", *w[1:]], "'two' is no number of inputs"),
        (lambda w: ["0", *w[1:]], "at least one unit"),
        (lambda w: [*w[:4], "softplus", *w[5:]], "'softplus' is no activation; expected ReLU"),
        (lambda w: [*w[:6], "nan", *w[7:]], "word 7: 'nan' is not a finite number"),
        (lambda w: w[:10], r"layers \[2, 2, 1\] need 9: truncated"),
        (lambda w: [*w, "1"], "expected an offset and a scale"),
        (lambda w: ["999999999", *w[1:]], "entries"),
        (lambda w: [*w[:2], "999999", *w[3:]], "more than 1000"),
        (lambda w: ["-1", *w[1:]], "'-1' is no number"),
    ],
)
def test_broken_files_of_polar(change, message: str, tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=message):
        read_polar(written(tmp_path, change(POLAR)))


def test_any_cut_of_a_file_of_polar_is_refused(tmp_path: Path) -> None:
    for size in range(len(POLAR)):
        with pytest.raises(NetworkError):
            read_polar(written(tmp_path, POLAR[:size]))


def test_a_tensor_beside_smooth_units_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, model([n("Tanh"), n("Add", "_ x")], c=f32(1)))
    with pytest.raises(NetworkError, match="beside tensors that are used later"):
        load_network(path)
