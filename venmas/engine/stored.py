"""Reading what `Report.to_json` wrote: results that come from files, in which anything may stand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from venmas.engine.certificates.kept import Certificate
from venmas.engine.partial.partial import Closest, Partial
from venmas.engine.report import Asked, AutomatonSize, Deployed, Origin, Report, Seconds, Tried, Verdict
from venmas.errors import UsageError
from venmas.model.evaluation.simulate import Precision
from venmas.model.witness.float_run import FloatRun
from venmas.model.witness.lasso import Run
from venmas.model.witness.replay import Replay
from venmas.model.witness.tree import Witness, read_number
from venmas.procedures.reachability.graph.figures import Regions
from venmas.runtime.choices import SEMANTICS
from venmas.solvers.programs import Counts, Largest

_HOW = "write it with `venmas verify ... --json FILE`"
_PRECISIONS: tuple[Precision, ...] = ("float64", "float32")
_MISSING: Any = object()


def read_report(data: object) -> Report:
    """The report in the object of a result file (`docs/result.schema.json`), of this or of an earlier version.

    Fields that an earlier version did not write are empty. Nothing is computed anew: whoever wants to believe the
    witness replays it. Raises `UsageError` that names the field that is missing or is not of its form.
    """
    given = _Object(data, "the result")
    try:
        verdict = Verdict(given.text("verdict"))
    except ValueError:
        raise UsageError(
            f"the result: 'verdict' should be one of {', '.join(Verdict)}, not {given.text('verdict')[:40]!r}; {_HOW}"
        ) from None
    witness = given.get("witness", dict | None, None)
    lasso = given.get("lasso", dict | None, None)
    if (witness is not None or lasso is not None) != (verdict is Verdict.VIOLATED):
        raise UsageError(f"the result says {verdict}, but has {'a' if witness or lasso else 'no'} witness; {_HOW}")
    semantics = given.text("semantics", "real")
    if semantics not in SEMANTICS:
        raise UsageError(f"the result: 'semantics' should be {' or '.join(SEMANTICS)}, not {semantics[:40]!r}; {_HOW}")
    origin, asked = given.part("origin"), given.part("asked")
    versions, machine = given.part("versions"), given.part("machine")
    certificate, automaton = given.part("certificate"), given.part("automaton")
    cone, proof = given.part("cone"), given.part("proof")
    return Report(
        verdict,
        given.text("formula"),
        given.text("scenario", ""),
        given.text("mode", ""),
        given.text("encoding", ""),
        given.text("bounds", ""),
        reason=given.text("reason", ""),
        message=given.text("message", ""),
        basis=given.text("basis", ""),
        trust=given.text("trust", ""),
        kind=given.text("property", "bounded"),
        semantics="float32" if semantics == "float32" else "real",
        certificate=None
        if certificate is None
        else Certificate(
            certificate.text("path"),
            certificate.count("lines"),
            certificate.count("size"),
            certificate.text("sha256", ""),
        ),
        parameters=_Object(given.get("parameters", dict, {}), "the result, 'parameters'").texts(),
        solvers={s.text("name"): s.text("version", "") for s in given.list_of("solver")},
        seconds=Seconds(**_numbers(given, "seconds", Seconds)),
        subproblems=Counts(**_counts(given, "subproblems", Counts)),
        largest_program=Largest(**_counts(given, "largest_program", Largest)),
        graph=Regions(**_counts(given, "graph", Regions)),
        invariant=_refined(given.part("invariant")),
        partial=_partial(given.part("partial")),
        deployed=_deployed(given.part("deployed")),
        depth=given.count("depth", 0),
        peak_rss_mb=given.number("peak_rss_mb", 0.0),
        workers=given.count("workers", 1),
        notes=[str(note) for note in given.get("notes", list, [])],
        witness=None if witness is None else Witness.from_json(witness),
        replay=None if witness is None else _replay(_Object(witness, "witness").part("replay")),
        decided_by=given.text("decided_by", ""),
        procedures=[
            Tried(
                p.text("name"), p.number("seconds"), p.text("why"), _Object(p.get("figures", dict), "'figures'").texts()
            )
            for p in (given.list_of("procedures") if "procedures" in given else ())
        ],
        origin=None
        if origin is None
        else Origin(
            origin.text("scenario"),
            origin.get("networks", str | None, None),
            _Object(origin.get("digests", dict, {}), "the result, 'digests'").texts(),
            _Object(origin.get("files", dict, {}), "the result, 'files'").texts(),
        ),
        asked=None
        if asked is None
        else Asked(
            asked.text("formula"),
            asked.text("solver", "auto"),
            None if asked.get("timeout", int | float | None, None) is None else asked.number("timeout"),
            None if asked.get("memory", int | None, None) is None else asked.count("memory"),
            asked.text("invariant", ""),
            _Object(asked.get("options", dict, {}), "the result, 'options'").texts(),
            tuple(str(text) for text in asked.get("fair", list, [])),
            "stutter" if asked.text("deadlock", "error") == "stutter" else "error",
            asked.text("initial", ""),
            _Object(asked.get("tune", dict, {}), "the result, 'tune'").texts(),
        ),
        lasso=None if lasso is None else Run.from_json(lasso),
        automaton=None if automaton is None else _automaton(automaton),
        cone=None if cone is None else {key: cone.count(key) for key in ("registers", "bits")},
        proof=None if proof is None else _proof(proof),
        system=given.text("system", ""),
        started=given.text("started", ""),
        versions={} if versions is None else versions.texts(),
        machine={} if machine is None else machine.texts(),
    )


def _deployed(data: _Object | None) -> Deployed | None:
    if data is None:
        return None
    reason, message, basis = (data.text(key, "") for key in ("reason", "message", "basis"))
    verdict, witness = Verdict(data.text("verdict")), data.get("witness", dict | None, None)
    if (witness is not None) != (verdict is Verdict.VIOLATED):
        raise UsageError(f"the result says {verdict} as deployed, and its witness says otherwise; {_HOW}")
    run = None if witness is None else Witness.from_json(witness)
    return Deployed(verdict, reason, message, basis, run, data.text("runtime", ""), data.number("seconds", 0.0))


def _automaton(data: _Object) -> AutomatonSize:
    states, edges, sets = (data.count(key) for key in ("states", "edges", "acceptance_sets"))
    return AutomatonSize(states, edges, sets, data.text("hoa"))


def _proof(data: _Object) -> dict[str, Any]:
    """Part of a page about a proof of LTL."""
    found: dict[str, Any] = {key: data.text(key, "") for key in ("kind", "by", "from")}
    found["texts"] = [str(text) for text in data.get("texts", list, [])]
    found["said"] = data.get("said", str | None, None)
    for key in ("within", "states"):
        found[key] = None if data.get(key, int | None, None) is None else data.count(key)
    found["obligations"] = [
        {key: one.text(key) for key in ("edge", "rank", "where")} | {"clauses": one.get("clauses", int | None, None)}
        for one in data.list_of("obligations")
    ]
    return found


class _Object:
    """A JSON object whose fields are asked for by type."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise UsageError(f"{where}: expected an object, got a {type(data).__name__}; {_HOW}")
        self._data: Mapping[str, Any] = data
        self._where = where

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def get(self, key: str, kind: Any, default: Any = _MISSING) -> Any:
        """The value of a type; the default where there is none."""
        if key not in self._data and default is not _MISSING:
            return default
        value = self._data.get(key, _MISSING)
        if value is _MISSING or not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            got = "it is missing" if value is _MISSING else f"it is a {type(value).__name__}"
            wanted = getattr(kind, "__name__", str(kind))
            raise UsageError(f"{self._where}: expected {key!r} of type {wanted}, {got}; {_HOW}")
        return value

    def text(self, key: str, default: Any = _MISSING) -> str:
        """A text."""
        return str(self.get(key, str, default))

    def number(self, key: str, default: Any = _MISSING) -> float:
        """A finite number >= 0."""
        value = self.get(key, int | float, default)
        if not 0 <= value < 1e300 or not isfinite(value):
            raise UsageError(f"{self._where}: {key!r} should be a finite number, not below 0; {_HOW}")
        return float(value)

    def real(self, key: str) -> float:
        """A finite number."""
        value = self.get(key, int | float)
        if not isfinite(value):
            raise UsageError(f"{self._where}: {key!r} should be a finite number; {_HOW}")
        return float(value)

    def reals(self) -> dict[str, float]:
        """All fields, which are finite numbers."""
        return {key: self.real(key) for key in self._data}

    def sides(self) -> dict[str, tuple[float, float]]:
        """All fields, which are two finite numbers each."""
        found = {}
        for key in self._data:
            ends = self.get(key, list)
            if len(ends) != 2:
                raise UsageError(f"{self._where}: {key!r} should have two ends; {_HOW}")
            pair = _Object({"low": ends[0], "high": ends[1]}, f"{self._where}, {key!r}")
            found[key] = pair.real("low"), pair.real("high")
        return found

    def count(self, key: str, default: Any = _MISSING) -> int:
        """A whole number >= 0."""
        value = self.get(key, int, default)
        if not 0 <= value < 1 << 63:
            raise UsageError(f"{self._where}: {key!r} should be a whole number, not below 0; {_HOW}")
        return int(value)

    def part(self, key: str) -> _Object | None:
        """An object, or None where it is null or missing."""
        value = self.get(key, dict | None, None)
        return None if value is None else _Object(value, f"the result, {key!r}")

    def list_of(self, key: str) -> list[_Object]:
        """Objects."""
        return [_Object(item, f"the result, {key!r}") for item in self.get(key, list, [])]

    def texts(self) -> dict[str, str]:
        """All fields, which are texts."""
        return {key: self.text(key) for key in self._data}


def _numbers(given: _Object, key: str, kind: type) -> dict[str, float]:
    part = given.part(key)
    return {} if part is None else {name: part.number(name, 0.0) for name in kind.__dataclass_fields__}  # type: ignore[attr-defined]


def _counts(given: _Object, key: str, kind: type) -> dict[str, int]:
    part = given.part(key)
    return {} if part is None else {name: part.count(name, 0) for name in kind.__dataclass_fields__}  # type: ignore[attr-defined]


def _partial(data: _Object | None) -> Partial | None:
    """Partial result of an open question."""
    if data is None:
        return None
    run = data.part("closest")
    share = data.get("share", int | float | None, None)
    return Partial(
        data.text("proved", ""),
        None if data.get("steps", int | None, None) is None else data.count("steps"),
        data.text("open", ""),
        None if share is None else min(1.0, data.number("share")),
        tuple(box.sides() for box in data.list_of("boxes")),
        data.count("count", 0),
        _Object(data.get("around", dict, {}), "the result, 'around'").sides(),
        tuple(str(name) for name in data.get("leaving", list, [])),
        None
        if run is None
        else Closest(
            run.real("margin"),
            {n: _exact(v) for n, v in _Object(run.get("initial", dict), "'initial'").texts().items()},
            tuple(state.reals() for state in run.list_of("run")),
            None if run.get("step", int | None, None) is None else run.count("step"),
        ),
        data.count("before", 0),
        data.count("first", 0),
    )


def _refined(data: _Object | None) -> dict[str, Any] | None:
    """What predicate abstraction came to: what a page shows of it."""
    if data is None:
        return None
    abstract, graph = data.part("abstract"), data.part("graph")
    return {
        "predicates": data.count("predicates"),
        "abstract": {} if abstract is None else {"states": abstract.count("states", 0)},
        "history": [
            {
                **{key: entry.count(key) for key in ("predicates", "states", "path")},
                "spurious": entry.text("spurious"),
                "added": [str(text) for text in entry.get("added", list)],
            }
            for entry in data.list_of("history")
        ],
        "graph": None if graph is None else _drawn(graph),
    }


def _drawn(graph: _Object) -> dict[str, Any]:
    """An abstract graph: what it names is one of its states."""
    states = [str(text) for text in graph.get("states", list)]
    steps, unsafe, starts = graph.get("steps", list), graph.get("unsafe", list), graph.count("starts")
    known = range(len(states))
    named = [i for step in steps for i in (step[:2] if isinstance(step, list) and len(step) == 3 else [-1])]
    if starts > len(states) or not all(type(i) is int and i in known for i in (*unsafe, *named)):
        raise UsageError(f"the result, 'graph': its steps and unsafe states should be of its {len(states)}; {_HOW}")
    return {
        "states": states,
        "starts": starts,
        "unsafe": unsafe,
        "steps": [[s, t, str(names)] for s, t, names in steps],
    }


def _replay(data: _Object | None) -> Replay | None:
    if data is None:
        return None
    found = {p: run for p in _PRECISIONS if (run := data.part(p)) is not None}
    margin = data.part("margin")
    return Replay(
        bool(data.get("confirmed", bool)),
        data.text("reason", ""),
        None if margin is None else _exact(margin.text("exact")),
        {p: _run(run) for p, run in found.items()},
        data.count("bits", 0),
    )


def _exact(text: str) -> Fraction:
    return read_number(text, "the result, 'margin'")


def _run(run: _Object) -> FloatRun:
    missing = run.get("difference", int | float | None) is None
    return FloatRun(inf if missing else run.number("difference"), bool(run.get("violated", bool)), run.text("runtime"))
