"""One rule for halves of the program's numbers (docs/api.md), in every call that takes some: nearest, ties to even,
beyond the range the largest. The twin searches among all halves."""

import struct
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.codelets.vertex import Vector, Vertex
from simulator.poplar import (
    FLOAT,
    HALF,
    UNSIGNED_SHORT,
    Graph,
    IPUModel,
    Target,
    TargetType,
    Type,
    convertToDeviceType,
    copyDoubleToDeviceHalf,
    copyFloatToDeviceHalf,
    overflow_error,
    tensor_creation_error,
    type_error,
)

WORDS = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64)
HALVES = np.unique(WORDS[np.isfinite(WORDS)])


class Holds(Vertex):
    h = HALF
    v = Vector(HALF)
    n = UNSIGNED_SHORT

    def compute(self) -> None:
        pass


def graph():
    made = Graph(IPUModel().createDevice())
    made.addCodelets(Holds)
    return made


def slow_half(number):
    """The nearest half; of two the one with an even last bit."""
    if number != number or number in (float("inf"), float("-inf")):
        return number
    number = min(max(number, -65504.0), 65504.0)
    distance = np.abs(HALVES - number)
    nearest = HALVES[distance == distance.min()]
    even = [half for half in nearest if struct.unpack("<H", struct.pack("<e", half))[0] % 2 == 0]
    return float(nearest[0] if len(nearest) == 1 else even[0])


def constant(number):
    g = graph()
    return g.store.variables.constant[g.addConstant(HALF, [1], number).view.variable]


def initial(number):
    g = graph()
    t = g.addVariable(HALF, [1])
    g.setInitialValue(t, number)
    return g.store.variables.initial[t.view.variable][-1][1]


def field(number):
    g = graph()
    vertex = g.addVertex(g.addComputeSet("c"), "Holds")
    g.setInitialValue(vertex["h"], number)
    return [value for builder in [vertex.builder] for value in [builder.indexed._fields.values["h"][vertex.row]]]


def connected(number):
    g = graph()
    vertex = g.addVertex(g.addComputeSet("c"), "Holds", {"v": [number, number]})
    return vertex.builder.indexed._fields.values["v"][vertex.row]


CALLS = {
    "addConstant": constant,
    "setInitialValue of a tensor": initial,
    "setInitialValue of a field": field,
    "addVertex": connected,
    "convertToDeviceType": lambda number: convertToDeviceType(HALF, [number]).view(np.float16),
    "copyDoubleToDeviceHalf": lambda number: copyDoubleToDeviceHalf(Target(TargetType.CPU), [number]).view(np.float16),
    "copyFloatToDeviceHalf": lambda number: copyFloatToDeviceHalf(Target(TargetType.CPU), [number]).view(np.float16),
}
LIMITS = [65504.0, 65519.99, 65520.0, 1e6, -1e300, 2.0**-24, 2.0**-25, 3 * 2.0**-25, 1 + 2.0**-11, float("inf"), -0.0]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_call_rounds_alike_and_warns_nobody(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in [*LIMITS, *(-number for number in LIMITS)]:
            for half in call(number):
                assert float(half) == slow_half(number), number
        assert np.isnan(call(float("nan"))).all()


@given(st.floats(allow_nan=False, width=64) | st.floats(-70000, 70000))
def test_the_rule_is_that_of_the_slow_twin(number):
    for name in ("addConstant", "convertToDeviceType"):
        assert float(CALLS[name](number)[0]) == slow_half(number)


@pytest.mark.parametrize("nan", [False, True])
def test_only_convertToDeviceType_can_give_nan(nan):
    halves = convertToDeviceType(HALF, [1e6, -65520.0, 65504.0, np.inf], None, nan).view(np.float16)
    beyond = [np.nan, np.nan] if nan else [65504, -65504]
    np.testing.assert_array_equal(halves, np.array([*beyond, 65504, np.inf], np.float16))


@pytest.mark.parametrize(
    ("word", "error"), [(0x3C00, None), (0x3E00, type_error), (0xBC00, overflow_error), (0x7C00, overflow_error)]
)
def test_raw_halves_become_numbers_of_the_field(word, error):
    """1, 1.5, -1 and infinity into a field of whole numbers: no warning of NumPy's, and nothing is cut."""
    g = graph()
    vertex = g.addVertex(g.addComputeSet("c"), "Holds")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if error is None:
            g.setInitialValueHalf(vertex["n"], word)
        else:
            with pytest.raises(error, match="field 'n' of Holds"):
                g.setInitialValueHalf(vertex["n"], word)


@pytest.mark.parametrize(("type_", "number"), [(UNSIGNED_SHORT, 2.9), (UNSIGNED_SHORT, -1), (UNSIGNED_SHORT, 70000)])
def test_numbers_are_not_cut(type_: Type, number):
    with pytest.raises((type_error, overflow_error)):
        convertToDeviceType(type_, [number])
    assert convertToDeviceType(FLOAT, [number]).view(np.float32)[0] == np.float32(number)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_numbers_beyond_all_floats_are_refused_in_one_sentence(call):
    with pytest.raises((type_error, tensor_creation_error), match="not a value"):
        call(10**400)
