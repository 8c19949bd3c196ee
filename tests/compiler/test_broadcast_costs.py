"""Cycles, bytes and operations of operators with a broadcast operand, by hand from published-numbers 7.1."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.poplar import FLOAT, HALF, Graph, Type
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from tests.compiler.test_vertex_costs import _run as run
from tests.compiler.test_vertex_costs import cycles_of
from tests.compiler.tiny_graphs import model


@pytest.mark.parametrize(
    ("type_", "op", "shape", "other", "cycles"),
    [
        # inner, half, 16 elements, 12 rows, 2 a worker: core 5 + 2 + 5 + 16/8 (15 + 2)
        (HALF, "add", [12, 16], [16], 13 + 6 * (19 + 46) + 6 + 18),
        (HALF, "addInPlace", [12, 16], [16], 13 + 6 * (19 + 46) + 12),
        (HALF, "mul", [12, 16], [16], 13 + 6 * 24 + 6 * (19 + 13 + 4 * (9 + 2)) + 12),
        # inner, float division, 4 pairs: 10 + 4 (11 + 6)
        (FLOAT, "div", [12, 8], [8], 13 + 6 * 19 + 6 * (10 + 4 * 17) + 1 + 4),
        # outer by row: 3 rows a worker; 11 floats are misaligned and take 6 loops, 16 halves take 4
        (FLOAT, "add", [13, 11], [13, 1], 6 * (15 + 3 * (25 + 6 * 2)) + 11),
        (HALF, "add", [13, 16], [13, 1], 6 * (15 + 3 * (7 + 4 * 2)) + 11),
        # outer by column: every row, a sixth of the columns: 8 floats in 4 loops, 8 halves in 2
        (FLOAT, "mulInPlace", [5, 48], [5, 1], 6 * (15 + 5 * (7 + 4 * 2)) + 11),
        (HALF, "mul", [5, 48], [5, 1], 6 * (15 + 5 * (7 + 2 * 2)) + 11),
        # scalar: 12 floats or 12 halves a worker
        (FLOAT, "add", [8, 9], [1], 6 * (20 + 6 * 2) + 11),
        (HALF, "add", [8, 9], [1], 6 * (20 + 3 * 2) + 11),
    ],
)
def test_cycles(type_: Type, op: str, shape: list[int], other: list[int], cycles: int, tmp_path: Path) -> None:
    target = model(2)
    graph, program = Graph(target), Sequence()
    a, b = graph.addVariable(type_, shape, "a"), graph.addVariable(type_, other, "b")
    for tensor in (a, b):
        graph.setTileMapping(tensor, 0)
    getattr(popops, op)(graph, a, b, program)
    spent, reader = cycles_of(graph, program, target, tmp_path)
    assert spent == cycles
    assert sum(v.flops for v in reader.compute_set_vertices()) == shape[0] * shape[1]


@pytest.mark.parametrize(
    ("type_", "shape", "other", "operand"),
    [(HALF, [96, 16], [16], 32), (FLOAT, [96, 11], [96, 1], 4 * 96), (FLOAT, [96, 16], [1], 4)],
)
def test_the_operand_comes_once_and_is_not_spread(
    type_: Type, shape: list[int], other: list[int], operand: int, tmp_path: Path
) -> None:
    target = model(2)
    graph, program = Graph(target), Sequence()
    a, b = graph.addVariable(type_, shape, "a"), graph.addVariable(type_, other, "b")
    graph.setTileMapping(a, 0)
    graph.setTileMapping(b, 1)
    # an operand partly on the tile is gathered: once, and not to the size of the matrix
    local = type_.size if b.numElements() > 1 else 0
    if local:
        graph.setTileMapping(b.flatten().slice(0, 1, 0), 0)
    popops.addInPlace(graph, a, b, program)
    reader = run(graph, program, target, tmp_path)
    variables = reader.variables()
    assert variables is not None
    own = dict(zip(variables.name, variables.bytes.tolist(), strict=True))
    buffers = {name: size for name, size in own.items() if "PreArrange" in name or name.endswith("message")}
    # 15 halves do not fill the words of the gather buffer behind the local one: they come through the message buffer.
    through = 32 if type_ == HALF else 0
    assert sum(buffers.values()) == operand + through, own
    names = reader.programs().name
    sent = [reader.program_on_ipu(row, 0) for row, name in enumerate(names) if name.endswith("Add/ExchangePre")]
    assert [int(p.rx[0]) for p in sent if p is not None and p.rx is not None] == [operand - local]
