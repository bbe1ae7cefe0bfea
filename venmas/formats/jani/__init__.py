"""JANI models, property files and policy interfaces of PlaJA, read as systems (docs/jani.md)."""
