"""Floating point operations of library vertices, by PopLibs' convention, written out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision.formats.profile.reader import ProfileReader
from simulator.machine import flops
from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_INT, Engine, Graph
from simulator.poplar.program import Sequence
from simulator.poplibs import popnn, popops
from simulator.poplibs.poplin import matMul
from simulator.poplibs.popnn import NonLinearityType
from simulator.poplibs.poputil import mapTensorLinearly
from tests.compiler.tiny_graphs import model


def test_every_library_vertex_says_its_operations(tmp_path: Path) -> None:
    graph, program = Graph(model(8)), Sequence()
    x, y = graph.addVariable(HALF, [24, 40], "x"), graph.addVariable(HALF, [40, 16], "y")
    labels = graph.addVariable(UNSIGNED_INT, [24], "labels")
    whole = graph.addVariable(INT, [100], "whole")
    for tensor in (x, y, labels, whole):
        mapTensorLinearly(graph, tensor)
    product = matMul(graph, x, y, program, "product")
    single = popops.cast(graph, product, FLOAT, program, "cast")
    popops.scaledAddTo(graph, single, single, 0.5, program, "grow")
    active = popnn.nonLinearity(graph, NonLinearityType.GELU, single, program, "act")
    slope = popnn.nonLinearityInputGradient(graph, NonLinearityType.GELU, single, active, program, "slope")
    one_hot = graph.addVariable(FLOAT, [24, 16], "oneHot")
    mapTensorLinearly(graph, one_hot)
    popops.encodeOneHot(graph, labels, one_hot, program, "hot")
    popops.mulInPlace(graph, slope, one_hot, program, "mask")
    popops.rem(graph, slope, active, program, "rest")
    popops.add(graph, whole, whole, program, "whole")
    popops.fill(graph, active.slice(0, 1, 1), program, 2.0, "column")
    popops.reduce(graph, active, [1], popops.Operation.SQUARE_ADD, program, "squares")
    options = {"autoReport.outputGraphProfile": "true", "profiler.includeFlopEstimates": "true"}
    Engine(graph, program, options | {"autoReport.directory": str(tmp_path)}).close()
    reader = ProfileReader(tmp_path / "profile.pop")
    sets = reader.compute_sets()
    count = dict(zip(sets.name, sets.flops.tolist(), strict=True))
    assert min(count.values()) >= 0

    def of(word: str) -> int:
        return sum(n for name, n in count.items() if name.startswith(word))

    elements = 24 * 16
    assert of("cast") == elements
    assert of("grow") == 2 * elements
    assert of("act") == 8 * elements
    assert of("slope") == 15 * elements
    assert of("hot") == of("whole") == of("column") == 0
    assert of("mask") == elements
    assert of("rest") == 3 * elements
    assert of("product") >= 2 * 24 * 40 * 16
    # 24 sums of 16 squares on two tiles: 2 flops for each but the first of a tile, then an addition
    assert of("squares") == 24 * (16 - 2) * 2 + 24


@pytest.mark.parametrize(
    ("found", "by_hand"),
    [
        (flops.reduction("ADD", 5, 35), 30),
        (flops.reduction("ADD", 5, 35, update=True), 35),
        (flops.reduction("LOG_ADD", 5, 35), 180),
        (flops.reduction("LOGICAL_AND", 5, 35), 0),
        (flops.typed(7, "int"), 0),
        (flops.cast("half", "int", 7), 7),
        (flops.cast("int", "uint", 7), 0),
        (flops.cross_entropy(10), 62),
        (flops.binary("VARIANCE_TO_INV_STD_DEV"), 2),
        (flops.unary("POPCOUNT"), 0),
        (flops.gradient("SWISH"), 5),
        (flops.nonlinearity("TANH"), 1),
    ],
)
def test_conventions(found: int, by_hand: int) -> None:
    assert int(found) == by_hand
