"""Traffic of exchange programs: figures by hand, a dense twin of the matrix, sums against plain SQL."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.compare.exchange import difference_messages, matrix_difference
from popvision.analysis.exchange import messages as traffic
from popvision.analysis.exchange.host import host_copies
from popvision.analysis.exchange.matrix import Matrix, matrix_of
from popvision.analysis.exchange.programs import bandwidth, fans, longest_tiles, moved_bytes, recorded_totals
from popvision.analysis.exchange.tiles import exchange_of, exchange_tiles
from popvision.analysis.execution.window import window_figures
from popvision.analysis.programs.figures import figures
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.formats.generate import Size, generate
from tests.analysis.execution.overlap_case import write_overlap
from tests.browser.small_traces import Steps, write_small
from tests.plain_report import PlainProgram, PlainReport, PlainVariable
from tests.reports import write_tiny

TILES, IPUS = 24, 2


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return ReportSource(write_tiny(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def two_ipus(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    path = tmp_path_factory.mktemp("two") / "profile.pop"
    generate(path, Size(intervals=4_000, tiles=TILES, ipus=IPUS, layers=1, seed=3))
    return ReportSource(path)


def plain(folder: Path, messages: list[tuple[int, int, int]], tiles: int = 8, cycles: int = 64) -> ReportSource:
    programs = [PlainProgram("DoExchange", "copy", cycles, messages), PlainProgram("OnTileExecute", "work", 9)]
    return ReportSource(
        PlainReport(programs, [PlainVariable("v", {0: 8}), PlainVariable("t", {0: 8}, live=(0, 1))], tiles=tiles).write(
            folder
        )
    )


def test_figures_of_the_tiny_report(tiny: ReportSource) -> None:
    """Tile 1 sends 8 bytes once, tiles 0 and 2 receive them, in 4 cycles."""
    m, r, b = moved_bytes(tiny), recorded_totals(tiny), bandwidth(tiny)
    assert (m.program.tolist(), m.type, m.name) == ([3], ["DoExchange"], ["cs0_layer/ExchangePre"])
    assert (m.received[0], m.sent[0], m.receivers[0], m.senders[0], m.ipus[0], m.code[0]) == (16, 8, 2, 1, 1, 0)
    assert (m.worst_tile[0], m.worst_bytes[0], m.estimated[0]) == (0, 8, 4)
    f = fans(tiny)
    assert (f.messages[0], f.mean[0], f.worst[0]) == (2, 2.0, 2)
    assert (r.executions[0], r.cycles[0], r.received[0], r.sent[0]) == (1, 4, 16, 8)
    assert (b.cycles_each[0], b.achieved[0], b.possible[0], b.dictated[0]) == (4, 4, 8, 0.5)
    tiles = exchange_tiles(tiny, 3)
    assert tiles.received.tolist() == [8, 0, 8, 0]
    assert [tiles.fan_in.tolist(), tiles.fan_out.tolist()] == [[1, 0, 1, 0], [0, 2, 0, 0]]  # type: ignore[union-attr]
    assert (tiles.moving.tolist(), tiles.step) == ([2, 2, 2, 0], 2)  # type: ignore[union-attr]
    assert tiles.recorded.tolist() == tiles.estimated.tolist() == [4, 0, 4, 0]  # type: ignore[union-attr]
    assert [each.tolist() for each in traffic.sendings_of(tiny, 3, 1)] == [[2], [8]]
    who = traffic.partners(tiny, 3, 1)
    assert (who.sources.tolist(), who.destinations.tolist(), who.sent.tolist()) == ([], [0, 2], [8, 8])


def test_a_selection_means_a_program(tiny: ReportSource) -> None:
    assert exchange_of(tiny, None, None) == (3, None)
    assert exchange_of(tiny, 1, None) == (3, None)  # program 1 moves nothing: the one that moves most
    assert exchange_of(tiny, 1, 2) == (3, 2)  # step 2 runs program 3
    assert exchange_of(tiny, 99, 99) == (3, None)


def test_begin_and_end_of_a_host_copy_mean_its_mid(two_ipus: ReportSource) -> None:
    types = two_ipus.reader.programs().type
    mid = types.index("StreamCopyMid")
    assert exchange_of(two_ipus, mid - 1, None) == exchange_of(two_ipus, mid + 1, None) == (mid, None)
    with pytest.raises(NotRecordedError, match="stream copy"):
        traffic.messages_of(two_ipus, mid)
    (row,) = viewer_frame(host_copies(two_ipus)).to_dict("records")
    with sqlite3.connect(two_ipus.reader.path) as db:
        query = "select sum(data_in) from steps_by_ipu join steps on id = step_id where program = ?"
        ((size,),) = db.execute(query, (mid,)).fetchall()
    assert (row["program"], row["to_device_bytes"]) == (mid, size)
    assert np.isnan(row["use_share"])
    assert size == row["executions"] * IPUS * 2**20


def test_a_hidden_transfer_is_measured_by_its_own_tile(tmp_path: Path) -> None:
    """Tile 3 copies 64 B in 60 cycles while others compute: the step's length in the trace is 0."""
    source = ReportSource(write_overlap(tmp_path / "hidden"))
    assert figures(source).self_cycles.tolist() == [0, 100, 0, 0, 0, 0, 10]
    assert longest_tiles(source).tolist() == [0, 100, 20, 60, 5, 20, 10]
    (row,) = viewer_frame(host_copies(source)).to_dict("records")
    assert (row["begin_cycles"], row["mid_cycles"], row["end_cycles"], row["achieved_bytes_per_cycle"]) == (
        20,
        60,
        5,
        64 / 60,
    )
    measured = window_figures(source, 0, 0, 110).transfers["stream copy"]  # the execution trace says the same
    assert (measured.cycles, measured.bandwidth) == (60, 64 / 60)


@pytest.mark.parametrize(("level", "cycles"), [("Tile", [4, 3]), ("Ipu", [4, 1])])
def test_where_one_tile_was_measured_the_flat_length_stands(tmp_path: Path, level: str, cycles: list[int]) -> None:
    """Tile 0 exchanges from cycle 2 to 5, while tile 1 still computes until 4."""
    steps: Steps = [("C", (2, 4)), ("X", (3, 1))]
    source = ReportSource(write_small(tmp_path / "small", steps, target="Ipu", level=level))
    assert [int(each) for each in longest_tiles(source) if each] == cycles


def test_sums_are_those_of_the_database(two_ipus: ReportSource) -> None:
    """Rows and columns of the matrix are what tiles send and receive; totals of the table equal plain SQL."""
    m, r = moved_bytes(two_ipus), recorded_totals(two_ipus)
    with sqlite3.connect(two_ipus.reader.path) as db:
        rows = db.execute(
            "select program, count(distinct step_id), sum(data_in), sum(data_out) from steps_by_ipu"
            " join steps on id = step_id group by program"
        ).fetchall()
    sums = {program: rest for program, *rest in rows}
    for row, program in enumerate(m.program.tolist()):
        assert [r.executions[row], r.received[row], r.sent[row]] == sums.get(program, [0, 0, 0])
        if m.type[row] != "DoExchange":
            continue
        found, tiles = traffic.messages_of(two_ipus, program), exchange_tiles(two_ipus, program)
        whole = Matrix(found, TILES * IPUS).block((0, TILES * IPUS), (0, TILES * IPUS), 1).values
        square = whole.reshape(TILES * IPUS, TILES * IPUS)
        assert np.array_equal(square.sum(axis=0), tiles.received)
        assert np.array_equal(square.sum(axis=1), tiles.sent)  # the generator sends nothing to two tiles
        assert (found.bytes.sum(), len(found.src)) == (m.received[row], fans(two_ipus).messages[row])
        assert r.received[row] == m.received[row] * r.executions[row]


def test_missing_messages_are_unknown_not_zero(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    with sqlite3.connect(path) as db:
        db.executescript("drop table messages; drop table sendings; drop table parts; pragma application_id = 0")
    source = ReportSource(path)
    m = moved_bytes(source)
    f = fans(source)
    assert (m.received.tolist(), f.messages.tolist(), f.worst.tolist()) == ([16], [-1], [-1])
    assert np.isnan(f.mean[0])
    assert exchange_tiles(source, 3).fan_in is None
    with pytest.raises(NotRecordedError, match="holds no messages"):
        matrix_of(source, 3, "software")


pairs = st.tuples(st.integers(0, 10), st.integers(0, 10), st.integers(1, 50))


@given(
    st.lists(pairs, max_size=30), st.integers(1, 5), st.integers(0, 9), st.integers(1, 11), st.permutations(range(11))
)
def test_blocks_equal_a_dense_matrix(rows: Any, size: int, first: int, wide: int, rank: Any) -> None:
    src, dst, values = (np.array([row[k] for row in rows], np.int64) for k in range(3))
    dense = np.zeros((11, 11), np.int64)
    np.add.at(dense, (np.array(rank)[src], np.array(rank)[dst]), values)
    found = traffic.in_order(traffic.sum_messages(src, dst, values, 11), np.array(rank))
    first_row, rows_shown = first // size * size, (first // size * size, first // size * size + wide)
    cells = traffic.block(found, rows_shown, (0, 11), size)
    expected = np.zeros((cells.rows, cells.columns), np.int64)
    for r, c in np.ndindex(11, 11):
        if first_row <= r < first_row + wide:
            expected[(r - first_row) // size, c // size] += dense[r, c]
    assert np.array_equal(cells.values.reshape(expected.shape), expected)
    blocks = [dense[r : r + size, c : c + size].sum() for r in range(0, 11, size) for c in range(0, 11, size)]
    assert traffic.largest_cell(found, size) == max(blocks)
    chosen = traffic.heaviest(found, 4)
    assert found.bytes[chosen].tolist() == sorted(dense[dense > 0].tolist(), reverse=True)[:4]


def test_differences_are_target_minus_source(tmp_path: Path) -> None:
    one = plain(tmp_path / "one", [(0, 1, 64), (0, 2, 32), (3, 1, 8)])
    other = plain(tmp_path / "other", [(0, 1, 72), (3, 1, 8), (5, 6, 16)])
    found, left_out = difference_messages(one, other, 1)
    assert list(zip(found.src, found.dst, found.bytes, strict=True)) == [(0, 1, 8), (0, 2, -32), (5, 6, 16)]
    assert left_out == 0
    assert len(difference_messages(one, one, 1)[0].src) == 0
    assert matrix_difference(one, other, 1, "software").largest(1) == 32
    small = plain(tmp_path / "small", [(0, 1, 64), (0, 2, 32), (3, 1, 8)], tiles=4)
    assert difference_messages(other, small, 1)[1] == 1  # 5 to 6 has no place on four tiles


def test_bytes_between_ipus(two_ipus: ReportSource) -> None:
    target = two_ipus.reader.target()
    found = traffic.Messages(np.array([0, 1, 30]), np.array([25, 2, 3]), np.array([10, 20, 40]))
    assert traffic.between_ipus(found, target).tolist() == [[20, 10], [40, 0]]
    assert [each.tolist() for each in traffic.fan_outs(found)] == [[1], [3]]
