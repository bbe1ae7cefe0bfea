"""VNN-LIB 2.0 about hidden nodes and several tensors: answers against onnxruntime on a grid, and what is refused."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.needs import needs
from venmas.cli.main import main
from venmas.engine.query import replay
from venmas.engine.query.deployed import decide_deployed
from venmas.engine.query.files import load_networks, run_networks
from venmas.engine.query.joint import decide_joint
from venmas.engine.query.replay import replay_query
from venmas.errors import NetworkError, UsageError
from venmas.formats.vnnlib.query import Query
from venmas.formats.vnnlib.reader import parse_vnnlib
from venmas.nn import relu_network
from venmas.nn.runtime import onnx_model

TENSORS = {"A": ("a", [1, 2]), "B": ("b", [1]), "Y": ("y", [3]), "Z": ("z", [2])}
HIDDEN = {"H": ("h", [4]), "P": ("first", [1, 4])}  # the output of the ReLU, and the node before it, by its name
OPERATORS = {"<=": np.less_equal, ">": np.greater, "==": np.equal, "!=": np.not_equal}


@pytest.fixture(autouse=True)
def _packages() -> None:
    needs("vnnlib")
    needs("onnxruntime")


def save(path: Path, seed: int, outside: bool = False) -> Path:
    """A model from a (2,) and b (1,) to y (3,) and z (2,); its numbers are halves, so that float32 is exact."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(seed)
    sizes = {"w": (3, 4), "c": 4, "v": (4, 3), "d": 3, "u": (3, 2)}
    nodes = [
        helper.make_node("Concat", ["a", "b"], ["x"], axis=1),
        helper.make_node("Gemm", ["x", "w", "c"], ["p"], name="first"),
        helper.make_node("Relu", ["p"], ["h"]),
        helper.make_node("Gemm", ["h", "v", "d"], ["y"], name="second"),
        helper.make_node("Relu", ["y"], ["r"]),
        helper.make_node("MatMul", ["r", "u"], ["z"]),
    ]
    constants = [
        numpy_helper.from_array((rng.integers(-3, 4, n) / 2).astype(np.float32), name) for name, n in sizes.items()
    ]
    ends = [helper.make_tensor_value_info(own, TensorProto.FLOAT, ["N", n[-1]]) for own, n in TENSORS.values()]
    graph = helper.make_graph(nodes, "g", ends[:2], ends[2:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path, save_as_external_data=outside, size_threshold=0)
    return path


def head() -> str:
    """The declaration of a network f, and the bounds of its inputs."""
    lines = ["(declare-network f"]
    for kind, keys in (("input", "AB"), ("hidden", "HP"), ("output", "YZ")):
        for key in keys:
            name, shape = (TENSORS | HIDDEN)[key]
            own = f' "{name}"' if kind == "hidden" else ""
            lines.append(f"(declare-{kind} {key} real {str(shape).replace(' ', '')}{own})")
    bounded = "".join(f"(assert (and (>= {x} -1.0) (<= {x} 1.0)))" for x in ("A[0,0]", "A[0,1]", "B[0]"))
    return " ".join(lines) + ")" + bounded


def asked(text: str) -> Query:
    return parse_vnnlib(f"(vnnlib-version <2.0>){head()}{text}", "p.vnnlib")


def grid(path: Path) -> dict[str, Any]:
    """Every element on a grid of inputs, as onnxruntime gives it, by its name in the query."""
    import onnx
    import onnxruntime

    model = onnx.load(path)
    for name in ("p", "h"):
        model.graph.output.add(name=name)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.stack(np.meshgrid(*[np.linspace(-1, 1, 9, dtype=np.float32)] * 3), -1).reshape(-1, 3)
    given = {"a": x[:, :2], "b": x[:, 2:]}
    given |= dict(zip("yzph", session.run(["y", "z", "p", "h"], given), strict=True))
    own = {"A[0,{}]": "a", "B[{}]": "b", "Y[{}]": "y", "Z[{}]": "z", "H[{}]": "h", "P[0,{}]": "p"}
    return {key.format(i): column for key, name in own.items() for i, column in enumerate(given[name].T)}


@pytest.mark.parametrize("seed", range(4))
def test_random_assertions_agree_with_onnxruntime_on_a_grid(seed: int, tmp_path: Path) -> None:
    rng, verdicts = Random(seed), []
    path = save(tmp_path / "net.onnx", seed)
    values = grid(path)
    hidden = [name for name in values if name[0] in "HP"]
    for _ in range(12):
        holds, text = np.True_, ""
        for sign in rng.choices(["<=", ">", "<=", ">", "==", "!="], k=3):
            left, right, add = rng.choice(hidden), rng.choice([*values]), rng.randrange(-12, 13) / 4
            text += f"(assert ({sign} {left} (+ {right} {add})))"
            holds = holds & OPERATORS[sign](values[left], values[right] + add)
        query = asked(text)
        networks = load_networks([path], query)
        report = decide_joint(networks, query, timeout=20)
        verdicts.append(report.verdict)
        assert report.verdict == "sat" or not np.any(holds), text
        assert report.verdict in ("sat", "unsat")
        if report.verdict == "sat":
            assert replay_query([path], networks, query, report).agrees, text
    assert {"sat", "unsat"} <= set(verdicts)


def test_elements_follow_each_other_as_declared(tmp_path: Path) -> None:
    path = save(tmp_path / "net.onnx", 1)
    query = asked("(assert (and (== A[0,0] 0.5) (== A[0,1] -0.25) (== B[0] 1.0)))")
    networks = load_networks([path], query)
    report = decide_joint(networks, query, timeout=20)
    values = grid(path)
    at = np.flatnonzero((values["A[0,0]"] == 0.5) & (values["A[0,1]"] == -0.25) & (values["B[0]"] == 1.0))
    order = [key for letter in "YZHP" for key in values if key[0] == letter]
    assert [float(v) for v in report.inputs] == [0.5, -0.25, 1.0]
    assert [float(v) for v in report.outputs] == [float(values[key][at[0]]) for key in order]
    run = replay_query([path], networks, query, report)
    assert run.difference == 0 and run.holds and run.runtime.startswith("onnxruntime")


def test_hidden_nodes_as_deployed_and_in_products(tmp_path: Path) -> None:
    path = save(tmp_path / "net.onnx", 2, outside=True)
    values = grid(path)
    greatest = float(values["P[0,0]"].max())
    for bound, verdict in ((greatest, "sat"), (greatest + 0.125, "unsat")):
        query = asked(f"(assert (>= P[0,0] {bound}))")
        networks = load_networks([path], query)
        assert decide_deployed([path], networks, query, timeout=20).verdict == verdict
        product = asked(f"(assert (and (>= P[0,0] 0.0) (>= (* P[0,0] P[0,0]) {bound**2})))")
        assert decide_joint(networks, product, timeout=20).verdict in (verdict, "unknown")


def test_relations_of_networks_with_other_hidden_nodes(tmp_path: Path) -> None:
    """Equal networks, one of which has no hidden nodes declared, are of the same layers but for what is carried."""
    path, another = save(tmp_path / "net.onnx", 1), save(tmp_path / "other.onnx", 2)
    plain = {"A": [1, 2], "B": [1], "Y": [3], "Z": [2]}
    lines = [f"(declare-{'input' if key in 'AB' else 'output'} {key}g real {list(n)})" for key, n in plain.items()]
    second = "(declare-network g (equal-to f) " + " ".join(lines).replace(", ", ",") + ")"
    first, bounds = head().split("(assert", 1)
    same = "(assert (and (== A[0,0] Ag[0,0]) (== A[0,1] Ag[0,1]) (== B[0] Bg[0])))"
    text = f"(vnnlib-version <2.0>){first}{second}(assert{bounds}{same}"
    for condition, verdict in (("(> Z[0] (+ Zg[0] 0.5))", "unsat"), ("(and (> H[0] 0.0) (== H[0] P[0,0]))", "sat")):
        query = parse_vnnlib(text + f"(assert {condition})")
        networks = load_networks([path, path], query)
        assert decide_joint(networks, query, timeout=20).verdict == verdict
        with pytest.raises(UsageError, match="declared equal-to f"):
            load_networks([path, another], query)


REFUSED = {
    "a node that is not there": ([('"h"', '"z0"')], "computes no tensor named 'z0'"),
    "a constant": ([('"h"', '"w"')], "computes no tensor named 'w'"),
    "an input": ([('"h"', '"a"')], "computes no tensor named 'a'"),
    "no name": ([('"h"', '""')], "computes no tensor named ''"),
    "another shape": ([("H real [4]", "H real [2,2]")], r"'h' is declared with the shape \[2, 2\], but has \[1, 4\]"),
    "another shape of an output": ([("Y real [3]", "Y real [4]")], r"'y' is declared with the shape \[4\], but has"),
    "inputs in another order": (
        [
            ("A real [1,2]", "B real [1]"),
            ("(declare-input B real [1]) (declare-hidden", "(declare-input A real [1,2]) (declare-hidden"),
        ],
        r"'a' is declared with the shape \[1\]",
    ),
    "one input less": (
        [("(declare-input B real [1])", ""), ("B[0]", "A[0,1]")],
        "1 inputs are declared, the model has 2",
    ),
    "one output more": (
        [("(declare-output Y", "(declare-output W real [1]) (declare-output Y")],
        "3 outputs are declared",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_does_not_have_is_refused(name: str, tmp_path: Path) -> None:
    edits, message = REFUSED[name]
    text = f"(vnnlib-version <2.0>){head()}"
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(NetworkError, match=message):
        load_networks([save(tmp_path / "net.onnx", 1)], parse_vnnlib(text))


def test_other_files_have_no_hidden_nodes(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=r"which are those of \.onnx files"):
        load_networks([tmp_path / "net.nnet"], asked(""))


def test_the_command_says_sat_only_where_onnxruntime_shows_hidden_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, prop = save(tmp_path / "net.onnx", 1), tmp_path / "p.vnnlib"
    prop.write_text(f"(vnnlib-version <2.0>){head()}(assert (<= P[0,0] H[0]))")
    done = CliRunner().invoke(main, ["vnnlib", str(path), str(prop)])
    assert done.exit_code == 10 and done.stdout.count("(Y_") == 13 and "accepted" in done.stderr

    def other(*given: Any) -> Any:
        name, x, y = run_networks(*given)
        return name, x, y + 1

    def none(*_: Any) -> Any:
        raise NetworkError("refused")

    for run, reason in (
        (other, "hidden nodes differ from the exact ones by 1.0e+00"),
        (none, "does not run the networks"),
    ):
        monkeypatch.setattr(replay, "run_networks", run)
        done = CliRunner().invoke(main, ["vnnlib", str(path), str(prop)])
        assert (done.exit_code, done.stdout) == (20, "unknown\n") and reason in done.stderr


def test_a_model_without_hidden_nodes_is_read_as_before(tmp_path: Path) -> None:
    tent = relu_network([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -0.5], [0.0]], name="tent")
    (tmp_path / "tent.onnx").write_bytes(onnx_model(tent, "float32"))
    for shape, index in (("[1]", "0"), ("[1,1]", "0,0")):
        query = parse_vnnlib(
            f"(vnnlib-version <2.0>)(declare-network t (declare-input X real {shape}) (declare-output Y real [1]))"
            f"(assert (and (>= X[{index}] 0.0) (<= X[{index}] 1.0)))(assert (>= Y[0] 0.5))"
        )
        (network,) = load_networks([tmp_path / "tent.onnx"], query)
        assert decide_joint([network], query, timeout=20).outputs == (0.5,)
