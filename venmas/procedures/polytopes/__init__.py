"""Polytopes of initial states on which every run is affine, enumerated."""
