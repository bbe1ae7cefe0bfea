"""Properties of linear time by ones of branching time, where each state that runs reach has a successor.

    of a run               A: of all runs                   E: of some run
    p                      p                                p
    "branch b"             false: states do not tell which branch is taken, nor which one is not
    f & g                  f & g                            the same where f or g is about one state, else false
    f | g                  f | g                            f | g
    X f                    AX f                             EX f
    f U g                  A(f U g)                         E(f U g) where f is about one state, else false
    G f                    AG f                             EG f where f is about one state, EF EG f for F f, else false
    f R g                  as G g | (g U (f & g))

Negations stand before conditions alone. By induction over the formula: where the column A holds in a state, each run
from it has the formula; where the column E does, some run has it that goes on for ever. False claims nothing. Neither
need hold where the formula does: a run may have F G p, and be free to leave p in each of its steps. (Maidl, *The common
fragment of CTL and LTL*, FOCS 2000, says where they do.)

Laws of words, which do not change what is said, make the columns hold more often: X and G are taken to the parts of a
conjunction, X a | X b is X (a | b), F a | F b is F (a | b), G F a | G F b is G F (a | b), F F a is F a, G G a is G a,
F G F a is G F a, G F G a is F G a. `tests/checker/test_forever_linear.py` tries all of it on words and on graphs.

That each state has a successor is one more claim, AG EX true, unless some branch is always open, or runs are to stay
where none is. It, or AG true, also says that no run leaves the declared box: a rule that shows AG closes a set, by
bounded claims about all steps on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from venmas.checker.forever.stays import stays
from venmas.logic import (
    AX,
    EX,
    FALSE,
    TRUE,
    And,
    Atom,
    Bottom,
    Deadlock,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Linear,
    Not,
    Or,
    Quantifier,
    Top,
    Until,
    conjunction,
    disjunction,
    fixpoints,
    is_temporal,
    subformulas,
)
from venmas.logic.paths import Proposition, R, U, X, questioned
from venmas.model.system.letters import condition
from venmas.model.system.system import System
from venmas.model.transform.stutter import stuttering
from venmas.model.witness.replay import Replay, replay
from venmas.model.witness.tree import Witness

_Signed = tuple[Formula, Formula]


def demanded(
    system: System, formula: Formula, deadlock: Deadlock = "error", quantifier: Quantifier = Quantifier.ALL
) -> tuple[System, Formula]:
    """The formula that shows of a state that each run from it has one of LTL, or (E) that some run has it, and the
    system it is about: the one given, or where runs stay in states without a successor, one with a branch for that.

    No run leaves the declared box then. False: nothing shows it, as with noise and a guard on every branch: EX true
    would say that a state has a successor under some noise, and it has to have one under all.
    """
    system, on = goes_on(system, deadlock)
    return system, conjunction([on, branching(formula, quantifier)])


def goes_on(system: System, deadlock: Deadlock) -> tuple[System, Formula]:
    """The system whose infinite runs are meant, and that no other run is there, within the declared box: AG EX true.

    False where nothing shows it.
    """
    if system.disturbances and system.may_deadlock:
        return system, FALSE
    if deadlock == "stutter":
        return stuttering(system), Globally(Quantifier.ALL, 0, None, TRUE)
    return system, Globally(Quantifier.ALL, 0, None, EX(TRUE) if system.may_deadlock else TRUE)


def replayed_stay(system: System, asked: Linear, witness: Witness) -> Replay:
    """Replay of a witness: its derivation has to show that from its state all runs break a property of LTL, or some."""
    broken = Not(questioned(asked.formula, asked.fair))
    if not witness.stay or system.quantities:
        return Replay(False, "it has no derivation about an initial state")
    for quantifier in Quantifier:
        about, formula = demanded(system, broken, asked.deadlock, quantifier)
        checked = replay(about, fixpoints(formula), witness, staying=stays)
        if checked.confirmed:
            break
    return checked


def branching(formula: Formula, quantifier: Quantifier) -> Formula:
    """The formula of CTL of a column of the table; false where there is none."""
    column, signed = _Column(quantifier), dict[Formula, _Signed]()
    for node in subformulas(formula):
        signed[node] = column.of(node, [signed[child] for child in node.children])
    return signed[formula][0]


@dataclass(frozen=True)
class _Column:
    quantifier: Quantifier

    @property
    def every(self) -> bool:
        return self.quantifier is Quantifier.ALL

    def of(self, node: Formula, parts: list[_Signed]) -> _Signed:
        """The entries of a formula and of its negation, from those of its parts."""
        match node:
            case Top() | Bottom():
                return (TRUE, FALSE) if isinstance(node, Top) else (FALSE, TRUE)
            case Atom() | Proposition():
                atom = condition(node)
                return (FALSE, FALSE) if atom is None else (atom, Atom(atom.comparison.negated))
            case Not():
                return parts[0][1], parts[0][0]
            case And():
                return self.both(p for p, _ in parts), self.either(n for _, n in parts)
            case Or():
                return self.either(p for p, _ in parts), self.both(n for _, n in parts)
            case Implies():
                (left, not_left), (right, not_right) = parts
                return self.either((not_left, right)), self.both((left, not_right))
            case Iff():
                (left, not_left), (right, not_right) = parts
                same = self.both((left, right)), self.both((not_left, not_right))
                other = self.both((left, not_right)), self.both((not_left, right))
                return self.either(same), self.either(other)
            case X():
                return self.next(parts[0][0]), self.next(parts[0][1])
            case U():
                (left, not_left), (right, not_right) = parts
                return self.until(left, right), self.release(not_left, not_right)
            case R():
                (left, not_left), (right, not_right) = parts
                return self.release(left, right), self.until(not_left, not_right)
        raise TypeError(f"{type(node).__name__} is no node of LTL")

    def both(self, parts: Iterable[Formula]) -> Formula:
        joined = conjunction(parts)
        several = isinstance(joined, And) and sum(map(is_temporal, joined.operands)) > 1
        return joined if self.every or not several else FALSE

    def either(self, parts: Iterable[Formula]) -> Formula:
        joined = disjunction(parts)
        if not isinstance(joined, Or):
            return joined
        next_: list[Formula] = []
        soon: list[Formula] = []
        again: list[Formula] = []
        rest: list[Formula] = []
        for part in joined.operands:
            match part:
                case AX(f) | EX(f):
                    next_.append(f)
                case Finally(_, _, _, f):
                    soon.append(f)
                case Globally(_, _, _, Finally(_, _, _, f)):
                    again.append(f)
                case _:
                    rest.append(part)
        rest += [self.next(self.either(next_))] if next_ else []
        rest += [self.until(TRUE, self.either(soon))] if soon else []
        rest += [self.globally(self.until(TRUE, self.either(again)))] if again else []
        return disjunction(rest)

    def next(self, part: Formula) -> Formula:
        match part:
            case Top() | Bottom():
                return part
            case And() if self.every and is_temporal(part):
                return conjunction(map(self.next, _apart(part)))
        return AX(part) if self.every else EX(part)

    def until(self, left: Formula, right: Formula) -> Formula:
        if left is FALSE or isinstance(right, Top | Bottom | Finally):
            return right
        if left is not TRUE:
            return Until(self.quantifier, 0, None, left, right) if self.every or not is_temporal(left) else FALSE
        return right if _again(right) else Finally(self.quantifier, 0, None, right)

    def globally(self, part: Formula) -> Formula:
        match part:
            case Top() | Bottom() | Globally():
                return part
            case And() if self.every and is_temporal(part):
                return conjunction(map(self.globally, _apart(part)))
            case Finally(_, _, _, Globally()):
                return part
            case Finally(_, _, _, again) if not self.every and not is_temporal(again):
                return Finally(self.quantifier, 0, None, self.globally(again))
        return Globally(self.quantifier, 0, None, part) if self.every or not is_temporal(part) else FALSE

    def release(self, left: Formula, right: Formula) -> Formula:
        if left is TRUE or right is FALSE:
            return right
        always = self.globally(right)
        return always if left is FALSE else self.either((always, self.until(right, self.both((left, right)))))


def _apart(formula: And) -> list[Formula]:
    """The parts of a conjunction, those about one state together."""
    now = conjunction(part for part in formula.operands if not is_temporal(part))
    return [now, *(part for part in formula.operands if is_temporal(part))]


def _again(formula: Formula) -> bool:
    return isinstance(formula, Globally) and isinstance(formula.operand, Finally)
