"""Affine forms with fresh symbols in floats: zonotopes along networks, flows and steps."""
