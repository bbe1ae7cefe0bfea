"""Pickles as data: values of Python and numpy as they were, and nothing that a pickle names is called."""

import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from venmas.errors import NetworkError
from venmas.nn.pickled import Made, Named, array_of, read_pickle

CALLED: list[str] = []


class Trap:
    """An object whose pickle calls a function."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return CALLED.append, ("called",)


class Kept:
    """An object with a state."""

    def __init__(self) -> None:
        self.size = 3


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_values_are_as_they_were(protocol: int) -> None:
    value = [None, True, 1, -70000, 1 << 70, 0.5, "a", {"b": (1, 2, 3, 4), 3: [()]}, [], ("x",)]
    assert read_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i8", "?"])
def test_arrays_are_as_they_were(protocol: int, dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    if protocol > 2:  # protocol 2 writes bytes as a text that is encoded
        for given in (array, array.T, array[0, 1]):
            np.testing.assert_array_equal(array_of(read_pickle(pickle.dumps(given, protocol))), given)
    else:
        with pytest.raises(NetworkError, match="expected an array"):
            array_of(read_pickle(pickle.dumps(array, protocol)))


def test_objects_are_data() -> None:
    kept = read_pickle(pickle.dumps(Kept()))
    assert isinstance(kept, Made) and kept.of.endswith(".Kept") and kept.get("size") == 3
    with pytest.raises(NetworkError, match="without 'other'"):
        kept.get("other")
    table = read_pickle(pickle.dumps(OrderedDict(a=1)))
    assert (table.of, table.items) == ("collections.OrderedDict", {"a": 1})
    assert read_pickle(pickle.dumps(Path)).name.endswith("Path")


def test_nothing_is_called() -> None:
    with pytest.raises(NetworkError, match=r"calls Made|expected a class or function"):
        read_pickle(pickle.dumps(Trap()))
    made = read_pickle(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.")
    assert CALLED == [] and (made.of, made.args) == ("os.system", ("ls",))


def test_what_builds_no_plain_value_is_refused() -> None:
    for data, message in {
        pickle.dumps({1, 2}): "EMPTY_SET",
        pickle.dumps({(1, 2): 3}): "no entries of a dictionary",
        b"\x80\x02\x82\x05.": "EXT1",
        b"\x80\x02cos\nsystem\n(to.": "instruction",
        b"\x80\x02(i__main__\nf\n.": "instruction",
        b"\x80\x04]]\x86": "no end|damaged",
        b"\x80\x04h\x05.": "damaged",
        b"": "damaged",
        b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x0f.": "damaged",
        b"\x80\x04K\x01K\x02.": "damaged",
        b"\x80\x04K\x01Nb.": "sets the state",
        b"\x80\x04K\x01Na.": "appends",
        b"\x80\x04\x85.": "damaged",
    }.items():
        with pytest.raises(NetworkError, match=message):
            read_pickle(data)


def test_parts_that_stand_in_each_other_many_times_cost_nothing() -> None:
    nested = b"\x80\x04)" + b"".join(b"\x94h" + bytes([k]) + b"\x86" for k in range(60)) + b"."
    with pytest.raises(NetworkError, match="expected an array"):
        array_of(read_pickle(nested))
    with pytest.raises(NetworkError, match="an array of the shape"):
        array_of(read_pickle(pickle.dumps(np.arange(4.0), 4).replace(b"K\x04\x85", b"K\x05\x85")))


def test_other_arrays_are_refused() -> None:
    for value in (np.array(["a"]), np.array([1j]), np.array([object()]), "text", Named("numpy.ndarray")):
        with pytest.raises(NetworkError, match=r"expected (an array|one of)|builds no plain|calls"):
            array_of(value if isinstance(value, Named) else read_pickle(pickle.dumps(value)))
