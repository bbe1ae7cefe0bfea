"""CTL: formulas, their text, properties by kind, the core form of bounded ones, finite models (design S5, S6).

LTL shares its connectives and comparisons: `paths`, `ltl_parser`, `lassos` (design L2, L3).
"""

from venmas.logic.evaluate import FiniteModel, evaluate
from venmas.logic.formula import (
    AX,
    EX,
    FALSE,
    TRUE,
    And,
    Atom,
    Bottom,
    Finally,
    Fixpoint,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Top,
    Until,
    conjunction,
    disjunction,
    is_temporal,
    subformulas,
    variables_of,
)
from venmas.logic.nnf import MAX_CORE_SIZE, MAX_DEPTH, fixpoints, nnf
from venmas.logic.parser import parse, parse_property
from venmas.logic.property import Always, Bounded, Property, Unbounded, bounded, classified
from venmas.logic.terms import MAX_TEXT
from venmas.logic.vocabulary import Vocabulary

__all__ = [
    "AX",
    "EX",
    "FALSE",
    "MAX_CORE_SIZE",
    "MAX_DEPTH",
    "MAX_TEXT",
    "TRUE",
    "Always",
    "And",
    "Atom",
    "Bottom",
    "Bounded",
    "Finally",
    "FiniteModel",
    "Fixpoint",
    "Formula",
    "Globally",
    "Iff",
    "Implies",
    "Next",
    "Not",
    "Or",
    "Property",
    "Quantifier",
    "Top",
    "Unbounded",
    "Until",
    "Vocabulary",
    "bounded",
    "classified",
    "conjunction",
    "disjunction",
    "evaluate",
    "fixpoints",
    "is_temporal",
    "nnf",
    "parse",
    "parse_property",
    "subformulas",
    "variables_of",
]
