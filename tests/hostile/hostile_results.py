"""Stored results that lie or are malformed, and places where no result can be stored."""

import json
import os
from pathlib import Path
from typing import Any

from hostile_case import CANARY, LOOP, QUICK, Case, put, sparse

MB = 1_000_000


def number(value: object) -> dict[str, object]:
    return {"exact": str(value)}


def step(x: object, branch: str | None = None, **more: object) -> dict[str, Any]:
    return {"state": {"x": number(x)}, "actions": {}, "atoms": [], "deadlock": False, "branch": branch, **more}


def node(x: object, children: dict[str, object]) -> dict[str, Any]:
    return {"state": {"x": number(x)}, "actions": {}, "atoms": [], "deadlock": False, "children": children}


def result(steps: object = None, tree: object = None, initial: object = None, **more: object) -> dict[str, Any]:
    witness = {"initial": initial or {"x": number(-1)}, "steps": steps, "tree": tree}
    if steps is None and tree is None:
        witness["steps"] = [step(-1, "half"), step("-1/2")]
    origin: dict[str, object] = {"scenario": "loop.py", "networks": None, "digests": {}}
    return {"formula": "AX^1 x > 0", "parameters": {}, "origin": origin, "witness": witness, **more}


def replay(content: Any, *told: str, status: int = 2) -> Case:
    """A stored result over the scenario LOOP: what the file holds, or an object, or what makes it."""

    def make(folder: Path) -> None:
        (folder / "loop.py").write_text(LOOP)
        put(folder / "w.json", json.dumps(content) if isinstance(content, dict) else content)

    return Case(["replay", "{d}/w.json", "--scenario", "{d}/loop.py"], make, told, (status,))


def store(*args: str, told: tuple[str, ...], make: Any = None, status: int = 2, prints: bool = True) -> Case:
    """A violated property whose result goes to an impossible place."""

    def write(folder: Path) -> None:
        (folder / "loop.py").write_text(LOOP)
        if make is not None:
            make(folder / "out")

    verify = ["--scenario", "{d}/loop.py", "--formula", "AX^1 x > 0", *QUICK]
    return Case([*verify, *args], write, told, (status,), prints)


def starts_code(folder: Path) -> None:
    """A result whose scenario file would create the canary."""
    (folder / "evil.py").write_text(f"open({str(folder / CANARY)!r}, 'w')\n")
    origin: dict[str, object] = {"scenario": str(folder / "evil.py"), "networks": None, "digests": {}}
    put(folder / "w.json", json.dumps(result(origin=origin)))


WON = {"atom": "you won \x1b[2J\ud800", "margin": number("9" * 4000)}
EVIL = {"exact": "-1", "label": "\x1b[2J\ud800"}

CASES: dict[str, Case] = {
    # stored results that lie
    "witness as it should be": replay(result(), "violated", status=10),
    "witness of another state": replay(result([step(-1, "half"), step("-1/3")]), "does not replay", status=20),
    "witness of another branch": replay(result([step(-1, "double"), step(-2)]), "no branch 'double'", status=20),
    "witness of another start": replay(
        result([step(-5, "half"), step("-5/2")], initial={"x": number(-5)}), "not in the initial set", status=20
    ),
    "witness of a deadlock": replay(result([step(-1, None, deadlock=True)]), "said to have no successor", status=20),
    "witness of another network": replay(
        result(origin={"scenario": "loop.py", "networks": "/dev/zero", "digests": {"a.onnx": "00" * 32}}),
        "violated",
        status=10,
    ),
    "witness of another system": replay(result([step(-1)], initial={"y": number(-1)}), "differs from the state"),
    "witness of 100,000 variables": replay(
        result(
            [{**step(-1), "state": {f"v{i}": number(1) for i in range(20_000)}}],
            initial={f"v{i}": number(1) for i in range(20_000)},
        ),
        "over the variables",
        status=20,
    ),
    "witness with comparisons of its own": replay(
        result([step(-1, "half"), step("-1/2", atoms=[WON])]),
        "violated",
        status=10,
    ),
    "witness with labels of its own": replay(
        result([{**step(-1, "half"), "state": {"x": EVIL}}, step("-1/2")], initial={"x": EVIL}), "violated", status=10
    ),
    "witness that names a scenario file": Case(
        ["replay", "{d}/w.json"], starts_code, ("which is code", "--scenario"), (2,)
    ),
    "digests that are no texts": replay(
        result(origin={"scenario": "loop.py", "networks": None, "digests": {"a": [1], "b": {}}}), "violated", status=10
    ),
    # malformed
    "children in a circle": replay(result(tree=[node(-1, {"half": 0})]), "later node"),
    "children before": replay(result(tree=[node(-1, {"half": -1})]), "later node"),
    "children of 10**30": replay(result(tree=[node(-1, {"half": 10**30})]), "later node"),
    "children that are floats": replay(result(tree=[node(-1, {"half": 1.0}), node("-1/2", {})]), "later node"),
    "children that are true": replay(result(tree=[node(-1, {"half": True}), node("-1/2", {})]), "later node"),
    "types that are wrong": replay(result(steps="many"), "wrong type str"),
    "numbers that are floats": replay(result([{**step(-1), "state": {"x": {"exact": -1.0}}}]), "wrong type float"),
    "NaN": replay('{"witness": NaN, "formula": Infinity}', "w.json"),
    "NaN in quotes": replay(result([step("nan")]), "expected an exact number"),
    "a denominator of 0": replay(result([step("1/0")]), "denominator"),
    "duplicated keys": replay('{"witness": {}, "witness": null, "verdict": "satisfied"}', "holds no witness"),
    "no JSON": replay(b"\0" * MB, "no JSON"),
    "JSON in Latin-1": replay(b'{"witness": "\xff"}', "no JSON"),
    "JSON cut": replay(json.dumps(result())[:-20], "no JSON"),
    # size
    "nesting of 10,000,000": replay(lambda _: "[" * 10 * MB, "w.json"),
    "nesting of 100,000 objects": replay('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "100 MB of lists": replay(lambda _: '{"witness":[' + "[]," * 33 * MB + "[]]}", "values"),
    "60 MB of objects": replay(lambda _: '{"witness":[' + "{}," * 20 * MB + "{}]}", "values"),
    "a number of 100 MB": replay(lambda _: '{"witness":' + "9" * 100 * MB + "}", "larger than 64 MB"),
    "a number of 50 MB": replay(lambda _: '{"witness":' + "9" * 50 * MB + "}", "4300 digits"),
    "a quotient of 2 MB": replay(result([step("0x" + "f" * MB + "/0x" + "7" * MB)]), "expected an exact number"),
    "quotients of 80 KB": replay(
        result([step("0x" + "f" * 40_000 + "/0x" + "7" * 40_000, "stay")] * 40 + [step(-1)]), "w.json"
    ),
    "3,000 steps": replay(result([step(-1, "stay")] * 3000 + [step(-1)]), "violated", status=10),
    "formula of 100 KB": replay(result(formula="!" * 100_000 + "(x > 0)"), "violated", status=10),
    "formula of 10**9 steps": replay(result(formula="AX^1000000000 x > 0"), "100000 steps"),
    "witness is a fifo": replay(os.mkfifo, "no JSON"),
    "witness is a device": replay(lambda p: p.symlink_to("/dev/zero"), "larger than 64 MB"),
    "witness is a folder": replay(Path.mkdir, "directory"),
    "witness of 4 GB": replay(sparse(4 << 30), "larger than 64 MB"),
    # places where nothing can be stored
    "json to a full disk": store("--json", "/dev/full", told=("No space left", "not stored")),
    "witness to a full disk": store("--witness", "/dev/full", told=("No space left", "not stored")),
    "json to a pipe without reader": store("--json", "{d}/out", make=os.mkfifo, told=("not stored",)),
    "json to a link to itself": store(
        "--json", "{d}/out", make=lambda p: p.symlink_to(p), told=("cannot write",), prints=False
    ),
    "json to a link to nowhere": store(
        "--json", "{d}/out", make=lambda p: p.symlink_to("/nonexistent/x"), told=("no folder",), prints=False
    ),
    "json to a file as a folder": store("--json", "{d}/loop.py/", told=("folder",), prints=False),
    "json to memory": store("--json", "/proc/self/mem", told=("cannot write",), prints=False),
    "json to a name that is no text": store("--json", "{d}/a\ud800", told=("cannot write",), prints=False),
    "json to a path of 8 KB": store("--json", "/" + "a/" * 4000, told=("too long",), prints=False),
    "json to nothing": store("--json", "/dev/null", told=("violated",), status=10),
}
