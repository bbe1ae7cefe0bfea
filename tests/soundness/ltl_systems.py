"""Random systems of integers with random LTL properties: verdicts against all short lassos, and a nested search.

All lassos of up to six steps are walked by the plain interpreter of the corpus, and the formula is evaluated on their
letters: one that breaks it makes *satisfied* wrong. Where none does, a nested depth-first search over the plain steps
and a degeneralised automaton (Courcoubetis, Vardi, Wolper, Yannakakis 1992) says whether there is a longer one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.corpus.finite import finite_case
from tests.corpus.spec import Spec, State, build, inside, starts, step
from tests.logic.automata.ltl_cases import random_formula
from venmas.answer import Broken, Proof, Proved, Unknown
from venmas.budget import Budget, limited
from venmas.checker.file import check_certificate
from venmas.checker.format.numbers import CheckError
from venmas.engine.certificates.file import write
from venmas.errors import ModelError
from venmas.logic import Atom, Linear
from venmas.logic.automata.degeneralise import degeneralised
from venmas.logic.automata.translate import refuting
from venmas.logic.formula import Formula, Implies, conjunction
from venmas.logic.lassos import Lasso, holds
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import Leaf, Proposition, finally_, globally, leaves
from venmas.logic.printing import to_text
from venmas.model.system.letters import branch_name, letters_of
from venmas.model.system.system import System
from venmas.procedure import LinearQuestion
from venmas.procedures.explicit.linear import ProductCounts, searched
from venmas.procedures.ranking.systems.ranks import RanksProof, ranked

_LONGEST = 6
RANKED: list[str] = []
"""What came of the proofs by ranks."""
Key = tuple[Fraction, ...]


def random_question(seed: int) -> tuple[Spec, Formula, list[Formula], bool]:
    """A system, a formula, conditions of fairness, and whether runs stay where there is no successor."""
    rng = random.Random(seed)
    spec, stutter = finite_case(seed).spec, rng.random() < 0.5
    names = [name for name, (kind, _, _) in spec.variables.items()]
    atoms: tuple[Leaf, ...] = tuple(atom_of(rng, spec, name) for name in rng.sample(names, min(2, len(names))))
    atoms += (Proposition(branch_name(build(spec).branches[0].name)),)
    formula = random_formula(rng, rng.randint(2, 7), atoms)
    return spec, formula, [random_formula(rng, 1, atoms)] if rng.random() < 0.4 else [], stutter


def read(system: System, text: str) -> Formula:
    """A formula over the letters of a system."""
    return parse_ltl(text, letters_of(system))


def compare(seed: int) -> str:
    """What came of a case: ``satisfied``, ``violated``, ``error``, ``unknown``; or ``wrong: ...``."""
    spec, formula, fair, stutter = random_question(seed)
    system = build(spec)
    plain = _Plain(spec, [one.name for one in system.branches], stutter)
    whole = Implies(conjunction([globally(finally_(one)) for one in fair]), formula) if fair else formula
    try:
        asked, *given = (read(system, to_text(one)) for one in (formula, *fair))
        about = Linear(asked, tuple(given), "stutter" if stutter else "error")
        question = LinearQuestion(system, about, certified=True)
        with limited(Budget(20)):
            answer = searched(question, ProductCounts())
    except ModelError:
        return "error" if plain.leaves_box() else f"wrong: case {seed} is no error"
    if plain.leaves_box():
        return f"wrong: case {seed} leaves its box, and nothing was said"
    short = next((one for one in plain.lassos(whole) if not holds(whole, one)), None)
    truth = short is None and not plain.accepted(whole)
    if seed % 3 == 0 and (problem := _by_ranks(question, truth)):
        return f"wrong: case {seed}, {formula}: {problem}"
    match answer:
        case Broken():
            return "violated" if not truth else f"wrong: case {seed} is satisfied, {formula}"
        case Proved(proof=proof) if truth and proof is not None:
            return _certified(question, proof, seed)
        case Proved():
            return f"wrong: case {seed} is violated, {formula}"
        case Unknown(_, message) if "successor" in message and truth and plain.stuck:
            return "unknown"
    return f"wrong: case {seed}: {answer}"


def _certified(question: LinearQuestion, proof: Proof[Any], seed: int) -> str:
    """``satisfied`` where the checker accepts the certificate."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "proof.gz"
        write(path, question, proof)
        assert isinstance(question.subject, System)
        try:
            check_certificate(path, question.subject)
        except CheckError as error:
            return f"wrong: case {seed} is refused, {question.formula}: {error}"
    return "satisfied"


def _by_ranks(question: LinearQuestion, truth: bool) -> str:
    """What is wrong where ranks are learned, too; they prove less, and nothing that is false."""
    assert isinstance(question.subject, System)
    found = ranked(question.subject, question.automaton, question.asked.deadlock == "stutter")
    if found is None:
        return ""
    told = _certified(question, RanksProof(found), 0)
    RANKED.append(told)
    return told if told != "satisfied" else "" if truth else "ranks prove what is violated"


def atom_of(rng: random.Random, spec: Spec, name: str) -> Atom:
    """A comparison of a variable with a number of its range."""
    low, high = spec.variables[name][1:]
    value = Fraction(rng.randint(int(low), int(high)))
    relation = rng.choice((Relation.EQ, Relation.GE, Relation.LE))
    return Atom(Comparison(LinearExpr.variable(name) - LinearExpr((), value), relation))


class _Plain:
    """The steps of a system by the plain interpreter of the corpus."""

    def __init__(self, spec: Spec, branches: list[str], stutter: bool) -> None:
        self.spec, self.branches, self.stutter, self.stuck = spec, branches, stutter, False
        ranges = [range(int(low), int(high) + 1) for _, low, high in spec.variables.values()]
        self.names = list(spec.variables)
        states: list[State] = [{}]
        for name, values in zip(self.names, ranges, strict=True):
            states = [{**state, name: Fraction(v)} for state in states for v in values]
        self.first = [state for state in states if starts(spec, state)]
        self._outside = False
        self.steps: dict[Key, list[tuple[str, State]]] = {}
        waiting = list(self.first)
        while waiting:
            state = waiting.pop()
            if self._key(state) in self.steps:
                continue
            found = []
            for branch, new in zip(branches, step(spec, state), strict=True):
                if new is None:
                    continue
                if not inside(spec, new):
                    self._outside = True
                    continue
                found.append((branch, new))
            if not found and all(new is None for new in step(spec, state)):
                self.stuck = True
                found = [("", state)] if stutter else []
            self.steps[self._key(state)] = found
            waiting += [new for _, new in found]

    def leaves_box(self) -> bool:
        return self._outside

    def _key(self, state: State) -> Key:
        return tuple(state[name] for name in self.names)

    @staticmethod
    def letter(state: State, branch: str, atoms: tuple[Leaf, ...]) -> frozenset[Leaf]:
        return frozenset(
            leaf
            for leaf in atoms
            if (leaf.comparison.holds(state) if isinstance(leaf, Atom) else leaf.name == branch_name(branch))
        )

    def lassos(self, formula: Formula) -> Iterator[Lasso]:
        """All lassos of up to so many steps."""
        atoms = leaves(formula)
        stack: list[tuple[list[State], list[frozenset[Leaf]]]] = [([state], []) for state in self.first]
        count = 0
        while stack and count < 4000:
            states, letters = stack.pop()
            for branch, new in self.steps[self._key(states[-1])]:
                word = [*letters, self.letter(states[-1], branch, atoms)]
                for back, old in enumerate(states):
                    if old == new:
                        count += 1
                        yield Lasso(tuple(word[:back]), tuple(word[back:]))
                if len(word) < _LONGEST:
                    stack.append(([*states, new], word))

    def accepted(self, formula: Formula) -> bool:
        """Is some run accepted by the automaton? A node on a loop through an accepting edge, reached from the start."""
        automaton = degeneralised(refuting(formula))
        atoms = automaton.atoms
        table: dict[tuple[Key, int], list[tuple[tuple[Key, int], bool]]] = {}
        waiting = [(state, 0) for state in self.first]
        while waiting:
            state, q = waiting.pop()
            node = self._key(state), q
            if node in table:
                continue
            table[node] = []
            for branch, new in self.steps[node[0]]:
                true = self.letter(state, branch, atoms)
                bits = sum(1 << i for i, leaf in enumerate(atoms) if leaf in true)
                for edge in automaton.leaving[q]:
                    if edge.label.meets(bits):
                        accepting = edge.marks == automaton.all_marks
                        table[node].append(((self._key(new), edge.target), accepting))
                        waiting.append((new, edge.target))
        for node, edges in table.items():
            for target, accepting in edges:
                if accepting and self._leads(table, target, node):
                    return True
        return False

    @staticmethod
    def _leads(table: dict[tuple[Key, int], list[tuple[tuple[Key, int], bool]]], start: object, end: object) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            node = waiting.pop()
            if node == end:
                return True
            for target, _ in table[node]:  # type: ignore[index]
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return False


def ltl_systems(count: int) -> int:
    """Print what came of so many cases; the exit status."""
    found: dict[str, int] = {}
    for seed in range(count):
        verdict = compare(seed)
        if verdict.startswith("wrong"):
            print(verdict, flush=True)
        found[verdict.partition(":")[0]] = found.get(verdict.partition(":")[0], 0) + 1
    print(f"{len(RANKED)} were proved by ranks, too")
    print(", ".join(f"{number} {name}" for name, number in sorted(found.items())))
    return int("wrong" in found)
