"""What a file computes one after the other stays so in layers: single precision can tell the difference."""

import numpy as np
import pytest

from venmas.nn.chain import Chain

W = np.array([[2.0**100, 1.0]])
STEPS = {
    "a factor after a product": ([("matmul", W), ("scale", np.array(2.0**-100))], 2),
    "a factor before a product": ([("scale", np.array(2.0**-100)), ("matmul", W)], 2),
    "a divisor that is a power of two": ([("matmul", W), ("divide", np.array([2.0**100]))], 2),
    "a divisor before a product": ([("divide", np.array([2.0**100])), ("matmul", W)], 2),
    "two factors": ([("scale", np.array(2.0**100)), ("scale", np.array(2.0**-100))], 2),
    "two sums": ([("add", np.array(1e20)), ("add", np.array(-1e20))], 2),
    "a mean, then a product": ([("add", np.array(-1e20)), ("matmul", W), ("add", np.array(1e20))], 2),
    "a sign": ([("matmul", W), ("scale", np.array(-1.0))], 1),
    "a bias": ([("matmul", W), ("add", np.array(1e20))], 1),
}


@pytest.mark.parametrize("name", STEPS)
def test_factors_and_second_sums_are_layers_of_their_own(name):
    steps, layers = STEPS[name]
    chain, expected = Chain((1, 1)), np.array([[3.0]], np.float32)
    with np.errstate(over="ignore"):
        for step, value in steps:
            getattr(chain, step)(value)
            single = value.astype(np.float32)
            match step:
                case "matmul":
                    expected = expected @ single
                case "add":
                    expected = expected + single
                case "scale":
                    expected = expected * single
                case _:
                    expected = expected / single
    network = chain.network("chain", "float32", "")
    assert len(network.layers) == layers
    np.testing.assert_array_equal(network.evaluate_float32([3.0]), expected.ravel())
