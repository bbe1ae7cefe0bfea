"""Systems in the language of nuXmv, networks included (Vinzent, Sharma, Hoffmann, AAAI 2023, appendix B).

    variables     VAR, integers with their ranges, those of 0 and 1 Booleans, others reals with an INVAR
                  (a name that SMV does not take stands in a comment)
    networks      a real variable for each unit, an INVAR says what it is: sum(weight * before) + bias, max(.., 0)
    choices       DEFINE, by comparisons of scores, the lowest index on a tie
    branches      TRANS, a case for each value of a choice: disjunctions of guard and next values
    initial set   INIT;  AG p is INVARSPEC p

Numbers are the exact ones. A run that leaves a range has no successor there, so that INVARSPEC is about the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor

from venmas.errors import ModelError
from venmas.logic import And, Atom, Bottom, Formula, Or, Top, nnf
from venmas.logic.linear import Comparison, Relation
from venmas.model.evaluation.evaluation import Evaluation
from venmas.model.expressions.conditions import All, Compare, Condition
from venmas.model.expressions.expr import ArgMax, Expr, Sum, Switch, Where
from venmas.model.system.parts import Branch
from venmas.model.system.system import System
from venmas.model.system.variables import VariableDecl
from venmas.nn import Network

_PLAIN = re.compile(r"(?!(unit|choice|value|variable)_\d)[A-Za-z_][A-Za-z0-9_]*")
_WORDS = """
A ABF ABG AF AG ARRAY ASSIGN AX BU COMPASSION COMPID COMPUTE COMPWFF CONSTANTS CONSTRAINT CTLSPEC CTLWFF DEFINE E
EBF EBG EF EG EX F FAIRNESS FALSE FROZENVAR FUN G H IN INIT INVAR INVARSPEC ISA ITYPE IVAR JUSTICE LTLSPEC LTLWFF
MAX MDEFINE MIN MIRROR MODULE NAME NEXTWFF O PRED PREDICATES PSLSPEC PARSYNTH S SIMPWFF SPEC T TRANS TRUE U V VAR
VALID W WRITE X Y Z abs array asin acos at bool boolean case clock cos count esac exp extend floor frozen in init
integer ln max min mod next noncontinuous of pi pow process READ real resize self signed sin sizeof sqrt swconst
tan time toint typeof union unsigned uwconst word word1 xnor xor
"""
_RESERVED = frozenset(_WORDS.split())
_SIGNS = {Relation.EQ: "=", Relation.NE: "!="}


class _Writer(Evaluation[str, str, list[str]]):
    """Expressions as text; what is large or shared becomes a definition or a variable of its own."""

    def __init__(self, system: System) -> None:
        super().__init__()
        self.defined: list[str] = []
        self.units: list[str] = []
        self.constraints: list[str] = []
        decls = system.variables.values()
        self.decls = {decl.name: decl for decl in decls}
        self.names = {decl.name: _name(decl.name, i) for i, decl in enumerate(decls)}

    def numeric(self, name: str, after: bool = False) -> str:
        """The value of a variable as a number, or its next one."""
        text = f"next({self.names[name]})" if after else self.names[name]
        return f"({text} ? 1 : 0)" if _binary(self.decls[name]) else text

    def sum(self, terms: Iterable[tuple[Fraction, str]], constant: Fraction) -> str:
        """``c * x + .. + constant``."""
        parts = [text if c == 1 else f"{_number(c)} * {text}" for c, text in terms if c]
        parts += [_number(constant)] if constant or not parts else []
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"

    def relation(self, left: str, relation: Relation, right: str) -> str:
        """A comparison."""
        return f"{left} {_SIGNS.get(relation, relation.value)} {right}"

    def comparison(self, comparison: Comparison) -> str:
        """A linear comparison of variables."""
        terms = ((c, self.numeric(name)) for name, c in comparison.expr.terms)
        left = self.sum(terms, Fraction(0))
        return self.relation(left, comparison.relation, _number(-comparison.expr.constant))

    def formula(self, formula: Formula) -> str:
        """A formula about one state, in core form."""
        match formula:
            case Top() | Bottom():
                return self._known(isinstance(formula, Top))
            case Atom(comparison):
                return self.comparison(comparison)
            case And(parts):
                return self._every(map(self.formula, parts))
            case Or(parts):
                return self._some(map(self.formula, parts))
        raise ModelError("an invariant in SMV is about one state, without AX, AG and the like inside")

    def branch(self, branch: Branch, guards: Sequence[Condition]) -> str:
        """Guard and next values of all variables."""
        parts = [self.truth(guard) for guard in guards]
        updates = dict(branch.updates)
        for name, text in self.names.items():
            if name in updates:
                parts.append(f"{self.numeric(name, True)} = {self.value(updates[name])}")
            else:
                parts.append(f"next({text}) = {text}")
        return f"({' & '.join(parts)})"

    def _define(self, kind: str, text: str) -> str:
        name = f"{kind}_{len(self.defined)}"
        self.defined.append(f"  {name} := {text};")
        return name

    def _constant(self, value: Fraction) -> str:
        return _number(value)

    def _variable(self, name: str) -> str:
        return self.numeric(name)

    def _linear(self, terms: Sequence[tuple[Fraction, str]], constant: Fraction) -> str:
        return self.sum(terms, constant)

    def _network(self, network: Network, inputs: Sequence[str]) -> list[str]:
        before = list(inputs)
        for layer in network.layers:
            after = []
            for row, bias in zip(layer.exact_weight, layer.exact_bias, strict=True):
                unit = f"unit_{len(self.units)}"
                total = self.sum(zip(row, before, strict=True), bias)
                self.units.append(f"  {unit} : real;")
                self.constraints.append(f"INVAR {unit} = {f'max({total}, 0)' if layer.rectified else total};")
                after.append(unit)
            before = after
        return before

    def _output(self, outputs: list[str], index: int) -> str:
        return outputs[index]

    def _maximum(self, operands: Iterable[str]) -> str:
        first, *others = operands
        for other in others:
            first = f"max({first}, {other})"
        return self._define("value", first)

    def _argmax(self, node: ArgMax) -> str:
        scores = [self.value(score) for score in node.scores]
        lines = []
        for i, score in enumerate(scores[:-1]):
            above = [f"{score} {'>' if j < i else '>='} {other}" for j, other in enumerate(scores) if j != i]
            lines.append(f"{' & '.join(above)} : {i};")
        return self._define("choice", f"case {' '.join(lines)} TRUE : {len(scores) - 1}; esac")

    def _switch(self, node: Switch) -> str:
        selector = self.value(node.selector)
        *some, (_, last) = [(key, self.value(case)) for key, case in node.cases]
        lines = [f"{selector} = {key} : {case};" for key, case in some]
        return self._define("value", f"case {' '.join(lines)} TRUE : {last}; esac")

    def _where(self, node: Where) -> str:
        text = f"({self.truth(node.condition)} ? {self.value(node.then)} : {self.value(node.otherwise)})"
        return self._define("value", text)

    def _known(self, value: bool) -> str:
        return "TRUE" if value else "FALSE"

    def _compare(self, node: Compare) -> str:
        if isinstance(node.expr, Sum):
            terms = [(c, self.value(e)) for c, e in node.expr.terms]
            return self.relation(self.sum(terms, Fraction(0)), node.relation, _number(-node.expr.constant))
        return self.relation(self.value(node.expr), node.relation, "0")

    def _every(self, truths: Iterable[str]) -> str:
        return _joined(truths, "&", "TRUE")

    def _some(self, truths: Iterable[str]) -> str:
        return _joined(truths, "|", "FALSE")


def to_smv(system: System, invariant: Formula | None = None) -> str:
    """The system as a module; invariant: about one state, for INVARSPEC.

    Raises `ModelError` for what is not piecewise linear, noise and quantities, and `NetworkError` for smooth units.
    """
    system.validate()
    if system.smooth:
        raise ModelError(f"SMV has linear arithmetic only, and {system.smooth}: write such parts as tables or ReLUs")
    for kind, names in (("disturbance", list(system.disturbances)), ("quantity", list(system.quantities))):
        if names:
            raise ModelError(f"a {kind} such as {names[0]!r} is not written in SMV: leave it out of the system")
    writer = _Writer(system)
    initial = writer.formula(nnf(system.initial_set.formula))
    steps = _transitions(writer, system.branches)
    specified = [] if invariant is None else [f"INVARSPEC NAME safe := {writer.formula(nnf(invariant))};"]
    variables = [
        f"  {text} : {_type(writer.decls[name])};{'' if text == name else f' -- {name}'}"
        for name, text in writer.names.items()
    ]
    ranges = [
        f"INVAR {_number(decl.lower)} <= {writer.names[name]} & {writer.names[name]} <= {_number(decl.upper)};"
        for name, decl in writer.decls.items()
        if not decl.integral
    ]
    lines = ["MODULE main", "VAR", *variables, *writer.units, *(["DEFINE"] if writer.defined else []), *writer.defined]
    lines += [*ranges, *writer.constraints, f"INIT {initial};", f"TRANS\n{steps};", *specified, ""]
    return "\n".join(lines)


def _transitions(writer: _Writer, branches: Sequence[Branch]) -> str:
    """A case distinction for each choice that branches compare with a number, and the branches that compare none."""
    cases: dict[int, tuple[Expr, dict[int, list[str]]]] = {}
    others = []
    for branch in branches:
        choice, label, rest = _selected(branch)
        text = writer.branch(branch, rest)
        if choice is None:
            others.append(f"  {text}")
        else:
            cases.setdefault(id(choice), (choice, {}))[1].setdefault(label, []).append(text)
    parts = []
    for choice, labelled in cases.values():
        name = writer.value(choice)
        lines = [f"    {name} = {label} :\n      {_lines(texts, 6)};" for label, texts in labelled.items()]
        parts.append("\n".join(["  case", *lines, "    TRUE : FALSE;", "  esac"]))
    return "\n  |\n".join([*parts, *others]) or "  FALSE"


def _selected(branch: Branch) -> tuple[Expr | None, int, list[Condition]]:
    """The choice that a guard compares with a number, that number, and the rest of the guard."""
    guards = list(branch.guard.operands) if isinstance(branch.guard, All) else [branch.guard]
    for i, guard in enumerate(guards):
        match guard:
            case Compare(Sum(((factor, ArgMax() as node),), constant), Relation.EQ):
                label = -constant / factor
                if label.denominator == 1:
                    return node, int(label), guards[:i] + guards[i + 1 :]
            case Compare(ArgMax() as node, Relation.EQ):
                return node, 0, guards[:i] + guards[i + 1 :]
    return None, 0, guards


def _lines(texts: Sequence[str], indent: int) -> str:
    return f"\n{' ' * indent}| ".join(texts)


def _joined(truths: Iterable[str], sign: str, empty: str) -> str:
    texts = list(truths)
    return texts[0] if len(texts) == 1 else f"({f' {sign} '.join(texts)})" if texts else empty


def _binary(decl: VariableDecl) -> bool:
    return decl.integral and ceil(decl.lower) == 0 and floor(decl.upper) == 1


def _type(decl: VariableDecl) -> str:
    if not decl.integral:
        return "real"
    return "boolean" if _binary(decl) else f"{ceil(decl.lower)}..{floor(decl.upper)}"


def _name(name: str, position: int) -> str:
    return name if _PLAIN.fullmatch(name) and name not in _RESERVED else f"variable_{position}"


def _number(value: Fraction) -> str:
    size = abs(value)
    text = str(size) if size.denominator == 1 else f"f'{size}"
    return text if value >= 0 else f"(-{text})"
