"""Mixed-integer programs as data for any solver, their outcomes, and files in LP and MPS format."""
