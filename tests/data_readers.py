"""Readers of published data for tests; not part of the product."""

from pathlib import Path

import numpy as np

from venmas.nn import Network, relu_network


def read_reachsdp_mat(path: Path) -> Network:
    """The network of a ReachSDP .mat file (MATLAB v5): cell arrays `weights` (out, in) and `biases` (out, 1)."""
    from scipy.io import loadmat

    cells = loadmat(str(path))
    weights = [np.asarray(w) for w in cells["weights"].ravel()]
    biases = [np.asarray(b).ravel() for b in cells["biases"].ravel()]
    return relu_network(weights, biases, name=path.stem)
