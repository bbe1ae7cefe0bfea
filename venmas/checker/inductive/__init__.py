"""Certificates of ``AG p`` for ever: a set of states, and that no step leaves it (docs/certificates.md)."""
