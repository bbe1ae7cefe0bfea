"""Linear temporal logic over unbounded time: formulas to Büchi automata (design L3, L5)."""

from venmas.ltl.automaton import Automaton, Component, Edge, components
from venmas.ltl.degeneralise import degeneralised
from venmas.ltl.hoa import to_dot, to_hoa
from venmas.ltl.hoa_reader import read_hoa
from venmas.ltl.label import Label
from venmas.ltl.translate import automaton_of, refuting
from venmas.ltl.words import accepted, accepts

__all__ = [
    "Automaton",
    "Component",
    "Edge",
    "Label",
    "accepted",
    "accepts",
    "automaton_of",
    "components",
    "degeneralised",
    "read_hoa",
    "refuting",
    "to_dot",
    "to_hoa",
]
