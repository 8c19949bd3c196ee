"""The four examples of lightweight profiling print the published lines, with cycles of the simulator."""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "lightweight_profiling"


@pytest.fixture
def printed(monkeypatch, tmp_path, capsys):
    """`printed(name, *words)`: the lines of an example."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)

    def run(name: str, *words: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", [name, *words])
        importlib.import_module(name).main()
        return capsys.readouterr().out.splitlines()

    return run


def test_example_1_nests_operations_in_stages(printed):
    found = [re.fullmatch(r" +(\w+): (\d+) \((\d+) - (\d+)\)", line).groups() for line in printed("example_1")]
    assert [name for name, *_ in found] == ["stage1", "op2"] * 5 + ["stage2", "op2"] * 5
    numbers = [tuple(map(int, row[1:])) for row in found]
    assert all(cycles == end - begin for cycles, begin, end in numbers)
    for (stage, begin, end), (op, inner_begin, inner_end) in zip(numbers[::2], numbers[1::2], strict=True):
        assert begin < inner_begin < inner_end < end
        # published: 3,681 cycles before the second operation and 73 after it, of which 66 and 65 record its block
        assert (inner_begin - begin - (op - 8), end - inner_end) == (66, 73)
        assert stage == 2 * (op - 8) + 66 + 8 + 65 + 8
    starts = [begin for _, begin, _ in numbers[:10:2]]
    assert all(after - before > 160_000 for before, after in itertools.pairwise(starts))  # flushes


def test_example_2_records_each_execution(printed):
    found = [re.fullmatch(r"operation: (\d+)", line) for line in printed("example_2")]
    cycles = [int(line[1]) for line in found if line]
    # published: 3,905; 7,555; 11,203; 14,857; 18,505
    assert [after - before for before, after in itertools.pairwise(cycles)] == [3630] * 4
    assert 3780 < cycles[0] < 3905


def test_example_3_computes_while_it_copies(printed):
    form = r" +(\w+) in tile +(\d+): +(\d+) \((\d+) - (\d+)\)"
    rows = [re.fullmatch(form, line).groups() for line in printed("example_3")]
    triplet = ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"]
    assert [(name, tile) for name, tile, *_ in rows] == [
        *((name, "0") for name in triplet * 2),
        *[("operation", "0")] * 5,
        *((name, "100") for name in triplet * 5),
    ]
    times = [tuple(map(int, row[3:])) for row in rows]
    operations, copies = times[6:11], times[11:]
    for (begin, end), copy in zip(operations[:4], copies[3::3], strict=True):
        assert copy[0] < begin < end < copy[1]  # within the wait for the host's next word
    gaps = {after[0] - before[1] for before, after in itertools.pairwise(copies)}
    assert min(gaps) == 36


def test_example_3_a_flushes_the_buffer(printed):
    names = ("numBlocks", "numCommonBlocks", "numFlushes", "numStreamCopies", "numOverflows")
    kept = "profiler.blocks.implicitFlush=false", "debug.instrumentExternalExchange=false"
    for words, published in (((), (406, 100, 300, 6, 0)), (kept, (43, 42, 0, 0, 1))):
        lines = printed("example_3_a", *words)
        assert lines == [f"{name}: {count}" for name, count in zip(names, published, strict=True)]
