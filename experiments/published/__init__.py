"""The published networks decided in every mode, against checks that do not use the verifier."""
