"""Affine forms with fresh symbols in floats: zonotopes carried over steps, networks and flows (docs/certificates.md)."""
