"""Sets of states as boxes on grids in skew coordinates: see `venmas.procedures.covers.procedure`."""
