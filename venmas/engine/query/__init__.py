"""One-step queries about networks (VNN-LIB), in real numbers and as deployed."""
