"""Do lies about runs of systems get through? ``python -m experiments.certificates.runs [--count N] [--seed N]``.

Certificates of LTL of random systems of integers, with one change each: levels, ranks, states, edges and labels of the
automaton, lines, and the claim itself: formula, fairness, deadlocks, steps, the system. The checker must refuse each,
or what it claims must still be true. Of properties that are violated certificates are forged: edges of the automaton
are left out, or ask for more, until nothing accepting is left, and levels are made for the rest; each must be refused.
Prints what became of each kind; exit status 1 where a false claim was accepted.
"""

from __future__ import annotations

import argparse
import copy
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from tests.corpus.spec import build
from tests.soundness.ltl_systems import random_question, read
from venmas.answer import Answer, Broken, Proof, Proved
from venmas.budget import Budget, limited
from venmas.checker.file import check_claim, opened
from venmas.engine.certificates.file import claimed, header
from venmas.engine.modes import DEFAULTS, modes
from venmas.engine.portfolio import Portfolio
from venmas.errors import InputError
from venmas.logic import Deadlock, Linear
from venmas.logic.automata.automaton import Automaton
from venmas.logic.formula import Formula
from venmas.logic.printing import to_text
from venmas.model.canonical.canonical import system_from_json, system_to_json
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.procedure import LinearQuestion, Run
from venmas.procedures.explicit.levels import LevelsProof
from venmas.procedures.ranking.systems.ranks import RanksProof, ranked

Lines = list[dict[str, Any]]
Mutation = Callable[[Lines, Random], None]


def proved(
    system: System, formula: Formula, fair: list[Formula], deadlock: Deadlock, by_ranks: bool = False
) -> Lines | None:
    """The lines of a certificate, by ranks if they are wanted and found; None where the property is not satisfied."""
    question = LinearQuestion(system, Linear(formula, tuple(fair), deadlock), certified=True)
    answer = decided(question)
    if not isinstance(answer, Proved):
        return None
    if by_ranks and (found := ranked(system, question.automaton, deadlock == "stutter")) is not None:
        return written(question, RanksProof(found))
    assert answer.proof is not None
    return written(question, answer.proof)


def decided(question: LinearQuestion) -> Answer:
    """The answer of the default mode. Raises `ModelError`."""
    budget = Budget(20)
    with limited(budget), Run() as run:
        return Portfolio(modes()[DEFAULTS["linear"]], run, budget, None).settle(question)


def accepts(lines: Lines, system: System) -> bool:
    """Does the checker accept these lines, of the system that they are about?"""
    try:
        check_claim(*opened(lines), system)
    except InputError:
        return False
    return True


def true(lines: Lines, system: System) -> bool:
    """Is what they claim true?"""
    claim = opened(lines)[0].claim
    formula, *fair = (read(system, text) for text in (claim.formula, *claim.fair))
    answer = decided(LinearQuestion(system, Linear(formula, tuple(fair), claim.deadlock)))
    if not isinstance(answer, Proved):
        return False
    assert isinstance(answer.proof, LevelsProof | RanksProof)
    return claim.within is None or (answer.proof.within is not None and answer.proof.within <= claim.within)


def forged(system: System, formula: Formula, fair: list[Formula], deadlock: Deadlock, rng: Random) -> Lines | None:
    """A certificate of a property that is violated, with an automaton that accepts too little; None for others."""
    question = LinearQuestion(system, Linear(formula, tuple(fair), deadlock), certified=True)
    answer = decided(question)
    if not isinstance(answer, Broken):
        return None
    while isinstance(answer, Broken) and question.automaton.edges:
        less = _less(question.automaton, rng)
        question = replace(question)
        vars(question)["automaton"] = less
        answer = decided(question)
    if not isinstance(answer, Proved):
        return None
    assert isinstance(answer.proof, LevelsProof)
    return written(question, replace(answer.proof, sound=False))


def written(question: LinearQuestion, proof: Proof[Any]) -> Lines:
    """The lines of a certificate as they are read from a file."""
    found = [header(question, proof, {}).to_json()]
    found += [rule.to_json() for rule in proof.lines(claimed(question, proof), lambda: None)]
    return [json.loads(json.dumps(line)) for line in (*found, {"rule": "end", "lines": len(found)})]


def _less(automaton: Automaton, rng: Random) -> Automaton:
    """An automaton with an edge less, or one that asks for more, or bears fewer marks."""
    edges, at = list(automaton.edges), rng.randrange(len(automaton.edges))
    edge, atom = edges.pop(at), rng.randrange(max(1, len(automaton.atoms)))
    free = automaton.atoms and not edge.label.care >> atom & 1
    what = rng.randrange(3)
    if what == 0 and free:
        value = edge.label.value | rng.randrange(2) << atom
        edges.insert(at, edge._replace(label=edge.label._replace(care=edge.label.care | 1 << atom, value=value)))
    elif what == 1 and edge.marks:
        edges.insert(at, edge._replace(marks=edge.marks & (edge.marks - 1)))
    return Automaton(automaton.atoms, automaton.states, automaton.marks, tuple(edges))


# -- changes -----------------------------------------------------------------------------------------------------------


def _entry(values: list[Any], rng: Random) -> int:
    if not values:
        raise LookupError
    return rng.randrange(len(values))


def _level(lines: Lines, rng: Random) -> None:
    row = rng.choice(lines[2]["levels"])
    at = _entry(row, rng)
    row[at] = rng.choice([row[at] - 1, row[at] + 1, -1, 0, max(row)])


def _rank(lines: Lines, rng: Random) -> None:
    ranks = [line for line in lines if line.get("rule") == "linear-rank"]
    rank = ranks[_entry(ranks, rng)]
    row = rng.choice([*rank["weights"], *rank["predicates"]])
    row[_entry(row, rng)] += rng.choice([-1, 1])
    if rng.random() < 0.2:
        rank["strict"].pop(_entry(rank["strict"], rng))


def _inside(lines: Lines, rng: Random) -> None:
    """The set that ranks are about is another one."""
    told = lines[2]
    row, (word,) = rng.choice(told["predicates"]), told["words"]
    at = _entry(row, rng)
    row[at] = str(Fraction(row[at]) + rng.choice([-1, 1]))
    if rng.random() < 0.4:
        at = _entry(list(word), rng)
        told["words"] = [word[:at] + rng.choice("01-") + word[at + 1 :]]
    if rng.random() < 0.1:
        del lines[2]
        lines[-1]["lines"] -= 1


def _rows(lines: Lines, rng: Random) -> None:
    lines[2]["levels"] = rng.sample(lines[2]["levels"], len(lines[2]["levels"]))


def _state(lines: Lines, rng: Random) -> None:
    """A state is another one, or left out."""
    steps = lines[2]["steps"]
    at = _entry(steps, rng)
    if rng.random() < 0.5:
        steps[at] += rng.choice([-1, 1])
        return
    gone = steps.pop(at)
    if at < len(steps):
        steps[at] += gone
    for row in lines[2]["levels"]:
        row.pop(at)


def _edge(lines: Lines, rng: Random) -> None:
    edges = lines[1]["edges"]
    edges.pop(_entry(edges, rng))


def _label(lines: Lines, rng: Random) -> None:
    edges, atoms = lines[1]["edges"], len(lines[1]["atoms"])
    edge, bit = edges[_entry(edges, rng)], 1 << rng.randrange(max(1, atoms))
    match rng.randrange(4):
        case 0:
            edge[1] ^= bit
            edge[2] &= edge[1]
        case 1:
            edge[1], edge[2] = edge[1] | bit, edge[2] ^ bit
        case 2:
            edge[3] = rng.randrange(lines[1]["states"])
        case _:
            edge[4] ^= 1 << rng.randrange(max(1, lines[1]["marks"]))


def _marks(lines: Lines, rng: Random) -> None:
    lines[1]["marks"] += rng.choice([-1, 1])


def _line(lines: Lines, rng: Random) -> None:
    at = rng.randrange(1, len(lines) - 1)
    if rng.random() < 0.5:
        lines.insert(at, copy.deepcopy(lines[at]))
        lines[-1]["lines"] += 1
    else:
        del lines[at]
        lines[-1]["lines"] -= 1


def _formula(lines: Lines, rng: Random) -> None:
    text = lines[0]["claim"]["formula"]
    swaps = [("G F", "F G"), ("F G", "G F"), ("!", ""), ("->", "<->"), (" U ", " R "), ("&", "|"), ("==", "!=")]
    swaps += [("F ", "G "), ("G ", "F "), ("X ", ""), ("| ", "& "), (">=", ">"), ("<=", "<"), (" R ", " U ")]
    usable = [(old, new) for old, new in swaps if old in text]
    lines[0]["claim"]["formula"] = text.replace(*rng.choice(usable), 1) if usable else f"G ({text})"


def _fair(lines: Lines, rng: Random) -> None:
    fair = lines[0]["claim"].get("fair", [])
    fair.pop(_entry(fair, rng))
    if not fair:
        del lines[0]["claim"]["fair"]


def _deadlock(lines: Lines, _: Random) -> None:
    if lines[0]["claim"].pop("deadlock", "error") == "error":
        lines[0]["claim"]["deadlock"] = "stutter"


def _within(lines: Lines, rng: Random) -> None:
    within = lines[0]["claim"].pop("within", None)
    if within != 0:
        lines[0]["claim"]["within"] = rng.randrange(3) if within is None else within - 1


def _system(lines: Lines, rng: Random) -> None:
    """A number of its branches, or of where runs begin, is another."""
    nodes = [
        node for node in lines[0]["subject"]["system"]["nodes"] if isinstance(node[-1], str) and node[0] != "compare"
    ]
    node = nodes[_entry(nodes, rng)]
    node[-1] = str(Fraction(node[-1]) + rng.choice([-1, 1]))


MUTATIONS: dict[str, Mutation] = {
    "level": _level,
    "rank": _rank,
    "invariant of ranks": _inside,
    "levels of states of the automaton swapped": _rows,
    "state": _state,
    "edge of the automaton left out": _edge,
    "guard, end or mark": _label,
    "acceptance sets": _marks,
    "line": _line,
    "formula": _formula,
    "fairness left out": _fair,
    "deadlock": _deadlock,
    "steps": _within,
    "system": _system,
}
"""By what is changed; the last five change the claim."""


def mutants(lines: Lines, system: System, rng: Random, count: int) -> Iterator[tuple[str, Lines, System]]:
    """So many certificates with one change each, its kind, and the system that it is about; kinds by chance."""
    made = tries = 0
    while made < count and tries < 20 * count:
        kind, changed = rng.choice(list(MUTATIONS)), copy.deepcopy(lines)
        tries += 1
        try:
            MUTATIONS[kind](changed, rng)
            about = system
            if kind == "system":
                about = system_from_json(changed[0]["subject"]["system"], networks_of(system))
                changed[0]["subject"]["system"] = system_to_json(about)
        except (LookupError, InputError):
            continue
        if changed != lines:
            made += 1
            yield kind, changed, about


def lies(seed: int, rng: Random, count: int) -> Iterator[tuple[str, bool, str]]:
    """Of one random question the kinds of the lies, whether each was accepted, and what is wrong, or nothing."""
    spec, formula, fair, stutter = random_question(seed)
    system, deadlock = build(spec), "stutter" if stutter else "error"
    asked, *given = (read(system, to_text(one)) for one in (formula, *fair))
    try:
        lines = proved(system, asked, given, deadlock, rng.random() < 0.5)
        lie = None if lines else forged(system, asked, given, deadlock, rng)
    except InputError:
        return
    if lie is not None:
        taken = accepts(lie, system)
        yield "forged", taken, f"case {seed}: {lie[0]['claim']['formula']}" if taken else ""
    elif lines is not None:
        if not accepts(lines, system):
            yield "nothing", False, f"case {seed} is refused as it is"
        for kind, changed, about in mutants(lines, system, rng, count):
            taken = accepts(changed, about)
            wrong = taken and not _true(changed, about)
            yield kind, taken, f"case {seed}, {kind}: {changed[0]['claim']['formula']}" if wrong else ""


def _true(lines: Lines, system: System) -> bool:
    try:
        return true(lines, system)
    except InputError:  # a run leaves the box, say
        return False


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.certificates.runs", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="random questions")
    parser.add_argument("--each", type=int, default=6, help="changes of each certificate")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    rng, refused, accepted, wrong = Random(args.seed), Counter[str](), Counter[str](), []
    for seed in range(args.seed, args.seed + args.count):
        for kind, taken, problem in lies(seed, rng, args.each):
            (accepted if taken else refused)[kind] += 1
            wrong += [problem] if problem else []
    print("| changed | refused | accepted, and true |\n|---|---|---|")
    for kind in (*MUTATIONS, "forged"):
        print(f"| {kind} | {refused[kind]} | {accepted[kind]} |")
    print(f"{refused.total()} refused, {accepted.total()} accepted, of these false: {len(wrong)} {wrong or ''}")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
