"""Casts to, from and between QUARTER with the metadata of each tensor: by kernels, by vertices, on the
bytes of tiles."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    QUARTER,
    Engine,
    Graph,
    IPUModel,
    QuarterMetadata,
    Type,
    convertFromDeviceType,
    convertToDeviceType,
    createConstantMetadataTensor,
    createVariableMetadataTensor,
)
from simulator.poplar.program import Execute, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poputil import mapTensorLinearly, poplibs_error

F143, F152 = QuarterMetadata.Format.F143, QuarterMetadata.Format.F152
VALUES = np.array([0, 1, -1.0625, 3.3, 250, -6e4, 0.001, 15, 17, -0.3, 7, 9], np.float32)
WAYS = [{}, {"debug.runtimeVerify": "true"}, {"popvision.addressAccurate": "true"}]


def coded(values: np.ndarray, metadata: QuarterMetadata) -> np.ndarray:
    """The numbers of the format nearest to `values`, of two the one with the even byte, by searching all."""
    table = np.asarray(convertFromDeviceType(QUARTER, metadata, np.arange(256, dtype=np.uint8)), np.float64)
    even_first = [byte for odd in (0, 1) for byte in range(odd, 256, 2) if np.isfinite(table[byte])]
    nearest = np.abs(values[:, None].astype(np.float64) - table[even_first]).argmin(1)
    return table[even_first][nearest].astype(np.float32)


def graph_of_three_tiles() -> tuple[object, Graph]:
    model = IPUModel()
    model.tilesPerIPU = 3
    device = model.createDevice()
    return device, Graph(device)


@pytest.mark.parametrize("options", WAYS, ids=["kernel", "vertices", "bytes"])
@pytest.mark.parametrize("type_", [FLOAT, HALF, INT], ids=str)
def test_there_and_back(type_: Type, options: dict[str, str]) -> None:
    device, graph = graph_of_three_tiles()
    fine, coarse = QuarterMetadata(F143, 1), QuarterMetadata(F152, -1)
    values = VALUES.astype(type_.dtype)
    x = graph.addVariable(type_, [12], "x")
    mapTensorLinearly(graph, x, 1)
    program = Sequence()
    first = createConstantMetadataTensor(graph, fine.getFormat(), fine.getScale())
    second = createVariableMetadataTensor(graph, coarse.getFormat(), coarse.getScale())
    quarters = popops.cast(graph, x, QUARTER, first, program, "to")
    assert quarters.getMetadata() == first
    others = popops.cast(graph, quarters.reshape([3, 4]), QUARTER, metadata=second, prog=program)
    cs = graph.addComputeSet("back")
    back = popops.cast(graph, others, type_, cs)
    program.add(Execute(cs))
    for name, tensor in (("quarters", quarters), ("others", others), ("back", back)):
        graph.createHostRead(name, tensor)
    graph.createHostWrite("x", x)
    with Engine(graph, program, options) as engine:
        engine.load(device)
        engine.writeTensor("x", values)
        engine.run(0)
        got = np.zeros((3, 4), type_.dtype)
        engine.readTensor("back", got)
    once = coded(values, fine)
    wanted = coded(once, coarse).astype(type_.dtype)
    assert np.array_equal(got.reshape(-1), wanted)


def test_the_same_metadata_is_a_copy_and_other_types_ask_for_none() -> None:
    _, graph = graph_of_three_tiles()
    x = graph.addVariable(QUARTER, [4], "x")
    mapTensorLinearly(graph, x)
    program = Sequence()
    popops.cast(graph, x, QUARTER, x.getMetadata(), program)
    assert not len(graph.store.settled_blocks)
    with pytest.raises(poplibs_error, match="type quarter needs its metadata: pass the tensor behind the type"):
        popops.cast(graph, x, QUARTER, program)
    with pytest.raises(poplibs_error, match="type float has no metadata"):
        popops.cast(graph, x, FLOAT, x.getMetadata(), program)
    sure = convertToDeviceType(QUARTER, QuarterMetadata(F143, 0), np.array([2.0], np.float32))
    assert np.asarray(sure).dtype == np.uint8
