"""ACAS Xu by ``venmas vnnlib``."""
