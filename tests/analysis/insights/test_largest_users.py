"""The largest users of memory against sums over the stored columns, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.insights.largest_users import memory_use
from popvision.analysis.insights.program_code import program_code
from popvision.analysis.report.source import ReportSource
from popvision.formats.generate import Size, generate
from tests.samples import SAMPLES

#: A scope by its name, and whether (IPU, tile of the IPU) lies in it.
Scopes = dict[str, set[tuple[int, int]]]


@pytest.fixture(scope="module", params=["matmul_chain", "train_mlp", "two IPUs"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    if request.param != "two IPUs":
        return ReportSource(SAMPLES / request.param)
    folder: Path = tmp_path_factory.mktemp("users")
    generate(folder / "profile.pop", Size(2e4, "distinct", 16, 2, layers=4))
    return ReportSource(folder)


def _scopes(source: ReportSource) -> Scopes:
    target = source.reader.target()
    per_ipu = target.num_tiles // target.num_ipus
    every = {(ipu, tile) for ipu in range(target.num_ipus) for tile in range(per_ipu)}
    use = memory_use(source)
    ipu = next((int(each.where[4:]) for each in use.users if each.where.startswith("IPU ")), 0)
    tile = int(use.tiles[0])
    return {
        "all tiles": every,
        f"IPU {ipu}": {place for place in every if place[0] == ipu},
        f"tile {tile:,}": {divmod(tile, per_ipu)},
    }


def _vertex_state(source: ReportSource, places: set[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    _, types, ipus, counts = source.reader.compute_set_counts()
    size = source.reader.vertex_types().state_bytes
    for type_, ipu, count in zip(types, ipus, counts, strict=True):
        for tile, number in enumerate(count.tolist()):
            if (int(ipu), tile) in places:
                yield int(type_), number * int(size[int(type_)]), number


def test_vertices_and_code_of_every_scope(source: ReportSource) -> None:
    names, types = source.reader.programs().name, source.reader.vertex_types()
    for where, places in _scopes(source).items():
        state = np.zeros(len(types.name), np.int64)
        for type_, size, _ in _vertex_state(source, places):
            state[type_] += size
        expected = {"vertex state": int(state.max(initial=0))}
        for kind, column in (("exchange code", "exchange_code"), ("control code", "control_code")):
            code = np.zeros(len(names), np.int64)
            for program, ipu, values in source.reader.program_columns(column, range(len(names))):
                code[program] += sum(size for tile, size in enumerate(values.tolist()) if (ipu, tile) in places)
            expected[kind] = int(code.max(initial=0))
        found = {each.kind: each.bytes for each in memory_use(source).users if each.where == where}
        assert {kind: found.get(kind, 0) for kind in expected} == expected


def test_code_of_vertices_counts_each_tile_that_holds_the_type_once(source: ReportSource) -> None:
    types = source.reader.vertex_types()
    holders: dict[int, set[tuple[int, int]]] = {}
    _, rows, ipus, counts = source.reader.compute_set_counts()
    for type_, ipu, count in zip(rows.tolist(), ipus.tolist(), counts, strict=True):
        holders.setdefault(type_, set()).update((ipu, tile) for tile in np.flatnonzero(count).tolist())
    for where, places in _scopes(source).items():
        sizes = [len(on & places) * max(int(types.code_bytes[each]), 0) for each, on in holders.items()]
        found = [each.bytes for each in memory_use(source).users if (each.where, each.kind) == (where, "vertex code")]
        assert (found or [0]) == [max(sizes, default=0)]


def test_code_of_programs_sums_up_to_what_the_reader_sums(source: ReportSource) -> None:
    code = program_code(source, "control_code")
    programs, sums = source.reader.program_sums("control_code")
    assert code.program.tolist() == np.asarray(programs).tolist()
    assert code.bytes.tolist() == np.asarray(sums).tolist()
    assert code.bytes_on(slice(0, 0)).tolist() == [0] * len(code.program)
