"""The cases as plain programs, without any of our care: interval bounds in floats, big-M rows, default settings.

A solver's point counts as it is, and its "infeasible" too. None of the solvers has strict rows, so that the strict
cases are asked with ``>=``. Nothing of the product's encodings or solver interfaces is used.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.soundness.cases import Case
from venmas.nn import load_network

Row = tuple[dict[int, float], float, float]
INF = float("inf")


@dataclass
class Plain:
    """Variables by lower end, upper end and whether they are binary; rows ``low <= sum <= high``."""

    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    binary: list[bool] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def variable(self, low: float, high: float, binary: bool = False) -> int:
        self.low.append(low)
        self.high.append(high)
        self.binary.append(binary)
        return len(self.low) - 1


def big_m(case: Case) -> Plain:
    """The program of one case; its variable 0 is the input."""
    program = Plain()
    columns = [program.variable(float(case.low), float(case.high))]
    low, high = np.array([float(case.low)]), np.array([float(case.high)])
    for layer in load_network(case.folder / f"{case.name}.onnx").layers:
        w, b = layer.weight, layer.bias
        plus, minus = np.maximum(w, 0), np.minimum(w, 0)
        low, high = plus @ low + minus @ high + b, plus @ high + minus @ low + b
        made = []
        for row, bias, least, most in zip(w.tolist(), b.tolist(), low.tolist(), high.tolist(), strict=True):
            terms = {c: v for c, v in zip(columns, row, strict=True) if v}
            if layer.activation != "relu" or least >= 0:
                made.append(program.variable(least, most))
                program.rows.append(({**terms, made[-1]: -1.0}, -bias, -bias))  # y = w x + b
            elif most <= 0:
                made.append(program.variable(0, 0))
            else:
                made.append(program.variable(0, most))
                on = program.variable(0, 1, True)
                program.rows.append(({**terms, made[-1]: -1.0}, -INF, -bias))  # y >= z
                program.rows.append(({**terms, made[-1]: -1.0, on: least}, least - bias, INF))  # y <= z - l (1 - on)
                program.rows.append(({made[-1]: 1.0, on: -most}, -INF, 0.0))  # y <= u on
        if layer.activation == "relu":
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        columns = made
    program.rows.append(({y: c for y, c in zip(columns, case.c, strict=True) if c}, -case.d, INF))
    return program


def highs(p: Plain) -> float | str:
    import highspy

    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    for i, (a, b) in enumerate(zip(p.low, p.high, strict=True)):
        h.addVar(a, b)
        if p.binary[i]:
            h.changeColIntegrality(i, highspy.HighsVarType.kInteger)
    for terms, a, b in p.rows:
        if h.addRow(a, b, len(terms), np.array(list(terms)), np.array(list(terms.values()))).name == "kError":
            return "refused"
    h.run()
    status = h.getModelStatus().name
    return float(h.getSolution().col_value[0]) if status == "kOptimal" else _named(status, "kInfeasible")


def gurobi(p: Plain) -> float | str:
    import gurobipy as gp

    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
        kinds = ["B" if b else "C" for b in p.binary]
        v = [model.addVar(a, b, vtype=k) for a, b, k in zip(p.low, p.high, kinds, strict=True)]
        for terms, a, b in p.rows:
            total = gp.quicksum(c * v[i] for i, c in terms.items())
            if a > -INF:
                model.addConstr(total >= a)
            if b < INF:
                model.addConstr(total <= b)
        model.optimize()
        if model.Status == gp.GRB.INF_OR_UNBD:  # without an objective it is not unbounded
            return "infeasible"
        return float(v[0].X) if model.SolCount else _named(str(model.Status), str(gp.GRB.INFEASIBLE))


def scip(p: Plain) -> float | str:
    from pyscipopt import Model, quicksum

    model = Model()
    model.hideOutput()
    kinds = ["B" if b else "C" for b in p.binary]
    v = [model.addVar(lb=a, ub=b, vtype=k) for a, b, k in zip(p.low, p.high, kinds, strict=True)]
    for terms, a, b in p.rows:
        total = quicksum(c * v[i] for i, c in terms.items())
        if a > -INF:
            model.addCons(total >= a)
        if b < INF:
            model.addCons(total <= b)
    model.optimize()
    return float(model.getVal(v[0])) if model.getNSols() else _named(model.getStatus(), "infeasible")


def _named(status: str, infeasible: str) -> str:
    return "infeasible" if status == infeasible else f"status {status}"


SOLVERS: dict[str, Callable[[Plain], float | str]] = {"HiGHS": highs, "Gurobi": gurobi, "SCIP": scip}


def marabou(case: Case) -> float | str:
    """Marabou on the .onnx file, in a process of its own, which may crash."""
    query = [str(case.folder / f"{case.name}.onnx"), float(case.low), float(case.high), list(case.c), case.d]
    command = [sys.executable, __file__, json.dumps(query)]
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    except subprocess.TimeoutExpired:
        return "time"
    if done.returncode != 0:
        return "not installed" if "No module named 'maraboupy'" in done.stderr else f"crashed ({done.returncode})"
    answer: float | str = json.loads(done.stdout.splitlines()[-1])
    return answer


def _marabou(file: str, low: float, high: float, c: list[float], d: float) -> float | str:
    sys.modules["tensorflow"] = None  # type: ignore[assignment]  # its reader of ONNX does not need it
    from maraboupy import Marabou

    network = Marabou.read_onnx(file)
    x, y = network.inputVars[0].flatten(), network.outputVars[0].flatten()
    network.setLowerBound(x[0], low)
    network.setUpperBound(x[0], high)
    network.addInequality([int(v) for v in y], [-v for v in c], d)
    code, values, _ = network.solve(filename="", verbose=False, options=Marabou.createOptions(verbosity=0))
    return values[int(x[0])] if code == "sat" else _named(code, "unsat")


if __name__ == "__main__":
    print(json.dumps(_marabou(*json.loads(sys.argv[1]))))
