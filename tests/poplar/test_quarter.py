"""QUARTER: the two formats against their definition, metadata tensors and everything that makes them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulator.base.quarter import decoded, encoded
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    QUARTER,
    QUARTER_METADATA,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    Graph,
    Interval,
    QuarterMetadata,
    Target,
    TargetType,
    Tensor,
    TypeTraits,
    VariableMappingMethod,
    concat,
    convertFromDeviceType,
    convertToDeviceType,
    copyDeviceHalfToDouble,
    copyDeviceHalfToFloat,
    copyDoubleToDeviceHalf,
    copyFloatToDeviceHalf,
    createConstantMetadataTensor,
    createVariableMetadataTensor,
    tensor_creation_error,
    tensor_metadata_error,
    type_error,
)

F143, F152 = QuarterMetadata.Format.F143, QuarterMetadata.Format.F152
EMPTY = Tensor()


def new_graph(tiles: int = 4) -> Graph:
    return Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=tiles))


def number(byte: int, exponent_bits: int, bias: int) -> float:
    """One byte by the definition of the format."""
    if byte == 0x80:
        return math.nan
    fraction_bits = 7 - exponent_bits
    exponent = (byte >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = (byte & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    size = (1 + fraction) * 2.0 ** (exponent - bias) if exponent else fraction * 2.0 ** (1 - bias)
    return -size if byte & 0x80 else size


@pytest.mark.parametrize(("format_", "bits", "bias", "top"), [(F143, 4, 8, 240.0), (F152, 5, 16, 57344.0)])
@pytest.mark.parametrize("scale", [-32, 0, 5])
def test_bytes_and_numbers(format_: QuarterMetadata.Format, bits: int, bias: int, top: float, scale: int) -> None:
    metadata = QuarterMetadata(format_, scale)
    expected = np.array([number(byte, bits, bias) for byte in range(256)]) * 2.0**scale
    np.testing.assert_array_equal(decoded(np.arange(256), metadata), expected)
    np.testing.assert_array_equal(encoded(expected, metadata), np.arange(256))
    assert np.nanmax(expected) == top * 2.0**scale
    finite = np.delete(expected, 0x80)
    values = np.random.default_rng(1).normal(0, 2.0 ** (scale + 2), 500)
    nearest = np.abs(values[:, None] - finite).min(axis=1)
    np.testing.assert_array_equal(np.abs(decoded(encoded(values, metadata), metadata) - values), nearest)


def test_ties_go_to_the_even_byte_and_overflow_saturates() -> None:
    metadata = QuarterMetadata(F143, 0)
    assert encoded([1.0625, 1.1875, -1.0625], metadata).tolist() == [0x40, 0x42, 0xC0]
    assert decoded(encoded([248.0, 1e9, -1e9], metadata), metadata).tolist() == [240, 240, -240]
    assert encoded([247.9, 248.0, -1e9, math.nan], metadata, True).tolist() == [0x7F, 0x80, 0x80, 0x80]
    assert encoded([-1e-9, 2.0**-11, 1.5 * 2.0**-10], metadata).tolist() == [0, 0, 2]


def test_metadata_is_one_byte() -> None:
    assert QuarterMetadata(F143, -3).getBinary() == 0x80 | 61
    assert QuarterMetadata(F152, 31).getBinary() == 31
    back = QuarterMetadata(0x80 | 61)
    assert (back.getFormat(), back.getScale()) == (F143, -3)
    assert back == QuarterMetadata(F143, -3)
    assert QuarterMetadata() == QuarterMetadata(F143, 0)
    back.set(QuarterMetadata(F152, 1))
    assert back == QuarterMetadata(F152, 1)
    with pytest.raises(tensor_metadata_error, match="scale of QUARTER metadata is -32 to 31, not 32"):
        QuarterMetadata(F143, 32)
    with pytest.raises(tensor_metadata_error, match="'F143' is not a format"):
        QuarterMetadata("F143", 0)  # type: ignore[call-overload]


def test_conversions_of_host_numbers() -> None:
    metadata = QuarterMetadata(F143, 1)
    raw = convertToDeviceType(QUARTER, metadata, [2.0, -4.0])
    assert raw.tolist() == [0x40, 0xC8]
    assert convertFromDeviceType(QUARTER, metadata, raw).tolist() == [2.0, -4.0]
    out = np.zeros(8, np.uint8)
    convertToDeviceType(FLOAT, [1.0, 2.0], out)
    assert out.view(np.float32).tolist() == [1.0, 2.0]
    assert convertToDeviceType(dstType=HALF, src=[1e9], nanOnOverflow=False).view(np.float16).tolist() == [65504.0]
    assert np.isnan(convertToDeviceType(HALF, [1e9], None, True).view(np.float16)[0])
    numbers = np.zeros(2, np.float64)
    convertFromDeviceType(INT, np.array([3, -4], np.int32), numbers)
    assert numbers.tolist() == [3, -4]
    with pytest.raises(tensor_metadata_error, match="Type quarter needs QuarterMetadata"):
        convertToDeviceType(QUARTER, [1.0])
    with pytest.raises(tensor_metadata_error, match="Type float has no metadata"):
        convertFromDeviceType(FLOAT, metadata, raw)
    with pytest.raises(type_error, match="takes 1 bytes, but 4 are written"):
        convertToDeviceType(FLOAT, [1.0], np.zeros(1, np.uint8))
    target = new_graph().getTarget()
    assert copyFloatToDeviceHalf(target, [1.0, 1e9]).tolist() == [0x3C00, 0x7BFF]
    assert copyDoubleToDeviceHalf(target, [0.5]).tolist() == [0x3800]
    assert copyDeviceHalfToFloat(target, np.array([0x3C00], np.uint16)).tolist() == [1.0]
    assert copyDeviceHalfToDouble(target, np.array([0x3800, 0x3C00], np.uint16), numElements=1).tolist() == [0.5]


def test_variables_get_metadata_tensors() -> None:
    graph = new_graph()
    own = graph.addVariable(QUARTER, [4], "own")
    assert own.hasMetadata()
    metadata = own.getMetadata()
    assert (metadata.elementType(), metadata.shape()) == (QUARTER_METADATA, [])
    assert graph.getTileMapping(metadata)[0] == [Interval(0, 1)]
    assert metadata.getVarStr() == "own/metadata"
    given = createVariableMetadataTensor(graph, F152, 2, "given")
    for t in (
        graph.addVariable(QUARTER, given, [4]),
        graph.addVariable(QUARTER, given, [4], VariableMappingMethod.LINEAR, "x"),
        graph.addVariable(type=QUARTER, metadata=given, shape=[4], mappingMethod=VariableMappingMethod.NONE),
    ):
        assert t.getMetadata() == given
        assert t[1:3].reverse(0).getMetadata() == given
    assert graph.addVariable(QUARTER, EMPTY, [4]).getMetadata() != given
    plain = graph.addVariable(FLOAT, EMPTY, [4], VariableMappingMethod.LINEAR)
    assert not plain.hasMetadata()
    assert not EMPTY.hasMetadata()
    with pytest.raises(tensor_metadata_error, match=r"Tensor\(float, shape=\[4\]\) has no metadata"):
        plain.getMetadata()
    assert own.reinterpret(UNSIGNED_CHAR).elementType() is UNSIGNED_CHAR
    assert not own.reinterpret(UNSIGNED_CHAR).hasMetadata()
    with pytest.raises(type_error, match="cannot be read as quarter; clone it"):
        graph.addVariable(UNSIGNED_CHAR, [1]).reinterpret(QUARTER)
    with pytest.raises(tensor_metadata_error, match="concat: the 2 quarter tensors have different metadata"):
        concat(own, graph.addVariable(QUARTER, [4]))
    assert concat(own, own.reverse(0)).getMetadata() == metadata


@pytest.mark.parametrize("call", ["addVariable", "addConstant", "clone", "cloneN"])
def test_metadata_is_for_quarter_only(call: str) -> None:
    graph = new_graph()
    metadata, t = graph.addVariable(QUARTER_METADATA, []), graph.addVariable(FLOAT, [2])
    use = {
        "addVariable": lambda m, type_: graph.addVariable(type_, m, [2]),
        "addConstant": lambda m, type_: graph.addConstant(type_, m, [2], 1.0),
        "clone": lambda m, type_: graph.clone(type_, m, t),
        "cloneN": lambda m, type_: graph.cloneN(type_, m, t, 2),
    }[call]
    with pytest.raises(tensor_creation_error, match=f"{call}: type float takes no metadata, but Tensor"):
        use(metadata, FLOAT)
    with pytest.raises(tensor_metadata_error, match=f"{call}: Tensor.float, shape=.2.. is not a metadata tensor"):
        use(t, QUARTER)
    assert use(EMPTY, FLOAT).elementType() is FLOAT


def test_constants_are_encoded() -> None:
    graph = new_graph()
    default = graph.addConstant(QUARTER, [2], [1.0, -2.0])
    assert graph.store.variables.constant[default.view.variable].tolist() == [0x40, 0xC8]
    assert default.getMetadata().containsConstant()
    metadata = createConstantMetadataTensor(graph, F152, 1)
    scaled = graph.addConstant(QUARTER, metadata, [3], 2.0)
    assert graph.store.variables.constant[scaled.view.variable].tolist() == [0x40] * 3
    known = createVariableMetadataTensor(graph, F143, -1)
    again = graph.addConstant(QUARTER, known, [1], val=0.5)
    assert graph.store.variables.constant[again.view.variable].tolist() == [0x40]
    with pytest.raises(tensor_metadata_error, match="addConstant: values of type quarter cannot be encoded"):
        graph.addConstant(QUARTER, graph.addVariable(QUARTER_METADATA, []), [1], 1.0)


def test_initial_values_are_encoded() -> None:
    graph = new_graph()
    t = graph.addVariable(QUARTER, [2])
    with pytest.raises(tensor_metadata_error, match="setInitialValue: values of type quarter cannot be encoded"):
        graph.setInitialValue(t, [1.0, 2.0])
    graph.setInitialValue(t.getMetadata(), QuarterMetadata(F143, 1))
    graph.setInitialValue(t, [1.0, 2.0])
    assert graph.store.variables.initial[t.view.variable][0][1].tolist() == [0x38, 0x40]


def test_clones_have_metadata_of_their_own() -> None:
    graph = new_graph()
    t = graph.addVariable(QUARTER, [2, 3], VariableMappingMethod.LINEAR, "t")
    metadata = createVariableMetadataTensor(graph, F143, 0)
    assert graph.clone(t).getMetadata() != t.getMetadata()
    assert graph.clone(metadata, t).getMetadata() == metadata
    assert graph.clone(QUARTER, metadata, graph.addVariable(FLOAT, [2])).getMetadata() == metadata
    assert not graph.clone(HALF, t).hasMetadata()
    assert graph.cloneN(t, 2).getMetadata() != t.getMetadata()
    assert graph.cloneN(metadata, t, 2).getMetadata() == metadata
    assert graph.cloneN(QUARTER, metadata, t, 3, "copies").shape() == [3, 2, 3]


def test_constants_of_raw_host_data() -> None:
    graph = new_graph()
    data = np.array([1.5, 2.5, 3.5], np.float32)
    whole = np.array([1, 2, 3], np.float32).tobytes()
    many = graph.addConstant(INT, [3], whole, TypeTraits.make(np.float32), False)
    one = graph.addConstant(FLOAT, [2], val=data, traits=TypeTraits.make(FLOAT), broadcast=True)
    coded = graph.addConstant(QUARTER, EMPTY, [2], data, TypeTraits.make("f4"), False, "c")
    constants = graph.store.variables.constant
    assert constants[many.view.variable].tolist() == [1, 2, 3]
    assert constants[one.view.variable].tolist() == [1.5, 1.5]
    assert constants[coded.view.variable].tolist() == [0x44, 0x4A]
    with pytest.raises(tensor_creation_error, match=r"1\.5 is not a value of type int, which holds whole numbers"):
        graph.addConstant(INT, [3], data.tobytes(), TypeTraits.make(np.float32), False)
    with pytest.raises(tensor_creation_error, match=r"shape \[4\]: the buffer holds 3 values of float32, but 4"):
        graph.addConstant(FLOAT, [4], data, TypeTraits.make(FLOAT), False)
    with pytest.raises(tensor_creation_error, match="5 bytes are no whole number of values of 4 bytes"):
        graph.addConstant(FLOAT, [1], bytes(5), TypeTraits.make(FLOAT), False)
    traits = TypeTraits.make(np.int16)
    assert (traits.size, traits.align, traits.isFloat, traits.isSigned) == (2, 2, False, True)
    assert traits.isSimpleType()
    assert not TypeTraits.make(np.complex64).isSimpleType()
    with pytest.raises(tensor_creation_error, match="addConstant has no overload for"):
        graph.addConstant(FLOAT)  # type: ignore[call-overload]
    with pytest.raises(tensor_creation_error, match=r"addVariable has no overload for \(Type\)"):
        graph.addVariable(UNSIGNED_INT)  # type: ignore[call-overload]


def test_raw_words_of_half_and_many_encoded_constants() -> None:
    graph = new_graph()
    words = graph.addConstantHalf(HALF, [3], [0x3C00, 0xC000, 0x7BFF], "w")
    assert graph.store.variables.constant[words.view.variable].tolist() == [1, -2, 65504]
    assert graph.store.variables.constant[graph.addConstantHalf(FLOAT, [], 0x3800).view.variable].tolist() == [0.5]
    t = graph.addVariable(HALF, [2])
    graph.setInitialValueHalf(t=t, val=[0x3C00, 0x3800])
    assert graph.store.variables.initial[t.view.variable][-1][1].tolist() == [1.0, 0.5]
    metadata = createConstantMetadataTensor(graph, F143, 0)
    coded = graph.addConstant(QUARTER, metadata, [3], [1.0, -2.0, 240.0], "c")
    assert graph.store.variables.constant[coded.view.variable].tolist() == [0x40, 0xC8, 0x7F]
    assert coded.getMetadata() == metadata
    with pytest.raises(tensor_creation_error, match="70000 are not raw 16-bit words"):
        graph.addConstantHalf(HALF, [1], 70000)
    with pytest.raises(tensor_creation_error, match=r"0.5 are not raw 16-bit words"):
        graph.setInitialValueHalf(t, 0.5)
