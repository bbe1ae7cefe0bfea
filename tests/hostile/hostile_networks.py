"""Network files that are broken, that lie about their size, or that carry code."""

import base64
import json
import marshal
import os
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hostile_case import CANARY, Case, network, sparse
from onnx import TensorProto, helper, numpy_helper

# -- ONNX ------------------------------------------------------------------------------------------------------------

W = np.array([[0.5]], np.float32)


def onnx_model(*nodes: Any, **constants: Any) -> Any:
    nodes = nodes or (helper.make_node("MatMul", ["x", "w"], ["y"]),)
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in {"w": W, **constants}.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


ONNX = onnx_model().SerializeToString()


def node(op: str, inputs: str, output: str, **more: Any) -> Any:
    return helper.make_node(op, inputs.split(), [output], **more)


def chain(op: str, length: int, **more: Any) -> bytes:
    """x -> 0 -> 1 ... -> y"""
    names = ["x", *map(str, range(length - 1)), "y"]
    made = [node(op, f"{names[i]} w" if op != "Relu" else names[i], names[i + 1], **more) for i in range(length)]
    return bytes(onnx_model(*made).SerializeToString())


def external(location: str, **more: object) -> bytes:
    model = onnx_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    return bytes(model.SerializeToString())


def claiming(*dims: int) -> bytes:
    model = onnx_model()
    model.graph.initializer[0].dims[:] = dims
    return bytes(model.SerializeToString())


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field of a protocol buffer."""
    size, length = b"", len(data)
    while length > 127:
        size, length = size + bytes([length % 128 + 128]), length // 128
    return bytes([number * 8 + 2]) + size + bytes([length]) + data


def nested_graphs(depth: int) -> bytes:
    content = b""
    for _ in range(depth):
        content = field(6, field(1, field(5, content)))
    return field(7, field(1, field(5, content)))


def beside(name: str, make: Callable[[Path], object], content: bytes) -> Callable[[Path], None]:
    """A model with something else in its folder."""

    def write(path: Path) -> None:
        make(path.with_name(name))
        path.write_bytes(content)

    return write


OPSET = field(8, b"\x10\x0d")
TENSOR = field(1, b"") + field(12, b"\x0a\x01y")  # an empty node and an output, so that the tensors are read

# -- Keras -----------------------------------------------------------------------------------------------------------

Config = dict[str, Any]


def layer(kind: str, name: str = "l", **config: Any) -> Config:
    return {"class_name": kind, "config": {"name": name, **config}}


def dense(name: str = "d", units: Any = 1, activation: Any = "linear") -> Config:
    return layer("Dense", name, units=units, activation=activation)


def model(*layers: Config) -> Config:
    return {
        "class_name": "Sequential",
        "config": {"layers": [layer("InputLayer", "in", batch_shape=[None, 1]), *layers]},
    }


def h5(config: object, fill: Callable[[Any], object] = lambda file: None, **more: Any) -> Callable[[Path], None]:
    """A whole-model file with the weights of one Dense layer "d"."""

    def write(path: Path) -> None:
        with h5py.File(path, "w", **more) as file:
            file.attrs["model_config"] = json.dumps(config)
            file["model_weights/d/kernel"] = W
            file["model_weights/d/bias"] = np.ones(1, np.float32)
            fill(file)

    return write


def deep_groups(file: Any) -> None:
    for _ in range(4000):
        file = file.create_group("a")


def chunk_bomb(file: Any) -> None:
    """A data set of one number in a chunk of 1 GB, which is 1 MB when compressed."""
    del file["model_weights/d/kernel"]
    data = file.create_dataset(
        "model_weights/d/kernel", (1, 1), "f4", maxshape=(None, None), chunks=(1 << 14, 1 << 14), compression="gzip"
    )
    pack = zlib.compressobj(1)
    zeros = bytes(1 << 20)
    data.id.write_direct_chunk((0, 0), b"".join([*(pack.compress(zeros) for _ in range(1 << 10)), pack.flush()]))


def replaced(make: Callable[[Any], object], name: str = "kernel") -> Callable[[Any], None]:
    def fill(file: Any) -> None:
        del file[f"model_weights/d/{name}"]
        make(file)

    return fill


def keras(config: str | bytes, weights: bytes = b"", **more: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        content = BytesIO()
        with h5py.File(content, "w") as file:
            file["layers/dense/vars/0"], file["layers/dense/vars/1"] = W, np.ones(1, np.float32)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("config.json", config)
            made.writestr("model.weights.h5", weights or content.getvalue())
            for name, data in more.items():
                made.writestr(name, data)

    return write


def cut(make: Callable[[Path], None], length: int) -> Callable[[Path], None]:
    """Only the first `length` bytes, or all but the last ones."""

    def write(path: Path) -> None:
        make(path)
        path.write_bytes(path.read_bytes()[:length])

    return write


def pickled(path: Path) -> bytes:
    """A pickle that opens the canary when it is loaded."""
    return b"cbuiltins\nopen\n(V" + str(path.parents[1] / CANARY).encode() + b"\nVw\ntR."


def lambda_layer(path: Path) -> Config:
    return layer("Lambda", function=[code(path), None, None])


def foreign(path: Path) -> Config:
    return {**layer("system", command="touch canary"), "module": "os", "registered_name": "os>system"}


def code(path: Path) -> str:
    """Marshalled code as Keras keeps a lambda."""
    text = f"open({str(path.parents[1] / CANARY)!r}, 'w')"
    return base64.b64encode(marshal.dumps(compile(text, "lambda", "eval"))).decode()


def evil(config: Callable[[Path], Config], archive: bool) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        made = model(config(path), dense())
        (keras(json.dumps(made), **{"lambda.pkl": pickled(path)}) if archive else h5(made))(path)

    return write


# -- .nnet -----------------------------------------------------------------------------------------------------------

HEADER = "0,\n0,\n1,\n0,0,\n1,1,\n"


def nnet(first: str, sizes: str, rest: str) -> str:
    return f"{first}\n{sizes}\n{HEADER}{rest}"


ONE = nnet("1,1,1,1,", "1,1,", "0.5\n0.1\n")

CASES: dict[str, Case] = {
    # ONNX: broken
    "onnx of one byte": network("agent.onnx", ONNX[:1], "not an ONNX model, or is truncated"),
    "onnx cut in the graph": network("agent.onnx", ONNX[: len(ONNX) // 2], "agent.onnx"),
    "onnx without its last byte": network("agent.onnx", ONNX[:-1], "agent.onnx"),
    "onnx empty": network("agent.onnx", b"", "the model has no nodes"),
    "onnx that is a script": network("agent.onnx", b"#!/bin/sh\ntouch canary\n", "not an ONNX model"),
    "onnx that is a pickle": network("agent.onnx", lambda p: p.write_bytes(pickled(p)), "not an ONNX model"),
    "onnx wrong shape": network("agent.onnx", claiming(2, 3), "claims the shape [2, 3]", "holds 4 bytes"),
    "onnx NaN": network("agent.onnx", onnx_model(w=W * np.nan).SerializeToString(), "holds NaN or infinite values"),
    "onnx infinite": network("agent.onnx", onnx_model(w=W + np.inf).SerializeToString(), "holds NaN or infinite"),
    "onnx cycle": network(
        "agent.onnx",
        onnx_model(node("Add", "x b", "a"), node("Add", "a w", "b"), node("Relu", "b", "y")).SerializeToString(),
        "the graph has a cycle",
    ),
    "onnx operator of its own": network(
        "agent.onnx",
        onnx_model(node("PyOp", "x", "y", domain="ai.onnx.contrib", module="os", name="\x1b[2J")).SerializeToString(),
        "operators of the domain 'ai.onnx.contrib'",
    ),
    "onnx name of 10 MB": network(
        "agent.onnx", onnx_model(node("\x1b[31m" + "Evil" * 2_500_000, "x", "y")).SerializeToString(), "not supported"
    ),
    # ONNX: data elsewhere
    "onnx data above": network("agent.onnx", external("../agent.py"), "outside the folder", "refused"),
    "onnx data absolute": network("agent.onnx", external("/etc/passwd"), "outside the folder", "refused"),
    "onnx data through a link": network(
        "agent.onnx", beside("w", lambda p: p.symlink_to("/etc/passwd"), external("w")), "outside the folder"
    ),
    "onnx data in a device": network(
        "agent.onnx", beside("w", lambda p: p.symlink_to("/dev/zero"), external("w")), "outside the folder"
    ),
    "onnx data in a fifo": network("agent.onnx", beside("w", os.mkfifo, external("w")), "not a regular file"),
    "onnx data in a folder": network("agent.onnx", beside("w", Path.mkdir, external("w")), "not a regular file"),
    "onnx data far away": network(
        "agent.onnx", beside("w", sparse(4 << 30), external("w", offset=10**30)), "agent.onnx"
    ),
    "onnx data of 2 GB": network(
        "agent.onnx", beside("w", sparse(4 << 30), external("w", length=2 << 30)), "its shape needs 4"
    ),
    # ONNX: size
    "onnx claims 2 GB": network("agent.onnx", claiming(1 << 15, 1 << 14), "would have 536870912 entries"),
    "onnx claims 2**126": network("agent.onnx", claiming(1 << 62, 1 << 62, 1 << 2), "entries: at most"),
    "onnx of 4 GB": network("agent.onnx", sparse(4 << 30), "larger than 64 MB"),
    "onnx of 20 million nodes": network("agent.onnx", lambda _: field(7, b"\x0a\x00" * 20_000_000), "fields"),
    "onnx of 20 million opsets": network("agent.onnx", lambda _: b"\x42\x00" * 20_000_000, "fields"),
    "onnx of 60 million numbers": network(
        "agent.onnx",
        lambda _: field(7, TENSOR + field(5, b"\x08\x01\x10\x07" + field(7, bytes(60_000_000)))),
        "whole numbers",
    ),
    "onnx of 15 million floats": network(
        "agent.onnx",
        lambda _: OPSET + field(7, TENSOR + field(5, b"\x08\x01\x10\x01" + field(4, bytes(60_000_000)))),
        "holds 15000000",
    ),
    "onnx of 20 million dimensions": network(
        "agent.onnx", lambda _: field(7, TENSOR + field(5, b"\x10\x01" + b"\x08\x01" * 20_000_000)), "fields"
    ),
    "onnx hidden in a group": network("agent.onnx", lambda _: b"\xa3\x06" + b"\x42\x00" * 20_000_000, "fields"),
    "onnx nested graphs": network("agent.onnx", nested_graphs(3000), "not an ONNX model"),
    "onnx of 20,000 nodes": network("agent.onnx", chain("Relu", 20_000), "20000 nodes: at most 10000"),
    "onnx of 5,000 layers": network("agent.onnx", chain("MatMul", 5000), "more than 1000 layers"),
    # Keras: code
    "keras lambda": network(
        "agent.keras",
        evil(lambda_layer, True),
        "(Lambda)",
        "not supported",
    ),
    "keras lambda in hdf5": network("agent.h5", evil(lambda_layer, False), "(Lambda)", "not supported"),
    "keras custom object": network(
        "agent.keras",
        evil(foreign, True),
        "(system)",
    ),
    "keras activation that is code": network(
        "agent.keras",
        evil(lambda p: dense("e", activation={"class_name": "__lambda__", "config": {"value": code(p)}}), True),
        "activation",
    ),
    "keras that is a pickle": network("agent.keras", lambda p: p.write_bytes(pickled(p)), "not a .keras archive"),
    "hdf5 that is a pickle": network("agent.h5", lambda p: p.write_bytes(pickled(p)), "not a model as Keras writes it"),
    "torch file": network("agent.pt", lambda p: p.write_bytes(pickled(p)), "extension '.pt'", ".onnx"),
    "numpy file": network("agent.npy", lambda p: p.write_bytes(pickled(p)), "extension '.npy'"),
    # Keras: broken
    "keras cut": network("agent.keras", cut(keras(json.dumps(model(dense()))), 300), "damaged"),
    "keras without directory": network("agent.keras", cut(keras(json.dumps(model(dense()))), -30), "damaged"),
    "keras weights are text": network("agent.keras", keras(json.dumps(model(dense())), b"text"), "damaged"),
    "hdf5 header only": network("agent.h5", cut(h5(model(dense())), 8), "damaged"),
    "hdf5 cut": network("agent.h5", cut(h5(model(dense())), 2000), "damaged"),
    "hdf5 empty": network("agent.h5", b"", "damaged"),
    "hdf5 wrong shape": network("agent.h5", h5(model(dense(units=7))), "its configuration says [1, 7]"),
    "keras units of 4000 digits": network(
        "agent.keras", keras(json.dumps(model(dense(units="9" * 4000)))), "its units is"
    ),
    "keras units infinite": network(
        "agent.keras",
        keras(json.dumps(model(dense(units=float("inf"))))),
        "its units is inf: expected a positive whole",
    ),
    "keras names steer the terminal": network(
        "agent.keras", keras(json.dumps(model(layer("\x1b[2J\ud800", "\x1b]0;title\x07")))), "not supported"
    ),
    # Keras: size
    "keras config of 50 MB": network(
        "agent.keras", lambda path: keras('{"class_name":"' + "x" * 50_000_000 + '"}')(path), "agent.keras"
    ),
    "keras zip bomb": network("agent.keras", lambda path: keras(bytes(100 << 20))(path), "larger than 64 MB"),
    "keras weights bomb": network("agent.keras", lambda path: keras("{}", bytes(100 << 20))(path), "larger than 64 MB"),
    "keras 20 million objects": network(
        "agent.keras", lambda path: keras('{"a":[' + "{}," * 20_000_000 + "{}]}")(path), "values"
    ),
    "keras 20 million lists": network(
        "agent.keras", lambda path: keras('{"a":[' + "[]," * 20_000_000 + "[]]}")(path), "values"
    ),
    "keras nesting bomb": network("agent.keras", lambda path: keras("[" * 10_000_000)(path), "agent.keras"),
    "keras nesting of 90,000": network("agent.keras", keras('{"a":' * 90_000 + "1" + "}" * 90_000), "RecursionError"),
    "keras number of 5 MB": network(
        "agent.keras", lambda path: keras('{"a":' + "9" * 5_000_000 + "}")(path), "4300 digits"
    ),
    "keras reshape of 100,000": network(
        "agent.keras", keras(json.dumps(model(layer("Reshape", target_shape=[1] * 100_000)))), "(Reshape)"
    ),
    "keras 9,000 layers": network(
        "agent.keras", keras(json.dumps(model(*[layer("ReLU", str(i)) for i in range(9000)]))), "9001 layers"
    ),
    "hdf5 nested groups": network("agent.h5", h5(model(dense()), deep_groups), "nested too deeply"),
    "hdf5 chunk bomb": network("agent.h5", h5(model(dense()), chunk_bomb), "chunks of [16384, 16384]"),
    "hdf5 claims 2 GB": network(
        "agent.h5",
        h5(
            model(dense(units=1 << 29)),
            replaced(lambda f: f.create_dataset("model_weights/d/kernel", (1, 1 << 29), "f4", chunks=(1, 1024))),
        ),
        "entries: at most",
    ),
    "hdf5 external data": network(
        "agent.h5",
        h5(
            model(dense()),
            replaced(
                lambda f: f.create_dataset("model_weights/d/kernel", (1, 1), "f4", external=[("/etc/passwd", 0, 4)])
            ),
        ),
        "stored in another file",
    ),
    "hdf5 external link": network(
        "agent.h5",
        h5(
            model(dense()),
            replaced(lambda f: f.__setitem__("model_weights/d/kernel", h5py.ExternalLink("/dev/zero", "/"))),
        ),
        "kernel is missing",
    ),
    "hdf5 links in a circle": network(
        "agent.h5", h5(model(dense()), lambda f: f.__setitem__("model_weights/d/loop", f["/"])), status=0
    ),
    "hdf5 many configurations": network(
        "agent.h5",
        h5(model(dense()), lambda f: f.attrs.__setitem__("model_config", ["{}"] * 100)),
        "without a model",
    ),
    # .nnet
    "nnet cut in the header": network("agent.nnet", ONE[:12], "ends inside the header"),
    "nnet cut in the weights": network("agent.nnet", ONE[:-4], "holds 1 weights"),
    "nnet sizes of 10**30": network("agent.nnet", nnet("2,1,1,1,", f"1,{10**30},1,", "1\n"), "entries: at most"),
    "nnet sizes of 1e308": network("agent.nnet", nnet("2,1,1,1,", "1,1e308,1,", "1\n"), "entries: at most"),
    "nnet negative sizes": network("agent.nnet", nnet("2,1,1,1,", "1,-5,1,", "1\n"), "positive whole numbers"),
    "nnet sizes that are text": network("agent.nnet", nnet("2,1,1,1,", "1,many,1,", "1\n"), "'many'"),
    "nnet infinite": network("agent.nnet", nnet("1,1,1,1,", "1,1,", "1e999\n0\n"), "not a finite number"),
    "nnet weights of 1e308": network(
        "agent.nnet", nnet("2,1,1,1,", "1,1,1,", "1e308\n1e308\n1e308\n-1e308\n"), "leaves the declared box"
    ),
    "nnet weights that cancel at 1e308": network(
        "agent.nnet", nnet("2,1,1,2,", "1,2,1,", "1e308\n1e308\n0\n0\n1e308,-1e308\n0\n"), status=0
    ),
    "nnet denormal weights": network("agent.nnet", nnet("1,1,1,1,", "1,1,", "5e-324\n5e-324\n"), status=0),
    "nnet 8 million lines": network("agent.nnet", lambda _: "1\n" * 8_000_000, "8000000 numbers"),
    "nnet a number of 60 MB": network("agent.nnet", lambda _: b"1" * 60_000_000, "not a finite number"),
    "nnet 100,000 layers": network(
        "agent.nnet", nnet("100000,1,1,1,", "1," * 100_001, "1\n0\n" * 100_000), "more than 1000 layers"
    ),
    "nnet 20,000 inputs": network(
        "agent.nnet",
        "1,20000,1,1,\n20000,1,\n0\n0\n0\n" + "0," * 20_001 + "\n" + "1," * 20_001 + "\n" + "1," * 20_000 + "\n0\n",
        "more than 16384",
    ),
    "nnet binary": network("agent.nnet", bytes(range(256)) * 100, "agent.nnet"),
    # what is no file
    "network is a folder": network("agent.onnx", Path.mkdir, "holds none of the files"),
    "network is a fifo": network("agent.onnx", os.mkfifo, "holds none of the files"),
    "network is a device": network("agent.onnx", lambda p: p.symlink_to("/dev/zero"), "holds none of the files"),
    "network links to itself": network("agent.onnx", lambda p: p.symlink_to(p), "holds none of the files"),
    "network not readable": network("agent.onnx", lambda p: p.touch(0), "agent.onnx"),
    "two networks": network("agent.onnx", beside("agent.nnet", Path.touch, ONNX), "several files"),
}
