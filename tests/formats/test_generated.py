"""Generated reports obey the laws of a report, and are as large and as new as asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from popvision.formats.errors import FormatError
from popvision.formats.generate import Size, generate
from popvision.formats.generate.__main__ import main
from popvision.formats.profile import ProfileReader
from popvision.formats.profile.model import CATEGORIES

SIZES = [
    Size(20_000, "distinct", tiles=48, ipus=1, layers=2),
    Size(30_000, "distinct", tiles=32, ipus=2, layers=1, liveness_indices=500, lowered_variables=9_000),
    Size(30_000, "repeat", tiles=32, ipus=2, layers=1, seed=5),
]


@pytest.fixture(params=SIZES, ids=["distinct", "two-ipus", "repeat"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Size, ProfileReader]:
    size: Size = request.param
    path = tmp_path / "profile.pop"
    assert size.intervals <= generate(path, size) <= 1.2 * size.intervals
    return size, ProfileReader(path)


def test_every_tile_starts_where_it_ended(made: tuple[Size, ProfileReader]) -> None:
    size, reader = made
    runs, cells = reader.runs(), 0
    for ipu in range(size.ipus):
        began, lengths = 0, reader.steps_on_ipu(ipu)
        for run in range(len(runs.name)):
            first, count = int(runs.first_step[run]), int(runs.n_steps[run])
            clock = np.full(size.tiles, began)
            for _, base, start, cycles in reader.intervals(ipu, first, first + count - 1):
                assert np.array_equal(base + start, clock)
                clock = clock + cycles
                cells += int(np.count_nonzero(cycles))
            assert np.all(clock + reader.run_tail(run, ipu) == began + runs.cycles[run])
            rows = slice(first, first + count)
            assert lengths.cycles[rows].sum() == clock.max() - began
            began += int(runs.cycles[run])
        assert began == reader.total_cycles()
    assert cells >= size.intervals


def test_bytes_add_up(made: tuple[Size, ProfileReader]) -> None:
    size, reader = made
    memory, variables, classes = reader.tile_memory(), reader.variables(), reader.eq_classes()
    live, target = reader.liveness(), reader.target()
    assert memory is not None and variables is not None and classes is not None and live is not None  # noqa: PT018
    total = np.zeros(target.num_tiles, dtype=np.int64)
    for part in reader.category_memory():
        total[part.ipu * size.tiles : (part.ipu + 1) * size.tiles] += part.bytes
    assert np.array_equal(total, memory.excluding_gaps)
    assert memory.including_gaps.max() <= target.bytes_per_tile
    assert np.array_equal(np.sum(live.bytes_by_ipu, axis=0), live.bytes)
    by_variable = np.zeros(len(variables.name), dtype=np.int64)
    for tile in range(target.num_tiles):
        lowered = reader.lowered_tile(tile)
        assert lowered is not None
        by_variable += np.bincount(lowered.variable, lowered.bytes, len(by_variable)).astype(np.int64)
        used, peak = slow_tile(lowered.address, lowered.bytes, lowered.eq_class, classes.starts, classes.ends)
        assert (used, peak) == (memory.excluding_gaps[tile], memory.not_always_live[tile])
        category, _, size_bytes = reader.vars_info(tile)
        assert size_bytes.sum() == lowered.bytes.sum()
        assert set(category.tolist()) <= set(range(len(CATEGORIES)))
    assert np.array_equal(by_variable, variables.bytes)


def slow_tile(
    address: np.ndarray, size: np.ndarray, eq_class: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[int, int]:
    """Used bytes of a tile with shared addresses counted once, and its highest not-always-live bytes at any index."""
    used, end = 0, 0
    for begin, length in zip(address.tolist(), size.tolist(), strict=True):
        used += max(0, begin + length - max(begin, end))
        end = max(end, begin + length)
    changing = [(starts[c], ends[c], n) for c, n in zip(eq_class.tolist(), size.tolist(), strict=True) if c >= 0]
    indices = {int(begin) for begin, _, _ in changing}
    return used, max(sum(n for a, b, n in changing if a <= index < b) for index in indices)


def test_lanes_are_the_vertices_of_their_compute_set(made: tuple[Size, ProfileReader]) -> None:
    size, reader = made
    for block in reader.compute_set_vertices(3):
        lanes = reader.vertex_lanes(3, block.ipu)
        assert lanes is not None
        assert np.array_equal(np.diff(lanes.tile_offsets), block.count)
        assert np.array_equal(np.add.reduceat(lanes.thread_cycles, lanes.tile_offsets[:-1]), block.cycles)
    assert len(reader.compute_set_vertices(3)) == size.ipus


def test_no_two_arrays_are_equal_or_27_are(tmp_path: Path) -> None:
    distinct, repeat = tmp_path / "d.pop", tmp_path / "r.pop"
    generate(distinct, Size(50_000, tiles=64))
    generate(repeat, Size(50_000, "repeat", tiles=64))
    steps = ProfileReader(distinct).steps_on_ipu(0)
    assert len(np.unique(np.concatenate([steps.start_array, steps.cycles_array]))) == 2 * len(steps.base)
    steps = ProfileReader(repeat).steps_on_ipu(0)
    assert len(np.unique(steps.cycles_array)) == 3 + (len(steps.base) - 3) // 27


def test_the_same_seed_gives_the_same_report(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.pop", "b.pop", "c.pop")]
    for path, seed in zip(paths, (3, 3, 4), strict=True):
        generate(path, Size(10_000, tiles=16, seed=seed))
    assert paths[0].read_bytes() == paths[1].read_bytes() != paths[2].read_bytes()


def test_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [str(tmp_path / "report"), "--intervals", "1e4", "--tiles", "16"])
    assert done.exit_code == 0, done.output
    assert ProfileReader(tmp_path / "report" / "profile.pop").meta["generated"] is True
    assert "10,000 intervals" in done.output
    with pytest.raises(FormatError, match="kind is distinct or repeat"):
        generate(tmp_path / "x.pop", Size(kind="other"))
