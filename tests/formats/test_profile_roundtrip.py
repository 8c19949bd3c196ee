"""What a producer hands to ProfileWriter comes back from ProfileReader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.errors import FormatError
from popvision.formats.profile import ProfileReader, ProfileWriter
from popvision.formats.profile.arrays import decode, encode
from popvision.formats.profile.model import CostTerm, StepOnIpu, VertexLanes
from popvision.formats.profile.statistics import pattern_statistics
from tests.reports import tiny_compilation, tiny_run, write_tiny


def same(a: Any, b: Any) -> bool:
    if is_dataclass(a) and not isinstance(a, type):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


@pytest.fixture
def reader(tmp_path: Path) -> ProfileReader:
    return ProfileReader(write_tiny(tmp_path))


def test_every_column_of_the_compilation(reader: ProfileReader) -> None:
    c = tiny_compilation()
    assert same(c.target, reader.target())
    assert same(replace(c.programs, callee=np.full(4, -1)), reader.programs())
    assert same(c.compute_sets, reader.compute_sets())
    assert same(c.vertex_types, reader.vertex_types())
    assert same(c.tile_memory, reader.tile_memory())
    assert same(c.variables, reader.variables())
    assert same(c.eq_classes, reader.eq_classes())
    assert same(c.liveness, reader.liveness())
    assert same(c.messages[0], reader.messages(3, 0))
    touched = reader.program_variables()
    assert touched is not None
    assert {program: reader.array(id).tolist() for program, id in touched.items()} == {1: [0, 1, 2], 3: [1]}
    ((program, ipu, (src, receivers, size)),) = reader.traffic("sendings", [1, 3])
    assert (program, ipu, src.tolist(), receivers.tolist(), size.tolist()) == (3, 0, [1], [2], [8])
    ((_, _, columns),) = reader.traffic("messages", [3])
    assert [column.tolist() for column in columns] == [[1, 1], [0, 2], [8, 8]]
    assert same(c.lowered[0], reader.lowered_tile(0))
    assert same(list(c.compute_set_vertices), reader.compute_set_vertices(0))
    assert same(list(c.category_memory), sorted(reader.category_memory(), key=lambda m: CATEGORY_ORDER[m.category]))
    assert [same(p, reader.program_on_ipu(p.program, 0)) for p in c.program_on_ipu] == [True, True]
    assert (c.lowered_names, c.meta["runId"]) == (reader.lowered_names(), reader.meta["runId"])
    assert reader.counts() == {"num_vertices": 3, "num_edges": 9, "num_variables": 2, "num_compute_sets": 1}
    assert [column.tolist() for column in reader.vars_info(1)] == [[0, 0, 1], [0, 1, 2], [80, 16, 20]]


CATEGORY_ORDER = {"variable": 0, "constant": 1}


def test_lanes_and_terms(tmp_path: Path) -> None:
    lanes = VertexLanes(0, 0, *(np.array(v) for v in ([0, 2, 2, 2, 3], [0, 0, 0], [7, 9, 300], [0, 5, 255])))
    terms = [CostTerm("program:1", "launch", 2.5, "fitted"), CostTerm("computeSet:0", "work", 7, "exact")]
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(replace(tiny_compilation(), vertex_lanes=[lanes], cost_terms=terms))
    reader = ProfileReader(tmp_path / "profile.pop")
    assert same(lanes, reader.vertex_lanes(0, 0))
    assert reader.cost_terms("program:1") == terms[:1]
    assert reader.cost_terms("computeSet:0") == terms[1:]


def test_what_is_not_there_is_none(reader: ProfileReader) -> None:
    assert reader.program_on_ipu(0, 0) is None
    assert reader.messages(1, 0) is None
    assert reader.vertex_lanes(0, 0) is None
    assert reader.lowered_tile(3) is None
    assert reader.cost_terms("program:1") == []
    assert reader.missing == []


def test_runs_and_intervals(reader: ProfileReader) -> None:
    runs, steps = reader.runs(), reader.steps_on_ipu(0)
    assert (runs.name, runs.cycles.tolist(), runs.truncated.tolist()) == (["step"], [43], [False])
    assert steps.active_to_max.tolist() == [20, 23, 27, 43]
    assert steps.all_from_max.tolist() == [0, 20, 23, 27]
    assert reader.run_tail(0, 0).tolist() == [6, 0, 16, 15]
    assert reader.total_cycles() == 43
    found = [(step, base, start.tolist(), cycles.tolist()) for step, base, start, cycles in reader.intervals(0, 2, 9)]
    assert found == [(2, 23, [0, 0, 0, 0], [4, 0, 4, 0]), (3, 23, [4, 0, 4, 0], [10, 20, 0, 5])]


def test_several_runs_append(tmp_path: Path) -> None:
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        for number in range(3):
            writer.append_run(replace(tiny_run(), base=tiny_run().base + 43 * number))
            assert ProfileReader(tmp_path / "profile.pop").generation == number + 1
    reader = ProfileReader(tmp_path / "profile.pop")
    assert reader.runs().first_step.tolist() == [0, 4, 8]
    assert reader.steps().run.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert int(reader.steps_on_ipu(0).cycles.sum()) == reader.total_cycles() == 129


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_arrays_keep_every_value(values: list[int]) -> None:
    import zstandard

    row = encode(7, np.array(values, dtype=np.int64), zstandard.ZstdCompressor())
    assert decode(row, zstandard.ZstdDecompressor()).tolist() == values


@given(st.integers(0, 2**64 - 1), st.integers(0, 300))
def test_the_narrowest_type_is_chosen(top: int, n: int) -> None:
    import zstandard

    row = encode(1, np.full(n + 1, top, dtype=np.uint64), zstandard.ZstdCompressor())
    width = {"u1": 8, "u2": 16, "u4": 32, "u8": 64}[row[1]]
    assert top < 2**width
    assert width == 8 or top >= 2 ** (width // 2)
    assert int(decode(row, zstandard.ZstdDecompressor())[n]) == top


def steps_of(tiles: int) -> st.SearchStrategy[list[list[tuple[int, int]]]]:
    tile = st.tuples(st.integers(0, 90), st.one_of(st.just(0), st.integers(0, 2**33)))
    return st.lists(st.lists(tile, min_size=tiles, max_size=tiles), min_size=1, max_size=5)


@given(st.integers(1, 6).flatmap(steps_of))
def test_statistics_equal_a_loop_over_tiles(steps: list[list[tuple[int, int]]]) -> None:
    patterns = [StepOnIpu(*(np.array(column, dtype=np.int64) for column in zip(*step, strict=True))) for step in steps]
    found = pattern_statistics(patterns)
    for row, step in enumerate(steps):
        for name, value in slow_statistics(step).items():
            assert float(getattr(found, name)[row]) == pytest.approx(value, rel=1e-12, abs=0), name


def slow_statistics(step: Sequence[tuple[int, int]]) -> dict[str, float]:
    active = [(start, cycles) for start, cycles in step if cycles > 0]
    result: dict[str, float] = {"active_tiles": len(active)}
    for name, chosen in (("active", active or [(0, 0)]), ("all", step)):
        result[f"{name}_from_min"] = min(start for start, _ in chosen)
        result[f"{name}_from_max"] = max(start for start, _ in chosen)
        result[f"{name}_to_min"] = min(start + cycles for start, cycles in chosen)
        result[f"{name}_to_max"] = max(start + cycles for start, cycles in chosen)
    result["length"] = result["all_to_max"] - result["all_from_max"]
    total, top = sum(cycles for _, cycles in step), max(cycles for _, cycles in step)
    result["cycles_sum"], result["cycles_max"] = total, top
    result["tile_balance"] = total / len(step) / top if top else 0.0
    result["active_tile_balance"] = total / len(active) / top if top else 0.0
    return result


def test_bad_columns_are_refused_by_name(tmp_path: Path) -> None:
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        with pytest.raises(FormatError, match="write_compilation first"):
            writer.append_run(tiny_run())
        writer.write_compilation(tiny_compilation())
        run = tiny_run()
        bad = [
            (replace(run, program=run.program + 9), "program must lie in 0..3"),
            (replace(run, pattern=run.pattern + 1), "pattern must lie in 0..3"),
            (replace(run, base=run.base[:2]), "one row per step"),
            (replace(run, tail=[]), "the tail needs 1 arrays of 4 tiles"),
            (replace(run, patterns=[StepOnIpu(p.start[:2], p.cycles) for p in run.patterns]), "4 tiles|shape"),
        ]
        for record, message in bad:
            with pytest.raises(FormatError, match=message):
                writer.append_run(record)
        writer.append_run(run)
    with pytest.raises(FormatError, match="is closed"):
        writer.append_run(tiny_run())
    assert len(ProfileReader(tmp_path / "profile.pop").runs().name) == 1


def test_schema_report_counts_without_contents(reader: ProfileReader) -> None:
    report = reader.schema_report()
    by_name = {table.name: table for table in report.tables}
    assert (by_name["steps"].rows, by_name["programs"].rows) == (4, 4)
    data = next(column for column in by_name["arrays"].columns if column.name == "data")
    assert data.blob_bytes > 16
    assert "weights" not in repr(report)
