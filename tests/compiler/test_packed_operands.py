"""Senders pack the pieces of vertices' operands before an exchange where that costs less than spreading them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.compile import compile_graph
from simulator.compiler.lowering import arrange, exchange_plans, packing
from simulator.poplar import CHAR, FLOAT, HALF, Engine, Graph, Tensor, Type, poplar_error
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from tests.compiler.test_packing import VERIFY, graph_of, rows_on, values_of
from tests.integration.plain_report import PlainReport
from tests.integration.test_report_laws import check_report
from tests.runtime.both_engines import ACCURATE, results


def added_column(
    senders: list[int], receivers: list[int], type_: Type = HALF, rows: int = 1000
) -> tuple[Any, Graph, Tensor, Tensor, Sequence]:
    """total += a column of a matrix [rows, 64] on the senders, on the receivers."""
    device, graph = graph_of(64)
    matrix = rows_on(graph, graph.addVariable(type_, [rows, 64], "matrix"), senders)
    total = rows_on(graph, graph.addVariable(type_, [rows], "total"), receivers)
    program = Sequence()
    popops.addInPlace(graph, total, matrix.slice(3, 4, 1).flatten(), program, "sum")
    return device, graph, matrix, total, program


def steps(graph: Graph, program: Sequence) -> dict[str, tuple[int, Any]]:
    """Cycles and exchange of the programs of the addition, by the last part of their names."""
    lowered = compile_graph(graph.store, graph.getTarget(), [program]).lowered
    table = lowered.table
    mine = [row for row in range(len(table)) if "sum" in table.name[row] and table.type[row] != "Sequence"]
    return {
        table.name[row].rsplit("/", 1)[1]: (int(lowered.cycles[row].max()), table.work[row].exchange) for row in mine
    }


def test_fifty_senders_pack_the_operand_of_one_vertex() -> None:
    """Each packs twenty halves, four runs a worker; ten words arrive from each in place of twenty, and the vertex's
    tile gathers nothing."""
    _, graph, _, _, program = added_column(list(range(50)), [60])
    found = steps(graph, program)
    assert list(found) == ["OnTileCopyPre-0", "ExchangePre", "Add"]
    assert found["OnTileCopyPre-0"][0] == 6 * (60 + 12 * 3 + 4)
    cycles, exchange = found["ExchangePre"]
    assert cycles < 60 + 500 + 40
    assert exchange.code.tolist()[:1] == [20 + 4]
    assert int(exchange.code[60]) == 20 + 12 * 50
    assert (int(exchange.tx[0]), int(exchange.rx[60])) == (40, 2000)


def test_one_sender_packs_where_that_takes_fewer_words_and_instructions() -> None:
    _, graph, _, _, program = added_column([0], [1])
    found = steps(graph, program)
    assert found["OnTileCopyPre-0"][0] == 6 * (60 + 12 * 166 + 167)
    assert found["ExchangePre"][0] == 60 + 500
    assert found["ExchangePre"][1].code.tolist()[:2] == [24, 32]


def test_receivers_spread_what_one_tile_scatters() -> None:
    """The other way round fifty receivers share the work of one sender, which packs nothing."""
    _, graph, _, _, program = added_column([60], list(range(50)))
    assert list(steps(graph, program)) == ["ExchangePre", "PreArrange-0", "Add"]


def test_floats_that_come_straight_are_not_packed() -> None:
    _, graph, _, _, program = added_column([0], [1], FLOAT, 100)
    assert list(steps(graph, program)) == ["ExchangePre", "Add"]


def test_what_several_tiles_read_is_packed_once() -> None:
    """Two vertices on two tiles read the same column."""
    _, graph = graph_of(4)
    matrix = rows_on(graph, graph.addVariable(HALF, [1000, 64], "matrix"), [0])
    totals = rows_on(graph, graph.addVariable(HALF, [2, 1000], "totals"), [1, 2])
    program = Sequence()
    popops.addInPlace(graph, totals, matrix.slice(3, 4, 1).flatten().expand([0]).broadcast(2, 0), program, "sum")
    found = steps(graph, program)
    assert found["OnTileCopyPre-0"][0] == 6 * (60 + 12 * 166 + 167)
    assert found["ExchangePre"][1].tx.tolist() == [2000, 0, 0, 0]
    assert found["ExchangePre"][1].rx.tolist() == [0, 2000, 2000, 0]


@pytest.mark.parametrize("senders", [[0], list(range(50))])
def test_the_bytes_come_through_the_pack_buffer(senders: list[int]) -> None:
    device, graph, matrix, total, program = added_column(senders, [60])
    graph.createHostWrite("matrix", matrix)
    graph.createHostWrite("total", total)
    graph.createHostRead("found", total)
    values, before = values_of(HALF, [1000, 64], 0), values_of(HALF, [1000], 1)
    for options in ({}, ACCURATE, VERIFY):
        given_ = {"matrix": values, "total": before}
        found = results(device, graph, program, given_, {"found": np.dtype(np.float16)}, options, runs=1)["found"]
        assert found.tolist() == (before + values[:, 3]).tolist()


def test_the_report_of_packed_operands_keeps_every_law(tmp_path: Path) -> None:
    device, graph, _, _, program = added_column(list(range(50)), [60])
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    with Engine(graph, program, options) as engine:
        engine.load(device)
        engine.run(0)
    report = PlainReport(tmp_path)
    check_report(report, [0, 1, 60, 63])
    report.close()


def strided_operands(data: Any, type_: Type) -> tuple[Any, Graph, Sequence, Any, Any]:
    """A strided view of a matrix, converted elsewhere: (device, graph, program, values, expected)."""
    rows, columns, tiles = data.draw(st.integers(2, 40)), data.draw(st.integers(2, 6)), 4
    device, graph = graph_of(tiles)
    fewer = data.draw(st.integers(1, columns))
    source = graph.addVariable(type_, [rows, columns], "source")
    view, values = source.slice(0, fewer, 1), values_of(type_, [rows, columns], rows)
    expected = values[:, :fewer].astype(np.float32)
    if data.draw(st.booleans()):
        view, expected = view.transpose(), expected.transpose()
    destination = graph.addVariable(HALF if type_ is FLOAT else FLOAT, view.shape(), "destination")
    for tensor in (source, destination):
        run = data.draw(st.integers(1, 8)) * data.draw(st.sampled_from([1, columns, columns * rows]))
        flat = tensor.flatten()
        for first in range(0, flat.numElements(), run):
            last = min(first + run, flat.numElements())
            graph.setTileMapping(flat.slice(first, last), data.draw(st.integers(0, tiles - 1)))
    program = Sequence()
    popops.castWithOutput(graph, view, destination, program)
    graph.createHostWrite("source", source)
    graph.createHostRead("found", destination)
    return device, graph, program, values, expected


@given(st.data(), st.sampled_from([HALF, CHAR, FLOAT]))
def test_random_strided_operands(data: Any, type_: Type) -> None:
    """Operands that are strided views between random mappings, packed wherever senders may: the same values in the
    address-accurate mode, and debug.verify finds every exchange within the limits of the fabric."""
    device, graph, program, values, expected = strided_operands(data, type_)
    read = np.dtype(np.float16 if type_ is FLOAT else np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange_plans, "_cost", lambda arranged, _: float(arranged.packing is None))
        patch.setattr(packing, "_pays", lambda cycles, _: np.ones(len(cycles), np.bool_))
        for options in ({}, ACCURATE, VERIFY):
            found = results(device, graph, program, {"source": values}, {"found": read}, options)
            assert found["found"].reshape(expected.shape).tolist() == expected.tolist()


@given(st.data(), st.sampled_from([HALF, CHAR]))
def test_packing_operands_neither_adds_nor_loses_bytes(data: Any, type_: Type) -> None:
    """Received bytes of each tile, messages, and elements read are those without packing."""
    _, graph, program, _, _ = strided_operands(data, type_)
    figures = []
    for preferred in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exchange_plans, "_cost", lambda a, _, p=preferred: float((a.packing is None) == p))
            patch.setattr(packing, "_pays", lambda cycles, _: np.ones(len(cycles), np.bool_))
            lowered = compile_graph(graph.store, graph.getTarget(), [program]).lowered
        figures.append([w.exchange for w in lowered.table.work if w.exchange is not None])
    packed, plain = figures
    assert len(packed) == len(plain)
    for one, other in zip(packed, plain, strict=True):
        for name in ("rx", "src", "dst", "size"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


@pytest.mark.parametrize("planted", ["overlap", "too small"])
def test_a_wrong_pack_buffer_of_operands_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = arrange.arrange_compute_set

    def wrong(*args: Any) -> Any:
        every = whole(*args)
        for arranged in every:
            if arranged.packing is not None and planted == "overlap":
                arranged.packing.place[1] = arranged.packing.place[0]
            elif arranged.packing is not None:
                arranged.packing.copy.buffer[:] = 4
        return every

    monkeypatch.setattr(exchange_plans, "arrange_compute_set", wrong)
    _, graph, matrix, total, program = added_column([0], [1])
    graph.createHostWrite("matrix", matrix)
    graph.createHostWrite("total", total)
    with pytest.raises(poplar_error, match="pack buffer"):
        Engine(graph, program, VERIFY)


@given(st.data(), st.sampled_from([HALF, CHAR]))
def test_what_cannot_be_packed_is_told_without_arranging_it(data: Any, type_: Type) -> None:
    """The look at neighbouring rows refuses nothing that a full search would pack."""
    _, graph, program, _, _ = strided_operands(data, type_)
    figures = []
    for looked in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exchange_plans, "_cost", lambda arranged, _: float(arranged.packing is None))
            patch.setattr(packing, "_pays", lambda cycles, _: np.ones(len(cycles), np.bool_))
            if not looked:
                patch.setattr(packing, "_some_in_pieces", lambda *_: True)
            lowered = compile_graph(graph.store, graph.getTarget(), [program]).lowered
        figures.append([(name, str(cycles)) for name, cycles in zip(lowered.table.name, lowered.cycles, strict=True)])
    assert figures[0] == figures[1]
