"""A reader of SMV as nuXmv has it, with types, and its meaning in one state or step: no code of the writer's.

Grammar and precedence are those of the manual (2.2.3): ``!``, ``-``, ``*``, ``+ -``, comparisons, ``&``, ``|``, ``?:``.
Booleans are no numbers; what nuXmv would refuse is refused.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

TOKEN = re.compile(r"\s*(--[^\n]*|f'\d+/\d+|\d+\.\.|\d+|[A-Za-z_]\w*|:=|\.\.|[<>!]=|[-+*&|!?:;()=<>,])")
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
SECTIONS = ("MODULE", "VAR", "DEFINE", "INVAR", "INIT", "TRANS", "INVARSPEC")

Value = bool | Fraction
Typed = tuple[str, Callable[["Scope"], Value]]


class SmvError(Exception):
    """What is no SMV of this kind."""


@dataclass
class Scope:
    """Values of variables now and next, and of definitions and fixed variables as they are computed."""

    model: Model
    now: Mapping[str, Value]
    after: Mapping[str, Value]
    computed: dict[str, Value] = field(default_factory=dict)

    def value(self, name: str) -> Value:
        if name in self.now:
            return self.now[name]
        if name not in self.computed:
            self.computed[name] = (self.model.fixed.get(name) or self.model.defines[name])[1](self)
        return self.computed[name]


@dataclass
class Model:
    """variables: kind or range by name; fixed: real variables that an INVAR gives a value."""

    variables: dict[str, str | tuple[int, int]] = field(default_factory=dict)
    defines: dict[str, Typed] = field(default_factory=dict)
    fixed: dict[str, Typed] = field(default_factory=dict)
    invariants: list[Typed] = field(default_factory=list)
    init: list[Typed] = field(default_factory=list)
    trans: list[Typed] = field(default_factory=list)
    spec: Typed | None = None

    def scope(self, state: Mapping[str, Fraction], after: Mapping[str, Fraction] | None = None) -> Scope:
        """A state and what comes after it; fixed variables are computed where they matter."""
        return Scope(self, self._typed(state), self._typed(state if after is None else after))

    def _typed(self, state: Mapping[str, Fraction]) -> dict[str, Value]:
        return {n: bool(v) if self.variables[n] == "boolean" and v in (0, 1) else v for n, v in state.items()}

    def allowed(self, state: Mapping[str, Fraction]) -> bool:
        """Does it meet types, ranges and INVAR?"""
        for name, value in state.items():
            kind = self.variables[name]
            low, high = (0, 1) if kind == "boolean" else kind if isinstance(kind, tuple) else (value, value)
            if not low <= value <= high or (kind != "real" and value.denominator != 1):
                return False
        return self._every(self.invariants, self.scope(state))

    def starts(self, state: Mapping[str, Fraction]) -> bool:
        return self.allowed(state) and self._every(self.init, self.scope(state))

    def steps(self, scope: Scope, after: Mapping[str, Fraction]) -> bool:
        """Is there a step to another state? The scope is of the first one, and may be used again."""
        scope.after = self._typed(after)
        return self.allowed(after) and self._every(self.trans, scope)

    def safe(self, state: Mapping[str, Fraction]) -> bool:
        assert self.spec is not None
        return self._every([self.spec], self.scope(state))

    @staticmethod
    def _every(conditions: list[Typed], scope: Scope) -> bool:
        return all(compute(scope) for _, compute in conditions)


class Reader:
    """By recursive descent; an expression is its type, ``bool`` or ``number``, and a function of a scope."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            found = TOKEN.match(text, at)
            if found is None:
                raise SmvError(f"no token at {text[at : at + 30]!r}")
            at = found.end()
            if not found[1].startswith("--"):
                self.tokens.append(found[1])
        self.at = 0
        self.model = Model()

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise SmvError(f"expected {wanted!r}, got {token!r} after {' '.join(self.tokens[self.at - 8 : self.at])}")
        self.at += 1
        return token

    def read(self) -> Model:
        """A file of one module."""
        self.next("MODULE")
        self.next("main")
        model = self.model
        later: list[tuple[str, int]] = []
        while section := self.peek():
            if section not in SECTIONS:
                raise SmvError(f"no section {section!r}")
            self.next()
            if section == "VAR":
                self._variables()
            elif section == "DEFINE":
                while self.peek() not in SECTIONS:
                    name = self.next()
                    self.next(":=")
                    model.defines[name] = self.expression()
                    self.next(";")
            else:
                later.append((section, self.at))
                self._constraint(section)
        return model

    def _variables(self) -> None:
        while self.peek() not in SECTIONS:
            name = self.next()
            if name in self.model.variables:
                raise SmvError(f"{name} is declared twice")
            self.next(":")
            sign = -1 if self.peek() == "-" and self.next() else 1
            kind: str | tuple[int, int] = self.next()
            if str(kind).endswith(".."):
                last = -1 if self.peek() == "-" and self.next() else 1
                kind = sign * int(str(kind)[:-2]), last * int(self.next())
            elif kind not in ("boolean", "real"):
                raise SmvError(f"no type {kind!r}")
            self.model.variables[name] = kind
            self.next(";")

    def _constraint(self, section: str) -> None:
        model = self.model
        if section == "INVARSPEC":
            self.next("NAME")
            self.next()
            self.next(":=")
            model.spec = self.truth()
        elif section == "INVAR" and self.peek().startswith("unit_"):
            name = self.next()
            self.next("=")
            model.fixed[name] = self.number()
        else:
            {"INVAR": model.invariants, "INIT": model.init, "TRANS": model.trans}[section].append(self.truth())
        self.next(";")

    def truth(self) -> Typed:
        return self._of("bool", self.expression())

    def number(self) -> Typed:
        return self._of("number", self.expression())

    def _of(self, kind: str, found: Typed) -> Typed:
        if found[0] != kind:
            raise SmvError(f"a {kind} is expected before {' '.join(self.tokens[self.at : self.at + 8])}")
        return found

    def expression(self) -> Typed:
        condition = self._either()
        if self.peek() != "?":
            return condition
        self._of("bool", condition)
        self.next()
        yes = self.expression()
        self.next(":")
        no = self._of(yes[0], self.expression())
        test = condition[1]
        return yes[0], lambda s: yes[1](s) if test(s) else no[1](s)

    def _either(self) -> Typed:
        parts = self._several("|", self._both)
        return parts[0] if len(parts) == 1 else ("bool", lambda s: any(c(s) for _, c in parts))

    def _both(self) -> Typed:
        parts = self._several("&", self._relation)
        return parts[0] if len(parts) == 1 else ("bool", lambda s: all(c(s) for _, c in parts))

    def _several(self, sign: str, part: Callable[[], Typed]) -> list[Typed]:
        parts = [part()]
        while self.peek() == sign:
            self.next()
            parts.append(part())
        return parts if len(parts) == 1 else [self._of("bool", p) for p in parts]

    def _relation(self) -> Typed:
        left = self._sum()
        sign = self.peek()
        if sign not in RELATIONS:
            return left
        self.next()
        right = self._of(left[0], self._sum())
        if left[0] == "bool" and sign not in ("=", "!="):
            raise SmvError(f"Booleans have no {sign}")
        test = RELATIONS[sign]
        return "bool", lambda s: test(left[1](s), right[1](s))

    def _sum(self) -> Typed:
        found = self._product()
        if self.peek() not in ("+", "-"):
            return found
        terms = [(1, self._of("number", found)[1])]
        while self.peek() in ("+", "-"):
            sign = 1 if self.next() == "+" else -1
            terms.append((sign, self._of("number", self._product())[1]))
        return "number", lambda s: sum((sign * c(s) for sign, c in terms), Fraction(0))

    def _product(self) -> Typed:
        found = self._unary()
        while self.peek() == "*":
            self.next()
            left, right = self._of("number", found)[1], self._of("number", self._unary())[1]
            found = "number", lambda s, left=left, right=right: left(s) * right(s)  # type: ignore[misc]
        return found

    def _unary(self) -> Typed:
        if self.peek() == "-":
            self.next()
            inner = self._of("number", self._unary())[1]
            return "number", lambda s: -inner(s)
        if self.peek() == "!":
            self.next()
            test = self._of("bool", self._unary())[1]
            return "bool", lambda s: not test(s)
        return self._atom()

    def _atom(self) -> Typed:
        token = self.next()
        if token == "(":
            found = self.expression()
            self.next(")")
            return found
        if token == "case":
            return self._case()
        if token == "max":
            self.next("(")
            one = self.number()[1]
            self.next(",")
            other = self.number()[1]
            self.next(")")
            return "number", lambda s: max(one(s), other(s))
        if token in ("TRUE", "FALSE"):
            return "bool", lambda s: token == "TRUE"
        if token.startswith("f'") or token.isdigit():
            value = Fraction(token.removeprefix("f'"))
            return "number", lambda s: value
        if token == "next":
            self.next("(")
            name = self.next()
            self.next(")")
            return self._kind(name), lambda s: s.after[name]
        return self._kind(token), lambda s: s.value(token)

    def _case(self) -> Typed:
        rows: list[tuple[Typed, Typed]] = []
        while self.peek() != "esac":
            test = self.truth()
            self.next(":")
            rows.append((test, self.expression()))
            self.next(";")
        self.next("esac")
        for _, value in rows:
            self._of(rows[0][1][0], value)

        def chosen(s: Scope) -> Value:
            for test, value in rows:
                if test[1](s):
                    return value[1](s)
            raise SmvError("no case holds")

        return rows[0][1][0], chosen

    def _kind(self, name: str) -> str:
        if name in self.model.variables:
            return "bool" if self.model.variables[name] == "boolean" else "number"
        if name in self.model.defines:
            return self.model.defines[name][0]
        raise SmvError(f"{name!r} is not declared")


def read(text: str) -> Model:
    """The model of a file. Raises `SmvError`."""
    return Reader(text).read()
