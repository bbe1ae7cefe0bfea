"""Do lies about what holds for ever get through? ``python -m tests.corpus.mutants --cases 130 --seed 1``.

Each case is a certificate of a property without a bound, of a random finite system or of a random loop over the reals,
and twenty mutants of it. The checker must refuse each, or what it claims must be true still: by fixpoints over all
states, or, over the reals, by exact runs and by a search of its own. Exit status 1 when a false claim was accepted.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

from tests.checker.test_forever_mutants import accepted
from tests.corpus import forever, loops
from tests.corpus.finite import model
from tests.corpus.spec import Spec, build
from venmas import verify
from venmas.checker.forever.sequents import INIT, Sequent
from venmas.logic import Formula, evaluate, parse_property

Lines = list[dict[str, Any]]
_MUTANTS = 20
_SECONDS = 3.0
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:/\d+)?")
_LETTER = re.compile(r"\b[AE](?=[XFG(])")
_RELATION = re.compile(r"[<>]=?|==")


def stored(spec: Spec, asked: Formula | str, folder: Path) -> Lines | None:
    """The lines of the certificate of a property; None where it was not proved."""
    path = folder / "proof.gz"
    report = verify(build(spec), asked, timeout=_SECONDS, certificate=path)
    if not report.satisfied or report.certificate is None:
        return None
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


# -- mutants -----------------------------------------------------------------------------------------------------------


def mutated(lines: Lines, rng: Random) -> tuple[str, Lines]:
    """A kind of change, and the lines with it."""
    changed, at = deepcopy(lines), rng.randrange(1, len(lines))
    kind = rng.choice(("claim", "claim", "texts", "text", "number", "number", "drop", "twice", "swap"))
    match kind:
        case "claim":  # and wherever it is said again
            said = changed[0]["claim"]["formula"]
            other = rewritten(said, rng)
            everywhere(changed, lambda text: other if text == said else text)
        case "texts":  # a word of all texts
            words = [word for text in texts(changed) for word in _NUMBER.findall(text)]
            word, moved = (rng.choice(words), str(rng.randint(-3, 3))) if words else ("0", "1")
            everywhere(changed, lambda text: re.sub(rf"(?<![\w./]){re.escape(word)}(?![\w./])", moved, text))
        case "text":
            found = texts(changed[1:])
            said = rng.choice(found) if found else ""
            other = rewritten(said, rng)
            everywhere(changed[1:], lambda text: other if text == said else text)
        case "number":
            spots = list(numbers(changed[1:]))
            holder, key = rng.choice(spots)
            holder[key] += rng.choice((-1, 1, 1, -holder[key]))
        case "drop" | "twice":
            changed[at : at + 1] = [deepcopy(changed[at])] * 2 * (kind == "twice")
            changed[-1]["lines"] = len(changed) - 1
        case "swap":
            other_ = rng.randrange(1, len(changed))
            changed[at], changed[other_] = changed[other_], changed[at]
    return kind, changed


def rewritten(text: str, rng: Random) -> str:
    """A text with a number, a relation or a quantifier of it changed, or negated."""
    pattern, others = rng.choice(
        ((_NUMBER, ("0", "1", "-1", "2", "-3", "1.5")), (_RELATION, ("<", ">", "<=", ">=")), (_LETTER, ("A", "E")))
    )
    found = list(pattern.finditer(text))
    if not found:
        return f"!({text})"
    spot = rng.choice(found)
    return text[: spot.start()] + rng.choice(others) + text[spot.end() :]


def texts(lines: Lines) -> list[str]:
    """Texts of formulas."""
    found: list[str] = []
    everywhere(lines, lambda text: found.append(text) or text if _RELATION.search(text) else text)  # type: ignore[func-returns-value]
    return found


def everywhere(lines: Lines, change: Callable[[str], str]) -> None:
    """Change the texts of all lines but the subject, in place."""

    def put(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [put(part) for part in value]
        return {k: v if k == "subject" else put(v) for k, v in value.items()} if isinstance(value, dict) else value

    for line in lines:
        line.update(put(line))


def numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where whole numbers stand: what holds them, and the key there."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        if type(part) is int:
            yield value, key
        elif isinstance(part, dict | list):
            yield from numbers(part)


# -- what is true ------------------------------------------------------------------------------------------------------


def refuted_finite(spec: Spec, text: str) -> bool:
    """Is a claim about a finite system false?"""
    explicit, initial = model(spec)
    return not set(initial) <= evaluate(parse_property(text, build(spec).vocabulary).formula, explicit)


def refuted_real(spec: Spec, text: str, seed: int) -> bool:
    """Is a claim about a loop known to be false?"""
    core = Sequent.of(INIT, parse_property(text, build(spec).vocabulary).formula).formula
    if any(loops.truth(spec, core, start) is False for start in loops.points(Random(seed), spec)):
        return True
    return verify(build(spec), text, timeout=_SECONDS).violated


def check(seed: int, folder: Path, counts: Counter[str]) -> list[str]:
    """False claims that were accepted, of the mutants of a case, which are counted."""
    rng, wrong = Random(f"mutants {seed}"), list[str]()
    for tried in range(seed * 50, seed * 50 + 50):
        if seed % 2:
            case = forever.case(tried)
            spec, asked = case.spec, [case.formula] * case.truth
        else:
            made = loops.loop(tried)
            spec, asked = made.spec, [rng.choice(made.texts)]
        lines = stored(spec, asked[0], folder) if asked else None
        if lines is not None:
            break
    else:
        return []
    kind_of = str(lines[0]["proof"])
    for _ in range(_MUTANTS):
        kind, changed = mutated(lines, rng)
        if changed == lines:
            counts[f"{kind_of}, {kind}: the same"] += 1
            continue
        counts["mutants"] += 1
        if not accepted(changed, build(spec)):
            counts[f"{kind_of}, {kind}: refused"] += 1
            continue
        text = changed[0]["claim"]["formula"]
        false = refuted_finite(spec, text) if seed % 2 else refuted_real(spec, text, seed)
        counts[f"{kind_of}, {kind}: accepted, {'FALSE' if false else 'and true'}"] += 1
        if false:
            wrong.append(f"seed {seed}: {kind}: {text} is accepted")
    return wrong


if __name__ == "__main__":
    sys.exit(forever.run(__doc__, check, cases=130))
