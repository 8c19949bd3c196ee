"""Values of an executable as nodes and back: constants are one node, what may change stays apart."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base.types import FLOAT
from simulator.engine.value_codec import Decoder, Encoder


def coded(value: Any) -> tuple[Any, int]:
    """The value after both ways, and the number of nodes on it."""
    encoder = Encoder()
    root = encoder.encode(value)
    return Decoder(encoder.nodes).decode(root), len(encoder.nodes)


def test_equal_constants_are_one_node() -> None:
    given = [(number % 3, "name", None, True, FLOAT, 0.5, Path("a")) for number in range(100)]
    decoded, nodes = coded(given)
    assert decoded == given
    assert nodes == 1 + 100 + 3 + 6


def test_lists_and_arrays_that_are_equal_stay_apart() -> None:
    decoded, _ = coded({"a": [1, 2], "b": [1, 2], "c": np.zeros(2), "d": np.zeros(2)})
    decoded["a"].append(3)
    decoded["c"][0] = 1
    assert decoded["b"] == [1, 2]
    assert decoded["d"].tolist() == [0, 0]


def test_one_list_in_two_places_stays_one() -> None:
    shared = [None, 1.5]
    decoded, _ = coded((shared, shared))
    assert decoded[0] is decoded[1]


def test_numbers_keep_type_and_sign() -> None:
    given = (
        1,
        1.0,
        True,
        -0.0,
        0.0,
        math.inf,
        -math.inf,
        2**64 - 1,
        -(2**63),
        1e-308,
        np.float32(1),
        np.int8(1),
        "é\ud800",
    )
    decoded, _ = coded((*given, math.nan))
    assert [type(one) for one in decoded[:-1]] == [type(one) for one in given]
    assert [repr(one) for one in decoded[:-1]] == [repr(one) for one in given]
    assert math.isnan(decoded[-1])
