from fractions import Fraction

import numpy as np
import pytest

from venmas.errors import NetworkError
from venmas.nn import load_network

pytestmark = pytest.mark.quick

TEXT = """// a comment, and another one below
// 2 inputs
2,2,1,3,
2,3,1,
0,
-1.0,-1.0,
1.0,1.0,
0.5,-1.0,10.0,
3.0,2.0,7.0,
1,2,  // weights of the first layer
-3,4.5,
1e-1,0,
0.5,
-0.25,
1,
2,-1,0.5
-4,
"""


def save(tmp_path, text):
    path = tmp_path / "net.nnet"
    path.write_text(text)
    return path


def test_normalisation_is_applied_exactly(tmp_path):
    network = load_network(save(tmp_path, TEXT))
    a, b = Fraction(2), Fraction(1, 7)
    u, v = (a - Fraction(1, 2)) / 3, (b + 1) / 2
    hidden = [u + 2 * v + Fraction(1, 2), -3 * u + Fraction(9, 2) * v - Fraction(1, 4), Fraction(0.1) * u + 1]
    assert min(hidden) > 0
    value = 2 * hidden[0] - hidden[1] + hidden[2] / 2 - 4
    assert network.evaluate_exact([a, b]) == (value * 7 + 10,)
    assert [layer.activation for layer in network.layers].count("relu") == 1


def test_normalisation_is_ignored(tmp_path):
    network = load_network(save(tmp_path, TEXT), normalization="ignore")
    assert network.sizes == (2, 3, 1)
    assert network.evaluate_exact([Fraction(-1), Fraction(1)]) == (
        2 * Fraction(3, 2) - Fraction(29, 4) + (1 - Fraction(0.1)) / 2 - 4,
    )
    assert (network.name, network.dtype) == ("net", "float64")


def test_line_breaks_do_not_matter_among_the_weights(tmp_path):
    head, tail = TEXT.split("7.0,\n")
    flat = (
        head + "7.0,\r\n" + tail.replace("  // weights of the first layer", "").replace(",\n", ",").replace("\n", ",")
    )
    assert load_network(save(tmp_path, flat)) == load_network(save(tmp_path, TEXT))


def test_sizes_that_repeat_the_output(tmp_path):
    repeated = load_network(save(tmp_path, TEXT.replace("2,3,1,", "2,3,1,1,")))
    assert repeated == load_network(save(tmp_path, TEXT))


@pytest.mark.parametrize("sizes", ["2,3,1,1,1,", "2,3,3,1,", "2,2,3,1,", "2,3,1,2,", "2,3,2,2,", "2,3,"])
def test_sizes_of_any_other_form_are_refused(sizes, tmp_path):
    with pytest.raises(NetworkError, match="one of the two is wrong"):
        load_network(save(tmp_path, TEXT.replace("2,3,1,", sizes)))


def test_published_header_against_its_formula(data_dir):
    path = data_dir / "vcas" / "VertCAS_noResp_pra03_v9_20HU_200.nnet"
    applied, ignored = load_network(path), load_network(path, normalization="ignore")
    x = np.array([[100.0, -20.0, 25.0], [-4000.0, 33.0, 3.0]])
    inner = ignored.evaluate((x - [0, 0, 20]) / [16000, 200, 40])
    np.testing.assert_allclose(applied.evaluate(x), inner * 26.24923585890485 - 0.7194709316423972, rtol=1e-12)


LINES = TEXT.splitlines(keepends=True)
BAD = {
    "ends inside the header": "".join(LINES[:6]),
    "holds 12 weights and biases, layers .* need 13: truncated": "".join(LINES[:-1]),
    "holds 14 weights": TEXT + "1,\n",
    "line 11: 'abc' is not a finite number": TEXT.replace("-3,", "abc,"),
    "line 11: 'nan'": TEXT.replace("-3,", "nan,"),
    "line 11: 'inf'": TEXT.replace("-3,", "inf,"),
    "line 11: '1_0'": TEXT.replace("-3,", "1_0,"),
    "line 11: ''": TEXT.replace("-3,", "-3,,"),
    "the header says 9 layers": TEXT.replace("2,2,1,3,", "9,2,1,3,"),
    r"the header says 2 layers .*\[2, 2, 1\]": TEXT.replace("2,2,1,3,\n2,3,1,", "2,2,7,3,\n2,2,1,"),
    "positive whole numbers": TEXT.replace("2,3,1,", "2,-3,1,"),
    "layer sizes, got": TEXT.replace("2,3,1,", "2,3.5,1,"),
    "at most": TEXT.replace("2,3,1,", "2,300000000,1,"),
    'line 8: expected 2 numbers .* one for the outputs, got 2; .*"ignore"': TEXT.replace("0.5,-1.0,10.0", "0.5,-1.0"),
    "line 9: a range of 0": TEXT.replace("3.0,2.0,7.0", "3.0,0,7.0"),
    "net.nnet ends inside": "",
    "is not a finite number": "\x00\xff binary",
}


@pytest.mark.parametrize("message", BAD)
def test_bad_files(message, tmp_path):
    with pytest.raises(NetworkError, match=message):
        load_network(save(tmp_path, BAD[message]))
