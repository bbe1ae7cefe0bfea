"""Mutated rules: each constant of the enclosures is spoilt in turn, and the checks of `rules` have to notice.

``python -m tests.soundness.smooth.mutants [--only PART] [--count N]``. Each mutant runs in a process of its own,
in which one module is read with one text replaced. A text that is no longer there is an error: the list keeps up.

thin: guard bits that are taken away as well, since a rule with 24 bits to spare hides a unit that is lost but once in
2^24 boxes; the rule without guard bits alone is right, which is checked too. slack: why a mutant that is not caught is
right.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

Replaced = tuple[str, str]


@dataclass(frozen=True)
class Mutant:
    """A text of a module and what it is replaced by; checks: parts of the names of those that may notice."""

    module: str
    old: str
    new: str
    checks: tuple[str, ...]
    thin: tuple[Replaced, ...] = ()
    slack: str = ""

    @property
    def name(self) -> str:
        """Module and texts."""
        return f"{self.module}: {' '.join(self.old.split())} -> {' '.join(self.new.split()) or 'nothing'}"


def all_mutants() -> list[Mutant]:
    """Those of values, of the checker, and of the engine."""
    from tests.soundness.smooth.mutants_checker import CHECKER
    from tests.soundness.smooth.mutants_engine import ENGINE
    from tests.soundness.smooth.mutants_values import VALUES

    return [*VALUES, *CHECKER, *ENGINE]


class _Loader(SourceFileLoader):
    replaced: tuple[Replaced, ...] = ()

    def get_code(self, fullname: str) -> CodeType:
        text = Path(self.path).read_text()
        for old, new in self.replaced:
            if old not in text:
                raise LookupError(f"{fullname} has no {old!r} any more")
            text = text.replace(old, new)
        return compile(text, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, module: str, replaced: tuple[Replaced, ...]) -> None:
        self.module, self.replaced = module, replaced

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path)  # type: ignore[arg-type]
        assert spec is not None and spec.origin is not None
        spec.loader = loader = _Loader(fullname, spec.origin)
        loader.replaced = self.replaced
        return spec


def noticed(mutant: Mutant, count: int, thin_only: bool = False) -> str:
    """What the checks say in this process, which has to be a new one: the first point outside, or nothing."""
    replaced = mutant.thin if thin_only else (*mutant.thin, (mutant.old, mutant.new))
    sys.meta_path.insert(0, _Finder(f"venmas.{mutant.module}", replaced))
    from tests.soundness.smooth.rules import CHECKS

    for (rule, place), check in CHECKS.items():
        name = f"{rule}, {place}"
        if not any(part in name for part in mutant.checks):
            continue
        few = count // 10 if place.startswith(("flow", "network", "checker", "engine", "all")) else count
        for seed in range(4):
            try:
                found = check(seed, -(-few // 4))
            except Exception as error:  # a rule that fails is noticed as well
                return f"{name}: {type(error).__name__}"
            outside = [what for what in found.outside if not (mutant.thin and what.startswith("width"))]
            if outside:
                return f"{name}: {outside[0][:80]}"
    return ""


def run(mutant: Mutant, number: int, count: int, thin_only: bool = False) -> str:
    """`noticed` in a new process. Raises `LookupError` where the text has gone."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--child", str(number)]
    command += ["--count", str(count), *(["--thin"] if thin_only else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    if done.returncode:
        raise LookupError(f"{mutant.name}: {done.stderr[-400:]}")
    return str(json.loads(done.stdout))


def mutants(count: int, only: str = "") -> int:
    """Print what came of each; status 1 where one was not caught, or caught and yet said to be right."""
    missed = total = 0
    print("| mutant | noticed by |\n|---|---|")
    for number, mutant in enumerate(all_mutants()):
        if only not in mutant.name:
            continue
        total += 1
        found = run(mutant, number, count)
        if mutant.thin and (wrong := run(mutant, number, count, thin_only=True)):
            found, missed = f"**wrong without guard bits: {wrong}**", missed + 1
        elif not found and not mutant.slack:
            found, missed = "**not noticed**", missed + 1
        elif not found:
            found = f"right: {mutant.slack}"
        elif mutant.slack:
            found, missed = f"**{found}, but said to be right: {mutant.slack}**", missed + 1
        print(f"| `{mutant.name}` | {found} |", flush=True)
    print(f"\n{total} mutants, {missed} missed")
    return int(missed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4000, help="boxes of each check; of flows and networks a tenth")
    parser.add_argument("--only", default="", help="mutants whose name has this part")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--thin", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child is None:
        return mutants(args.count, args.only)
    print(json.dumps(noticed(all_mutants()[args.child], args.count, args.thin)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
