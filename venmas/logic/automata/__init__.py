"""Linear temporal logic over unbounded time: formulas to Büchi automata (design L3, L5)."""

from venmas.logic.automata.automaton import Automaton, Component, Edge, components
from venmas.logic.automata.degeneralise import degeneralised
from venmas.logic.automata.hoa import to_dot, to_hoa
from venmas.logic.automata.label import Label
from venmas.logic.automata.translate import automaton_of, refuting
from venmas.logic.automata.words import accepted, accepts

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
    "refuting",
    "to_dot",
    "to_hoa",
]
