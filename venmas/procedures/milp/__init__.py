"""Mixed-integer programs: the modes of the paper (Algorithms 1 and 2), over `venmas.procedures.milp.encoding`."""
