"""Bytes that a copy moves, counted element by element from the mapping alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, Engine, Graph, Tensor
from simulator.poplar.program import Copy, Sequence
from tests.integration.plain_report import PlainReport
from tests.integration.running import device, report_options


def tile_of_elements(graph: Graph, tensor: Tensor, tiles: Any, rng: Any, run: int) -> Any:
    """Map runs of elements to random tiles; the tile of each element."""
    where = np.repeat(rng.integers(tiles, size=-(-tensor.numElements() // run)), run)[: tensor.numElements()]
    flat = tensor.flatten()
    for begin in range(0, len(where), run):
        graph.setTileMapping(flat.slice(begin, min(begin + run, len(where))), int(where[begin]))
    return where


@pytest.mark.parametrize("hardware", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_copies(seed: int, hardware: bool, tmp_path: Path) -> None:
    """Receivers take what they lack; senders send an element once however many tiles want it."""
    rng = np.random.default_rng(seed)
    type_ = (FLOAT, HALF)[seed % 2]
    n, times, tiles = int(rng.integers(20, 60)), 1 + seed % 3, 6
    with device(hardware, tiles) as place:
        graph = Graph(place)
        source = graph.addVariable(type_, [n], "source")
        target = graph.addVariable(type_, [times, n], "target")
        given = tile_of_elements(graph, source, tiles, rng, 5)
        # Each copy of the source goes to one tile for a run, so that no tile wants an element twice.
        wanted = np.stack([(np.arange(n) // 7 + 2 * k) % tiles for k in range(times)])
        for k in range(times):
            for begin in range(0, n, 7):
                graph.setTileMapping(target[k].slice(begin, min(begin + 7, n)), int(wanted[k, begin]))
        graph.createHostRead("target", target)
        graph.createHostWrite("source", source)
        program = Sequence(Copy(source.expand([0]).broadcast(times, 0), target))
        with Engine(graph, program, report_options(tmp_path)) as engine:
            engine.load(place)
            engine.run()
    moved = wanted != given
    size = type_.size
    rx = np.bincount(wanted[moved], minlength=tiles) * size
    tx = np.bincount(given[moved.any(axis=0)], minlength=tiles) * size
    carried = np.zeros((tiles, tiles), int)
    for k in range(times):
        np.add.at(carried, (given[moved[k]], wanted[k][moved[k]]), size)
    report = PlainReport(tmp_path)
    ((program_id,),) = report.rows("SELECT id FROM programs WHERE name LIKE '%Copy_source%ExchangePre'")
    ((found_rx, found_tx),) = report.rows("SELECT rx_array, tx_array FROM program_by_ipu WHERE program = ?", program_id)
    assert np.array_equal(report.array(found_rx), rx)
    assert np.array_equal(report.array(found_tx), tx)
    ((src, dst, sizes),) = report.rows(
        "SELECT src_array, dst_array, bytes_array FROM messages WHERE program = ?", program_id
    )
    messages = np.zeros((tiles, tiles), int)
    np.add.at(messages, (report.array(src), report.array(dst)), report.array(sizes))
    assert np.array_equal(messages, carried)
    report.close()
