"""Linear temporal logic over unbounded time: formulas to Büchi automata."""
