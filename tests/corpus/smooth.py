"""Random systems with smooth parts, against dense sampling: ``python -m tests.corpus.smooth --cases 2000 --seed 1``.

The oracle shares nothing with VenMAS but the text of a case: its functions are numpy's, its flows are integrated by
scipy (DOP853), extrema are taken over dense output. It contradicts where a sampled run is on the wrong side of the
formula by more than `CLEAR`, where the state of a sample is outside of the flowpipes, and where the state
that a witness names does not violate, within `CLEAR`; and where balls prove a violation at the worst sample of what is
satisfied. Runs that come closer than `CLEAR` to where a choice turns are not looked at: floats do not tell it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from random import Random
from time import process_time

import numpy as np
from scipy.integrate import solve_ivp

import venmas.model as vm
from venmas.budget import Budget, BudgetError
from venmas.engine.verify import verify
from venmas.errors import ModelError
from venmas.model import System, apply_network, explain
from venmas.model.expressions.expr import as_expr
from venmas.model.witness.enclosed import UndecidedError
from venmas.nn import Network
from venmas.nn.network import Layer
from venmas.procedure import Run
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.question import Question, read_property

Floats = np.ndarray
Tree = tuple  # (operator, operands..)
CLEAR = 1e-6
SECONDS = 3.0
_RUNS = 24


@dataclass(frozen=True)
class Case:
    """rates: by variable, where the system is a flow; else its next values. u: a network of the state, or None."""

    names: tuple[str, ...]
    rates: Mapping[str, Tree]
    flow: bool
    period: Fraction
    box: Mapping[str, tuple[Fraction, Fraction]]
    network: Network | None
    recorded: Tree | None
    greatest: bool
    steps: int
    control: Tree | None = None
    """What u is, of the state and the network's outputs n0, n1, ..; None: the first output."""


def random_case(seed: int) -> Case:
    """A case with one to three variables."""
    rng = Random(seed)
    names = tuple("xyz"[: rng.randint(1, 3)])
    flow = rng.random() < 0.75
    network = _network(rng, len(names)) if rng.random() < 0.6 else None
    leaves = [*names, *(["u"] if network else [])]
    rates = {n: _tree(rng, leaves, 3, flow) for n in names}
    box = {}
    for n in names:
        low = Fraction(rng.randint(-15, 12), 10)
        box[n] = low, low + Fraction(rng.choice([0, 1, 2, 5, 20]), 100)
    recorded = _tree(rng, list(names), 1, True) if flow and rng.random() < 0.5 else None
    period = Fraction(rng.choice([1, 2, 5, 10]), 20)
    case = Case(names, rates, flow, period, box, network, recorded, rng.random() < 0.5, rng.randint(1, 6))
    return _with_choices(case, rng) if rng.random() < 0.6 else case


def _with_choices(case: Case, rng: Random) -> Case:
    """The case with choices and corners: in its updates, and in what u is."""
    rates = dict(case.rates)
    if not case.flow:
        leaves = [*case.names, *(["u"] if case.network else [])]
        rates = {n: _piecewise(rng, leaves, tree) if rng.random() < 0.6 else tree for n, tree in rates.items()}
    if case.network is None:
        return replace(case, rates=rates)
    outputs = rng.choice([1, 2, 3])
    network = _network(rng, len(case.names), outputs)
    names = [f"n{i}" for i in range(outputs)]
    control: Tree = ("var", "n0")
    if outputs > 1:
        values = [Fraction(rng.randint(-10, 10), 10) for _ in names]
        control = ("policy", tuple(("var", n) for n in names), tuple(values))
    if rng.random() < 0.5:
        control = _piecewise(rng, [*case.names, *names], control)
    return replace(case, rates=rates, network=network, control=control)


def _piecewise(rng: Random, leaves: list[str], tree: Tree) -> Tree:
    """A tree with a corner or a choice above it."""
    other = _tree(rng, leaves, 1, False)
    match rng.choice(["where", "where", "maximum", "minimum", "absolute", "policy"]):
        case "where":
            test = ("sum", Fraction(1), _tree(rng, leaves, 1, False), Fraction(rng.randint(-9, 9), 10), ("one",))
            return ("where", test, tree, other)
        case "absolute":
            return ("absolute", tree)
        case "policy":
            scores = tuple(_tree(rng, leaves, 1, False) for _ in range(3))
            step = ("policy", scores, tuple(Fraction(rng.randint(-10, 10), 10) for _ in scores))
            return ("sum", Fraction(1), tree, Fraction(1, 2), step)
        case kind:
            return (kind, tree, other)


def _tree(rng: Random, leaves: list[str], depth: int, free: bool) -> Tree:
    if depth == 0 or rng.random() < 0.15:
        return ("var", rng.choice(leaves))
    below = lambda: _tree(rng, leaves, depth - 1, free)  # noqa: E731
    kind = rng.choice(["sum", "sum", "product", "square", "sin", "cos", "tanh", "sigmoid", "exp", "sqrt", "quotient"])
    match kind:
        case "sum":
            return ("sum", Fraction(rng.randint(-20, 20), 10), below(), Fraction(rng.randint(-20, 20), 10), below())
        case "product":
            return ("product", below(), below())
        case "quotient":
            return ("quotient", below(), ("sum", Fraction(1), ("square", below()), Fraction(1), ("one",)))
        case "exp":
            return ("exp", ("scale", Fraction(-1, 2), ("square", below())))
        case "sqrt":
            return ("sqrt", ("sum", Fraction(1), ("square", below()), Fraction(1, 2), ("one",)))
        case _:
            return (kind, below())


def _network(rng: Random, inputs: int, outputs: int = 1) -> Network:
    sizes = [inputs, rng.randint(2, 6), outputs]
    draw = np.random.default_rng(rng.randrange(2**32))
    layers = []
    for a, b in pairwise(sizes):
        weight = np.round(draw.normal(size=(b, a)), 3)
        activation = "linear" if b == 1 and rng.random() < 0.5 else rng.choice(["relu", "tanh", "sigmoid"])
        layers.append(Layer(weight, np.round(draw.normal(size=b), 3), activation))
    return Network(tuple(layers))


def built(case: Case) -> System:
    """The case as VenMAS has it."""
    system = System("case")
    state = {n: system.real(n, -1000, 1000) for n in case.names}
    known = dict(state)
    if case.recorded is not None:
        record = system.real("record", -1000000, 1000000)
    if case.network is not None:
        outputs = apply_network(case.network, list(state.values()))
        inputs = {**state, **{f"n{i}": output for i, output in enumerate(outputs)}}
        known["u"] = system.agent(_expression(case.control, inputs) if case.control else outputs[0], name="u")
    rates = {state[n]: _expression(tree, known) for n, tree in case.rates.items()}
    start = [c for n, (a, b) in case.box.items() for c in (state[n] >= a, state[n] <= b)]
    if not case.flow:
        system.branch("step", rates)
    else:
        motion = system.flow(case.period, rates)
        updates = dict(motion.end)
        if case.recorded is not None:
            extremum = motion.greatest if case.greatest else motion.least
            updates[record] = extremum(_expression(case.recorded, known))
            start.append(record == 0)
        system.branch("step", updates)
    system.initial(*start)
    return system


def _expression(tree: Tree, known: Mapping[str, object]):
    match tree:
        case ("var", name):
            return known[name]
        case ("one",):
            return as_expr(1)
        case ("scale", factor, operand):
            return factor * _expression(operand, known)
        case ("sum", a, left, b, right):
            return a * _expression(left, known) + b * _expression(right, known)
        case ("product", left, right):
            return _expression(left, known) * _expression(right, known)
        case ("quotient", left, right):
            return _expression(left, known) / _expression(right, known)
        case ("square", operand):
            return _expression(operand, known) ** 2
        case ("maximum" | "minimum", left, right):
            return getattr(vm, tree[0])(_expression(left, known), _expression(right, known))
        case ("where", test, then, otherwise):
            return vm.where(_expression(test, known) >= 0, _expression(then, known), _expression(otherwise, known))
        case ("policy", scores, values):
            return vm.switch(vm.argmax([_expression(s, known) for s in scores]), dict(enumerate(values)))
        case (function, operand):
            return getattr(vm, function)(_expression(operand, known))
    raise TypeError(tree)


_NUMPY: dict[str, Callable[..., Floats]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "square": np.square,
    "absolute": np.abs,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def _value(tree: Tree, at: Mapping[str, Floats]) -> Floats:
    match tree:
        case ("var", name):
            return at[name]
        case ("one",):
            return np.ones_like(next(iter(at.values())))
        case ("scale", factor, operand):
            return float(factor) * _value(operand, at)
        case ("sum", a, left, b, right):
            return float(a) * _value(left, at) + float(b) * _value(right, at)
        case ("product", left, right):
            return _value(left, at) * _value(right, at)
        case ("quotient", left, right):
            return _value(left, at) / _value(right, at)
        case ("where", test, then, otherwise):
            margin = _value(test, at)
            at["near"].append(abs(margin))
            return _value(then if margin >= 0 else otherwise, at)
        case ("policy", scores, values):
            found = [_value(s, at) for s in scores]
            first, second = sorted(found)[-2:][::-1]
            at["near"].append(first - second)
            return np.float64(values[int(np.argmax(found))])
        case (function, *operands):
            return _NUMPY[function](*(_value(operand, at) for operand in operands))
    raise TypeError(tree)


def _control(case: Case, at: Mapping[str, Floats]) -> dict[str, Floats]:
    if case.network is None:
        return {}
    h = np.array([at[n] for n in case.names])
    for layer in case.network.layers:
        z = layer.weight @ h + layer.bias
        h = {"relu": lambda v: np.maximum(v, 0), "linear": lambda v: v, **_NUMPY}[layer.activation](z)
    if case.control is None:
        return {"u": h[0]}
    return {"u": _value(case.control, {**at, **{f"n{i}": v for i, v in enumerate(h)}})}


class _GoneError(Exception):
    """A run that goes to infinity, with ever smaller steps."""


def run(case: Case, start: Mapping[str, float]) -> list[dict[str, float]]:
    """The states after 0 to `steps` steps; shorter where a run goes astray, empty where floats do not tell a choice."""
    near: list[float] = []
    state = {n: np.float64(v) for n, v in start.items()}
    if case.recorded is not None:
        state["record"] = np.float64(0.0)
    states = [state]
    for _ in range(case.steps):
        inputs = _control(case, {**state, "near": near})
        if not case.flow:
            state = {n: _value(tree, {**state, **inputs, "near": near}) for n, tree in case.rates.items()}
        else:

            def rate(t: float, x: Floats, inputs: dict[str, Floats] = inputs) -> list[Floats]:
                if np.abs(x).max() > 2000:
                    raise _GoneError
                at = {**dict(zip(case.names, x, strict=True)), **inputs}
                return [_value(case.rates[n], at) for n in case.names]

            times = np.linspace(0, float(case.period), 200)
            start_of = [float(state[n]) for n in case.names]
            try:
                found = solve_ivp(rate, (0, times[-1]), start_of, "DOP853", times, rtol=1e-11, atol=1e-12)
            except _GoneError:
                break
            if not found.success or np.abs(found.y).max() > 900:
                break
            state = dict(zip(case.names, found.y[:, -1], strict=True))
            if case.recorded is not None:
                along = _value(case.recorded, dict(zip(case.names, found.y, strict=True)))
                state["record"] = along.max() if case.greatest else along.min()
        if not all(np.isfinite(v) and abs(v) < 900 for n, v in state.items() if n != "record"):
            break
        states.append(state)
    return states if min(near, default=1.0) > CLEAR else []


def question(case: Case, rng: Random, runs: list[list[dict[str, float]]]) -> tuple[str, Callable[[list], float]]:
    """A formula, with its threshold near what samples reach, and by how much a run satisfies it."""
    names = [*case.names, *(["record"] if case.recorded is not None else [])]
    picked = rng.sample(names, rng.randint(1, min(2, len(names))))
    factors = [rng.choice([-2, -1, 1, 2]) for _ in picked]
    of = lambda s: sum(c * s[n] for c, n in zip(factors, picked, strict=True))  # noqa: E731
    kind = rng.choice(["AG", "AX", "AF"])
    fold = {"AG": lambda v: min(v[1:]), "AX": lambda v: v[-1], "AF": lambda v: max(v[1:])}[kind]
    reached = [fold([of(s) for s in states]) for states in runs]
    spread = max(reached) - min(reached) + 1e-3
    bound = Fraction(round(1000 * (min(reached) + spread * rng.choice([-1, -0.3, -0.05, -0.01, 0, 0.1, 0.5]))), 1000)
    text = " + ".join(f"{c}*{n}" for c, n in zip(factors, picked, strict=True))
    formula = f"{kind}^{case.steps} ({text} >= {float(bound):.3f})"
    return formula, lambda states: fold([of(s) for s in states]) - float(bound)


def check(seed: int, seconds: float = SECONDS) -> tuple[str, list[str]]:
    """The verdict of a case, and what is wrong with it."""
    case, rng = random_case(seed), Random(f"question {seed}")
    points = [{n: float(a) + (float(b) - float(a)) * 0.5 for n, (a, b) in case.box.items()}]
    for k in range(_RUNS - 1):
        share = [rng.choice([0.0, 1.0]) if k % 2 else rng.random() for _ in case.names]
        ends = zip(share, case.box.items(), strict=True)
        points.append({n: float(a) + (float(b) - float(a)) * s for s, (n, (a, b)) in ends})
    told = []
    for point in points:
        if states := run(case, point):
            told.append((point, states))
            if len(states) <= case.steps:
                return "astray", []
    runs = [states for _, states in told]
    if not runs:
        return "unclear", []
    system = built(case)
    formula, margin = question(case, rng, runs)
    wrong = []
    session = FLOWPIPES.start(Question(system, read_property(system, formula)), Run())
    with suppress(BudgetError, ModelError):
        session.advance(Budget(seconds))
    if session.complete:
        for step, box in enumerate(session.figures.reach):
            for states in runs:
                for name, (low, high) in box.items():
                    value = states[step][name]
                    slack = 1e-7 * (1 + abs(value))
                    if not low - slack <= value <= high + slack:
                        wrong.append(f"{seed}: {name} = {value} after {step} steps, outside of [{low}, {high}]")
    report = verify(system, formula, timeout=seconds)
    verdict = str(report.verdict.value)
    point, states = min(told, key=lambda pair: margin(pair[1]))
    if verdict == "satisfied" and margin(states) < -CLEAR:
        wrong.append(f"{seed}: {formula} is satisfied, a sample misses it by {-margin(states)}")
    if verdict == "satisfied" and _proved_violated(system, formula, case, point):
        wrong.append(f"{seed}: {formula} is satisfied, and balls prove that it is violated from {point}")
    if verdict == "violated":
        assert report.witness is not None
        start = {n: float(report.witness.initial[n]) for n in case.names}
        if not all(a <= report.witness.initial[n] <= b for n, (a, b) in case.box.items()):
            wrong.append(f"{seed}: the witness is no initial state")
        if (after := run(case, start)) and (found := margin(after)) > CLEAR:
            wrong.append(f"{seed}: {formula} is violated from {start}, where it holds by {found}")
    return verdict, wrong


def _proved_violated(system: System, formula: str, case: Case, point: Mapping[str, float]) -> bool:
    """Is the formula violated from a sample, by balls of growing precision?"""
    start = {n: min(max(Fraction(v), case.box[n][0]), case.box[n][1]) for n, v in point.items()}
    if case.recorded is not None:
        start["record"] = Fraction(0)
    budget = Budget(SECONDS)
    with suppress(UndecidedError, BudgetError):
        return explain(system, Question(system, read_property(system, formula)).target, start, tick=budget) is not None
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one case by its seed")
    args = parser.parse_args()
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    begun = process_time()
    seeds = [args.only] if args.only is not None else [1_000_000 * args.seed + i for i in range(args.cases)]
    for seed in seeds:
        verdict, found = check(seed)
        tally[verdict] += 1
        wrong += found
        for line in found:
            print(line, flush=True)
    print(f"{len(seeds)} cases, {len(wrong)} wrong, {process_time() - begun:.0f} s of CPU: {dict(tally)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
