"""Senders pack strided and small pieces before an exchange where that costs less than unpacking them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.compile import compile_graph
from simulator.compiler.lowering import arrange_copies, exchange_plans, packing
from simulator.poplar import CHAR, FLOAT, HALF, Engine, Graph, IPUModel, Tensor, Type, concat, poplar_error
from simulator.poplar.program import Copy, Sequence
from tests.integration.plain_report import PlainReport
from tests.integration.test_report_laws import check_report
from tests.runtime.both_engines import ACCURATE, results

VERIFY = {"debug.verify": "true"}


def graph_of(tiles: int) -> tuple[Any, Graph]:
    model = IPUModel()
    model.tilesPerIPU = tiles
    device = model.createDevice()
    return device, Graph(device)


def rows_on(graph: Graph, tensor: Tensor, tiles: list[int]) -> Tensor:
    """Map equal shares of the rows of a tensor to tiles."""
    share = tensor.dim(0) // len(tiles)
    for number, tile in enumerate(tiles):
        graph.setTileMapping(tensor.slice(share * number, share * (number + 1), 0), tile)
    return tensor


def steps(graph: Graph, copy: Copy) -> list[tuple[str, int, Any]]:
    """(last part of the name, cycles, exchange) of the programs of a copy."""
    lowered = compile_graph(graph.store, graph.getTarget(), [copy]).lowered
    table = lowered.table
    mine = [row for row in range(len(table)) if table.name[row].startswith("copy1_")]
    return [
        (table.name[row].rsplit("/", 1)[1], int(lowered.cycles[row].max()), table.work[row].exchange) for row in mine
    ]


def column(senders: list[int], receivers: list[int]) -> tuple[Any, Graph, Tensor, Tensor]:
    device, graph = graph_of(64)
    matrix = rows_on(graph, graph.addVariable(HALF, [1000, 64], "matrix"), senders)
    taken = rows_on(graph, graph.addVariable(HALF, [1000], "taken"), receivers)
    return device, graph, matrix, taken


def test_one_column_of_halves_is_packed_where_it_lies() -> None:
    """A thousand runs by six workers, then 500 words in one send: 560 cycles and 20 + 4 bytes at the sender, where a
    word for each half took a thousand cycles and as many sends."""
    _, graph, matrix, taken = column([0], [1])
    (pre, packed, _), (sent, moving, exchange) = steps(graph, Copy(matrix.slice(3, 4, 1).flatten(), taken))
    assert (pre, sent) == ("OnTileCopyPre-0", "ExchangePre")
    assert packed == 6 * (60 + 12 * 166 + 167)
    assert moving == 60 + 500
    assert exchange.tx.tolist()[:2] == [2000, 0]
    assert exchange.code.tolist()[:2] == [24, 32]


def test_many_senders_share_the_packing() -> None:
    """Fifty tiles pack twenty halves each, four runs a worker, in place of a thousand runs on one tile."""
    _, graph, matrix, taken = column(list(range(50)), [60])
    (_, packed, _), (_, moving, exchange) = steps(graph, Copy(matrix.slice(3, 4, 1).flatten(), taken))
    assert packed == 6 * (60 + 12 * 3 + 4)
    assert moving < 60 + 500 + 40
    assert int(exchange.code[60]) == 20 + 12 * 50


def test_receivers_unpack_what_one_tile_scatters() -> None:
    """The other way round the fifty receivers share the work, and the sender packs nothing."""
    _, graph = graph_of(64)
    matrix = rows_on(graph, graph.addVariable(HALF, [1000, 64], "matrix"), [60])
    given_ = rows_on(graph, graph.addVariable(HALF, [1000, 64], "given"), list(range(50)))
    names = [name for name, _, _ in steps(graph, Copy(matrix.slice(3, 4, 1), given_.slice(5, 6, 1)))]
    assert names == ["ExchangePre", "OnTileCopy-0"]


def test_what_several_tiles_want_is_packed_once() -> None:
    """A column for two tiles: one pack buffer, sent once to both."""
    _, graph = graph_of(4)
    matrix = rows_on(graph, graph.addVariable(HALF, [1000, 64], "matrix"), [0])
    one, two = (rows_on(graph, graph.addVariable(HALF, [1000], name), [t]) for t, name in ((1, "one"), (2, "two")))
    wanted = matrix.slice(3, 4, 1).flatten()
    (_, packed, _), (_, _, exchange) = steps(graph, Copy(concat([wanted, wanted]), concat([one, two])))
    assert packed == 6 * (60 + 12 * 166 + 167)
    assert exchange.tx[0] == 2000
    assert exchange.rx.tolist() == [0, 2000, 2000, 0]


def test_floats_that_go_straight_are_not_packed() -> None:
    _, graph = graph_of(4)
    matrix = rows_on(graph, graph.addVariable(FLOAT, [100, 64], "matrix"), [0])
    taken = rows_on(graph, graph.addVariable(FLOAT, [100], "taken"), [1])
    assert [name for name, _, _ in steps(graph, Copy(matrix.slice(3, 4, 1).flatten(), taken))] == ["ExchangePre"]


def values_of(type_: Type, shape: list[int], seed: int) -> Any:
    raw = np.random.default_rng(seed).integers(-99, 99, shape)
    return raw.astype({CHAR: np.int8, HALF: np.float16, FLOAT: np.float32}[type_])


@pytest.mark.parametrize(("senders", "receivers"), [([0], [1]), (list(range(10)), [12]), ([3], list(range(10)))])
def test_the_bytes_move_through_the_pack_buffer(senders: list[int], receivers: list[int]) -> None:
    device, graph = graph_of(16)
    matrix = rows_on(graph, graph.addVariable(HALF, [100, 6], "matrix"), senders)
    taken = rows_on(graph, graph.addVariable(HALF, [100], "taken"), receivers)
    graph.createHostWrite("matrix", matrix)
    graph.createHostRead("taken", taken)
    values = values_of(HALF, [100, 6], 0)
    copy = Copy(matrix.slice(2, 3, 1).flatten(), taken)
    for options in ({}, ACCURATE, VERIFY):
        found = results(device, graph, copy, {"matrix": values}, {"taken": np.dtype(np.float16)}, options)
        assert found["taken"].tolist() == values[:, 2].tolist()


def test_the_report_of_a_packed_copy_keeps_every_law(tmp_path: Path) -> None:
    device, graph, matrix, taken = column(list(range(50)), [60])
    graph.createHostWrite("matrix", matrix)
    copy, options = Copy(matrix.slice(3, 4, 1).flatten(), taken), {"autoReport.all": "true"}
    with Engine(graph, copy, {**options, "autoReport.directory": str(tmp_path)}) as engine:
        engine.load(device)
        engine.writeTensor("matrix", np.zeros((1000, 64), np.float16))
        engine.run(0)
    report = PlainReport(tmp_path)
    check_report(report, [0, 1, 60, 63])
    report.close()


@given(st.data())
def test_random_strided_copies(data: Any) -> None:
    """Copies of strided views between random mappings, packed wherever senders may: the same values in the
    address-accurate mode, and debug.verify finds every exchange within the limits of the fabric."""
    type_ = data.draw(st.sampled_from([HALF, CHAR, FLOAT]))
    rows, columns, tiles = data.draw(st.integers(2, 40)), data.draw(st.integers(2, 6)), 4
    device, graph = graph_of(tiles)
    source, destination = (graph.addVariable(type_, [rows, columns], name) for name in ("source", "destination"))
    for tensor in (source, destination):
        run = data.draw(st.integers(1, 8)) * data.draw(st.sampled_from([1, columns, columns * rows]))
        flat = tensor.flatten()
        for first in range(0, rows * columns, run):
            last = min(first + run, rows * columns)
            graph.setTileMapping(flat.slice(first, last), data.draw(st.integers(0, tiles - 1)))
    values = values_of(type_, [rows, columns], rows)
    turned = data.draw(st.booleans())
    fewer = data.draw(st.integers(1, max(1, columns // 2)))
    from_, to = source.slice(0, fewer, 1), destination.slice(columns - fewer, columns, 1)
    taken = values[:, :fewer]
    if turned:
        from_, taken = from_.transpose().reshape([rows, fewer]), taken.transpose().reshape(rows, fewer)
    graph.createHostWrite("source", source)
    graph.createHostWrite("destination", destination)
    graph.createHostRead("found", destination)
    expected = np.zeros_like(values)
    expected[:, columns - fewer :] = taken
    program = Sequence(Copy(from_, to))
    given_ = {"source": values, "destination": np.zeros_like(values)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange_plans, "_cost", lambda copy, _: float(copy.packing is None))
        patch.setattr(packing, "_pays", lambda cycles, _: np.ones(len(cycles), np.bool_))
        for options in ({}, ACCURATE, VERIFY):
            found = results(device, graph, program, given_, {"found": values.dtype}, options)["found"]
            assert found.reshape(rows, columns).tolist() == expected.tolist()


@given(st.integers(0, 10_000), st.sampled_from([HALF, CHAR]))
def test_packing_neither_adds_nor_loses_bytes(seed: int, type_: Type) -> None:
    """Received and sent bytes of each tile, and messages, are those without packing; words can only become fewer."""
    draw = np.random.default_rng(seed)
    _, graph = graph_of(8)
    rows, columns = 4 * int(draw.integers(2, 9)), int(draw.integers(2, 7))
    senders, receivers = ([int(t) for t in draw.permutation(8)[: draw.integers(1, 5)]] for _ in range(2))
    shares = len(senders) * len(receivers)
    rows = max(rows - rows % shares, shares)
    matrix = rows_on(graph, graph.addVariable(type_, [rows, columns], "matrix"), senders)
    taken = rows_on(graph, graph.addVariable(type_, [rows], "taken"), receivers)
    copy = Copy(matrix.slice(1, 2, 1).flatten(), taken)
    figures = []
    for preferred in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exchange_plans, "_cost", lambda c, _, p=preferred: float((c.packing is None) == p))
            found = steps(graph, copy)
        exchange = next((e for _, _, e in found if e is not None), None)
        if exchange is None:
            return  # all within tiles
        figures.append(exchange)
    packed, plain = figures
    for name in ("rx", "tx", "src", "dst", "size"):
        assert getattr(packed, name).tolist() == getattr(plain, name).tolist(), name
    assert (packed.moving.sent <= plain.moving.sent).all()
    assert (packed.moving.received <= plain.moving.received).all()
    assert (packed.rx_fragments >= plain.rx_fragments).all()


@pytest.mark.parametrize("planted", ["overlap", "too small"])
def test_a_wrong_pack_buffer_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = arrange_copies.pack_copy

    def wrong(*args: Any) -> Any:
        packed = whole(*args)
        assert packed is not None
        if planted == "overlap":
            packed.packing.place[1] = packed.packing.place[0]
        else:
            packed.packing.copy.buffer[:] = 4
        return packed

    monkeypatch.setattr(exchange_plans, "pack_copy", wrong)
    _, graph, matrix, taken = column([0], [1])
    graph.createHostWrite("matrix", matrix)
    with pytest.raises(poplar_error, match="pack buffer"):
        Engine(graph, Copy(matrix.slice(3, 4, 1).flatten(), taken), VERIFY)
