"""Allocations of a variable against the facts of a small report."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision.analysis.memory.variable_parts import parts_table
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.tiles import Where
from tests.analysis.memory.memory_case import make_case, write_case


@pytest.mark.parametrize("seed", range(4))
def test_every_allocation_of_the_place_once(tmp_path: Path, seed: int) -> None:
    case = make_case(seed, ipus=4, replicas=2)
    source = write_case(tmp_path, case)
    for where, tiles in (
        (Where(), range(6)),
        (Where("all", 1), range(6, 12)),
        (Where("ipu", 1), range(3, 6)),
        (Where("tile", 4), range(4, 5)),
    ):
        for variable in range(len(case.classes)):
            mine = [a for a in case.allocations if a.variable == variable and a.tile in tiles]
            expected = sorted((a.tile, a.tile // 3, f"v{variable}#0", a.address, a.bytes) for a in mine)
            found = viewer_frame(parts_table(source, variable, where))
            assert [tuple(row) for row in found.itertuples(index=False)] == expected
    with pytest.raises(ValueError, match="does not exist"):
        parts_table(source, 99)
