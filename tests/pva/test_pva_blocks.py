"""execution.blocks, on files with known blocks."""

import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from popvision import pva
from popvision.formats.errors import FormatError
from popvision.formats.profile.model import COMMON, FLUSH, OVERFLOW, STREAM_COPY, TileBlocks
from popvision.formats.profile.reader import ProfileReader
from popvision.formats.profile.writer import ProfileWriter
from tests.reports import tiny_compilation, tiny_run


def recorded(tile=1, shift=0):
    """A block around a program of each kind."""
    columns = ([0, 1, -1, 2, 3], [COMMON, COMMON, OVERFLOW, FLUSH, STREAM_COPY], [0, 5, 9, 20, 30], [50, 9, 15, 25, 40])
    program, kind, start, end = (np.array(column) for column in columns)
    return TileBlocks(tile, program, kind, start + shift, end + shift)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(replace(tiny_run(), blocks=[recorded()]))
        writer.append_blocks([recorded(shift=100), recorded(2, shift=200)])
    return path


def test_blocks_of_a_tile(path):
    blocks = pva.openReport(str(path)).execution.blocks(1)
    first = [(b.program and b.program._id, b.cyclesFrom, b.cyclesTo, b.tile) for b in blocks[:5]]
    assert first == [(0, 0, 50, 1), (1, 5, 9, 1), (None, 9, 15, 1), (2, 20, 25, 1), (3, 30, 40, 1)]
    assert [(b.cyclesFrom, b.cyclesTo) for b in blocks[5:]] == [(a + 100, b + 100) for _, a, b, _ in first]
    assert json.loads(json.dumps([blocks[0].cyclesFrom, blocks[0].tile])) == [0, 1]


def test_kinds_answer_as_properties_and_as_methods(path):
    blocks = pva.openReport(str(path)).execution.blocks(1)[:5]
    kinds = ("isCommon", "isOverflow", "isBlockFlush", "isStreamCopy")
    as_property = [[kind for kind in kinds if getattr(block, kind)] for block in blocks]
    as_method = [[kind for kind in kinds if getattr(block, kind)() is True] for block in blocks]
    assert as_property == as_method == [[kinds[i]] for i in (0, 0, 1, 2, 3)]
    assert (repr(blocks[0].isCommon), str(blocks[0].isOverflow), blocks[0].isCommon == True) == ("True", "False", True)  # noqa: E712


def test_programs_are_those_of_the_compilation(path):
    report = pva.openReport(str(path))
    block = report.execution.blocks(1)[1]
    assert block.program in set(report.compilation.programs)
    assert isinstance(block, pva.pva_core.Block)
    assert len({*report.execution.blocks(1), *report.execution.blocks(1)}) == 10


def test_reprs(path):
    blocks = pva.openReport(str(path)).execution.blocks(1)
    assert repr(blocks[2]) == "Block(overflow, tile 1, 9 - 15)"
    assert repr(blocks[0]).endswith("0 - 50)")


def test_runs_of_which_only_blocks_are_kept_are_no_runs(path):
    report = pva.openReport(str(path))
    assert (len(report.execution.runs), ProfileReader(path).meta["generation"]) == (1, 2)
    assert ProfileReader(path).tiles_with_blocks() == [1, 2]


def test_tiles_without_blocks_and_tiles_that_are_not_there(path):
    execution = pva.openReport(str(path)).execution
    assert list(execution.blocks(0)) == []
    for tile in (-1, 4):
        with pytest.raises(IndexError, match=f"tile {tile} does not exist: the target has 4 tiles"):
            execution.blocks(tile)


def test_every_number_of_a_block_is_under_a_checksum(path):
    with sqlite3.connect(path) as db:
        (identity,) = db.execute("SELECT start_array FROM blocks WHERE tile = 2").fetchone()
        db.execute("UPDATE blocks SET tile = 3 WHERE tile = 2")
    with pytest.raises(FormatError, match="blocks"):
        ProfileReader(path).blocks(1)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE blocks SET tile = 2 WHERE tile = 3")
        db.execute("UPDATE arrays SET data = zeroblob(length(data)) WHERE id = ?", (identity,))
    assert len(ProfileReader(path).blocks(1)) == 2
    with pytest.raises(FormatError):
        ProfileReader(path).blocks(2)


def test_files_of_earlier_versions_have_none(path):
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE blocks")
        db.execute("DELETE FROM parts WHERE name = 'blocks'")
        value = json.dumps("1.1.0")
        db.execute("UPDATE meta SET value = ? WHERE key = 'formatVersion'", (value,))
        db.execute("DELETE FROM parts WHERE name = 'meta'")
        rows = db.execute("SELECT key, value FROM meta ORDER BY key").fetchall()
        from popvision.formats.profile.checksum import columns_crc

        crc = columns_crc([list(column) for column in zip(*rows, strict=True)])
        db.execute("INSERT INTO parts VALUES ('meta', 0, ?, ?)", (len(rows), crc))
    assert list(pva.openReport(str(path)).execution.blocks(1)) == []


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        (replace(recorded(), program=np.array([0, 1])), "the columns of the blocks of tile 1 differ in length"),
        (replace(recorded(), program=np.full(5, 99)), "a block of tile 1 names a program that is none of"),
    ],
)
def test_blocks_that_do_not_fit(tmp_path, blocks, sentence):
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        with pytest.raises(FormatError, match=sentence):
            writer.append_blocks([blocks])
        with pytest.raises(FormatError, match=sentence):
            writer.append_run(replace(tiny_run(), blocks=[blocks]))
        assert writer.append_blocks([recorded()]) is None
