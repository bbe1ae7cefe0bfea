"""Answers of single runs, kept the moment they are known: a command that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, process_time
from typing import Any, Self

from experiments.policies.instances import Instance
from venmas import verify
from venmas.engine.store import Store
from venmas.procedures.predicate_abstraction.settings import OPTIONS

KIND, FORM = "policies", 2


def _arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by short names as `verify` takes them: those of predicate abstraction are tune entries."""
    names = {option.name for option in OPTIONS}
    given = {"first" if name == "predicates" else name: value for name, value in options.items()}
    tune = {f"predicates.{name}": given.pop(name) for name in list(given) if name in names}
    return {**given, "tune": {**given.get("tune", {}), **tune}} if tune else given


def abstraction(**options: Any) -> dict[str, Any]:
    """Arguments of `verify`: predicate abstraction with these options of it."""
    return {"mode": "abstraction", "tune": {f"predicates.{name}": value for name, value in options.items()}}


@dataclass(frozen=True)
class Cell:
    """One run of `verify`: an instance, options, at most `timeout` seconds."""

    instance: Instance
    options: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 60.0

    @property
    def key(self) -> str:
        """Of what is asked: a change of a file or of an option asks anew."""
        files = (self.instance.model, self.instance.policy, self.instance.property)
        network = self.instance.policy.parent / json.loads(self.instance.policy.read_text("utf-8"))["file"]
        texts = [path.read_bytes() for path in (*files, network) if path is not None]
        told = [self.instance.number, dict(self.instance.constants), dict(self.options), self.timeout]
        return hashlib.sha256(b"\0".join([*texts, json.dumps(told, sort_keys=True).encode()])).hexdigest()

    def run(self) -> dict[str, Any]:
        """Verdict, what decided, figures of the abstraction, seconds (wall and CPU, loading apart)."""
        scenario = self.instance.load()
        system, formula = scenario.system(), scenario.formula
        assert formula is not None, f"{self.instance.name} has no property with `reach`"
        begun, clock = process_time(), monotonic()
        report = verify(system, formula, timeout=self.timeout, **_arguments(self.options))
        found = report.invariant or {}
        return {
            "verdict": report.verdict.value,
            "by": report.decided_by or report.mode,
            "iterations": found.get("iterations", ""),
            "by policy": found.get("refinements", {}).get("policy", ""),
            "cells": found.get("refinements", {}).get("cell", ""),
            "predicates": found.get("predicates", ""),
            "predicates by policy": found.get("predicates_by_policy", ""),
            "states": found.get("abstract", {}).get("states", ""),
            "queries": found.get("queries", {}).get("count", ""),
            "known": found.get("queries", {}).get("remembered", ""),
            "path": len(report.witness.branches or ()) if report.witness is not None else "",
            "CPU": round(process_time() - begun, 2),
            "seconds": round(monotonic() - clock, 2),
        }


def table(*columns: str) -> str:
    """The head of a table in Markdown."""
    return f"{line(*columns)}\n|{'---|' * len(columns)}"


def line(*values: object) -> str:
    """A line of it."""
    return f"| {' | '.join(map(str, values))} |"


class Cells:
    """A file of answers; a context manager."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.store = Store(path, KIND, FORM)

    def __enter__(self) -> Self:
        self.store.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.store.__exit__(*error)

    def decide(self, cell: Cell) -> dict[str, Any]:
        """The kept answer, or that of a run now."""
        return self.keep(cell.key, cell.run)

    def keep(self, key: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] | None = self.store.get(key)
        if found is None:
            found = work()
            self.store.put(key, found)
        return found
