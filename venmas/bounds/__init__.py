"""Enclosures: sets that contain the values of an expression or a network, rounding included.

- intervals, and two affine forms in the initial variables (symbolic interval propagation, DeepPoly's domain):
  `linear_forms`, through networks `methods`, over expressions `expressions`, over steps `states` and `reach`;
- affine forms in rationals, where a path makes a state one: `exact`;
- one affine form and a radius (affine arithmetic, a zonotope): `zonotope`, several networks at once `zonotope_stacked`;
- zonotopes with a symbol for each ReLU, and backward substitution (CROWN): `crown`, of a flat query, `crown_plan`;
- what all rest on: `rounding` (errors of float64) and `relaxation` (ReLU between two lines);
- `compiled`: twins of the zonotope and of CROWN for numba.

An activation is added as the module `venmas.nn.network` says.
"""
